// Chains whose labels are normalised one by one (maximum entropy). The label z of token t is a decision of its own, given
// the labels x, y before it:
//
//   P(z | x, y, t) = exp(score_t(x, y, z)) / Z_t(x, y),   score_t(x, y, z) = (tri[x][y][z] + edge_t[y][z]) + emit_t[z]
//
// Training asks for the decisions along the gold path. A tagger takes log Z off the potentials, so that the score of a
// path is the sum of its log P: at order 1 log Z depends on y alone and is taken from emit[t-1][y], at order 2 from the
// edge x, y into t-1; the history of the first token is NULL, and its constant is taken from emit[0].
#pragma once
#include <vector>

#include "engine/chain.hpp"

namespace trellis {

// -log P of a part's last label given those before it; probabilities [stride] become P of every label (they may lie where
// the token's emissions do). `longer` [stride] is what labels give together with more than one label before, or null.
double decide(const ChainView<float>& chain, const Part& part, const float* longer, float* probabilities);
double decide(const ChainView<double>& chain, const Part& part, const double* longer, double* probabilities);

// What all sentences share, for taggers.
class LocalNormalizer {
 public:
  LocalNormalizer() = default;
  // tri [L+1, L+1, stride], or null at order 1.
  LocalNormalizer(const float* tri, std::size_t n_labels);

  // Takes log Z off the potentials of a sentence. They are those that `chain` shows: emit [n, stride] and, at order 2,
  // edges by token [n, L+1, stride].
  void normalize(const ChainView<float>& chain, float* emit, float* edge, std::vector<float>& scratch) const;

 private:
  friend struct LocalPass;
  std::vector<float> factors_;  // [L+1, L+1, stride] exp(tri - its row's top), or empty at order 1
  std::vector<float> tops_;     // [L+1, L+1]
};

}  // namespace trellis

// Potentials of a chain whose labels are normalised one by one (maximum entropy), so that the score of a path becomes
// the sum of log P(z | x, y, observations) over its tokens:
//
//   log Z_t(x, y) = log sum_z exp(tri[x][y][z] + edge_t[y][z] + emit_t[z])
//
// At order 1 it depends on y alone and is taken from emit[t-1][y], at order 2 from the edge x, y into t-1; the history
// of the first token is NULL, and its constant is taken from emit[0].
#pragma once
#include <vector>

#include "engine/chain.hpp"

namespace trellis {

template <class Real>
struct LabelTables;
using LabelWeights = LabelTables<float>;

class LocalNormalizer {
 public:
  LocalNormalizer() = default;
  explicit LocalNormalizer(const LabelWeights& labels);

  // emit is [n, stride]; edge_by_token [n, L+1, stride], or null at order 1 where all tokens share the label weights'.
  void normalize(std::size_t n, const LabelSets* allowed, float* emit, float* edge_by_token,
                 std::vector<float>& scratch) const;

 private:
  friend struct LocalPass;
  std::size_t n_labels_ = 0, stride_ = 0;
  const float* edge_ = nullptr;  // [L+1, stride]
  const float* tri_ = nullptr;   // [L+1, L+1, stride], or null at order 1
  std::vector<float> factors_;   // [L+1, L+1, stride] exp(tri - its row's top)
  std::vector<float> tops_;      // [L+1, L+1]
};

}  // namespace trellis

// Chains whose labels are normalised one by one (maximum entropy). The label z of token t is a decision of its own, given
// the labels x, y before it:
//
//   P(z | x, y, t) = exp(score_t(x, y, z)) / Z_t(x, y),   score_t(x, y, z) = (tri[x][y][z] + edge_t[y][z]) + emit_t[z]
//
// Training asks for the decisions along the gold path. A tagger takes log Z off the potentials, so that the score of a
// path is the sum of its log P: at order 1 log Z depends on y alone and is taken from emit[t-1][y], at order 2 from the
// edge x, y into t-1; the history of the first token is NULL, and its constant is taken from emit[0]. Where label n-grams
// are sparse log Z depends on the state d of the labels before t (ngrams.hpp). A state gives what its log Z is above that of
// its shorter one: a label alone to emit[t-1], a pair to the edge into t-1, an n-gram of three labels and more to its own
// score at t-1. So all of them are ordinary chains.
#pragma once
#include <vector>

#include "engine/ngram_scores.hpp"

namespace trellis {

// -log P of a part's last label given those before it; probabilities [stride] become P of every label (they may lie where
// the token's emissions do). `longer` [stride] is what labels give together with more than one label before, or null.
double decide(const ChainView<float>& chain, const Part& part, const float* longer, float* probabilities);
double decide(const ChainView<double>& chain, const Part& part, const double* longer, double* probabilities);

// Scratch of one thread.
struct LocalScratch {
  std::vector<float> rows;                  // [n_states, stride] exp of what labels score after a state
  std::vector<float> tops, log_z, exact;    // [n_states], [n_states], [stride]
  std::vector<std::uint32_t> states, next;  // at one token; a shorter state stands before a longer one
  std::vector<std::uint32_t> place;         // [n_nodes] of states
};

// What all sentences share, for taggers.
class LocalNormalizer {
 public:
  LocalNormalizer() = default;
  // Of the tables those of triples or n-grams count, if there are some.
  explicit LocalNormalizer(const LabelTables<float>& labels);

  // Takes log Z off the potentials of a sentence. They are those that `chain` shows: emit [n, stride] and, at order 2,
  // edges by token [n, L+1, stride]; with n-grams these too, and `ngrams` become what n-grams give at single tokens.
  void normalize(const ChainView<float>& chain, float* emit, float* edge, TokenNgrams<float>& ngrams, LocalScratch& scratch) const;

 private:
  friend struct LocalPass;
  std::vector<float> factors_;  // [L+1, L+1, stride] exp(tri - its row's top); [n_nodes] exp(score); or empty at order 1
  std::vector<float> tops_;     // [L+1, L+1]
  float safe_ = 0;              // below this a sum of factors may owe something to factors that became zero
};

}  // namespace trellis

// Locally normalised chains (maximum entropy): the label z of token t is a separate decision, given
// the labels x, y before it:
//
//   P(z | x, y, t) = exp(score_t(x, y, z)) / Z_t(x, y),   score_t(x, y, z) = (tri[x][y][z] + edge_t[y][z]) + emit_t[z]
//
// Training uses the decisions along the gold path. A tagger subtracts log Z from the potentials, so that the score of a
// path is the sum of its log P: at order 1 log Z depends on y alone and is subtracted from emit[t-1][y], at order 2 from the
// edge x, y into t-1; the history of the first token is NULL, and its constant is subtracted from emit[0]. With sparse label
// n-grams log Z depends on the state d of the labels before t (ngrams.hpp). A state contributes its log Z minus
// that of its suffix: a label alone to emit[t-1], a pair to the edge into t-1, an n-gram of three labels and more to its own
// score at t-1. So the result is an ordinary chain.
#pragma once
#include <vector>

#include "engine/ngram_scores.hpp"

namespace trellis {

// -log P of a part's last label given the previous ones; probabilities [stride] become P of every label (may alias
// the token's emissions). `longer` [stride] is the score of labels with more than one previous label, or null.
double decide(const ChainView<float>& chain, const Part& part, const float* longer, float* probabilities);
double decide(const ChainView<double>& chain, const Part& part, const double* longer, double* probabilities);

// Scratch of one thread.
struct LocalScratch {
  std::vector<float> rows;                  // [n_states, stride] exp of the scores of labels after a state
  std::vector<float> tops, log_z, exact;    // [n_states], [n_states], [stride]
  std::vector<std::uint32_t> states, next;  // at one token; suffixes come first
  std::vector<std::uint32_t> place;         // [n_nodes] of states
};

// Tables shared by all sentences, for taggers.
class LocalNormalizer {
 public:
  LocalNormalizer() = default;
  // Of the tables, triples or n-grams are used, if any.
  explicit LocalNormalizer(const LabelTables<float>& labels);

  // Subtracts log Z from the potentials of a sentence, those of `chain`: emit [n, stride] and, at order 2,
  // edges by token [n, L+1, stride]; with n-grams these too, and `ngrams` become the scores of n-grams at single tokens.
  void normalize(const ChainView<float>& chain, float* emit, float* edge, TokenNgrams<float>& ngrams, LocalScratch& scratch) const;

 private:
  friend struct LocalPass;
  std::vector<float> factors_;  // [L+1, L+1, stride] exp(tri - its row's top); [n_nodes] exp(score); or empty at order 1
  std::vector<float> tops_;     // [L+1, L+1]
  float safe_ = 0;              // below it, underflowed factors may contribute to a sum
};

}  // namespace trellis

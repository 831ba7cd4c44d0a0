// What is wanted of sums over all paths of a chain, beside log Z.
#pragma once
#include "engine/chain.hpp"

namespace trellis {

// Null: not wanted.
struct HistoryExpectations {
  double* node = nullptr;          // [T, stride] P(label z at t); zero in the padding and where not allowed
  double* token_pairs = nullptr;   // [T, L + 1, stride] P(y before, z at t), y = L at the first token; likewise
  double* pairs = nullptr;         // [L + 1, stride], or by places, += weight · the same summed over t
  double* ngrams = nullptr;        // [n_nodes] += weight · sum_t P(the labels up to t end in n-gram g), of three and more
  double* token_ngrams = nullptr;  // [entries of by_token] weight · P of those n-grams at their tokens
  double weight = 1;
  // [L + 1, stride] where label pairs stand in `pairs`, -1: nowhere. Null: in a table of all. With many labels that is
  // much larger than what is wanted of it.
  const std::int32_t* places = nullptr;

  bool any() const { return node || token_pairs || pairs || ngrams || token_ngrams; }
};

// p = P(y before, z at token t)
TRELLIS_INLINE void expect_pair(const HistoryExpectations& wanted, const ChainView<double>& chain, std::size_t t,
                                std::size_t y, std::size_t z, double p) {
  const std::size_t pair = y * chain.stride + z;
  if (wanted.node) wanted.node[t * chain.stride + z] += p;
  if (wanted.pairs && !wanted.places) wanted.pairs[pair] += wanted.weight * p;
  if (wanted.pairs && wanted.places && wanted.places[pair] >= 0) wanted.pairs[wanted.places[pair]] += wanted.weight * p;
  if (wanted.token_pairs) wanted.token_pairs[t * (chain.n_labels + 1) * chain.stride + pair] += p;
}

}  // namespace trellis

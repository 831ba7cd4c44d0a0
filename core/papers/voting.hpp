// The voted perceptron (Collins 2002, section 3.2; Freund and Schapire 1999): all weights that training ever had vote
// for whole paths. The exact answer, without decoding by each of them.
//
// Training's updates are replayed on the potentials of a sentence. From some moment on, its best path y stays the best
// as long as no other path can have come up to it. Let lo and hi be the least and the greatest value of each potential
// over the moments in question; if y with lo still beats every other path with hi (a potential that both use cancels:
// lo for both), y was the best path at all these moments, and one pass over the sentence has shown it. Where it cannot
// be shown half as many are tried, down to one moment, which is decoded. Stretches double while the path stays. Where label
// n-grams are sparse every moment is decoded: by bounds that costs less than to show it.
#pragma once
#include "engine/ngrams.hpp"
#include "weights/potentials.hpp"

namespace trellis {

// Moment m is after m updates; update u is the changes starts[u] .. starts[u + 1]. Rows as Change has them.
struct Votes {
  std::size_t n_updates = 0;
  const std::int64_t* counts = nullptr;  // [n_updates + 1] votes that the weights of each moment have
  const std::int64_t* starts = nullptr;  // [n_updates + 1]
  const std::uint32_t* rows = nullptr;   // [n_changes], ascending within an update
  const std::uint32_t* places = nullptr;
  const float* changes = nullptr;
  std::size_t n_attributes = 0, n_edge_attributes = 0;
  int order = 1;
  const Ngrams* ngrams = nullptr;  // where they are sparse; null: a table of triples at order 2
};

// The path with the most votes of every sentence; among equals the one that got its first vote first. `labels.edge`
// forbids by minus infinity, its weights count for nothing; `labels.end` never changes.
void vote_all(const Votes& votes, const LabelWeights& labels, const ChainData& data, const std::int64_t* starts,
              std::size_t n_sentences, std::size_t n_threads, std::int32_t* paths);

}  // namespace trellis

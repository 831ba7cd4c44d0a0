// The voted perceptron (Collins 2002, section 3.2; Freund and Schapire 1999): the weights of every training step vote
// for whole paths. Exact, without decoding with each of them.
//
// Training's updates are replayed on the potentials of a sentence. From some moment on, the best path y stays best
// until another path can have reached its score. Let lo and hi be the minimum and maximum of each potential
// over a range of moments; if y with lo still beats every other path with hi (a potential in both cancels:
// lo for both), y was the best path at all these moments, which one pass over the sentence proves. Otherwise the
// range is halved, down to one moment, which is decoded. The range doubles while the path stays. With sparse label
// n-grams every moment is decoded: with bounds that costs less than the proof.
#pragma once
#include "engine/ngrams.hpp"
#include "weights/potentials.hpp"

namespace trellis {

// Moment m is after m updates; update u is the changes starts[u] .. starts[u + 1]. Rows as in Change.
struct Votes {
  std::size_t n_updates = 0;
  const std::int64_t* counts = nullptr;  // [n_updates + 1] votes of the weights of each moment
  const std::int64_t* starts = nullptr;  // [n_updates + 1]
  const std::uint32_t* rows = nullptr;   // [n_changes], ascending within an update
  const std::uint32_t* places = nullptr;
  const float* changes = nullptr;
  std::size_t n_attributes = 0, n_edge_attributes = 0;
  int order = 1;
  const Ngrams* ngrams = nullptr;  // if they are sparse; null: a table of triples at order 2
};

// The path with the most votes of every sentence; ties: the one with the earliest first vote. `labels.edge`
// forbids by minus infinity, its other values are ignored; `labels.end` never changes.
void vote_all(const Votes& votes, const LabelWeights& labels, const ChainData& data, const std::int64_t* starts,
              std::size_t n_sentences, std::size_t n_threads, std::int32_t* paths);

}  // namespace trellis

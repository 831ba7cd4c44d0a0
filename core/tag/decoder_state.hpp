// Mutable state of a decoder: included by its own files alone.
#pragma once
#include "engine/viterbi.hpp"
#include "tag/decoder.hpp"

namespace trellis {

// The vector of a look for token t: vectors[first + t] + slot.
struct PlacedLook {
  std::size_t first;  // column * (n + 2 * reach) + reach + offset
  std::size_t slot;   // of floats in the record
};

// Scratch of one thread. Locations of records are looked up once per token and column, for positions -reach .. n + reach.
struct Decoder::Buffers : Potentials<float> {
  std::vector<const std::int32_t*> views;  // [n_columns, n + 2 * reach] view ids
  std::vector<const float*> vectors;       // [n_columns, n + 2 * reach] summed weights
  std::vector<std::int32_t> symbols;       // [n] of a matcher
  std::vector<std::int32_t> matched;       // [n_matchers, 3, n] values of dictionaries
  std::vector<std::uint64_t> keys;         // [n_joint, n]
  std::vector<std::int32_t> ids, sets;     // [n_joint or n_edge, n], [n]
  std::vector<PlacedLook> looks;           // [n_looks]
  TokenSets candidates;                    // if there is a filter
  LevelSentence levels;                    // if there are levels of pruning
  LocalScratch local;
  Workspace<float> viterbi;

  // Memory that grows with the length of a sentence.
  std::size_t bytes() const {
    return (emit.capacity() + edge.capacity()) * sizeof(float) + (keys.capacity() + views.capacity() + vectors.capacity()) * 8 +
           (ids.capacity() + matched.capacity()) * sizeof(std::int32_t) + runs.ngrams.nodes.capacity() * 8 + levels.bytes() +
           viterbi.bytes();
  }
};

// Mutable state. The child of a fork begins with a new one: a lock of the old one may be held by a thread that
// does not exist in the child.
struct Decoder::State {
  int forks;         // fork count of this process at creation
  std::mutex mutex;  // of the lexicons
  std::shared_ptr<Lexicons> lexicons;
  std::mutex spare_mutex;
  std::vector<std::unique_ptr<Buffers>> spare;
  Heavy heavy;
  explicit State(int forks_) : forks(forks_) { spare.reserve(kMostSpare); }  // so that returning a buffer allocates nothing
  static constexpr std::size_t kMostSpare = 4;
};

}  // namespace trellis

// What a decoder changes while it works: included by its own files alone.
#pragma once
#include "engine/viterbi.hpp"
#include "tag/decoder.hpp"

namespace trellis {

// Where a look finds its vector for token t: vectors[first + t] + slot.
struct PlacedLook {
  std::size_t first;  // column * (n + 2 * reach) + reach + offset
  std::size_t slot;   // of floats in the record
};

// Scratch of one thread. Where records lie is looked up once per token and column, for positions -reach .. n + reach.
struct Decoder::Buffers : Potentials<float> {
  std::vector<const std::int32_t*> views;  // [n_columns, n + 2 * reach] view ids of what stands there
  std::vector<const float*> vectors;       // [n_columns, n + 2 * reach] its summed weights
  std::vector<std::int32_t> symbols;       // [n] of a matcher
  std::vector<std::int32_t> matched;       // [n_matchers, 3, n] what dictionaries say
  std::vector<std::uint64_t> keys;         // [n_joint, n]
  std::vector<std::int32_t> ids, sets;     // [n_joint or n_edge, n], [n]
  std::vector<PlacedLook> looks;           // [n_looks]
  TokenSets candidates;                    // where there is a filter
  LevelSentence levels;                    // of which it has more
  LocalScratch local;
  Workspace<float> viterbi;

  // What grows with the length of a sentence.
  std::size_t bytes() const {
    return (emit.capacity() + edge.capacity()) * sizeof(float) + (keys.capacity() + views.capacity() + vectors.capacity()) * 8 +
           (ids.capacity() + matched.capacity()) * sizeof(std::int32_t) + runs.ngrams.nodes.capacity() * 8 + levels.bytes() +
           viterbi.bytes();
  }
};

// What tagging changes. The child of a fork begins with a new one: a lock of the old one may be held by a thread that the
// child does not have.
struct Decoder::State {
  int forks;         // of this process when it was made
  std::mutex mutex;  // of the lexicons
  std::shared_ptr<Lexicons> lexicons;
  std::mutex spare_mutex;
  std::vector<std::unique_ptr<Buffers>> spare;
  Heavy heavy;
  explicit State(int forks_) : forks(forks_) { spare.reserve(kMostSpare); }  // so that returning a buffer allocates nothing
  static constexpr std::size_t kMostSpare = 4;
};

}  // namespace trellis

// The linear model of a chain: weights of attributes, of label pairs and triples, and how they become potentials.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "weights/local_chain.hpp"
#include "engine/simd.hpp"
#include "engine/viterbi.hpp"

namespace trellis {

// What stands at each token: attributes ids[starts[t] .. starts[t + 1]) with values (null: all one).
struct TokenAttributes {
  const std::int64_t* starts = nullptr;  // [n_tokens + 1]
  const std::int32_t* ids = nullptr;     // [n_items]
  const float* values = nullptr;         // [n_items] or null

  float value(std::int64_t i) const { return values ? values[i] : 1.0f; }
};

// Attribute a has weights[s] for labels[s], s from starts[a] to starts[a + 1]. Of edge attributes the "label" is a
// pair's place in the matrix of label pairs, previous * stride + label.
template <class Label>
struct Rows {
  const std::uint32_t* starts = nullptr;  // [n_attributes + 1]
  const Label* labels = nullptr;          // [n_slots]
  const float* weights = nullptr;         // [n_slots]

  TRELLIS_INLINE void add_to(std::int32_t attribute, float value, float* emit) const {
    for (std::uint32_t s = starts[attribute]; s < starts[attribute + 1]; ++s) emit[labels[s]] += value * weights[s];
  }
  void prefetch_row(std::int32_t attribute) const { __builtin_prefetch(starts + attribute); }
  void prefetch_slots(std::int32_t attribute) const {
    __builtin_prefetch(labels + starts[attribute]);
    __builtin_prefetch(weights + starts[attribute]);
  }
};

struct LabelWeights {
  std::size_t n_labels = 0;
  std::size_t stride = 0;       // padded(n_labels)
  const float* edge = nullptr;  // [n_labels + 1, stride] of label pairs; row n_labels is NULL
  const float* tri = nullptr;   // [n_labels + 1, n_labels + 1, stride] of label triples, or null at order 1
  const float* end = nullptr;   // what a last label gives: [stride] at order 1, [n_labels + 1, stride] at order 2
};

// The tokens of a corpus as a model sees them.
struct ChainData {
  TokenAttributes attributes;
  TokenAttributes edge_attributes;  // starts null: none
  LabelSets sets{};                 // tag dictionary over all tokens; starts null: every label everywhere
};

// Everything one thread needs to turn a sentence into its best path.
struct ChainScratch {
  std::vector<float> emit;  // [n, stride]
  std::vector<float> edge;  // [n, n_labels + 1, stride]
  std::vector<std::int32_t> path;
  std::vector<float> local;
  Workspace<float> viterbi;
};

// out[t, ...] += sum over attributes a at t of value(a) · w[a, ...]
template <class AnyRows>
TRELLIS_INLINE void add_attributes(const AnyRows& rows, const TokenAttributes& at, std::size_t begin, std::size_t end,
                                   std::size_t size, float* out) {
  // Rows lie scattered: what a token will need is asked for some attributes ahead, first the row, then its slots.
  constexpr std::int64_t kAhead = 24;
  const std::int64_t last = at.starts[end];
  std::int64_t i = at.starts[begin];
  for (std::size_t t = begin; t < end; ++t, out += size)
    for (; i < at.starts[t + 1]; ++i) {
      if (i + 2 * kAhead < last) rows.prefetch_row(at.ids[i + 2 * kAhead]);
      if (i + kAhead < last) rows.prefetch_slots(at.ids[i + kAhead]);
      rows.add_to(at.ids[i], at.values ? at.values[i] : 1.0f, out);
    }
}

// Potentials of the sentence [begin, end), which has a token at least, normalised if there is a normalizer; they live in
// `scratch` and `sets`.
template <class AnyRows, class AnyEdgeRows>
TRELLIS_INLINE ChainView<float> chain_of(const AnyRows& rows, const AnyEdgeRows& edge_rows, const LabelWeights& labels,
                                         const ChainData& data, std::size_t begin, std::size_t end,
                                         ChainScratch& scratch, LabelSets& sets,
                                         const LocalNormalizer* local = nullptr) {
  const std::size_t n = end - begin, stride = labels.stride;
  scratch.emit.assign(n * stride, 0);
  add_attributes(rows, data.attributes, begin, end, stride, scratch.emit.data());
  ChainView<float> chain{};
  chain.n_tokens = n;
  chain.n_labels = labels.n_labels;
  chain.stride = stride;
  chain.emit = scratch.emit.data();
  chain.edge = labels.edge;
  chain.tri = labels.tri;
  chain.end = labels.end;
  if (data.edge_attributes.starts || (local && labels.tri)) {
    const std::size_t size = (labels.n_labels + 1) * stride;
    scratch.edge.resize(n * size);
    for (std::size_t t = 0; t < n; ++t) std::memcpy(scratch.edge.data() + t * size, labels.edge, size * sizeof(float));
    if (data.edge_attributes.starts)
      add_attributes(edge_rows, data.edge_attributes, begin, end, size, scratch.edge.data());
    chain.edge = scratch.edge.data();
    chain.edge_per_token = true;
  }
  sets = data.sets;
  if (sets.starts) {
    sets.set_of_token += begin;
    chain.allowed = &sets;
  }
  if (local)
    local->normalize(n, chain.allowed, scratch.emit.data(), chain.edge_per_token ? scratch.edge.data() : nullptr,
                     scratch.local);
  return chain;
}

// The best path of the sentence [begin, end) into `path` (size end - begin).
template <class AnyRows, class AnyEdgeRows>
TRELLIS_INLINE void decode_sentence(const AnyRows& rows, const AnyEdgeRows& edge_rows, const LabelWeights& labels,
                                    const ChainData& data, std::size_t begin, std::size_t end, ChainScratch& scratch,
                                    std::int32_t* path, const LocalNormalizer* local = nullptr) {
  if (begin == end) return;
  LabelSets sets{};
  best_path(chain_of(rows, edge_rows, labels, data, begin, end, scratch, sets, local), scratch.viterbi, path);
}

// Best paths of all sentences, by n_threads; `local`: of a model normalised label by label.
void decode_all(const Rows<std::uint16_t>& rows, const Rows<std::uint32_t>& edge_rows, const LabelWeights& labels,
                const ChainData& data, const std::int64_t* starts, std::size_t n_sentences, bool local,
                std::size_t n_threads, std::int32_t* paths);

}  // namespace trellis

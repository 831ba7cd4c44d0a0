// A chain: the potentials of one sentence as all kernels see them. T tokens, L labels; NULL, the label before the
// sentence, has index L. Minus infinity forbids a choice; no potential may be NaN or plus infinity.
//
//   score(path) = sum_t ((s + tri[x][y][z]) + edge[y][z]) + emit[t][z], + end
//
// with x, y, z = path[t-2], path[t-1], path[t]. Every kernel adds in this order, so that scores agree to the bit.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "engine/simd.hpp"

namespace trellis {

template <class Real>
inline constexpr Real kForbidden = -std::numeric_limits<Real>::infinity();

// The label pairs and longer label n-grams that pruning left: paths go from node to node. A node stands for one label of
// a token, or for the labels up to it; nodes of a token ascend by their last label, then by the label before, and so on.
struct Lattice {
  const std::int64_t* starts = nullptr;     // [n_sets + 1] the nodes of the token that has a set; null: no lattice
  const std::int32_t* labels = nullptr;     // [n_nodes] the last label of each
  const std::int64_t* in_starts = nullptr;  // [n_nodes + 1] the arcs into each
  const std::int32_t* from = nullptr;       // [n_arcs] ascending per node: nodes of the token before, counted from its first
};

// The labels allowed at each token: few distinct sets (the tags of each word), shared by many tokens.
struct LabelSets {
  const std::int32_t* set_of_token;  // [T] the set of each token
  const std::int64_t* starts;        // [n_sets + 1] set s is labels[starts[s]..starts[s + 1]], never empty
  const std::int32_t* labels;        // ascending within each set
  Lattice lattice{};                 // used if all tokens of the sentence have nodes
};

template <class Real>
struct NgramScores;  // ngram_scores.hpp

// Scores of label n-grams, shared by all sentences. Rows over z are `stride` long, stride = padded(L). Padding lanes (from L
// on) are read, but their values do not matter.
template <class Real>
struct LabelTables {
  std::size_t n_labels = 0;    // L
  std::size_t stride = 0;      // padded(L)
  const Real* edge = nullptr;  // [L+1, stride] of label pairs; may be null if each token has its own
  const Real* tri = nullptr;   // [L+1, L+1, stride] of label triples; null makes a chain one of order 1
  const Real* end = nullptr;   // [stride] of the last label; null for no end scores
  // Scores of longer label n-grams, in a chain of any order (then tri is null); null: none.
  const NgramScores<Real>* ngrams = nullptr;
};

template <class Real>
struct ChainView : LabelTables<Real> {
  using LabelTables<Real>::n_labels, LabelTables<Real>::stride, LabelTables<Real>::edge, LabelTables<Real>::tri;
  std::size_t n_tokens = 0;            // T
  const Real* emit = nullptr;          // [T, stride]
  bool edge_per_token = false;         // then edge is [T, L+1, stride]
  const LabelSets* allowed = nullptr;  // null allows every label everywhere

  ChainView() = default;
  // token_edge [n, L+1, stride] where label pairs differ by token.
  ChainView(const LabelTables<Real>& labels, std::size_t n, const Real* emit, const Real* token_edge = nullptr,
            const LabelSets* allowed = nullptr)
      : LabelTables<Real>(labels), n_tokens(n), emit(emit), edge_per_token(token_edge != nullptr), allowed(allowed) {
    if (token_edge) edge = token_edge;
  }

  const Real* emit_at(std::size_t t) const { return emit + t * stride; }
  const Real* edge_at(std::size_t t, std::size_t y) const {
    return edge + ((edge_per_token ? t * (n_labels + 1) : 0) + y) * stride;
  }
  const Real* tri_at(std::size_t x, std::size_t y) const { return tri + (x * (n_labels + 1) + y) * stride; }
  // From t to t + 1, for tables with a number per history: z at order 1; y, z at order 2.
  std::size_t token_size() const { return tri ? n_labels * stride : stride; }
};

// Memory that grows and is reused.
template <class T>
T* grow(std::vector<T>& memory, std::size_t n) {
  if (memory.size() < n) memory.resize(n);
  return memory.data();
}

// The candidate labels of a token, ascending: all labels, or a list.
struct AllLabels {
  std::size_t n;
  std::size_t size() const { return n; }
  std::size_t operator[](std::size_t i) const { return i; }
};
struct ListedLabels {
  const std::int32_t* labels;
  std::size_t n;
  std::size_t size() const { return n; }
  std::size_t operator[](std::size_t i) const { return static_cast<std::size_t>(labels[i]); }
};

inline ListedLabels labels_of(const LabelSets& sets, std::size_t t) {
  std::int32_t set = sets.set_of_token[t];
  return {sets.labels + sets.starts[set], static_cast<std::size_t>(sets.starts[set + 1] - sets.starts[set])};
}

// Whether a set holds a label.
inline bool allows(const LabelSets& sets, std::size_t t, std::size_t label) {
  const ListedLabels listed = labels_of(sets, t);
  return std::binary_search(listed.labels, listed.labels + listed.n, static_cast<std::int32_t>(label));
}

// A part of a path: the labels z at a token, y and x at the two tokens before; NULL (null) before the sentence.
struct Part {
  std::size_t token, x, y, z;

  // Its index in a table over its last label (reach 0: [stride]), its last two (1: [L+1, stride]) or all (2: [L+1, L+1,
  // stride]).
  std::size_t cell(int reach, std::size_t n_labels, std::size_t stride) const {
    const std::size_t before = reach == 0 ? 0 : reach == 1 ? y : x * (n_labels + 1) + y;
    return before * stride + z;
  }
  // Whether it differs from `other` in the labels that a table of that reach depends on.
  bool differs(const Part& other, int reach) const {
    return z != other.z || (reach >= 1 && y != other.y) || (reach >= 2 && x != other.x);
  }
};

inline Part part_at(const std::int32_t* path, std::size_t t, std::size_t null) {
  const auto back = [&](std::size_t n) { return t < n ? null : static_cast<std::size_t>(path[t - n]); };
  return {t, back(2), back(1), back(0)};
}

// Calls visit(part) for every part of a path of n tokens.
template <class Visit>
TRELLIS_INLINE void each_part(const std::int32_t* path, std::size_t n, std::size_t null, Visit visit) {
  Part part{0, null, null, null};
  for (; part.token < n; ++part.token, part.x = part.y, part.y = part.z) {
    part.z = static_cast<std::size_t>(path[part.token]);
    visit(static_cast<const Part&>(part));
  }
}

// Minus infinity for every unlisted label.
template <class Real>
TRELLIS_INLINE void forbid_others(const ListedLabels& allowed, std::size_t n_labels, Real* row) {
  for (std::size_t z = 0, next = 0; z < n_labels; ++z) {
    if (next < allowed.size() && allowed[next] == z) ++next;
    else row[z] = kForbidden<Real>;
  }
}

}  // namespace trellis

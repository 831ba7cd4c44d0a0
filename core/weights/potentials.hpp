// Computes the potentials of a sentence from weights, for learners and taggers.
#pragma once
#include <cmath>
#include <vector>

#include "weights/label_parts.hpp"
#include "weights/rows.hpp"
#include "weights/token_runs.hpp"

namespace trellis {

// Whether some path may be forbidden, by minus infinity in these tables.
template <class Real>
bool forbids(const LabelTables<Real>& labels) {
  const std::size_t n_pairs = (labels.n_labels + 1) * labels.stride, n_triples = labels.tri ? (labels.n_labels + 1) * n_pairs : 0;
  const auto infinite = [](Real weight) { return std::isinf(weight); };
  return labels.end || std::any_of(labels.edge, labels.edge + n_pairs, infinite) ||
         std::any_of(labels.tri, labels.tri + n_triples, infinite);
}

using LabelWeights = LabelTables<float>;

// The potentials of one sentence; memory is reused.
template <class Real>
struct Potentials {
  std::vector<Real> emit;  // [n, stride] at least
  std::vector<Real> edge;  // [n, n_labels + 1, stride] at least, if label pairs differ by token
  LabelSets allowed{};
  std::vector<std::int32_t> columns;  // columns of rows needed by one token
  TokenRuns<Real> runs;         // for edge attributes about more than one previous label
  NgramScores<Real> ngrams{};   // with them

  // The tokens from `begin` on as a chain; emit must be filled, and edge if `by_token`.
  ChainView<Real> chain(const LabelTables<Real>& labels, const LabelSets& sets, std::size_t begin, std::size_t n,
                        bool by_token) {
    allowed = sets;
    if (allowed.starts) allowed.set_of_token += begin;
    return {labels, n, emit.data(), by_token ? edge.data() : nullptr, allowed.starts ? &allowed : nullptr};
  }
  // A chain of these potentials with the scores of `runs`.
  void add_runs(ChainView<Real>& chain) {
    ngrams = *chain.ngrams;
    ngrams.by_token = &runs.ngrams;
    chain.ngrams = &ngrams;
  }
};

// edge[t, y, z] = shared[y, z] for n tokens, after resizing it
template <class Real>
void share_edges(const Real* shared, std::size_t size, std::size_t n, std::vector<Real>& edge) {
  if (edge.size() < n * size) edge.resize(n * size);
  for (std::size_t t = 0; t < n; ++t) std::copy_n(shared, size, edge.data() + t * size);
}

// edge[t, y, z] = shared[y, z] + sum over edge attributes a at t of value(a) · w[a, (y, z)], for tokens from begin to end; and
// their scores of longer label runs.
template <class AnyRows, class Real, class Sum>
TRELLIS_INLINE void fill_edges(const AnyRows& rows, const Real* shared, std::size_t size, const Ngrams* ngrams,
                               const ChainData& data, std::size_t begin, std::size_t end, std::size_t stride, Real* emit, std::vector<Real>& edge,
                               TokenRuns<Sum>& runs) {
  const bool by_token = data.pairs_by_token();
  if (by_token) share_edges(shared, size, end - begin, edge);
  if (data.histories)
    runs.fill(rows, data.edge_attributes, begin, end, ngrams->size(), size, by_token ? edge.data() : nullptr, emit, stride);
  else if (by_token)
    add_rows(rows, data.edge_attributes, begin, end, size, edge.data());
}

// The nonempty sentence [begin, end); stored in `to`. `kListed`: tokens have lists of labels, and other
// labels need no scores.
template <bool kListed, class AnyRows, class AnyEdgeRows>
TRELLIS_INLINE ChainView<float> chain_of(const AnyRows& rows, const LabelParts& parts, const AnyEdgeRows& edge_rows,
                                         const LabelWeights& labels, const ChainData& data, std::size_t begin,
                                         std::size_t end, Potentials<float>& to) {
  const std::size_t n = end - begin;
  const std::size_t stride = parts.any() ? parts.stride() : labels.stride;
  to.emit.assign(n * stride, 0);
  if constexpr (kListed) {
    const auto labels_at = [&](std::size_t t) {
      const ListedLabels listed = labels_of(data.sets, t);
      return std::span(listed.labels, listed.n);
    };
    const auto columns_at = [&](std::size_t t) { return parts.columns_of(labels_at(t), to.columns); };
    add_rows(rows, data.attributes, begin, end, stride, to.emit.data(), columns_at);
    parts.fold_listed(n, to.emit.data(), [&](std::size_t t) { return labels_at(begin + t); });
  } else {
    add_rows(rows, data.attributes, begin, end, stride, to.emit.data());
    parts.fold(n, to.emit.data());
  }
  const std::size_t n_pairs = (labels.n_labels + 1) * labels.stride;
  fill_edges(edge_rows, labels.edge, n_pairs, labels.ngrams ? labels.ngrams->ngrams : nullptr, data, begin, end, labels.stride,
             to.emit.data(), to.edge, to.runs);
  ChainView<float> chain = to.chain(labels, data.sets, begin, n, data.pairs_by_token());
  if (data.histories) to.add_runs(chain);
  return chain;
}

// The linear model of a chain; a view of external arrays.
struct LinearChain {
  Rows<std::uint16_t> rows;
  Rows<std::uint32_t> edge_rows;
  LabelWeights labels;
  LabelParts parts{};

  ChainView<float> chain(const ChainData& data, std::size_t begin, std::size_t end, Potentials<float>& to) const;
};

}  // namespace trellis

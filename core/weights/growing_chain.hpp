// All weights of a chain while they are learnt: of attributes, of edge attributes, of label pairs and triples.
#pragma once
#include "weights/growing_rows.hpp"

namespace trellis {

// One entry of a sparse vector of weights. Rows are numbered: attributes, then edge attributes, then one for label
// pairs and one for label triples.
struct Change {
  std::uint32_t row, place;
  double by;
};
using Changes = std::vector<Change>;

struct GrowingChain {
  // At order 0 label pairs have no weights, at order 2 label triples have some too.
  GrowingChain(std::size_t n_attributes, std::size_t n_edge_attributes, std::size_t n_labels_, int order_,
               bool variances = false)
      : rows(n_attributes, n_labels_, GrowingRows::dense_from(n_labels_), variances),
        edge_rows(n_edge_attributes, (n_labels_ + 1) * padded(n_labels_), 0, variances), n_labels(n_labels_),
        stride(padded(n_labels_)), order(order_), edge((n_labels_ + 1) * stride),
        tri(order_ == 2 ? (n_labels_ + 1) * (n_labels_ + 1) * stride : 0), edge_sums(edge.size()),
        tri_sums(tri.size()), edge_variances(variances ? edge.size() : 0, 1.0f),
        tri_variances(variances ? tri.size() : 0, 1.0f) {}

  std::uint32_t pair_row() const { return static_cast<std::uint32_t>(rows.n_attributes() + edge_rows.n_attributes()); }

  // The place of a weight: find gives null where there is none yet, make makes it.
  GrowingRows::Place find(const Change& change) {
    const std::size_t n = rows.n_attributes(), s = change.place;
    if (change.row < n) return rows.find(static_cast<std::int32_t>(change.row), change.place);
    if (change.row < pair_row()) return edge_rows.find(static_cast<std::int32_t>(change.row - n), change.place);
    if (change.row == pair_row())
      return {&edge[s], &edge_sums[s], edge_variances.empty() ? nullptr : &edge_variances[s]};
    return {&tri[s], &tri_sums[s], tri_variances.empty() ? nullptr : &tri_variances[s]};
  }
  GrowingRows::Place make(const Change& change) {
    const std::size_t n = rows.n_attributes();
    if (change.row < n) return rows.make(static_cast<std::int32_t>(change.row), change.place);
    if (change.row < pair_row()) return edge_rows.make(static_cast<std::int32_t>(change.row - n), change.place);
    return find(change);
  }

  GrowingRows rows, edge_rows;
  std::size_t n_labels, stride;
  int order;
  std::vector<float> edge, tri;                      // as LabelWeights has them; tri empty below order 2
  std::vector<double> edge_sums, tri_sums;           // beside them
  std::vector<float> edge_variances, tri_variances;  // beside them, or empty
  std::vector<float> end;                            // as LabelWeights has it, or empty; never changes
};

}  // namespace trellis

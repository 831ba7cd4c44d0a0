// Weights and encoded data as they come from Python, checked; shared by learners and decoding.
#pragma once
#include <optional>
#include <span>
#include <tuple>

#include "bind.hpp"
#include "tag/checks.hpp"
#include "weights/linear_chain.hpp"

// starts [n_attributes + 1], labels [n_slots], weights [n_slots]
template <class Label>
using RowArrays = std::tuple<Array<std::uint32_t, 1>, Array<Label, 1>, Array<float, 1>>;

template <class Label>
trellis::Rows<Label> rows_from(const RowArrays<Label>& given, std::size_t n_labels) {
  const auto& [starts, labels, weights] = given;
  if (starts.size() == 0 || labels.size() != weights.size() || starts(0) != 0 ||
      starts(starts.size() - 1) != labels.size())
    throw nb::value_error("rows that do not fit together");
  if (!trellis::ascending(std::span(starts.data(), starts.size()))) throw nb::value_error("row starts must not fall");
  if (!trellis::all_below(std::span(labels.data(), labels.size()), n_labels))
    throw nb::value_error("a row with a label out of range");
  return {starts.data(), labels.data(), weights.data()};
}

// Weights of label pairs [L + 1, stride] and triples [L + 1, L + 1, stride], padded to the kernels' stride.
// What a last label gives is [1, stride] at order 1, [L + 1, stride] at order 2.
inline trellis::LabelWeights label_weights_from(const Array<float, 2>& edge, const std::optional<Array<float, 3>>& tri,
                                                const std::optional<Array<float, 2>>& end) {
  if (edge.shape(0) < 2) throw nb::value_error("a chain needs a label");
  const std::size_t n = edge.shape(0), stride = trellis::padded(n - 1);
  if (edge.shape(1) != stride) throw nb::value_error("rows of edge must be padded");
  if (tri && (tri->shape(0) != n || tri->shape(1) != n || tri->shape(2) != stride))
    throw nb::value_error("tri must be [n_labels + 1, n_labels + 1, stride]");
  if (end && (end->shape(0) != (tri ? n : 1) || end->shape(1) != stride)) throw nb::value_error("end does not fit");
  return {n - 1, stride, edge.data(), tri ? tri->data() : nullptr, end ? end->data() : nullptr};
}

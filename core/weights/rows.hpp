// Weights of attributes, a row per attribute, and their sums at sites.
//
// Most attributes were seen with one or two labels, and a few frequent ones with nearly all. Rows of few labels (light)
// are lists of slots, a label and a weight each. Rows of many (heavy) are vectors over all labels. All sums of weights,
// in training and tagging, use the three loops below.
#pragma once
#include <span>
#include <utility>
#include <vector>

#include "weights/sites.hpp"

namespace trellis {

// The number of weights from which a row is heavy: adding a vector of labels is then cheaper than adding slots one by one.
template <class Real>
constexpr std::size_t heavy_from(std::size_t stride) { return 2 + stride / kLanes<Real>; }

// scores[label(s)] += value · weight(s), for slots from begin to end; slot_at(s) has both
template <class Real, class SlotAt>
TRELLIS_INLINE void add_light(std::uint32_t begin, std::uint32_t end, SlotAt slot_at, Real value, Real* scores) {
  for (std::uint32_t s = begin; s < end; ++s) {
    const auto [label, weight] = slot_at(s);
    scores[label] += value * weight;
  }
}

// scores[z] += value · row[z], for some labels; none given: for all
template <class Real>
TRELLIS_INLINE void add_heavy(const Real* row, std::size_t stride, std::span<const std::int32_t> labels, Real value,
                              Real* scores) {
  for (const std::int32_t z : labels) scores[z] += value * row[z];
  for (std::size_t z = 0; z < stride && labels.empty(); z += kLanes<Real>) lanes_at(scores + z) += value * lanes(row + z);
}

// The same for many rows at once, a few vectors of labels at a time, in registers:
// sum[c] += value_i · row_at(i)[z + lanes of c], for i from first to last; values null: all one
template <class Real, std::size_t Chunks, class Value, class RowAt>
TRELLIS_INLINE void sum_heavy(std::size_t first, std::size_t last, RowAt row_at, const Value* values, std::size_t z,
                              Vector<Real> (&sum)[Chunks]) {
  for (std::size_t i = first; i < last; ++i) {
    const Real* row = row_at(i) + z;
    for (std::size_t c = 0; c < Chunks; ++c) {
      const Vector<Real> part = lanes(row + c * kLanes<Real>);
      sum[c] += values ? static_cast<Real>(values[i]) * part : part;
    }
  }
}

// The numbering of heavy rows, and their vectors; if all rows are heavy, those that exist.
template <class Real>
class HeavyRows {
 public:
  HeavyRows() = default;  // none is
  // starts [n_attributes + 1] of slots, which must outlive it.
  HeavyRows(const std::uint32_t* starts, std::size_t n_attributes, std::size_t stride)
      : starts_(starts), stride_(stride), least_(heavy_from<Real>(stride)), number_(n_attributes) {
    std::int32_t n = 0;
    for (std::size_t a = 0; a < n_attributes; ++a) number_[a] = has(static_cast<std::int32_t>(a)) ? n++ : -1;
    vectors_.assign(static_cast<std::size_t>(n) * stride, 0);
  }
  // Initially empty, rows are added by make().
  HeavyRows(std::size_t n_attributes, std::size_t stride) : stride_(stride), number_(n_attributes, -1) {}
  Real* make(std::int32_t attribute) {
    if (number_[attribute] < 0) {
      number_[attribute] = static_cast<std::int32_t>(size());
      vectors_.resize(vectors_.size() + stride_);
    }
    return vector(number_[attribute]);
  }
  TRELLIS_INLINE void add_to(std::int32_t attribute, Real value, Real* out) const {
    if (const Real* row = find(attribute)) add_heavy(row, stride_, {}, value, out);
  }
  void prefetch_row(std::int32_t attribute) const { __builtin_prefetch(number_.data() + attribute); }
  void prefetch_slots(std::int32_t attribute) const { __builtin_prefetch(find(attribute)); }

  // The weights of all rows, by slots.
  template <class Label>
  void set(const Label* labels, const Real* weights) {
    for (std::size_t a = 0; a < number_.size(); ++a)
      for (std::uint32_t s = starts_[a]; number_[a] >= 0 && s < starts_[a + 1]; ++s) vector(number_[a])[labels[s]] = weights[s];
  }

  TRELLIS_INLINE bool has(std::int32_t attribute) const { return starts_[attribute + 1] - starts_[attribute] >= least_; }
  // Heavy rows are numbered; -1 for a light one.
  std::int32_t number(std::int32_t attribute) const { return number_[attribute]; }
  std::size_t size() const { return vectors_.size() / stride_; }
  std::size_t stride() const { return stride_; }
  const Real* of(std::int32_t attribute) const { return vector(number_[attribute]); }
  const Real* find(std::int32_t attribute) const { return number_[attribute] < 0 ? nullptr : of(attribute); }
  Real* vector(std::size_t number) { return vectors_.data() + number * stride_; }
  const Real* vector(std::size_t number) const { return vectors_.data() + number * stride_; }

 private:
  const std::uint32_t* starts_ = nullptr;
  std::size_t stride_ = 1, least_ = 0;
  std::vector<std::int32_t> number_;  // [n_attributes]
  std::vector<Real> vectors_;         // [n_heavy, stride]
};

// Attribute a has weights[s] for labels[s], s from starts[a] to starts[a + 1]. For edge attributes the "label" is a
// cell of the matrix of label pairs, previous * stride + label, or a longer run of labels (token_runs.hpp).
template <class Label, class Real = float>
struct Rows {
  const std::uint32_t* starts = nullptr;   // [n_attributes + 1]
  const Label* labels = nullptr;           // [n_slots]
  const Real* weights = nullptr;           // [n_slots]
  const HeavyRows<Real>* heavy = nullptr;  // rows with many labels, or null: none is heavy

  // For some labels at least; empty: for all.
  TRELLIS_INLINE void add_to(std::int32_t attribute, Real value, Real* out, std::span<const std::int32_t> wanted = {}) const {
    if (heavy && heavy->has(attribute)) return add_heavy(heavy->of(attribute), heavy->stride(), wanted, value, out);
    add_light(starts[attribute], starts[attribute + 1], [this](std::uint32_t s) TRELLIS_INLINE_LAMBDA {
      return std::pair{labels[s], weights[s]};
    }, value, out);
  }
  // Calls visit(label, weight).
  template <class Visit>
  void each_slot(std::int32_t attribute, Visit visit) const {
    for (std::uint32_t s = starts[attribute]; s < starts[attribute + 1]; ++s) visit(labels[s], weights[s]);
  }
  void prefetch_row(std::int32_t attribute) const { __builtin_prefetch(starts + attribute); }
  void prefetch_slots(std::int32_t attribute) const {
    __builtin_prefetch(labels + starts[attribute]);
    __builtin_prefetch(weights + starts[attribute]);
  }
};

// out[s, ...] += sum over attributes a at site s of value(a) · w[a, ...], for sites from begin to end; rows of `out` are
// `size` long. If only some columns of each site are needed, columns_at(s), the others are undefined.
struct AllColumns {};
template <class AnyRows, class Real, class ColumnsAt = AllColumns>
TRELLIS_INLINE void add_rows(const AnyRows& rows, const Sites& at, std::size_t begin, std::size_t end, std::size_t size,
                             Real* out, ColumnsAt columns_at = {}) {
  // Rows lie scattered: the data of a site is prefetched some attributes ahead, first the row, then its slots.
  constexpr std::int64_t kAhead = 24;
  const std::int64_t last = at.starts[end];
  std::int64_t i = at.starts[begin];
  for (std::size_t s = begin; s < end; ++s, out += size) {
    std::span<const std::int32_t> columns;
    if constexpr (!std::is_same_v<ColumnsAt, AllColumns>)
      if (columns = columns_at(s); columns.size() * kLanes<Real> >= size) columns = {};
    for (; i < at.starts[s + 1]; ++i) {
      if (i + 2 * kAhead < last) rows.prefetch_row(at.ids[i + 2 * kAhead]);
      if (i + kAhead < last) rows.prefetch_slots(at.ids[i + kAhead]);
      if constexpr (std::is_same_v<ColumnsAt, AllColumns>) rows.add_to(at.ids[i], at.value(i), out);
      else rows.add_to(at.ids[i], at.value(i), out, columns);
    }
  }
}

}  // namespace trellis

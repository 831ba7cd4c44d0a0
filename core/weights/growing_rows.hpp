// Weights that come into being when training first touches them: a row of slots an attribute.
//
// Of all pairs of an attribute and a label training touches few, so a row begins empty and grows. A row with many labels
// becomes dense: one float a label, added as vectors. Beside each weight stands its sum for averaging,
//   u[s] = sum over updates of (examples seen before it) · (its change to weight s),
// and, where a learner keeps one, its variance, which begins as 1.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/simd.hpp"

namespace trellis {

class GrowingRows {
 public:
  // One weight and what stands beside it; all null where there is none, variance null where none are kept.
  struct Place {
    float* weight;
    double* sum;
    float* variance;
  };

  // Rows over n_labels labels; with dense_from = 0 no row ever becomes dense.
  GrowingRows(std::size_t n_attributes, std::size_t n_labels, std::size_t dense_from, bool variances = false)
      : n_labels_(n_labels), stride_(padded(n_labels)), dense_from_(dense_from), variances_(variances),
        rows_(n_attributes) {}

  // A vector addition costs as much as one slot; below four labels a row is rare and kept small.
  static std::size_t dense_from(std::size_t n_labels) { return std::max<std::size_t>(5, n_labels / kPadding); }

  // From now on no row gets a label but by set(). A dense row would have labels it must not have: there will be none.
  void stop_growing() { grows_ = false, dense_from_ = 0; }

  // The place of w[attribute, label], made if there is none.
  Place make(std::int32_t attribute, std::uint32_t label) {
    const Place place = find(rows_[attribute], label);
    return place.weight ? place : grow(rows_[attribute], label);
  }
  void set(std::int32_t attribute, std::uint32_t label, float weight) { *make(attribute, label).weight = weight; }

  // Where rows do not grow, an attribute that was never seen with a label has no feature with it.
  bool may_have(std::int32_t attribute, std::uint32_t label) { return grows_ || find(attribute, label).weight; }
  Place find(std::int32_t attribute, std::uint32_t label) { return find(rows_[attribute], label); }

  std::size_t n_attributes() const { return rows_.size(); }
  std::size_t n_labels() const { return n_labels_; }
  void prefetch_row(std::int32_t attribute) const { __builtin_prefetch(rows_.data() + attribute); }
  void prefetch_slots(std::int32_t attribute) const {
    const Row row = rows_[attribute];
    if (row.size == kDense) {
      __builtin_prefetch(dense_.data() + row.offset);
    } else {
      __builtin_prefetch(slots_.data() + row.offset);
    }
  }

  // emit[z] += value · w[attribute, z]
  TRELLIS_INLINE void add_to(std::int32_t attribute, float value, float* emit) const {
    const Row row = rows_[attribute];
    if (row.size == kDense) {
      const float* weights = dense_.data() + row.offset;
      for (std::size_t z = 0; z < stride_; z += kLanes<float>) lanes(emit + z) += value * lanes(weights + z);
    } else {
      const Slot* slots = slots_.data() + row.offset;
      for (std::uint32_t s = 0; s < row.size; ++s) emit[slots[s].label] += value * slots[s].weight;
    }
  }

  // Calls each(label, weight, sum, variance) for the slots of an attribute, labels ascending.
  template <class Each>
  void for_each(std::int32_t attribute, std::vector<std::uint32_t>& order, Each each) const {
    const Row row = rows_[attribute];
    if (row.size == kDense) {
      for (std::size_t z = 0, s = row.offset; z < n_labels_; ++z, ++s)
        each(static_cast<std::uint32_t>(z), dense_[s], dense_sums_[s], variances_ ? dense_variances_[s] : 1.0f);
      return;
    }
    order.resize(row.size);
    for (std::uint32_t s = 0; s < row.size; ++s) order[s] = row.offset + s;
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return slots_[a].label < slots_[b].label; });
    for (std::uint32_t s : order)
      each(slots_[s].label, slots_[s].weight, slot_sums_[s], variances_ ? slot_variances_[s] : 1.0f);
  }

 private:
  static constexpr std::uint32_t kDense = ~0u;
  struct Row {
    std::uint32_t offset = 0;  // into slots_, or into dense_
    std::uint32_t size = 0;    // slots taken, out of bit_ceil(size); kDense for a dense row
  };
  struct Slot {
    std::uint32_t label;
    float weight;
  };

  Place slot_at(std::size_t s) {
    return {&slots_[s].weight, &slot_sums_[s], variances_ ? &slot_variances_[s] : nullptr};
  }
  Place find(const Row& row, std::uint32_t label) {
    if (row.size == kDense) {
      const std::size_t s = row.offset + label;
      return {&dense_[s], &dense_sums_[s], variances_ ? &dense_variances_[s] : nullptr};
    }
    for (std::uint32_t s = row.offset; s < row.offset + row.size; ++s)
      if (slots_[s].label == label) return slot_at(s);
    return {nullptr, nullptr, nullptr};
  }

  // A new slot for a label that the row does not have. What a moved row leaves behind stays unused: at most half.
  Place grow(Row& row, std::uint32_t label) {
    if (dense_from_ && row.size + 1 >= dense_from_) {
      const std::size_t offset = dense_.size();
      dense_.resize(offset + stride_);
      dense_sums_.resize(offset + stride_);
      if (variances_) dense_variances_.resize(offset + stride_, 1.0f);
      for (std::uint32_t s = row.offset; s < row.offset + row.size; ++s) {
        dense_[offset + slots_[s].label] = slots_[s].weight;
        dense_sums_[offset + slots_[s].label] = slot_sums_[s];
        if (variances_) dense_variances_[offset + slots_[s].label] = slot_variances_[s];
      }
      row = {static_cast<std::uint32_t>(offset), kDense};
      return find(row, label);
    }
    if (row.size == 0 || std::has_single_bit(row.size)) {  // full: move to twice the room
      const std::size_t offset = slots_.size();
      slots_.resize(offset + std::bit_ceil(row.size + 1));
      slot_sums_.resize(slots_.size());
      if (variances_) slot_variances_.resize(slots_.size(), 1.0f);
      for (std::uint32_t s = 0; s < row.size; ++s) {
        slots_[offset + s] = slots_[row.offset + s];
        slot_sums_[offset + s] = slot_sums_[row.offset + s];
        if (variances_) slot_variances_[offset + s] = slot_variances_[row.offset + s];
      }
      row.offset = static_cast<std::uint32_t>(offset);
    }
    const std::uint32_t s = row.offset + row.size++;
    slots_[s] = {label, 0};
    return slot_at(s);
  }

  std::size_t n_labels_, stride_, dense_from_;
  bool variances_, grows_ = true;
  std::vector<Row> rows_;           // [n_attributes]
  std::vector<Slot> slots_;
  std::vector<double> slot_sums_;   // beside slots_
  std::vector<float> dense_;        // rows of stride_
  std::vector<double> dense_sums_;  // beside dense_
  std::vector<float> slot_variances_, dense_variances_;  // beside both, or empty
};

}  // namespace trellis

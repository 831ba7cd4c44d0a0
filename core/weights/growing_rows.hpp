// Weights created when training first updates them: a row of slots per attribute.
//
// Training updates few of all pairs of an attribute and a label, so a row begins empty and grows. A row with many labels
// becomes heavy: one float per label, added as vectors. Each weight has its sum for averaging,
//   u[s] = sum over updates of (examples seen before it) · (its change to weight s),
// and, for some learners, its variance, initially 1.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "weights/rows.hpp"

namespace trellis {

// A weight with its sum and variance; all null if it does not exist, variance null if the learner has none.
struct LearntWeight {
  float* weight = nullptr;
  double* sum = nullptr;
  float* variance = nullptr;
};

// What weights have beside them: nothing if they do not change any more, sums, or sums and variances.
enum class Learns { kNothing, kWeights, kVariances };

// Sum and variance of a weight.
class Beside {
 public:
  explicit Beside(Learns learns, std::size_t n = 0) : learns_(learns) { resize(n); }
  explicit Beside(bool varies, std::size_t n = 0) : Beside(varies ? Learns::kVariances : Learns::kWeights, n) {}
  void resize(std::size_t n) {
    if (learns_ != Learns::kNothing) sums.resize(n);
    if (varies()) variances.resize(n, 1.0f);
  }
  void copy(std::size_t s, const Beside& from, std::size_t from_s) {
    if (learns_ != Learns::kNothing) sums[s] = from.sums[from_s];
    if (varies()) variances[s] = from.variances[from_s];
  }
  void clear(std::size_t s) {
    if (learns_ != Learns::kNothing) sums[s] = 0;
    if (varies()) variances[s] = 1;
  }
  float variance(std::size_t s) const { return varies() ? variances[s] : 1.0f; }
  LearntWeight at(std::size_t s, float& weight) {
    return {&weight, learns_ == Learns::kNothing ? nullptr : &sums[s], varies() ? &variances[s] : nullptr};
  }

  std::vector<double> sums;      // or empty
  std::vector<float> variances;  // or empty

 private:
  bool varies() const { return learns_ == Learns::kVariances; }
  Learns learns_;
};

// A dense table of weights.
struct LearntTable : Beside {
  template <class Kind>
  LearntTable(std::size_t n, Kind learns) : Beside(learns, n), weights(n) {}
  void resize(std::size_t n) { weights.resize(n), Beside::resize(n); }
  LearntWeight at(std::size_t cell) { return Beside::at(cell, weights[cell]); }

  std::vector<float> weights;
};

class GrowingRows {
 public:
  // Rows over n_labels labels. A row becomes heavy with that many labels; 0: never.
  GrowingRows(std::size_t n_attributes, std::size_t n_labels, std::size_t heavy_from, bool variances = false)
      : GrowingRows(n_attributes, n_labels, heavy_from, variances ? Learns::kVariances : Learns::kWeights) {}
  GrowingRows(std::size_t n_attributes, std::size_t n_labels, std::size_t heavy_from, Learns learns)
      : n_labels_(n_labels), stride_(padded(n_labels)), heavy_from_(heavy_from), rows_(n_attributes),
        beside_slots_(learns), heavy_(0, learns) {}

  struct Slot {
    std::uint32_t label;
    float weight;
  };

  // One more attribute, whose row is empty.
  void add_attribute() { rows_.emplace_back(); }
  // One more attribute of rows that do not learn, with all its weights: there is no room for others.
  void add_attribute(std::span<const Slot> slots) {
    const bool heavy = heavy_from_ && slots.size() >= heavy_from_;
    const std::size_t offset = heavy ? heavy_.weights.size() : slots_.size();
    check_offset(offset + (heavy ? stride_ : slots.size()));
    rows_.push_back({static_cast<std::uint32_t>(offset), heavy ? kHeavy : static_cast<std::uint32_t>(slots.size())});
    if (!heavy) return slots_.insert(slots_.end(), slots.begin(), slots.end()), void();
    heavy_.resize(offset + stride_);
    for (const Slot& slot : slots) heavy_.weights[offset + slot.label] = slot.weight;
  }
  // Releases memory that only growing rows need.
  void shrink() { rows_.shrink_to_fit(), slots_.shrink_to_fit(); }

  // From now on only set() adds labels to rows. No row becomes heavy, since a heavy row has all labels.
  void stop_growing() { grows_ = false, heavy_from_ = 0; }
  bool grows() const { return grows_; }

  // The location of w[attribute, label], created if missing.
  TRELLIS_INLINE LearntWeight make(std::int32_t attribute, std::uint32_t label) {
    const LearntWeight place = find(rows_[attribute], label);
    return place.weight ? place : grow(rows_[attribute], label);
  }
  void set(std::int32_t attribute, std::uint32_t label, float weight) { *make(attribute, label).weight = weight; }

  // If rows do not grow, an attribute has no feature with a label it was never seen with.
  bool may_have(std::int32_t attribute, std::uint32_t label) { return grows_ || find(attribute, label).weight; }
  LearntWeight find(std::int32_t attribute, std::uint32_t label) { return find(rows_[attribute], label); }

  // The number of the slot that w[attribute, label] has in a light row; -1 if it does not exist.
  std::int64_t slot_of(std::int32_t attribute, std::uint32_t label) const {
    const Row row = rows_[attribute];
    for (std::uint32_t s = row.offset; s < row.offset + row.size; ++s)
      if (slots_[s].label == label) return s;
    return -1;
  }
  std::size_t n_slots() const { return slots_.size(); }
  // w[attribute, label], 0 if it does not exist
  float value(std::int32_t attribute, std::uint32_t label) const {
    if (rows_[attribute].size == kHeavy) return heavy_.weights[rows_[attribute].offset + label];
    const std::int64_t slot = slot_of(attribute, label);
    return slot < 0 ? 0 : slots_[static_cast<std::size_t>(slot)].weight;
  }
  // sums[z] += w[attribute, first + z], for n labels
  void add_part(std::int32_t attribute, std::uint32_t first, std::size_t n, double* sums) const {
    const Row row = rows_[attribute];
    if (row.size == kHeavy) {
      const float* const weights = heavy_.weights.data() + row.offset + first;
      for (std::size_t z = 0; z < n; ++z) sums[z] += weights[z];
      return;
    }
    for (std::uint32_t s = row.offset; s < row.offset + row.size; ++s)
      if (const std::uint32_t z = slots_[s].label - first; z < n) sums[z] += slots_[s].weight;
  }

  std::size_t n_attributes() const { return rows_.size(); }
  std::size_t n_labels() const { return n_labels_; }
  void prefetch_row(std::int32_t attribute) const { __builtin_prefetch(rows_.data() + attribute); }
  void prefetch_slots(std::int32_t attribute) const {
    const Row row = rows_[attribute];
    if (row.size == kHeavy) {
      __builtin_prefetch(heavy_.weights.data() + row.offset);
    } else {
      __builtin_prefetch(slots_.data() + row.offset);
    }
  }

  // emit[z] += value · w[attribute, z], for some labels at least; none given: for all
  TRELLIS_INLINE void add_to(std::int32_t attribute, float value, float* emit, std::span<const std::int32_t> labels = {}) const {
    const Row row = rows_[attribute];
    if (row.size == kHeavy) {
      add_heavy(heavy_.weights.data() + row.offset, stride_, labels, value, emit);
    } else {
      const Slot* slots = slots_.data() + row.offset;
      add_light(0, row.size, [slots](std::uint32_t s) TRELLIS_INLINE_LAMBDA { return slots[s]; }, value, emit);
    }
  }

  // Calls visit(label, weight) for a row of edge attributes, which is never heavy.
  template <class Visit>
  void each_slot(std::int32_t attribute, Visit visit) const {
    const Row row = rows_[attribute];
    for (std::uint32_t s = row.offset; s < row.offset + row.size; ++s) visit(slots_[s].label, slots_[s].weight);
  }

  // Calls visit(attribute, label, weight, sum, variance) for all weights, attributes and their labels ascending.
  template <class Visit>
  void each(Visit visit) const {
    for (std::size_t a = 0; a < rows_.size(); ++a) each(a, visit);
  }
  // The same for the weights of attribute a.
  template <class Visit>
  void each(std::size_t a, Visit visit) const {
    const Row row = rows_[a];
    if (row.size == kHeavy) {
      for (std::size_t z = 0, s = row.offset; z < n_labels_; ++z, ++s)
        visit(a, static_cast<std::uint32_t>(z), heavy_.weights[s], heavy_.sums[s], heavy_.variance(s));
      return;
    }
    std::vector<std::uint32_t> order(row.size);
    for (std::uint32_t s = 0; s < row.size; ++s) order[s] = row.offset + s;
    std::sort(order.begin(), order.end(), [&](auto s, auto t) { return slots_[s].label < slots_[t].label; });
    for (std::uint32_t s : order)
      visit(a, slots_[s].label, slots_[s].weight, beside_slots_.sums[s], beside_slots_.variance(s));
  }

 private:
  static constexpr std::uint32_t kHeavy = ~0u;
  struct Row {
    std::uint32_t offset = 0;  // into slots_, or into heavy_
    std::uint32_t size = 0;    // used slots, out of bit_ceil(size); kHeavy for a heavy row
  };

  TRELLIS_INLINE LearntWeight find(const Row& row, std::uint32_t label) {
    if (row.size == kHeavy) return heavy_.at(row.offset + label);
    for (std::uint32_t s = row.offset; s < row.offset + row.size; ++s)
      if (slots_[s].label == label) return beside_slots_.at(s, slots_[s].weight);
    return {};
  }

  // Offsets of rows have 32 bits.
  static void check_offset(std::size_t end) {
    if (end > kHeavy) throw std::length_error("more than 2^32 weights; use fewer features or labels");
  }

  // A new slot for a label that is not in the row. The old slots of a moved row are given to another row of their number.
  LearntWeight grow(Row& row, std::uint32_t label) {
    if (heavy_from_ && row.size + 1 >= heavy_from_) {
      const std::size_t offset = heavy_.weights.size();
      check_offset(offset + stride_);
      heavy_.resize(offset + stride_);
      for (std::uint32_t s = row.offset; s < row.offset + row.size; ++s) {
        heavy_.weights[offset + slots_[s].label] = slots_[s].weight;
        heavy_.copy(offset + slots_[s].label, beside_slots_, s);
      }
      give_up(row);
      row = {static_cast<std::uint32_t>(offset), kHeavy};
      return find(row, label);
    }
    if (row.size == 0 || std::has_single_bit(row.size)) {  // full: move to a doubled capacity
      const std::size_t offset = slots_for(std::bit_ceil(row.size + 1));
      for (std::uint32_t s = 0; s < row.size; ++s) {
        slots_[offset + s] = slots_[row.offset + s];
        beside_slots_.copy(offset + s, beside_slots_, row.offset + s);
      }
      give_up(row);
      row.offset = static_cast<std::uint32_t>(offset);
    }
    const std::uint32_t s = row.offset + row.size++;
    slots_[s] = {label, 0}, beside_slots_.clear(s);
    return beside_slots_.at(s, slots_[s].weight);
  }
  // The first of so many slots, a power of two.
  std::size_t slots_for(std::uint32_t capacity) {
    std::vector<std::uint32_t>& free = free_[std::countr_zero(capacity)];
    if (!free.empty()) {
      const std::uint32_t offset = free.back();
      free.pop_back();
      return offset;
    }
    const std::size_t offset = slots_.size();
    check_offset(offset + capacity);
    beside_slots_.resize(offset + capacity);
    slots_.resize(offset + capacity);
    return offset;
  }
  void give_up(const Row& row) {
    if (row.size) free_[std::countr_zero(std::bit_ceil(row.size))].push_back(row.offset);
  }

  std::size_t n_labels_, stride_, heavy_from_;
  bool grows_ = true;
  std::vector<Row> rows_;  // [n_attributes]
  std::vector<Slot> slots_;
  std::array<std::vector<std::uint32_t>, 32> free_;  // offsets of unused slots, by the logarithm of their number
  Beside beside_slots_;
  LearntTable heavy_;  // rows of stride_
};

}  // namespace trellis

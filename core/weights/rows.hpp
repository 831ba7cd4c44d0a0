// Weights of attributes, a row per attribute, and their sum over what stands at a site.
#pragma once
#include <vector>

#include "weights/sites.hpp"

namespace trellis {

// Attribute a has weights[s] for labels[s], s from starts[a] to starts[a + 1]. Of edge attributes the "label" is a
// pair's place in the matrix of label pairs, previous * stride + label.
template <class Label, class Real = float>
struct Rows {
  const std::uint32_t* starts = nullptr;  // [n_attributes + 1]
  const Label* labels = nullptr;          // [n_slots]
  const Real* weights = nullptr;          // [n_slots]

  TRELLIS_INLINE void add_to(std::int32_t attribute, Real value, Real* out) const {
    for (std::uint32_t s = starts[attribute]; s < starts[attribute + 1]; ++s) out[labels[s]] += value * weights[s];
  }
  void prefetch_row(std::int32_t attribute) const { __builtin_prefetch(starts + attribute); }
  void prefetch_slots(std::int32_t attribute) const {
    __builtin_prefetch(labels + starts[attribute]);
    __builtin_prefetch(weights + starts[attribute]);
  }
};

// Rows over all labels in double precision; a row is made when an attribute is first touched.
class DenseRows {
 public:
  DenseRows(std::size_t n_attributes, std::size_t stride) : place_(n_attributes, kNone), stride_(stride) {}
  const double* find(std::int32_t attribute) const {
    const std::size_t place = place_[static_cast<std::size_t>(attribute)];
    return place == kNone ? nullptr : data_.data() + place;
  }
  double* make(std::int32_t attribute) {
    std::size_t& place = place_[static_cast<std::size_t>(attribute)];
    if (place == kNone) {
      place = data_.size();
      data_.resize(place + stride_, 0.0);
    }
    return data_.data() + place;
  }
  std::size_t n_attributes() const { return place_.size(); }

  TRELLIS_INLINE void add_to(std::int32_t attribute, double value, double* out) const {
    if (const double* row = find(attribute))
      for (std::size_t z = 0; z < stride_; ++z) out[z] += value * row[z];
  }
  void prefetch_row(std::int32_t attribute) const { __builtin_prefetch(place_.data() + attribute); }
  void prefetch_slots(std::int32_t attribute) const { __builtin_prefetch(find(attribute)); }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};
  std::vector<std::size_t> place_;  // [n_attributes]
  std::vector<double> data_;        // [n_touched, stride]
  std::size_t stride_;
};

// out[s, ...] += sum over attributes a at site s of value(a) · w[a, ...], for sites from begin to end; rows of `out` are
// `size` long.
template <class AnyRows, class Real>
TRELLIS_INLINE void add_rows(const AnyRows& rows, const Sites& at, std::size_t begin, std::size_t end, std::size_t size,
                             Real* out) {
  // Rows lie scattered: what a site will need is asked for some attributes ahead, first the row, then its slots.
  constexpr std::int64_t kAhead = 24;
  const std::int64_t last = at.starts[end];
  std::int64_t i = at.starts[begin];
  for (std::size_t s = begin; s < end; ++s, out += size)
    for (; i < at.starts[s + 1]; ++i) {
      if (i + 2 * kAhead < last) rows.prefetch_row(at.ids[i + 2 * kAhead]);
      if (i + kAhead < last) rows.prefetch_slots(at.ids[i + kAhead]);
      rows.add_to(at.ids[i], at.value(i), out);
    }
}

}  // namespace trellis

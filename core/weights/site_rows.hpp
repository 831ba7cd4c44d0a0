// The rows of weights as training reads them: laid out site by site, so that emissions are a walk along two streams.
//
// Most attributes were seen with one or two labels, and a few frequent ones with nearly all. Rows of many labels (heavy)
// are added as vectors over all labels. Of the others (light) each site lists its weights one by one, those of one label
// together: a sum in a register instead of as many trips through memory.
#pragma once
#include <algorithm>
#include <vector>

#include "weights/layout.hpp"

namespace trellis {

template <class Real>
class SiteRows {
 public:
  SiteRows(const Layout& layout, const Sites& at, std::size_t n_sites)
      : layout_(layout), stride_(padded(layout.n_labels)), number_(layout.n_attributes, -1) {
    std::int32_t n_heavy = 0;
    for (std::size_t a = 0; a < layout.n_attributes; ++a)
      if (n_slots(a) >= 4 + stride_ / kLanes<Real>) number_[a] = n_heavy++;
    vectors_.assign(n_heavy * stride_, 0);
    weights_.resize(layout.row_labels.size());
    list_sites(at, n_sites);
  }

  // The number of a heavy row, -1 for a light one.
  std::int32_t heavy(std::size_t attribute) const { return number_[attribute]; }
  std::size_t n_heavy() const { return vectors_.size() / stride_; }
  Real* vector(std::size_t number) { return vectors_.data() + number * stride_; }
  Real& weight(std::size_t slot) { return weights_[slot]; }

  void set(const double* parameters) {
    std::copy_n(parameters, weights_.size(), weights_.data());
    for (std::size_t a = 0; a < number_.size(); ++a)
      if (number_[a] >= 0)
        for (std::uint32_t s = layout_.row_starts[a]; s < layout_.row_starts[a + 1]; ++s)
          vector(number_[a])[layout_.row_labels[s]] = weights_[s];
  }

  // emit[t, z] = sum over attributes a at site t of value(a) · w[a, z], for sites from begin to end
  TRELLIS_INLINE void emissions(std::size_t begin, std::size_t end, Real* emit) const {
    for (std::size_t t = begin; t < end; ++t, emit += stride_) {
      each_block<Real>(stride_, [&](auto chunks, std::size_t z) TRELLIS_INLINE_LAMBDA { add_heavy<chunks>(t, z, emit); });
      add_light(t, emit);
    }
  }

 private:
  static constexpr std::size_t kAhead = 64;  // slots whose weights are asked for before they are needed
  struct Run {
    std::uint16_t label, length;
  };

  std::size_t n_slots(std::size_t a) const { return layout_.row_starts[a + 1] - layout_.row_starts[a]; }

  template <std::size_t Chunks>
  TRELLIS_INLINE void add_heavy(std::size_t t, std::size_t z, Real* emit) const {
    Vector<Real> sum[Chunks] = {};
    for (std::size_t i = heavy_starts_[t]; i < heavy_starts_[t + 1]; ++i) {
      const Real* row = vectors_.data() + heavy_[i] * stride_ + z;
      const Real value = heavy_values_.empty() ? 1 : heavy_values_[i];
      for (std::size_t c = 0; c < Chunks; ++c)
        sum[c] += heavy_values_.empty() ? lanes(row + c * kLanes<Real>) : value * lanes(row + c * kLanes<Real>);
    }
    for (std::size_t c = 0; c < Chunks; ++c) lanes(emit + z + c * kLanes<Real>) = sum[c];
  }

  TRELLIS_INLINE void add_light(std::size_t t, Real* emit) const {
    std::size_t i = slot_starts_[t];
    for (std::size_t r = run_starts_[t]; r < run_starts_[t + 1]; ++r) {
      Real sum = 0;
      for (std::size_t last = i + runs_[r].length; i < last; ++i) {
        __builtin_prefetch(weights_.data() + slots_[i + kAhead]);
        sum += light_values_.empty() ? weights_[slots_[i]] : light_values_[i] * weights_[slots_[i]];
      }
      emit[runs_[r].label] += sum;
    }
  }

  void list_sites(const Sites& at, std::size_t n_sites) {
    heavy_starts_.assign(1, 0);
    slot_starts_.assign(1, 0);
    run_starts_.assign(1, 0);
    heavy_starts_.reserve(n_sites + 1);
    slot_starts_.reserve(n_sites + 1);
    run_starts_.reserve(n_sites + 1);
    std::size_t n_heavy = 0, n_light = 0;
    for (std::int64_t i = 0; n_sites && i < at.starts[n_sites]; ++i)
      number_[at.ids[i]] >= 0 ? ++n_heavy : n_light += n_slots(at.ids[i]);
    heavy_.reserve(n_heavy);
    slots_.reserve(n_light + kAhead);
    if (at.values) heavy_values_.reserve(n_heavy), light_values_.reserve(n_light);
    std::vector<std::uint32_t> place(layout_.n_labels + 1);
    for (std::size_t t = 0; t < n_sites; ++t) list_site(at, t, place);
    slots_.resize(slots_.size() + kAhead);  // looked at, never used
  }

  // The slots of a site's light rows, ordered by label by counting.
  void list_site(const Sites& at, std::size_t t, std::vector<std::uint32_t>& place) {
    std::fill(place.begin(), place.end(), 0);
    const auto each_light_slot = [&](auto visit) {
      for (std::int64_t i = at.starts[t]; i < at.starts[t + 1]; ++i)
        if (number_[at.ids[i]] < 0)
          for (std::uint32_t s = layout_.row_starts[at.ids[i]]; s < layout_.row_starts[at.ids[i] + 1]; ++s)
            visit(i, s, layout_.row_labels[s]);
    };
    each_light_slot([&](std::int64_t, std::uint32_t, std::uint16_t label) { ++place[label + 1]; });
    for (std::size_t z = 0; z < layout_.n_labels; ++z) {
      for (std::uint32_t n = place[z + 1]; n > 0;) {
        const auto length = static_cast<std::uint16_t>(std::min<std::uint32_t>(n, 0xFFFF));
        runs_.push_back({static_cast<std::uint16_t>(z), length});
        n -= length;
      }
      place[z + 1] += place[z];
    }
    const std::size_t first = slots_.size();
    slots_.resize(first + place[layout_.n_labels]);
    if (at.values) light_values_.resize(slots_.size());
    each_light_slot([&](std::int64_t i, std::uint32_t s, std::uint16_t label) {
      if (at.values) light_values_[first + place[label]] = at.values[i];
      slots_[first + place[label]++] = s;
    });
    for (std::int64_t i = at.starts[t]; i < at.starts[t + 1]; ++i)
      if (number_[at.ids[i]] >= 0) {
        heavy_.push_back(static_cast<std::uint32_t>(number_[at.ids[i]]));
        if (at.values) heavy_values_.push_back(at.values[i]);
      }
    heavy_starts_.push_back(heavy_.size());
    slot_starts_.push_back(slots_.size());
    run_starts_.push_back(runs_.size());
  }

  const Layout layout_;
  const std::size_t stride_;
  std::vector<std::int32_t> number_;  // [n_attributes]
  std::vector<Real> vectors_;         // [n_heavy, stride]
  std::vector<Real> weights_;         // [n_slots]
  std::vector<std::size_t> heavy_starts_, slot_starts_, run_starts_;  // [n_sites + 1]
  std::vector<std::uint32_t> heavy_, slots_;                          // numbers of heavy rows, slots of light ones
  std::vector<Real> heavy_values_, light_values_;                     // as long, or empty where all values are one
  std::vector<Run> runs_;                                             // so many slots of that label
};

}  // namespace trellis

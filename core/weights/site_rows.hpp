// Rows of weights for training, laid out site by site, so that emissions are computed from two sequential streams.
//
// Most attributes were seen with one or two labels, and a few frequent ones with nearly all. Rows of many labels (heavy)
// are added as vectors over all labels. The weights of light rows are listed per site, those of one label
// together: a sum in a register instead of many memory accesses. With many labels such lists become several times
// as long as the corpus; then the corpus's own lists of attributes are used, row by row. The same if few rows have a
// weight at all, as in boosting: the others are skipped. If sites have lists of labels, only listed labels are summed.
#pragma once
#include <algorithm>
#include <vector>

#include "weights/layout.hpp"
#include "weights/rows.hpp"

namespace trellis {

template <class Real>
class SiteRows {
 public:
  // `few`: few rows have a weight. `lists`: the allowed labels of each site; by default all.
  SiteRows(const Layout& layout, const Sites& at, std::size_t n_sites, bool few = false, const LabelSets& lists = {},
           Spill* spill = nullptr)
      : layout_(layout), at_(at), lists_(lists), stride_(padded(layout.n_columns())),
        n_items_(n_sites ? at_.starts[n_sites] : 0), few_(few),
        weights_(layout.row_labels.size()), has_weight_(few ? layout.n_attributes : 0), heavy_starts_(1, 0, Spilled<std::size_t>(spill)),
        slot_starts_(heavy_starts_), run_starts_(heavy_starts_), heavy_(Spilled<std::uint32_t>(spill)), slots_(heavy_),
        heavy_values_(Spilled<Real>(spill)), light_values_(heavy_values_), runs_(Spilled<Run>(spill)) {
    listed_ = !few;
    if (few) return;
    heavy = HeavyRows<Real>(layout.row_starts.data(), layout.n_attributes, stride_);
    list_sites(n_sites);
  }

  Real& weight(std::size_t slot) { return weights_[slot]; }

  void set(const double* parameters) {
    std::copy_n(parameters, weights_.size(), weights_.data());
    heavy.set(layout_.row_labels.data(), weights_.data());
    for (std::size_t a = 0; a < has_weight_.size(); ++a)
      has_weight_[a] = std::any_of(weights_.data() + layout_.row_starts[a], weights_.data() + layout_.row_starts[a + 1],
                                   [](Real weight) { return weight != 0; });
  }
  // Sets one weight, if few rows have weights.
  void change(std::size_t slot, Real weight) {
    weights_[slot] = weight;
    const auto& starts = layout_.row_starts;
    has_weight_[std::upper_bound(starts.begin(), starts.end(), slot) - starts.begin() - 1] = 1;
  }

  // emit[t, z] = sum over attributes a at site t of value(a) · w[a, z], for sites from begin to end; undefined for labels
  // that are not listed
  TRELLIS_INLINE void emissions(std::size_t begin, std::size_t end, Real* emit) const {
    if (!listed_) return walk(begin, end, emit);
    for (std::size_t t = begin; t < end; ++t, emit += stride_) {
      const std::size_t first = heavy_starts_[t];
      set_heavy(t, heavy_.data() + first, heavy_values_.empty() ? nullptr : heavy_values_.data() + first,
                heavy_starts_[t + 1] - first, emit);
      add_listed(t, emit);
    }
  }

  HeavyRows<Real> heavy;

 private:
  static constexpr std::size_t kAhead = 64;       // prefetch distance, in slots
  static constexpr std::int64_t kItemsAhead = 24;  // prefetch distance, in items
  struct Run {
    std::uint16_t label, length;
  };

  std::size_t n_slots(std::size_t a) const { return layout_.row_starts[a + 1] - layout_.row_starts[a]; }

  // emit[z] = sum over n heavy rows of value · row[z]
  TRELLIS_INLINE void set_heavy(std::size_t t, const std::uint32_t* numbers, const Real* values, std::size_t n,
                                Real* emit) const {
    const ListedLabels labels = lists_.starts ? labels_of(lists_, t) : ListedLabels{};
    if (labels.n && labels.n * kPadding < stride_) {
      for (std::size_t k = 0; k < labels.n; ++k) {
        Real sum = 0;
        for (std::size_t i = 0; i < n; ++i) sum += (values ? values[i] : 1) * heavy.vector(numbers[i])[labels[k]];
        emit[labels[k]] = sum;
      }
      return;
    }
    each_block<Real>(stride_, [&](auto chunks, std::size_t z) TRELLIS_INLINE_LAMBDA {
      Vector<Real> sum[chunks] = {};
      sum_heavy<Real>(0, n, [&](std::size_t i) TRELLIS_INLINE_LAMBDA { return heavy.vector(numbers[i]); }, values, z, sum);
      for (std::size_t c = 0; c < chunks; ++c) lanes_at(emit + z + c * kLanes<Real>) = sum[c];
    });
  }

  TRELLIS_INLINE void add_listed(std::size_t t, Real* emit) const {
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

  // The same from the lists of the corpus.
  TRELLIS_INLINE void walk(std::size_t begin, std::size_t end, Real* emit) const {
    struct Light {
      std::uint32_t first, last;  // slots
      Real value;
    };
    std::vector<Light> light;  // of a site
    std::vector<std::uint32_t> numbers;  // of its heavy rows
    std::vector<Real> heavy_values;
    for (std::size_t t = begin; t < end; ++t, emit += stride_) {
      const std::size_t n = at_.starts[t + 1] - at_.starts[t];
      if (light.size() < n) light.resize(n), numbers.resize(n), heavy_values.resize(n);
      std::size_t n_light = 0, n_heavy = 0;
      for (std::int64_t i = at_.starts[t]; i < at_.starts[t + 1]; ++i) {
        if (const std::int64_t ahead = i + kItemsAhead; ahead < n_items_)
          few_ ? __builtin_prefetch(has_weight_.data() + at_.ids[ahead])
               : __builtin_prefetch(layout_.row_starts.data() + at_.ids[ahead]);
        const std::int32_t a = at_.ids[i];
        if (few_ && !has_weight_[a]) continue;
        if (!few_ && heavy.has(a)) {
          numbers[n_heavy] = static_cast<std::uint32_t>(heavy.number(a));
          heavy_values[n_heavy++] = at_.value(i);
        } else {
          const std::uint32_t first = layout_.row_starts[a];
          __builtin_prefetch(weights_.data() + first);
          __builtin_prefetch(layout_.row_labels.data() + first);
          light[n_light++] = {first, layout_.row_starts[a + 1], at_.value(i)};
        }
      }
      set_heavy(t, numbers.data(), at_.values ? heavy_values.data() : nullptr, n_heavy, emit);
      const auto slot_at = [this](std::uint32_t s) TRELLIS_INLINE_LAMBDA {
        return std::pair{layout_.row_labels[s], weights_[s]};
      };
      for (std::size_t i = 0; i < n_light; ++i) add_light(light[i].first, light[i].last, slot_at, light[i].value, emit);
    }
  }

  void list_sites(std::size_t n_sites) {
    constexpr std::size_t kLonger = 2;  // factor on the corpus: maximum length of lists of slots
    std::size_t n_heavy = 0, n_light = 0;
    for (std::int64_t i = 0; i < n_items_; ++i) heavy.has(at_.ids[i]) ? ++n_heavy : n_light += n_slots(at_.ids[i]);
    listed_ = n_light <= kLonger * static_cast<std::size_t>(n_items_);
    if (!listed_) return;
    heavy_starts_.reserve(n_sites + 1);
    slot_starts_.reserve(n_sites + 1);
    run_starts_.reserve(n_sites + 1);
    heavy_.reserve(n_heavy);
    slots_.reserve(n_light + kAhead);
    if (at_.values) heavy_values_.reserve(n_heavy), light_values_.reserve(n_light);
    std::vector<std::uint32_t> place(layout_.n_columns() + 1);
    for (std::size_t t = 0; t < n_sites; ++t) list_heavy(t), list_light(t, place);
    slots_.resize(slots_.size() + kAhead);  // padding for prefetching, never used
    runs_.shrink_to_fit();
  }

  void list_heavy(std::size_t t) {
    for (std::int64_t i = at_.starts[t]; i < at_.starts[t + 1]; ++i)
      if (heavy.has(at_.ids[i])) {
        heavy_.push_back(static_cast<std::uint32_t>(heavy.number(at_.ids[i])));
        if (at_.values) heavy_values_.push_back(at_.values[i]);
      }
    heavy_starts_.push_back(heavy_.size());
  }

  // The slots of a site's light rows, by counting sort over labels.
  void list_light(std::size_t t, std::vector<std::uint32_t>& place) {
    std::fill(place.begin(), place.end(), 0);
    const auto each_light_slot = [&](auto visit) {
      for (std::int64_t i = at_.starts[t]; i < at_.starts[t + 1]; ++i)
        if (!heavy.has(at_.ids[i]))
          for (std::uint32_t s = layout_.row_starts[at_.ids[i]]; s < layout_.row_starts[at_.ids[i] + 1]; ++s)
            if (!lists_.starts || allows(lists_, t, layout_.row_labels[s])) visit(i, s, layout_.row_labels[s]);
    };
    each_light_slot([&](std::int64_t, std::uint32_t, std::uint16_t label) { ++place[label + 1]; });
    for (std::size_t z = 0; z < layout_.n_columns(); ++z) {
      for (std::uint32_t n = place[z + 1]; n > 0;) {
        const auto length = static_cast<std::uint16_t>(std::min<std::uint32_t>(n, 0xFFFF));
        runs_.push_back({static_cast<std::uint16_t>(z), length});
        n -= length;
      }
      place[z + 1] += place[z];
    }
    const std::size_t first = slots_.size();
    slots_.resize(first + place[layout_.n_columns()]);
    if (at_.values) light_values_.resize(slots_.size());
    each_light_slot([&](std::int64_t i, std::uint32_t s, std::uint16_t label) {
      if (at_.values) light_values_[first + place[label]] = at_.values[i];
      slots_[first + place[label]++] = s;
    });
    slot_starts_.push_back(slots_.size());
    run_starts_.push_back(runs_.size());
  }

  const Layout layout_;
  const Sites at_;
  const LabelSets lists_;
  const std::size_t stride_;
  const std::int64_t n_items_;            // of all sites
  const bool few_;                        // whether few rows have a weight
  bool listed_ = true;                    // whether sites are listed here, or read from the corpus
  std::vector<Real> weights_;             // [n_slots]
  std::vector<std::uint8_t> has_weight_;  // [n_attributes] if few rows have one
  SpilledVector<std::size_t> heavy_starts_, slot_starts_, run_starts_;  // [n_sites + 1]
  SpilledVector<std::uint32_t> heavy_, slots_;                        // numbers of heavy rows, slots of light ones
  SpilledVector<Real> heavy_values_, light_values_;                   // as long, or empty if all values are one
  SpilledVector<Run> runs_;                                           // runs of slots with the same label
};

}  // namespace trellis

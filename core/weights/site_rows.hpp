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
      : layout_(layout), at_(at), lists_(lists), stride_(padded(layout.n_columns())), few_(few),
        weights_(layout.row_labels.size()), has_weight_(few ? layout.n_attributes : 0), heavy_starts_(1, 0, Spilled<std::size_t>(spill)),
        slot_starts_(heavy_starts_), run_starts_(heavy_starts_), heavy_(Spilled<std::uint32_t>(spill)), slots_(heavy_),
        heavy_values_(Spilled<Real>(spill)), light_values_(heavy_values_), runs_(Spilled<Run>(spill)) {
    if (few_) {
      heavy_starts_.resize(n_sites + 1);
    } else {
      heavy = HeavyRows<Real>(layout.row_starts.data(), layout.n_attributes, stride_);
      list_sites(n_sites);
    }
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
    for (std::size_t t = begin; t < end; ++t) {
      set_heavy(t, emit + (t - begin) * stride_);
      if (listed_) add_listed(t, emit + (t - begin) * stride_);
    }
    if (!listed_) add_rows(LightRows{*this}, at_, begin, end, stride_, emit);
  }

  HeavyRows<Real> heavy;

 private:
  static constexpr std::size_t kAhead = 64;  // prefetch distance, in slots
  struct Run {
    std::uint16_t label, length;
  };

  std::size_t n_slots(std::size_t a) const { return layout_.row_starts[a + 1] - layout_.row_starts[a]; }

  // emit[z] = sum over the heavy rows of a site of value · row[z]
  TRELLIS_INLINE void set_heavy(std::size_t t, Real* emit) const {
    const std::size_t first = heavy_starts_[t], n = heavy_starts_[t + 1] - first;
    const std::uint32_t* numbers = heavy_.data() + first;
    const Real* values = heavy_values_.empty() ? nullptr : heavy_values_.data() + first;
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

  // Rows of few labels, to be added from the lists of the corpus; if few rows have a weight, those.
  struct LightRows {
    const SiteRows& of;

    void prefetch_row(std::int32_t a) const {
      of.few_ ? __builtin_prefetch(of.has_weight_.data() + a) : __builtin_prefetch(of.layout_.row_starts.data() + a);
    }
    void prefetch_slots(std::int32_t a) const {
      if (!skips(a)) rows().prefetch_slots(a);
    }
    TRELLIS_INLINE void add_to(std::int32_t a, Real value, Real* emit) const {
      if (!skips(a)) rows().add_to(a, value, emit);
    }

   private:
    bool skips(std::int32_t a) const { return of.few_ ? !of.has_weight_[a] : of.heavy.has(a); }
    Rows<std::uint16_t, Real> rows() const {
      return {of.layout_.row_starts.data(), of.layout_.row_labels.data(), of.weights_.data()};
    }
  };

  void list_sites(std::size_t n_sites) {
    constexpr std::size_t kLonger = 2;  // factor on the corpus: maximum length of lists of slots
    const std::int64_t n_items = n_sites ? at_.starts[n_sites] : 0;
    std::size_t n_heavy = 0, n_light = 0;
    for (std::int64_t i = 0; i < n_items; ++i) heavy.has(at_.ids[i]) ? ++n_heavy : n_light += n_slots(at_.ids[i]);
    heavy_starts_.reserve(n_sites + 1);
    heavy_.reserve(n_heavy);
    if (at_.values) heavy_values_.reserve(n_heavy);
    for (std::size_t t = 0; t < n_sites; ++t) list_heavy(t);
    listed_ = n_light <= kLonger * static_cast<std::size_t>(n_items);
    if (!listed_) return;
    slot_starts_.reserve(n_sites + 1);
    run_starts_.reserve(n_sites + 1);
    slots_.reserve(n_light + kAhead);
    if (at_.values) light_values_.reserve(n_light);
    std::vector<std::uint32_t> place(layout_.n_columns() + 1);
    for (std::size_t t = 0; t < n_sites; ++t) list_light(t, place);
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
  const bool few_;                        // whether few rows have a weight
  bool listed_ = false;                   // whether the slots of sites are listed here, or read from the corpus
  std::vector<Real> weights_;             // [n_slots]
  std::vector<std::uint8_t> has_weight_;  // [n_attributes] if few rows have one
  SpilledVector<std::size_t> heavy_starts_, slot_starts_, run_starts_;  // [n_sites + 1]
  SpilledVector<std::uint32_t> heavy_, slots_;                        // numbers of heavy rows, slots of light ones
  SpilledVector<Real> heavy_values_, light_values_;                   // as long, or empty if all values are one
  SpilledVector<Run> runs_;                                           // runs of slots with the same label
};

}  // namespace trellis

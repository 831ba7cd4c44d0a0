// The structure of semi-Markov chains: sentences, whose outputs are segmentations, written as label paths (engine/segments.hpp).
// A chain of order 1 with additional weights of segments.
#pragma once
#include "engine/segments.hpp"
#include "learn/chains.hpp"

namespace trellis {

// Parts of a path are those of a chain, with x = 0, and segments: x is the length of the segment that begins at the site, z
// its column of rows.
template <class Weights>
class Segments : public Chains<Weights> {
  using Base = Chains<Weights>;
  using Base::begin_, Base::n_, Base::stride_, Base::right_, Base::paths_, Base::weights_;

 public:
  Segments(Weights& weights, const LabelWeights& labels, int order, const Examples& examples, bool zero_one = false)
      : Base(weights, labels, order, examples, zero_one), sites_(*examples.data.segments), rules_(*sites_.rules), lattice_(rules_) {}

  bool load(std::size_t sentence) {
    if (!Base::load(sentence)) return false;
    const std::size_t first = begin_ * rules_.longest, n = n_ * rules_.longest;
    of_segments_.assign(n * stride_, 0);
    add_rows(weights_.rows, sites_.attributes, first, first + n, stride_, of_segments_.data());
    return true;
  }

  std::size_t best(std::size_t k, bool augmented) {
    if (best_scores_.size() < k) best_scores_.resize(k);
    lattice_.load(Base::searched(k, augmented), of_segments_.data());
    if (k > 1) return lattice_.k_best(k, paths_.data(), best_scores_.data());
    lattice_.best(paths_.data());
    return 1;
  }

  void collect(const std::int32_t* path, Changes& out) {
    Base::collect(path, out);
    each_changed_segment(path, [&](const ChainPart& part, double sign) {
      each_feature_of(part, [&](std::uint32_t row, std::uint32_t place, float value) { out.push_back({row, place, sign * value}); });
    });
  }

  double score(const ChainPart& part) const {
    return part.x ? of_segments_[(part.site * rules_.longest + part.x - 1) * stride_ + part.z] : Base::score(part);
  }
  template <class Visit>
  void each_difference(const std::int32_t* path, Visit visit) {
    differences_.clear();
    const auto add = [&](const ChainPart& part, double sign) { differences_.push_back({part, sign}); };
    Base::each_difference(path, add);
    each_changed_segment(path, add);
    std::ranges::stable_sort(differences_, {}, [](const Amount<ChainPart>& one) { return one.part.site; });
    for (const auto& [part, sign] : differences_) visit(part, sign);
  }
  template <class Visit>
  void each_feature(std::span<const Amount<ChainPart>> parts, Visit visit) {
    labels_only_.clear();
    for (const Amount<ChainPart>& one : parts) {
      if (!one.part.x) labels_only_.push_back(one);
      else each_feature_of(one.part, [&](std::uint32_t row, std::uint32_t place, float value) { visit(Change{row, place, one.amount * value}); });
    }
    Base::each_feature(labels_only_, visit);
  }

 private:
  // Calls visit(part, sign) for the segments of only the gold path (1) or only the other path (-1).
  template <class Visit>
  void each_changed_segment(const std::int32_t* path, Visit visit) {
    const auto changed = [&](const std::int32_t* one, const std::int32_t* other, double sign) {
      lengths_.assign(n_, 0);
      each_segment(rules_, other, n_, [&](std::size_t begin, std::size_t length) { lengths_[begin] = length; });
      each_segment(rules_, one, n_, [&](std::size_t begin, std::size_t length) {
        const std::int32_t column = rules_.columns[static_cast<std::size_t>(one[begin])];
        if (lengths_[begin] == length && rules_.columns[static_cast<std::size_t>(other[begin])] == column) return;
        visit(ChainPart{static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(length), 0, static_cast<std::uint16_t>(column)}, sign);
      });
    };
    changed(right_.data(), path, 1), changed(path, right_.data(), -1);
  }
  template <class Visit>
  void each_feature_of(const ChainPart& part, Visit visit) {
    const std::size_t site = (begin_ + part.site) * rules_.longest + part.x - 1;
    sites_.attributes.each(site, [&](std::int32_t a, float value) {
      if constexpr (requires { weights_.rows.may_have(a, part.z); })
        if (!weights_.rows.may_have(a, part.z)) return;
      visit(static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(part.z), value);
    });
  }

  const SegmentSites& sites_;
  const SegmentRules& rules_;
  SegmentLattice lattice_;
  std::vector<float> of_segments_;    // [n * longest, stride] scores of segments by their attributes
  std::vector<double> best_scores_;   // [k]
  std::vector<std::size_t> lengths_;  // [n] of the segments that begin at a token, 0: none
  std::vector<Amount<ChainPart>> differences_, labels_only_;
};

}  // namespace trellis

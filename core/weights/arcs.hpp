// Arcs of dependency trees as sites: the candidate arcs of a sentence, and their scores by attribute weights.
//
//   score(h, m) = sum over templates of arcs of w + max over labels of sum over templates of labels of w[label]
//   score(h, s, m) = sum over templates of siblings of w
//
// For sums over trees, the log sum over labels replaces the maximum.
#pragma once
#include "engine/elementary.hpp"
#include "engine/trees.hpp"
#include "weights/placed_weights.hpp"

namespace trellis {

// Templates in the order arcs, labels, siblings, then optionally a filter: arcs without any weighted attribute of the filter
// are removed.
struct ArcPlan {
  Plan places;
  std::size_t n_arcs = 0, n_labelled = 0, n_siblings = 0;
  bool has_filter = false;  // if so, its template is the last one
  std::size_t n_labels = 1;

  std::size_t n_templates() const { return n_arcs + n_labelled + n_siblings; }
  bool second_order() const { return n_siblings > 0; }
};

enum ArcPlace : std::size_t { kHead, kDependent, kSibling };
enum ArcMeasure : std::size_t { kDirection, kDistance };

// Distances up to 5, up to 10, and beyond, to the left or to the right.
constexpr std::int32_t kDistances = 7;
inline std::int32_t distance_class(std::int32_t distance) { return distance <= 5 ? distance - 1 : distance <= 10 ? 5 : 6; }

template <class Real>
using DistanceRow = std::array<Real, 16>;  // to the left and to the right, padded to a cache line of floats

// Words and heads are numbered from 1, the root is 0; `sibling` is the head itself if there is none.
inline Anchor arc_anchor(std::size_t head, std::size_t sibling, std::size_t word, std::int32_t n) {
  const auto h = static_cast<std::int32_t>(head), m = static_cast<std::int32_t>(word), s = static_cast<std::int32_t>(sibling);
  const std::int32_t right = m > h;
  return {{h - 1, m - 1, s == h ? n : s - 1, 0}, {right, right * kDistances + distance_class(right ? m - h : h - m), 0, 0}};
}

// Scores of a sentence's arcs and siblings, by weights of placed_weights.hpp or folded_arcs.hpp. Scratch of one thread.
template <class Weights>
class ArcScorer {
 public:
  ArcScorer(const ArcPlan& plan, const Weights& weights, bool sums_labels = false)
      : plan_(plan), weights_(weights), sums_labels_(sums_labels) {}

  // Scores of all arcs that pass the filter, and of the arcs of a tree `kept` [n] (null: none).
  void score(PlacedSentence& x, const std::int32_t* kept = nullptr) {
    score_if(x, [&](std::size_t h, std::size_t m) {
      return !plan_.has_filter || (kept && static_cast<std::size_t>(kept[m - 1]) == h) || passes(x, h, m);
    });
  }
  void score_all(PlacedSentence& x) {
    score_if(x, [](std::size_t, std::size_t) { return true; });
  }

  // [n_labels] the score of each label for an arc.
  void label_scores(PlacedSentence& x, std::size_t h, std::size_t m, double* out) const {
    std::fill_n(out, plan_.n_labels, 0.0);
    const Anchor anchor = arc_anchor(h, h, m, x.size());
    each_attribute(x, anchor, plan_.n_arcs, plan_.n_arcs + plan_.n_labelled, [&](std::size_t t, std::uint64_t key, std::int32_t) {
      if (const auto* row = weights_.row(t, key))
        for (std::size_t z = 0; z < plan_.n_labels; ++z) out[z] += row[z];
    });
  }

  // Calls visit(template, key, between) for the keys of templates `first` to `last` at a site.
  template <class Visit>
  void each_attribute(PlacedSentence& x, const Anchor& anchor, std::size_t first, std::size_t last, Visit visit) const {
    for (std::size_t t = first; t < last; ++t)
      each_key(plan_.places, plan_.places.templates[t], x, anchor, weights_.known_folds(),
               [&](std::uint64_t key, std::int32_t between) { visit(t, key, between); });
  }

  TreeScores scores;                 // arcs with their best labels
  std::vector<std::int32_t> labels;  // [n + 1, n + 1] the best label of each arc; ties: the first

 private:
  bool passes(PlacedSentence& x, std::size_t h, std::size_t m) const {
    const std::size_t filter = plan_.n_templates();
    bool found = false;
    each_attribute(x, arc_anchor(h, h, m, x.size()), filter, filter + 1, [&](std::size_t t, std::uint64_t key, std::int32_t) {
      found |= weights_.row(t, key) != nullptr;
    });
    return found;
  }

  template <class MayBe>
  void score_if(PlacedSentence& x, MayBe may_be) {
    const auto n = static_cast<std::size_t>(x.size());
    scores.resize(n, plan_.second_order());
    labels.assign((n + 1) * (n + 1), 0);
    if constexpr (kFolded) weights_.sum_words(x, of_heads_, of_dependents_);
    for (std::size_t h = 0; h <= n; ++h)
      for (std::size_t m = 1; m <= n; ++m) {
        if (h == m || !may_be(h, m)) continue;
        const Anchor anchor = arc_anchor(h, h, m, x.size());
        scores.arc(h, m) = 0;
        if constexpr (kFolded) scores.arc(h, m) = of_heads_[h][column_of(anchor)] + of_dependents_[m][column_of(anchor)];
        if (asked_.size() >= kAsked) answer(scores.arcs);
        ask(x, anchor, 0, plan_.n_arcs, h * (n + 1) + m, column_of(anchor));
      }
    answer(scores.arcs);
    if (plan_.n_labels > 1) add_labels(x);
    if (!plan_.second_order()) return;
    const std::size_t first = plan_.n_arcs + plan_.n_labelled, last = first + plan_.n_siblings;
    each_sibling(scores, [&](std::size_t h, std::size_t s, std::size_t m, std::size_t site) {
      if (asked_.size() >= kAsked) answer(scores.siblings);
      const Anchor anchor = arc_anchor(h, s, m, x.size());
      ask(x, anchor, first, last, site, column_of(anchor));
    });
    answer(scores.siblings);
  }

  // Best labels of all arcs, a few arcs at a time: rows are prefetched before they are added.
  void add_labels(PlacedSentence& x) {
    constexpr std::size_t kArcs = 8;
    const std::size_t n = scores.n, L = plan_.n_labels;
    std::vector<std::pair<std::size_t, std::size_t>> arcs;
    const auto finish = [&] {
      several_.assign(arcs.size() * L, 0);
      each_found(L, [&](std::uint32_t site, const auto* row) {
        double* const out = several_.data() + site * L;
        for (std::size_t z = 0; z < L; ++z) out[z] += row[z];
      });
      for (std::size_t i = 0; i < arcs.size(); ++i) {
        const auto [h, m] = arcs[i];
        const std::span<const double> own(several_.data() + i * L, L);
        const auto best = std::max_element(own.begin(), own.end());
        labels[h * (n + 1) + m] = static_cast<std::int32_t>(best - own.begin());
        scores.arc(h, m) += *best;
        if (!sums_labels_) continue;
        double total = 0;
        for (double one : own) total += exp(one - *best);
        scores.arc(h, m) += log(total);
      }
      arcs.clear();
    };
    for (std::size_t h = 0; h <= n; ++h)
      for (std::size_t m = 1; m <= n; ++m) {
        if (scores.arc(h, m) == kForbidden<double>) continue;
        ask(x, arc_anchor(h, h, m, x.size()), plan_.n_arcs, plan_.n_arcs + plan_.n_labelled, arcs.size(), 0);
        arcs.emplace_back(h, m);
        if (arcs.size() == kArcs) finish();
      }
    finish();
  }

  // Rows of folded weights have a column per distance, others one.
  static constexpr bool kFolded = requires(const Weights& weights) { weights.arc_plan; };
  static std::uint32_t column_of(const Anchor& anchor) {
    return kFolded ? static_cast<std::uint32_t>(anchor.measures[kDistance]) : 0;
  }
  // Keys of a few sites are computed and prefetched before they are looked up.
  struct Asked {
    std::uint64_t key;
    std::uint32_t site, t : 28, column : 4;
  };
  static constexpr std::size_t kAsked = 256;
  void ask(PlacedSentence& x, const Anchor& anchor, std::size_t first, std::size_t last, std::size_t site, std::uint32_t column) {
    each_attribute(x, anchor, first, last, [&](std::size_t t, std::uint64_t key, std::int32_t) {
      weights_.prefetch(t, key);
      asked_.push_back({key, static_cast<std::uint32_t>(site), static_cast<std::uint32_t>(t), column});
    });
  }
  void answer(std::vector<double>& out) {
    each_found(1, [&](std::uint32_t site, const auto* weight) { out[site] += *weight; });
  }
  // Calls visit(site, weights) for the keys found, `width` weights each. Tables exceed the cache: for a few keys at a
  // time the locations of the weights come first, for prefetching, then the weights.
  template <class Visit>
  void each_found(std::size_t width, Visit visit) {
    constexpr std::size_t kAtOnce = 32;
    std::array<decltype(weights_.row(0, 0)), kAtOnce> found;
    for (std::size_t first = 0; first < asked_.size(); first += kAtOnce) {
      const std::size_t n = std::min(kAtOnce, asked_.size() - first);
      for (std::size_t i = 0; i < n; ++i) {
        const auto* row = weights_.row(asked_[first + i].t, asked_[first + i].key);
        found[i] = row ? row + asked_[first + i].column : nullptr;
        for (std::size_t z = 0; row && z < width; z += 64 / sizeof(*row)) __builtin_prefetch(found[i] + z);
      }
      for (std::size_t i = 0; i < n; ++i)
        if (found[i]) visit(asked_[first + i].site, found[i]);
    }
    asked_.clear();
  }

  const ArcPlan& plan_;
  const Weights& weights_;
  bool sums_labels_;
  std::vector<DistanceRow<double>> of_heads_, of_dependents_;  // [n + 1] scores of folded weights that depend on one word alone
  std::vector<double> several_;  // [some arcs, n_labels]
  std::vector<Asked> asked_;
};

}  // namespace trellis

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

enum ArcPlace : std::size_t { kHead, kDependent, kSibling };
// A measure of an arc that a template reads: none, the direction, or the distance, which includes the direction.
enum class ArcMeasure : std::uint8_t { kNone, kDirection, kDistance };

// Distances up to 5, up to 10, and beyond, to the left or to the right.
constexpr std::uint32_t kDistances = 7;
constexpr std::uint32_t n_values(ArcMeasure measure) {
  return measure == ArcMeasure::kNone ? 1 : measure == ArcMeasure::kDirection ? 2 : 2 * kDistances;
}
// The value of a measure at a distance.
constexpr std::uint32_t value_at(ArcMeasure measure, std::uint32_t distance) {
  return measure == ArcMeasure::kNone ? 0 : measure == ArcMeasure::kDirection ? distance / kDistances : distance;
}
inline std::uint32_t distance_of(std::size_t head, std::size_t word) {
  const std::size_t far = head < word ? word - head : head - word;
  return static_cast<std::uint32_t>((head < word ? kDistances : 0) + (far <= 5 ? far - 1 : far <= 10 ? 5 : 6));
}

// Templates often differ in measures and labels alone: the same words and tags with the direction of the arc, again with its
// distance, and with its label. They are a group with one key, so that one look-up serves all. Each has its own columns: per
// value of its measure one, or one per label.
struct ArcTemplate {
  std::uint32_t group, first;
  ArcMeasure measure;
  bool labelled;
};

struct ArcPlan {
  Plan places;  // of groups: those of arcs and labels, of siblings, then optionally the filter
  std::size_t n_arcs = 0, n_siblings = 0;
  // If so, the last group is the filter: arcs without a weighted attribute of its template are removed.
  bool has_filter = false;
  std::size_t n_labels = 1;
  std::vector<ArcTemplate> templates;
  struct Group {
    std::uint32_t n_columns = 0;
    std::vector<ArcTemplate> templates{};
    bool has(bool labelled) const {
      return std::ranges::any_of(templates, [=](const ArcTemplate& one) { return one.labelled == labelled; });
    }
  };
  std::vector<Group> groups;

  bool second_order() const { return n_siblings > 0; }
  std::size_t filter() const { return n_arcs + n_siblings; }
  std::size_t width(bool labelled) const { return labelled ? n_labels : 1; }

  // False if the group has too many columns.
  bool add(std::size_t group, ArcMeasure measure, bool labelled) {
    groups.resize(places.templates.size());
    Group& to = groups[group];
    const std::size_t n = to.n_columns + n_values(measure) * width(labelled);
    if (n > PlacedWeights::kMostColumns) return false;
    templates.push_back({static_cast<std::uint32_t>(group), to.n_columns, measure, labelled});
    to.templates.push_back(templates.back()), to.n_columns = static_cast<std::uint32_t>(n);
    return true;
  }
  // The column of a template at a distance, of the first label.
  std::uint32_t column(const ArcTemplate& of, std::uint32_t distance) const {
    return of.first + value_at(of.measure, distance) * static_cast<std::uint32_t>(width(of.labelled));
  }
  // The template that a column belongs to.
  const ArcTemplate& template_at(std::size_t group, std::uint32_t column) const {
    return *(std::ranges::upper_bound(groups[group].templates, column, {}, &ArcTemplate::first) - 1);
  }
  // The place that alone determines a group's weights except for the distance, and for labels without it; kSibling: none.
  ArcPlace word_of(std::size_t group) const {
    bool head = false, dependent = false, other = false;
    const Template& shape = places.templates[group];
    for (std::int32_t a = shape.first_atom; a < shape.last_atom; ++a) {
      const std::int32_t place = places.atoms[static_cast<std::size_t>(a)].place;
      (place == static_cast<std::int32_t>(kHead) ? head : place == static_cast<std::int32_t>(kDependent) ? dependent : other) = true;
    }
    for (const ArcTemplate& one : groups[group].templates) other |= one.labelled && one.measure != ArcMeasure::kNone;
    return other || head == dependent ? kSibling : head ? kHead : kDependent;
  }
  std::vector<std::uint32_t> n_columns() const {
    std::vector<std::uint32_t> out;
    for (const Group& group : groups) out.push_back(group.n_columns);
    return out;
  }
};

// Words and heads are numbered from 1, the root is 0; `sibling` is the head itself if there is none.
inline Anchor arc_anchor(std::size_t head, std::size_t sibling, std::size_t word, std::int32_t n) {
  const auto h = static_cast<std::int32_t>(head), m = static_cast<std::int32_t>(word), s = static_cast<std::int32_t>(sibling);
  return {{h - 1, m - 1, s == h ? n : s - 1, 0}, {}};
}

// Scores of a sentence's arcs and siblings, by weights with the interface of PlacedWeights. Scratch of one thread.
template <class Weights>
class ArcScorer {
 public:
  ArcScorer(const ArcPlan& plan, const Weights& weights, bool sums_labels = false)
      : plan_(plan), weights_(weights), sums_labels_(sums_labels), n_labels_(plan.n_labels > 1 ? plan.n_labels : 0) {
    for (std::size_t g = 0; g < plan.n_arcs; ++g) by_place_[plan.word_of(g)].push_back(g);
  }

  // Scores of all arcs that pass the filter, and of the arcs of a tree `kept` [n] (null: none).
  void score(PlacedSentence& x, const std::int32_t* kept = nullptr) {
    score_if(x, [&](std::size_t h, std::size_t m) {
      return !plan_.has_filter || (kept && static_cast<std::size_t>(kept[m - 1]) == h) || passes(x, h, m);
    });
  }
  void score_all(PlacedSentence& x) {
    score_if(x, [](std::size_t, std::size_t) { return true; });
  }

  // [n_labels] the score of each label for an arc of the sentence that was scored last.
  void label_scores(PlacedSentence& x, std::size_t h, std::size_t m, double* out) {
    begin_arc(x, h, m);
    answer_arcs();
    std::copy_n(sums_.begin() + 1, n_labels_, out);
    arcs_.clear(), sums_.clear();
  }

  // Calls visit(group, key, between) for the keys of a group at a site.
  template <class Visit>
  void each_attribute(PlacedSentence& x, const Anchor& anchor, std::size_t group, Visit visit) const {
    each_key(plan_.places, plan_.places.templates[group], x, anchor, weights_.known_folds(), visit);
  }

  TreeScores scores;                 // arcs with their best labels
  std::vector<std::int32_t> labels;  // [n + 1, n + 1] the best label of each arc; ties: the first

 private:
  bool passes(PlacedSentence& x, std::size_t h, std::size_t m) const {
    const std::size_t g = plan_.filter();
    const std::uint32_t column = plan_.column(plan_.groups[g].templates[0], distance_of(h, m));
    bool found = false;
    each_attribute(x, arc_anchor(h, h, m, x.size()), g, [&](std::uint64_t key, std::int32_t) {
      if (const std::int32_t id = weights_.find(g, key); id >= 0) found |= weights_.value(g, id, column) != 0;
    });
    return found;
  }

  template <class MayBe>
  void score_if(PlacedSentence& x, MayBe may_be) {
    constexpr std::size_t kArcs = 8;
    const auto n = static_cast<std::size_t>(x.size());
    scores.resize(n, plan_.second_order());
    labels.assign((n + 1) * (n + 1), 0);
    sum_words(x);
    for (std::size_t h = 0; h <= n; ++h)
      for (std::size_t m = 1; m <= n; ++m) {
        if (h == m || !may_be(h, m)) continue;
        begin_arc(x, h, m);
        if (arcs_.size() == kArcs) finish_arcs();
      }
    finish_arcs();
    if (!plan_.second_order()) return;
    const auto answer = [&] {
      each_found([&](const Asked& one, std::int32_t id) {
        for (const ArcTemplate& of : plan_.groups[one.group].templates)
          scores.siblings[one.site] += weights_.value(one.group, id, plan_.column(of, one.distance));
      });
    };
    each_sibling(scores, [&](std::size_t h, std::size_t s, std::size_t m, std::size_t site) {
      if (asked_.size() >= kAsked) answer();
      const Anchor anchor = arc_anchor(h, s, m, x.size());
      for (std::size_t g = plan_.n_arcs; g < plan_.filter(); ++g) ask(x, anchor, g, site, distance_of(h, m));
    });
    answer();
  }

  // Sums of the weights that one word determines: of each word as a head and as a dependent, by distance, then by label.
  void sum_words(PlacedSentence& x) {
    const auto n = static_cast<std::size_t>(x.size());
    words_.assign(2 * (n + 1) * (kByDistance + n_labels_), 0);
    for (const ArcPlace place : {kHead, kDependent})
      for (std::size_t word = place; word <= n; ++word)
        for (const std::size_t g : by_place_[place])
          each_attribute(x, arc_anchor(word, word, word, x.size()), g, [&](std::uint64_t key, std::int32_t) {
            if (const std::int32_t id = weights_.find(g, key); id >= 0) add_word(g, id, of_word(place, word));
          });
  }
  void add_word(std::size_t g, std::int32_t id, double* out) {
    for (const ArcTemplate& of : plan_.groups[g].templates) {
      if (of.labelled) {
        weights_.add_part(g, id, of.first, n_labels_, out + kByDistance);
        continue;
      }
      std::array<double, 2 * kDistances> weights{};  // by value of the measure
      weights_.add_part(g, id, of.first, n_values(of.measure), weights.data());
      for (std::uint32_t distance = 0; distance < weights.size(); ++distance) out[distance] += weights[value_at(of.measure, distance)];
    }
  }
  double* of_word(std::size_t place, std::size_t word) {
    return words_.data() + (place * (static_cast<std::size_t>(scores.n) + 1) + word) * (kByDistance + n_labels_);
  }

  // Several arcs at a time, so that rows are prefetched before they are added.
  void begin_arc(PlacedSentence& x, std::size_t h, std::size_t m) {
    const std::uint32_t distance = distance_of(h, m);
    const double *head = of_word(kHead, h), *dependent = of_word(kDependent, m);
    sums_.push_back(head[distance] + dependent[distance]);
    for (std::size_t z = kByDistance; z < kByDistance + n_labels_; ++z) sums_.push_back(head[z] + dependent[z]);
    const Anchor anchor = arc_anchor(h, h, m, x.size());
    for (const std::size_t g : by_place_[kSibling]) ask(x, anchor, g, arcs_.size(), distance);
    arcs_.emplace_back(h, m);
  }
  void answer_arcs() {
    each_found([&](const Asked& one, std::int32_t id) {
      double* const out = sums_.data() + one.site * (1 + n_labels_);
      for (const ArcTemplate& of : plan_.groups[one.group].templates) {
        const std::uint32_t column = plan_.column(of, one.distance);
        if (of.labelled) weights_.add_part(one.group, id, column, n_labels_, out + 1);
        else *out += weights_.value(one.group, id, column);
      }
    });
  }
  void finish_arcs() {
    answer_arcs();
    for (std::size_t i = 0; i < arcs_.size(); ++i) {
      const auto [h, m] = arcs_[i];
      const double* const own = sums_.data() + i * (1 + n_labels_);
      double& arc = scores.arc(h, m) = *own;
      if (n_labels_ == 0) continue;
      const double* const best = std::max_element(own + 1, own + 1 + n_labels_);
      labels[h * (scores.n + 1) + m] = static_cast<std::int32_t>(best - own - 1);
      arc += *best;
      if (!sums_labels_) continue;
      double total = 0;
      for (const double* one = own + 1; one <= own + n_labels_; ++one) total += exp(*one - *best);
      arc += log(total);
    }
    arcs_.clear(), sums_.clear();
  }

  // Keys of a few sites are computed and prefetched before they are looked up.
  struct Asked {
    std::uint64_t key;
    std::uint32_t site;
    std::uint16_t group, distance;
  };
  static constexpr std::size_t kAsked = 256, kByDistance = 16;
  void ask(PlacedSentence& x, const Anchor& anchor, std::size_t g, std::size_t site, std::uint32_t distance) {
    each_attribute(x, anchor, g, [&](std::uint64_t key, std::int32_t) {
      weights_.prefetch(g, key);
      asked_.push_back({key, static_cast<std::uint32_t>(site), static_cast<std::uint16_t>(g), static_cast<std::uint16_t>(distance)});
    });
  }
  // Calls visit(asked, attribute) for the keys found. Tables exceed the cache: of a few keys at a time first come the
  // attributes, then the locations of their weights, then the weights.
  template <class Visit>
  void each_found(Visit visit) {
    constexpr std::size_t kAtOnce = 32;
    std::array<std::pair<const Asked*, std::int32_t>, kAtOnce> found;
    for (std::size_t first = 0; first < asked_.size(); first += kAtOnce) {
      std::size_t n = 0;
      for (std::size_t i = first; i < std::min(first + kAtOnce, asked_.size()); ++i) {
        const Asked& one = asked_[i];
        const std::int32_t id = weights_.find(one.group, one.key);
        if (id < 0) continue;
        weights_.prefetch_row(one.group, id);
        found[n++] = {&one, id};
      }
      for (std::size_t i = 0; i < n; ++i) weights_.prefetch_slots(found[i].first->group, found[i].second);
      for (std::size_t i = 0; i < n; ++i) visit(*found[i].first, found[i].second);
    }
    asked_.clear();
  }

  const ArcPlan& plan_;
  const Weights& weights_;
  bool sums_labels_;
  std::size_t n_labels_;  // 0 if there is but one
  std::array<std::vector<std::size_t>, 3> by_place_;  // groups of arcs by word_of
  std::vector<double> words_;                         // [2, n + 1, kByDistance + n_labels_], see sum_words
  std::vector<std::pair<std::size_t, std::size_t>> arcs_;  // a few, by head and word
  std::vector<double> sums_;                               // [arcs, 1 + n_labels_] of the arc, and of its labels
  std::vector<Asked> asked_;
};

}  // namespace trellis

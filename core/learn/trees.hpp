// Dependency trees as outputs to learn, for online learners (structure.hpp): an output is the heads of a sentence's words, then
// their labels.
#pragma once
#include <array>

#include "engine/spanning_trees.hpp"
#include "engine/tree_forest.hpp"
#include "learn/structure.hpp"
#include "weights/arcs.hpp"

namespace trellis {

// Sentences with their trees. Heads are numbered from 1 within a sentence, 0 is the root.
struct TreeExamples {
  std::span<const ColumnCodes> columns;
  std::span<const std::int64_t> starts;  // [n + 1]
  const std::int32_t* heads;             // [n_tokens]
  const std::int32_t* labels;            // [n_tokens]
};

class Trees {
 public:
  Trees(const ArcPlan& plan, PlacedWeights& weights, const TreeExamples& examples, bool projective)
      : plan_(plan), weights_(weights), examples_(examples), projective_(projective), scorer_(plan, weights) {}

  // Adds the attributes of arcs like the gold arcs to the filter, with weight 1.
  void fill_filter() {
    for (std::size_t i = 0; plan_.has_filter && i + 1 < examples_.starts.size(); ++i) {
      enter(i);
      for (std::size_t m = 1; m <= n_; ++m) {
        const auto h = static_cast<std::size_t>(right_heads_[m - 1]), filter = plan_.filter();
        Changes attributes;
        add({filter, filter + 1, h, h, 0, false}, m, 1, attributes);
        for (const Change& one : attributes) *weights_.make(one.row, one.place).weight = 1;
      }
    }
  }

  void enter(std::size_t i) {
    const std::int64_t begin = examples_.starts[i], end = examples_.starts[i + 1];
    n_ = static_cast<std::size_t>(end - begin);
    x_.load(plan_.places, examples_.columns, begin, end);
    right_heads_ = {examples_.heads + begin, n_}, right_labels_ = {examples_.labels + begin, n_};
    find_siblings(right_heads_, right_siblings_);
  }
  bool load(std::size_t i) {
    enter(i);
    if (n_ > 0) scorer_.score(x_, right_heads_.data());
    return n_ > 0;
  }
  bool possible() const { return true; }
  void get_ready() {}
  bool grows() const { return true; }

  std::size_t best(std::size_t k, bool augmented) {
    const TreeScores* scores = &scorer_.scores;
    labels_ = &scorer_.labels;
    if (augmented) scores = &with_costs();
    if (outputs_.size() < k) outputs_.resize(k);
    std::size_t found = 0;
    if (k == 1) {
      heads_.resize(n_);
      if (projective_) chart_.best(*scores, heads_.data());
      else spanning_.best(*scores, heads_.data());
      keep(heads_.data(), outputs_[found++]);
    } else if (projective_) {
      forest_.build(*scores);
      forest_.each_best(k, [&](std::size_t, double, const std::int32_t* heads) { keep(heads, outputs_[found++]); });
    } else {
      for (const std::size_t n = spanning_.kbest(*scores, k); found < n; ++found) keep(spanning_.heads(found), outputs_[found]);
    }
    return found;
  }
  const std::int32_t* output(std::size_t i) const { return outputs_[i].data(); }

  // Number of words with a wrong head or label.
  std::size_t n_wrong(const std::int32_t* output) const {
    std::size_t n = 0;
    for (std::size_t m = 0; m < n_; ++m) n += output[m] != right_heads_[m] || output[n_ + m] != right_labels_[m];
    return n;
  }
  double cost(const std::int32_t* output) const { return static_cast<double>(n_wrong(output)); }

  // Phi(gold)
  void collect_right(Changes& out) {
    for (std::size_t m = 1; m <= n_; ++m)
      for (const Features& part : parts_of(right_heads_.data(), right_labels_.data(), right_siblings_.data(), m)) add(part, m, 1, out);
  }

  void collect(const std::int32_t* output, Changes& out) {
    if (plan_.second_order()) find_siblings({output, n_}, siblings_);
    for (std::size_t m = 1; m <= n_; ++m) {
      const auto right = parts_of(right_heads_.data(), right_labels_.data(), right_siblings_.data(), m);
      const auto other = parts_of(output, output + n_, siblings_.data(), m);
      for (std::size_t i = 0; i < right.size(); ++i)
        if (right[i] != other[i] && (i != kLabelled || plan_.n_labels > 1)) add(right[i], m, 1, out), add(other[i], m, -1, out);
    }
  }

 private:
  // The features of groups `first` to `last` at an arc of a word: those of templates with labels, or of others.
  struct Features {
    std::size_t first, last, head, sibling;
    std::uint32_t label;
    bool labelled;
    bool operator==(const Features&) const = default;
  };
  static constexpr std::size_t kLabelled = 1;
  // The features of a tree at word m: arcs, labels, siblings.
  std::array<Features, 3> parts_of(const std::int32_t* heads, const std::int32_t* labels, const std::int32_t* siblings,
                                   std::size_t m) const {
    const auto h = static_cast<std::size_t>(heads[m - 1]);
    return {{{0, plan_.n_arcs, h, h, 0, false},
             {0, plan_.n_arcs, h, h, static_cast<std::uint32_t>(labels[m - 1]), true},
             {plan_.n_arcs, plan_.filter(), h, plan_.second_order() ? static_cast<std::size_t>(siblings[m - 1]) : h, 0, false}}};
  }
  // Cost-augmented scores: 1 for a wrong head, and for a wrong label at the right head.
  const TreeScores& with_costs() {
    with_costs_ = scorer_.scores;
    costly_labels_ = scorer_.labels;
    sums_.resize(plan_.n_labels);
    for (std::size_t m = 1; m <= n_; ++m) {
      const auto right = static_cast<std::size_t>(right_heads_[m - 1]), right_label = static_cast<std::size_t>(right_labels_[m - 1]);
      for (std::size_t h = 0; h <= n_; ++h)
        if (h != right) with_costs_.arc(h, m) += 1;
      if (plan_.n_labels == 1) continue;
      scorer_.label_scores(x_, right, m, sums_.data());
      std::int32_t& best = costly_labels_[right * (n_ + 1) + m];
      double& arc = with_costs_.arc(right, m);
      arc -= sums_[static_cast<std::size_t>(best)];
      for (std::size_t z = 0; z < plan_.n_labels; ++z) sums_[z] += z != right_label;
      best = static_cast<std::int32_t>(std::max_element(sums_.begin(), sums_.end()) - sums_.begin());
      arc += sums_[static_cast<std::size_t>(best)];
    }
    labels_ = &costly_labels_;
    return with_costs_;
  }
  void keep(const std::int32_t* heads, std::vector<std::int32_t>& output) const {
    output.assign(heads, heads + n_);
    for (std::size_t m = 1; m <= n_; ++m) output.push_back((*labels_)[static_cast<std::size_t>(heads[m - 1]) * (n_ + 1) + m]);
  }
  void add(const Features& part, std::size_t m, double by, Changes& out) {
    const Anchor anchor = arc_anchor(part.head, part.sibling, m, x_.size());
    const std::uint32_t distance = distance_of(part.head, m);
    for (std::size_t g = part.first; g < part.last; ++g) {
      if (!plan_.groups[g].has(part.labelled)) continue;
      each_key(plan_.places, plan_.places.templates[g], x_, anchor, weights_.made_folds(), [&](std::uint64_t key, std::int32_t) {
        const std::uint32_t id = weights_.make_attribute(g, key);
        for (const ArcTemplate& of : plan_.groups[g].templates)
          if (of.labelled == part.labelled) out.push_back({id, PlacedWeights::place(g, plan_.column(of, distance) + part.label), by});
      });
    }
  }

  const ArcPlan& plan_;
  PlacedWeights& weights_;
  const TreeExamples& examples_;
  bool projective_;
  std::size_t n_ = 0;
  PlacedSentence x_;
  ArcScorer<PlacedWeights> scorer_;
  std::span<const std::int32_t> right_heads_, right_labels_;
  std::vector<std::int32_t> right_siblings_, siblings_, heads_, costly_labels_;
  const std::vector<std::int32_t>* labels_ = nullptr;  // best labels of arcs, by score or by score + cost
  TreeScores with_costs_;
  std::vector<double> sums_;  // [n_labels]
  TreeChart chart_;
  TreeForest forest_;
  SpanningTrees spanning_;
  std::vector<std::vector<std::int32_t>> outputs_;
};

}  // namespace trellis

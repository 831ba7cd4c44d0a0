#include "learn/tree_sums.hpp"

#include <algorithm>
#include <stdexcept>

#include "engine/elementary.hpp"
#include "engine/spanning_sums.hpp"

namespace trellis {

std::vector<std::size_t> first_weights(const ArcPlan& plan, const GrowingPlaces& attributes) {
  std::vector<std::size_t> first{0};
  for (std::size_t t = 0; t < plan.n_templates(); ++t)
    first.push_back(first.back() + static_cast<std::size_t>(attributes.tables[t].size()) * attributes.columns[t]);
  return first;
}

void add_right_attributes(const ArcPlan& plan, const TreeExamples& examples, GrowingPlaces& to) {
  Trees trees(plan, to, examples, true);
  Changes unused;
  trees.fill_filter();
  for (std::size_t i = 0; i + 1 < examples.starts.size(); ++i) {
    trees.enter(i);
    trees.collect_right(unused);
    unused.clear();
  }
}

namespace {

using VectorPlaces = FixedPlaces<const GrowingVocabulary&, double>;

// The losses of one thread.
class TreeLosses {
 public:
  TreeLosses(const ArcPlan& plan, const VectorPlaces& places, const TreeExamples& examples, bool projective)
      : plan_(plan), examples_(examples), projective_(projective), places_(places), scorer_(plan, places_, true),
        of_labels_(plan.n_labels) {}
  TreeLosses(const TreeLosses&) = delete;  // the scorer points into it

  double loss_of(std::size_t i, const double* x, const GradientSink& to);

 private:
  const ArcPlan& plan_;
  const TreeExamples& examples_;
  const bool projective_;
  VectorPlaces places_;
  PlacedSentence x_;
  ArcScorer<VectorPlaces> scorer_;
  TreeForest forest_;
  SpanningSums spanning_;
  std::vector<double> of_arcs_, of_siblings_, of_labels_;  // probabilities
  std::vector<std::int32_t> right_siblings_;
};

double TreeLosses::loss_of(std::size_t i, const double* x, const GradientSink& to) {
  places_.values = x;
  const std::int64_t begin = examples_.starts[i], end = examples_.starts[i + 1];
  const auto n = static_cast<std::size_t>(end - begin);
  if (n == 0) return 0;
  const std::int32_t* heads = examples_.heads + begin;
  const std::int32_t* labels = examples_.labels + begin;
  x_.load(plan_.places, examples_.columns, begin, end);
  scorer_.score(x_, heads);
  const TreeScores& scores = scorer_.scores;
  of_arcs_.resize(scores.arcs.size()), of_siblings_.resize(scores.siblings.size());
  double loss = kForbidden<double>;
  if (!projective_) loss = spanning_.sum(scores, of_arcs_.data());
  else if (forest_.build(scores))
    loss = forest_.sum(scores, of_arcs_.data(), plan_.second_order() ? of_siblings_.data() : nullptr);
  if (loss == kForbidden<double>) throw std::invalid_argument("a sentence without a tree");
  find_siblings({heads, n}, right_siblings_);
  const auto visit = [&](const Anchor& anchor, std::size_t first, std::size_t last, std::size_t column, double amount) {
    if (amount == 0 || !to.wanted()) return;
    scorer_.each_attribute(x_, anchor, first, last, [&](std::size_t t, std::uint64_t key, std::int32_t) {
      if (const double* row = places_.row(t, key)) to.add(static_cast<std::size_t>(row - x) + column, amount);
    });
  };
  const std::size_t labelled = plan_.n_arcs + plan_.n_labelled;
  for (std::size_t h = 0; h <= n; ++h)
    for (std::size_t m = 1; m <= n; ++m) {
      if (scores.arc(h, m) == kForbidden<double>) continue;
      const bool right = static_cast<std::size_t>(heads[m - 1]) == h;
      const double share = of_arcs_[h * (n + 1) + m];
      const Anchor anchor = arc_anchor(h, h, m, x_.size());
      visit(anchor, 0, plan_.n_arcs, 0, share - right);
      if (right) loss -= scores.arc(h, m);
      if (plan_.n_labels > 1) {
        scorer_.label_scores(x_, h, m, of_labels_.data());
        const double most = *std::max_element(of_labels_.begin(), of_labels_.end());
        double total = 0;
        for (double one : of_labels_) total += exp(one - most);
        const auto label = static_cast<std::size_t>(labels[m - 1]);
        if (right) loss -= of_labels_[label] - most - log(total);  // of the label, given the arc
        for (double& one : of_labels_) one = share * exp(one - most) / total;
        if (right) of_labels_[label] -= 1;
        if (!to.wanted()) continue;
        scorer_.each_attribute(x_, anchor, plan_.n_arcs, labelled, [&](std::size_t t, std::uint64_t key, std::int32_t) {
          if (const double* row = places_.row(t, key))
            for (std::size_t z = 0; z < plan_.n_labels; ++z) to.add(static_cast<std::size_t>(row - x) + z, of_labels_[z]);
        });
      }
    }
  if (plan_.second_order())
    each_sibling(scores, [&](std::size_t h, std::size_t s, std::size_t m, std::size_t site) {
      const bool right = static_cast<std::size_t>(heads[m - 1]) == h && static_cast<std::size_t>(right_siblings_[m - 1]) == s;
      if (right) loss -= scores.siblings[site];
      visit(arc_anchor(h, s, m, x_.size()), labelled, plan_.n_templates(), 0, of_siblings_[site] - right);
    });
  return loss;
}

}  // namespace

std::unique_ptr<ExampleObjective> tree_objective(const ArcPlan& plan, const GrowingPlaces& attributes,
                                                 const TreeExamples& examples, bool projective) {
  VectorPlaces places{attributes, attributes.columns, first_weights(plan, attributes)};
  if (plan.has_filter) places.columns.back() = 0;
  const std::size_t n_weights = places.first.back();
  return std::make_unique<ExampleObjective>(examples.starts.size() - 1, n_weights, [places, &plan, &examples, projective] {
    return [losses = std::make_shared<TreeLosses>(plan, places, examples, projective)](
               std::size_t i, const double* x, const GradientSink& to) { return losses->loss_of(i, x, to); };
  });
}

}  // namespace trellis

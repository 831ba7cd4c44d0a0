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

// The losses of one thread; not movable, as the scorer points into it.
struct TreeLosses {
  const ArcPlan& plan;
  const TreeExamples& examples;
  const bool projective;
  VectorPlaces places;
  ArcScorer<VectorPlaces> scorer{plan, places, true};
  PlacedSentence words{};
  TreeForest forest{};
  SpanningSums spanning{};
  std::vector<double> of_arcs{}, of_siblings{}, of_labels = std::vector<double>(plan.n_labels);  // probabilities
  std::vector<std::int32_t> right_siblings{};

  double loss_of(std::size_t i, const double* x, const GradientSink& to) {
    places.values = x;
    const std::int64_t begin = examples.starts[i], end = examples.starts[i + 1];
    const auto n = static_cast<std::size_t>(end - begin);
    if (n == 0) return 0;
    const std::int32_t* heads = examples.heads + begin;
    const std::int32_t* labels = examples.labels + begin;
    words.load(plan.places, examples.columns, begin, end);
    scorer.score(words, heads);
    const TreeScores& scores = scorer.scores;
    of_arcs.resize(scores.arcs.size()), of_siblings.resize(scores.siblings.size());
    double loss = kForbidden<double>;
    if (!projective) loss = spanning.sum(scores, of_arcs.data());
    else if (forest.build(scores))
      loss = forest.sum(scores, of_arcs.data(), plan.second_order() ? of_siblings.data() : nullptr);
    if (loss == kForbidden<double>) throw std::invalid_argument("a sentence has no tree");
    find_siblings({heads, n}, right_siblings);
    const auto visit = [&](const Anchor& anchor, std::size_t first, std::size_t last, std::size_t column, double amount) {
      if (amount == 0 || !to.wanted()) return;
      scorer.each_attribute(words, anchor, first, last, [&](std::size_t t, std::uint64_t key, std::int32_t) {
        if (const double* row = places.row(t, key)) to.add(static_cast<std::size_t>(row - x) + column, amount);
      });
    };
    const std::size_t labelled = plan.n_arcs + plan.n_labelled;
    for (std::size_t h = 0; h <= n; ++h)
      for (std::size_t m = 1; m <= n; ++m) {
        if (scores.arc(h, m) == kForbidden<double>) continue;
        const bool right = static_cast<std::size_t>(heads[m - 1]) == h;
        const double share = of_arcs[h * (n + 1) + m];
        const Anchor anchor = arc_anchor(h, h, m, words.size());
        visit(anchor, 0, plan.n_arcs, 0, share - right);
        if (right) loss -= scores.arc(h, m);
        if (plan.n_labels > 1) {
          scorer.label_scores(words, h, m, of_labels.data());
          const double most = *std::max_element(of_labels.begin(), of_labels.end());
          double total = 0;
          for (double one : of_labels) total += exp(one - most);
          const auto label = static_cast<std::size_t>(labels[m - 1]);
          if (right) loss -= of_labels[label] - most - log(total);  // loss of the label, given the arc
          for (double& one : of_labels) one = share * exp(one - most) / total;
          if (right) of_labels[label] -= 1;
          if (!to.wanted()) continue;
          scorer.each_attribute(words, anchor, plan.n_arcs, labelled, [&](std::size_t t, std::uint64_t key, std::int32_t) {
            if (const double* row = places.row(t, key))
              for (std::size_t z = 0; z < plan.n_labels; ++z) to.add(static_cast<std::size_t>(row - x) + z, of_labels[z]);
          });
        }
      }
    if (plan.second_order())
      each_sibling(scores, [&](std::size_t h, std::size_t s, std::size_t m, std::size_t site) {
        const bool right = static_cast<std::size_t>(heads[m - 1]) == h && static_cast<std::size_t>(right_siblings[m - 1]) == s;
        if (right) loss -= scores.siblings[site];
        visit(arc_anchor(h, s, m, words.size()), labelled, plan.n_templates(), 0, of_siblings[site] - right);
      });
    return loss;
  }
};

}  // namespace

std::unique_ptr<ExampleObjective> tree_objective(const ArcPlan& plan, const GrowingPlaces& attributes,
                                                 const TreeExamples& examples, bool projective) {
  VectorPlaces places{attributes, attributes.columns, first_weights(plan, attributes)};
  if (plan.has_filter) places.columns.back() = 0;
  const std::size_t n_weights = places.first.back();
  std::vector<double> masses;  // each template gives an arc one feature
  for (std::size_t i = 0; i + 1 < examples.starts.size(); ++i)
    masses.push_back(static_cast<double>(examples.starts[i + 1] - examples.starts[i]) * static_cast<double>(plan.n_templates()));
  return std::make_unique<ExampleObjective>(masses, n_weights, [places, &plan, &examples, projective] {
    return [losses = std::shared_ptr<TreeLosses>(new TreeLosses{plan, examples, projective, places})](
               std::size_t i, const double* x, const GradientSink& to) { return losses->loss_of(i, x, to); };
  });
}

}  // namespace trellis

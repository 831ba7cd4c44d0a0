#include "learn/tree_sums.hpp"

#include <algorithm>
#include <stdexcept>

#include "engine/elementary.hpp"
#include "engine/spanning_sums.hpp"

namespace trellis {

PlacedWeights right_attributes(const ArcPlan& plan, const TreeExamples& examples) {
  PlacedWeights out(plan.places, plan.n_columns(), Learns::kWeights, false);
  const std::vector<std::int32_t> first_labels(static_cast<std::size_t>(examples.starts.back()));
  const TreeExamples unlabelled{examples.columns, examples.starts, examples.heads, first_labels.data()};
  Trees trees(plan, out, unlabelled, true);
  Changes features;
  trees.fill_filter();
  for (std::size_t i = 0; i + 1 < examples.starts.size(); ++i) {
    trees.enter(i);
    trees.collect_right(features);
    for (const Change& one : features) out.make(one.row, one.place);
    features.clear();
  }
  return out;
}

TreeParameters::TreeParameters(const ArcPlan& plan, const PlacedWeights& attributes) {
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    const GrowingRows& rows = attributes.rows[g];
    std::vector<std::size_t>& own = first.emplace_back(rows.n_slots());
    for (const auto& [key, id] : sorted_keys(attributes.tables[g])) {
      if (g == plan.filter()) break;
      rows.each(static_cast<std::size_t>(id), [&, id = id](std::size_t, std::uint32_t column, float, double, float) {
        own[static_cast<std::size_t>(rows.slot_of(id, column))] = total;
        total += plan.width(plan.template_at(g, column).labelled);
      });
    }
  }
}

namespace {

// Weights in a vector, as scorers look them up.
struct VectorWeights {
  const ArcPlan& plan;
  const PlacedWeights& attributes;
  const TreeParameters& parameters;
  const double* x = nullptr;

  auto known_folds() const { return attributes.known_folds(); }
  std::int32_t find(std::size_t group, std::uint64_t key) const { return attributes.find(group, key); }
  void prefetch(std::size_t group, std::uint64_t key) const { attributes.prefetch(group, key); }
  void prefetch_row(std::size_t group, std::int32_t id) const { attributes.prefetch_row(group, id); }
  void prefetch_slots(std::size_t group, std::int32_t id) const { attributes.prefetch_slots(group, id); }
  // The first weight of a slot; -1 if it does not exist.
  std::int64_t number(std::size_t group, std::int32_t id, std::uint32_t column) const {
    const std::int64_t slot = attributes.rows[group].slot_of(id, column);
    return slot < 0 ? -1 : static_cast<std::int64_t>(parameters.first[group][static_cast<std::size_t>(slot)]);
  }
  double value(std::size_t group, std::int32_t id, std::uint32_t column) const {
    const std::int64_t at = number(group, id, column);
    return at < 0 ? 0 : group == plan.filter() ? 1 : x[at];
  }
  void add_part(std::size_t group, std::int32_t id, std::uint32_t first, std::size_t n, double* sums) const {
    const std::size_t width = plan.width(plan.template_at(group, first).labelled);
    for (std::size_t z = 0; z < n; z += width)
      if (const std::int64_t at = number(group, id, first + static_cast<std::uint32_t>(z)); at >= 0)
        for (std::size_t y = 0; y < width; ++y) sums[z + y] += x[static_cast<std::size_t>(at) + y];
  }
};

// The losses of one thread; not movable, as the scorer points into it.
struct TreeLosses {
  const ArcPlan& plan;
  const TreeExamples& examples;
  const bool projective;
  VectorWeights weights;
  ArcScorer<VectorWeights> scorer{plan, weights, true};
  PlacedSentence words{};
  TreeForest forest{};
  SpanningSums spanning{};
  std::vector<double> of_arcs{}, of_siblings{}, of_labels = std::vector<double>(plan.n_labels);  // probabilities
  std::vector<std::int32_t> right_siblings{};

  double loss_of(std::size_t i, const double* x, const GradientSink& to) {
    weights.x = x;
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
    // Adds the amounts of a template's weights at a site: one, or one per label.
    const auto hand_back = [&](const Anchor& anchor, std::uint32_t distance, std::size_t first, std::size_t last, bool labelled,
                               const double* amounts) {
      for (std::size_t g = first; to.wanted() && g < last; ++g)
        if (plan.groups[g].has(labelled))
          scorer.each_attribute(words, anchor, g, [&](std::uint64_t key, std::int32_t) {
            const std::int32_t id = weights.find(g, key);
            for (const ArcTemplate& of : plan.groups[g].templates) {
              if (id < 0 || of.labelled != labelled) continue;
              const std::int64_t at = weights.number(g, id, plan.column(of, distance));
              for (std::size_t z = 0; at >= 0 && z < plan.width(labelled); ++z) to.add(static_cast<std::size_t>(at) + z, amounts[z]);
            }
          });
    };
    for (std::size_t h = 0; h <= n; ++h)
      for (std::size_t m = 1; m <= n; ++m) {
        if (scores.arc(h, m) == kForbidden<double>) continue;
        const bool right = static_cast<std::size_t>(heads[m - 1]) == h;
        const double share = of_arcs[h * (n + 1) + m];
        const Anchor anchor = arc_anchor(h, h, m, words.size());
        const std::uint32_t distance = distance_of(h, m);
        const double of_arc = share - right;
        if (of_arc != 0) hand_back(anchor, distance, 0, plan.n_arcs, false, &of_arc);
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
          hand_back(anchor, distance, 0, plan.n_arcs, true, of_labels.data());
        }
      }
    if (plan.second_order())
      each_sibling(scores, [&](std::size_t h, std::size_t s, std::size_t m, std::size_t site) {
        const bool right = static_cast<std::size_t>(heads[m - 1]) == h && static_cast<std::size_t>(right_siblings[m - 1]) == s;
        if (right) loss -= scores.siblings[site];
        const double amount = of_siblings[site] - right;
        if (amount != 0) hand_back(arc_anchor(h, s, m, words.size()), distance_of(h, m), plan.n_arcs, plan.filter(), false, &amount);
      });
    return loss;
  }
};

}  // namespace

std::unique_ptr<ExampleObjective> tree_objective(const ArcPlan& plan, const PlacedWeights& attributes, const TreeParameters& parameters,
                                                 const TreeExamples& examples, bool projective) {
  const std::size_t n_templates = plan.templates.size() - plan.has_filter;
  std::vector<double> masses;  // each template gives an arc one feature
  for (std::size_t i = 0; i + 1 < examples.starts.size(); ++i)
    masses.push_back(static_cast<double>(examples.starts[i + 1] - examples.starts[i]) * static_cast<double>(n_templates));
  return std::make_unique<ExampleObjective>(masses, parameters.total, [&, projective] {
    return [losses = std::shared_ptr<TreeLosses>(new TreeLosses{plan, examples, projective, {plan, attributes, parameters}})](
               std::size_t i, const double* x, const GradientSink& to) { return losses->loss_of(i, x, to); };
  });
}

}  // namespace trellis

#include "learn/tree_sums.hpp"

#include <algorithm>
#include <stdexcept>

#include "engine/elementary.hpp"
#include "engine/spanning_sums.hpp"

namespace trellis {

FixedPlaces::FixedPlaces(const GrowingPlaces& given, const ArcPlan& plan) : attributes(given), first{0} {
  for (std::size_t t = 0; t < attributes.tables().size(); ++t)
    first.push_back(first.back() + static_cast<std::size_t>(attributes.tables()[t].size()) * attributes.columns()[t]);
  n_weights = first[plan.n_templates()];
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

struct TreeObjective::Buffers : Scratch {
  FixedPlaces places;
  PlacedSentence x;
  ArcScorer<FixedPlaces> scorer;
  TreeForest forest;
  SpanningSums spanning;
  std::vector<double> arcs, siblings, labels;
  std::vector<std::int32_t> right_siblings;

  Buffers(const ArcPlan& plan, const FixedPlaces& from) : places(from), scorer(plan, places, true), labels(plan.n_labels) {}
  Buffers(const Buffers&) = delete;
};

TreeObjective::TreeObjective(const ArcPlan& plan, const GrowingPlaces& attributes, const TreeExamples& examples, bool projective)
    : plan_(plan), examples_(examples), projective_(projective), places_(attributes, plan) {
  count_shares(places_.n_weights);
}

std::unique_ptr<ExampleObjective::Scratch> TreeObjective::make_scratch() const { return std::make_unique<Buffers>(plan_, places_); }

double TreeObjective::loss_of(std::size_t i, const double* x, Scratch& scratch, const GradientSink& to) const {
  auto& work = static_cast<Buffers&>(scratch);
  work.places.x = x;
  const std::int64_t begin = examples_.starts[i], end = examples_.starts[i + 1];
  const auto n = static_cast<std::size_t>(end - begin);
  if (n == 0) return 0;
  const std::int32_t* heads = examples_.heads + begin;
  const std::int32_t* labels = examples_.labels + begin;
  work.x.load(plan_.places, examples_.columns, begin, end);
  work.scorer.score(work.x, heads);
  const TreeScores& scores = work.scorer.scores;
  work.arcs.resize(scores.arcs.size()), work.siblings.resize(scores.siblings.size());
  double loss = kForbidden<double>;
  if (!projective_) loss = work.spanning.sum(scores, work.arcs.data());
  else if (work.forest.build(scores)) loss = work.forest.sum(scores, work.arcs.data(), plan_.second_order() ? work.siblings.data() : nullptr);
  if (loss == kForbidden<double>) throw std::invalid_argument("a sentence without a tree");
  find_siblings({heads, n}, work.right_siblings);
  const auto visit = [&](const Anchor& anchor, std::size_t first, std::size_t last, std::size_t column, double amount) {
    if (amount == 0 || !to.wanted()) return;
    work.scorer.each_attribute(work.x, anchor, first, last, [&](std::size_t t, std::uint64_t key, std::int32_t) {
      if (const double* row = work.places.row(t, key)) to.add(static_cast<std::size_t>(row - x) + column, amount);
    });
  };
  const std::size_t labelled = plan_.n_arcs + plan_.n_labelled;
  for (std::size_t h = 0; h <= n; ++h)
    for (std::size_t m = 1; m <= n; ++m) {
      if (scores.arc(h, m) == kForbidden<double>) continue;
      const bool right = static_cast<std::size_t>(heads[m - 1]) == h;
      const double share = work.arcs[h * (n + 1) + m];
      const Anchor anchor = arc_anchor(h, h, m, work.x.size());
      visit(anchor, 0, plan_.n_arcs, 0, share - right);
      if (right) loss -= scores.arc(h, m);
      if (plan_.n_labels > 1) {
        work.scorer.label_scores(work.x, h, m, work.labels.data());
        const double most = *std::max_element(work.labels.begin(), work.labels.end());
        double total = 0;
        for (double one : work.labels) total += exp(one - most);
        const auto label = static_cast<std::size_t>(labels[m - 1]);
        if (right) loss -= work.labels[label] - most - log(total);  // of the label, given the arc
        for (double& one : work.labels) one = share * exp(one - most) / total;
        if (right) work.labels[label] -= 1;
        if (!to.wanted()) continue;
        work.scorer.each_attribute(work.x, anchor, plan_.n_arcs, labelled, [&](std::size_t t, std::uint64_t key, std::int32_t) {
          if (const double* row = work.places.row(t, key))
            for (std::size_t z = 0; z < plan_.n_labels; ++z) to.add(static_cast<std::size_t>(row - x) + z, work.labels[z]);
        });
      }
    }
  if (plan_.second_order())
    each_sibling(scores, [&](std::size_t h, std::size_t s, std::size_t m, std::size_t site) {
      const bool right = static_cast<std::size_t>(heads[m - 1]) == h && static_cast<std::size_t>(work.right_siblings[m - 1]) == s;
      if (right) loss -= scores.siblings[site];
      visit(arc_anchor(h, s, m, work.x.size()), labelled, plan_.n_templates(), 0, work.siblings[site] - right);
    });
  return loss;
}

}  // namespace trellis

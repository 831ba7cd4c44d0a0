// Scores of arcs: looked up one by one and folded, the same; online steps and gradients over small random treebanks.
#include <algorithm>
#include <random>

#include "check.hpp"
#include "gradients.hpp"
#include "learn/tree_sums.hpp"
#include "weights/folded_arcs.hpp"

using namespace trellis;

static_assert(Structure<Trees>);

namespace {

constexpr std::size_t kValues = 5, kLabels = 3;

// Two columns of one view each. Places: heads, dependents, siblings, words between; measures last, first, and none.
ArcPlan small_plan(bool second_order, bool filter) {
  ArcPlan plan;
  plan.places.reach = 2, plan.places.n_folds = 1;
  plan.places.slots = {{0, 0}, {1, 0}};
  const auto add = [&](std::vector<Atom> atoms) {
    const auto first = static_cast<std::int32_t>(plan.places.atoms.size());
    const auto between = std::find_if(atoms.begin(), atoms.end(), [](const Atom& atom) { return atom.place == kBetween; });
    const std::int32_t slot = between == atoms.end() ? -1 : between->slot;
    plan.places.atoms.insert(plan.places.atoms.end(), atoms.begin(), atoms.end());
    plan.places.templates.push_back({first, static_cast<std::int32_t>(plan.places.atoms.size()), plan.places.n_tables++, slot});
  };
  const Atom direction{kDirection, kMeasure, 0, 1, -1}, distance{kDistance, kMeasure, 0, 4, -1};
  const auto head = [](std::int32_t slot, std::int32_t offset, std::int32_t fold = -1) { return Atom{slot, kHead, offset, 4, fold}; };
  const auto dep = [](std::int32_t slot, std::int32_t offset) { return Atom{slot, kDependent, offset, 4, -1}; };
  add({head(0, 0), direction});
  add({head(0, 0), distance});
  add({dep(1, 0)});
  add({dep(1, 0), direction, distance});
  add({head(0, 0), dep(0, 0), distance});
  add({head(0, 0), dep(0, 0)});
  add({distance, head(1, 1), dep(1, -1)});
  add({head(1, 0), {1, kBetween, 0, 4, -1}, dep(1, 0), direction});
  add({dep(0, 0), head(0, 0, 0), distance});  // with a fold
  add({distance});
  plan.n_arcs = plan.places.templates.size();
  add({});
  add({head(0, 0), dep(0, 0), direction});
  plan.n_labelled = 2, plan.n_labels = kLabels;
  if (second_order) {
    add({head(0, 0), {0, kSibling, 0, 4, -1}, dep(0, 0), direction});
    add({{1, kSibling, 1, 4, -1}, dep(1, 0)});
    plan.n_siblings = 2;
  }
  if (filter) add({head(0, 0), dep(0, 0)});
  plan.has_filter = filter;
  return plan;
}

struct Treebank {
  std::vector<std::int32_t> codes[2], views[2], heads, labels;
  std::vector<std::int64_t> starts{0};
  std::vector<ColumnCodes> columns;

  Treebank(unsigned seed, const ArcPlan& plan) {
    std::mt19937 random(seed);
    for (std::size_t n : {3, 1, 5, 4, 0, 2}) {
      std::vector<std::int32_t> tree(n);
      do
        for (std::int32_t& head : tree) head = static_cast<std::int32_t>(random() % (n + 1));
      while (!is_tree(tree));
      make_projective(tree);
      for (std::size_t m = 0; m < n; ++m) {
        for (auto& column : codes) column.push_back(static_cast<std::int32_t>(random() % kValues));
        heads.push_back(tree[m]), labels.push_back(static_cast<std::int32_t>(random() % kLabels));
      }
      starts.push_back(static_cast<std::int64_t>(heads.size()));
    }
    for (std::size_t c = 0; c < 2; ++c) {
      for (std::size_t v = 0; v < kValues; ++v) views[c].push_back(v == 4 && c == 1 ? -1 : static_cast<std::int32_t>(v) + 2 * plan.places.reach);
      columns.push_back({codes[c].data(), views[c].data(), 1});
    }
  }
  TreeExamples examples() const { return {columns, starts, heads.data(), labels.data()}; }
};

std::vector<std::uint32_t> columns_of(const ArcPlan& plan) {
  std::vector<std::uint32_t> columns(plan.places.templates.size(), 1);
  std::fill_n(columns.begin() + static_cast<std::ptrdiff_t>(plan.n_arcs), plan.n_labelled, static_cast<std::uint32_t>(kLabels));
  return columns;
}

EpochResult learn(const ArcPlan& plan, const Treebank& bank, GrowingPlaces& weights, const Rule& rule, std::size_t n_epochs, bool projective,
                  std::size_t batch = 1, std::size_t n_threads = 1) {
  const TreeExamples examples = bank.examples();
  Steps steps(rule, false);
  std::int64_t clock = 0;
  std::vector<std::int64_t> order;
  for (std::size_t i = 0; i + 1 < bank.starts.size(); ++i) order.push_back(static_cast<std::int64_t>(i));
  EpochResult last;
  const auto make = [&] { return Trees(plan, weights, examples, projective); };
  make().fill_filter();
  for (std::size_t e = 0; e < n_epochs; ++e)
    last = online_pass(make, weights, steps, clock, order.data(), order.size(), nullptr, batch, n_threads, [] { return true; });
  return last;
}

}  // namespace

TEST(folded_arcs_score_as_single_templates) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    const ArcPlan plan = small_plan(seed % 2, seed % 3 == 0);
    const Treebank bank(seed, plan);
    GrowingPlaces weights(plan.places, columns_of(plan), false);
    learn(plan, bank, weights, {Rule::kMira, 1, 0.1}, 2, true);
    // The same weights, frozen.
    const auto same = [](std::int32_t id, std::int32_t) { return id; };
    const FrozenArrays tables = freeze_tables(std::span(weights.tables), same), folds = freeze_tables(std::span(weights.folds), same);
    FrozenPlaces frozen;
    std::vector<float> values;
    frozen.columns = columns_of(plan);
    for (std::size_t t = 0; t < plan.places.templates.size(); ++t) {
      frozen.keys.tables.push_back({tables.keys.data() + tables.starts[t], tables.ids.data() + tables.starts[t],
                               static_cast<std::uint64_t>(tables.starts[t + 1] - tables.starts[t])});
      frozen.first.push_back(values.size());
      values.insert(values.end(), weights.values[t].weights.begin(), weights.values[t].weights.end());
    }
    frozen.values = values.data();
    frozen.keys.folds.push_back({folds.keys.data(), folds.ids.data(), folds.keys.size()});
    const FoldedArcs folded(plan, frozen);
    ArcScorer<GrowingPlaces> one_by_one(plan, weights);
    ArcScorer<FoldedArcs> at_once(folded.arc_plan, folded);
    PlacedSentence x;
    for (std::size_t i = 0; i + 1 < bank.starts.size(); ++i) {
      x.load(plan.places, bank.columns, bank.starts[i], bank.starts[i + 1]);
      for (const bool all : {false, true}) {
        if (all) one_by_one.score_all(x), at_once.score_all(x);
        else one_by_one.score(x), at_once.score(x);
        CHECK(one_by_one.labels == at_once.labels);
        for (std::size_t a = 0; a < one_by_one.scores.arcs.size(); ++a) CHECK_NEAR(one_by_one.scores.arcs[a], at_once.scores.arcs[a], 1e-5);
        for (std::size_t s = 0; s < one_by_one.scores.siblings.size(); ++s)
          CHECK_NEAR(one_by_one.scores.siblings[s], at_once.scores.siblings[s], 1e-5);
      }
    }
  }
}

TEST(trees_are_learnt_by_every_rule) {
  const Rule rules[] = {{Rule::kPerceptron, 1, 1}, {Rule::kPa1, 1, 1}, {Rule::kMira, 1, 1}, {Rule::kMira, 3, 1}, {Rule::kArow, 1, 1}};
  for (const Rule& rule : rules)
    for (const bool projective : {true, false}) {
      const ArcPlan plan = small_plan(projective, true);
      const Treebank bank(3, plan);
      GrowingPlaces weights(plan.places, columns_of(plan), rule.has_variances());
      // Of rules that look at costs the best output by score + cost may stay a wrong one.
      const EpochResult last = learn(plan, bank, weights, rule, 30, projective);
      if (!rule.augmented()) CHECK(last.mistakes == 0);
      GrowingPlaces one(plan.places, columns_of(plan), rule.has_variances()), two(plan.places, columns_of(plan), rule.has_variances());
      learn(plan, bank, one, rule, 3, projective, 4, 1), learn(plan, bank, two, rule, 3, projective, 4, 3);
      for (std::size_t t = 0; t < plan.places.templates.size(); ++t) CHECK(one.values[t].weights == two.values[t].weights);
    }
}

TEST(log_losses_of_trees_have_these_gradients) {
  for (const bool projective : {true, false}) {
    const ArcPlan plan = small_plan(projective, false);
    const Treebank bank(7, plan);
    const TreeExamples examples = bank.examples();
    GrowingPlaces attributes(plan.places, columns_of(plan), false);
    add_right_attributes(plan, examples, attributes);
    const auto made = tree_objective(plan, attributes, examples, projective);
    ExampleObjective& objective = *made;
    const std::size_t n = objective.n_parameters(), n_sentences = bank.starts.size() - 1;
    std::mt19937 random(1);
    std::vector<double> x(n), gradient(n), losses(n_sentences), squares(n);
    for (double& one : x) one = static_cast<double>(random() % 100) / 100 - 0.5;
    testing::gradient_of(objective, x.data(), nullptr, 2, losses, gradient);
    const auto total = [&](const std::vector<double>& at) {
      std::vector<double> of(n_sentences);
      objective.evaluate(at.data(), nullptr, 1, of.data(), FixedPoint(0), nullptr);
      double sum = 0;
      for (double one : of) sum += one;
      return sum;
    };
    for (std::size_t p = 0; p < n; p += 5) {
      std::vector<double> more = x, less = x;
      more[p] += 1e-5, less[p] -= 1e-5;
      CHECK_NEAR(gradient[p], (total(more) - total(less)) / 2e-5, 1e-6);
    }
    const double before = total(x);
    const std::vector<std::int64_t> order{5, 0, 1, 2, 3, 4};
    objective.pass({0.1, 0, 0, 2}, order.size(), order.data(), order.size(), nullptr, 2, x.data(), squares.data(), losses.data());
    CHECK(total(x) < before);
  }
}

// Scores of arcs: looked up one by one and together, of learners and packed, the same; online steps and gradients over small random treebanks.
#include <algorithm>
#include <random>

#include "check.hpp"
#include "gradients.hpp"
#include "learn/tree_sums.hpp"

using namespace trellis;

static_assert(Structure<Trees>);

namespace {

constexpr std::size_t kValues = 5, kLabels = 3;

// Two columns of one view each. Places: heads, dependents, siblings, words between; with measures and labels, and without.
ArcPlan small_plan(bool second_order, bool filter) {
  ArcPlan plan;
  plan.places.reach = 2, plan.places.n_folds = 1, plan.n_labels = kLabels;
  plan.places.slots = {{0, 0}, {1, 0}};
  using enum ArcMeasure;
  const auto add = [&](std::vector<Atom> atoms, std::vector<ArcMeasure> measures, std::vector<ArcMeasure> labelled = {}) {
    const auto first = static_cast<std::int32_t>(plan.places.atoms.size());
    const auto between = std::find_if(atoms.begin(), atoms.end(), [](const Atom& atom) { return atom.place == kBetween; });
    const std::int32_t slot = between == atoms.end() ? -1 : between->slot;
    plan.places.atoms.insert(plan.places.atoms.end(), atoms.begin(), atoms.end());
    plan.places.templates.push_back({first, static_cast<std::int32_t>(plan.places.atoms.size()), plan.places.n_tables++, slot});
    const std::size_t group = plan.places.templates.size() - 1;
    for (const ArcMeasure measure : measures) CHECK(plan.add(group, measure, false));
    for (const ArcMeasure measure : labelled) CHECK(plan.add(group, measure, true));
  };
  const auto head = [](std::int32_t slot, std::int32_t offset, std::int32_t fold = -1) { return Atom{slot, kHead, offset, 4, fold}; };
  const auto dep = [](std::int32_t slot, std::int32_t offset) { return Atom{slot, kDependent, offset, 4, -1}; };
  add({head(0, 0)}, {kDirection, kDistance}, {kNone});
  add({dep(1, 0)}, {kNone, kDistance}, {kDirection});
  add({dep(0, 0)}, {}, {kNone});
  add({head(0, 0), dep(0, 0)}, {kDistance, kNone}, {kDirection, kDistance});
  add({head(1, 1), dep(1, -1)}, {kDistance});
  add({head(1, 0), {1, kBetween, 0, 4, -1}, dep(1, 0)}, {kDirection});
  add({dep(0, 0), head(0, 0, 0)}, {kDistance});  // with a fold
  add({}, {kDistance}, {kNone});
  plan.n_arcs = plan.groups.size();
  if (second_order) {
    add({head(0, 0), {0, kSibling, 0, 4, -1}, dep(0, 0)}, {kDirection});
    add({{1, kSibling, 1, 4, -1}, dep(1, 0)}, {kNone});
    plan.n_siblings = 2;
  }
  if (filter) add({head(0, 0), dep(0, 0)}, {kDirection});
  plan.has_filter = filter;
  return plan;
}
PlacedWeights empty_weights(const ArcPlan& plan, bool variances = false) {
  return {plan.places, plan.n_columns(), variances ? Learns::kVariances : Learns::kWeights};
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

EpochResult learn(const ArcPlan& plan, const Treebank& bank, PlacedWeights& weights, const Rule& rule, std::size_t n_epochs, bool projective,
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

// Of each arc the weights of the templates, one after the other: of the arc, then of each label.
std::vector<double> arc_by_templates(const ArcPlan& plan, PlacedWeights& weights, PlacedSentence& x, std::size_t h, std::size_t s,
                                     std::size_t m, std::size_t first, std::size_t last) {
  std::vector<double> out(1 + kLabels);
  for (const ArcTemplate& of : plan.templates) {
    if (of.group < first || of.group >= last) continue;
    each_key(plan.places, plan.places.templates[of.group], x, arc_anchor(h, s, m, x.size()), weights.known_folds(),
             [&](std::uint64_t key, std::int32_t) {
               const std::int32_t id = weights.tables[of.group].find(key);
               if (id < 0) return;
               const std::uint32_t column = plan.column(of, distance_of(h, m));
               for (std::uint32_t z = 0; z < plan.width(of.labelled); ++z)
                 if (const LearntWeight at = weights.rows[of.group].find(id, column + z); at.weight) out[of.labelled + z] += *at.weight;
             });
  }
  return out;
}

TEST(groups_score_as_single_templates) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    const ArcPlan plan = small_plan(seed % 2, seed % 3 == 0);
    const Treebank bank(seed, plan);
    PlacedWeights weights = empty_weights(plan), packed(plan.places, plan.n_columns(), Learns::kNothing);
    learn(plan, bank, weights, {Rule::kMira, 1, 0.1}, 3, true);
    Packing packing;
    for (std::size_t g = 0; g < plan.groups.size(); ++g) {
      packing.begin_group();
      for (const auto& [key, id] : sorted_keys(weights.tables[g])) {
        std::vector<GrowingRows::Slot> slots;
        weights.rows[g].each(static_cast<std::size_t>(id), [&](std::size_t, std::uint32_t column, float weight, double, float) {
          slots.push_back({column, weight});
        });
        packing.add(key, slots);
      }
    }
    std::size_t group = 0;
    unpack(packing.packed, plan.n_columns(), [&](std::size_t g) { group = g; },
           [&](std::uint64_t key, std::span<const GrowingRows::Slot> slots) {
             packed.tables[group].find_or_add(key), packed.rows[group].add_attribute(slots);
           });
    packed.folds = weights.folds;
    ArcScorer<PlacedWeights> learnt(plan, weights), kept(plan, packed);
    PlacedSentence x;
    for (std::size_t i = 0; i + 1 < bank.starts.size(); ++i) {
      x.load(plan.places, bank.columns, bank.starts[i], bank.starts[i + 1]);
      for (const bool all : {false, true}) {
        if (all) learnt.score_all(x), kept.score_all(x);
        else learnt.score(x), kept.score(x);
        CHECK(learnt.labels == kept.labels && learnt.scores.arcs == kept.scores.arcs && learnt.scores.siblings == kept.scores.siblings);
        for (std::size_t h = 0; h <= learnt.scores.n; ++h)
          for (std::size_t m = 1; m <= learnt.scores.n; ++m) {
            if (learnt.scores.arc(h, m) == kForbidden<double>) continue;
            const std::vector<double> sums = arc_by_templates(plan, weights, x, h, h, m, 0, plan.n_arcs);
            const auto best = std::max_element(sums.begin() + 1, sums.end());
            CHECK_NEAR(learnt.scores.arc(h, m), sums[0] + *best, 1e-12);
            std::vector<double> labels(kLabels);
            learnt.label_scores(x, h, m, labels.data());
            for (std::size_t z = 0; z < kLabels; ++z) CHECK_NEAR(labels[z], sums[1 + z], 1e-12);
          }
        if (plan.second_order())
          each_sibling(learnt.scores, [&](std::size_t h, std::size_t s, std::size_t m, std::size_t site) {
            const double sum = arc_by_templates(plan, weights, x, h, s, m, plan.n_arcs, plan.filter())[0];
            CHECK_NEAR(learnt.scores.siblings[site], sum, 1e-12);
          });
      }
    }
  }
}

TEST(damaged_packed_weights_are_rejected) {
  using Packed = PackedWeights<HoldVector>;
  const std::vector<std::uint32_t> n_columns{3, 200};
  const Packed good{{1, 2}, {5, 0xff, 0x7f, 1}, {2, 1, 1}, {0, 2, 0xc7, 0x01, 0}, {1, 2, 3, 4}};
  const auto keys = [&](const Packed& packed) {
    std::vector<std::uint64_t> out;
    unpack(packed, n_columns, [](std::size_t) {}, [&](std::uint64_t key, std::span<const GrowingRows::Slot> slots) {
      out.push_back(key), out.push_back(slots.back().label);
    });
    return out;
  };
  CHECK((keys(good) == std::vector<std::uint64_t>{5, 2, 0x3fff, 199, 0x4000, 0}));
  const auto fails = [&](auto damage) {
    Packed bad = good;
    damage(bad);
    try {
      keys(bad);
    } catch (const std::invalid_argument&) {
      return true;
    }
    return false;
  };
  CHECK(fails([](Packed& bad) { bad.counts = {1}; }));
  CHECK(fails([](Packed& bad) { bad.counts = {2, 2}; }));
  CHECK(fails([](Packed& bad) { bad.counts = {1, 1}; }));
  CHECK(fails([](Packed& bad) { bad.counts = {4, -1}; }));
  CHECK(fails([](Packed& bad) { bad.keys.pop_back(); }));
  CHECK(fails([](Packed& bad) { bad.keys.push_back(1); }));
  CHECK(fails([](Packed& bad) { bad.keys.back() = 0; }));      // a key twice
  CHECK(fails([](Packed& bad) { bad.keys.back() = 0x80; }));   // ends within a number
  CHECK(fails([](Packed& bad) { bad.keys = {5, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 1}; }));
  CHECK(fails([](Packed& bad) { bad.keys = {5, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 1}; }));  // 63 bits and more
  CHECK(fails([](Packed& bad) { bad.sizes[2] = 2; }));
  CHECK(fails([](Packed& bad) { bad.sizes[2] = 0; }));
  CHECK(fails([](Packed& bad) { bad.columns[1] = 3; }));
  CHECK(fails([](Packed& bad) { bad.columns[1] = 0; }));
  CHECK(fails([](Packed& bad) { bad.columns[2] = 0xc8; }));
  CHECK(fails([](Packed& bad) { bad.weights.push_back(1); }));
  CHECK(fails([](Packed& bad) { bad.weights.pop_back(); }));
}

TEST(trees_are_learnt_by_every_rule) {
  const Rule rules[] = {{Rule::kPerceptron, 1, 1}, {Rule::kPa1, 1, 1}, {Rule::kMira, 1, 1}, {Rule::kMira, 3, 1}, {Rule::kArow, 1, 1}};
  for (const Rule& rule : rules)
    for (const bool projective : {true, false}) {
      const ArcPlan plan = small_plan(projective, true);
      const Treebank bank(3, plan);
      PlacedWeights weights = empty_weights(plan, rule.has_variances());
      // Of rules that look at costs the best output by score + cost may stay a wrong one.
      const EpochResult last = learn(plan, bank, weights, rule, 30, projective);
      if (!rule.augmented()) CHECK(last.mistakes == 0);
      PlacedWeights one = empty_weights(plan, rule.has_variances()), two = empty_weights(plan, rule.has_variances());
      learn(plan, bank, one, rule, 3, projective, 4, 1), learn(plan, bank, two, rule, 3, projective, 4, 3);
      const auto all = [](const PlacedWeights& of) {
        std::vector<float> out;
        for (const GrowingRows& rows : of.rows)
          rows.each([&](std::size_t, std::uint32_t, float weight, double, float variance) { out.push_back(weight), out.push_back(variance); });
        return out;
      };
      CHECK(all(one) == all(two));
    }
}

TEST(log_losses_of_trees_have_these_gradients) {
  for (const bool projective : {true, false}) {
    const ArcPlan plan = small_plan(projective, false);
    const Treebank bank(7, plan);
    const TreeExamples examples = bank.examples();
    const PlacedWeights attributes = right_attributes(plan, examples);
    const TreeParameters parameters(plan, attributes);
    const auto made = tree_objective(plan, attributes, parameters, examples, projective);
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

// Dependency trees: training, the parser's runtime, and checks of trees.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "features.hpp"
#include "growing.hpp"
#include "learn/trees.hpp"
#include "rule.hpp"
#include "trees.hpp"

using namespace nb::literals;
using namespace trellis;

namespace {

using ExampleWeights = std::optional<Array<double, 1>>;
using TablesOut = std::tuple<Numpy<std::uint64_t>, Numpy<std::int32_t>, Numpy<std::int64_t>>;

TablesOut tables_out(FrozenArrays tables) {
  return {to_numpy(std::move(tables.keys)), to_numpy(std::move(tables.ids)), to_numpy(std::move(tables.starts))};
}

TreeExamples examples_from(const PyArcData& data, const Array<std::int32_t, 1>& heads, const Array<std::int32_t, 1>& labels) {
  require(heads.size() == data.n_tokens() && labels.size() == data.n_tokens(), "one head and one label per word");
  check_numbers(labels, data.plan->core.n_labels, "no such label");
  const auto starts = span(data.starts);
  for (std::size_t i = 0; i < data.size(); ++i)
    require(is_tree({heads.data() + starts[i], static_cast<std::size_t>(starts[i + 1] - starts[i])}), "heads that are no tree");
  return {data.columns, starts, heads.data(), labels.data()};
}

// An online learner of trees.
struct PyTreeOnline {
  std::shared_ptr<PyArcPlan> plan;
  bool projective;
  GrowingPlaces weights;
  Steps steps;
  std::int64_t clock = 0;
  bool filled = false;

  PyTreeOnline(std::shared_ptr<PyArcPlan> plan_, bool projective, const std::string& rule, std::size_t k, double c)
      : plan(std::move(plan_)), projective(projective),
        weights(plan->core.places, plan->columns(), rule_from(rule, k, c).has_variances()), steps(rule_from(rule, k, c), false) {}

  std::pair<std::int64_t, std::int64_t> epoch(const PyArcData& data, const Array<std::int32_t, 1>& heads, const Array<std::int32_t, 1>& labels,
                                              const Array<std::int64_t, 1>& order, const ExampleWeights& scales, std::size_t batch,
                                              std::size_t n_threads) {
    require(data.plan == plan, "sentences of another plan");
    require(batch >= 1, "batch must be positive");
    const TreeExamples examples = examples_from(data, heads, labels);
    check_order(order, data.size());
    check_weights(scales, data.size());
    const double* scale = scales ? scales->data() : nullptr;
    const EpochResult result = interruptible([&](const auto& go_on) {
      Trees trees(plan->core, weights, examples, projective);
      if (!std::exchange(filled, true)) trees.fill_filter();
      if (batch == 1) return online_pass(trees, weights, steps, clock, order.data(), order.size(), scale, go_on);
      const auto make = [&] { return Trees(plan->core, weights, examples, projective); };
      return batched_pass(make, weights, steps, clock, order.data(), order.size(), scale, batch, n_threads, go_on);
    });
    return {result.mistakes, result.updates};
  }

  // Tables of keys, tables of folds, and the weights of attributes that have one; those of a template follow one another.
  std::tuple<TablesOut, TablesOut, Numpy<float>> learnt(bool average) const {
    const Mean mean{average, static_cast<double>(clock)};
    std::vector<float> values;
    std::vector<std::int32_t> rank;
    std::vector<std::size_t> base;
    for (std::size_t t = 0; t < weights.tables().size(); ++t) {
      const LearntTable& table = weights.values()[t];
      const std::size_t columns = weights.columns()[t], n = static_cast<std::size_t>(weights.tables()[t].size());
      base.push_back(rank.size());
      std::int32_t next = 0;
      for (std::size_t id = 0; id < n; ++id) {
        const std::size_t first = values.size();
        bool any = false;
        for (std::size_t c = id * columns; c < (id + 1) * columns; ++c) {
          values.push_back(mean(table.weights[c], table.sums[c]));
          any |= values.back() != 0;
        }
        if (!any) values.resize(first);
        rank.push_back(any ? next++ : -1);
      }
    }
    const auto of = [&](std::int32_t id, std::int32_t first) { return rank[static_cast<std::size_t>(first + id)]; };
    const auto same = [](std::int32_t id, std::int32_t) { return id; };
    return {tables_out(freeze_tables(std::span(weights.tables()), of)), tables_out(freeze_tables(std::span(weights.folds()), same)),
            to_numpy(std::move(values))};
  }

  // All that later epochs depend on: the keys of attributes and folds in the order of their numbers, weights beside them.
  using Keys = std::pair<std::vector<std::uint64_t>, std::vector<std::int64_t>>;
  static Keys keys_of(const std::vector<GrowingTable>& tables) {
    Keys out{{}, {0}};
    for (const GrowingTable& table : tables) {
      const std::size_t first = out.first.size();
      out.first.resize(first + static_cast<std::size_t>(table.size()));
      table.for_each([&](std::uint64_t key, std::int32_t id) { out.first[first + static_cast<std::size_t>(id)] = key; });
      out.second.push_back(static_cast<std::int64_t>(out.first.size()));
    }
    return out;
  }
  auto state() const {
    std::vector<float> values, variances;
    std::vector<double> sums;
    for (const LearntTable& table : weights.values()) {
      values.insert(values.end(), table.weights.begin(), table.weights.end());
      sums.insert(sums.end(), table.sums.begin(), table.sums.end());
      variances.insert(variances.end(), table.variances.begin(), table.variances.end());
    }
    auto [keys, starts] = keys_of(weights.tables());
    auto [fold_keys, fold_starts] = keys_of(weights.folds());
    return std::make_tuple(clock, std::make_tuple(to_numpy(std::move(keys)), to_numpy(std::move(starts)), to_numpy(std::move(fold_keys)),
                                                  to_numpy(std::move(fold_starts))),
                           std::make_tuple(to_numpy(std::move(values)), to_numpy(std::move(sums)), to_numpy(std::move(variances))));
  }
  using KeysIn = std::tuple<Array<std::uint64_t, 1>, Array<std::int64_t, 1>, Array<std::uint64_t, 1>, Array<std::int64_t, 1>>;
  void restore(std::int64_t clock_, const KeysIn& keys_in, const TableState& table) {
    const auto& [keys, starts, fold_keys, fold_starts] = keys_in;
    const auto& [values, sums, variances] = table;
    GrowingPlaces fresh(plan->core.places, plan->columns(), steps.rule().has_variances());
    check_starts(starts, keys.size()), check_starts(fold_starts, fold_keys.size());
    require(starts.size() == fresh.tables().size() + 1 && fold_starts.size() == fresh.folds().size() + 1, "weights of another plan");
    for (std::size_t f = 0; f < fresh.folds().size(); ++f)
      for (std::int64_t i = fold_starts(f); i < fold_starts(f + 1); ++i)
        require(fresh.make_fold(static_cast<std::int32_t>(f), fold_keys(i)) == i - fold_starts(f), "a key that stands twice");
    std::size_t at = 0;
    for (std::size_t t = 0; t < fresh.tables().size(); ++t) {
      for (std::int64_t i = starts(t); i < starts(t + 1); ++i)
        require(static_cast<std::int64_t>(fresh.make_attribute(t, keys(i))) == i - starts(t), "a key that stands twice");
      LearntTable& to = fresh.values()[t];
      const std::size_t n = to.weights.size();
      require(at + n <= values.size() && sums.size() == values.size() && variances.size() == (to.variances.empty() && n ? 0 : variances.size()),
              "weights of another plan");
      std::copy_n(values.data() + at, n, to.weights.begin());
      std::copy_n(sums.data() + at, n, to.sums.begin());
      if (!to.variances.empty()) {
        require(variances.size() == values.size(), "weights of another plan");
        std::copy_n(variances.data() + at, n, to.variances.begin());
      }
      at += n;
    }
    require(at == values.size(), "weights of another plan");
    weights = std::move(fresh), clock = clock_, filled = true;
  }
};

// A parser's weights, checked; keeps the arrays they point into.
struct PyTreeModel {
  std::shared_ptr<PyArcPlan> plan;
  bool projective;
  TableArrays tables, folds;
  Array<float, 1> values;
  FrozenPlaces weights;

  PyTreeModel(std::shared_ptr<PyArcPlan> plan_, bool projective, TableArrays tables_, TableArrays folds_, Array<float, 1> values_)
      : plan(std::move(plan_)), projective(projective), tables(std::move(tables_)), folds(std::move(folds_)), values(std::move(values_)) {
    const std::size_t n = plan->core.places.templates.size();
    weights.columns = plan->columns(), weights.values = values.data();
    weights.tables = tables_from(tables, n);
    weights.folds = tables_from(folds, static_cast<std::size_t>(plan->core.places.n_folds));
    check_finite(values, "weights must be finite numbers");
    std::size_t first = 0;
    for (std::size_t t = 0; t < n; ++t) {
      std::int64_t most = -1;
      for (std::uint64_t i = 0; i <= weights.tables[t].mask; ++i) most = std::max<std::int64_t>(most, weights.tables[t].ids[i]);
      weights.first.push_back(first);
      first += static_cast<std::size_t>(most + 1) * weights.columns[t];
    }
    require(first == values.size(), "as many weights as attributes have columns");
    make_read_only(std::tie(tables, folds, values));
  }

  struct Scratch {
    PlacedSentence x;
    ArcScorer<FrozenPlaces> scorer;
    TreeChart chart;
    SpanningTrees spanning;
    std::vector<std::int32_t> heads;
  };
  Scratch scratch() const { return {{}, ArcScorer<FrozenPlaces>(plan->core, weights), {}, {}, {}}; }
  void load(Scratch& work, const PyArcData& data, std::size_t i) const {
    work.x.load(plan->core.places, data.columns, data.starts(i), data.starts(i + 1));
    work.scorer.score(work.x);
  }
  double best_of(Scratch& work) const {
    work.heads.resize(work.scorer.scores.n);
    return projective ? work.chart.best(work.scorer.scores, work.heads.data()) : work.spanning.best(work.scorer.scores, work.heads.data());
  }
  // The best tree; where the filter leaves none, of all arcs.
  double find(Scratch& work, const PyArcData& data, std::size_t i) const {
    load(work, data, i);
    double score = best_of(work);
    if (score == kForbidden<double>) work.scorer.score_all(work.x), score = best_of(work);
    return score;
  }

  // Heads and labels [n_tokens], scores [n_sentences] of best trees.
  std::tuple<Numpy<std::int32_t>, Numpy<std::int32_t>, Numpy<double>> best(const PyArcData& data, std::size_t n_threads) const {
    require(data.plan == plan, "sentences of another plan");
    std::vector<std::int32_t> heads(data.n_tokens()), labels(data.n_tokens());
    std::vector<double> scores(data.size());
    without_gil([&] {
      parallel_blocks(data.size(), 8, n_threads, [&] { return scratch(); }, [&](Scratch& work, std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
          scores[i] = find(work, data, i);
          const std::size_t n = work.heads.size(), first = static_cast<std::size_t>(data.starts(i));
          for (std::size_t m = 1; m <= n; ++m) {
            heads[first + m - 1] = work.heads[m - 1];
            labels[first + m - 1] = work.scorer.labels[static_cast<std::size_t>(work.heads[m - 1]) * (n + 1) + m];
          }
        }
      });
    });
    return {to_numpy(std::move(heads)), to_numpy(std::move(labels)), to_numpy(std::move(scores))};
  }

  void check(const PyArcData& data, std::size_t i) const {
    require(data.plan == plan, "sentences of another plan");
    require(i < data.size(), "no such sentence");
  }

  // The k best trees of a sentence, each with the best labels of its arcs: heads and labels [k, n], scores [k].
  std::tuple<Numpy<std::int32_t>, Numpy<std::int32_t>, Numpy<double>> kbest(const PyArcData& data, std::size_t i, std::size_t k) const {
    check(data, i);
    std::vector<std::int32_t> heads, labels;
    std::vector<double> scores;
    const std::size_t n = static_cast<std::size_t>(data.starts(i + 1) - data.starts(i));
    without_gil([&] {
      Scratch work = scratch();
      find(work, data, i);
      const auto keep = [&](double score, const std::int32_t* found) {
        scores.push_back(score);
        heads.insert(heads.end(), found, found + n);
        for (std::size_t m = 1; m <= n; ++m) labels.push_back(work.scorer.labels[static_cast<std::size_t>(found[m - 1]) * (n + 1) + m]);
      };
      if (projective) {
        TreeForest forest;
        if (forest.build(work.scorer.scores))
          forest.each_best(k, [&](std::size_t, double score, const std::int32_t* found) { keep(score, found); });
      } else {
        const std::size_t found = work.spanning.kbest(work.scorer.scores, k);
        for (std::size_t r = 0; r < found; ++r) keep(work.spanning.score(r), work.spanning.heads(r));
      }
    });
    const std::size_t found = scores.size();
    return {to_numpy(std::move(heads), {found, n}), to_numpy(std::move(labels), {found, n}), to_numpy(std::move(scores))};
  }
};

Numpy<std::int32_t> projective_heads(const Array<std::int32_t, 1>& heads, const Array<std::int64_t, 1>& starts) {
  require(check_sentences(starts) == heads.size(), "one head per word");
  std::vector<std::int32_t> out(heads.data(), heads.data() + heads.size());
  for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
    const std::span<std::int32_t> one(out.data() + starts(i), static_cast<std::size_t>(starts(i + 1) - starts(i)));
    require(is_tree(one), "heads that are no tree");
    make_projective(one);
  }
  return to_numpy(std::move(out));
}

// The first sentence whose heads are no tree with one root, -1 if there is none.
std::int64_t first_broken_tree(const Array<std::int32_t, 1>& heads, const Array<std::int64_t, 1>& starts) {
  require(check_sentences(starts) == heads.size(), "one head per word");
  for (std::size_t i = 0; i + 1 < starts.size(); ++i)
    if (!is_tree({heads.data() + starts(i), static_cast<std::size_t>(starts(i + 1) - starts(i))})) return static_cast<std::int64_t>(i);
  return -1;
}

}  // namespace

void bind_trees(nb::module_& module) {
  nb::class_<PyArcPlan>(module, "ArcPlan", "Templates of arcs, labels and siblings.")
      .def(nb::init<const Array<std::int32_t, 2>&, const Array<std::int32_t, 2>&, const Array<std::int32_t, 2>&, std::int32_t, std::int32_t,
                    const std::tuple<std::size_t, std::size_t, std::size_t, std::size_t>&, std::size_t>(),
           "atoms"_array, "templates"_array, "slots"_array, "n_folds"_a, "reach"_a, "counts"_a, "n_labels"_a);
  nb::class_<PyArcData>(module, "ArcData", "Sentences as parsers take them.")
      .def(nb::init<std::shared_ptr<PyArcPlan>, std::vector<PyArcData::Column>, Array<std::int64_t, 1>>(), "plan"_a, "columns"_array, "starts"_array)
      .def_prop_ro("n_sentences", &PyArcData::size);
  nb::class_<PyTreeOnline>(module, "TreeOnline", "An online learner of dependency trees.")
      .def(nb::init<std::shared_ptr<PyArcPlan>, bool, const std::string&, std::size_t, double>(), "plan"_a, "projective"_a, "rule"_a, "k"_a, "c"_a)
      .def("epoch", &PyTreeOnline::epoch, "data"_a, "heads"_array, "labels"_array, "order"_array, "weights"_array.none(), "batch"_a, "n_threads"_a,
           "One pass over the sentences: (words mistaken, sentences that stepped).")
      .def("weights", &PyTreeOnline::learnt, "average"_a, "(tables, folds, values)")
      .def("state", &PyTreeOnline::state, "(clock, keys, (weights, sums, variances))")
      .def("restore", &PyTreeOnline::restore, "clock"_a, "keys"_array, "table"_array);
  nb::class_<PyTreeModel>(module, "TreeModel", "A parser's runtime.")
      .def(nb::init<std::shared_ptr<PyArcPlan>, bool, TableArrays, TableArrays, Array<float, 1>>(), "plan"_a, "projective"_a, "tables"_array,
           "folds"_array, "values"_array)
      .def("best", &PyTreeModel::best, "data"_a, "n_threads"_a, "Heads, labels and scores of best trees.")
      .def("kbest", &PyTreeModel::kbest, "data"_a, "sentence"_a, "k"_a, "Heads [k, n], labels [k, n] and scores [k].");
  module.def("projective_heads", &projective_heads, "heads"_array, "starts"_array, "Trees made projective by lifting arcs.");
  module.def("first_broken_tree", &first_broken_tree, "heads"_array, "starts"_array);
}

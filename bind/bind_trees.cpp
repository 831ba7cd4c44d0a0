// Dependency trees: training, the parser's runtime, and checks of trees.
#include "engine/elementary.hpp"
#include "engine/spanning_sums.hpp"
#include "features.hpp"
#include "growing.hpp"
#include "learn/tree_sums.hpp"
#include "objective.hpp"
#include "trees.hpp"
#include "weights/folded_arcs.hpp"

using namespace trellis;

namespace {

// Sentences with their trees, validated; keeps its arrays alive.
struct PyTreeExamples {
  std::shared_ptr<PyArcData> data;
  Ints heads, labels;
  bool projective;
  ARGUMENTS(data, heads, labels, projective)
  std::optional<TreeExamples> core;

  void begin() {
    require(heads.size() == data->n_tokens() && labels.size() == data->n_tokens(), "there must be one head and one label per word");
    check_numbers(labels, data->plan->n_labels, "label out of range");
    for (std::size_t i = 0; i < size(); ++i) {
      const auto tree = span(heads).subspan(static_cast<std::size_t>(data->starts(i)), data->length(i));
      require(is_tree(tree), "heads do not form a tree");
      require(!projective || is_projective(tree), "crossing arcs; the parser is projective");
    }
    core.emplace(TreeExamples{data->codes, data->starts, heads.data(), labels.data()});
  }
  std::size_t size() const { return data->size(); }
};

// Tables of keys, tables of folds, and the weights of attributes with a nonzero weight, concatenated by template.
// value_of(t, cell) is the weight of a cell of template t.
struct LearntOut {
  FrozenArrays tables, folds;
  std::vector<float> values;
  FIELDS(tables, folds, values)
};
template <class ValueOf>
NamedArrays learnt_out(const GrowingPlaces& weights, ValueOf value_of) {
  std::vector<float> values;
  std::vector<std::int32_t> rank;
  for (std::size_t t = 0; t < weights.tables.size(); ++t) {
    const std::size_t columns = weights.columns[t], n = static_cast<std::size_t>(weights.tables[t].size());
    std::int32_t next = 0;
    for (std::size_t id = 0; id < n; ++id) {
      const std::size_t first = values.size();
      bool any = false;
      for (std::size_t cell = id * columns; cell < (id + 1) * columns; ++cell) {
        values.push_back(value_of(t, cell));
        any |= values.back() != 0;
      }
      if (!any) values.resize(first);
      rank.push_back(any ? next++ : -1);
    }
  }
  const auto of = [&](std::int32_t id, std::int32_t base) { return rank[static_cast<std::size_t>(base + id)]; };
  return flat(LearntOut{freeze_tables(weights.tables, of), freeze_tables(weights.folds), std::move(values)});
}

// Keys in the order of their numbers; make(key) must assign the same numbers.
template <class Make>
void key_fields(Archive& archive, const std::string& name, const GrowingTable& table, Make make) {
  std::vector<std::uint64_t> keys(static_cast<std::size_t>(table.size()));
  table.for_each([&](std::uint64_t key, std::int32_t id) { keys[static_cast<std::size_t>(id)] = key; });
  archive(name, keys);
  for (std::size_t i = 0; archive.reads && i < keys.size(); ++i)
    require(static_cast<std::size_t>(make(keys[i])) == i, "duplicate key");
}

struct TreeOnline : OnlineSteps<GrowingPlaces> {
  using Examples = PyTreeExamples;
  std::shared_ptr<PyArcPlan> plan;
  bool projective, filled = false;

  TreeOnline(std::shared_ptr<PyArcPlan> plan_, bool projective, const std::string& rule, std::size_t k, double c)
      : OnlineSteps{Steps(rule_from(rule, k, c), false),
                    {plan_->core.places, plan_->columns(), rule_from(rule, k, c).has_variances()}},
        plan(std::move(plan_)), projective(projective) {}
  void check(const Examples& examples) const {
    require(examples.data->plan == plan && examples.projective == projective, "the sentences have another plan");
  }
  EpochResult pass(const Examples& examples, const Pass& pass) {
    const auto make = [&] { return Trees(plan->core, weights, *examples.core, projective); };
    if (!std::exchange(filled, true)) make().fill_filter();
    return pass_over(make, pass);
  }
  NamedArrays learnt(bool average) const {
    return learnt_out(weights, [&, mean = mean(average)](std::size_t t, std::size_t cell) {
      const LearntTable& table = weights.values[t];
      return mean(table.weights[cell], table.sums[cell]);
    });
  }
  void fields(Archive& archive, const Examples*) {
    archive("clock", clock);
    if (archive.reads)
      weights = GrowingPlaces(plan->core.places, plan->columns(), steps.rule().has_variances()), filled = true;
    for (std::size_t f = 0; f < weights.folds.size(); ++f)
      key_fields(archive, "fold" + std::to_string(f), weights.folds[f],
                 [&](std::uint64_t key) { return weights.folds[f].find_or_add(key); });
    for (std::size_t t = 0; t < weights.tables.size(); ++t) {
      key_fields(archive, "keys" + std::to_string(t), weights.tables[t],
                 [&](std::uint64_t key) { return weights.make_attribute(t, key); });
      table_fields(archive, "table" + std::to_string(t), weights.values[t]);
    }
  }
};

// Log losses; the weights of the attributes of gold trees are one vector.
struct PyTreeObjective : PyObjective {
  std::shared_ptr<PyTreeExamples> examples;
  ARGUMENTS(examples)
  std::optional<GrowingPlaces> attributes;

  const ArcPlan& plan() const { return examples->data->plan->core; }
  void begin() {
    attributes.emplace(plan().places, examples->data->plan->columns(), false);
    without_gil([&] {
      add_right_attributes(plan(), *examples->core, *attributes);
      set(tree_objective(plan(), *attributes, *examples->core, examples->projective), examples->size(),
          first_weights(plan(), *attributes).back());
    });
  }
  NamedArrays weights(const Doubles& x) const {
    require(x.size() == n_parameters, "there must be one number per weight");
    const std::vector<std::size_t> first = first_weights(plan(), *attributes);
    return learnt_out(*attributes, [&](std::size_t t, std::size_t cell) {
      const std::size_t at = first[t] + cell;
      return at < x.size() ? static_cast<float>(x(at)) : 1.0f;
    });
  }
};

struct TreeArrays {
  TableArrays tables, folds;
  Floats values;
  FIELDS(tables, folds, values)
};
// A parser's weights, validated; keeps its arrays alive.
struct PyTreeModel {
  std::shared_ptr<PyArcPlan> plan;
  bool projective;
  TreeArrays weights;
  ARGUMENTS(plan, projective, weights)
  FrozenPlaces core;
  std::unique_ptr<FoldedArcs> folded;

  void begin() {
    const auto& [tables, folds, values] = weights;
    const std::size_t n = plan->core.places.templates.size();
    core.columns = plan->columns(), core.values = values.data();
    core.keys.tables = tables_from(tables, n);
    core.keys.folds = tables_from(folds, static_cast<std::size_t>(plan->core.places.n_folds));
    check_finite(values, "weights must be finite numbers");
    std::size_t first = 0;
    for (std::size_t t = 0; t < n; ++t) {
      std::int64_t most = -1;
      const FrozenTable& table = core.keys.tables[t];
      for (std::uint64_t i = 0; i < table.n_slots; ++i) most = std::max<std::int64_t>(most, table.ids[i]);
      core.first.push_back(first);
      first += static_cast<std::size_t>(most + 1) * core.columns[t];
    }
    require(first == values.size(), "there must be one weight per column of an attribute");
    folded = std::make_unique<FoldedArcs>(plan->core, core);
  }

  struct Scratch {
    PlacedSentence x;
    ArcScorer<FoldedArcs> scorer;
    TreeChart chart;
    SpanningTrees spanning;
    std::vector<std::int32_t> heads;
  };
  Scratch scratch(bool sums = false) const {
    return {{}, ArcScorer<FoldedArcs>(folded->arc_plan, *folded, sums), {}, {}, {}};
  }
  void load(Scratch& work, const PyArcData& data, std::size_t i) const {
    work.x.load(plan->core.places, data.codes, data.starts(i), data.starts(i + 1));
    work.scorer.score(work.x);
  }
  double best_of(Scratch& work) const {
    work.heads.resize(work.scorer.scores.n);
    return projective ? work.chart.best(work.scorer.scores, work.heads.data())
                      : work.spanning.best(work.scorer.scores, work.heads.data());
  }
  // The best tree; if the filter leaves none, the best tree over all arcs.
  double find(Scratch& work, const PyArcData& data, std::size_t i) const {
    load(work, data, i);
    double score = best_of(work);
    if (score == kForbidden<double>) work.scorer.score_all(work.x), score = best_of(work);
    return score;
  }

  struct Trees {
    std::vector<std::int32_t> heads, labels;
    std::vector<double> scores;
  };
  // Up to k best trees of each sentence, each with the best labels of its arcs: heads, labels, scores.
  using Found = std::tuple<Out<std::int32_t>, Out<std::int32_t>, Out<double>>;
  Found best(const PyArcData& data, std::size_t k, std::size_t n_threads) const {
    require(data.plan == plan, "the sentences have another plan");
    for (std::size_t i = 0; k > 1 && i < data.size(); ++i) check_forest(data.length(i));
    std::vector<Trees> found(data.size());
    Trees all;
    each_item(data.size(), 8, n_threads, [&] { return scratch(); }, [&](Scratch& work, std::size_t i) {
      const double score = find(work, data, i);
      const auto keep = [&, n = data.length(i)](double of, const std::int32_t* heads) {
        found[i].scores.push_back(of);
        found[i].heads.insert(found[i].heads.end(), heads, heads + n);
        for (std::size_t m = 1; m <= n; ++m)
          found[i].labels.push_back(work.scorer.labels[static_cast<std::size_t>(heads[m - 1]) * (n + 1) + m]);
      };
      if (k == 1) {
        keep(score, work.heads.data());
      } else if (projective) {
        TreeForest forest;
        if (forest.build(work.scorer.scores))
          forest.each_best(k, [&](std::size_t, double of, const std::int32_t* heads) { keep(of, heads); });
      } else {
        const std::size_t n_found = work.spanning.kbest(work.scorer.scores, k);
        for (std::size_t r = 0; r < n_found; ++r) keep(work.spanning.score(r), work.spanning.heads(r));
      }
    });
    const auto join = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
    for (const Trees& one : found) join(all.heads, one.heads), join(all.labels, one.labels), join(all.scores, one.scores);
    return {std::move(all.heads), std::move(all.labels), std::move(all.scores)};
  }

  // Probabilities of all arcs [n + 1, n + 1] of head and word, and of all labels of the given arcs [n, n_labels].
  std::tuple<double, Numpy<double>, Numpy<double>> marginals(const PyArcData& data, const Ints& heads) const {
    const std::size_t n = length_of(data);
    require(heads.size() == n, "there must be one head per word");
    check_numbers(heads, n + 1, "head out of range");
    check_forest(n);
    const std::size_t L = plan->n_labels;
    std::vector<double> arcs((n + 1) * (n + 1)), labels(n * L, 1);
    const double log_z = without_gil([&] {
      Scratch work = scratch(true);
      load(work, data, 0);
      double total = sum(work, arcs.data());
      if (total == kForbidden<double>) work.scorer.score_all(work.x), total = sum(work, arcs.data());
      for (std::size_t m = 1; m <= n && L > 1; ++m) {
        const span<double> shares(labels.data() + (m - 1) * L, L);
        work.scorer.label_scores(work.x, static_cast<std::size_t>(heads(m - 1)), m, shares.data());
        const double most = *std::max_element(shares.begin(), shares.end());
        double all = 0;
        for (double& share : shares) all += share = trellis::exp(share - most);
        for (double& share : shares) share /= all;
      }
      return total;
    });
    return {log_z, to_numpy(std::move(arcs), {n + 1, n + 1}), to_numpy(std::move(labels), {n, L})};
  }
  double sum(Scratch& work, double* arcs) const {
    if (!projective) return SpanningSums().sum(work.scorer.scores, arcs);
    TreeForest forest;
    return forest.build(work.scorer.scores) ? forest.sum(work.scorer.scores, arcs, nullptr) : kForbidden<double>;
  }

  // The terms of an arc's score: templates, places between (-1: none) and weights.
  std::tuple<std::vector<std::int32_t>, std::vector<std::int32_t>, std::vector<double>> explain(
      const PyArcData& data, std::size_t head, std::size_t sibling, std::size_t word, std::size_t label) const {
    const std::size_t n = length_of(data);
    require(head <= n && sibling <= n && word >= 1 && word <= n && head != word && label < plan->n_labels, "arc out of range");
    std::vector<std::int32_t> templates, between;
    std::vector<double> values;
    PlacedSentence x;
    x.load(plan->core.places, data.codes, 0, data.starts(1));
    const Anchor anchor = arc_anchor(head, sibling, word, x.size());
    const ArcScorer<FrozenPlaces> scorer(plan->core, core);
    scorer.each_attribute(x, anchor, 0, plan->core.n_templates(), [&](std::size_t t, std::uint64_t key, std::int32_t at) {
      const float* row = core.row(t, key);
      if (!row) return;
      templates.push_back(static_cast<std::int32_t>(t)), between.push_back(at);
      values.push_back(row[core.columns[t] > 1 ? label : 0]);
    });
    return {std::move(templates), std::move(between), std::move(values)};
  }

  void check_forest(std::size_t n) const {
    require(!projective || n <= PyArcData::kLongestSummed,
            "a sentence of more than 400 words, the limit for probabilities and k best trees of a projective parser");
  }
  std::size_t length_of(const PyArcData& data) const {
    require(data.plan == plan && data.size() == 1, "exactly one sentence of this plan is needed");
    return data.length(0);
  }
};

std::vector<std::int32_t> projective_heads(const Ints& heads, const Longs& starts) {
  require(check_sentences(starts) == heads.size(), "there must be one head per word");
  std::vector<std::int32_t> out(heads.begin(), heads.end());
  for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
    const std::span<std::int32_t> one(out.data() + starts(i), static_cast<std::size_t>(starts(i + 1) - starts(i)));
    require(is_tree(one), "heads do not form a tree");
    make_projective(one);
  }
  return out;
}

}  // namespace

void bind_trees(nb::module_& module) {
  nb::class_<PyArcPlan>(module, "ArcPlan", "Templates of arcs, labels and siblings.").def(by_name());
  nb::class_<PyArcData>(module, "ArcData", "Sentences as parsers take them.")
      .def(by_name())
      .def_prop_ro("n_sentences", &PyArcData::size);
  nb::class_<PyTreeExamples>(module, "TreeExamples", "Sentences with their trees, checked.").def(by_name());
  bind_online<TreeOnline>(module, "TreeOnline", "An online learner of dependency trees.")
      .def(nb::init<std::shared_ptr<PyArcPlan>, bool, const std::string&, std::size_t, double>(), "plan"_a, "projective"_a,
           "rule"_a, "k"_a, "c"_a);
  nb::class_<PyTreeModel>(module, "TreeModel", "A parser's runtime.")
      .def(by_name())
      .def("best", &PyTreeModel::best, "data"_a, "k"_a, "n_threads"_a, "Up to k best trees of each: heads, labels, scores.")
      .def("marginals", &PyTreeModel::marginals, "data"_a, "heads"_a,
           "log Z, P(arc) [n + 1, n + 1], P(label | arc) [n, n_labels].")
      .def("explain", &PyTreeModel::explain, "data"_a, "head"_a, "sibling"_a, "word"_a, "label"_a,
           "Templates, places between and weights of what an arc scores.");
  nb::class_<PyTreeObjective, PyObjective>(module, "TreeObjective", "Log losses of right trees.")
      .def(by_name())
      .def("weights", &PyTreeObjective::weights, "vector"_a, "tables, folds, values");
  module.def("projective_heads", &projective_heads, "heads"_a, "starts"_a, "Trees made projective by lifting arcs.");
  module.def("is_tree", [](const Ints& heads) { return is_tree(heads); }, "heads"_a, "Whether heads are a tree with one root.");
}

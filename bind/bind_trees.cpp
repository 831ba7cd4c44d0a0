// Dependency trees: training, the parser's runtime, and checks of trees.
#include "engine/elementary.hpp"
#include "engine/spanning_sums.hpp"
#include "features.hpp"
#include "growing.hpp"
#include "learn/tree_sums.hpp"
#include "objective.hpp"
#include "trees.hpp"

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

using PackedIn = PackedWeights<In>;
using PackedOut = PackedWeights<HoldVector>;

}  // namespace

RECORD(PackedIn, counts, keys, sizes, columns, weights)
RECORD(PackedOut, counts, keys, sizes, columns, weights)

namespace {

// Weights of a parser: attributes with a nonzero weight, and the keys of folds in order of their numbers.
template <template <class> class Hold>
struct TreeArrays {
  PackedWeights<Hold> attributes;
  struct Folds {
    Hold<std::uint64_t> keys;
    Hold<std::int64_t> starts;  // [n_folds + 1]
    FIELDS(keys, starts)
  } folds;
  FIELDS(attributes, folds)
};

// slots_of(group, attribute, slots) appends the weights of an attribute by ascending columns.
template <class SlotsOf>
NamedArrays learnt_out(const PlacedWeights& weights, SlotsOf slots_of) {
  Packing packing;
  TreeArrays<HoldVector> out;
  std::vector<GrowingRows::Slot> slots;
  for (std::size_t g = 0; g < weights.tables.size(); ++g) {
    packing.begin_group();
    for (const auto& [key, id] : sorted_keys(weights.tables[g])) {
      slots.clear();
      slots_of(g, static_cast<std::size_t>(id), slots);
      packing.add(key, slots);
    }
  }
  out.folds.starts.push_back(0);
  for (const GrowingTable& fold : weights.folds) {
    const std::vector<std::uint64_t> keys = keys_of(fold);
    out.folds.keys.insert(out.folds.keys.end(), keys.begin(), keys.end());
    out.folds.starts.push_back(static_cast<std::int64_t>(out.folds.keys.size()));
  }
  out.attributes = std::move(packing.packed);
  return flat(std::move(out));
}

// Keys in the order of their numbers; make(key) must assign the same numbers.
template <class Make>
void key_fields(Archive& archive, const std::string& name, const GrowingTable& table, Make make) {
  std::vector<std::uint64_t> keys = keys_of(table);
  archive(name, keys);
  for (std::size_t i = 0; archive.reads && i < keys.size(); ++i)
    require(static_cast<std::size_t>(make(keys[i])) == i, "duplicate key");
}

struct TreeOnline : OnlineSteps<PlacedWeights> {
  using Examples = PyTreeExamples;
  std::shared_ptr<PyArcPlan> plan;
  bool projective, filled = false;

  TreeOnline(std::shared_ptr<PyArcPlan> plan_, bool projective, const std::string& rule, std::size_t k, double c)
      : OnlineSteps{Steps(rule_from(rule, k, c), false), empty(plan_->core, rule_from(rule, k, c))}, plan(std::move(plan_)),
        projective(projective) {}
  static PlacedWeights empty(const ArcPlan& plan, const Rule& rule) {
    return {plan.places, plan.n_columns(), rule.has_variances() ? Learns::kVariances : Learns::kWeights};
  }
  void check(const Examples& examples) const {
    require(examples.data->plan == plan && examples.projective == projective, "the sentences have another plan");
  }
  EpochResult pass(const Examples& examples, const Pass& pass) {
    const auto make = [&] { return Trees(plan->core, weights, *examples.core, projective); };
    if (!std::exchange(filled, true)) make().fill_filter();
    return pass_over(make, pass);
  }
  NamedArrays learnt(bool average) const {
    return learnt_out(weights, [&, mean = mean(average)](std::size_t g, std::size_t id, std::vector<GrowingRows::Slot>& slots) {
      // The filter's weights do not change.
      weights.rows[g].each(id, [&](std::size_t, std::uint32_t column, float weight, double sum, float) {
        slots.push_back({column, mean(weight, sum)});
      });
    });
  }
  void fields(Archive& archive, const Examples*) {
    archive("clock", clock);
    if (archive.reads) weights = empty(plan->core, steps.rule()), filled = true;
    for (std::size_t f = 0; f < weights.folds.size(); ++f)
      key_fields(archive, "fold" + std::to_string(f), weights.folds[f],
                 [&](std::uint64_t key) { return weights.folds[f].find_or_add(key); });
    for (std::size_t g = 0; g < weights.tables.size(); ++g) {
      key_fields(archive, "keys" + std::to_string(g), weights.tables[g],
                 [&](std::uint64_t key) { return weights.make_attribute(g, key); });
      row_fields(archive, weights.rows[g], "rows" + std::to_string(g));
    }
  }
};

// Log losses; the weights of the attributes of gold trees are one vector.
struct PyTreeObjective : PyObjective {
  std::shared_ptr<PyTreeExamples> examples;
  ARGUMENTS(examples)
  std::optional<PlacedWeights> attributes;
  std::optional<TreeParameters> parameters;

  const ArcPlan& plan() const { return examples->data->plan->core; }
  void begin() {
    without_gil([&] {
      attributes.emplace(right_attributes(plan(), *examples->core));
      parameters.emplace(plan(), *attributes);
      set(tree_objective(plan(), *attributes, *parameters, *examples->core, examples->projective), examples->size(), parameters->total);
    });
  }
  NamedArrays weights(const Doubles& x) const {
    require(x.size() == n_parameters, "there must be one number per weight");
    return learnt_out(*attributes, [&](std::size_t g, std::size_t id, std::vector<GrowingRows::Slot>& slots) {
      for (const ArcTemplate& of : plan().groups[g].templates)
        for (std::uint32_t value = 0; value < n_values(of.measure); ++value) {
          const std::size_t n = plan().width(of.labelled);
          const auto column = static_cast<std::uint32_t>(of.first + value * n);
          const std::int64_t slot = attributes->rows[g].slot_of(static_cast<std::int32_t>(id), column);
          if (slot < 0) continue;
          const std::size_t first = parameters->first[g][static_cast<std::size_t>(slot)];
          for (std::uint32_t z = 0; z < n; ++z)
            slots.push_back({column + z, g == plan().filter() ? 1.0f : static_cast<float>(x(first + z))});
        }
    });
  }
};

// The same weights without the given share of them, the smallest ones; the filter stays.
NamedArrays pruned(const PyArcPlan& plan, const TreeArrays<In>& weights, double share) {
  require(share >= 0 && share < 1, "a share from 0 to below 1");
  const std::vector<std::uint32_t> n_columns = plan.core.n_columns();
  std::vector<float> sizes;
  std::size_t group = 0;
  unpack(weights.attributes, n_columns, [&](std::size_t g) { group = g; }, [&](std::uint64_t, std::span<const GrowingRows::Slot> slots) {
    for (const auto& [column, weight] : slots)
      if (group < plan.core.filter()) sizes.push_back(std::abs(weight));
  });
  float least = 0;
  if (const auto n = static_cast<std::size_t>(share * static_cast<double>(sizes.size())); n < sizes.size()) {
    std::nth_element(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(n), sizes.end());
    least = sizes[n];
  }
  Packing packing;
  std::vector<GrowingRows::Slot> kept;
  unpack(weights.attributes, n_columns, [&](std::size_t g) { group = g, packing.begin_group(); },
         [&](std::uint64_t key, std::span<const GrowingRows::Slot> slots) {
           kept.clear();
           for (const GrowingRows::Slot& slot : slots)
             if (group >= plan.core.filter() || std::abs(slot.weight) >= least) kept.push_back(slot);
           packing.add(key, kept);
         });
  return flat(std::move(packing.packed), "attributes");
}

// A parser's weights, validated.
struct PyTreeModel {
  std::shared_ptr<PyArcPlan> plan;
  bool projective;
  TreeArrays<In> weights;
  ARGUMENTS(plan, projective, weights)
  std::optional<PlacedWeights> core;

  void begin() {
    const auto& packed = weights.attributes;  // names, as clang 14 captures no structured bindings
    const auto& folds = weights.folds;
    const std::vector<std::uint32_t> n_columns = plan->core.n_columns();
    core.emplace(plan->core.places, n_columns, Learns::kNothing);
    check_finite(packed.weights, "weights must be finite numbers");
    require(folds.starts.size() == core->folds.size() + 1, "folds of another plan");
    check_starts(folds.starts, folds.keys.size());
    for (std::size_t f = 0; f < core->folds.size(); ++f)
      for (std::int64_t i = folds.starts(f); i < folds.starts(f + 1); ++i)
        require(core->folds[f].find_or_add(folds.keys(static_cast<std::size_t>(i))) == i - folds.starts(f), "duplicate key");
    std::size_t group = 0;
    without_gil([&] {
      unpack(packed, n_columns,
             [&](std::size_t g) {
               group = g;
               core->tables[g].reserve(6 * static_cast<std::size_t>(packed.counts(g)) / 5);  // twice as many slots as keys
             },
             [&](std::uint64_t key, std::span<const GrowingRows::Slot> slots) {
               core->tables[group].find_or_add(key);
               core->rows[group].add_attribute(slots);
             });
    });
    for (GrowingRows& rows : core->rows) rows.shrink();
  }

  struct Scratch {
    PlacedSentence x;
    ArcScorer<PlacedWeights> scorer;
    TreeChart chart;
    SpanningTrees spanning;
    std::vector<std::int32_t> heads;
  };
  Scratch scratch(bool sums = false) const {
    return {{}, ArcScorer<PlacedWeights>(plan->core, *core, sums), {}, {}, {}};
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
      for (double& one : arcs) one = std::min(one, 1.0);  // rounding
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
    const ArcScorer<PlacedWeights> scorer(plan->core, *core);
    for (std::size_t t = 0; t < plan->core.templates.size() - plan->core.has_filter; ++t) {
      const ArcTemplate& of = plan->core.templates[t];
      const auto column = static_cast<std::uint32_t>(plan->core.column(of, distance_of(head, word)) + (of.labelled ? label : 0));
      scorer.each_attribute(x, anchor, of.group, [&](std::uint64_t key, std::int32_t at) {
        const std::int32_t id = core->find(of.group, key);
        const float weight = id < 0 ? 0 : core->value(of.group, id, column);
        if (weight == 0) return;
        templates.push_back(static_cast<std::int32_t>(t)), between.push_back(at), values.push_back(weight);
      });
    }
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
  nb::class_<PyArcPlan>(module, "ArcPlan", "Templates of arcs, labels and siblings.")
      .def(by_name())
      .def("pruned", &pruned, "weights"_a, "share"_a, "Weights without a share of them, the smallest; the filter stays.");
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
      .def("weights", &PyTreeObjective::weights, "vector"_a, "The weights as a parser has them.");
  module.def("unpacked", [](const Bytes& bytes) {
    std::vector<std::uint64_t> numbers;
    for (Unpacked from{std::span<const std::uint8_t>(bytes)}; !from.ended();) numbers.push_back(from.next());
    return numbers;
  }, "bytes"_a, "Whole numbers that were packed into bytes.");
  module.def("projective_heads", &projective_heads, "heads"_a, "starts"_a, "Trees made projective by lifting arcs.");
  module.def("is_tree", [](const Ints& heads) { return is_tree(heads); }, "heads"_a, "Whether heads are a tree with one root.");
}

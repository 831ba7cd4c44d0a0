// Learning over hypergraphs: examples with features on edges, online learners, Frank-Wolfe, losses and gradients.
#include "growing.hpp"
#include "hypergraphs.hpp"
#include "learn/derivation_sums.hpp"
#include "learn/mixture_steps.hpp"
#include "objective.hpp"
#include "rule.hpp"

using namespace nb::literals;
using namespace trellis;

namespace {

using ExampleWeights = std::optional<Array<double, 1>>;
using LogIn = std::tuple<Array<std::int64_t, 1>, Array<std::int64_t, 1>, Array<std::uint32_t, 1>, Array<float, 1>>;
// Where the parts of each mixture begin, their sites and amounts; what each mixture costs.
using MixturesIn = std::tuple<Array<std::int64_t, 1>, Array<std::uint32_t, 1>, Array<double, 1>, Array<double, 1>>;

// Examples, checked; keeps the arrays they point into.
struct PyDerivationExamples {
  std::shared_ptr<PyHypergraphs> graphs;
  ListArrays features;
  std::size_t n_features;
  Array<std::int64_t, 1> right_starts, right;
  std::optional<Array<float, 1>> costs;
  DerivationExamples core;

  PyDerivationExamples(std::shared_ptr<PyHypergraphs> graphs_, ListArrays features_, std::size_t n_features,
                       Array<std::int64_t, 1> right_starts_, Array<std::int64_t, 1> right_,
                       std::optional<Array<float, 1>> costs_)
      : graphs(std::move(graphs_)), features(std::move(features_)), n_features(n_features),
        right_starts(std::move(right_starts_)), right(std::move(right_)), costs(std::move(costs_)),
        core{graphs->graphs, lists_from(features, n_features, graphs->graphs.n_edges()), right_starts.data(), right.data(),
             costs ? costs->data() : nullptr} {
    const Hypergraphs& all = graphs->graphs;
    require(all.is_sorted(), "edges must be in the order of their heads");
    require(right_starts.size() == all.size() + 1, "one right derivation per hypergraph");
    check_starts(right_starts, right.size());
    for (std::size_t g = 0; g < all.size(); ++g)
      for (std::int64_t e : core.right_of(g))
        require(e >= 0 && static_cast<std::size_t>(e) < all[g].n_edges, "a right derivation has an edge that there is not");
    require(!costs || costs->size() == all.n_edges(), "one cost per edge");
    if (costs) check_finite(*costs, "costs must be finite numbers");
    make_read_only(std::tie(features, right_starts, right, costs));
  }
  std::size_t size() const { return graphs->graphs.size(); }

  // score[e] of all edges by weights [n_features]
  Numpy<double> scores(const Array<float, 1>& weights) const {
    require(weights.size() == n_features, "one weight per feature");
    std::vector<double> out(graphs->graphs.n_edges());
    for (std::size_t e = 0; e < out.size(); ++e)
      core.features.each(e, [&](std::int32_t f, float value) { out[e] += static_cast<double>(value) * weights(static_cast<std::size_t>(f)); });
    return to_numpy(std::move(out));
  }
};

// Weights [n_features] as they are, or their mean over all moments so far.
Numpy<float> values_of(const LearntTable& table, double moments, bool average) {
  std::vector<float> out(table.weights);
  if (average && moments > 0)
    for (std::size_t f = 0; f < out.size(); ++f)
      out[f] = static_cast<float>((moments * static_cast<double>(table.weights[f]) - table.sums[f]) / moments);
  return to_numpy(std::move(out));
}

// An online learner over any structure: by whole epochs over hypergraphs, or by single steps away from outputs that were
// found elsewhere.
struct PyFeatureOnline {
  FeatureWeights weights;
  Steps steps;
  std::int64_t clock = 0;

  PyFeatureOnline(std::size_t n_features, const std::string& rule, std::size_t k, double c, bool log)
      : weights(n_features, rule_from(rule, k, c).has_variances()), steps(rule_from(rule, k, c), log) {}

  void resize(std::size_t n_features) {
    require(n_features >= weights.table.weights.size() && n_features < 0xffffffff, "weights do not become fewer");
    weights.table.resize(n_features);
  }

  std::pair<std::int64_t, std::int64_t> epoch(const PyDerivationExamples& examples, const Array<std::int64_t, 1>& order,
                                              const ExampleWeights& scales, std::size_t batch, std::size_t n_threads) {
    require(examples.n_features == weights.table.weights.size(), "examples of other features");
    require(batch >= 1, "batch must be positive");
    check_order(order, examples.size());
    check_weights(scales, examples.size());
    const double* scale = scales ? scales->data() : nullptr;
    const EpochResult result = interruptible([&](const auto& go_on) {
      const auto make = [&] { return Derivations(weights, examples.core); };
      return online_pass(make, weights, steps, clock, order.data(), order.size(), scale, batch, n_threads, go_on);
    });
    return {result.mistakes, result.updates};
  }

  // A step away from outputs, each given by its cost and by Phi(right) - Phi(output) as feature numbers and amounts.
  bool take(const std::vector<std::tuple<double, Array<std::int32_t, 1>, Array<double, 1>>>& outputs, double scale) {
    steps.clear();
    for (const auto& [cost, ids, amounts] : outputs) {
      require(ids.size() == amounts.size(), "one amount per feature");
      require(std::isfinite(cost) && cost >= 0, "a cost must be a finite number from 0 on");
      check_numbers(ids, weights.table.weights.size(), "no such feature");
      check_finite(amounts, "amounts must be finite numbers");
      Changes& changes = steps.add(cost);
      for (std::size_t i = 0; i < ids.size(); ++i) changes.push_back({static_cast<std::uint32_t>(ids(i)), 0, amounts(i)});
    }
    return steps.take(weights, scale, clock++);
  }

  double score(const Array<std::int32_t, 1>& ids, const Array<double, 1>& amounts) const {
    require(ids.size() == amounts.size(), "one amount per feature");
    check_numbers(ids, weights.table.weights.size(), "no such feature");
    double total = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) total += amounts(i) * weights.table.weights[static_cast<std::size_t>(ids(i))];
    return total;
  }

  // Updates in turn: (examples seen before each, starts, features, changes).
  auto log() const {
    const UpdateLog& all = steps.log;
    return std::make_tuple(to_numpy(all.clocks), to_numpy(all.starts), to_numpy(all.rows), to_numpy(all.changes));
  }

  // All that later epochs depend on, and back; the updates are as log() gives them.
  auto state() const { return std::make_tuple(clock, table_state(weights.table), log()); }
  void restore(std::int64_t clock_, const TableState& table, const LogIn& given) {
    const auto& [clocks, starts, features, changes] = given;
    check_starts(starts, features.size());
    require(clocks.size() + 1 == starts.size() && changes.size() == features.size(), "updates that do not fit together");
    for (std::size_t i = 0; i < features.size(); ++i) require(features(i) < weights.table.weights.size(), "no such feature");
    restore_table(weights.table, table);
    clock = clock_;
    UpdateLog& to = steps.log;
    to.clocks.assign(clocks.data(), clocks.data() + clocks.size());
    to.starts.assign(starts.data(), starts.data() + starts.size());
    to.rows.assign(features.data(), features.data() + features.size());
    to.places.assign(features.size(), 0);
    to.changes.assign(changes.data(), changes.data() + changes.size());
  }
};

struct PyFeatureFrankWolfe {
  FeatureWeights weights;
  MixtureSteps<Derivations::Part> steps;

  PyFeatureFrankWolfe(std::size_t n_features, std::size_t n_examples, double c, bool zero_one)
      : weights(n_features, false), steps(n_examples, c, zero_one) {}

  const double* checked(const PyDerivationExamples& examples, const ExampleWeights& scales) const {
    require(examples.n_features == weights.table.weights.size() && examples.size() == steps.mixtures.size(), "other examples");
    check_weights(scales, examples.size());
    return scales ? scales->data() : nullptr;
  }
  std::tuple<std::int64_t, std::int64_t, double> epoch(const PyDerivationExamples& examples, const Array<std::int64_t, 1>& order,
                                                       const ExampleWeights& scales) {
    const double* scale = checked(examples, scales);
    check_order(order, examples.size());
    const MixtureResult result = interruptible([&](const auto& go_on) {
      Derivations derivations(weights, examples.core);
      return steps.pass(derivations, weights, order.data(), order.size(), scale, go_on);
    });
    return {result.mistakes, result.updates, result.gap};
  }
  void renew(const PyDerivationExamples& examples, const ExampleWeights& scales) {
    const double* scale = checked(examples, scales);
    const WithoutGil released;
    Derivations derivations(weights, examples.core);
    steps.renew(derivations, weights, scale);
  }

  // All that later epochs depend on, and back.
  auto state() const {
    std::vector<std::int64_t> starts{0};
    std::vector<std::uint32_t> sites;
    std::vector<double> amounts, costs;
    for (const auto& mixture : steps.mixtures) {
      for (const auto& [part, amount] : mixture.parts) sites.push_back(part.site), amounts.push_back(amount);
      starts.push_back(static_cast<std::int64_t>(sites.size()));
      costs.push_back(mixture.cost);
    }
    return std::make_tuple(steps.clock, steps.dual, table_state(weights.table),
                           std::make_tuple(to_numpy(std::move(starts)), to_numpy(std::move(sites)), to_numpy(std::move(amounts)),
                                           to_numpy(std::move(costs))));
  }
  void restore(const PyDerivationExamples& examples, std::int64_t clock, double dual, const TableState& table, const MixturesIn& given) {
    const auto& [starts, sites, amounts, costs] = given;
    checked(examples, std::nullopt);
    const std::size_t n = examples.size();
    check_starts(starts, sites.size());
    require(starts.size() == n + 1 && costs.size() == n && amounts.size() == sites.size(), "mixtures of other examples");
    std::vector<Mixture<Derivations::Part>> mixtures(n);
    for (std::size_t g = 0; g < n; ++g) {
      mixtures[g].cost = costs(g);
      for (std::int64_t i = starts(g); i < starts(g + 1); ++i) {
        require(sites(i) < examples.graphs->graphs[g].n_edges && (i == starts(g) || sites(i) > sites(i - 1)), "edges must rise");
        mixtures[g].parts.push_back({{sites(i)}, amounts(i)});
      }
    }
    restore_table(weights.table, table);
    steps.mixtures = std::move(mixtures);
    steps.clock = clock, steps.dual = dual;
  }
};

// H(w) of all examples.
Numpy<double> hinge_losses(const PyDerivationExamples& examples, const Array<float, 1>& given, bool zero_one, std::size_t n_threads) {
  require(given.size() == examples.n_features, "one weight per feature");
  std::vector<double> out(examples.size());
  without_gil([&] {
    FeatureWeights weights(given.size(), false);
    std::copy_n(given.data(), given.size(), weights.table.weights.begin());
    parallel_blocks(out.size(), 8, n_threads, [&] { return Derivations(weights, examples.core); },
                    [&](Derivations& derivations, std::size_t begin, std::size_t end) {
      for (std::size_t g = begin; g < end; ++g) {
        derivations.load(g);
        out[g] = most_violated(derivations, zero_one).loss;
      }
    });
  });
  return to_numpy(std::move(out));
}

struct PyDerivationObjective : PyObjective {
  explicit PyDerivationObjective(const PyDerivationExamples& examples) {
    n_sentences = examples.size(), n_parameters = examples.n_features;
    core = std::make_unique<DerivationObjective>(examples.core, examples.n_features);
  }
};

}  // namespace

void bind_derivations(nb::module_& module) {
  nb::class_<PyDerivationExamples>(module, "DerivationExamples", "Hypergraphs with features on edges and right derivations.")
      .def(nb::init<std::shared_ptr<PyHypergraphs>, ListArrays, std::size_t, Array<std::int64_t, 1>, Array<std::int64_t, 1>,
                    std::optional<Array<float, 1>>>(),
           "graphs"_a, "features"_array, "n_features"_a, "right_starts"_array, "right"_array, "costs"_array.none())
      .def("scores", &PyDerivationExamples::scores, "weights"_array, "What every edge scores.");
  nb::class_<PyFeatureOnline>(module, "FeatureOnline", "An online learner over any structure, one weight per feature.")
      .def(nb::init<std::size_t, const std::string&, std::size_t, double, bool>(), "n_features"_a, "rule"_a, "k"_a, "c"_a, "log"_a)
      .def_ro("clock", &PyFeatureOnline::clock)
      .def("resize", guarded(&PyFeatureOnline::resize), "n_features"_a)
      .def("epoch", guarded(&PyFeatureOnline::epoch), "examples"_a, "order"_array, "weights"_array.none(), "batch"_a, "n_threads"_a,
           "One pass over the examples: (edges mistaken, examples that stepped).")
      .def("take", guarded(&PyFeatureOnline::take), "outputs"_array, "scale"_a, "One step away from outputs; whether there was one to make.")
      .def("score", guarded(&PyFeatureOnline::score), "ids"_array, "amounts"_array, "The weights of now times a vector.")
      .def("values", guarded(+[](const PyFeatureOnline& self, bool average) {
        return values_of(self.weights.table, static_cast<double>(self.clock), average);
      }), "average"_a)
      .def("log", guarded(&PyFeatureOnline::log), "Updates in turn: (examples seen before each, starts, features, changes).")
      .def("state", guarded(&PyFeatureOnline::state), "(clock, (weights, sums, variances), log)")
      .def("restore", guarded(&PyFeatureOnline::restore), "clock"_a, "table"_array, "log"_array);
  nb::class_<PyFeatureFrankWolfe>(module, "FeatureFrankWolfe", "Margins of whole outputs by Frank-Wolfe, one weight per feature.")
      .def(nb::init<std::size_t, std::size_t, double, bool>(), "n_features"_a, "n_examples"_a, "c"_a, "zero_one"_a)
      .def_prop_ro("dual", [](const PyFeatureFrankWolfe& self) { return self.steps.dual; })
      .def("epoch", guarded(&PyFeatureFrankWolfe::epoch), "examples"_a, "order"_array, "weights"_array.none())
      .def("renew", guarded(&PyFeatureFrankWolfe::renew), "examples"_a, "weights"_array.none())
      .def("values", guarded(+[](const PyFeatureFrankWolfe& self, bool average) {
        return values_of(self.weights.table, self.steps.moments(), average);
      }), "average"_a)
      .def("state", guarded(&PyFeatureFrankWolfe::state), "(clock, dual, (weights, sums, variances), (starts, edges, amounts, costs) of mixtures)")
      .def("restore", guarded(&PyFeatureFrankWolfe::restore), "examples"_a, "clock"_a, "dual"_a, "table"_array, "mixtures"_array);
  module.def("hinge_losses", &hinge_losses, "examples"_a, "weights"_array, "zero_one"_a, "n_threads"_a);
  nb::class_<PyDerivationObjective, PyObjective>(module, "DerivationObjective", "Log losses of right derivations.")
      .def(nb::init<const PyDerivationExamples&>(), nb::keep_alive<1, 2>(), "examples"_a);
}

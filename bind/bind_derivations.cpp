// Learning over hypergraphs: examples with features on edges, online learners, Frank-Wolfe, losses and gradients.
#include "growing.hpp"
#include "hypergraphs.hpp"
#include "learn/derivations.hpp"
#include "learn/mixture_steps.hpp"
#include "objective.hpp"
#include "rule.hpp"

using namespace nb::literals;
using namespace trellis;

namespace {

// Examples, checked; keeps the arrays they point into.
struct PyDerivationExamples {
  std::shared_ptr<PyHypergraphs> graphs;
  ListArrays features;
  std::size_t n_features;
  Longs right_starts, right;
  std::optional<Floats> costs;
  DerivationExamples core;

  PyDerivationExamples(std::shared_ptr<PyHypergraphs> graphs_, ListArrays features_, std::size_t n_features,
                       Longs right_starts_, Longs right_,
                       std::optional<Floats> costs_)
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
  Numpy<double> scores(const Floats& weights) const {
    require(weights.size() == n_features, "one weight per feature");
    std::vector<double> out(graphs->graphs.n_edges());
    for (std::size_t e = 0; e < out.size(); ++e)
      core.features.each(e, [&](std::int32_t f, float value) { out[e] += static_cast<double>(value) * weights(static_cast<std::size_t>(f)); });
    return to_numpy(std::move(out));
  }
};

// An online learner over any structure: by whole epochs over hypergraphs, or by single steps away from outputs that were
// found elsewhere.
struct FeatureOnline {
  using Examples = PyDerivationExamples;
  FeatureWeights weights;
  Steps steps;
  std::int64_t clock = 0;

  FeatureOnline(std::size_t n_features, const std::string& rule, std::size_t k, double c, bool log)
      : weights(n_features, rule_from(rule, k, c).has_variances()), steps(rule_from(rule, k, c), log) {}
  std::size_t n_features() const { return weights.table.weights.size(); }
  void check(const Examples& examples) const { require(examples.n_features == n_features(), "examples of other features"); }
  EpochResult pass(const Examples& examples, const Pass& pass) {
    return pass_over([&] { return Derivations(weights, examples.core); }, weights, steps, clock, pass);
  }
  Numpy<float> learnt(bool average) const { return to_numpy(means(weights.table, {average, static_cast<double>(clock)})); }
  template <class Archive>
  void fields(Archive& archive, const Examples*) {
    archive("clock", clock);
    table_fields(archive, "table", weights.table);
    log_fields(archive, steps.log, [&](std::uint32_t row, std::uint32_t place) { return row < n_features() && place == 0; });
  }

  void resize(std::size_t n) {
    require(n >= n_features() && n < 0xffffffff, "weights do not become fewer");
    weights.table.resize(n);
  }
  void check_vector(const Ints& ids, const Doubles& amounts) const {
    require(ids.size() == amounts.size(), "one amount per feature");
    check_numbers(ids, n_features(), "no such feature");
    check_finite(amounts, "amounts must be finite numbers");
  }
  // A step away from outputs, each given by its cost and by Phi(right) - Phi(output) as feature numbers and amounts.
  bool take(const std::vector<std::tuple<double, Ints, Doubles>>& outputs, double scale) {
    steps.clear();
    for (const auto& [cost, ids, amounts] : outputs) {
      check_vector(ids, amounts);
      require(std::isfinite(cost) && cost >= 0, "a cost must be a finite number from 0 on");
      Changes& changes = steps.add(cost);
      for (std::size_t i = 0; i < ids.size(); ++i) changes.push_back({static_cast<std::uint32_t>(ids(i)), 0, amounts(i)});
    }
    return steps.take(weights, scale, clock++);
  }
  double score(const Ints& ids, const Doubles& amounts) const {
    check_vector(ids, amounts);
    double total = 0;
    for (std::size_t i = 0; i < ids.size(); ++i) total += amounts(i) * weights.table.weights[static_cast<std::size_t>(ids(i))];
    return total;
  }
};

struct FeatureFrankWolfe {
  using Examples = PyDerivationExamples;
  using Part = Derivations::Part;
  FeatureWeights weights;
  MixtureSteps<Part> steps;

  FeatureFrankWolfe(std::size_t n_features, std::size_t n_examples, double c, bool zero_one)
      : weights(n_features, false), steps(n_examples, c, zero_one) {}
  void check(const Examples& examples) const {
    require(examples.n_features == weights.table.weights.size() && examples.size() == steps.mixtures.size(), "other examples");
  }
  MixtureResult pass(const Examples& examples, const Pass& pass) {
    Derivations derivations(weights, examples.core);
    return steps.pass(derivations, weights, pass.order.data(), pass.order.size(), pass.scales, pass.go_on);
  }
  void renew(const Examples& examples, const double* scales) {
    Derivations derivations(weights, examples.core);
    steps.renew(derivations, weights, scales);
  }
  Numpy<float> learnt(bool average) const { return to_numpy(means(weights.table, {average, steps.moments()})); }
  template <class Archive>
  void fields(Archive& archive, const Examples* examples) {
    table_fields(archive, "table", weights.table);
    mixture_fields(archive, steps, [](const Part& part) { return std::array{part.site}; },
                   [&](std::size_t g, const std::uint32_t* numbers) {
      require(numbers[0] < examples->graphs->graphs[g].n_edges, "a mixture with an edge that there is not");
      return Part{numbers[0]};
    });
  }
};

// H(w) of all examples.
Numpy<double> hinge_losses(const PyDerivationExamples& examples, const Floats& given, bool zero_one, std::size_t n_threads) {
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
    core = derivation_objective(examples.core, examples.n_features);
  }
};

}  // namespace

void bind_derivations(nb::module_& module) {
  nb::class_<PyDerivationExamples>(module, "DerivationExamples", "Hypergraphs with features on edges and right derivations.")
      .def(nb::init<std::shared_ptr<PyHypergraphs>, ListArrays, std::size_t, Longs, Longs, std::optional<Floats>>(),
           "graphs"_a, "features"_array, "n_features"_a, "right_starts"_array, "right"_array, "costs"_array.none())
      .def("scores", &PyDerivationExamples::scores, "weights"_array, "What every edge scores.");
  using Online = PyLearner<FeatureOnline>;
  bind_online<FeatureOnline>(module, "FeatureOnline", "An online learner over any structure, one weight per feature.")
      .def(nb::init<std::size_t, const std::string&, std::size_t, double, bool>(), "n_features"_a, "rule"_a, "k"_a, "c"_a, "log"_a)
      .def("resize", guarded<Online>(&FeatureOnline::resize), "n_features"_a)
      .def("take", guarded<Online>(&FeatureOnline::take), "outputs"_array, "scale"_a, "One step away from outputs; whether there was one to make.")
      .def("score", guarded<Online>(&FeatureOnline::score), "ids"_array, "amounts"_array, "The weights of now times a vector.");
  bind_frank_wolfe<FeatureFrankWolfe>(module, "FeatureFrankWolfe", "Margins of whole outputs by Frank-Wolfe, one weight per feature.")
      .def(nb::init<std::size_t, std::size_t, double, bool>(), "n_features"_a, "n_examples"_a, "c"_a, "zero_one"_a);
  module.def("hinge_losses", &hinge_losses, "examples"_a, "weights"_array, "zero_one"_a, "n_threads"_a);
  nb::class_<PyDerivationObjective, PyObjective>(module, "DerivationObjective", "Log losses of right derivations.")
      .def(nb::init<const PyDerivationExamples&>(), nb::keep_alive<1, 2>(), "examples"_a);
}

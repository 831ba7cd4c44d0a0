// Hypergraphs: best derivations, k best, sums, marginals and counts, in parallel batches; and learning over
// them, with features on edges.
#include "engine/hypergraph.hpp"
#include "engine/hypergraph_passes.hpp"
#include "growing.hpp"
#include "learn/derivations.hpp"
#include "objective.hpp"

using namespace trellis;

namespace {

struct PyHypergraphs {
  Longs node_counts, edge_starts;
  Ints heads;
  Longs tail_starts;
  Ints tails, goals;
  ARGUMENTS(node_counts, edge_starts, heads, tail_starts, tails, goals)
  std::optional<Hypergraphs> core;

  void begin() {
    require(edge_starts.size() == node_counts.size() + 1 && goals.size() == node_counts.size(), "arrays of different lengths");
    require(tail_starts.size() == heads.size() + 1, "there must be one list of tails per edge");
    check_starts(edge_starts, heads.size());
    check_starts(tail_starts, tails.size());
    std::int64_t n_nodes = 0;
    for (std::int64_t n : node_counts) {
      require(n > 0 && n <= std::numeric_limits<std::int32_t>::max(), "a hypergraph must have from 1 to 2^31 - 1 nodes");
      require(!__builtin_add_overflow(n_nodes, n, &n_nodes), "too many nodes");
    }
    const HypergraphArrays arrays{node_counts, edge_starts, heads, tail_starts, tails, goals};
    require(are_hypergraphs(arrays), "edges of a hypergraph must be sorted by head, with tails before heads");
    without_gil([&] { core.emplace(arrays); });
  }
  // Calls work(g, view, scores, workspace) for all hypergraphs without the GIL.
  template <class Work>
  void each(const Doubles& scores, std::size_t n_threads, Work work) const {
    require(scores.size() == core->n_edges(), "there must be one score per edge");
    require(are_scores(scores.data(), 1, scores.size(), 0), "scores must be numbers below infinity");
    each_item(core->size(), 1, n_threads, [] { return HypergraphWorkspace(); }, [&](auto& workspace, std::size_t g) {
      work(g, (*core)[g], scores.data() + core->first_edge(g), workspace);
    });
  }

  // Up to k derivations of each, best first: those of hypergraph g are starts[g] .. starts[g + 1]; their scores; the offsets of
  // their edges; edges, numbered within their hypergraph.
  std::tuple<Out<std::int64_t>, Out<double>, Out<std::int64_t>, Out<std::int64_t>> best(const Doubles& scores, std::size_t k,
                                                                                        std::size_t n_threads) const {
    std::vector<std::vector<std::pair<double, std::vector<std::int64_t>>>> found(core->size());
    each(scores, n_threads, [&](std::size_t g, const auto& graph, const double* edge_scores, auto& work) {
      if (k == 1) {
        auto& [score, edges] = found[g].emplace_back();
        if ((score = best_derivation(graph, edge_scores, work, edges)) == kForbidden<double>) found[g].clear();
        return;
      }
      KBestDerivations derivations(graph, edge_scores, work);
      for (std::size_t rank = 0; rank < k && derivations.find(rank + 1); ++rank) {
        auto& [score, edges] = found[g].emplace_back();
        score = derivations.score(rank), derivations.edges(rank, edges);
      }
    });
    std::vector<std::int64_t> starts{0}, edge_starts{0}, all_edges;
    std::vector<double> all_scores;
    for (const auto& derivations : found) {
      for (const auto& [score, edges] : derivations) {
        all_scores.push_back(score), all_edges.insert(all_edges.end(), edges.begin(), edges.end());
        edge_starts.push_back(static_cast<std::int64_t>(all_edges.size()));
      }
      starts.push_back(static_cast<std::int64_t>(all_scores.size()));
    }
    return {std::move(starts), std::move(all_scores), std::move(edge_starts), std::move(all_edges)};
  }

  // log Z [n], log inside sums of all nodes, and, if wanted, expected counts of edges and nodes, 0 if all derivations are
  // forbidden.
  std::tuple<Out<double>, Out<double>, Out<double>, Out<double>> sums(const Doubles& scores, bool marginals,
                                                                      std::size_t n_threads) const {
    std::vector<double> log_z(core->size()), inside(core->n_nodes()), edges(marginals ? core->n_edges() : 0), nodes(inside);
    each(scores, n_threads, [&](std::size_t g, const auto& graph, const double* edge_scores, auto& work) {
      log_z[g] = sum_derivations(graph, edge_scores, work);
      std::copy_n(work.in.data(), graph.n_nodes, inside.data() + core->first_node(g));
      if (marginals && log_z[g] != kForbidden<double>)
        derivation_marginals(graph, work, edges.data() + core->first_edge(g), nodes.data() + core->first_node(g));
    });
    return {std::move(log_z), std::move(inside), std::move(edges), std::move(nodes)};
  }

  std::vector<double> counts(const Doubles& scores, std::size_t n_threads) const {
    std::vector<double> out(core->size());
    each(scores, n_threads, [&](std::size_t g, const auto& graph, const double* edge_scores, auto& work) {
      out[g] = count_derivations(graph, edge_scores, work);
    });
    return out;
  }
};

// ------------------------------------------------------------ learning

// Examples, validated; keeps their arrays alive.
struct PyDerivationExamples {
  std::shared_ptr<PyHypergraphs> graphs;
  ListArrays features;
  std::size_t n_features;
  Longs right_starts, right;
  std::optional<Floats> costs;
  ARGUMENTS(graphs, features, n_features, right_starts, right, costs)
  std::optional<DerivationExamples> core;

  void begin() {
    const Hypergraphs& all = *graphs->core;
    core.emplace(DerivationExamples{all, lists_from(features, n_features, all.n_edges()), right_starts.data(), right.data(),
                                    data_of(costs)});
    require(right_starts.size() == all.size() + 1, "there must be one gold derivation per hypergraph");
    check_starts(right_starts, right.size());
    for (std::size_t g = 0; g < all.size(); ++g)
      for (std::int64_t e : core->right_of(g))
        require(e >= 0 && static_cast<std::size_t>(e) < all[g].n_edges, "edge of a gold derivation out of range");
    require(!costs || costs->size() == all.n_edges(), "there must be one cost per edge");
    if (costs) check_finite(*costs, "costs must be finite numbers");
  }
  std::size_t size() const { return graphs->core->size(); }
};

// An online learner for any structure: whole epochs over hypergraphs, or single updates on outputs that were
// computed elsewhere.
struct FeatureOnline : OnlineSteps<FeatureWeights> {
  using Examples = PyDerivationExamples;

  FeatureOnline(std::size_t n_features, const std::string& rule, std::size_t k, double c, bool log)
      : OnlineSteps{Steps(rule_from(rule, k, c), log), FeatureWeights(n_features, rule_from(rule, k, c).has_variances())} {}
  std::size_t n_features() const { return weights.table.weights.size(); }
  void check(const Examples& examples) const { require(examples.n_features == n_features(), "the examples have other features"); }
  EpochResult pass(const Examples& examples, const Pass& pass) {
    return pass_over([&] { return Derivations(&weights, *examples.core); }, pass);
  }
  std::vector<float> learnt(bool average) const { return means(weights.table, mean(average)); }
  void fields(Archive& archive, const Examples*) {
    archive("clock", clock);
    table_fields(archive, "table", weights.table);
    log_fields(archive, steps.log, [&](std::uint32_t row, std::uint32_t place) { return has_weight(row, place); });
  }
  bool has_weight(std::uint32_t row, std::uint32_t place) const { return row < n_features() && place == 0; }
  FeatureWeights& mixed() { return weights; }
  void take_weights(const FeatureOnline& other) {
    require(other.n_features() == n_features(), "the weights belong to other features");
    weights = other.weights;
  }

  void resize(std::size_t n) {
    require(n >= n_features() && n < 0xffffffff, "the number of weights cannot decrease");
    weights.table.resize(n);
  }
  void check_vector(const Ints& ids, const Doubles& amounts) const {
    require(ids.size() == amounts.size(), "there must be one amount per feature");
    check_numbers(ids, n_features(), "feature out of range");
    check_finite(amounts, "amounts must be finite numbers");
  }
  // An update on outputs, each with its cost and Phi(gold) - Phi(output) as feature numbers and amounts; whether it made a step.
  bool take(const std::vector<std::tuple<double, Ints, Doubles>>& outputs, double scale) {
    steps.clear();
    for (const auto& [cost, ids, amounts] : outputs) {
      check_vector(ids, amounts);
      require(std::isfinite(cost) && cost >= 0, "a cost must be a finite number of at least 0");
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
    require(examples.n_features == weights.table.weights.size() && examples.size() == steps.mixtures.size(), "the examples are different");
  }
  MixtureResult pass(const Examples& examples, const Pass& pass) {
    Derivations derivations(&weights, *examples.core);
    return steps.pass(derivations, weights, pass.order.data(), pass.order.size(), pass.scales, pass.go_on);
  }
  void renew(const Examples& examples, const double* scales) {
    Derivations derivations(&weights, *examples.core);
    steps.renew(derivations, weights, scales);
  }
  std::vector<float> learnt(bool average) const { return means(weights.table, {average, steps.moments()}); }
  void fields(Archive& archive, const Examples* examples) {
    table_fields(archive, "table", weights.table);
    mixture_fields(archive, steps, [](const Part& part) { return std::array{part.site}; },
                   [&](std::size_t g, const std::uint32_t* numbers) {
      require(numbers[0] < (*examples->graphs->core)[g].n_edges, "edge of a mixture out of range");
      return Part{numbers[0]};
    });
  }
};

// H(w) of all examples.
Out<double> hinge_losses(const PyDerivationExamples& examples, const Floats& parameters, bool zero_one, std::size_t n_threads) {
  require(parameters.size() == examples.n_features, "there must be one weight per feature");
  std::vector<double> out(examples.size());
  FeatureWeights weights(parameters.size(), false);
  weights.table.weights.assign(parameters.begin(), parameters.end());
  const auto make = [&] { return Derivations(&weights, *examples.core); };
  each_item(out.size(), 8, n_threads, make, [&](Derivations& derivations, std::size_t g) {
    derivations.load(g);
    out[g] = most_violated(derivations, zero_one).loss;
  });
  return out;
}

struct PyDerivationObjective : PyObjective {
  std::shared_ptr<PyDerivationExamples> examples;
  ARGUMENTS(examples)
  void begin() {
    const std::size_t n = examples->n_features;
    set(derivation_objective(*examples->core, n), examples->size(), n);
  }
};

}  // namespace

void bind_hypergraphs(nb::module_& module) {
  bind_class<PyHypergraphs>(module, "Hypergraphs", "Hypergraphs without cycles, one after the other.")
      .def("best", &PyHypergraphs::best, "scores"_a, "k"_a, "n_threads"_a)
      .def("sums", &PyHypergraphs::sums, "scores"_a, "marginals"_a, "n_threads"_a)
      .def("counts", &PyHypergraphs::counts, "scores"_a, "n_threads"_a, "How many derivations are not forbidden.");
  bind_class<PyDerivationExamples>(module, "DerivationExamples", "Hypergraphs with features on edges and right derivations.");
  bind_mixed<FeatureOnline>(module, "FeatureOnline", "An online learner over any structure, one weight per feature.")
      .def(nb::init<std::size_t, const std::string&, std::size_t, double, bool>(), "n_features"_a, "rule"_a, "k"_a, "c"_a,
           "log"_a)
      .def("resize", guarded(&FeatureOnline::resize), "n_features"_a)
      .def("take", guarded(&FeatureOnline::take), "outputs"_a, "scale"_a)
      .def("score", guarded(&FeatureOnline::score), "ids"_a, "amounts"_a, "The weights of now times a vector.");
  bind_frank_wolfe<FeatureFrankWolfe>(module, "FeatureFrankWolfe",
                                      "Margins of whole outputs by Frank-Wolfe, one weight per feature.")
      .def(nb::init<std::size_t, std::size_t, double, bool>(), "n_features"_a, "n_examples"_a, "c"_a, "zero_one"_a);
  module.def("hinge_losses", &hinge_losses, "examples"_a, "weights"_a, "zero_one"_a, "n_threads"_a);
  bind_class<PyDerivationObjective, PyObjective>(module, "DerivationObjective", "Log losses of right derivations.");
}

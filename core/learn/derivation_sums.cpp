// The log loss of right derivations, -log p(right) = log Z - score(right), and its gradient:
//
//   d loss / d w[f] = sum over edges e of (P(e) - how often the right derivation has e) · value of f on e
#include "learn/derivations.hpp"
#include "learn/example_sums.hpp"

namespace trellis {

std::unique_ptr<Objective> derivation_objective(const DerivationExamples& examples, std::size_t n_features) {
  const auto make_loss = [&examples] {
    return [&examples, work = HypergraphWorkspace(), scores = std::vector<double>(), residual = std::vector<double>()](
               std::size_t g, const double* x, const GradientSink& to) mutable {
      const HypergraphView graph = examples.graphs[g];
      const std::size_t first = examples.graphs.first_edge(g);
      scores.resize(graph.n_edges), residual.resize(graph.n_edges);
      for (std::size_t e = 0; e < graph.n_edges; ++e) {
        double score = 0;
        examples.features.each(first + e, [&](std::int32_t f, float value) { score += static_cast<double>(value) * x[f]; });
        scores[e] = score;
      }
      double loss = sum_derivations(graph, scores.data(), work);
      for (std::int64_t e : examples.right_of(g)) loss -= scores[static_cast<std::size_t>(e)];
      if (!to.wanted()) return loss;
      derivation_marginals(graph, work, residual.data(), nullptr);
      for (std::int64_t e : examples.right_of(g)) residual[static_cast<std::size_t>(e)] -= 1;
      for (std::size_t e = 0; e < graph.n_edges; ++e)
        examples.features.each(first + e, [&, weight = residual[e]](std::int32_t f, float value) {
          to.add(static_cast<std::size_t>(f), value * weight);
        });
      return loss;
    };
  };
  return std::make_unique<ExampleObjective>(examples.graphs.size(), n_features, make_loss);
}

}  // namespace trellis

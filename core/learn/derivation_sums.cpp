#include "learn/derivation_sums.hpp"

namespace trellis {

double DerivationObjective::loss_of(std::size_t g, const double* x, Scratch& scratch, const GradientSink& to) const {
  auto& [work, scores, residual] = static_cast<Buffers&>(scratch);
  const HypergraphView graph = examples_.graphs[g];
  const std::size_t first = examples_.graphs.first_edge(g);
  scores.resize(graph.n_edges), residual.resize(graph.n_edges);
  for (std::size_t e = 0; e < graph.n_edges; ++e) {
    double score = 0;
    examples_.features.each(first + e, [&](std::int32_t f, float value) { score += static_cast<double>(value) * x[f]; });
    scores[e] = score;
  }
  double loss = sum_derivations(graph, scores.data(), work);
  for (std::int64_t e : examples_.right_of(g)) loss -= scores[static_cast<std::size_t>(e)];
  if (!to.wanted()) return loss;
  derivation_marginals(graph, work, residual.data(), nullptr);
  for (std::int64_t e : examples_.right_of(g)) residual[static_cast<std::size_t>(e)] -= 1;
  for (std::size_t e = 0; e < graph.n_edges; ++e)
    examples_.features.each(first + e, [&, weight = residual[e]](std::int32_t f, float value) {
      to.add(static_cast<std::size_t>(f), value * weight);
    });
  return loss;
}

}  // namespace trellis

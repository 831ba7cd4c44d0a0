#include "engine/hypergraph_passes.hpp"

namespace trellis {

TRELLIS_CLONES double* best_scores(const HypergraphView& graph, const double* scores, HypergraphWorkspace& work) {
  work.in.resize(graph.n_nodes);
  inside<BestOf>(graph, [&](std::size_t e) TRELLIS_INLINE_LAMBDA { return scores[e]; },
                 [&](std::size_t, std::size_t n) TRELLIS_INLINE_LAMBDA { return grow(work.terms, n); }, work.in.data());
  return work.in.data();
}

double best_derivation(const HypergraphView& graph, const double* scores, HypergraphWorkspace& work,
                       std::vector<std::int64_t>& edges) {
  const double* in = best_scores(graph, scores, work);
  edges.clear();
  if (in[graph.goal] == kForbidden<double>) return in[graph.goal];
  work.open.assign(1, graph.goal);
  while (!work.open.empty()) {
    const std::size_t v = work.open.back();
    work.open.pop_back();
    for (auto e = static_cast<std::size_t>(graph.in_starts[v]); e < static_cast<std::size_t>(graph.in_starts[v + 1]); ++e) {
      double term = scores[e];
      const std::span<const std::int32_t> tails = graph.tails_of(e);
      for (std::int32_t u : tails) term += in[u];
      if (term != in[v]) continue;
      check_length(edges.size());
      edges.push_back(static_cast<std::int64_t>(e));
      for (std::size_t i = tails.size(); i-- > 0;) work.open.push_back(static_cast<std::size_t>(tails[i]));
      break;
    }
  }
  return in[graph.goal];
}

TRELLIS_CLONES double sum_derivations(const HypergraphView& graph, const double* scores, HypergraphWorkspace& work) {
  work.in.resize(graph.n_nodes), work.shares.resize(graph.n_edges);
  inside<LogSumOf>(graph, [&](std::size_t e) TRELLIS_INLINE_LAMBDA { return scores[e]; },
                   [&](std::size_t e, std::size_t) TRELLIS_INLINE_LAMBDA { return work.shares.data() + e; }, work.in.data());
  return work.in[graph.goal];
}

void derivation_marginals(const HypergraphView& graph, HypergraphWorkspace& work, double* edges, double* nodes) {
  work.mass.assign(graph.n_nodes, 0);
  work.mass[graph.goal] = 1;
  for (std::size_t v = graph.n_nodes; v-- > 0;) {
    const double mass = work.mass[v];
    for (auto e = static_cast<std::size_t>(graph.in_starts[v]); e < static_cast<std::size_t>(graph.in_starts[v + 1]); ++e) {
      const double share = mass * work.shares[e];
      for (std::int32_t u : graph.tails_of(e)) work.mass[static_cast<std::size_t>(u)] += share;
      if (edges) edges[e] = share;
    }
  }
  if (nodes) std::copy(work.mass.begin(), work.mass.end(), nodes);
}

double count_derivations(const HypergraphView& graph, const double* scores, HypergraphWorkspace& work) {
  work.in.resize(graph.n_nodes);
  inside<CountOf>(graph, [&](std::size_t e) { return scores[e] == kForbidden<double> ? 0.0 : 1.0; },
                  [&](std::size_t, std::size_t n) { return grow(work.terms, n); }, work.in.data());
  return work.in[graph.goal];
}

}  // namespace trellis

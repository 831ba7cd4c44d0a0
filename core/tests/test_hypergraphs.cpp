// Hypergraphs against a list of all their derivations.
#include <algorithm>
#include <random>

#include "check.hpp"
#include "engine/hypergraph_passes.hpp"

using namespace trellis;

namespace {

struct RandomHypergraphs {
  std::vector<std::int64_t> node_counts, edge_starts{0}, tail_starts{0};
  std::vector<std::int32_t> heads, tails, goals;
  std::vector<double> scores;

  RandomHypergraphs(unsigned seed, std::size_t n, bool lattice) {
    std::mt19937 random(seed);
    for (std::size_t g = 0; g < n; ++g) {
      const auto n_nodes = static_cast<std::int32_t>(2 + random() % 4);
      std::vector<std::int32_t> own(random() % 8);
      for (std::int32_t& head : own) head = static_cast<std::int32_t>(1 + random() % static_cast<unsigned>(n_nodes - 1));
      std::sort(own.begin(), own.end());
      for (const std::int32_t head : own) {
        heads.push_back(head);
        for (std::size_t i = lattice ? 1 : random() % 3; i-- > 0;)
          tails.push_back(static_cast<std::int32_t>(random() % static_cast<unsigned>(head)));
        tail_starts.push_back(static_cast<std::int64_t>(tails.size()));
        scores.push_back(random() % 6 ? static_cast<double>(random() % 7) - 3 : kForbidden<double>);
      }
      edge_starts.push_back(static_cast<std::int64_t>(heads.size()));
      node_counts.push_back(n_nodes);
      goals.push_back(n_nodes - 1);
    }
  }
  HypergraphArrays arrays() const { return {node_counts, edge_starts, heads, tail_starts, tails, goals}; }
};

// The scores of all derivations of a node.
std::vector<double> all_scores(const HypergraphView& graph, const double* scores, std::size_t v) {
  if (graph.n_in(v) == 0) return {0};
  std::vector<double> out;
  for (auto e = static_cast<std::size_t>(graph.in_starts[v]); e < static_cast<std::size_t>(graph.in_starts[v + 1]); ++e) {
    std::vector<double> own{scores[e]};
    for (std::int32_t u : graph.tails_of(e)) {
      std::vector<double> longer;
      for (double a : own)
        for (double b : all_scores(graph, scores, static_cast<std::size_t>(u))) longer.push_back(a + b);
      own.swap(longer);
    }
    out.insert(out.end(), own.begin(), own.end());
  }
  return out;
}

}  // namespace

TEST(derivations_are_those_that_can_be_listed) {
  for (const bool lattice : {false, true}) {
    const RandomHypergraphs given(5, 200, lattice);
    CHECK(are_hypergraphs(given.arrays()));
    const Hypergraphs graphs(given.arrays());
    HypergraphWorkspace work;
    for (std::size_t g = 0; g < graphs.size(); ++g) {
      const HypergraphView graph = graphs[g];
      const double* own = given.scores.data() + graphs.first_edge(g);
      std::vector<double> all = all_scores(graph, own, graph.goal);
      std::erase(all, kForbidden<double>);
      std::sort(all.rbegin(), all.rend());
      CHECK(count_derivations(graph, own, work) == static_cast<double>(all.size()));
      double sum = 0;
      for (double score : all) sum += std::exp(score);
      CHECK_NEAR(sum_derivations(graph, own, work), std::log(sum), 1e-9);

      std::vector<std::int64_t> edges;
      const double best = best_derivation(graph, own, work, edges);
      CHECK(best == (all.empty() ? kForbidden<double> : all[0]));
      KBestDerivations derivations(graph, own, work);
      std::vector<std::vector<std::int64_t>> seen;
      for (std::size_t rank = 0; rank < all.size(); ++rank) {
        CHECK(derivations.find(rank + 1));
        CHECK(derivations.score(rank) == all[rank]);
        std::vector<std::int64_t> found;
        derivations.edges(rank, found);
        double score = 0;
        for (std::int64_t e : found) score += own[e];
        CHECK(score == all[rank]);
        CHECK(rank > 0 || found == edges);
        CHECK(std::find(seen.begin(), seen.end(), found) == seen.end());
        seen.push_back(found);
      }
      CHECK(!derivations.find(all.size() + 1));
    }
  }
}

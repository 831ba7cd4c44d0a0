// The k best derivations of a hypergraph. Ties: the first edge wins, then the best derivations of its first tails.
#pragma once
#include "engine/best_lists.hpp"
#include "engine/hypergraph_passes.hpp"

namespace trellis {

class KBestDerivations {
 public:
  // Scores [n_edges] and the workspace must be left as they are while derivations are asked for.
  KBestDerivations(const HypergraphView& graph, const double* scores, HypergraphWorkspace& work)
      : graph_{graph, scores, best_scores(graph, scores, work)}, lists_(graph_, work.lists) {}
  KBestDerivations(const KBestDerivations&) = delete;

  // Whether there are k derivations that are not forbidden; those up to k are then there.
  bool find(std::size_t k) { return lists_.find(k); }
  double score(std::size_t rank) { return lists_.score(rank); }
  // The edges of a derivation of the goal, from the goal down, tails from the first to the last.
  void edges(std::size_t rank, std::vector<std::int64_t>& edges) {
    edges.clear();
    lists_.each(rank, [&](std::size_t, std::uint32_t edge) {
      check_length(edges.size());
      edges.push_back(edge);
    });
  }

 private:
  // Ways are edges.
  struct Graph {
    using Real = double;
    static constexpr bool kOneTail = false, kStates = false;
    HypergraphView view;
    const double *scores, *in;

    std::size_t goal() const { return view.goal; }
    std::size_t n_nodes() const { return view.n_nodes; }
    double best(std::size_t v) const { return in[v]; }
    std::span<const std::int32_t> tails(std::size_t, std::size_t edge) const { return view.tails_of(edge); }
    template <class Visit>
    void each_way(std::size_t v, Visit visit) const {
      for (std::int64_t e = view.in_starts[v]; e < view.in_starts[v + 1]; ++e) {
        const auto edge = static_cast<std::uint32_t>(e);
        visit(edge, score(v, edge, [&](std::size_t i) { return in[view.tails_of(edge)[i]]; }));
      }
    }
    template <class ScoreOf>
    double score(std::size_t, std::size_t edge, ScoreOf of) const {
      double total = scores[edge];
      for (std::size_t i = 0; i < view.tails_of(edge).size(); ++i) total += of(i);
      return total;
    }
  };

  Graph graph_;
  BestLists<Graph> lists_;
};

}  // namespace trellis

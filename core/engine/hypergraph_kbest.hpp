// The k best derivations of a hypergraph, exact and lazy (Huang & Chiang 2005, algorithm 3). Every node keeps the best
// derivations found so far, each an edge with the ranks of its tails' derivations, and a heap of candidates for the next
// one. A node is asked for one more only when a candidate above it needs it.
#pragma once
#include "engine/hypergraph_passes.hpp"

namespace trellis {

class KBestDerivations {
 public:
  // Scores [n_edges] must live as long as derivations are asked for.
  KBestDerivations(const HypergraphView& graph, const double* scores, HypergraphWorkspace& work);

  // Whether there are k derivations that are not forbidden; those up to k are then there.
  bool find(std::size_t k);
  double score(std::size_t rank) const { return nodes_[graph_.goal].found[rank].score; }
  // The edges of a derivation of the goal, from the goal down, tails from the first to the last.
  void edges(std::size_t rank, std::vector<std::int64_t>& edges) const;

 private:
  struct Derivation {
    double score;
    std::size_t edge;
    std::size_t ranks;  // where the ranks of its tails begin in ranks_
  };
  struct Node {
    std::vector<Derivation> found;  // best first
    std::vector<Derivation> open;   // a heap of candidates
    std::size_t next_tail = 0;      // of the last one found: the tail by which it has not yet been followed up
    bool begun = false, exhausted = false;
  };
  struct Wanted {
    std::size_t node, n;
  };

  void begin(Node& node, std::size_t v);
  // Whether candidate a comes after b: of equal scores the first edge comes first, then the lowest ranks from the first tail on.
  bool after(const Derivation& a, const Derivation& b) const;
  void push(Node& node, std::size_t edge, std::size_t ranks);

  HypergraphView graph_;
  const double* scores_;
  std::vector<double> best_;  // [n_nodes] scores of the best derivations
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> ranks_;
};

}  // namespace trellis

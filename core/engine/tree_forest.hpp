// The packed forest of all projective trees of a sentence that are not forbidden: nodes are the items of trees.hpp, edges the
// ways to build them. k best trees, sums over trees and marginals are those of derivations of a hypergraph.
#pragma once
#include "engine/hypergraph_passes.hpp"
#include "engine/trees.hpp"

namespace trellis {

class TreeForest {
 public:
  // False if every tree is forbidden.
  bool build(const TreeScores& scores);

  // log Z over all trees, and the marginals of arcs [n + 1, n + 1] and siblings (as in TreeScores; null if not requested).
  double sum(const TreeScores& scores, double* arcs, double* siblings);

  // The k best trees, in order: calls visit(rank, score, heads).
  template <class Visit>
  void each_best(std::size_t k, Visit visit) {
    KBestDerivations derivations(view_, edge_scores_.data(), work_);
    heads_.resize(n_);
    for (std::size_t rank = 0; rank < k && derivations.find(rank + 1); ++rank) {
      derivations.edges(rank, edges_);
      for (std::int64_t e : edges_)
        if (const TreePart& part = parts_[static_cast<std::size_t>(e)]; part.word)
          heads_[part.word - 1] = static_cast<std::int32_t>(part.head);
      visit(rank, derivations.score(rank), heads_.data());
    }
  }

 private:
  std::size_t n_ = 0;
  HypergraphView view_{};
  std::vector<std::int32_t> nodes_;  // [kinds, n + 1, n + 1] node of each item, -1 if it cannot be built
  std::vector<std::int64_t> in_starts_, tail_starts_;
  std::vector<std::int32_t> tails_, heads_;
  std::vector<TreePart> parts_;       // [n_edges]
  std::vector<double> edge_scores_;   // [n_edges]
  std::vector<double> shares_;        // [n_edges] marginals
  std::vector<std::int64_t> edges_;
  HypergraphWorkspace work_;
};

}  // namespace trellis

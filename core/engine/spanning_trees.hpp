// Trees whose arcs may cross, by scores of arcs alone: the best one is a spanning tree (Chu & Liu 1965, Edmonds 1967; McDonald
// et al. 2005), and sums over all of them are determinants (the matrix-tree theorem; Koo et al. 2007). One word has the root
// as its head, as in trees.hpp.
#pragma once
#include "engine/trees.hpp"

namespace trellis {

class SpanningTrees {
 public:
  // The heads [n] of the best tree; its score, minus infinity where every tree is forbidden. Ties: the lowest head.
  double best(const TreeScores& scores, std::int32_t* heads);

  // The k best trees; gives how many there are. Those after the first come by Lawler's partition: what is left after a tree
  // is, for each word, the trees that agree with it on the words before and not on this one.
  std::size_t kbest(const TreeScores& scores, std::size_t k);
  const std::int32_t* heads(std::size_t rank) const { return found_[rank].heads.data(); }
  double score(std::size_t rank) const { return found_[rank].score; }

  // log Z, and how often each arc [n + 1, n + 1] is in a tree; minus infinity and zeros where every tree is forbidden.
  double sum(const TreeScores& scores, double* arcs);

 private:
  struct Found {
    double score;
    std::vector<std::int32_t> heads;  // [n]
    std::size_t n_fixed;              // words whose heads are those of the tree it came from
    std::vector<std::pair<std::size_t, std::size_t>> forbidden;  // arcs that its part of all trees does not have
  };
  double any_roots(std::size_t n, const std::vector<double>& arcs, std::int32_t* heads);
  double one_root(std::size_t n, std::vector<double>& arcs, std::int32_t* heads);
  Found within(const TreeScores& scores, const Found& from, std::size_t n_fixed);

  std::vector<Found> found_;
  std::vector<double> arcs_, matrix_, inverse_, factors_;
};

}  // namespace trellis

// Trees with possibly crossing arcs, by scores of arcs alone: the best one is a spanning tree (Chu & Liu 1965, Edmonds 1967;
// McDonald et al. 2005). One word has the root as its head, as in trees.hpp. Sums over trees are in spanning_sums.hpp.
#pragma once
#include "engine/trees.hpp"
#include "groups.hpp"

namespace trellis {

class SpanningTrees {
 public:
  // Writes the heads [n] of the best tree; returns its score, minus infinity if every tree is forbidden. Ties: the lowest head.
  double best(const TreeScores& scores, std::int32_t* heads);

  // The k best trees; returns their number. Those after the first come by Lawler's partition: the trees other than a given one
  // are split by the first word whose head differs.
  std::size_t kbest(const TreeScores& scores, std::size_t k);
  const std::int32_t* heads(std::size_t rank) const { return found_[rank].heads.data(); }
  double score(std::size_t rank) const { return found_[rank].score; }

 private:
  // An arc of the sentence; word 0: none.
  struct Arc {
    std::uint32_t head, word;
  };
  static constexpr Arc kNoArc = {0, 0};

  // The score of a tree that must have one word at the root: fewer arcs of the root first, then the score, then the lowest word.
  struct OneRoot {
    double score;
    std::int32_t n_root_arcs, root_word;
    bool operator>(const OneRoot& other) const;
    void operator-=(const OneRoot& other);
  };
  static bool is_forbidden(double score) { return score == kForbidden<double>; }
  static bool is_forbidden(const OneRoot& score) { return score.score == kForbidden<double>; }
  static double forbidden(double) { return kForbidden<double>; }
  static OneRoot forbidden(const OneRoot&) { return {kForbidden<double>, 0, 0}; }

  // Chu-Liu/Edmonds on a dense graph of N nodes, node 0 the root: each node takes its best arc; a cycle of these is contracted
  // to one node; arcs into it are scored relative to the arc they replace. In place: O(n^2) numbers in all.
  template <class Score>
  struct Edmonds {
    // Writes the heads [n_nodes] of nodes, if a tree exists; `scores` are overwritten.
    void solve(std::size_t n_nodes, std::vector<std::uint32_t>& parent);
    std::vector<Score> scores;  // [N, N] of head and word

   private:
    struct Member {
      std::uint32_t name;
      Arc arc;  // into it, inside the cycle
    };
    void find_best(std::uint32_t v);
    bool find_cycle();
    void contract();
    std::size_t N = 0;
    std::vector<Arc> arcs;                   // [N, N] which arc of the sentence it is
    std::vector<std::uint32_t> order;        // order of nodes for ties: words, then cycles as they were contracted
    std::vector<std::uint32_t> names;        // [N] of nodes: a word, or N + the number of a cycle
    std::vector<std::uint32_t> best, seen;   // [N] the head of the best arc; the start of the walk that visited the node
    std::vector<std::uint8_t> in_cycle;      // [N]
    std::vector<std::uint32_t> cycle;        // nodes of the contracted cycle
    std::vector<Score> replaced;             // scores of their arcs
    Groups<Member> cycles;                   // their members
    std::vector<Arc> entries;                // [names] the arc into each
    std::vector<std::uint32_t> above;        // [names] the cycle that each is a member of
  };

  struct Found {
    double score;
    std::vector<std::int32_t> heads;  // [n]
    std::size_t n_fixed;              // words with the same heads as in the parent tree
    std::vector<std::pair<std::size_t, std::size_t>> forbidden;  // arcs excluded from this part
  };
  double any_roots(std::size_t n, const std::vector<double>& arcs, std::int32_t* heads);
  double one_root(std::size_t n, std::vector<double>& arcs, std::int32_t* heads);
  Found within(const TreeScores& scores, const Found& from, std::size_t n_fixed);

  std::vector<Found> found_;
  std::vector<double> arcs_;
  Edmonds<double> edmonds_;
  Edmonds<OneRoot> one_root_;
  std::vector<std::uint32_t> parent_;  // [n + 1]
};

}  // namespace trellis

// The k best derivations of a graph without cycles, exact and lazy (Huang & Chiang 2005, algorithm 3): of chains, states of
// label n-grams, lattices and hypergraphs. Every node has a list of its best derivations so far, each a way into the node plus
// the ranks of its tails' derivations, and a heap of candidates for the next one. The next derivation of a node is computed
// only when a node above needs it, so k derivations cost little more than the best one. A graph has
//
//   Real, kOneTail, kStates    the type of scores; whether every way has one tail; whether ties are decided by labels
//   n_nodes(), goal()
//   each_way(v, visit)         calls visit(way, score of its best derivation); a node without ways is a leaf
//   tails(v, way)              nodes
//   score(v, way, of)          score of a derivation whose tail i has the score of(i)
//   best(v)                    the score of the best derivation of a tail
//
// Ties: the lowest way comes first, then the lowest ranks from the first tail on. With kStates, where a node is a state of a
// token, the lowest labels, compared from the last one backwards: label(v), and back(states), a step back from the tied states of
// the best paths (state_paths.hpp). Forbidden derivations are skipped.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/chain.hpp"

namespace trellis {

// Scratch of one thread; reusable for any number of searches.
template <class Real>
struct BestListsScratch {
  struct Derivation {
    Real score;
    std::uint32_t way;
    std::uint32_t ranks;  // the rank of its tail, or the start of its tails' ranks in `ranks`
  };
  struct Node {
    std::vector<Derivation> found;  // best first
    std::vector<Derivation> open;   // a heap of candidates
    std::size_t next_tail;          // of the last one found: the first tail whose successor is not yet in the heap
    bool exhausted;
  };
  struct Request {
    std::size_t node, n;
  };
  // A derivation read from its last label backwards.
  struct Walk {
    std::size_t node;
    std::uint32_t rank;
    std::vector<std::uint32_t> tied;  // if the best path of a state was not requested: its possible states
  };
  std::vector<std::uint32_t> slots;  // [n_nodes] in `nodes`
  std::vector<Node> nodes;           // requested nodes, and spare ones
  std::size_t n_nodes = 0;
  std::vector<std::uint32_t> ranks;
  std::vector<Request> requests;
  Walk walks[2];
};

template <class Graph>
class BestLists {
  using Real = typename Graph::Real;
  using Scratch = BestListsScratch<Real>;
  using Derivation = typename Scratch::Derivation;
  using Node = typename Scratch::Node;

 public:
  BestLists(Graph& graph, Scratch& scratch) : graph_(graph), w_(scratch) {
    w_.slots.assign(graph.n_nodes(), kUnasked);
    w_.n_nodes = 0;
    w_.ranks.clear();
  }

  // Whether the goal has k derivations that are not forbidden; afterwards those up to k are available.
  bool find(std::size_t k) {
    w_.requests.assign(1, {graph_.goal(), k});
    while (!w_.requests.empty()) {  // an explicit stack: the graph may be deeper than the call stack allows
      const auto [v, n] = w_.requests.back();
      Node& node = open(v);
      if (node.found.size() >= n || node.exhausted) w_.requests.pop_back();
      else if (follow_up(v, node)) take(v, node);
    }
    return open(graph_.goal()).found.size() >= k;
  }
  Real score(std::size_t rank) { return open(graph_.goal()).found[rank].score; }
  // Calls visit(v, way) for all nodes of a derivation except leaves, from the goal down, tails from first to last.
  template <class Visit>
  void each(std::size_t rank, Visit visit) {
    w_.requests.assign(1, {graph_.goal(), rank});
    while (!w_.requests.empty()) {
      const auto [v, n] = w_.requests.back();
      w_.requests.pop_back();
      Node& node = open(v);
      if (node.found.empty()) take(v, node);
      if (node.found[0].way == kLeaf) continue;
      const Derivation chosen = node.found[n];
      visit(v, chosen.way);
      const auto tails = graph_.tails(v, chosen.way);
      for (std::size_t i = tails.size(); i-- > 0;) w_.requests.push_back({static_cast<std::size_t>(tails[i]), rank_of(chosen, i)});
    }
  }
  // Of a graph whose derivations are paths of n_tokens labels: writes the k best [k, n_tokens], best first; returns their number.
  std::size_t paths(std::size_t k, std::size_t n_tokens, std::int32_t* paths, Real* scores) {
    std::size_t n = 0;
    for (; n < k && find(n + 1); ++n, paths += n_tokens) {
      scores[n] = score(n);
      std::size_t t = n_tokens;
      each(n, [&](std::size_t v, std::uint32_t way) {
        if (t) --t, paths[t] = static_cast<std::int32_t>(graph_.label(graph_.tails(v, way)[0]));
      });
    }
    return n;
  }

 private:
  static constexpr std::uint32_t kUnasked = ~std::uint32_t{0}, kLeaf = ~std::uint32_t{0};

  std::uint32_t rank_of(const Derivation& one, std::size_t i) const {
    if constexpr (Graph::kOneTail) return one.ranks;
    else return w_.ranks[one.ranks + i];
  }
  // The ranks of a derivation, with the rank of tail i increased by one.
  std::uint32_t higher_ranks(const Derivation& one, std::size_t n_tails, std::size_t i) {
    if constexpr (Graph::kOneTail) return one.ranks + 1;
    const std::size_t ranks = w_.ranks.size();
    w_.ranks.resize(ranks + n_tails);
    std::copy_n(w_.ranks.begin() + static_cast<std::ptrdiff_t>(one.ranks), n_tails, w_.ranks.begin() + static_cast<std::ptrdiff_t>(ranks));
    ++w_.ranks[ranks + i];
    return static_cast<std::uint32_t>(ranks);
  }

  // A node with the best derivation of each way; it uses the best scores of the tails, not yet their derivations.
  Node& open(std::size_t v) {
    std::uint32_t& slot = w_.slots[v];
    if (slot != kUnasked) return w_.nodes[slot];
    slot = static_cast<std::uint32_t>(w_.n_nodes++);
    if (w_.nodes.size() < w_.n_nodes) w_.nodes.emplace_back();
    Node& node = w_.nodes[slot];
    node.found.clear(), node.open.clear();
    node.next_tail = 0;
    node.exhausted = true;  // a leaf has one derivation
    graph_.each_way(v, [&](std::uint32_t way, Real score) {
      node.exhausted = false;
      if (score == kForbidden<Real>) return;
      std::size_t ranks = 0;
      if constexpr (!Graph::kOneTail) {
        ranks = w_.ranks.size();
        w_.ranks.resize(ranks + graph_.tails(v, way).size(), 0);
      }
      node.open.push_back({score, way, static_cast<std::uint32_t>(ranks)});
    });
    if (node.exhausted) node.found.push_back({graph_.best(v), kLeaf, 0});
    else std::make_heap(node.open.begin(), node.open.end(), order(v));
    return node;
  }

  // The successors of a derivation (way, ranks) increase one rank by one, of the tails from its last nonzero rank on. So each
  // vector of ranks is generated once, after one that is no worse. False if another derivation of a tail was requested first.
  bool follow_up(std::size_t v, Node& node) {
    if (node.found.empty()) return true;
    const Derivation last = node.found.back();
    const auto tails = graph_.tails(v, last.way);
    for (std::size_t& i = node.next_tail; i < tails.size(); ++i) {
      const auto u = static_cast<std::size_t>(tails[i]);
      const std::size_t n = rank_of(last, i) + 2;  // number of derivations that the tail needs
      const Node* tail = w_.slots[u] == kUnasked ? nullptr : &w_.nodes[w_.slots[u]];
      if (!tail || (tail->found.size() < n && !tail->exhausted)) {
        w_.requests.push_back({u, n});
        return false;
      }
      if (tail->found.size() < n) continue;
      Derivation next{0, last.way, higher_ranks(last, tails.size(), i)};
      next.score = graph_.score(v, last.way, [&](std::size_t j) {
        const auto other = static_cast<std::size_t>(tails[j]);
        const std::uint32_t rank = rank_of(next, j);
        return rank ? w_.nodes[w_.slots[other]].found[rank].score : graph_.best(other);
      });
      if (next.score == kForbidden<Real>) continue;
      node.open.push_back(next);
      std::push_heap(node.open.begin(), node.open.end(), order(v));
    }
    return true;
  }
  // The best candidate is the next derivation.
  void take(std::size_t v, Node& node) {
    if (node.open.empty()) {
      node.exhausted = true;
      return;
    }
    std::pop_heap(node.open.begin(), node.open.end(), order(v));
    const Derivation next = node.open.back();
    node.open.pop_back();
    node.found.push_back(next);
    node.next_tail = 0;
    if constexpr (!Graph::kOneTail)
      for (std::size_t i = graph_.tails(v, next.way).size(); i-- > 1 && !node.next_tail;)
        if (rank_of(next, i)) node.next_tail = i;
  }

  // Whether candidate a comes after b.
  auto order(std::size_t v) {
    return [this, v](const Derivation& a, const Derivation& b) {
      static_cast<void>(this), static_cast<void>(v);  // some graphs do not use them
      if (a.score != b.score) return a.score < b.score;
      if constexpr (Graph::kStates) return is_higher(graph_.tails(v, a.way)[0], a.ranks, graph_.tails(v, b.way)[0], b.ranks);
      if (a.way != b.way) return a.way > b.way;
      if constexpr (!Graph::kOneTail)
        for (std::size_t i = 0, n = graph_.tails(v, a.way).size(); i < n; ++i)
          if (rank_of(a, i) != rank_of(b, i)) return rank_of(a, i) > rank_of(b, i);
      return a.ranks > b.ranks;
    };
  }

  // Whether derivation i of u has higher labels, compared from the last one backwards, than derivation j of v.
  bool is_higher(std::size_t u, std::uint32_t i, std::size_t v, std::uint32_t j) {
    auto& [a, b] = w_.walks;
    a.node = u, a.rank = i, b.node = v, b.rank = j;
    a.tied.clear(), b.tied.clear();
    for (; graph_.label(a.node) == graph_.label(b.node); go_back(a), go_back(b))
      if (a.node == 0 || (a.node == b.node && a.tied.empty() && b.tied.empty())) return a.rank > b.rank;
    return graph_.label(a.node) > graph_.label(b.node);
  }
  void go_back(typename Scratch::Walk& walk) {
    if (const std::uint32_t slot = w_.slots[walk.node]; walk.tied.empty()) {
      if (slot != kUnasked && w_.nodes[slot].found.size() > walk.rank) {
        const Derivation& one = w_.nodes[slot].found[walk.rank];
        walk.node = graph_.tails(walk.node, one.way)[0], walk.rank = one.ranks;
        return;
      }
      walk.tied.assign(1, static_cast<std::uint32_t>(walk.node));
    }
    graph_.back(walk.tied);
    walk.node = walk.tied[0];
  }

  Graph& graph_;
  Scratch& w_;
};

}  // namespace trellis

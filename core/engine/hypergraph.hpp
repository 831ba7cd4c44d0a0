// Hypergraphs without cycles: packed derivations. A hyperedge leads from its tails, any number of nodes, to its head; a
// derivation of a node is one of the edges into it with a derivation of each tail. A node that no edge leads to is a leaf,
// with one derivation that has no edges. Where every edge has one tail the hypergraph is a lattice, and a derivation a path.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace trellis {

// One of them. Nodes and edges count from 0 on; nodes stand in an order in which tails come before heads, and edges in the
// order of their heads.
struct HypergraphView {
  std::size_t n_nodes, n_edges;
  std::size_t goal;
  const std::int64_t* in_starts;    // [n_nodes + 1] edges in_starts[v] .. in_starts[v + 1] lead to v
  const std::int64_t* tail_starts;  // [n_edges + 1], in `tails`; null in a lattice, where edge e has tails[e]
  const std::int32_t* tails;

  std::size_t n_in(std::size_t v) const { return static_cast<std::size_t>(in_starts[v + 1] - in_starts[v]); }
  std::span<const std::int32_t> tails_of(std::size_t e) const {
    if (!tail_starts) return {tails + e, 1};
    return {tails + tail_starts[e], static_cast<std::size_t>(tail_starts[e + 1] - tail_starts[e])};
  }
};

// What hypergraphs are made of, one after the other: hypergraph g has node_counts[g] nodes and the edges edge_starts[g] ..
// edge_starts[g + 1], in any order; nodes are numbered within their hypergraph.
struct HypergraphArrays {
  std::span<const std::int64_t> node_counts;  // [n]
  std::span<const std::int64_t> edge_starts;  // [n + 1]
  std::span<const std::int32_t> heads;        // [n_edges]
  std::span<const std::int64_t> tail_starts;  // [n_edges + 1]
  std::span<const std::int32_t> tails;
  std::span<const std::int32_t> goals;        // [n]
};

// What is wrong with them, in one line; empty: nothing. Starts must have been checked.
std::string wrong_with(const HypergraphArrays& given);

// Many hypergraphs, checked, with their edges sorted by heads.
class Hypergraphs {
 public:
  explicit Hypergraphs(const HypergraphArrays& given);

  std::size_t size() const { return goals_.size(); }
  std::size_t n_edges() const { return tail_starts_.size() - 1; }
  std::size_t n_nodes() const { return static_cast<std::size_t>(node_starts_.back()); }
  std::size_t first_edge(std::size_t g) const { return static_cast<std::size_t>(edge_starts_[g]); }
  std::size_t first_node(std::size_t g) const { return static_cast<std::size_t>(node_starts_[g]); }
  HypergraphView operator[](std::size_t g) const {
    const std::size_t e = first_edge(g), v = first_node(g);
    return {first_node(g + 1) - v, first_edge(g + 1) - e, static_cast<std::size_t>(goals_[g]), in_starts_.data() + v + g,
            lattice_ ? nullptr : tail_starts_.data() + e, lattice_ ? tails_.data() + e : tails_.data()};
  }

  bool is_sorted() const { return order_.empty(); }
  // The number by which edge e, of all hypergraphs, was given.
  std::size_t given(std::size_t e) const { return order_.empty() ? e : static_cast<std::size_t>(order_[e]); }
  // Numbers that belong to edges, as given, in the order of the edges here: themselves where it is the same order.
  template <class Number>
  const Number* sorted(const Number* numbers, std::vector<Number>& scratch) const {
    if (order_.empty()) return numbers;
    scratch.resize(n_edges());
    for (std::size_t e = 0; e < scratch.size(); ++e) scratch[e] = numbers[order_[e]];
    return scratch.data();
  }

 private:
  bool lattice_;
  std::vector<std::int64_t> node_starts_, edge_starts_;  // [n + 1]
  std::vector<std::int64_t> in_starts_;                  // [n_nodes + n], of each hypergraph n_nodes + 1
  std::vector<std::int64_t> tail_starts_;                // [n_edges + 1]
  std::vector<std::int32_t> tails_, goals_;
  std::vector<std::int64_t> order_;  // [n_edges] as given; empty: sorted already
};

}  // namespace trellis

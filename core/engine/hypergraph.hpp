// Hypergraphs without cycles: packed derivations. A hyperedge leads from its tails, any number of nodes, to its head; a
// derivation of a node is one of the edges into it with a derivation of each tail. A node that no edge leads to is a leaf,
// with one derivation that has no edges. If every edge has one tail, the hypergraph is a lattice and a derivation is a path.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace trellis {

// One hypergraph. Nodes and edges are numbered from 0; tails come before heads in the order of nodes, and edges are sorted by
// head.
struct HypergraphView {
  std::size_t n_nodes, n_edges;
  std::size_t goal;
  const std::int64_t* in_starts;    // [n_nodes + 1] edges in_starts[v] .. in_starts[v + 1] lead to v
  const std::int64_t* tail_starts;  // [n_edges + 1], in `tails`; null in a lattice, then edge e has the tail tails[e]
  const std::int32_t* tails;

  std::size_t n_in(std::size_t v) const { return static_cast<std::size_t>(in_starts[v + 1] - in_starts[v]); }
  std::span<const std::int32_t> tails_of(std::size_t e) const {
    if (!tail_starts) return {tails + e, 1};
    return {tails + tail_starts[e], static_cast<std::size_t>(tail_starts[e + 1] - tail_starts[e])};
  }
};

// A batch of hypergraphs as arrays: hypergraph g has node_counts[g] nodes and the edges edge_starts[g] ..
// edge_starts[g + 1], sorted by head; nodes are numbered within their hypergraph.
struct HypergraphArrays {
  std::span<const std::int64_t> node_counts;  // [n]
  std::span<const std::int64_t> edge_starts;  // [n + 1]
  std::span<const std::int32_t> heads;        // [n_edges]
  std::span<const std::int64_t> tail_starts;  // [n_edges + 1]
  std::span<const std::int32_t> tails;
  std::span<const std::int32_t> goals;        // [n]
};

// Whether goals, heads and tails are nodes, heads ascend and tails come before them. Starts must have been checked.
bool are_hypergraphs(const HypergraphArrays& arrays);

// A batch of hypergraphs; its arrays must outlive it.
class Hypergraphs {
 public:
  explicit Hypergraphs(const HypergraphArrays& arrays);

  std::size_t size() const { return arrays_.goals.size(); }
  std::size_t n_edges() const { return arrays_.heads.size(); }
  std::size_t n_nodes() const { return first_node(size()); }
  std::size_t first_edge(std::size_t g) const { return static_cast<std::size_t>(arrays_.edge_starts[g]); }
  std::size_t first_node(std::size_t g) const { return node_starts_[g]; }
  HypergraphView operator[](std::size_t g) const {
    const std::size_t e = first_edge(g), v = first_node(g);
    const auto goal = static_cast<std::size_t>(arrays_.goals[g]);
    return {first_node(g + 1) - v, first_edge(g + 1) - e, goal, in_starts_.data() + v + g,
            lattice_ ? nullptr : arrays_.tail_starts.data() + e, arrays_.tails.data() + (lattice_ ? e : 0)};
  }

 private:
  HypergraphArrays arrays_;
  bool lattice_ = true;
  std::vector<std::size_t> node_starts_;  // [n + 1]
  std::vector<std::int64_t> in_starts_;   // [n_nodes + n], of each hypergraph n_nodes + 1
};

}  // namespace trellis

#include "engine/hypergraph.hpp"

#include <algorithm>
#include <numeric>

namespace trellis {

std::string wrong_with(const HypergraphArrays& given) {
  const std::size_t n = given.node_counts.size();
  for (std::size_t g = 0; g < n; ++g) {
    const std::int64_t n_nodes = given.node_counts[g];
    const std::string where = n > 1 ? "hypergraph " + std::to_string(g) + ": " : "";
    const auto outside = [&](std::int64_t node) { return node < 0 || node >= n_nodes; };
    const std::string has = ", and there are " + std::to_string(n_nodes) + " nodes";
    if (outside(given.goals[g])) return where + "the goal is node " + std::to_string(given.goals[g]) + has;
    for (std::int64_t e = given.edge_starts[g]; e < given.edge_starts[g + 1]; ++e) {
      const auto at = static_cast<std::size_t>(e);
      const std::int32_t head = given.heads[at];
      const std::string edge = where + "edge " + std::to_string(e - given.edge_starts[g]);
      if (outside(head)) return edge + ": its head is node " + std::to_string(head) + has;
      for (std::int64_t i = given.tail_starts[at]; i < given.tail_starts[at + 1]; ++i) {
        const std::int32_t tail = given.tails[static_cast<std::size_t>(i)];
        if (outside(tail)) return edge + ": a tail is node " + std::to_string(tail) + has;
        if (tail >= head)
          return edge + " leads from node " + std::to_string(tail) + " to node " + std::to_string(head) +
                 "; number the nodes so that tails come before heads, which a cycle makes impossible";
      }
    }
  }
  return "";
}

Hypergraphs::Hypergraphs(const HypergraphArrays& given)
    : node_starts_{0}, edge_starts_(given.edge_starts.begin(), given.edge_starts.end()), goals_(given.goals.begin(), given.goals.end()) {
  for (std::int64_t n : given.node_counts) node_starts_.push_back(node_starts_.back() + n);
  const std::size_t n_edges = given.heads.size();
  bool sorted = true;
  for (std::size_t g = 0; g < size(); ++g) {
    const std::size_t n_nodes = first_node(g + 1) - first_node(g);
    const std::span heads = given.heads.subspan(first_edge(g), first_edge(g + 1) - first_edge(g));
    sorted &= std::is_sorted(heads.begin(), heads.end());
    const std::size_t first = in_starts_.size();
    in_starts_.resize(first + n_nodes + 1);
    for (std::int32_t head : heads) ++in_starts_[first + static_cast<std::size_t>(head) + 1];
    std::partial_sum(in_starts_.begin() + static_cast<std::ptrdiff_t>(first), in_starts_.end(),
                     in_starts_.begin() + static_cast<std::ptrdiff_t>(first));
  }
  if (!sorted) {  // those with one head keep their order
    order_.resize(n_edges);
    for (std::size_t g = 0; g < size(); ++g) {
      std::vector<std::int64_t> next(in_starts_.begin() + static_cast<std::ptrdiff_t>(first_node(g) + g),
                                     in_starts_.begin() + static_cast<std::ptrdiff_t>(first_node(g + 1) + g + 1));
      for (std::size_t e = first_edge(g); e < first_edge(g + 1); ++e)
        order_[first_edge(g) + static_cast<std::size_t>(next[static_cast<std::size_t>(given.heads[e])]++)] =
            static_cast<std::int64_t>(e);
    }
  }
  tail_starts_.reserve(n_edges + 1), tails_.reserve(given.tails.size());
  tail_starts_.push_back(0);
  lattice_ = true;
  for (std::size_t e = 0; e < n_edges; ++e) {
    const std::size_t from = this->given(e);
    for (std::int64_t i = given.tail_starts[from]; i < given.tail_starts[from + 1]; ++i)
      tails_.push_back(given.tails[static_cast<std::size_t>(i)]);
    tail_starts_.push_back(static_cast<std::int64_t>(tails_.size()));
    lattice_ &= tail_starts_[e + 1] == tail_starts_[e] + 1;
  }
}

}  // namespace trellis

#include "engine/hypergraph.hpp"

#include <algorithm>
#include <numeric>

namespace trellis {

bool are_hypergraphs(const HypergraphArrays& arrays) {
  for (std::size_t g = 0; g < arrays.node_counts.size(); ++g) {
    const auto is_node = [&](std::int64_t node) { return node >= 0 && node < arrays.node_counts[g]; };
    if (!is_node(arrays.goals[g])) return false;
    for (auto e = static_cast<std::size_t>(arrays.edge_starts[g]); e < static_cast<std::size_t>(arrays.edge_starts[g + 1]); ++e) {
      const std::int32_t head = arrays.heads[e];
      if (!is_node(head) || (e > static_cast<std::size_t>(arrays.edge_starts[g]) && head < arrays.heads[e - 1])) return false;
      for (std::int64_t i = arrays.tail_starts[e]; i < arrays.tail_starts[e + 1]; ++i)
        if (const std::int32_t tail = arrays.tails[static_cast<std::size_t>(i)]; !is_node(tail) || tail >= head) return false;
    }
  }
  return true;
}

Hypergraphs::Hypergraphs(const HypergraphArrays& arrays) : arrays_(arrays), node_starts_{0} {
  for (std::size_t g = 0; g < size(); ++g) {
    node_starts_.push_back(node_starts_.back() + static_cast<std::size_t>(arrays.node_counts[g]));
    in_starts_.resize(node_starts_.back() + g + 1);
    const auto starts = in_starts_.begin() + static_cast<std::ptrdiff_t>(first_node(g) + g);
    for (std::size_t e = first_edge(g); e < first_edge(g + 1); ++e) ++starts[arrays.heads[e] + 1];
    std::partial_sum(starts, in_starts_.end(), starts);
  }
  for (std::size_t e = 0; e < n_edges(); ++e) lattice_ &= arrays.tail_starts[e + 1] == arrays.tail_starts[e] + 1;
}

}  // namespace trellis

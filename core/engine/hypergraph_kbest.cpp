#include "engine/hypergraph_kbest.hpp"

namespace trellis {

KBestDerivations::KBestDerivations(const HypergraphView& graph, const double* scores, HypergraphWorkspace& work)
    : graph_(graph), scores_(scores), best_(graph.n_nodes), nodes_(graph.n_nodes) {
  inside<BestOf>(graph, [&](std::size_t e) { return scores[e]; }, SharedTerms<double>{work.terms}, best_.data());
}

bool KBestDerivations::after(const Derivation& a, const Derivation& b) const {
  if (a.score != b.score) return a.score < b.score;
  if (a.edge != b.edge) return a.edge > b.edge;
  const std::size_t n = graph_.tails_of(a.edge).size();
  for (std::size_t i = 0; i < n; ++i)
    if (ranks_[a.ranks + i] != ranks_[b.ranks + i]) return ranks_[a.ranks + i] > ranks_[b.ranks + i];
  return false;
}

void KBestDerivations::push(Node& node, std::size_t edge, std::size_t ranks) {
  double score = scores_[edge];
  const std::span<const std::int32_t> tails = graph_.tails_of(edge);
  for (std::size_t i = 0; i < tails.size(); ++i) {
    const auto u = static_cast<std::size_t>(tails[i]);
    const std::uint32_t rank = ranks_[ranks + i];
    score += rank ? nodes_[u].found[rank].score : best_[u];
  }
  if (score == kForbidden<double>) return;
  node.open.push_back({score, edge, ranks});
  std::push_heap(node.open.begin(), node.open.end(), [&](const auto& a, const auto& b) { return after(a, b); });
}

// The best derivation by each edge; what its tails' best ones are is not asked yet, only what they score.
void KBestDerivations::begin(Node& node, std::size_t v) {
  node.begun = true;
  if (graph_.n_in(v) == 0) {  // a leaf
    node.found.push_back({0, graph_.n_edges, 0});
    node.exhausted = true;
    return;
  }
  for (auto e = static_cast<std::size_t>(graph_.in_starts[v]); e < static_cast<std::size_t>(graph_.in_starts[v + 1]); ++e) {
    const std::size_t ranks = ranks_.size();
    ranks_.resize(ranks + graph_.tails_of(e).size(), 0);
    push(node, e, ranks);
  }
}

// A derivation (e, j) is followed up by (e, j + 1 at tail i) for the tails i from its last rank above 0 on: so each vector
// of ranks comes up once, after one that is no worse. What a node needs of others is put on a stack of its own, for a
// lattice may be deeper than the program's.
bool KBestDerivations::find(std::size_t k) {
  std::vector<Wanted> stack{{graph_.goal, k}};
  while (!stack.empty()) {
    const auto [v, n] = stack.back();
    Node& node = nodes_[v];
    if (!node.begun) begin(node, v);
    if (node.found.size() >= n || node.exhausted) {
      stack.pop_back();
      continue;
    }
    if (!node.found.empty()) {
      const Derivation last = node.found.back();
      const std::span<const std::int32_t> tails = graph_.tails_of(last.edge);
      if (node.next_tail < tails.size()) {
        const std::size_t i = node.next_tail;
        const auto u = static_cast<std::size_t>(tails[i]);
        const std::size_t wanted = ranks_[last.ranks + i] + 2;  // as many derivations has the tail to have
        if (nodes_[u].found.size() < wanted && !nodes_[u].exhausted) {
          stack.push_back({u, wanted});
          continue;
        }
        if (nodes_[u].found.size() >= wanted) {
          const std::size_t ranks = ranks_.size();
          ranks_.resize(ranks + tails.size());
          std::copy_n(ranks_.begin() + static_cast<std::ptrdiff_t>(last.ranks), tails.size(),
                      ranks_.begin() + static_cast<std::ptrdiff_t>(ranks));
          ++ranks_[ranks + i];
          push(node, last.edge, ranks);
        }
        ++node.next_tail;
        continue;
      }
    }
    if (node.open.empty()) {
      node.exhausted = true;
      continue;
    }
    std::pop_heap(node.open.begin(), node.open.end(), [&](const auto& a, const auto& b) { return after(a, b); });
    const Derivation next = node.open.back();
    node.open.pop_back();
    node.found.push_back(next);
    const std::size_t n_tails = graph_.tails_of(next.edge).size();
    node.next_tail = 0;
    for (std::size_t i = 0; i < n_tails; ++i)
      if (ranks_[next.ranks + i]) node.next_tail = i;
  }
  return nodes_[graph_.goal].found.size() >= k;
}

void KBestDerivations::edges(std::size_t rank, std::vector<std::int64_t>& edges) const {
  edges.clear();
  std::vector<std::pair<std::size_t, std::uint32_t>> open{{graph_.goal, static_cast<std::uint32_t>(rank)}};
  while (!open.empty()) {
    const auto [v, r] = open.back();
    open.pop_back();
    if (graph_.n_in(v) == 0) continue;
    // A node whose best derivation nobody asked for has not begun: the first edge that gives its score.
    std::size_t edge = 0, ranks = 0;
    if (r < nodes_[v].found.size()) {
      edge = nodes_[v].found[r].edge, ranks = nodes_[v].found[r].ranks;
    } else {
      for (edge = static_cast<std::size_t>(graph_.in_starts[v]);; ++edge) {
        double term = scores_[edge];
        for (std::int32_t u : graph_.tails_of(edge)) term += best_[static_cast<std::size_t>(u)];
        if (term == best_[v]) break;
      }
    }
    const bool found = r < nodes_[v].found.size();
    check_length(edges.size());
    edges.push_back(static_cast<std::int64_t>(edge));
    const std::span<const std::int32_t> tails = graph_.tails_of(edge);
    for (std::size_t i = tails.size(); i-- > 0;)
      open.push_back({static_cast<std::size_t>(tails[i]), found ? ranks_[ranks + i] : 0});
  }
}

}  // namespace trellis

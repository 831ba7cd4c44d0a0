#include "engine/spanning_trees.hpp"

#include <algorithm>
#include <numeric>

namespace trellis {

void SpanningTrees::OneRoot::operator-=(const OneRoot& other) {
  score -= other.score, n_root_arcs -= other.n_root_arcs, root_word -= other.root_word;
}
bool SpanningTrees::OneRoot::operator>(const OneRoot& other) const {
  if (is_forbidden(*this) || is_forbidden(other)) return !is_forbidden(*this) && is_forbidden(other);
  if (n_root_arcs != other.n_root_arcs) return n_root_arcs < other.n_root_arcs;
  return score != other.score ? score > other.score : root_word < other.root_word;
}

template <class Score>
void SpanningTrees::Edmonds<Score>::solve(std::size_t n_nodes, std::vector<std::uint32_t>& parent) {
  N = n_nodes;
  const auto n = static_cast<std::uint32_t>(N);
  arcs.resize(N * N), order.resize(N), names.resize(N), best.assign(N, 0), seen.assign(N, 0), in_cycle.assign(N, 0);
  for (std::uint32_t u = 0; u < n; ++u)
    for (std::uint32_t v = 0; v < n; ++v) arcs[u * N + v] = {u, v};
  std::iota(order.begin(), order.end(), 0u), std::iota(names.begin(), names.end(), 0u);
  cycles.clear();
  for (std::uint32_t u = 1; u < n; ++u)
    for (std::uint32_t v = 1; v < n; ++v)
      if (u != v && scores[u * N + v] > scores[best[v] * N + v]) best[v] = u;
  while (find_cycle()) contract();
  // The arc into each node; an arc into a cycle replaces the arc of one of its members, the last cycle first.
  const std::size_t n_names = N + cycles.size();
  entries.assign(n_names, kNoArc), above.assign(n_names, 0);
  for (std::uint32_t v : order)
    if (v && !is_forbidden(scores[best[v] * N + v])) entries[names[v]] = arcs[best[v] * N + v];
  for (std::size_t c = 0; c < cycles.size(); ++c)
    for (const Member& member : cycles[c]) above[member.name] = static_cast<std::uint32_t>(N + c);
  for (std::size_t c = cycles.size(); c-- > 0;) {
    const Arc entry = entries[N + c];
    for (const Member& member : cycles[c]) entries[member.name] = member.arc;
    std::uint32_t name = entry.word;
    if (name == 0) continue;  // no arc into the cycle is possible
    while (above[name] != N + c) name = above[name];
    entries[name] = entry;
  }
  parent.resize(N);
  for (std::uint32_t v = 0; v < n; ++v) parent[v] = entries[v].head;
}

template <class Score>
void SpanningTrees::Edmonds<Score>::find_best(std::uint32_t v) {
  best[v] = 0;
  for (std::uint32_t u : order)
    if (u != v && scores[u * N + v] > scores[best[v] * N + v]) best[v] = u;
}

// Marks a cycle of best arcs in in_cycle.
template <class Score>
bool SpanningTrees::Edmonds<Score>::find_cycle() {
  std::fill(seen.begin(), seen.end(), 0);
  for (std::uint32_t v : order) {
    std::uint32_t u = v;
    for (; u != 0 && seen[u] == 0; u = best[u]) seen[u] = v;
    if (u == 0 || seen[u] != v) continue;
    for (const std::uint32_t first = u; !in_cycle[first] || u != first; u = best[u]) in_cycle[u] = 1;
    return true;
  }
  return false;
}

// The cycle becomes the node of its first member, and the last node in order.
template <class Score>
void SpanningTrees::Edmonds<Score>::contract() {
  cycle.clear();
  for (std::uint32_t v : order)
    if (in_cycle[v]) cycle.push_back(v), cycles.items.push_back({names[v], arcs[best[v] * N + v]});
  order.erase(std::remove_if(order.begin(), order.end(), [&](std::uint32_t v) { return in_cycle[v] != 0; }), order.end());
  const std::uint32_t c = cycle[0];
  replaced.clear();
  for (std::uint32_t v : cycle) replaced.push_back(scores[best[v] * N + v]);
  for (std::uint32_t u : order) {
    Score top = forbidden(Score());
    Arc arc = kNoArc;
    for (std::size_t i = 0; i < cycle.size(); ++i) {
      Score score = scores[u * N + cycle[i]];
      score -= replaced[i];
      if (score > top) top = score, arc = arcs[u * N + cycle[i]];
    }
    scores[u * N + c] = top, arcs[u * N + c] = arc;
  }
  for (std::size_t i = 1; i < cycle.size(); ++i)
    for (std::uint32_t v : order)
      if (v && scores[cycle[i] * N + v] > scores[c * N + v])
        scores[c * N + v] = scores[cycle[i] * N + v], arcs[c * N + v] = arcs[cycle[i] * N + v];
  names[c] = static_cast<std::uint32_t>(N + cycles.size());
  cycles.end_group();
  order.push_back(c);
  find_best(c);
  for (std::uint32_t v : order)
    if (v != c && v && in_cycle[best[v]]) find_best(v);
  for (std::uint32_t v : cycle) in_cycle[v] = 0;
}

// The best tree with any number of words attached to the root.
double SpanningTrees::any_roots(std::size_t n, const std::vector<double>& arcs, std::int32_t* heads) {
  edmonds_.scores = arcs;
  edmonds_.solve(n + 1, parent_);
  double score = 0;
  for (std::size_t m = 1; m <= n; ++m) {
    heads[m - 1] = static_cast<std::int32_t>(parent_[m]);
    score += arcs[parent_[m] * (n + 1) + m];
  }
  return score;
}

// If the best tree has several words at the root, the best tree with the fewest (Stanojević & Cohen 2021) selects one word;
// ties: the first. Ties among trees with this word are decided as if it were the only candidate.
double SpanningTrees::one_root(std::size_t n, std::vector<double>& arcs, std::int32_t* heads) {
  double score = any_roots(n, arcs, heads);
  if (std::count(heads, heads + n, 0) != 1) {
    one_root_.scores.resize(arcs.size());
    for (std::size_t i = 0; i < arcs.size(); ++i) one_root_.scores[i] = {arcs[i], i <= n, i <= n ? static_cast<std::int32_t>(i) : 0};
    one_root_.solve(n + 1, parent_);
    if (std::count(parent_.begin() + 1, parent_.end(), 0u) != 1) return kForbidden<double>;
    const auto word = static_cast<std::size_t>(std::find(parent_.begin() + 1, parent_.end(), 0u) - parent_.begin());
    const std::vector<double> root(arcs.begin(), arcs.begin() + static_cast<std::ptrdiff_t>(n) + 1);
    std::fill_n(arcs.begin(), n + 1, kForbidden<double>);
    arcs[word] = root[word];
    score = any_roots(n, arcs, heads);
    std::copy(root.begin(), root.end(), arcs.begin());
  }
  return score > kForbidden<double> && is_tree({heads, n}) ? score : kForbidden<double>;
}

double SpanningTrees::best(const TreeScores& scores, std::int32_t* heads) {
  if (scores.n == 0) return 0;
  arcs_ = scores.arcs;
  return one_root(scores.n, arcs_, heads);
}

// The best tree that shares the heads of the first n_fixed words with another tree, but not the head of the next word.
SpanningTrees::Found SpanningTrees::within(const TreeScores& scores, const Found& from, std::size_t n_fixed) {
  const std::size_t n = scores.n;
  Found next{kForbidden<double>, std::vector<std::int32_t>(n), n_fixed, {}};
  if (n_fixed == from.n_fixed) next.forbidden = from.forbidden;  // heads already excluded for this word
  next.forbidden.emplace_back(static_cast<std::size_t>(from.heads[n_fixed]), n_fixed + 1);
  arcs_ = scores.arcs;
  for (std::size_t m = 1; m <= n_fixed; ++m)
    for (std::size_t h = 0; h <= n; ++h)
      if (static_cast<std::int32_t>(h) != from.heads[m - 1]) arcs_[h * (n + 1) + m] = kForbidden<double>;
  for (const auto& [h, m] : next.forbidden) arcs_[h * (n + 1) + m] = kForbidden<double>;
  next.score = one_root(n, arcs_, next.heads.data());
  return next;
}

std::size_t SpanningTrees::kbest(const TreeScores& scores, std::size_t k) {
  const std::size_t n = scores.n;
  found_.clear();
  if (k == 0) return 0;
  Found first{kForbidden<double>, std::vector<std::int32_t>(n), 0, {}};
  first.score = best(scores, first.heads.data());
  std::vector<Found> open;
  if (first.score > kForbidden<double>) open.push_back(std::move(first));
  while (found_.size() < k && !open.empty()) {
    const auto next = std::max_element(open.begin(), open.end(), [](const Found& a, const Found& b) { return a.score < b.score; });
    found_.push_back(std::move(*next));
    open.erase(next);
    if (found_.size() == k) break;
    const Found from = found_.back();
    for (std::size_t fixed = from.n_fixed; fixed < n; ++fixed)
      if (Found one = within(scores, from, fixed); one.score > kForbidden<double>) open.push_back(std::move(one));
  }
  return found_.size();
}

}  // namespace trellis

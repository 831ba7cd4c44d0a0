#include "engine/spanning_trees.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace trellis {

namespace {

// Chu-Liu/Edmonds on a dense graph of N nodes, node 0 the root: each node takes its best arc; a cycle of those becomes one
// node, whose arcs from outside count what they give more than the arc they replace.
struct Contraction {
  std::size_t N;
  std::vector<double> scores;                         // [N, N]
  std::vector<std::pair<std::size_t, std::size_t>> origin;  // [N, N] the arc of the level below that an arc stands for
};

void solve(const Contraction& graph, std::vector<std::size_t>& parent) {
  const std::size_t N = graph.N;
  parent.assign(N, 0);
  for (std::size_t v = 1; v < N; ++v)
    for (std::size_t u = 1; u < N; ++u)
      if (u != v && graph.scores[u * N + v] > graph.scores[parent[v] * N + v]) parent[v] = u;
  std::vector<std::size_t> seen(N, N), cycle;
  for (std::size_t v = 1; v < N && cycle.empty(); ++v) {
    std::size_t u = v;
    for (; u != 0 && seen[u] == N; u = parent[u]) seen[u] = v;
    if (u == 0 || seen[u] != v) continue;
    const std::size_t first = u;
    do cycle.push_back(u), u = parent[u];
    while (u != first);
  }
  if (cycle.empty()) return;
  std::vector<std::size_t> number(N, 0);  // in the graph above; the cycle is the last node
  std::vector<bool> in_cycle(N, false);
  for (std::size_t v : cycle) in_cycle[v] = true;
  std::size_t n_above = 0;
  for (std::size_t v = 0; v < N; ++v)
    if (!in_cycle[v]) number[v] = n_above++;
  const std::size_t M = n_above + 1;
  for (std::size_t v : cycle) number[v] = n_above;
  Contraction above{M, std::vector<double>(M * M, kForbidden<double>), std::vector<std::pair<std::size_t, std::size_t>>(M * M)};
  for (std::size_t u = 0; u < N; ++u)
    for (std::size_t v = 1; v < N; ++v) {
      if (number[u] == number[v]) continue;
      double score = graph.scores[u * N + v];
      if (in_cycle[v]) score -= graph.scores[parent[v] * N + v];
      const std::size_t at = number[u] * M + number[v];
      if (score > above.scores[at]) above.scores[at] = score, above.origin[at] = {u, v};
    }
  std::vector<std::size_t> chosen;
  solve(above, chosen);
  std::vector<std::size_t> below = parent;  // arcs of the cycle stay, but the one that is replaced
  for (std::size_t w = 1; w < M; ++w) {
    const std::size_t at = chosen[w] * M + w;
    if (above.scores[at] == kForbidden<double>) continue;
    below[above.origin[at].second] = above.origin[at].first;
  }
  parent = below;
}

}  // namespace

double SpanningTrees::any_roots(std::size_t n, const std::vector<double>& arcs, std::int32_t* heads) {
  std::vector<std::size_t> parent;
  solve({n + 1, arcs, {}}, parent);
  double score = 0;
  for (std::size_t m = 1; m <= n; ++m) {
    heads[m - 1] = static_cast<std::int32_t>(parent[m]);
    score += arcs[parent[m] * (n + 1) + m];
  }
  return score > kForbidden<double> && is_tree({heads, n}) ? score : kForbidden<double>;
}

double SpanningTrees::one_root(std::size_t n, std::vector<double>& arcs, std::int32_t* heads) {
  std::vector<std::size_t> parent;
  solve({n + 1, arcs, {}}, parent);
  const auto n_roots = std::count(parent.begin() + 1, parent.end(), std::size_t{0});
  if (n_roots == 1) return any_roots(n, arcs, heads);
  // More than one word took the root: the best tree for each of the words that may.
  std::vector<double> root(arcs.begin(), arcs.begin() + static_cast<std::ptrdiff_t>(n) + 1);
  std::vector<std::int32_t> tried(n);
  double best = kForbidden<double>;
  for (std::size_t r = 1; r <= n; ++r) {
    if (root[r] == kForbidden<double>) continue;
    std::fill_n(arcs.begin(), n + 1, kForbidden<double>);
    arcs[r] = root[r];
    if (const double score = any_roots(n, arcs, tried.data()); score > best) best = score, std::copy_n(tried.data(), n, heads);
  }
  std::copy(root.begin(), root.end(), arcs.begin());
  return best;
}

double SpanningTrees::best(const TreeScores& scores, std::int32_t* heads) {
  if (scores.n == 0) return 0;
  arcs_ = scores.arcs;
  return one_root(scores.n, arcs_, heads);
}

// The best tree that has the heads of the first n_fixed words of another, and of the next word not that head.
SpanningTrees::Found SpanningTrees::within(const TreeScores& scores, const Found& from, std::size_t n_fixed) {
  const std::size_t n = scores.n;
  Found next{kForbidden<double>, std::vector<std::int32_t>(n), n_fixed, {}};
  if (n_fixed == from.n_fixed) next.forbidden = from.forbidden;  // those of the same word
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

// A(h, m) = exp(score(h, m)). With L(m, m) = sum over h > 0 of A(h, m) and L(h, m) = -A(h, m), and the first row of L replaced by
// A(0, m), Z = det L; the arcs' shares follow from the inverse of L.
double SpanningTrees::sum(const TreeScores& scores, double* arcs) {
  const std::size_t n = scores.n;
  std::fill_n(arcs, (n + 1) * (n + 1), 0.0);
  if (n == 0) return 0;
  double log_z = 0;
  factors_.assign((n + 1) * (n + 1), 0);
  for (std::size_t m = 1; m <= n; ++m) {  // what all heads of a word have in common is taken out, so that no factor exceeds 1
    double most = kForbidden<double>;
    for (std::size_t h = 0; h <= n; ++h)
      if (h != m) most = std::max(most, scores.arc(h, m));
    if (most == kForbidden<double>) return kForbidden<double>;
    for (std::size_t h = 0; h <= n; ++h)
      if (h != m) factors_[h * (n + 1) + m] = std::exp(scores.arc(h, m) - most);
    log_z += most;
  }
  const auto factor = [&](std::size_t h, std::size_t m) { return factors_[h * (n + 1) + m]; };
  matrix_.assign(n * n, 0);
  inverse_.assign(n * n, 0);
  for (std::size_t m = 0; m < n; ++m) {
    for (std::size_t h = 0; h < n; ++h) {
      if (h == m) continue;
      matrix_[m * n + m] += factor(h + 1, m + 1);
      matrix_[h * n + m] = -factor(h + 1, m + 1);
    }
    inverse_[m * n + m] = 1;
  }
  for (std::size_t m = 0; m < n; ++m) matrix_[m] = factor(0, m + 1);
  for (std::size_t c = 0; c < n; ++c) {  // Gauss-Jordan with row pivots
    std::size_t pivot = c;
    for (std::size_t r = c + 1; r < n; ++r)
      if (std::abs(matrix_[r * n + c]) > std::abs(matrix_[pivot * n + c])) pivot = r;
    const double size = matrix_[pivot * n + c];
    if (size == 0) return kForbidden<double>;
    log_z += std::log(std::abs(size));
    if (pivot != c)
      for (std::size_t x = 0; x < n; ++x)
        std::swap(matrix_[pivot * n + x], matrix_[c * n + x]), std::swap(inverse_[pivot * n + x], inverse_[c * n + x]);
    for (std::size_t x = 0; x < n; ++x) matrix_[c * n + x] /= size, inverse_[c * n + x] /= size;
    for (std::size_t r = 0; r < n; ++r) {
      const double times = matrix_[r * n + c];
      if (r == c || times == 0) continue;
      for (std::size_t x = 0; x < n; ++x) {
        matrix_[r * n + x] -= times * matrix_[c * n + x];
        inverse_[r * n + x] -= times * inverse_[c * n + x];
      }
    }
  }
  // d log det / d A(h, m), times A(h, m)
  const auto inverse = [&](std::size_t m, std::size_t h) { return inverse_[(m - 1) * n + h - 1]; };
  for (std::size_t m = 1; m <= n; ++m) {
    arcs[m] = factor(0, m) * inverse(m, 1);
    for (std::size_t h = 1; h <= n; ++h) {
      if (h == m) continue;
      const double on_diagonal = m != 1 ? inverse(m, m) : 0, off_diagonal = h != 1 ? inverse(m, h) : 0;
      arcs[h * (n + 1) + m] = factor(h, m) * (on_diagonal - off_diagonal);
    }
  }
  return log_z;
}

}  // namespace trellis

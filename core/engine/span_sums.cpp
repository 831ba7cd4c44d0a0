// Probability of a span: the sum over all paths with exactly that span, by constrained forward-backward.
#include "engine/elementary.hpp"
#include "engine/forward_backward.hpp"

namespace trellis {
namespace {

// Paths with the span [b, e) of type k: a cut before b, none within, a cut before e, and only labels of type k inside.
// alpha covers the prefix before the span, `after` the suffix behind it; in between the recursion runs over the
// labels of type k only. s_t[y][z] is the sum over all prefixes of such paths with y, z at t-1, t:
//
//   s_b[y][z] = the sum over all prefixes with y, z at b-1, b, for cut(y, z);  y is NULL at the beginning of a sentence
//   s_t[y][z] = (sum_x s_{t-1}[x][y] · tri[x][y][z]) · edge_t[y][z] · emit_t[z], for !cut(y, z)
//   result    = sum_y,z s_{e-1}[y][z] · end[z], or sum_y,z,w s_{e-1}[y][z] · tri[y][z][w] · what follows z, w, for cut(z, w)
struct Spans {
  const ChainView<double>& chain;
  const PassScratch<double>& passes;
  const SpanLabels& labels;
  std::vector<std::size_t> inside;    // the labels of type k
  std::vector<double> score, longer;  // [L + 1, n_inside]

  bool cut(std::size_t y, std::size_t z) const { return labels.cut[y * chain.n_labels + z]; }
  double tri(std::size_t x, std::size_t y, std::size_t z) const {
    return chain.tri ? chain.tri_at(x, y)[z] : 1;
  }
  // Sum over all prefixes with y, z at t-1, t.
  double prefixes(std::size_t t, std::size_t y, std::size_t z) const {
    const double* alpha = passes.alpha.data() + t * chain.token_size();
    if (chain.tri || t == 0) return alpha[(t ? y * chain.stride : 0) + z];
    return *(alpha - chain.stride + y) * chain.edge_at(t, y)[z] * chain.emit_at(t)[z];
  }
  // Sum over all suffixes after z at t-1, w at t, without the triple.
  double follows(std::size_t t, std::size_t z, std::size_t w) const {
    const double* after = passes.after.data() + t * chain.token_size();
    return chain.tri ? after[z * chain.stride + w] : chain.edge_at(t, z)[w] * after[w];
  }

  double sum(const SpanQuery& span) {
    const std::size_t L = chain.n_labels;
    const auto b = static_cast<std::size_t>(span.begin), e = static_cast<std::size_t>(span.end);
    inside.clear();
    for (std::size_t z = 0; z < L; ++z)
      if (labels.type_of[z] == span.type) inside.push_back(z);
    const std::size_t n = inside.size();
    score.assign((L + 1) * n, 0);
    for (std::size_t j = 0; j < n; ++j) {
      if (b == 0) score[L * n + j] = prefixes(0, L, inside[j]);
      for (std::size_t y = 0; b > 0 && y < L; ++y)
        if (cut(y, inside[j])) score[y * n + j] = prefixes(b, y, inside[j]);
    }
    for (std::size_t t = b + 1; t < e; ++t) {
      longer.assign((L + 1) * n, 0);
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) {
          const std::size_t y = inside[i], z = inside[j];
          if (cut(y, z)) continue;
          double total = 0;
          for (std::size_t x = 0; x <= L; ++x) total += score[x * n + i] * tri(x, y, z);
          longer[y * n + j] = total * chain.edge_at(t, y)[z] * chain.emit_at(t)[z];
        }
      score.swap(longer);
    }
    double total = 0;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t y = 0; y <= L; ++y) {
        const std::size_t z = inside[i];
        const double s = score[y * n + i];
        if (s == 0) continue;
        if (e == chain.n_tokens) total += s * passes.end[z];
        for (std::size_t w = 0; e < chain.n_tokens && w < L; ++w)
          if (cut(z, w)) total += s * tri(y, z, w) * follows(e, z, w);
      }
    return total;
  }
};

// Whether a path with the span can have y, z at t - 1, t, for t from its begin to its end: only labels of its type inside,
// cuts at its borders and no cut inside.
bool may_have(const SpanQuery& span, const SpanLabels& labels, std::size_t L, std::size_t t, std::size_t y, std::size_t z) {
  const auto begin = static_cast<std::size_t>(span.begin), end = static_cast<std::size_t>(span.end);
  if (t < end && labels.type_of[z] != span.type) return false;
  return y == L || (labels.cut[y * L + z] != 0) == (t == begin || t == end);
}

}  // namespace

// If label n-grams cross the borders of a span, or products underflow: log Z of the paths with the span minus log Z of all.
double span_sums(const ChainView<double>& chain, SumWorkspace& work, const SpanLabels& labels, const SpanQuery* spans,
                 std::size_t n, double* probabilities) {
  const std::size_t T = chain.n_tokens, L = chain.n_labels, stride = chain.stride, cells = (L + 1) * stride;
  if (T == 0) return 0;
  if (!chain.ngrams) {
    load_sentence(chain, work);
    work.node.resize(T * stride);
    Expectations<double> x;
    x.node = work.node.data();
    const double log_z = sum_product(work.factors, work.emit.data(), T, work.token_edge(), 1.0, work.passes, &x);
    const double* token_edge = work.edge_per_token ? work.passes.edge.data() : nullptr;
    const ChainView<double> factors = work.factors.view(T, work.passes.emit.data(), token_edge);
    Spans sums{factors, work.passes, labels, {}, {}, {}};
    for (std::size_t i = 0; i < n && log_z > kForbidden<double>; ++i) probabilities[i] = sums.sum(spans[i]);
    if (log_z > kForbidden<double>) return log_z;
  }
  const double log_z = log_partition(chain, work);
  std::vector<double> edge(T * cells);  // [T, L+1, stride]
  ChainView<double> having = chain;
  having.edge_per_token = true, having.edge = edge.data();
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t t = 0; t < T; ++t) std::copy_n(chain.edge_at(t, 0), cells, edge.data() + t * cells);
    for (auto t = static_cast<std::size_t>(spans[i].begin); t < std::min(static_cast<std::size_t>(spans[i].end) + 1, T); ++t)
      for (std::size_t y = 0; y <= L; ++y)
        for (std::size_t z = 0; z < L; ++z)
          if (!may_have(spans[i], labels, L, t, y, z)) edge[t * cells + y * stride + z] = kForbidden<double>;
    probabilities[i] = log_z > kForbidden<double> ? exp(log_partition(having, work) - log_z) : 0;
  }
  return log_z;
}

}  // namespace trellis

#include "engine/span_sums.hpp"

#include <vector>

#include "engine/log_sums.hpp"

namespace trellis {
namespace {

// Paths with the span [b, e) of type k: a cut before b, none within, a cut before e, and only labels of type k inside.
// What comes before the span is in alpha, what comes after it in `after`; between them the recursion goes over the few
// labels of type k alone. s_t[y][z] is the sum over all beginnings of such paths with y, z at t-1, t:
//
//   s_b[y][z] = the sum over all prefixes with y, z at b-1, b, for cut(y, z);  y is NULL at the beginning of a sentence
//   s_t[y][z] = (sum_x s_{t-1}[x][y] · tri[x][y][z]) · edge_t[y][z] · emit_t[z], for !cut(y, z)
//   result    = sum_y,z s_{e-1}[y][z] · end[z], or sum_y,z,w s_{e-1}[y][z] · tri[y][z][w] · what follows z, w, for cut(z, w)
template <class S>
struct Spans {
  const ChainView<double>& chain;
  const PassScratch<double>& passes;
  const SpanLabels& labels;
  std::vector<std::size_t> inside;    // the labels of type k
  std::vector<double> score, longer;  // [L + 1, n_inside]

  TRELLIS_INLINE static double product(double a, double b, double c = S::template one<double>) {
    return S::times(S::times(a, b), c);
  }
  TRELLIS_INLINE bool cut(std::size_t y, std::size_t z) const { return labels.cut[y * chain.n_labels + z]; }
  TRELLIS_INLINE double tri(std::size_t x, std::size_t y, std::size_t z) const {
    return chain.tri ? chain.tri_at(x, y)[z] : S::template one<double>;
  }
  // All prefixes with y, z at t-1, t.
  TRELLIS_INLINE double prefixes(std::size_t t, std::size_t y, std::size_t z) const {
    const double* alpha = passes.alpha.data() + t * chain.token_size();
    if (chain.tri || t == 0) return alpha[(t ? y * chain.stride : 0) + z];
    return product(*(alpha - chain.stride + y), chain.edge_at(t, y)[z], chain.emit_at(t)[z]);
  }
  // All that follows z at t-1 with w at t, but for a triple.
  TRELLIS_INLINE double follows(std::size_t t, std::size_t z, std::size_t w) const {
    const double* after = passes.after.data() + t * chain.token_size();
    return chain.tri ? after[z * chain.stride + w] : S::times(chain.edge_at(t, z)[w], after[w]);
  }

  TRELLIS_INLINE double sum(const SpanQuery& span) {
    const std::size_t L = chain.n_labels;
    const auto b = static_cast<std::size_t>(span.begin), e = static_cast<std::size_t>(span.end);
    inside.clear();
    for (std::size_t z = 0; z < L; ++z)
      if (labels.type_of[z] == span.type) inside.push_back(z);
    const std::size_t n = inside.size();
    score.assign((L + 1) * n, S::template zero<double>);
    for (std::size_t j = 0; j < n; ++j) {
      if (b == 0) score[L * n + j] = prefixes(0, L, inside[j]);
      for (std::size_t y = 0; b > 0 && y < L; ++y)
        if (cut(y, inside[j])) score[y * n + j] = prefixes(b, y, inside[j]);
    }
    for (std::size_t t = b + 1; t < e; ++t) {
      longer.assign((L + 1) * n, S::template zero<double>);
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j) {
          const std::size_t y = inside[i], z = inside[j];
          if (cut(y, z)) continue;
          double total = S::template zero<double>;
          for (std::size_t x = 0; x <= L; ++x) total = S::plus(total, S::times(score[x * n + i], tri(x, y, z)));
          longer[y * n + j] = product(total, chain.edge_at(t, y)[z], chain.emit_at(t)[z]);
        }
      score.swap(longer);
    }
    double total = S::template zero<double>;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t y = 0; y <= L; ++y) {
        const std::size_t z = inside[i];
        const double s = score[y * n + i];
        if (s == S::template zero<double>) continue;
        if (e == chain.n_tokens) total = S::plus(total, S::times(s, passes.end[z]));
        for (std::size_t w = 0; e < chain.n_tokens && w < L; ++w)
          if (cut(z, w)) total = S::plus(total, product(s, tri(y, z, w), follows(e, z, w)));
      }
    return total;
  }
};

TRELLIS_CLONES double run(SumWorkspace& w, std::size_t T, const SpanLabels& labels, const SpanQuery* queries,
                          std::size_t n, double* probabilities) {
  PassScratch<double>& passes = w.passes;
  double log_z = scaled_forward(w.factors, w.emit.data(), T, w.token_edge(), passes);
  if (log_z > kForbidden<double>) {
    scaled_backward(w.factors, T, w.edge_per_token, passes, [](auto...) TRELLIS_INLINE_LAMBDA {});
    const ChainView<double> chain = w.factors.view(T, passes.emit.data(), w.edge_per_token ? passes.edge.data() : nullptr);
    Spans<SumProduct> spans{chain, passes, labels, {}, {}, {}};
    for (std::size_t i = 0; i < n; ++i) probabilities[i] = spans.sum(queries[i]);
    return log_z;
  }
  w.tables.turn();
  log_z = log_passes(w.tables, w.emit.data(), T, w.token_edge(), passes);
  const ChainView<double> chain = w.tables.view(T, w.emit.data(), w.token_edge());
  Spans<LogSum> spans{chain, passes, labels, {}, {}, {}};
  for (std::size_t i = 0; i < n; ++i)
    probabilities[i] = log_z > kForbidden<double> ? std::exp(spans.sum(queries[i]) - log_z) : 0;
  return log_z;
}

// Where label n-grams reach over the borders of a span: log Z of the paths that have it, less log Z of all. A path that has
// it has only labels of its type inside, cuts at its borders and none within.
template <class Real>
double history_span_sums(const ChainView<Real>& chain, SumWorkspace& work, const SpanLabels& labels, const SpanQuery* spans,
                         std::size_t n, double* probabilities) {
  const std::size_t T = chain.n_tokens, L = chain.n_labels, stride = chain.stride, cells = (L + 1) * stride;
  const double log_z = log_partition(chain, work);
  std::vector<Real> emit, edge(T * cells);  // [T, stride], [T, L+1, stride]
  ChainView<Real> having = chain;
  having.edge_per_token = true;
  for (std::size_t i = 0; i < n; ++i) {
    const auto b = static_cast<std::size_t>(spans[i].begin), e = static_cast<std::size_t>(spans[i].end);
    emit.assign(chain.emit, chain.emit + T * stride);
    for (std::size_t t = 0; t < T; ++t) std::copy_n(chain.edge_at(t, 0), cells, edge.data() + t * cells);
    for (std::size_t t = b; t < std::min(e + 1, T); ++t) {
      for (std::size_t z = 0; z < L; ++z)
        if (t < e && labels.type_of[z] != spans[i].type) emit[t * stride + z] = kForbidden<Real>;
      for (std::size_t y = 0; t > 0 && y < L; ++y)
        for (std::size_t z = 0; z < L; ++z)
          if ((labels.cut[y * L + z] != 0) != (t == b || t == e)) edge[t * cells + y * stride + z] = kForbidden<Real>;
    }
    having.emit = emit.data(), having.edge = edge.data();
    probabilities[i] = log_z > kForbidden<double> ? std::exp(log_partition(having, work) - log_z) : 0;
  }
  return log_z;
}

}  // namespace

template <class Real>
double span_sums(const ChainView<Real>& chain, SumWorkspace& work, const SpanLabels& labels, const SpanQuery* spans,
                 std::size_t n, double* probabilities) {
  if (chain.n_tokens == 0) return 0;
  if (chain.ngrams) return history_span_sums(chain, work, labels, spans, n, probabilities);
  load_sentence(chain, work);
  return run(work, chain.n_tokens, labels, spans, n, probabilities);
}
template double span_sums(const ChainView<float>&, SumWorkspace&, const SpanLabels&, const SpanQuery*, std::size_t, double*);
template double span_sums(const ChainView<double>&, SumWorkspace&, const SpanLabels&, const SpanQuery*, std::size_t, double*);

}  // namespace trellis

#include "engine/span_sums.hpp"

#include <vector>

#include "engine/passes.hpp"

namespace trellis {
namespace {

// Sums of exponentials of any size, added one by one.
struct LogSum {
  double top = kImpossible, sum = 0;
  TRELLIS_INLINE void add(double a) {
    if (a == kImpossible) return;
    if (a <= top) {
      sum += std::exp(a - top);
    } else {
      sum = sum * std::exp(top - a) + 1;
      top = a;
    }
  }
  TRELLIS_INLINE double value() const { return top == kImpossible ? top : top + std::log(sum); }
};

// Paths with the span [b, e) of type k: a cut before b, none within, a cut before e, and only labels of type k inside.
// What comes before the span is in alpha, what comes after it in beta; between them the recursion goes over the few
// labels of type k alone.
template <class Real>
struct Spans {
  const Passes<Real>& passes;
  const SpanLabels& labels;
  std::vector<std::size_t> inside;    // the labels of type k
  std::vector<double> score, longer;  // order 1: [n_inside]; order 2: [L + 1, n_inside]

  TRELLIS_INLINE bool cut(std::size_t y, std::size_t z) const { return labels.cut[y * passes.L + z]; }
  TRELLIS_INLINE double edge(std::size_t t, std::size_t y, std::size_t z) const {
    return static_cast<double>(passes.chain.edge_at(t, y)[z]);
  }
  TRELLIS_INLINE double tri(std::size_t x, std::size_t y, std::size_t z) const {
    return static_cast<double>(passes.chain.tri_at(x, y)[z]);
  }
  TRELLIS_INLINE double emit(std::size_t t, std::size_t z) const { return passes.emit[t * passes.stride + z]; }

  TRELLIS_INLINE double log_sum(const SpanQuery& span) {
    inside.clear();
    for (std::size_t z = 0; z < passes.L; ++z)
      if (labels.type_of[z] == span.type) inside.push_back(z);
    if (inside.empty()) return kImpossible;
    const auto b = static_cast<std::size_t>(span.begin), e = static_cast<std::size_t>(span.end);
    return passes.chain.tri ? log_sum_2(b, e) : log_sum_1(b, e);
  }

  // s_b[z] = log sum_y cut(y, z) exp(alpha[b-1][y] + edge_b[y][z]) + emit[b][z], or alpha[0][z]
  // s_t[z] = log sum_y !cut(y, z) exp(s_{t-1}[y] + edge_t[y][z]) + emit[t][z]
  // the sum is log sum_z exp(s_{e-1}[z] + end[z]), or log sum_z,w cut(z, w) exp(s_{e-1}[z] + edge_e[z][w] + ...)
  TRELLIS_INLINE double log_sum_1(std::size_t b, std::size_t e) {
    const std::size_t n = inside.size(), L = passes.L, stride = passes.stride;
    score.assign(n, kImpossible);
    longer.assign(n, kImpossible);
    for (std::size_t j = 0; j < n; ++j) {
      LogSum sum;
      if (b == 0) sum.add(passes.alpha[inside[j]]);
      for (std::size_t y = 0; b > 0 && y < L; ++y)
        if (cut(y, inside[j])) sum.add(passes.alpha[(b - 1) * stride + y] + edge(b, y, inside[j]) + emit(b, inside[j]));
      score[j] = sum.value();
    }
    for (std::size_t t = b + 1; t < e; ++t) {
      for (std::size_t j = 0; j < n; ++j) {
        LogSum sum;
        for (std::size_t i = 0; i < n; ++i)
          if (!cut(inside[i], inside[j])) sum.add(score[i] + edge(t, inside[i], inside[j]));
        longer[j] = sum.value() + emit(t, inside[j]);
      }
      score.swap(longer);
    }
    LogSum all;
    for (std::size_t i = 0; i < n; ++i) {
      if (e == passes.T) all.add(score[i] + passes.end(0, inside[i]));
      for (std::size_t w = 0; e < passes.T && w < L; ++w)
        if (cut(inside[i], w))
          all.add(score[i] + edge(e, inside[i], w) + emit(e, w) + passes.beta[e * stride + w]);
    }
    return all.value();
  }

  // As above with histories: s_b[y][z] = alpha[b][y][z] where cut(y, z), y = NULL at b = 0
  // s_t[y][z] = log sum_x exp(s_{t-1}[x][y] + tri[x][y][z]) + edge_t[y][z] + emit[t][z] where !cut(y, z)
  TRELLIS_INLINE double log_sum_2(std::size_t b, std::size_t e) {
    const std::size_t n = inside.size(), L = passes.L, stride = passes.stride, token = passes.token;
    score.assign((L + 1) * n, kImpossible);
    for (std::size_t j = 0; j < n; ++j) {
      if (b == 0) score[L * n + j] = passes.alpha[inside[j]];
      for (std::size_t y = 0; b > 0 && y < L; ++y)
        if (cut(y, inside[j])) score[y * n + j] = passes.alpha[b * token + y * stride + inside[j]];
    }
    for (std::size_t t = b + 1; t < e; ++t) {
      longer.assign((L + 1) * n, kImpossible);
      for (std::size_t i = 0; i < n; ++i) {
        const std::size_t y = inside[i];
        for (std::size_t j = 0; j < n; ++j) {
          if (cut(y, inside[j])) continue;
          LogSum sum;
          for (std::size_t x = 0; x <= L; ++x) sum.add(score[x * n + i] + tri(x, y, inside[j]));
          longer[y * n + j] = sum.value() + edge(t, y, inside[j]) + emit(t, inside[j]);
        }
      }
      score.swap(longer);
    }
    LogSum all;
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t z = inside[i];
      for (std::size_t y = 0; y <= L; ++y) {
        const double s = score[y * n + i];
        if (s == kImpossible) continue;
        if (e == passes.T) all.add(s + passes.end(y, z));
        for (std::size_t w = 0; e < passes.T && w < L; ++w)
          if (cut(z, w))
            all.add(s + tri(y, z, w) + edge(e, z, w) + emit(e, w) + passes.beta[e * token + z * stride + w]);
      }
    }
    return all.value();
  }
};

template <class Real>
TRELLIS_INLINE double span_sums_any(const ChainView<Real>& chain, SumWorkspace& work, const SpanLabels& labels,
                                    const SpanQuery* queries, std::size_t n, double* probabilities) {
  std::fill_n(probabilities, n, 0.0);
  if (chain.n_tokens == 0) return 0;
  const Passes<Real> passes(chain, work);
  const double log_z = passes.both();
  if (log_z == kImpossible) return log_z;
  Spans<Real> spans{passes, labels, {}, {}, {}};
  for (std::size_t i = 0; i < n; ++i) probabilities[i] = std::exp(spans.log_sum(queries[i]) - log_z);
  return log_z;
}

}  // namespace

TRELLIS_CLONES double span_sums(const ChainView<float>& chain, SumWorkspace& work, const SpanLabels& labels,
                                const SpanQuery* spans, std::size_t n, double* probabilities) {
  return span_sums_any(chain, work, labels, spans, n, probabilities);
}
TRELLIS_CLONES double span_sums(const ChainView<double>& chain, SumWorkspace& work, const SpanLabels& labels,
                                const SpanQuery* spans, std::size_t n, double* probabilities) {
  return span_sums_any(chain, work, labels, spans, n, probabilities);
}

}  // namespace trellis

// Both passes of forward-backward over one sentence, in logarithms; shared by the kernels that sum over paths.
//
// A log-sum-exp over rows of a table is done as a product with the table's exponentials (one exp a row instead of one a
// cell); where that underflows, the state is summed again exactly.
#pragma once
#include <algorithm>
#include <cmath>

#include "engine/exponential.hpp"
#include "engine/forward_backward.hpp"

namespace trellis {

inline constexpr double kImpossible = kForbidden<double>;
// Factors are at most 1. A sum above this owes nothing that counts to factors near the smallest double, about 1e-308.
inline constexpr double kSafe = 1e-200;

// A table of log scores, rows of z, and its exponentials exp(score - top) if it has them.
template <class Real>
struct Table {
  const Real* scores;
  const double* exps;  // or null
  std::size_t step;    // from row to row, in both
  double top;
};

// log sum_i exp(a_i), a_i = from[i * from_step] + scores[i * step]
template <class Real>
TRELLIS_INLINE double exact_sum(const double* from, std::size_t from_step, const Real* scores, std::size_t step,
                                std::size_t n) {
  double top = kImpossible;
  for (std::size_t i = 0; i < n; ++i) top = std::max(top, from[i * from_step] + static_cast<double>(scores[i * step]));
  if (top == kImpossible) return kImpossible;
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i)
    sum += std::exp(from[i * from_step] + static_cast<double>(scores[i * step]) - top);
  return top + std::log(sum);
}

// In place over lanes; beyond n, up to the next multiple of kLanes<double>, whatever stands there is overwritten.
TRELLIS_INLINE void exp_all(double* a, std::size_t n) {
  for (std::size_t i = n; i % kLanes<double>; ++i) a[i] = 0;
  for (std::size_t i = 0; i < n; i += kLanes<double>) lanes(a + i) = exp_lanes(lanes(a + i));
}
TRELLIS_INLINE void log_all(double* a, std::size_t n) {
  for (std::size_t i = n; i % kLanes<double>; ++i) a[i] = 1;
  for (std::size_t i = 0; i < n; i += kLanes<double>) lanes(a + i) = log_lanes(lanes(a + i));
}

// e_i = exp(from[i * from_step] - top) and top = max_i; minus infinity leaves e alone.
TRELLIS_INLINE double exps_of(const double* from, std::size_t from_step, std::size_t n, double* e) {
  double top = kImpossible;
  for (std::size_t i = 0; i < n; ++i) top = std::max(top, from[i * from_step]);
  if (top == kImpossible) return top;
  for (std::size_t i = 0; i < n; ++i) e[i] = from[i * from_step] - top;
  exp_all(e, n);
  return top;
}

// Forward: out[z] = log sum_i exp(from[i] + table[i][z]) = top + log sum_i e_i exp(table[i][z])
template <class Real>
TRELLIS_INLINE void sum_rows(const double* from, std::size_t from_step, const Table<Real>& table, std::size_t L,
                             std::size_t stride, SumWorkspace& work, double* out) {
  double* e = work.exps.grow(stride);
  double* sums = work.sums.grow(stride);
  const double top = exps_of(from, from_step, L, e);
  if (top == kImpossible) {
    for (std::size_t z = 0; z < L; ++z) out[z] = kImpossible;
    return;
  }
  for (std::size_t z = 0; z < stride; ++z) sums[z] = 0;
  if (table.exps)
    for (std::size_t i = 0; i < L; ++i)
      for (std::size_t z = 0; z < stride; z += kLanes<double>) lanes(sums + z) += e[i] * lanes(table.exps + i * table.step + z);
  double* logs = work.logs.grow(stride);
  std::copy_n(sums, stride, logs);
  log_all(logs, L);
  for (std::size_t z = 0; z < L; ++z)
    out[z] = sums[z] > kSafe ? (top + table.top) + logs[z]
                             : exact_sum(from, from_step, table.scores + z, table.step, L);
}

// Backward: out[i] = log sum_z exp(table[i][z] + to[z]) = top + log sum_z exp(table[i][z]) e_z
template <class Real>
TRELLIS_INLINE void sum_columns(const double* to, const Table<Real>& table, std::size_t n, std::size_t L,
                                std::size_t stride, SumWorkspace& work, double* out, std::size_t out_step) {
  double* e = work.exps.grow(stride);
  double* sums = work.sums.grow(stride);
  double* logs = work.logs.grow(stride);
  const double top = exps_of(to, 1, L, e);
  for (std::size_t z = L; z < stride; ++z) e[z] = 0;
  for (std::size_t i = 0; i < n; ++i) {
    double sum = 0;
    if (table.exps && top > kImpossible) {
      Vector<double> total = {};
      for (std::size_t z = 0; z < stride; z += kLanes<double>) total += lanes(table.exps + i * table.step + z) * lanes(e + z);
      sum = (total[0] + total[2]) + (total[1] + total[3]);
    }
    sums[i] = logs[i] = sum;
  }
  log_all(logs, n);
  for (std::size_t i = 0; i < n; ++i)
    out[i * out_step] = sums[i] > kSafe ? (top + table.top) + logs[i]
                                        : exact_sum(to, 1, table.scores + i * table.step, 1, L);
}

// Both passes over one sentence.
template <class Real>
struct Passes {
  const ChainView<Real>& chain;
  SumWorkspace& work;
  std::size_t T, L, stride;
  std::size_t token;         // from t to t + 1 in alpha and beta
  const double* emit;        // [T, stride]
  double* alpha;
  double* beta;

  TRELLIS_INLINE Passes(const ChainView<Real>& chain, SumWorkspace& work)
      : chain(chain), work(work), T(chain.n_tokens), L(chain.n_labels), stride(chain.stride),
        token(chain.tri ? L * stride : stride), alpha(work.alpha.grow(T * token)), beta(work.beta.grow(T * token)) {
    double* scores = work.emit.grow(T * stride);
    emit = scores;
    for (std::size_t t = 0; t < T; ++t) {
      for (std::size_t z = 0; z < L; ++z)
        scores[t * stride + z] = chain.allowed ? kImpossible : static_cast<double>(chain.emit_at(t)[z]);
      if (!chain.allowed) continue;
      const ListedLabels labels = labels_of(*chain.allowed, t);
      for (std::size_t j = 0; j < labels.size(); ++j)
        scores[t * stride + labels[j]] = static_cast<double>(chain.emit_at(t)[labels[j]]);
    }
  }

  // Order 1: the edges into t. Order 2: the trigrams x, y, z of one y.
  TRELLIS_INLINE Table<Real> edges(std::size_t t) const {
    return {chain.edge_at(t, 0), work.has_table ? work.table.grow(0) : nullptr, stride, work.top};
  }
  TRELLIS_INLINE Table<Real> tris(std::size_t x, std::size_t y) const {
    const std::size_t at = (x * (L + 1) + y) * stride;
    return {chain.tri + at, work.table.grow(0) + at, (L + 1) * stride, work.top};
  }
  TRELLIS_INLINE double end(std::size_t y, std::size_t z) const {
    return chain.end ? static_cast<double>(chain.end[(chain.tri ? y * stride : 0) + z]) : 0.0;
  }

  // alpha[0][z] = edge_0[NULL][z] + emit[0][z] (+ tri[NULL][NULL][z])
  TRELLIS_INLINE void start() const {
    for (std::size_t z = 0; z < L; ++z) {
      alpha[z] = static_cast<double>(chain.edge_at(0, L)[z]) + emit[z];
      if (chain.tri) alpha[z] += static_cast<double>(chain.tri_at(L, L)[z]);
    }
  }

  // alpha[t][z] = log sum_y exp(alpha[t-1][y] + edge_t[y][z]) + emit[t][z]
  TRELLIS_INLINE void forward_1() const {
    for (std::size_t t = 1; t < T; ++t) {
      double* out = alpha + t * stride;
      sum_rows(out - stride, 1, edges(t), L, stride, work, out);
      for (std::size_t z = 0; z < L; ++z) out[z] += emit[t * stride + z];
    }
  }

  // alpha[1][y][z] = alpha[0][y] + tri[NULL][y][z] + edge_1[y][z] + emit[1][z]
  // alpha[t][y][z] = log sum_x exp(alpha[t-1][x][y] + tri[x][y][z]) + edge_t[y][z] + emit[t][z]
  TRELLIS_INLINE void forward_2() const {
    for (std::size_t t = 1; t < T; ++t) {
      const double* before = alpha + (t - 1) * token;
      for (std::size_t y = 0; y < L; ++y) {
        double* out = alpha + t * token + y * stride;
        if (t == 1)
          for (std::size_t z = 0; z < L; ++z) out[z] = before[y] + static_cast<double>(chain.tri_at(L, y)[z]);
        else
          sum_rows(before + y, stride, tris(0, y), L, stride, work, out);
        for (std::size_t z = 0; z < L; ++z)
          out[z] += static_cast<double>(chain.edge_at(t, y)[z]) + emit[t * stride + z];
      }
    }
  }

  // How many rows of labels y the states of token t have, and which label a row stands for.
  std::size_t n_rows(std::size_t t) const { return chain.tri && t ? L : 1; }
  std::size_t label_of(std::size_t t, std::size_t row) const { return chain.tri && t == 0 ? L : row; }

  // beta[T-1] = end; log Z = log sum exp(alpha[T-1] + beta[T-1])
  TRELLIS_INLINE double finish() const {
    double top = kImpossible, sum = 0;
    const std::size_t last = (T - 1) * token;
    for (std::size_t row = 0; row < n_rows(T - 1); ++row) {
      for (std::size_t z = 0; z < L; ++z) {
        const std::size_t at = last + row * stride + z;
        beta[at] = end(label_of(T - 1, row), z);
        top = std::max(top, alpha[at] + beta[at]);
      }
    }
    if (top == kImpossible) return top;
    for (std::size_t row = 0; row < n_rows(T - 1); ++row)
      for (std::size_t z = 0; z < L; ++z) {
        const std::size_t at = last + row * stride + z;
        sum += std::exp(alpha[at] + beta[at] - top);
      }
    return top + std::log(sum);
  }

  // beta[t-1][y] = log sum_z exp(edge_t[y][z] + emit[t][z] + beta[t][z])
  TRELLIS_INLINE void backward_1() const {
    double* to = work.weights.grow(stride);
    for (std::size_t t = T - 1; t > 0; --t) {
      for (std::size_t z = 0; z < L; ++z) to[z] = emit[t * stride + z] + beta[t * stride + z];
      sum_columns(to, edges(t), L, L, stride, work, beta + (t - 1) * stride, 1);
    }
  }

  // beta[t-1][x][y] = log sum_z exp(tri[x][y][z] + edge_t[y][z] + emit[t][z] + beta[t][y][z]), x = NULL at t = 1
  TRELLIS_INLINE void backward_2() const {
    double* to = work.weights.grow(stride);
    for (std::size_t t = T - 1; t > 0; --t) {
      for (std::size_t y = 0; y < L; ++y) {
        for (std::size_t z = 0; z < L; ++z)
          to[z] = static_cast<double>(chain.edge_at(t, y)[z]) + emit[t * stride + z] + beta[t * token + y * stride + z];
        double* out = beta + (t - 1) * token + y;
        sum_columns(to, tris(t == 1 ? L : 0, y), n_rows(t - 1), L, stride, work, out, stride);
      }
    }
  }

  // log Z; alpha and beta are filled unless it is minus infinity.
  TRELLIS_INLINE double both() const {
    start();
    chain.tri ? forward_2() : forward_1();
    const double log_z = finish();
    if (log_z > kImpossible) chain.tri ? backward_2() : backward_1();
    return log_z;
  }

  // P(y at t-1, z at t) = exp(alpha[t-1][y] + edge_t[y][z] + emit[t][z] + beta[t][z] - log Z);   node sums it over y
  TRELLIS_INLINE void marginals_1(double log_z, double* node, double* edge) const {
    double* p = work.sums.grow(stride);
    for (std::size_t t = 0; t < T; ++t) {
      const double *a = alpha + t * stride, *b = beta + t * stride;
      for (std::size_t z = 0; z < L; ++z) p[z] = a[z] + b[z] - log_z;
      exp_all(p, L);
      std::copy_n(p, L, node + t * L);
      if (!edge) continue;
      double* out = edge + t * (L + 1) * L;
      for (std::size_t z = 0; t == 0 && z < L; ++z) out[L * L + z] = node[z];
      for (std::size_t y = 0; t > 0 && y < L; ++y) {
        for (std::size_t z = 0; z < L; ++z)
          p[z] = a[y - stride] + static_cast<double>(chain.edge_at(t, y)[z]) + emit[t * stride + z] + b[z] - log_z;
        exp_all(p, L);
        std::copy_n(p, L, out + y * L);
      }
    }
  }

  // P(y at t-1, z at t) = exp(alpha[t][y][z] + beta[t][y][z] - log Z);   node sums it over y
  TRELLIS_INLINE void marginals_2(double log_z, double* node, double* edge) const {
    double* p = work.sums.grow(stride);
    for (std::size_t t = 0; t < T; ++t) {
      for (std::size_t row = 0; row < n_rows(t); ++row) {
        const std::size_t at = t * token + row * stride;
        for (std::size_t z = 0; z < L; ++z) p[z] = alpha[at + z] + beta[at + z] - log_z;
        exp_all(p, L);
        for (std::size_t z = 0; z < L; ++z) node[t * L + z] += p[z];
        if (edge) std::copy_n(p, L, edge + (t * (L + 1) + label_of(t, row)) * L);
      }
    }
  }
};

}  // namespace trellis

// The inner loop of all recursions over chains, and related loops over rows of labels.
#pragma once
#include <algorithm>
#include <type_traits>

#include "engine/semiring.hpp"

namespace trellis {

// out[z] = (sum_y from[y] · table[y][z]) · edge[z] · emit[z] in a semiring; edge and emit are skipped if null.
template <class Real>
struct Row {
  const Real* from;
  std::size_t from_step;  // from y to y + 1
  const Real* table;
  std::size_t table_step;  // from y to y + 1
  const Real* edge;
  const Real* emit;
  Real* out;
};

// The term of y in place z of a row: from · table[y][z] · edge[z] · emit[z].
template <class S, class Real>
TRELLIS_INLINE Real extend(const Row<Real>& row, Real from, std::size_t y, std::size_t z) {
  Real value = S::times(from, row.table[y * row.table_step + z]);
  if (row.edge) value = S::times(value, row.edge[z]);
  return row.emit ? S::times(value, row.emit[z]) : value;
}

// The same for a vector of places from z on, with a single predecessor.
template <class S, class Real>
TRELLIS_INLINE Vector<Real> extend_lanes(const Row<Real>& row, std::size_t z) {
  Vector<Real> value = S::times(*row.from, lanes(row.table + z));
  if (row.edge) value = S::times(value, lanes(row.edge + z));
  return S::times(value, lanes(row.emit + z));
}

// For N vectors of places from z on. Two accumulators per sum hide latency.
template <class S, std::size_t N, class Real, class Labels>
TRELLIS_INLINE void reduce_block(const Row<Real>& row, const Labels& labels, std::size_t z) {
  constexpr std::size_t step = kLanes<Real>;
  const std::size_t n = labels.size();
  const auto product = [&](std::size_t i, std::size_t c) TRELLIS_INLINE_LAMBDA {
    return S::times(row.from[labels[i] * row.from_step], lanes(row.table + labels[i] * row.table_step + z + c * step));
  };
  Vector<Real> sum[N];
  const auto add = [&](std::size_t i, Vector<Real>* to) TRELLIS_INLINE_LAMBDA {
    for (std::size_t c = 0; c < N; ++c) to[c] = S::plus(to[c], product(i, c));
  };
  if constexpr (std::is_same_v<S, SumProduct>) {
    Vector<Real> odd[N] = {};
    for (std::size_t c = 0; c < N; ++c) sum[c] = Vector<Real>{};
    std::size_t i = 0;
    for (; i + 2 <= n; i += 2) add(i, sum), add(i + 1, odd);
    if (i < n) add(i, sum);
    for (std::size_t c = 0; c < N; ++c) sum[c] += odd[c];
  } else {
    for (std::size_t c = 0; c < N; ++c) sum[c] = product(0, c);
    for (std::size_t i = 1; i < n; ++i) add(i, sum);
  }
  for (std::size_t c = 0; c < N; ++c) {
    if (row.edge) sum[c] = S::times(sum[c], lanes(row.edge + z + c * step));
    if (row.emit) sum[c] = S::times(sum[c], lanes(row.emit + z + c * step));
    lanes_at(row.out + z + c * step) = sum[c];
  }
}
// For all z.
template <class S, class Real, class Labels>
TRELLIS_INLINE void reduce_all(const Row<Real>& row, const Labels& labels, std::size_t stride) {
  each_block<Real>(stride, [&](auto n, std::size_t z) TRELLIS_INLINE_LAMBDA { reduce_block<S, n>(row, labels, z); });
}

// The same for a short list of places, one by one.
template <class S, class Real, class Labels>
TRELLIS_INLINE void reduce_listed(const Row<Real>& row, const Labels& labels, const Labels& targets) {
  for (std::size_t j = 0; j < targets.size(); ++j) {
    const std::size_t z = targets[j];
    Real sum = S::template zero<Real>;
    for (std::size_t i = 0; i < labels.size(); ++i)
      sum = S::plus(sum, S::times(row.from[labels[i] * row.from_step], row.table[labels[i] * row.table_step + z]));
    if (row.edge) sum = S::times(sum, row.edge[z]);
    if (row.emit) sum = S::times(sum, row.emit[z]);
    row.out[z] = sum;
  }
}

// to[y, z] += weight · sum_t a[t, y] · b[t, z] for y below `stride`, kept in registers over all t for a few y. The rows
// of `a` are [stride] with zeros in the padding, those of b and `to` are b_step and to_step apart.
template <class Real>
TRELLIS_INLINE void add_products(const Real* a, const Real* b, std::size_t b_step, std::size_t n, std::size_t stride,
                                 Real weight, Real* to, std::size_t to_step) {
  constexpr std::size_t kRows = kLanes<Real> / 2;
  for (std::size_t y = 0; y < stride; y += kRows)
    each_block<Real>(stride, [&](auto n_vectors, std::size_t z) TRELLIS_INLINE_LAMBDA {
      constexpr std::size_t N = n_vectors, step = kLanes<Real>;
      Vector<Real> sum[kRows][N] = {};
      for (std::size_t t = 0; t < n; ++t)
        for (std::size_t r = 0; r < kRows; ++r)
          for (std::size_t c = 0; c < N; ++c) sum[r][c] += a[t * stride + y + r] * lanes(b + t * b_step + z + c * step);
      for (std::size_t r = 0; r < kRows; ++r)
        for (std::size_t c = 0; c < N; ++c) lanes_at(to + (y + r) * to_step + z + c * step) += weight * sum[r][c];
    });
}

// to[c, r] = from[r, c] for c below n_columns; zero for r from n_rows to padded(n_rows). By blocks of vectors: at each
// level k, k x k blocks are swapped across the diagonal of 2k x 2k blocks.
template <class Real>
TRELLIS_INLINE void transpose(const Real* from, std::size_t from_step, std::size_t n_rows, std::size_t n_columns, Real* to,
                              std::size_t to_step) {
  constexpr std::size_t N = kLanes<Real>;
  for (std::size_t r = 0; r < padded(n_rows); r += N)
    for (std::size_t c = 0; c < n_columns; c += N) {
      Vector<Real> square[N];
      for (std::size_t i = 0; i < N; ++i)
        square[i] = r + i < n_rows ? lanes(from + (r + i) * from_step + c) : Vector<Real>{};
      const auto exchange = [&](auto level) TRELLIS_INLINE_LAMBDA {
        constexpr std::size_t k = level, n = kLanes<Real>;
        if constexpr (k < N) {
          for (std::size_t i = 0; i < N; ++i)
            if (!(i & k)) {
              const Vector<Real> a = square[i], b = square[i + k];
              square[i] = shuffle<Real>(a, b, [](std::size_t j) { return j & k ? n + j - k : j; });
              square[i + k] = shuffle<Real>(a, b, [](std::size_t j) { return j & k ? n + j : j + k; });
            }
        }
      };
      exchange(Size<1>{}), exchange(Size<2>{}), exchange(Size<4>{});
      for (std::size_t i = 0; i < N && c + i < n_columns; ++i) lanes_at(to + (c + i) * to_step + r) = square[i];
    }
}

template <class Real>
TRELLIS_INLINE Real sum_of(const Vector<Real>& v) {
  if constexpr (kLanes<Real> == 4) return (v[0] + v[2]) + (v[1] + v[3]);
  else return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}

template <class Real>
TRELLIS_INLINE Real largest_of(const Vector<Real>& v) {
  const Real half = std::max(std::max(v[0], v[2]), std::max(v[1], v[3]));
  if constexpr (kLanes<Real> == 4) return half;
  else return std::max(half, std::max(std::max(v[4], v[6]), std::max(v[5], v[7])));
}

template <class Real>
TRELLIS_INLINE Real sum_lanes(const Real* values, std::size_t n) {
  Vector<Real> total = {};
  for (std::size_t z = 0; z < n; z += kLanes<Real>) total += lanes(values + z);
  return sum_of<Real>(total);
}

}  // namespace trellis

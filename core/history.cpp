#include "history.hpp"

#include <vector>

#include "parallel.hpp"
#include "simd.hpp"

namespace trellis {
namespace {

constexpr std::size_t kBlock = 2048;

TRELLIS_INLINE Vector<double> wide(const float* values) {
  return __builtin_convertvector(lanes(values), Vector<double>);
}

TRELLIS_CLONES void dots_of_block(const History& h, std::size_t r, const double* g, std::size_t begin, std::size_t end,
                                  double* dots) {
  const float *s_r = h.steps + r * h.size, *y_r = h.changes + r * h.size;
  for (std::size_t j = 0; j < h.n_pairs; ++j) {
    const float *s = h.steps + j * h.size, *y = h.changes + j * h.size;
    Vector<double> sums[kHistoryDots] = {};
    std::size_t i = begin;
    for (; i + kLanes <= end; i += kLanes) {
      const Vector<double> si = wide(s + i), yi = wide(y + i), yr = wide(y_r + i);
      sums[0] += si * lanes(g + i);
      sums[1] += yi * lanes(g + i);
      sums[2] += si * yr;
      sums[3] += yi * yr;
      sums[4] += yi * wide(s_r + i);
    }
    double* out = dots + j * kHistoryDots;
    for (std::size_t k = 0; k < kHistoryDots; ++k) {
      out[k] = 0;
      for (std::size_t lane = 0; lane < kLanes; ++lane) out[k] += sums[k][lane];
    }
    for (; i < end; ++i) {
      const double si = s[i], yi = y[i];
      out[0] += si * g[i];
      out[1] += yi * g[i];
      out[2] += si * y_r[i];
      out[3] += yi * y_r[i];
      out[4] += yi * s_r[i];
    }
  }
}

TRELLIS_CLONES void sum_of_block(const History& h, double factor, const double* g, const double* step_factors,
                                 const double* change_factors, std::size_t begin, std::size_t end, double* out) {
  for (std::size_t i = begin; i < end; ++i) out[i] = factor * g[i];
  for (std::size_t j = 0; j < h.n_pairs; ++j) {
    const float *s = h.steps + j * h.size, *y = h.changes + j * h.size;
    std::size_t i = begin;
    for (; i + kLanes <= end; i += kLanes)
      lanes(out + i) += step_factors[j] * wide(s + i) + change_factors[j] * wide(y + i);
    for (; i < end; ++i) out[i] += step_factors[j] * s[i] + change_factors[j] * y[i];
  }
}

}  // namespace

void history_dots(const History& history, std::size_t r, const double* g, std::size_t n_threads, double* dots) {
  const std::size_t n_blocks = (history.size + kBlock - 1) / kBlock, n_dots = history.n_pairs * kHistoryDots;
  std::vector<double> parts(n_blocks * n_dots);
  parallel_blocks(history.size, kBlock, n_threads, [] { return 0; }, [&](int, std::size_t begin, std::size_t end) {
    dots_of_block(history, r, g, begin, end, parts.data() + begin / kBlock * n_dots);
  });
  for (std::size_t k = 0; k < n_dots; ++k) {
    dots[k] = 0;
    for (std::size_t b = 0; b < n_blocks; ++b) dots[k] += parts[b * n_dots + k];
  }
}

void history_sum(const History& history, double factor, const double* g, const double* step_factors,
                 const double* change_factors, std::size_t n_threads, double* out) {
  parallel_blocks(history.size, kBlock, n_threads, [] { return 0; }, [&](int, std::size_t begin, std::size_t end) {
    sum_of_block(history, factor, g, step_factors, change_factors, begin, end, out);
  });
}

}  // namespace trellis

// The two walks over what L-BFGS remembers: all inner products at once, then the direction as one sum of vectors.
//
// Steps s_j and changes of the gradient y_j are kept in float, which halves what must be read; sums are in double, by
// fixed blocks that are added in order, so that the bits do not depend on the number of threads.
#pragma once
#include <cstddef>

namespace trellis {

struct History {
  const float *steps = nullptr, *changes = nullptr;  // [n_pairs, size]
  std::size_t n_pairs = 0, size = 0;
};

inline constexpr std::size_t kHistoryDots = 5;

// For every pair j, with g a vector and r the number of one pair:
//   dots[j] = s_j·g, y_j·g, s_j·y_r, y_j·y_r, s_r·y_j
void history_dots(const History& history, std::size_t r, const double* g, std::size_t n_threads, double* dots);

// out = factor · g + sum_j (step_factors[j] · s_j + change_factors[j] · y_j)
void history_sum(const History& history, double factor, const double* g, const double* step_factors,
                 const double* change_factors, std::size_t n_threads, double* out);

}  // namespace trellis

// The long vectors of L-BFGS: vector arithmetic and the two passes over the stored pairs: all inner products at once, then
// the direction as one linear combination.
//
// Steps s_j and gradient changes y_j only shape a direction, and reading them dominates the time: they are stored in
// 16 bits, the upper half of a float (8 bits of exponent, 8 of significand). On CoNLL-2000 that costs no iteration. Sums use
// fixed blocks that are added in order, so that the bits do not depend on the number of threads.
#pragma once
#include <cstddef>
#include <cstdint>

namespace trellis {

struct PastSteps {
  const std::uint16_t *steps = nullptr, *changes = nullptr;  // [n_pairs, size]
  std::size_t n_pairs = 0, size = 0;
};

// a · b, summed in eight lanes in a fixed order on every machine.
double dot(const double* a, const double* b, std::size_t n);

// The step s = x - old_x and the change y = g - old_g, rounded; returns s·y and y·y of the numbers before rounding.
struct Curvature {
  double product, square;
};
Curvature remember(const double* x, const double* old_x, const double* g, const double* old_g, std::size_t size,
                   std::uint16_t* step, std::uint16_t* change);

inline constexpr std::size_t kHistoryDots = 5;

// For every pair j, with g a vector and r the index of one pair:
//   dots[j] = s_j·g, y_j·g, s_j·y_r, y_j·y_r, s_r·y_j
void history_dots(const PastSteps& history, std::size_t r, const double* g, std::size_t n_threads, double* dots);

// out = factor · g + sum_j (step_factors[j] · s_j + change_factors[j] · y_j)
void history_sum(const PastSteps& history, double factor, const double* g, const double* step_factors,
                 const double* change_factors, std::size_t n_threads, double* out);

}  // namespace trellis

// A sum of exponentials of one step w, the shape that the risk and the tight bound on it have along one feature:
//
//   f(w) = sum_j c_j (exp(x_j w) - 1),    c_j >= 0
//
// It is convex, and 0 at 0. Its least value within |w| <= limit is where its slope P(w) - N(w) changes sign:
//   P(w) = sum of x_j c_j exp(x_j w) over x_j > 0,    N(w) = the same of |x_j| over x_j < 0
#pragma once
#include <cmath>
#include <cstddef>
#include <span>

#include "engine/elementary.hpp"

namespace trellis {

struct ExponentialSum {
  std::span<const double> coefficients, exponents;  // [n] c_j, x_j
};

inline double value_at(const ExponentialSum& f, double w) {
  double sum = 0;
  for (std::size_t j = 0; j < f.exponents.size(); ++j)
    if (f.coefficients[j] > 0) sum += f.coefficients[j] * expm1(f.exponents[j] * w);
  return sum;
}

// Both sides of the slope, and how fast each grows with |w|.
struct SlopeParts {
  double up = 0, down = 0;              // P, N
  double up_growth = 0, down_growth = 0;  // sum of x_j² c_j exp(x_j w) on either side
};

inline SlopeParts slope_at(const ExponentialSum& f, double w) {
  SlopeParts s;
  for (std::size_t j = 0; j < f.exponents.size(); ++j) {
    const double x = f.exponents[j];
    if (f.coefficients[j] <= 0 || x == 0) continue;
    const double term = std::fabs(x) * f.coefficients[j] * exp(x * w);
    (x > 0 ? s.up : s.down) += term;
    (x > 0 ? s.up_growth : s.down_growth) += std::fabs(x) * term;
  }
  return s;
}

struct LineStep {
  double size, gain;  // gain = f(size) <= 0
};

// Newton's method on log P - log N, which is nearly straight, kept within what is known to hold the root.
inline LineStep least(const ExponentialSum& f, double limit) {
  const SlopeParts at_0 = slope_at(f, 0);
  if (at_0.up == at_0.down) return {0, 0};
  const bool forward = at_0.up < at_0.down;
  const double end = forward ? limit : -limit;
  const SlopeParts at_end = slope_at(f, end);
  if (forward ? at_end.up <= at_end.down : at_end.up >= at_end.down) return {end, value_at(f, end)};
  double low = forward ? 0 : -limit, high = forward ? limit : 0, w = 0;
  SlopeParts s = at_0;
  for (int i = 0; i < 200; ++i) {
    const double above = log(s.up) - log(s.down);
    (above < 0 ? low : high) = w;
    double next = w - above / (s.up_growth / s.up + s.down_growth / s.down);
    if (!(next > low && next < high)) next = low + (high - low) / 2;
    const double moved = std::fabs(next - w);
    w = next;
    if (moved <= 1e-14 * (1 + std::fabs(w))) break;
    s = slope_at(f, w);
  }
  return {w, value_at(f, w)};
}

}  // namespace trellis

// A sum of exponentials of one step w, the shape that the risk and the tight bound on it have along one feature:
//
//   f(w) = sum_j c_j (exp(x_j w) - 1),    c_j >= 0
//
// It is convex, and 0 at 0. Its least value within |w| <= limit is where its slope P(w) - N(w) changes sign:
//   P(w) = sum of x_j c_j exp(x_j w) over x_j > 0,    N(w) = the same of |x_j| over x_j < 0
#pragma once
#include <cmath>
#include <cstddef>

#include "engine/elementary.hpp"

namespace trellis {

struct ExponentialSum {
  const double* coefficients;         // [n]
  std::size_t n;
  double low;                         // the exponents are low, low + 1, ... (low <= 0, a whole number)
  const double* exponents = nullptr;  // or these, [n], ascending

  double exponent(std::size_t j) const { return exponents ? exponents[j] : low + static_cast<double>(j); }
};

inline double value_at(const ExponentialSum& f, double w) {
  double sum = 0;
  for (std::size_t j = 0; j < f.n; ++j)
    if (f.coefficients[j] > 0) sum += f.coefficients[j] * expm1(f.exponent(j) * w);
  return sum;
}

// Both sides of the slope, and how fast each grows with |w|.
struct SlopeParts {
  double up = 0, down = 0;              // P, N
  double up_growth = 0, down_growth = 0;  // sum of x_j² c_j exp(x_j w) on either side
};

inline SlopeParts slope_at(const ExponentialSum& f, double w) {
  SlopeParts s;
  const auto add = [](double x, double term, double& sum, double& growth) {
    sum += x * term;
    growth += x * x * term;
  };
  if (f.exponents) {
    for (std::size_t j = 0; j < f.n; ++j) {
      const double x = f.exponents[j];
      if (f.coefficients[j] <= 0 || x == 0) continue;
      const double term = f.coefficients[j] * exp(x * w);
      x > 0 ? add(x, term, s.up, s.up_growth) : add(-x, term, s.down, s.down_growth);
    }
    return s;
  }
  // Powers go outwards from exponent 0: far ones may overflow or vanish without harm to near ones.
  const auto zero = static_cast<std::size_t>(-f.low);
  const double up = exp(w), down = exp(-w);
  double power = 1;
  for (std::size_t j = zero + 1; j < f.n; ++j) {
    power *= up;
    if (f.coefficients[j] > 0) add(static_cast<double>(j - zero), f.coefficients[j] * power, s.up, s.up_growth);
  }
  power = 1;
  for (std::size_t j = zero; j-- > 0;) {
    power *= down;
    if (f.coefficients[j] > 0) add(static_cast<double>(zero - j), f.coefficients[j] * power, s.down, s.down_growth);
  }
  return s;
}

struct Step {
  double size, gain;  // gain = f(size) <= 0
};

// Newton's method on log P - log N, which is nearly straight, kept within what is known to hold the root.
inline Step least(const ExponentialSum& f, double limit) {
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

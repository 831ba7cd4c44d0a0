// A sum of exponentials of one step w, the form of the risk and of its tight bound along one feature:
//
//   f(w) = sum_j c_j (exp(x_j w) - 1),    c_j >= 0
//
// It is convex, and 0 at 0. Its minimum within |w| <= limit is where its slope P(w) - N(w) changes sign:
//   P(w) = sum of x_j c_j exp(x_j w) over x_j > 0,    N(w) = the same of |x_j| over x_j < 0
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "engine/elementary.hpp"

namespace trellis {

struct LineStep {
  double size, gain;  // gain = f(size) <= 0
};

// f at one w: its value, a number with the sign of its slope that is nearly linear in w, and a bound on the rounding error
// of that number.
struct LinePoint {
  double value, slope, rounding = 0;
};

// Minimises a convex f within |w| <= limit, by secants of the slope from 0 and `start` on, within an interval known to
// bracket the root. `slope` is that at 0, at(w) returns a LinePoint.
template <class At>
LineStep least(double slope, double start, double limit, At at) {
  constexpr int kMost = 100;
  constexpr double kNear = 1e-13;
  const double end = slope < 0 ? limit : -limit;
  double before = 0, slope_before = slope, low = 0, high = end, w = std::clamp(start, std::min(0.0, end), std::max(0.0, end));
  if (!(slope < 0 || slope > 0) || w == 0) return {0, 0};
  LinePoint here = at(w);
  bool within = false;  // whether the slope at `high` is known to have the other sign
  for (int i = 0; i < kMost && std::fabs(here.slope) > here.rounding; ++i) {
    if ((here.slope < 0) == (slope < 0)) {
      if (w == end) break;
      low = w;
    } else {
      high = w, within = true;
    }
    double next = w - here.slope * (w - before) / (here.slope - slope_before);
    if (!(next > std::min(low, high) && next < std::max(low, high))) next = within ? low + (high - low) / 2 : end;
    if (std::fabs(next - w) <= kNear * (1 + std::fabs(w))) break;
    before = w, slope_before = here.slope, w = next;
    here = at(w);
  }
  return {w, here.value};
}

// Minimises a sum of exponentials. log P - log N is nearly linear; with exponents -1 and 1 its slope is 2.
inline LineStep least(std::span<const double> coefficients, std::span<const double> exponents, double limit) {
  const auto at = [&](double w) {
    double value = 0, up = 0, down = 0;
    for (std::size_t j = 0; j < exponents.size(); ++j) {
      const double x = exponents[j], c = coefficients[j];
      if (c <= 0 || x == 0) continue;
      value += c * expm1(x * w);
      (x > 0 ? up : down) += std::fabs(x) * c * exp(x * w);
    }
    return LinePoint{value, log(up) - log(down)};
  };
  const double slope = at(0).slope;
  return least(slope, -slope / 2, limit, at);
}

}  // namespace trellis

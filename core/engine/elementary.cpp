#include "engine/elementary.hpp"

#include <bit>
#include <cstdint>
#include <limits>

#include "engine/exponential.hpp"

namespace trellis {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kLog2High = 0.693147180369123816490, kLog2Low = 1.90821492927058770002e-10;  // log 2 in two parts

double power_of_two(std::int64_t n) { return std::bit_cast<double>((n + 1023) << 52); }

// exp(r) - 1 = r + r²/2! + r³/3! + ... + r¹³/13!, |r| <= log 2 / 2. Terms in pairs, which a processor sums side by side.
double exp_series(double r) {
  const double r2 = r * r, r4 = r2 * r2;
  const double low = (1.0 / 2 + r * (1.0 / 6)) + r2 * (1.0 / 24 + r * (1.0 / 120));
  const double middle = (1.0 / 720 + r * (1.0 / 5040)) + r2 * (1.0 / 40320 + r * (1.0 / 362880));
  const double high = (1.0 / 3628800 + r * (1.0 / 39916800)) + r2 * (1.0 / 479001600 + r * (1.0 / 6227020800));
  return r + r2 * (low + r4 * (middle + r4 * high));
}

// log(1 + f) = 2 (s + s³/3 + s⁵/5 + ...), s = f / (2 + f), for 1 + f within √½ and √2. As 2 s = f - s f, it is
// f - s (f - rest): the rounding error is small relative to f, which is exact.
double log_series(double f) {
  const double s = f / (2 + f), q = s * s, q2 = q * q, q4 = q2 * q2;
  const double low = (2.0 / 3 + q * (2.0 / 5)) + q2 * (2.0 / 7 + q * (2.0 / 9));
  const double middle = (2.0 / 11 + q * (2.0 / 13)) + q2 * (2.0 / 15 + q * (2.0 / 17));
  const double high = (2.0 / 19 + q * (2.0 / 21)) + q2 * (2.0 / 23);
  return f - s * (f - q * (low + q4 * (middle + q4 * high)));
}

}  // namespace

// exp(x) = 2^n · exp(r), n = round(x / log 2), r = x - n log 2
double exp(double x) {
  if (!(x > -745.2)) return x < 0 ? 0 : x;  // NaN stays NaN
  if (x > 709.8) return kInfinity;
  constexpr double kRound = 6755399441055744.0;  // 1.5 · 2^52: adding it rounds to an integer
  const double rounded = (x * 1.4426950408889634 + kRound) - kRound;
  const auto n = static_cast<std::int64_t>(rounded);
  const double p = 1 + exp_series((x - rounded * kLog2High) - rounded * kLog2Low);
  return p * power_of_two(n / 2) * power_of_two(n - n / 2);  // two factors: 2^n itself may be out of range
}

// log(x) = n log 2 + log(m), m = x / 2^n within √½ and √2
double log(double x) {
  if (!(x > 0)) return x == 0 ? -kInfinity : kNaN;
  if (x == kInfinity) return x;
  std::int64_t n = 0;
  if (x < std::numeric_limits<double>::min()) x *= power_of_two(54), n = -54;
  const auto bits = std::bit_cast<std::int64_t>(x), whole = (bits - 0x3FE6A09E667F3BCD) >> 52;
  const double f = std::bit_cast<double>(bits - (whole << 52)) - 1;
  const auto exponent = static_cast<double>(n + whole);
  return exponent * kLog2High + (log_series(f) + exponent * kLog2Low);
}

double expm1(double x) { return x > -0.34 && x < 0.34 ? exp_series(x) : exp(x) - 1; }

double log1p(double x) { return x > -0.29 && x < 0.41 ? log_series(x) : log(1 + x); }

TRELLIS_CLONES void exp_values(double* values, std::size_t n) {
  for (std::size_t i = 0; i < n; i += kLanes<double>) lanes_at(values + i) = exp_lanes(lanes(values + i));
}

}  // namespace trellis

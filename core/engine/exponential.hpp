// exp over lanes, for potentials that become factors: x <= 0 or so, minus infinity gives 0; and log over lanes. The same
// bits on every instruction set; relative error about 1e-7 in float, 2e-16 in double.
#pragma once
#include <cstdint>
#include <cstring>

#include "engine/simd.hpp"

namespace trellis {

// exp(x) = 2^n · exp(r), n = round(x / log 2), r = x - n · log 2 within ±0.35, exp(r) by its series.
TRELLIS_INLINE Vector<double> exp_lanes(Vector<double> x) {
  using Integers = Vector<std::int64_t>;
  const Integers too_small = x < -708.0;
  x = too_small ? Vector<double>{} : x;
  constexpr double kRound = 6755399441055744.0;  // 1.5 · 2^52: adding it leaves the rounded integer in the low bits
  const Vector<double> shifted = x * 1.4426950408889634 + kRound;
  const Vector<double> n = shifted - kRound;
  const Vector<double> r = (x - n * 0.693147180369123816490) - n * 1.90821492927058770002e-10;
  Vector<double> p = r * (1.0 / 6227020800) + 1.0 / 479001600;
  p = p * r + 1.0 / 39916800;
  p = p * r + 1.0 / 3628800;
  p = p * r + 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  Integers bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  bits = (bits + 1023) << 52;  // what kRound has above the integer is shifted out
  Vector<double> scale;
  std::memcpy(&scale, &bits, sizeof scale);
  return too_small ? Vector<double>{} : p * scale;
}

// log(x) = n · log 2 + log(m), m within √½ and √2; log(m) = 2 (s + s³/3 + s⁵/5 ...), s = (m - 1) / (m + 1). For normal
// x > 0; of others the result means nothing.
TRELLIS_INLINE Vector<double> log_lanes(Vector<double> x) {
  using Integers = Vector<std::int64_t>;
  Integers bits;
  std::memcpy(&bits, &x, sizeof bits);
  const Integers shifted = bits - 0x3FE6A09E667F3BCD;  // √½: so that the exponent is that of m
  const Integers whole = shifted >> 52;
  bits -= whole << 52;
  Vector<double> m;
  std::memcpy(&m, &bits, sizeof m);
  const Vector<double> s = (m - 1.0) / (m + 1.0), q = s * s;
  Vector<double> p = q * (1.0 / 23) + 1.0 / 21;
  p = p * q + 1.0 / 19;
  p = p * q + 1.0 / 17;
  p = p * q + 1.0 / 15;
  p = p * q + 1.0 / 13;
  p = p * q + 1.0 / 11;
  p = p * q + 1.0 / 9;
  p = p * q + 1.0 / 7;
  p = p * q + 1.0 / 5;
  p = p * q + 1.0 / 3;
  const Vector<double> n = __builtin_convertvector(whole, Vector<double>);
  return n * 0.693147180369123816490 + (2.0 * s + (2.0 * s * q * p + n * 1.90821492927058770002e-10));
}

TRELLIS_INLINE Vector<float> exp_lanes(Vector<float> x) {
  using Integers = Vector<std::int32_t>;
  const Integers too_small = x < -87.0f;
  x = too_small ? Vector<float>{} : x;
  constexpr float kRound = 12582912.0f;  // 1.5 · 2^23
  const Vector<float> shifted = x * 1.44269504f + kRound;
  const Vector<float> n = shifted - kRound;
  const Vector<float> r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  Vector<float> p = r * (1.0f / 5040) + 1.0f / 720;
  p = p * r + 1.0f / 120;
  p = p * r + 1.0f / 24;
  p = p * r + 1.0f / 6;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  Integers bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  bits = (bits + 127) << 23;
  Vector<float> scale;
  std::memcpy(&scale, &bits, sizeof scale);
  return too_small ? Vector<float>{} : p * scale;
}

}  // namespace trellis

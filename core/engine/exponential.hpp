// exp over lanes, for potentials that become factors: x <= 0 or slightly above; minus infinity gives 0. The same
// bits on every instruction set; relative error about 1e-7 in float, 2e-16 in double.
#pragma once
#include <cstdint>

#include "engine/simd.hpp"

namespace trellis {

// (((c0 · x + c1) · x + c2) · x ...), the coefficients of a series from the last to the first.
template <class Lanes, class Real, class... Reals>
TRELLIS_INLINE Lanes horner(Lanes x, Real first, Real second, Reals... others) {
  Lanes p = x * first + second;
  ((p = p * x + others), ...);
  return p;
}

template <class Real>
struct ExpConstants;
template <>
struct ExpConstants<double> {
  using Integer = std::int64_t;
  static constexpr Integer kBias = 1023, kMantissa = 52;
  static constexpr double kLeast = -708.0, kRound = 6755399441055744.0;  // 1.5 · 2^52
  static constexpr double kHigh = 0.693147180369123816490, kLow = 1.90821492927058770002e-10;  // log 2 in two parts
  TRELLIS_INLINE static Vector<double> series(Vector<double> r) {
    return horner(r, 1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880, 1.0 / 40320,
                  1.0 / 5040, 1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1.0, 1.0);
  }
};
template <>
struct ExpConstants<float> {
  using Integer = std::int32_t;
  static constexpr Integer kBias = 127, kMantissa = 23;
  static constexpr float kLeast = -87.0f, kRound = 12582912.0f, kHigh = 0.693359375f, kLow = -2.12194440e-4f;
  TRELLIS_INLINE static Vector<float> series(Vector<float> r) {
    return horner(r, 1.0f / 5040, 1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f);
  }
};

// exp(x) = 2^n · exp(r), n = round(x / log 2), r = x - n · log 2 within ±0.35, exp(r) by its series. Adding kRound
// puts the rounded integer into the low bits; the bits above them are shifted out.
template <class Real>
TRELLIS_INLINE Vector<Real> exp_of(Vector<Real> x) {
  using C = ExpConstants<Real>;
  using Integers = Vector<typename C::Integer>;
  const Integers too_small = x < C::kLeast;
  x = too_small ? Vector<Real>{} : x;
  const Vector<Real> shifted = x * static_cast<Real>(1.4426950408889634) + C::kRound, n = shifted - C::kRound;
  const Integers bits = (reinterpret_cast<Integers>(shifted) + C::kBias) << C::kMantissa;
  const Vector<Real> p = C::series((x - n * C::kHigh) - n * C::kLow);
  return too_small ? Vector<Real>{} : p * reinterpret_cast<Vector<Real>>(bits);
}
TRELLIS_INLINE Vector<double> exp_lanes(Vector<double> x) { return exp_of<double>(x); }
TRELLIS_INLINE Vector<float> exp_lanes(Vector<float> x) { return exp_of<float>(x); }

}  // namespace trellis

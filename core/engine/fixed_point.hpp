// Fixed-point sums: numbers become integer multiples of 2^-exponent. Integers can be added in any order, on any number of
// threads and machines, with the same bits.
//
// The exponent follows from a bound on the terms, never from how the work is divided: |sum| < 2^62 · 2^-exponent.
#pragma once
#include <cmath>
#include <cstdint>

#include "engine/simd.hpp"

namespace trellis {

class FixedPoint {
 public:
  explicit FixedPoint(int exponent) : scale_(std::ldexp(1.0, exponent)) {}

  // A non-finite number becomes some integer: then the loss is not finite either.
  TRELLIS_INLINE void add(std::int64_t& sum, double x) const {
    sum = static_cast<std::int64_t>(static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(std::llrint(x * scale_)));
  }

 private:
  double scale_;
};

// An integer wide enough for sums of doubles without rounding: of 2^-64 where |x| < 2^62.
using Wide = __int128;
inline Wide exactly(double x) { return static_cast<Wide>(std::ldexp(x, 64)); }

}  // namespace trellis

// A semiring decides what a recursion over paths computes: `times` extends a path, `plus` joins alternative paths
// to the same place. Both work on scalars and on vectors, passed by value since a vector in memory may be unaligned.
//
//   MaxPlus      max, +      the best score
//   SumProduct   +, ·        sums of products of factors exp(score): probabilities, and with factors of 0 and 1 counts
//
// Log space, for scores of any size, uses the `times` of MaxPlus and a sum over a run of terms (hypergraph_passes.hpp).
#pragma once
#include "engine/chain.hpp"
#include "engine/exponential.hpp"

namespace trellis {

struct MaxPlus {
  template <class Real>
  static constexpr Real zero = kForbidden<Real>;
  template <class Real>
  static constexpr Real one = 0;
  template <class Any>
  TRELLIS_INLINE static Any plus(Any a, Any b) { return b > a ? b : a; }
  template <class Any, class Other>
  TRELLIS_INLINE static Other times(Any a, Other b) { return a + b; }
};

struct SumProduct {
  template <class Real>
  static constexpr Real zero = 0;
  template <class Real>
  static constexpr Real one = 1;
  template <class Any>
  TRELLIS_INLINE static Any plus(Any a, Any b) { return a + b; }
  template <class Any, class Other>
  TRELLIS_INLINE static Other times(Any a, Other b) { return a * b; }
};

}  // namespace trellis

// What a recursion over paths computes is decided by a semiring: `times` attaches what follows, `plus` joins ways to the
// same place. Each works on numbers and on vectors of them; by value, for a vector in memory may begin anywhere.
//
//   MaxPlus      max, +      the best score
//   SumProduct   +, ·        sums of products of factors exp(score): probabilities, and with factors of 0 and 1 counts
//
// Sums by logarithms, for scores of any size, have the `times` of MaxPlus, and a sum over a run of terms (hypergraph_passes.hpp).
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

// Everything specific to instruction sets: clones of entry points, forced inlining, vectors of 32 bytes.
#pragma once
#include <cstddef>
#include <type_traits>
#include <utility>

// TRELLIS_CLONES stands before a non-template entry point; the functions it calls are TRELLIS_INLINE, so that they are
// compiled once per instruction set with it.
#ifdef TRELLIS_HAVE_CLONES
#define TRELLIS_CLONES __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define TRELLIS_CLONES
#endif
#define TRELLIS_INLINE inline __attribute__((always_inline))
#define TRELLIS_INLINE_LAMBDA __attribute__((always_inline))  // between the parameters and the body of a lambda
// A definition for each type of potentials.
#define TRELLIS_FOR_REALS(DEFINITION) DEFINITION(float) DEFINITION(double)
// Assumptions for the compiler.
#define TRELLIS_ASSUME(fact) ((fact) ? void() : __builtin_unreachable())

namespace trellis {

// Rows over labels are padded to a multiple of this many numbers, of either type.
inline constexpr std::size_t kPadding = 8;
inline constexpr std::size_t padded(std::size_t n) { return (n + kPadding - 1) / kPadding * kPadding; }

// 32 bytes for both types: without 64-byte registers, GCC passes longer vectors through memory lane by lane.
template <class Real>
inline constexpr std::size_t kLanes = 32 / sizeof(Real);
template <class Number>
struct Lanes {
  typedef Number Vector __attribute__((vector_size(32)));
};
template <class Number>
using Vector = typename Lanes<Number>::Vector;

// A vector in memory, aligned only as its element type. Read by lanes(p), written by lanes_at(p) = or += a vector.
template <class Number>
struct __attribute__((packed, may_alias)) UnalignedVector {
  Vector<Number> vector;
};
template <class Number>
struct LanesAt {
  UnalignedVector<Number>* to;

  TRELLIS_INLINE Vector<Number> operator=(Vector<Number> v) const { return to->vector = v; }
  TRELLIS_INLINE void operator+=(Vector<Number> v) const { to->vector += v; }
  TRELLIS_INLINE void operator*=(const auto& by) const { to->vector *= by; }  // a vector or a number
};
template <class Number>
TRELLIS_INLINE Vector<Number> lanes(const Number* p) { return reinterpret_cast<const UnalignedVector<Number>*>(p)->vector; }
template <class Number>
TRELLIS_INLINE LanesAt<Number> lanes_at(Number* p) { return {reinterpret_cast<UnalignedVector<Number>*>(p)}; }

template <std::size_t N>
using Size = std::integral_constant<std::size_t, N>;

// Lane i of the result is number Pick{}(i) of a and b side by side; a Pick captures nothing.
template <class Number, class Pick>
TRELLIS_INLINE Vector<Number> shuffle(Vector<Number> a, Vector<Number> b, Pick) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) TRELLIS_INLINE_LAMBDA -> Vector<Number> {
    return __builtin_shufflevector(a, b, Pick{}(I)...);
  }(std::make_index_sequence<kLanes<Number>>{});
}

// Calls block(n, z), n a constant, over a padded row in blocks of n vectors from z on; n vectors of sums stay in
// registers and hide each other's latency. A row of up to kBlock numbers is one block.
inline constexpr std::size_t kBlock = 3 * kPadding;
template <class Real, class Block>
TRELLIS_INLINE void each_block(std::size_t stride, Block block) {
  constexpr std::size_t kMost = kBlock / kLanes<Real>, kLess = 2 * kPadding / kLanes<Real>;
  constexpr std::size_t kLeast = kPadding / kLanes<Real>;
  std::size_t z = 0, left = stride / kPadding;
  for (; left >= 3 && left != 4; left -= 3, z += 3 * kPadding) block(Size<kMost>{}, z);
  for (; left >= 2; left -= 2, z += 2 * kPadding) block(Size<kLess>{}, z);
  if (left) block(Size<kLeast>{}, z);
}

// sums[0 .. lanes) += values, in double
TRELLIS_INLINE void add_lanes(const Vector<double>& values, double* sums) { lanes_at(sums) += values; }
TRELLIS_INLINE void add_lanes(const Vector<float>& values, double* sums) {
  lanes_at(sums) += __builtin_convertvector(__builtin_shufflevector(values, values, 0, 1, 2, 3), Vector<double>);
  lanes_at(sums + 4) += __builtin_convertvector(__builtin_shufflevector(values, values, 4, 5, 6, 7), Vector<double>);
}

}  // namespace trellis

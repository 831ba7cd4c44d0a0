// All that is particular to instruction sets: clones of entry points, forced inlining, eight-lane vectors.
#pragma once
#include <cstddef>

// TRELLIS_CLONES stands before a non-template entry point; the bodies it calls are TRELLIS_INLINE, so that they are
// compiled once per instruction set with it.
#ifdef TRELLIS_HAVE_CLONES
#define TRELLIS_CLONES __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define TRELLIS_CLONES
#endif
#define TRELLIS_INLINE inline __attribute__((always_inline))

namespace trellis {

// Rows over labels are padded to a multiple of this many lanes.
inline constexpr std::size_t kLanes = 8;
inline constexpr std::size_t padded(std::size_t n) { return (n + kLanes - 1) / kLanes * kLanes; }

template <class Real>
struct Lanes {
  typedef Real Vector __attribute__((vector_size(kLanes * sizeof(Real)), aligned(alignof(Real)), may_alias));
};
template <class Real>
using Vector = typename Lanes<Real>::Vector;

template <class Real>
TRELLIS_INLINE Vector<Real>& lanes(Real* p) { return *reinterpret_cast<Vector<Real>*>(p); }
template <class Real>
TRELLIS_INLINE const Vector<Real>& lanes(const Real* p) { return *reinterpret_cast<const Vector<Real>*>(p); }

}  // namespace trellis

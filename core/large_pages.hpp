// Memory for large tables with random access.
#pragma once
#include <sys/mman.h>

#include <cstdlib>
#include <memory>
#include <new>

namespace trellis {

// Large tables are allocated in large pages: random look-ups then rarely miss the TLB.
template <class T>
struct LargePages {
  using value_type = T;
  static constexpr std::size_t kPage = std::size_t{1} << 21;
  LargePages() = default;
  template <class U>
  LargePages(const LargePages<U>&) {}
  T* allocate(std::size_t n) {
    const std::size_t bytes = (n * sizeof(T) + kPage - 1) / kPage * kPage;
    if (bytes == kPage) return std::allocator<T>().allocate(n);
    void* const at = std::aligned_alloc(kPage, bytes);
    if (!at) throw std::bad_alloc();
    madvise(at, bytes, MADV_HUGEPAGE);
    return static_cast<T*>(at);
  }
  void deallocate(T* at, std::size_t n) {
    if (n * sizeof(T) <= kPage) std::allocator<T>().deallocate(at, n);
    else std::free(at);
  }
  bool operator==(const LargePages&) const = default;
};

}  // namespace trellis

// Memory for data derived from a corpus larger than memory, written once and then read block by block: unnamed files, which
// the system pages out and in as needed.
#pragma once
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <vector>

namespace trellis {

// Chunks of such files in a folder; all are freed with it.
class Spill {
 public:
  explicit Spill(std::string folder) : folder_(std::move(folder)) {
    const std::lock_guard lock(all().mutex);
    all().spills.push_back(this);
  }
  ~Spill() {
    const std::lock_guard lock(all().mutex);
    std::erase(all().spills, this);
    for (const Chunk& chunk : chunks_) munmap(chunk.begin, chunk.size);
  }
  Spill(const Spill&) = delete;
  Spill& operator=(const Spill&) = delete;

  void* allocate(std::size_t bytes) {
    const std::lock_guard lock(all().mutex);
    if (chunks_.empty() || chunks_.back().size - used_ < bytes) add_chunk(std::max(bytes, kChunk));
    void* const at = chunks_.back().begin + used_;
    used_ = std::min(chunks_.back().size, (used_ + bytes + kLine - 1) / kLine * kLine);
    return at;
  }

  // Releases the pages of all chunks to the system; they are read again on demand.
  static void give_back() {
    const std::lock_guard lock(all().mutex);
    for (const Spill* spill : all().spills)
      for (const Chunk& chunk : spill->chunks_) madvise(chunk.begin, chunk.size, MADV_DONTNEED);
  }

 private:
  static constexpr std::size_t kChunk = 64 << 20, kLine = 64;  // bytes
  struct Chunk {
    char* begin;
    std::size_t size;
  };
  struct All {
    std::mutex mutex;
    std::vector<Spill*> spills;
  };
  static All& all() {
    static All all;
    return all;
  }

  void add_chunk(std::size_t bytes) {
    std::string name = folder_ + "/trellis-XXXXXX";
    const int file = mkostemp(name.data(), O_CLOEXEC);
    const auto check = [&](bool good) {
      if (good) return;
      const int error = errno;
      if (file >= 0) close(file);
      throw std::system_error(error, std::generic_category(), "temporary file in " + folder_);
    };
    check(file >= 0);
    unlink(name.c_str());
    // Reserves its space now: a full disk is an error here, not a signal later.
    if (const int error = posix_fallocate(file, 0, static_cast<off_t>(bytes))) errno = error, check(false);
    void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    check(at != MAP_FAILED);
    close(file);
    chunks_.push_back({static_cast<char*>(at), bytes});
    used_ = 0;
  }

  const std::string folder_;
  std::vector<Chunk> chunks_;
  std::size_t used_ = 0;  // bytes of the last chunk
};

// The allocator of vectors that may be in a spill; without one it is the default allocator.
template <class T>
struct Spilled {
  using value_type = T;
  Spill* spill = nullptr;

  Spilled() = default;
  explicit Spilled(Spill* to) : spill(to) {}
  template <class U>
  Spilled(const Spilled<U>& other) : spill(other.spill) {}
  T* allocate(std::size_t n) {
    return spill ? static_cast<T*>(spill->allocate(n * sizeof(T))) : std::allocator<T>().allocate(n);
  }
  void deallocate(T* at, std::size_t n) {
    if (!spill) std::allocator<T>().deallocate(at, n);
  }
  bool operator==(const Spilled&) const = default;
};
template <class T>
using SpilledVector = std::vector<T, Spilled<T>>;

}  // namespace trellis

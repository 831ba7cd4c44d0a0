// Exact tables from a 64-bit key to a 32-bit id: growable while a vocabulary is built, then frozen into two flat
// arrays that can be memory-mapped.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace trellis {

// Mixes all bits of a key (the finaliser of SplitMix64), so that packed ids spread over the slots.
inline std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// Open addressing with linear probing over 2^k slots; an id of -1 marks an empty slot.
struct FrozenTable {
  const std::uint64_t* keys = nullptr;  // [n_slots]
  const std::int32_t* ids = nullptr;    // [n_slots]
  std::uint64_t mask = 0;               // n_slots - 1

  std::int32_t find(std::uint64_t key) const {
    for (std::uint64_t i = mix(key) & mask;; i = (i + 1) & mask) {
      if (ids[i] < 0) return -1;
      if (keys[i] == key) return ids[i];
    }
  }
  void prefetch(std::uint64_t key) const {
    __builtin_prefetch(keys + (mix(key) & mask));
    __builtin_prefetch(ids + (mix(key) & mask));
  }
};

// How many slots hold n entries: at most half of them are taken, so a probe is short and always ends.
inline std::size_t slots_for(std::size_t n) { return std::bit_ceil(std::max<std::size_t>(2, 2 * n + 1)); }

class GrowingTable {
 public:
  GrowingTable() { resize(16); }

  // The id of the key; a new key gets the next id.
  std::int32_t find_or_add(std::uint64_t key) {
    std::uint64_t i = mix(key) & (keys_.size() - 1);
    for (; ids_[i] >= 0; i = (i + 1) & (keys_.size() - 1))
      if (keys_[i] == key) return ids_[i];
    keys_[i] = key;
    ids_[i] = size_;
    if (2 * static_cast<std::size_t>(++size_) >= keys_.size()) resize(2 * keys_.size());
    return size_ - 1;
  }
  std::int32_t size() const { return size_; }

  // Calls each(key, id) for every entry, in slot order.
  template <class Each>
  void for_each(Each each) const {
    for (std::size_t i = 0; i < keys_.size(); ++i)
      if (ids_[i] >= 0) each(keys_[i], ids_[i]);
  }

 private:
  void resize(std::size_t n_slots) {
    std::vector<std::uint64_t> keys(n_slots);
    std::vector<std::int32_t> ids(n_slots, -1);
    for_each([&](std::uint64_t key, std::int32_t id) {
      std::uint64_t i = mix(key) & (n_slots - 1);
      while (ids[i] >= 0) i = (i + 1) & (n_slots - 1);
      keys[i] = key;
      ids[i] = id;
    });
    keys_.swap(keys);
    ids_.swap(ids);
  }
  std::vector<std::uint64_t> keys_;  // [n_slots]
  std::vector<std::int32_t> ids_;    // [n_slots], -1 where empty
  std::int32_t size_ = 0;
};

}  // namespace trellis

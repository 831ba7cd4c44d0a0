// Strings to small integers: a table that grows while a corpus is read, and a frozen one over arrays of a model file.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace trellis {

class CrfsuiteStrings;  // text/crfsuite_file.hpp

static_assert(std::endian::native == std::endian::little, "hashes are stored in files: read words little-endian");

// The offset of the first byte that is not part of valid UTF-8, or the size.
std::size_t find_invalid_utf8(std::string_view text);
// The first string that is not valid UTF-8, or the number of strings; string i is data[starts[i] .. starts[i + 1]).
std::size_t find_invalid_string(std::span<const std::uint8_t> data, std::span<const std::int64_t> starts);

// The bytes of a string of n < 8 bytes as one word, the rest zeros; overlapping loads instead of a loop over bytes.
inline std::uint64_t short_word(const char* p, std::size_t n) {
  if (n >= 4) {
    std::uint32_t low, high;
    std::memcpy(&low, p, 4);
    std::memcpy(&high, p + n - 4, 4);
    return low | std::uint64_t(high) << (8 * (n - 4));
  }
  if (n == 0) return 0;
  auto byte = [p](std::size_t i) { return std::uint64_t(static_cast<unsigned char>(p[i])) << (8 * i); };
  return byte(0) | byte(n / 2) | byte(n - 1);
}

// The hash of a string, stored in model files, so the same on every machine:
//   h = length * K;  for each little-endian 8-byte word w, the last one filled up with zeros:  h = (h ^ w) * K, then
//   h ^= h >> 32;  at the end MurmurHash3's 64-bit finaliser, so that any bits of h may index a table.
inline std::uint64_t hash_bytes(std::string_view s) {
  constexpr std::uint64_t K = 0x9E3779B97F4A7C15;
  const char* p = s.data();
  std::size_t n = s.size();
  std::uint64_t h = n * K, w;
  auto mix = [&h](std::uint64_t word) { h = (h ^ word) * K, h ^= h >> 32; };
  for (; n >= 8; n -= 8, p += 8) std::memcpy(&w, p, 8), mix(w);
  if (n > 0) mix(short_word(p, n));
  h = (h ^ h >> 33) * 0xFF51AFD7ED558CCD;
  h = (h ^ h >> 33) * 0xC4CEB9FE1A85EC53;
  return h ^ h >> 33;
}

// The hash of a string under a random key per process, against deliberate collisions
// (SipHash-1-3).
std::uint64_t keyed_hash(std::string_view s);

// A half full table with random hashes has runs of some 70 slots at a million strings, and practically never of 256.
inline constexpr std::size_t kLongSearch = 256;

// A growable dictionary: ids count up in order of first appearance, whatever the hash. Strings made to
// collide under the plain hash cause a long search; then the dictionary switches to the keyed hash.
class Interner {
 public:
  Interner() : slots_(64) {}

  std::int32_t intern(std::string_view s) {
    const std::uint64_t hash = hash_bytes(s);
    for (std::size_t i = hash, end = hash + plain_search_; i != end; ++i) {
      const Slot& slot = slots_[i & mask_];
      if (slot.id < 0) return add(s, hash, i & mask_);
      // Up to 8 bytes, every step of the hash is a bijection: equal length and hash are equal strings.
      if (slot.hash == hash && slot.length == static_cast<std::uint32_t>(s.size()) &&
          (s.size() <= 8 || (*this)[slot.id] == s))
        return slot.id;
    }
    return intern_keyed(s);
  }

  std::int32_t size() const { return static_cast<std::int32_t>(starts_.size() - 1); }
  std::string_view operator[](std::int32_t id) const {
    return {reinterpret_cast<const char*>(data_.data()) + starts_[id],
            static_cast<std::size_t>(starts_[id + 1] - starts_[id])};
  }

  std::size_t bytes() const {
    return data_.capacity() + starts_.capacity() * sizeof(std::int64_t) + slots_.size() * sizeof(Slot);
  }

  // Moves out the concatenated strings and their offsets; the dictionary is unusable afterwards.
  std::vector<std::uint8_t> take_data() { return std::move(data_); }       // [starts.back()]
  std::vector<std::int64_t> take_starts() { return std::move(starts_); }  // [size + 1]

 private:
  struct Slot {
    std::uint64_t hash = 0;
    std::uint32_t length = 0;  // modulo 2^32
    std::int32_t id = -1;
  };
  std::int32_t intern_keyed(std::string_view s);
  std::int32_t add(std::string_view s, std::uint64_t hash, std::size_t slot);
  template <class HashOf>
  void place_all(std::size_t n_slots, HashOf hash_of);

  std::vector<std::uint8_t> data_;
  std::vector<std::int64_t> starts_{0};
  std::vector<Slot> slots_;  // a power of two, at most half full
  std::size_t mask_ = slots_.size() - 1;
  std::size_t plain_search_ = kLongSearch;  // slots searched by the plain hash; 0 once the dictionary is keyed
};

// A dictionary over external arrays, perhaps mapped from a file. Look-ups check every index they follow, so
// damaged arrays give wrong answers at worst, never a read out of bounds. The slots use the plain hash, as they are
// stored in files; if strings were made to collide under it, slots by the keyed hash are built when a model is loaded.
struct FrozenStrings {
  std::span<const std::uint8_t> data;   // [n_bytes]
  std::span<const std::int64_t> starts;  // [n + 1]
  std::span<const std::int32_t> slots;   // [2^k], ids or -1; a string's search begins at hash & (2^k - 1)
  std::shared_ptr<const std::vector<std::int32_t>> keyed{};  // the same by the keyed hash, if searches in slots are long
  const CrfsuiteStrings* file = nullptr;  // if set, looked up instead; the arrays are empty

  std::size_t size() const { return starts.empty() ? 0 : starts.size() - 1; }

  // A string of a table that is valid().
  std::string_view at(std::int32_t id) const {
    return {reinterpret_cast<const char*>(data.data()) + starts[id], static_cast<std::size_t>(starts[id + 1] - starts[id])};
  }

  // The string's id, or -1.
  std::int32_t lookup(std::string_view s) const { return lookup(s, hash_bytes(s)); }
  std::int32_t lookup(std::string_view s, std::uint64_t hash) const {
    if (slots.empty()) return lookup_long(s);
    std::size_t mask = slots.size() - 1, at = hash & mask;
    for (std::size_t tries = 0; tries < kLongSearch; ++tries, at = (at + 1) & mask) {
      std::int32_t id = slots[at];
      if (id < 0) return -1;
      if (static_cast<std::size_t>(id) < size() && holds(id, s)) return id;
    }
    return lookup_long(s);
  }

  // A look-up has dependent loads. For many strings it runs in steps with prefetching: first the slots, then the first string.
  void prefetch(std::uint64_t hash) const {
    if (!slots.empty()) __builtin_prefetch(&slots[hash & (slots.size() - 1)]);
  }
  void prefetch_string(std::uint64_t hash) const {
    const std::int32_t id = slots.empty() ? -1 : slots[hash & (slots.size() - 1)];
    if (id < 0 || static_cast<std::size_t>(id) >= size()) return;
    if (static_cast<std::uint64_t>(starts[id]) < data.size()) __builtin_prefetch(&data[starts[id]]);
  }

  // Whether the arrays could come from build_slots for strings in UTF-8: checked once, when a model is loaded.
  bool valid() const;
  // Whether some search is long; for valid arrays, rebuilds the slots by the keyed hash if one is.
  bool has_long_search() const;
  void shorten_searches();

 private:
  std::int32_t lookup_long(std::string_view s) const;
  bool holds(std::int32_t id, std::string_view s) const {
    std::int64_t begin = starts[id], end = starts[id + 1];
    if (begin < 0 || end < begin || static_cast<std::uint64_t>(end) > data.size()) return false;
    return static_cast<std::size_t>(end - begin) == s.size() &&
           (s.empty() || std::memcmp(data.data() + begin, s.data(), s.size()) == 0);
  }
};

// The slots of a frozen dictionary: a power of two, at most half full. Of equal strings the first one is found.
// The starts must be in order and within the data.
std::vector<std::int32_t> build_slots(std::span<const std::uint8_t> data, std::span<const std::int64_t> starts);

}  // namespace trellis

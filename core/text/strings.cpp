#include "text/strings.hpp"

#include <algorithm>
#include <array>
#include <random>
#include <utility>

#include "text/bounds.hpp"
#include "text/crfsuite_file.hpp"

namespace trellis {

// The bytes of the well-formed sequence at p, or 0 (Unicode, table 3-7: no overlong forms, no surrogates, nothing
// above U+10FFFF).
static std::size_t sequence_length(const unsigned char* p, std::size_t left) {
  auto follows = [p](std::size_t i) { return (p[i] & 0xC0) == 0x80; };
  unsigned char lead = p[0];
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;
  if (lead < 0xE0) return left >= 2 && follows(1) ? 2 : 0;
  if (lead < 0xF0) {
    if (left < 3 || !follows(1) || !follows(2)) return 0;
    return (lead == 0xE0 && p[1] < 0xA0) || (lead == 0xED && p[1] > 0x9F) ? 0 : 3;
  }
  if (lead > 0xF4 || left < 4 || !follows(1) || !follows(2) || !follows(3)) return 0;
  return (lead == 0xF0 && p[1] < 0x90) || (lead == 0xF4 && p[1] > 0x8F) ? 0 : 4;
}

std::size_t find_invalid_utf8(std::string_view text) {
  auto* p = reinterpret_cast<const unsigned char*>(text.data());
  std::size_t i = 0, n = text.size();
  while (i < n) {
    // 32 bytes of ASCII at a time.
    for (std::uint64_t w[4]; i + 32 <= n; i += 32) {
      std::memcpy(w, p + i, 32);
      if ((w[0] | w[1] | w[2] | w[3]) & 0x8080808080808080) break;
    }
    for (std::size_t stop = i + 32; i < n && i < stop;) {
      std::size_t length = sequence_length(p + i, n - i);
      if (length == 0) return i;
      i += length;
    }
  }
  return n;
}

std::size_t find_invalid_string(std::span<const std::uint8_t> data, std::span<const std::int64_t> starts) {
  const std::size_t invalid = find_invalid_utf8({reinterpret_cast<const char*>(data.data()), data.size()});
  const auto begins_within = [&](std::int64_t at) {
    return static_cast<std::size_t>(at) < data.size() && (data[at] & 0xC0) == 0x80;
  };
  const auto at = static_cast<std::int64_t>(invalid);
  const auto found = invalid < data.size() ? std::upper_bound(starts.begin(), starts.end(), at) - 1
                                           : std::find_if(starts.begin(), starts.end() - 1, begins_within);
  return static_cast<std::size_t>(found - starts.begin());
}

std::uint64_t keyed_hash(std::string_view s) {
  static const std::array<std::uint64_t, 2> key = [] {
    std::random_device draw;
    const auto word = [&] { return std::uint64_t{draw()} << 32 | draw(); };
    return std::array{word(), word()};
  }();
  std::uint64_t v0 = key[0] ^ 0x736f6d6570736575, v1 = key[1] ^ 0x646f72616e646f6d;
  std::uint64_t v2 = key[0] ^ 0x6c7967656e657261, v3 = key[1] ^ 0x7465646279746573;
  const auto round = [&] {
    v0 += v1, v1 = std::rotl(v1, 13) ^ v0, v0 = std::rotl(v0, 32);
    v2 += v3, v3 = std::rotl(v3, 16) ^ v2;
    v0 += v3, v3 = std::rotl(v3, 21) ^ v0;
    v2 += v1, v1 = std::rotl(v1, 17) ^ v2, v2 = std::rotl(v2, 32);
  };
  const auto take = [&](std::uint64_t word) { v3 ^= word, round(), v0 ^= word; };
  const char* p = s.data();
  std::size_t n = s.size();
  for (std::uint64_t word; n >= 8; n -= 8, p += 8) std::memcpy(&word, p, 8), take(word);
  take(short_word(p, n) | std::uint64_t{s.size()} << 56);
  v2 ^= 0xff;
  round(), round(), round();
  return v0 ^ v1 ^ v2 ^ v3;
}

// Strong exception guarantee: memory may run out.
template <class HashOf>
void Interner::place_all(std::size_t n_slots, HashOf hash_of) {
  std::vector<Slot> old(n_slots);
  old.swap(slots_);
  mask_ = n_slots - 1;
  for (Slot slot : old) {
    if (slot.id < 0) continue;
    slot.hash = hash_of(slot);
    std::size_t i = slot.hash & mask_;
    while (slots_[i].id >= 0) i = (i + 1) & mask_;
    slots_[i] = slot;
  }
}

std::int32_t Interner::add(std::string_view s, std::uint64_t hash, std::size_t slot) {
  std::int32_t id = size();
  data_.resize(static_cast<std::size_t>(starts_.back()));  // memory may have run out in an earlier call
  data_.insert(data_.end(), s.begin(), s.end());
  starts_.push_back(static_cast<std::int64_t>(data_.size()));
  slots_[slot] = {hash, static_cast<std::uint32_t>(s.size()), id};
  if (2 * starts_.size() > slots_.size()) place_all(2 * slots_.size(), [](const Slot& placed) { return placed.hash; });
  return id;
}

std::int32_t Interner::intern_keyed(std::string_view s) {
  if (plain_search_ > 0) {
    place_all(slots_.size(), [this](const Slot& slot) { return keyed_hash((*this)[slot.id]); });
    plain_search_ = 0;
  }
  const std::uint64_t hash = keyed_hash(s);
  for (std::size_t i = hash & mask_;; i = (i + 1) & mask_) {
    if (slots_[i].id < 0) return add(s, hash, i);
    if (slots_[i].hash == hash && (*this)[slots_[i].id] == s) return slots_[i].id;
  }
}

bool FrozenStrings::valid() const {
  if (starts.empty() || starts[0] != 0 || static_cast<std::uint64_t>(starts.back()) != data.size()) return false;
  if (!ascending(starts) || !std::has_single_bit(slots.size())) return false;
  // An empty slot ends every search, so there must be one.
  const Bounds ids = bounds_of(slots);
  if (ids.least != -1 || ids.greatest >= static_cast<std::int64_t>(size())) return false;
  return find_invalid_string(data, starts) == size();
}

std::int32_t FrozenStrings::lookup_long(std::string_view s) const {
  if (slots.empty()) return file ? file->lookup(s) : -1;
  const std::span<const std::int32_t> table = keyed ? std::span<const std::int32_t>(*keyed) : slots;
  const std::size_t mask = table.size() - 1;
  std::size_t at = (keyed ? keyed_hash(s) : hash_bytes(s)) & mask;
  for (std::size_t tries = 0; tries < table.size() && table[at] >= 0; ++tries, at = (at + 1) & mask)
    if (static_cast<std::size_t>(table[at]) < size() && holds(table[at], s)) return table[at];
  return -1;
}

bool FrozenStrings::has_long_search() const {
  const std::size_t n = slots.size(), mask = n - 1;
  // A run of that many taken slots contains one whose number is a multiple of the run length.
  for (std::size_t i = 0; i < n; i += kLongSearch) {
    std::size_t length = 0;
    for (std::size_t at = i; length < kLongSearch && slots[at] >= 0; at = (at + 1) & mask) ++length;
    for (std::size_t at = (i - 1) & mask; length > 0 && length < kLongSearch && slots[at] >= 0; at = (at - 1) & mask) ++length;
    if (length == kLongSearch) return true;
  }
  return false;
}

void FrozenStrings::shorten_searches() {
  if (!has_long_search()) return;
  std::vector<std::int32_t> table(std::bit_ceil(std::max<std::size_t>(2 * size(), 2)), -1);
  const std::size_t mask = table.size() - 1;
  for (std::size_t id = 0; id < size(); ++id) {  // of equal strings, the first
    const std::string_view s = at(static_cast<std::int32_t>(id));
    std::size_t i = keyed_hash(s) & mask;
    while (table[i] >= 0 && !holds(table[i], s)) i = (i + 1) & mask;
    if (table[i] < 0) table[i] = static_cast<std::int32_t>(id);
  }
  keyed = std::make_shared<const std::vector<std::int32_t>>(std::move(table));
}

std::vector<std::int32_t> build_slots(std::span<const std::uint8_t> data, std::span<const std::int64_t> starts) {
  std::size_t n = starts.empty() ? 0 : starts.size() - 1;
  std::vector<std::int32_t> slots(std::bit_ceil(std::max<std::size_t>(2 * n, 2)), -1);
  const FrozenStrings strings{data, starts, slots};
  const std::size_t mask = slots.size() - 1;
  std::vector<std::size_t> next;  // [n_slots] for a taken slot one further on, all taken between; created if searches are long
  for (std::size_t id = 0; id < n; ++id) {
    std::size_t at = hash_bytes(strings.at(static_cast<std::int32_t>(id))) & mask;
    for (std::size_t tries = 0; tries < kLongSearch && slots[at] >= 0; ++tries) at = (at + 1) & mask;
    if (slots[at] >= 0) {
      if (next.empty()) {
        next.resize(slots.size());
        for (std::size_t i = 0; i < next.size(); ++i) next[i] = (i + 1) & mask;
      }
      std::size_t free = at;
      while (slots[free] >= 0) free = next[free];
      while (at != free) at = std::exchange(next[at], free);
    }
    slots[at] = static_cast<std::int32_t>(id);
  }
  return slots;
}

}  // namespace trellis

#include "text/strings.hpp"

#include <algorithm>
#include <array>
#include <random>

#include "text/bounds.hpp"
#include "text/utf8.hpp"

namespace trellis {

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

std::int32_t Interner::add(std::string_view s, std::uint64_t hash, std::size_t slot) {
  std::int32_t id = size();
  data_.resize(static_cast<std::size_t>(starts_.back()));  // memory may have run out within an earlier call
  data_.insert(data_.end(), s.begin(), s.end());
  starts_.push_back(static_cast<std::int64_t>(data_.size()));
  slots_[slot] = {hash, static_cast<std::uint32_t>(s.size()), id};
  if (2 * starts_.size() > slots_.size()) place_all(2 * slots_.size());
  return id;
}

std::int32_t Interner::intern_keyed(std::string_view s) {
  if (plain_search_ > 0) {
    plain_search_ = 0;
    for (Slot& slot : slots_)
      if (slot.id >= 0) slot.hash = keyed_hash((*this)[slot.id]);
    place_all(slots_.size());
  }
  const std::uint64_t hash = keyed_hash(s);
  for (std::size_t i = hash & mask_;; i = (i + 1) & mask_) {
    if (slots_[i].id < 0) return add(s, hash, i);
    if (slots_[i].hash == hash && (*this)[slots_[i].id] == s) return slots_[i].id;
  }
}

void Interner::place_all(std::size_t n_slots) {
  std::vector<Slot> old(n_slots);
  old.swap(slots_);
  mask_ = n_slots - 1;
  for (const Slot& slot : old) {
    if (slot.id < 0) continue;
    std::size_t i = slot.hash & mask_;
    while (slots_[i].id >= 0) i = (i + 1) & mask_;
    slots_[i] = slot;
  }
}

bool FrozenStrings::valid() const {
  if (starts.empty() || starts[0] != 0 || static_cast<std::uint64_t>(starts.back()) != data.size()) return false;
  if (!ascending(starts) || !std::has_single_bit(slots.size())) return false;
  // An empty slot ends every search, so there must be one.
  const Bounds ids = bounds_of(slots);
  if (ids.least != -1 || ids.greatest >= static_cast<std::int64_t>(size())) return false;
  const std::string_view text{reinterpret_cast<const char*>(data.data()), data.size()};
  if (find_invalid_utf8(text) < text.size()) return false;
  bool cuts = false;  // a string that begins within a character
  for (std::size_t i = 0; i < size(); ++i)
    cuts |= static_cast<std::size_t>(starts[i]) < data.size() && (data[starts[i]] & 0xC0) == 0x80;
  return !cuts;
}

std::vector<std::int32_t> build_slots(std::span<const std::uint8_t> data, std::span<const std::int64_t> starts) {
  std::size_t n = starts.empty() ? 0 : starts.size() - 1;
  std::vector<std::int32_t> slots(std::bit_ceil(std::max<std::size_t>(2 * n, 2)), -1);
  std::size_t mask = slots.size() - 1;
  for (std::size_t id = 0; id < n; ++id) {
    const char* begin = reinterpret_cast<const char*>(data.data()) + starts[id];
    std::size_t at = hash_bytes({begin, static_cast<std::size_t>(starts[id + 1] - starts[id])}) & mask;
    while (slots[at] >= 0) at = (at + 1) & mask;
    slots[at] = static_cast<std::int32_t>(id);
  }
  return slots;
}

}  // namespace trellis

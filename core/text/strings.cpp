#include "text/strings.hpp"

#include <algorithm>

#include "text/bounds.hpp"

namespace trellis {

std::int32_t Interner::add(std::string_view s, std::uint64_t hash, std::size_t slot) {
  std::int32_t id = size();
  data_.insert(data_.end(), s.begin(), s.end());
  starts_.push_back(static_cast<std::int64_t>(data_.size()));
  slots_[slot] = {hash, static_cast<std::uint32_t>(s.size()), id};
  if (2 * starts_.size() > slots_.size()) grow();
  return id;
}

void Interner::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  std::size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.id < 0) continue;
    std::size_t i = slot.hash & mask;
    while (slots_[i].id >= 0) i = (i + 1) & mask;
    slots_[i] = slot;
  }
}

bool FrozenStrings::valid() const {
  if (starts.empty() || starts[0] != 0 || static_cast<std::uint64_t>(starts.back()) != data.size()) return false;
  if (!ascending(starts) || !std::has_single_bit(slots.size())) return false;
  // An empty slot ends every search, so there must be one.
  const Bounds ids = bounds_of(slots);
  return ids.least == -1 && ids.greatest < static_cast<std::int64_t>(size());
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

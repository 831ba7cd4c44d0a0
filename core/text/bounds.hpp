// Whether arrays of a model file keep to their bounds: passes without branches, as fast as memory is read.
#pragma once
#include <cstdint>
#include <span>

namespace trellis {

// Whether no number is less than the one before it.
bool ascending(std::span<const std::int64_t> numbers);
bool ascending(std::span<const std::uint32_t> numbers);

// Whether all numbers are less than the limit.
bool all_below(std::span<const std::uint16_t> numbers, std::uint64_t limit);
bool all_below(std::span<const std::uint32_t> numbers, std::uint64_t limit);

// The least and the greatest number; 0, -1 if there are none.
struct Bounds {
  std::int32_t least, greatest;
};
Bounds bounds_of(std::span<const std::int32_t> numbers);

// Whether each id of a table [n, limits.size()] is -1 or from `first` to below first + the limit of its column.
bool view_ids_fit(std::span<const std::int32_t> ids, std::span<const std::uint32_t> limits, std::uint32_t first);

// Whether the lists seem to hold 0, 1 ... n - 1, each once, and beside them nothing but -1: how many numbers there are,
// their sum and the sum of their squares are right. One or two wrong numbers are always noticed. n is below 2^31.
bool each_once(std::span<const std::span<const std::int32_t>> lists, std::uint64_t n);

// A digest of bytes, the same on every machine, for it is stored in files. Sixteen lanes take 8 bytes each in turn, mixed in
// steps that can be undone, so that one wrong word is always noticed; what is left over, shorter than a round, is hashed by itself; the lanes, that hash and
// the length are hashed into one.
std::uint64_t digest_bytes(std::span<const std::uint8_t> bytes);

}  // namespace trellis

// Bounds checks for arrays of a model file: passes without branches, at memory bandwidth.
#pragma once
#include <cstdint>
#include <span>

namespace trellis {

// Whether numbers are nondecreasing.
bool ascending(std::span<const std::int64_t> numbers);
bool ascending(std::span<const std::uint32_t> numbers);

// Whether all numbers are less than the limit.
bool all_below(std::span<const std::uint16_t> numbers, std::uint64_t limit);
bool all_below(std::span<const std::uint32_t> numbers, std::uint64_t limit);

// The minimum and maximum; 0, -1 if there are no numbers.
struct Bounds {
  std::int32_t least, greatest;
};
Bounds bounds_of(std::span<const std::int32_t> numbers);

// Whether each id of a table [n, limits.size()] is -1 or from `first` to below first + the limit of its column.
bool view_ids_fit(std::span<const std::int32_t> ids, std::span<const std::uint32_t> limits, std::uint32_t first);

// Probabilistic check that the lists hold 0, 1 ... n - 1, each once, and otherwise only -1: compares count,
// sum and sum of squares. One or two wrong numbers are always detected. n is below 2^31.
bool each_once(std::span<const std::span<const std::int32_t>> lists, std::uint64_t n);

// A digest of bytes, stored in files, so the same on every machine. Sixteen lanes take 8 bytes each in turn, mixed by
// invertible steps, so that one wrong word is always detected; the rest, shorter than a round, is hashed separately; the lanes,
// that hash and the length are hashed into one.
std::uint64_t digest_bytes(std::span<const std::uint8_t> bytes);

}  // namespace trellis

#include "text/bounds.hpp"

#include <algorithm>

#include "engine/simd.hpp"
#include "text/strings.hpp"

namespace trellis {

namespace {

template <class Number>
TRELLIS_INLINE bool ascending_any(std::span<const Number> numbers) {
  bool falls = false;
  for (std::size_t i = 1; i < numbers.size(); ++i) falls |= numbers[i] < numbers[i - 1];
  return !falls;
}

template <class Number>
TRELLIS_INLINE bool all_below_any(std::span<const Number> numbers, std::uint64_t limit) {
  Number greatest = 0;
  for (Number number : numbers) greatest = std::max(greatest, number);
  return numbers.empty() || greatest < limit;
}

}  // namespace

TRELLIS_CLONES bool ascending(std::span<const std::int64_t> numbers) { return ascending_any(numbers); }
TRELLIS_CLONES bool ascending(std::span<const std::uint32_t> numbers) { return ascending_any(numbers); }
TRELLIS_CLONES bool all_below(std::span<const std::uint16_t> numbers, std::uint64_t limit) {
  return all_below_any(numbers, limit);
}
TRELLIS_CLONES bool all_below(std::span<const std::uint32_t> numbers, std::uint64_t limit) {
  return all_below_any(numbers, limit);
}

TRELLIS_CLONES Bounds bounds_of(std::span<const std::int32_t> numbers) {
  if (numbers.empty()) return {0, -1};
  std::int32_t least = numbers[0], greatest = numbers[0];
  for (std::int32_t number : numbers) least = std::min(least, number), greatest = std::max(greatest, number);
  return {least, greatest};
}

TRELLIS_CLONES bool view_ids_fit(std::span<const std::int32_t> ids, std::span<const std::uint32_t> limits,
                                 std::uint32_t first) {
  const std::size_t n = limits.size();
  unsigned bad = 0;
  for (std::size_t row = 0; row + n <= ids.size() && n > 0; row += n)
    for (std::size_t j = 0; j < n; ++j)  // numbers below `first` wrap around to large numbers
      bad |= unsigned{static_cast<std::uint32_t>(ids[row + j]) - first >= limits[j]} & unsigned{ids[row + j] != -1};
  return !bad;
}

namespace {

struct Sums {
  std::uint64_t n = 0, sum = 0, squares = 0;
  bool operator==(const Sums&) const = default;
};

// Of numbers + 1, so that -1 adds nothing.
TRELLIS_CLONES Sums sums_of(std::span<const std::int32_t> numbers) {
  Sums out;
  for (std::int32_t number : numbers) {
    const std::uint64_t one = static_cast<std::uint32_t>(number) + 1u;
    out.n += one != 0, out.sum += one, out.squares += one * one;
  }
  return out;
}

}  // namespace

bool each_once(std::span<const std::span<const std::int32_t>> lists, std::uint64_t n) {
  Sums all;
  for (auto list : lists) {
    const Sums some = sums_of(list);
    all.n += some.n, all.sum += some.sum, all.squares += some.squares;
  }
  // 1 + 2 + ... n = n (n + 1) / 2, and 1 + 4 + ... n^2 is that times (2 n + 1) / 3.
  const std::uint64_t sum = n * (n + 1) / 2, odd = 2 * n + 1;
  return all == Sums{n, sum, sum % 3 ? sum * (odd / 3) : sum / 3 * odd};
}

TRELLIS_CLONES std::uint64_t digest_bytes(std::span<const std::uint8_t> bytes) {
  using Words = Vector<std::uint64_t>;
  constexpr std::size_t kVectors = 4, kRound = kVectors * sizeof(Words);
  Words lane[kVectors];
  for (std::size_t i = 0; i < kVectors; ++i) lane[i] = Words{1, 2, 3, 4} + 4 * i;
  const std::uint8_t* p = bytes.data();
  std::size_t left = bytes.size();
  // x = lane ^ word; x is multiplied by 2^21 + 1; lane = x ^ floor(x / 2^29)
  for (; left >= kRound; left -= kRound, p += kRound)
    for (std::size_t i = 0; i < kVectors; ++i) {
      Words x = lane[i] ^ lanes(reinterpret_cast<const std::uint64_t*>(p + i * sizeof(Words)));
      x += x << 21;
      lane[i] = x ^ (x >> 29);
    }
  std::uint64_t end[kRound / sizeof(std::uint64_t) + 2];
  std::memcpy(end, lane, kRound);
  end[std::size(end) - 2] = hash_bytes({reinterpret_cast<const char*>(p), left});
  end[std::size(end) - 1] = bytes.size();
  return hash_bytes({reinterpret_cast<const char*>(end), sizeof end});
}

}  // namespace trellis

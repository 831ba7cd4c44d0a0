#include "text/utf8.hpp"

#include <cstdint>
#include <cstring>

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

}  // namespace trellis

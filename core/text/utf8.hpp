// Whether bytes are text.
#pragma once
#include <cstddef>
#include <string_view>

namespace trellis {

// The offset of the first byte that is not part of valid UTF-8, or the size.
std::size_t find_invalid_utf8(std::string_view text);

}  // namespace trellis

// Whole numbers as bytes, for files: the lowest seven bits first, and the eighth bit of all bytes but the last of a number.
#pragma once
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

namespace trellis {

using PackedNumbers = std::vector<std::uint8_t>;

inline void pack(std::uint64_t number, PackedNumbers& to) {
  for (; number > 0x7f; number >>= 7) to.push_back(static_cast<std::uint8_t>(number | 0x80));
  to.push_back(static_cast<std::uint8_t>(number));
}

// Reads packed numbers one after the other; numbers below 2^63.
class Unpacked {
 public:
  explicit Unpacked(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  bool ended() const { return at_ == bytes_.size(); }
  std::uint64_t next() {
    std::uint64_t number = 0;
    for (int shift = 0; shift < 63; shift += 7) {
      if (ended()) throw std::invalid_argument("packed numbers that end early");
      const std::uint64_t byte = bytes_[at_++];
      number |= (byte & 0x7f) << shift;
      if (byte < 0x80) return number;
    }
    throw std::invalid_argument("a packed number of more than 63 bits");
  }

 private:
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
};

}  // namespace trellis

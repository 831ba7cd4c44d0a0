// Dictionary-encoded columns on their way to Python.
#pragma once
#include "checks.hpp"
#include "text/strings.hpp"

using Coded = std::tuple<Numpy<std::int32_t>, Numpy<std::uint8_t>, Numpy<std::int64_t>>;  // codes [n], strings' data [n_bytes], their starts [n_strings + 1]

inline Coded coded(std::vector<std::int32_t> codes, trellis::Interner& strings) {
  return {to_numpy(std::move(codes)), to_numpy(strings.take_data()), to_numpy(strings.take_starts())};
}

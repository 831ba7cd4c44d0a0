// Dictionary-encoded columns on their way to Python.
#pragma once
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <span>
#include <tuple>

#include "bind.hpp"
#include "text/strings.hpp"

using Codes = Numpy<std::int32_t>;
using Starts = Numpy<std::int64_t>;
using Bytes = Numpy<std::uint8_t>;
using Coded = std::tuple<Codes, Bytes, Starts>;  // codes [n], strings' data [n_bytes], their starts [n_strings + 1]

template <class T>
std::span<const T> span(const Array<T, 1>& array) { return {array.data(), array.size()}; }

inline Coded coded(std::vector<std::int32_t> codes, trellis::Interner& strings) {
  return {to_numpy(std::move(codes)), to_numpy(strings.take_data()), to_numpy(strings.take_starts())};
}

inline void check_strings(const Array<std::uint8_t, 1>& data, const Array<std::int64_t, 1>& starts) {
  auto ends = span(starts);
  if (ends.empty() || ends[0] < 0 || !std::is_sorted(ends.begin(), ends.end()) ||
      static_cast<std::uint64_t>(ends.back()) > data.size())
    throw nb::value_error("starts must be in order and within data");
}

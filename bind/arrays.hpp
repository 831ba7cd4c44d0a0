// Arrays of NumPy: arguments are read in place, results are vectors handed over without a copy.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "casters.hpp"

namespace nb = nanobind;

// A C-contiguous array from Python.
struct AnyArray {
  nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu> kept;
  void* at = nullptr;
  std::size_t n = 0, extents[3] = {};

  // Whether it has this element type and rank. Nothing is converted: copies should be visible to the caller, and an array
  // changed in place must be the caller's own.
  bool read(nb::handle source, nb::dlpack::dtype type, std::size_t rank, bool writable);
  nb::object object() const { return nb::cast(kept, nb::rv_policy::reference); }
  // Makes it read-only for Python, and the array it is a view of. A bytearray remains writable.
  void make_read_only() const;
};
// T is const, except for arrays changed in place.
template <class T, int Rank>
struct ArrayOf : private AnyArray {
  using Element = std::remove_const_t<T>;
  static constexpr int kRank = Rank;

  T* data() const { return static_cast<T*>(at); }
  T* begin() const { return data(); }
  T* end() const { return data() + n; }
  std::size_t size() const { return n; }
  std::size_t shape(std::size_t axis) const { return extents[axis]; }
  template <class... Index>
  T& operator()(Index... index) const {
    static_assert(sizeof...(Index) == Rank);
    std::size_t place = 0, axis = 0;
    ((place = place * extents[axis++] + static_cast<std::size_t>(index)), ...);
    return data()[place];
  }
  bool read(nb::handle source) { return AnyArray::read(source, nb::dtype<Element>(), Rank, !std::is_const_v<T>); }
  using AnyArray::make_read_only;
  using AnyArray::object;
};
template <class T, int Rank>
using Array = ArrayOf<const T, Rank>;
template <class T, int Rank>
using MutableArray = ArrayOf<T, Rank>;
// The data, or null.
template <class T, int Rank>
T* data_of(const std::optional<ArrayOf<T, Rank>>& array) {
  return array ? array->data() : nullptr;
}
using Ints = Array<std::int32_t, 1>;
using Longs = Array<std::int64_t, 1>;
using UInts = Array<std::uint32_t, 1>;
using Shorts = Array<std::uint16_t, 1>;
using Bytes = Array<std::uint8_t, 1>;
using Floats = Array<float, 1>;
using Doubles = Array<double, 1>;

template <class T>
constexpr auto kArrayName =
    nb::detail::const_name("numpy.typing.NDArray[numpy.") + nb::detail::dtype_traits<T>::name + nb::detail::const_name("]");
// A vector as an array for Python.
template <class T>
struct Numpy : nb::object {
  using nb::object::object;
  static constexpr auto Name = kArrayName<T>;
};
nb::object new_array(void* values, const std::vector<std::size_t>& shape, nb::dlpack::dtype type, nb::handle owner);

// Hands a vector over to NumPy without copying, by its length or a shape.
template <class T>
Numpy<T> to_numpy(std::vector<T> values, std::vector<std::size_t> shape = {}) {
  auto kept = std::make_unique<std::vector<T>>(std::move(values));
  const nb::capsule owner(kept.get(), [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  std::vector<T>* const owned = kept.release();
  if (shape.empty()) shape = {owned->size()};
  return nb::steal<Numpy<T>>(new_array(owned->data(), shape, nb::dtype<T>(), owner).release());
}

namespace nanobind::detail {

template <class T, int Rank>
struct type_caster<ArrayOf<T, Rank>> {
  using Read = ArrayOf<T, Rank>;
  NB_TYPE_CASTER(Read, kArrayName<typename Read::Element>)

  template <class Flags>
  bool from_python(handle source, Flags, cleanup_list*) { return value.read(source); }
  static handle from_cpp(const Read& array, rv_policy, cleanup_list*) { return array.object().release(); }
};
// A vector of numbers is an array that is copied on input.
template <class T>
  requires std::is_arithmetic_v<T>
struct type_caster<std::vector<T>> {
  NB_TYPE_CASTER(std::vector<T>, kArrayName<T>)

  template <class Flags>
  bool from_python(handle source, Flags, cleanup_list*) {
    Array<T, 1> array;
    if (!array.read(source)) return false;
    value.assign(array.begin(), array.end());
    return true;
  }
  static handle from_cpp(std::vector<T> values, rv_policy, cleanup_list*) { return to_numpy(std::move(values)).release(); }
};

}  // namespace nanobind::detail

// nanobind's casters of the standard library, for every binding file in place of <nanobind/stl/...>. They allocate memory, but
// nanobind declares them noexcept: out of memory, std::terminate would end the process. Included without noexcept, they let
// exceptions through, and the caller raises MemoryError.
#pragma once
#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#define noexcept
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>
#undef noexcept

namespace nanobind::detail {

// A Python object as a shared pointer to its C++ object, which keeps it alive. It is released under the GIL.
template <class T>
struct type_caster<std::shared_ptr<T>> {
  static constexpr bool IsClass = true;
  NB_TYPE_CASTER(std::shared_ptr<T>, make_caster<T>::Name)

  template <class Flags>
  bool from_python(handle source, Flags flags, cleanup_list* cleanup) {
    make_caster<T> caster;
    if (!caster.from_python(source, flags & ~static_cast<Flags>(cast_flags::convert), cleanup)) return false;
    T* const held = caster.operator T*();
    value = held ? std::shared_ptr<T>(std::make_shared<object>(borrow(source)), held) : nullptr;
    return true;
  }
};

}  // namespace nanobind::detail

// Groups of arrays that cross the border by name. A record is a struct that lists its fields once:
//
//   struct RowArrays {
//     UInts starts, labels;
//     FIELDS(starts, labels)
//   };
//
// Python passes any object with attributes of these names (a dataclass, a named tuple), or a dict, and gets a dict. What a
// field is not, an error names. A std::vector of numbers is an array that is copied.
#pragma once
#include <concepts>
#include <string>
#include <string_view>
#include <tuple>

#include "bind.hpp"

#define FIELDS(...)                                     \
  static constexpr const char* kFields = #__VA_ARGS__; \
  auto fields() { return std::tie(__VA_ARGS__); }       \
  auto fields() const { return std::tie(__VA_ARGS__); }

// Records that go both ways hold arrays of Python on the way in, vectors on the way out.
template <class T>
using In = Array<T, 1>;
template <class T>
using Out = std::vector<T>;

template <class T>
concept Record = requires(T& record) { record.fields(); };

// Calls visit(name, field) for every field of a record.
template <class AnyRecord, class Visit>
void each_field(AnyRecord& record, Visit visit) {
  std::string_view names = AnyRecord::kFields;
  const auto next = [&] {
    const std::string name(names.substr(0, names.find(',')));
    names.remove_prefix(std::min(names.size(), name.size() + 2));
    return name;
  };
  std::apply([&](auto&... field) { (visit(next(), field), ...); }, record.fields());
}

template <class T>
struct NumbersOf {};
template <class T>
  requires std::is_arithmetic_v<T>
struct NumbersOf<std::vector<T>> {
  using Type = T;
};
template <class T>
concept Numbers = requires { typename NumbersOf<T>::Type; };

// What fields are read from: the attributes of an object, or the entries of a dict whose keys begin with a prefix.
struct Source {
  nb::object object;
  std::string prefix = {};

  nb::object operator[](const std::string& name) const;
  Source under(const std::string& name) const;  // of a record that is a field
  [[noreturn]] void refuse(const std::string& name, const std::string& wanted) const;
};

template <class T>
std::string wanted_field() {
  if constexpr (requires { typename T::Config; typename T::Scalar; }) {
    const std::string bits = std::to_string(8 * sizeof(typename T::Scalar));
    const char* kind = std::is_floating_point_v<typename T::Scalar> ? "float" : std::is_signed_v<typename T::Scalar> ? "int" : "uint";
    return "a contiguous array of " + (kind + bits) + " of rank " + std::to_string(T::Config::N);
  }
  return "another type";
}

template <class Field>
void read_field(const Source& source, const std::string& name, Field& to) {
  if constexpr (Record<Field>) {
    read_record(source.under(name), to);
  } else if constexpr (Numbers<Field>) {
    Array<typename NumbersOf<Field>::Type, 1> array;
    read_field(source, name, array);
    to.assign(array.data(), array.data() + array.size());
  } else {
    try {
      to = nb::cast<Field>(source[name], false);
    } catch (const nb::cast_error&) {
      source.refuse(name, wanted_field<Field>());
    }
  }
}
template <Record AnyRecord>
void read_record(const Source& source, AnyRecord& to) {
  each_field(to, [&](const std::string& name, auto& field) { read_field(source, name, field); });
}

template <class Field>
nb::object to_python(Field&& field) {
  if constexpr (Numbers<std::decay_t<Field>>) return nb::cast(to_numpy(std::forward<Field>(field)));
  else return nb::cast(std::forward<Field>(field));
}

namespace nanobind::detail {

template <Record T>
struct type_caster<T> {
  NB_TYPE_CASTER(T, io_name("object", "dict[str, typing.Any]"))

  template <class Flags>
  bool from_python(handle source, Flags, cleanup_list*) {
    read_record(Source{borrow(source)}, value);
    return true;
  }
  static handle from_cpp(T record, rv_policy, cleanup_list*) {
    dict out;
    each_field(record, [&](const std::string& name, auto& field) { out[name.c_str()] = to_python(std::move(field)); });
    return out.release();
  }
};

}  // namespace nanobind::detail

// A record with the object of Python that it was read from, which is what Python gets back.
template <class T>
struct Kept : T {
  nb::object source;
};

namespace nanobind::detail {

template <class T>
struct type_caster<Kept<T>> {
  NB_TYPE_CASTER(Kept<T>, const_name("typing.Any"))

  template <class Flags>
  bool from_python(handle source, Flags, cleanup_list*) {
    value.source = borrow(source);
    read_record(Source{value.source}, static_cast<T&>(value));
    return true;
  }
  static handle from_cpp(const Kept<T>& kept, rv_policy, cleanup_list*) { return kept.source.inc_ref(); }
};

}  // namespace nanobind::detail

// The arrays of a learner as a dict of Python, by "name" or "name.field". A learner lists them once, in fields(archive): an
// OutArchive copies them into the dict, an InArchive reads them from it.
using NamedArrays = nb::typed<nb::dict, nb::str, nb::any>;
class OutArchive {
 public:
  static constexpr bool kReads = false;
  NamedArrays dict;

  template <class Field>
  void operator()(const std::string& name, const Field& field) {
    if constexpr (Record<const Field>)
      each_field(field, [&](const std::string& part, const auto& own) { (*this)(name + "." + part, own); });
    else if constexpr (std::is_arithmetic_v<Field>)
      dict[name.c_str()] = to_numpy(std::vector<Field>{field});
    else
      dict[name.c_str()] = to_numpy(field);
  }
};
// All arrays of a record so.
template <Record AnyRecord>
NamedArrays flat(const AnyRecord& record) {
  OutArchive archive;
  each_field(record, [&](const std::string& name, const auto& field) { archive(name, field); });
  return archive.dict;
}
class InArchive {
 public:
  static constexpr bool kReads = true;
  explicit InArchive(const nb::dict& dict) : source_{dict} {}

  template <class Field>
  void operator()(const std::string& name, Field& field) {
    if constexpr (std::is_arithmetic_v<Field>) {
      std::vector<Field> one;
      read_field(source_, name, one);
      if (one.size() != 1) source_.refuse(name, "one number");
      field = one[0];
    } else {
      read_field(source_, name, field);
    }
  }

 private:
  Source source_;
};

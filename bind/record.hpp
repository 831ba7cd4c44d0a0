// Groups of arguments and results passed by name. A record is a struct that lists its fields once:
//
//   struct RowArrays {
//     UInts starts, labels;
//     FIELDS(starts, labels)
//   };
//
// Python passes any object with attributes of these names (a dataclass, a named tuple), or a dict, and gets a dict. Errors
// name the invalid field. RECORD(Type, ...) does the same for a struct of the core.
//
// A bound class lists the arguments of its constructor in the same way, by ARGUMENTS, and validates them in begin():
//
//   struct PyExamples {
//     std::shared_ptr<Encoded> corpus;
//     std::optional<Doubles> weights;
//     ARGUMENTS(corpus, weights)
//     void begin();
//   };
//   bind_class<PyExamples>(module, "Examples", "Sentences with their labels.");
//
// An argument that may be None may also be missing. Arrays kept by a class are read-only from then on.
#pragma once
#include <string>
#include <string_view>
#include <tuple>

#include "bind.hpp"

// Source of fields: the attributes of an object, or the entries of a dict whose keys begin with a prefix.
struct Source {
  nb::object object;
  bool keeps = false;  // arrays are kept beyond the call, and so made read-only
  std::string prefix = {};

  nb::object operator[](const std::string& name) const;
  Source under(const std::string& name) const;  // for a nested record
  std::vector<Source> items(const std::string& name) const;  // of a list or tuple, each a dict with `name` alone
  [[noreturn]] void refuse(const std::string& name, const std::string& wanted) const;
};

struct Field;
using FieldList = std::vector<Field>;
// Operations on fields of one type.
struct FieldType {
  void (*read)(const Source& source, const std::string& name, void* to);
  nb::object (*write)(void* from);    // moves from it
  std::string (*name)();              // for type checkers
  bool optional;
};
struct Field {
  std::string name;
  void* at;
  const FieldType* type;
};
template <class T>
const FieldType* field_type();

FieldList list_fields(const char* names, std::initializer_list<Field> fields);
template <class... T>
FieldList list_fields(const char* names, const T&... field) {
  return list_fields(names, {Field{{}, const_cast<T*>(&field), field_type<T>()}...});
}
#define FIELDS(...) \
  FieldList fields() const { return list_fields(#__VA_ARGS__, __VA_ARGS__); }
#define ARGUMENTS(...) \
  FieldList arguments() const { return list_fields(#__VA_ARGS__, __VA_ARGS__); } \
  Pinned pinned;
// A member that is neither copied nor moved, as it points into itself.
struct Pinned {
  Pinned() = default;
  Pinned(const Pinned&) = delete;
};

template <class T>
struct CoreRecord {};
#define RECORD(Type, ...)                            \
  template <>                                        \
  struct CoreRecord<Type> {                          \
    static FieldList fields(const Type& record) {    \
      const auto& [__VA_ARGS__] = record;            \
      return list_fields(#__VA_ARGS__, __VA_ARGS__); \
    }                                                \
  };
template <class T>
FieldList fields_of(const T& record) {
  if constexpr (requires { record.fields(); }) return record.fields();
  else return CoreRecord<T>::fields(record);
}
template <class T>
concept Record = requires(const T& record) { record.fields(); } || requires(const T& record) { CoreRecord<T>::fields(record); };

void read_fields(const Source& source, const FieldList& fields);
// A record, validated in begin() if it has one.
template <class T>
void read_record(const Source& source, T& record) {
  read_fields(source, fields_of(record));
  if constexpr (requires { record.begin(); }) record.begin();
}
nb::dict write_fields(const FieldList& fields);
// Records that are read and written hold arrays of Python on input, vectors on output.
template <class T>
using In = Array<T, 1>;
template <class T>
using Out = std::vector<T>;

// An object of Python, or null for None.
template <class T>
struct OrNone : std::shared_ptr<T> {};
// A record with the Python object it was read from, which is returned to Python.
template <class T>
struct Kept : T {
  nb::object source;
};

// ------------------------------------------------------------ types of fields

std::string wanted_array(nb::dlpack::dtype type, int rank);
std::string class_name(nb::handle type);

template <class T>
concept Optional = requires(T& field) { field.emplace(), field.has_value(); };
template <class T>
concept Pointer = requires(T& field) { field.use_count(); };
template <class T>
constexpr bool kOrNone = false;  // of pointers
template <class T>
constexpr bool kOrNone<OrNone<T>> = true;
template <class T>
concept Vector = requires(T& field) { field.shrink_to_fit(), field.pop_back(); } && !std::is_same_v<T, std::string>;
template <class T>
concept Numbers = Vector<T> && std::is_arithmetic_v<typename T::value_type>;

template <class T>
std::string type_name() {
  if constexpr (requires { T::kRank; }) return kArrayName<typename T::Element>.text;
  else if constexpr (Numbers<T>) return kArrayName<typename T::value_type>.text;
  else if constexpr (Vector<T>) return "collections.abc.Sequence[" + type_name<typename T::value_type>() + "]";
  else if constexpr (Optional<T>) return type_name<typename T::value_type>() + " | None";
  else if constexpr (Pointer<T>) return class_name(nb::type<typename T::element_type>()) + (kOrNone<T> ? " | None" : "");
  else if constexpr (std::is_same_v<T, std::string>) return "str";
  else return std::is_same_v<T, bool> ? "bool" : std::is_integral_v<T> ? "int" : std::is_floating_point_v<T> ? "float" : "object";
}
// Whether the object is a T. Unlike nb::try_cast it may throw, if out of memory.
template <class T>
bool cast_to(nb::handle object, T& to) {
  try {
    to = nb::cast<T>(object, std::is_arithmetic_v<T>);
  } catch (const nb::cast_error&) {
    return false;
  }
  return true;
}
template <class T>
void read_field(const Source& source, const std::string& name, T& to) {
  if constexpr (requires { to.source; }) to.source = source[name];
  if constexpr (Record<T>) {
    read_record(source.under(name), to);
  } else if constexpr (requires { T::kRank; }) {
    if (!to.read(source[name])) source.refuse(name, wanted_array(nb::dtype<typename T::Element>(), T::kRank));
    if (source.keeps) to.make_read_only();
  } else if constexpr (Numbers<T>) {
    Array<typename T::value_type, 1> array;
    read_field(Source{source.object, false, source.prefix}, name, array);
    to.assign(array.begin(), array.end());
  } else if constexpr (Vector<T>) {
    const std::vector<Source> items = source.items(name);
    to.resize(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) read_field(items[i], name, to[i]);
  } else if constexpr (Optional<T>) {
    if (!source[name].is_none()) read_field(source, name, to.emplace());
  } else if constexpr (Pointer<T>) {
    std::shared_ptr<typename T::element_type>& pointer = to;
    if (!cast_to(source[name], pointer) || (!pointer && !kOrNone<T>)) source.refuse(name, type_name<T>());
  } else if (!cast_to(source[name], to)) {
    source.refuse(name, "another type");
  }
}
template <class T>
nb::object write_field(T& from) {
  if constexpr (Record<T>) return write_fields(fields_of(from));
  else if constexpr (Optional<T>) return from ? write_field(*from) : nb::none();
  else if constexpr (Pointer<T> || requires { T::kRank; } || (Vector<T> && !Numbers<T>)) return nb::none();  // read only
  else return nb::cast(std::move(from));
}
template <class T>
const FieldType* field_type() {
  static constexpr FieldType type = {
      [](const Source& source, const std::string& name, void* to) { read_field(source, name, *static_cast<T*>(to)); },
      [](void* from) { return write_field(*static_cast<T*>(from)); },
      &type_name<T>, Optional<T> || kOrNone<T>};
  return &type;
}

// ------------------------------------------------------------ functions and constructors

namespace nanobind::detail {

template <Record T>
struct type_caster<T> {
  NB_TYPE_CASTER(T, io_name("object", "dict[str, typing.Any]"))

  template <class Flags>
  bool from_python(handle source, Flags, cleanup_list*) {
    read_record(Source{borrow(source)}, value);
    return true;
  }
  static handle from_cpp(T record, rv_policy, cleanup_list*) { return write_fields(fields_of(record)).release(); }
};
template <class T>
struct type_caster<Kept<T>> {
  static constexpr auto Name = const_name("typing.Any");
  static handle from_cpp(const Kept<T>& kept, rv_policy, cleanup_list*) { return kept.source.inc_ref(); }
};

}  // namespace nanobind::detail

// The arguments of a constructor, by position or name.
void read_arguments(const FieldList& fields, const nb::args& args, const nb::kwargs& kwargs);
std::string signature(const FieldList& fields);  // of __init__
// The constructor of a class with ARGUMENTS and begin().
struct by_name : nb::def_visitor<by_name> {
  template <class Class, class... Extra>
  void execute(Class& bound, const Extra&...) {
    using Self = typename Class::Type;
    const auto make = [](Self* self, const nb::args& args, const nb::kwargs& kwargs) {
      new (self) Self();
      try {
        read_arguments(self->arguments(), args, kwargs);
        self->begin();
      } catch (...) {
        self->~Self();
        throw;
      }
    };
    bound.def("__init__", make, nb::sig(signature(Self().arguments()).c_str()));
  }
};
template <class T, class... Base>
auto bind_class(nb::module_& module, const char* name, const char* doc) {
  return nb::class_<T, Base...>(module, name, doc).def(by_name());
}

// ------------------------------------------------------------ states of learners

// The arrays of a learner as a Python dict, by "name" or "name.field". A learner lists them once, in fields(archive),
// which copies them into the dict or reads them from it.
using NamedArrays = nb::typed<nb::dict, nb::str, nb::any>;
class Archive {
 public:
  const bool reads;
  NamedArrays dict;

  Archive() : reads(false) {}
  explicit Archive(const NamedArrays& state) : reads(true), dict(state) {}

  template <class T>
  void operator()(const std::string& name, T& field) {
    if constexpr (std::is_arithmetic_v<T>) {
      std::vector<T> one{field};
      (*this)(name, one);
      if (one.size() != 1) Source{dict}.refuse(name, "one number");
      field = one[0];
    } else if (reads) {
      read_field(Source{dict}, name, field);
    } else {
      T copy = field;
      put(name, write_field(copy));
    }
  }
  void put(const std::string& name, const nb::object& value);  // for a dict, its entries by "name.key"
};
// The same for all arrays of a record.
template <Record T>
NamedArrays flat(T record, const std::string& name = {}) {
  Archive archive;
  archive.put(name, write_field(record));
  return archive.dict;
}

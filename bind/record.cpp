#include "record.hpp"

#include "attributes.hpp"

nb::object Source::operator[](const std::string& name) const {
  if (is_dict(object.ptr())) return nb::borrow<nb::dict>(object)[(prefix + name).c_str()];
  PyObject* const field = PyObject_GetAttrString(object.ptr(), name.c_str());
  if (field) return nb::steal(field);
  if (!PyErr_ExceptionMatches(PyExc_AttributeError)) throw nb::python_error();
  PyErr_Clear();
  throw nb::type_error((kind_of(object) + " has no field " + name).c_str());
}

Source Source::under(const std::string& name) const {
  const bool is_flat = is_dict(object.ptr()) && !nb::borrow<nb::dict>(object).contains((prefix + name).c_str());
  return is_flat ? Source{object, keeps, prefix + name + "."} : Source{(*this)[name], keeps};
}

std::vector<Source> Source::items(const std::string& name) const {
  const nb::object all = (*this)[name];
  if (!is_list(all.ptr()) && !is_tuple(all.ptr())) refuse(name, "a list");
  std::vector<Source> out;
  for (nb::handle item : all) {
    nb::dict alone;
    alone[name.c_str()] = item;
    out.push_back({alone, keeps});
  }
  return out;
}

static std::string string_of(nb::handle thing) {
  const nb::object text = nb::steal(PyObject_Str(thing.ptr()));
  if (!text.is_valid()) throw nb::python_error();
  return std::string(utf8(text));
}

void Source::refuse(const std::string& name, const std::string& wanted) const {
  const nb::object value = (*this)[name];
  std::string found = kind_of(value);
  if (nb::hasattr(value, "dtype") && nb::hasattr(value, "shape"))
    found += " of " + string_of(value.attr("dtype")) + " with shape " + string_of(value.attr("shape"));
  throw nb::type_error((prefix + name + ": " + wanted + " is needed, not " + found).c_str());
}

std::string wanted_array(nb::dlpack::dtype type, int rank) {
  const auto code = static_cast<nb::dlpack::dtype_code>(type.code);
  const char* kind = code == nb::dlpack::dtype_code::Float ? "float" : code == nb::dlpack::dtype_code::Int ? "int" : "uint";
  return "a contiguous array of " + (kind + std::to_string(type.bits)) + " of rank " + std::to_string(rank);
}

std::string class_name(nb::handle type) { return type.is_valid() ? string_of(type.attr("__name__")) : "object"; }

FieldList list_fields(const char* names, std::initializer_list<Field> fields) {
  FieldList list(fields);
  std::string_view rest = names;
  for (Field& field : list) {
    field.name = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(rest.size(), field.name.size() + 2));
  }
  return list;
}

void read_fields(const Source& source, const FieldList& fields) {
  for (const auto& [name, at, type] : fields) type->read(source, name, at);
}

nb::dict write_fields(const FieldList& fields) {
  nb::dict out;
  for (const auto& [name, at, type] : fields) out[name.c_str()] = type->write(at);
  return out;
}

void Archive::put(const std::string& name, const nb::object& value) {
  if (!is_dict(value.ptr())) {
    dict[name.c_str()] = value;
    return;
  }
  for (const auto& [key, part] : nb::borrow<nb::dict>(value))
    put(name.empty() ? string_of(key) : name + "." + string_of(key), nb::borrow(part));
}

void read_arguments(const FieldList& fields, const nb::args& args, const nb::kwargs& kwargs) {
  if (args.size() > fields.size()) throw nb::type_error(("at most " + std::to_string(fields.size()) + " arguments").c_str());
  nb::dict values;
  for (std::size_t i = 0; i < args.size(); ++i) values[fields[i].name.c_str()] = args[i];
  for (const auto& [name, value] : kwargs) {
    const std::string text(utf8(name));
    const bool known = std::ranges::any_of(fields, [&](const Field& field) { return field.name == text; });
    if (!known || values.contains(name)) throw nb::type_error(((known ? "twice the argument " : "no argument ") + text).c_str());
    values[name] = value;
  }
  for (const auto& [name, at, type] : fields) {
    if (values.contains(name.c_str())) type->read(Source{values, true}, name, at);
    else if (!type->optional) throw nb::type_error(("the argument " + name + " is missing").c_str());
  }
}

std::string signature(const FieldList& fields) {
  std::string text = ") -> None";
  bool all_optional = true;  // from here on
  for (std::size_t i = fields.size(); i-- > 0;) {
    const auto& [name, at, type] = fields[i];
    all_optional = all_optional && type->optional;
    text = ", " + name + ": " + type->name() + (all_optional ? " = None" : "") + text;
  }
  return "def __init__(self" + text;
}

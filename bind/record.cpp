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
  return is_flat ? Source{object, prefix + name + "."} : Source{(*this)[name]};
}

static std::string text_of(nb::handle thing) {
  const nb::object text = nb::steal(PyObject_Str(thing.ptr()));
  if (!text.is_valid()) throw nb::python_error();
  return std::string(utf8(text));
}

void Source::refuse(const std::string& name, const std::string& wanted) const {
  const nb::object value = (*this)[name];
  std::string found = kind_of(value);
  if (nb::hasattr(value, "dtype") && nb::hasattr(value, "shape"))
    found += " of " + text_of(value.attr("dtype")) + " with shape " + text_of(value.attr("shape"));
  throw nb::type_error((prefix + name + ": " + wanted + " is needed, not " + found).c_str());
}

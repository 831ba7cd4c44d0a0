// Python's strings and free-form attributes of tokens.
#pragma once
#include <cmath>
#include <string>
#include <string_view>

#include "bind.hpp"

inline std::string_view utf8(nb::handle text) {
  Py_ssize_t size;
  const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (!data) throw nb::python_error();
  return {data, static_cast<std::size_t>(size)};
}

inline std::string kind_of(nb::handle thing) { return Py_TYPE(thing.ptr())->tp_name; }

inline std::string_view attribute_name(nb::handle name) {
  if (!PyUnicode_Check(name.ptr()))
    throw nb::type_error(("the name of an attribute is " + kind_of(name) + ", not a string").c_str());
  return utf8(name);
}

// Calls visit(name, value) for each attribute of a token: of a dict "name:string" with value 1, or name with a number or
// truth value; of a list each name with value 1. A number's own conversion is Python code, which may do anything: whoever
// calls this holds no lock and keeps the token, and name and value are kept here.
template <class Visit>
void each_attribute(nb::handle token, Visit visit) {
  if (PyDict_Check(token.ptr())) {
    PyObject *key, *value;
    for (Py_ssize_t at = 0; PyDict_Next(token.ptr(), &at, &key, &value);) {
      const nb::object name = nb::borrow(key), said = nb::borrow(value);
      if (PyUnicode_Check(value)) {
        visit(std::string(attribute_name(name)).append(":").append(utf8(said)), 1.0f);
        continue;
      }
      const std::string_view text = attribute_name(name);
      const double number = PyFloat_AsDouble(value);
      if (number == -1 && PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw nb::python_error();
        PyErr_Clear();
        throw nb::type_error(
            ("the value of an attribute is " + kind_of(said) + ", neither a string, a number nor a truth value").c_str());
      }
      if (!std::isfinite(static_cast<float>(number))) throw nb::value_error("a value that is not a finite number");
      if (value != Py_False) visit(text, static_cast<float>(number));
    }
  } else if (PyList_Check(token.ptr()) || PyTuple_Check(token.ptr())) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(token.ptr()); ++i)
      visit(attribute_name(PySequence_Fast_GET_ITEM(token.ptr(), i)), 1.0f);
  } else {
    throw nb::type_error(("the attributes of a token must be a dict or a list, not " + kind_of(token)).c_str());
  }
}

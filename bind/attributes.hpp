// Python's strings and free-form attributes of tokens.
#pragma once
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "items.hpp"
#include "text/recent_attributes.hpp"

__attribute__((always_inline)) inline std::string_view utf8(nb::handle text) {
#ifndef Py_LIMITED_API
  if (PyUnicode_IS_COMPACT_ASCII(text.ptr()))  // the common case: without a call
    return {static_cast<const char*>(PyUnicode_DATA(text.ptr())), static_cast<std::size_t>(PyUnicode_GET_LENGTH(text.ptr()))};
#endif
  Py_ssize_t size;
  const char* data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (!data) throw nb::python_error();
  return {data, static_cast<std::size_t>(size)};
}

inline std::string kind_of(nb::handle thing) {
  const nb::object name = nb::steal(PyType_GetName(Py_TYPE(thing.ptr())));
  if (!name.is_valid()) throw nb::python_error();
  return std::string(utf8(name));
}

// A string, or bytes in UTF-8; keeps the viewed object alive.
struct AttributeText {
  nb::object kept;
  std::string_view view;
};

inline bool is_text(nb::handle thing) { return is_string(thing.ptr()) || PyBytes_Check(thing.ptr()); }

inline AttributeText attribute_text(nb::handle text) {
  if (is_string(text.ptr())) return {nb::borrow(text), utf8(text)};
  if (!PyBytes_Check(text.ptr()))
    throw nb::type_error(("the name of an attribute is " + kind_of(text) + ", not a string").c_str());
  const nb::object decoded =
      nb::steal(PyUnicode_DecodeUTF8(PyBytes_AsString(text.ptr()), PyBytes_Size(text.ptr()), nullptr));
  if (!decoded.is_valid()) {
    PyErr_Clear();
    throw nb::value_error("an attribute is not valid UTF-8");
  }
  return {decoded, utf8(decoded)};
}

inline bool is_collection(nb::handle thing) {
  return is_list(thing.ptr()) || is_tuple(thing.ptr()) || PyAnySet_Check(thing.ptr());
}

using trellis::AttributeName;

// visit(before + name, 1) for each name of a list or set.
template <class Visit>
void each_name(nb::handle names, std::string_view before, Visit& visit) {
  const nb::object all = nb::steal(PyAnySet_Check(names.ptr()) ? PySequence_List(names.ptr()) : names.inc_ref().ptr());
  if (!all.is_valid()) throw nb::python_error();
  if (PyAnySet_Check(names.ptr()) && PyList_Sort(all.ptr()) != 0) {  // otherwise the numbering of attributes would be random
    PyErr_Clear();
    throw nb::type_error("a set of attributes must contain only strings");
  }
  const auto say = [&](std::string_view name) { visit(AttributeName{before, {}, name}, 1.0f); };
  const Items items(all.ptr());
  for (std::size_t i = 0; i < items.size(); ++i) {
    PyObject* const item = items[i];
    if (is_string(item)) say(utf8(item));
    else say(attribute_text(item).view);
  }
}

// A number from a dict as a float; the error of any other type.
inline float number_of(nb::handle value) {
  const double number = in_python([&] { return PyFloat_AsDouble(value.ptr()); });
  if (number == -1 && PyErr_Occurred()) {
    if (PyErr_ExceptionMatches(PyExc_OverflowError)) {
      PyErr_Clear();
      throw nb::value_error("the value of an attribute must be a finite number");
    }
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw nb::python_error();
    PyErr_Clear();
    throw nb::type_error(
        ("the value of an attribute is " + kind_of(value) + ", neither a string, a number nor a truth value").c_str());
  }
  if (!std::isfinite(static_cast<float>(number))) throw nb::value_error("the value of an attribute must be a finite number");
  return static_cast<float>(number);
}

// A number of Python's own types: reading it runs no Python code.
inline bool is_plain_number(PyObject* thing) {
  return PyFloat_CheckExact(thing) || PyBool_Check(thing) || PyLong_CheckExact(thing);
}

constexpr int kDeepest = 50;  // nested dicts; a dict that contains itself would not end

template <class Visit, class BeforeCode>
void each_of_dict(nb::handle dict, std::string_view before, int depth, Visit& visit, BeforeCode& before_code) {
  if (depth > kDeepest) throw nb::value_error("attributes are nested too deeply");
  const auto below = [&](std::string_view name) { return std::string(before).append(name).append(1, ':'); };
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(dict.ptr(), &at, &key, &value);) {
    const bool named = is_string(key);
    if (named && is_string(value)) {  // the common case, without running Python code
      visit(AttributeName{before, utf8(key), utf8(value), true}, 1.0f);
      continue;
    }
    if (named && is_plain_number(value)) {  // the same
      if (value != Py_False) visit(AttributeName{before, {}, utf8(key)}, value == Py_True ? 1.0f : number_of(value));
      continue;
    }
    before_code();
    const nb::object said = nb::borrow(value);
    const AttributeText name = attribute_text(key);
    if (is_text(said)) {
      const AttributeText text = attribute_text(said);
      visit(AttributeName{before, name.view, text.view, true}, 1.0f);
    } else if (PyDict_Check(value)) {
      each_of_dict(said, below(name.view), depth + 1, visit, before_code);
    } else if (is_collection(said)) {
      each_name(said, below(name.view), visit);
    } else {
      const float number = number_of(said);
      if (value != Py_False) visit(AttributeName{before, {}, name.view}, number);
    }
  }
}

// visit("[i]", value) for each nonzero number of a vector; returns whether it is one: float32 or float64, one dimension.
template <class Visit>
bool each_number(nb::handle vector, Visit& visit) {
  nb::ndarray<nb::ro, nb::device::cpu> numbers;
  if (!nb::try_cast(vector, numbers, false) || !numbers.is_valid() || numbers.ndim() != 1) return false;
  const bool single = numbers.dtype() == nb::dtype<float>();
  if (!single && numbers.dtype() != nb::dtype<double>()) return false;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::int64_t at = static_cast<std::int64_t>(i) * numbers.stride(0);
    const float value = single ? static_cast<const float*>(numbers.data())[at]
                               : static_cast<float>(static_cast<const double*>(numbers.data())[at]);
    if (!std::isfinite(value)) throw nb::value_error("the value of an attribute must be a finite number");
    if (value == 0) continue;
    char text[24] = "[";
    char* end = std::to_chars(text + 1, text + sizeof text - 1, i).ptr;
    *end = ']';
    visit(AttributeName{{}, {}, {text, static_cast<std::size_t>(end + 1 - text)}}, value);
  }
  return true;
}

// Calls visit(name, value) for each attribute of a token, by the rules of python-crfsuite: of a dict "name:string" with value
// 1, name with a number or truth value, "name:" before each attribute of a dict or list below it; of a list or set each name
// with value 1; of a vector its numbers. A number's own conversion may run arbitrary Python code: the caller
// holds no lock and keeps the token alive; name and value are kept alive here. before_code() is called before such code runs.
template <class Visit, class BeforeCode>
void each_attribute(nb::handle token, Visit visit, BeforeCode before_code) {
  if (is_dict(token.ptr())) return each_of_dict(token, {}, 0, visit, before_code);
  if (!is_list(token.ptr()) && !is_tuple(token.ptr())) before_code();
  if (is_collection(token))
    each_name(token, {}, visit);
  else if (!each_number(token, visit))
    throw nb::type_error(
        ("the attributes of a token must be a dict, a list or a vector of floats, not " + kind_of(token)).c_str());
}

// Items of lists and tuples, and tests for strings, executed for every token. A module for the stable ABI
// (Py_LIMITED_API) cannot access Python's object layouts and calls Python instead.
#pragma once
#include "bind.hpp"

#ifdef Py_LIMITED_API
constexpr bool kStableAbi = true;
#define PyList_GET_SIZE PyList_Size
#define PyList_GET_ITEM PyList_GetItem
#define PyList_SET_ITEM PyList_SetItem
#define PyTuple_GET_SIZE PyTuple_Size
#define PyTuple_GET_ITEM PyTuple_GetItem
#else
constexpr bool kStableAbi = false;
#endif

// With the stable ABI, exact types are tested first: they are the common case and need no call.
inline bool is_string(PyObject* thing) { return (kStableAbi && PyUnicode_CheckExact(thing)) || PyUnicode_Check(thing); }
inline bool is_dict(PyObject* thing) { return (kStableAbi && PyDict_CheckExact(thing)) || PyDict_Check(thing); }
inline bool is_tuple(PyObject* thing) { return (kStableAbi && PyTuple_CheckExact(thing)) || PyTuple_Check(thing); }
inline bool is_list(PyObject* thing) {
  if (kStableAbi && (PyList_CheckExact(thing) || PyTuple_CheckExact(thing))) return PyList_CheckExact(thing);
  return PyList_Check(thing);
}

// The items of a list or tuple without a copy, or an object as its own only item: valid while it is alive and no Python code
// runs.
class Items {
 public:
  explicit Items(PyObject* sequence)
      : of_(sequence), kind_(is_list(sequence) ? kList : kTuple),
        size_(static_cast<std::size_t>(kind_ == kList ? PyList_GET_SIZE(sequence) : PyTuple_GET_SIZE(sequence))) {}
  static Items only(PyObject* thing) { return Items(thing, kItself, 1); }
  PyObject* operator[](std::size_t i) const {
    const auto at = static_cast<Py_ssize_t>(i);
    return kind_ == kList ? PyList_GET_ITEM(of_, at) : kind_ == kTuple ? PyTuple_GET_ITEM(of_, at) : of_;
  }
  std::size_t size() const { return size_; }

 private:
  enum Kind { kList, kTuple, kItself };
  Items(PyObject* of, Kind kind, std::size_t size) : of_(of), kind_(kind), size_(size) {}
  PyObject* of_;
  Kind kind_;
  std::size_t size_;
};

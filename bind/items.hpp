// Items of lists and tuples, and tests for strings, executed for every token. A module for the stable ABI
// (Py_LIMITED_API) cannot access Python's object layouts and calls Python instead.
#pragma once
#include "bind.hpp"

#ifdef Py_LIMITED_API
constexpr bool kStableAbi = true;
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

// The items of a list or tuple without a copy: valid while it is alive and no Python code runs.
class Items {
 public:
#ifdef Py_LIMITED_API
  explicit Items(PyObject* sequence) : of_(sequence) {
    const bool list = is_list(sequence);
    get_ = list ? PyList_GetItem : PyTuple_GetItem;
    size_ = static_cast<std::size_t>(list ? PyList_Size(sequence) : PyTuple_Size(sequence));
  }
  // An object as its own only item.
  static Items only(PyObject* const& thing) {
    return Items(thing, [](PyObject* same, Py_ssize_t) { return same; });
  }
  PyObject* operator[](std::size_t i) const { return get_(of_, static_cast<Py_ssize_t>(i)); }
#else
  explicit Items(PyObject* sequence)
      : items_(PySequence_Fast_ITEMS(sequence)), size_(static_cast<std::size_t>(PySequence_Fast_GET_SIZE(sequence))) {}
  static Items only(PyObject* const& thing) { return Items(&thing, 1); }
  PyObject* operator[](std::size_t i) const { return items_[i]; }
#endif
  std::size_t size() const { return size_; }

 private:
#ifdef Py_LIMITED_API
  using Get = PyObject* (*)(PyObject*, Py_ssize_t);
  Items(PyObject* thing, Get get) : of_(thing), get_(get), size_(1) {}
  PyObject* of_;
  Get get_;
#else
  Items(PyObject* const* items, std::size_t size) : items_(items), size_(size) {}
  PyObject* const* items_;
#endif
  std::size_t size_;
};

// Sets an item of a new list, which takes ownership.
inline void set_item(PyObject* list, std::size_t i, PyObject* item) {
#ifdef Py_LIMITED_API
  PyList_SetItem(list, static_cast<Py_ssize_t>(i), item);
#else
  PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), item);
#endif
}

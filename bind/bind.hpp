// What every binding file shares: array types, and the list of parts of the module.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace nb = nanobind;

// A C-contiguous NumPy array of known element type and rank, read-only unless said.
template <class T, int Rank>
using Array = nb::ndarray<const T, nb::ndim<Rank>, nb::c_contig, nb::device::cpu>;
template <class T, int Rank>
using MutableArray = nb::ndarray<T, nb::ndim<Rank>, nb::c_contig, nb::device::cpu>;
template <class T>
using Numpy = nb::ndarray<nb::numpy, T>;

// The name of an argument that is or holds arrays. They are never converted: a copy should be seen where it is made, and
// what is to be changed in place must be the caller's.
inline auto operator""_array(const char* name, std::size_t) { return nb::arg(name).noconvert(); }

// Hand a vector over to NumPy without copying; its shape is given or its length.
template <class T>
Numpy<T> to_numpy(std::vector<T> values, std::vector<std::size_t> shape = {}) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  if (shape.empty()) shape = {owned->size()};
  return Numpy<T>(owned->data(), shape.size(), shape.data(), owner);
}

// What work() gives, called without the GIL.
template <class Work>
auto without_gil(Work work) {
  nb::gil_scoped_release release;
  return work();
}

// Calls work(go_on) without the GIL; Ctrl-C is heard whenever it asks go_on().
template <class Work>
auto interruptible(Work work) {
  bool interrupted = false;
  const auto go_on = [&] {
    nb::gil_scoped_acquire acquire;
    interrupted = PyErr_CheckSignals() != 0;
    return !interrupted;
  };
  const auto result = without_gil([&] { return work(go_on); });
  if (interrupted) throw nb::python_error();
  return result;
}

void bind_chain(nb::module_& module);
void bind_columns(nb::module_& module);
void bind_strings(nb::module_& module);
void bind_features(nb::module_& module);
void bind_learners(nb::module_& module);
void bind_decoder(nb::module_& module);
void bind_brown(nb::module_& module);
void bind_dictionary(nb::module_& module);
void bind_filter(nb::module_& module);
void bind_objective(nb::module_& module);
void bind_frank_wolfe(nb::module_& module);
void bind_boost(nb::module_& module);
void bind_kernels(nb::module_& module);
void bind_hypergraphs(nb::module_& module);
void bind_derivations(nb::module_& module);
void bind_segments(nb::module_& module);
void bind_trees(nb::module_& module);
void bind_phrases(nb::module_& module);

#include "arrays.hpp"

bool AnyArray::read(nb::handle source, nb::dlpack::dtype type, std::size_t rank, bool writable) {
  if (nb::ndarray<nb::c_contig, nb::device::cpu> changed; writable) {
    if (!nb::try_cast(source, changed, false)) return false;
    kept = decltype(kept)(changed.handle());
  } else if (!nb::try_cast(source, kept, false)) {
    return false;
  }
  if (!kept.is_valid() || kept.dtype() != type || kept.ndim() != rank) return false;
  at = const_cast<void*>(static_cast<const void*>(kept.data())), n = kept.size();
  for (std::size_t axis = 0; axis < rank; ++axis) extents[axis] = kept.shape(axis);
  return true;
}

void AnyArray::make_read_only() const {
  static PyObject* const kind = nb::object(nb::module_::import_("numpy").attr("ndarray")).release().ptr();
  nb::object array = object();
  do {
    array.attr("setflags")(nb::arg("write") = false);
    array = array.attr("base");
  } while (PyObject_TypeCheck(array.ptr(), reinterpret_cast<PyTypeObject*>(kind)));
  if (PyMemoryView_Check(array.ptr())) array = array.attr("obj");
  if (PyByteArray_Check(array.ptr())) throw nb::value_error("the memory of an array may change; pass a copy");
}

nb::object new_array(void* values, const std::vector<std::size_t>& shape, nb::dlpack::dtype type, nb::handle owner) {
  return nb::cast(nb::ndarray<nb::numpy>(values, shape.size(), shape.data(), owner, nullptr, type));
}

#include "checks.hpp"

void make_array_read_only(nb::object array) {
  static PyObject* const kind = nb::object(nb::module_::import_("numpy").attr("ndarray")).release().ptr();
  do {
    array.attr("setflags")(nb::arg("write") = false);
    array = array.attr("base");
  } while (PyObject_TypeCheck(array.ptr(), reinterpret_cast<PyTypeObject*>(kind)));
  if (PyMemoryView_Check(array.ptr())) array = array.attr("obj");
  require(!PyByteArray_Check(array.ptr()), "an array over memory that may change; pass a copy");
}

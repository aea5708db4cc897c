// _core.HostBuffer: base class of memory objects that the host can reach; gives them the buffer protocol.
#include "binding.hpp"

namespace warploom::python {
namespace {

// The memory is where the attributes _bufptr_ (address) and _buflen_ (bytes) of the subclass say.
int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  view->obj = nullptr;
  const nb::object address = nb::steal(PyObject_GetAttrString(self, "_bufptr_"));
  if (!address.is_valid()) return -1;
  const nb::object size = nb::steal(PyObject_GetAttrString(self, "_buflen_"));
  if (!size.is_valid()) return -1;
  void* at = PyLong_AsVoidPtr(address.ptr());
  const Py_ssize_t bytes = PyLong_AsSsize_t(size.ptr());
  if (PyErr_Occurred() != nullptr) return -1;
  return PyBuffer_FillInfo(view, self, at, bytes, 0, flags);
}

PyType_Slot slots[] = {{Py_tp_doc, const_cast<char*>("Base class: a writable buffer of _buflen_ bytes at _bufptr_.")},
                       {Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
                       {0, nullptr}};

PyType_Spec spec{"warploom._core.HostBuffer", 0, 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

}  // namespace

void register_host_buffer(nb::module_& m) { m.attr("HostBuffer") = nb::steal(PyType_FromSpec(&spec)); }

}  // namespace warploom::python

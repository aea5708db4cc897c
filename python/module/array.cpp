// _core.ArrayBase: address, shape, strides and type of an array in device memory, as launches read them.
#include <new>
#include <unordered_map>

#include "arguments.hpp"

namespace warploom::python {
namespace {

// A type of Python's own making, not nanobind's: subclasses may have other base classes too, and an array is made in a
// fraction of the time.
struct ArrayObject {
  PyObject ob_base;
  ArrayBase array;
};

PyTypeObject* array_type = nullptr;

ArrayBase& array_in(PyObject* self) { return reinterpret_cast<ArrayObject*>(self)->array; }

bool read_extents(std::int64_t* out, PyObject* tuple) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    out[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(tuple, i));
    if (out[i] == -1 && PyErr_Occurred() != nullptr) return false;
  }
  return true;
}

PyObject* make(PyTypeObject* type, PyObject*, PyObject*) {
  const auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
  PyObject* self = allocate(type, 0);
  if (self != nullptr) new (&array_in(self)) ArrayBase();
  return self;
}

int initialise(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"address", "shape", "strides", "type_name", "owner", nullptr};
  PyObject *address = nullptr, *shape = nullptr, *strides = nullptr, *name = nullptr, *owner = Py_None;
  if (PyArg_ParseTupleAndKeywords(args, kwargs, "OOOU|O:ArrayBase", const_cast<char**>(names), &address, &shape,
                                  &strides, &name, &owner) == 0)
    return -1;
  ArrayBase& array = array_in(self);
  if (array.type != 0) {
    PyErr_SetString(PyExc_TypeError, "an ArrayBase is immutable");
    return -1;
  }
  const std::uint64_t at = PyLong_AsUnsignedLongLong(address);
  if (at == ~std::uint64_t{0} && PyErr_Occurred() != nullptr) return -1;
  const nb::object extents = nb::steal(PySequence_Tuple(shape)), steps = nb::steal(PySequence_Tuple(strides));
  if (!extents.is_valid() || !steps.is_valid()) return -1;
  const Py_ssize_t ndim = PyTuple_GET_SIZE(extents.ptr());
  if (ndim != PyTuple_GET_SIZE(steps.ptr())) {
    PyErr_SetString(PyExc_ValueError, "shape and strides differ in length");
    return -1;
  }
  const char* text = PyUnicode_AsUTF8(name);
  if (text == nullptr) return -1;
  auto numbers = std::make_unique<std::int64_t[]>(2 * static_cast<std::size_t>(ndim));
  if (!read_extents(numbers.get(), extents.ptr()) || !read_extents(numbers.get() + ndim, steps.ptr())) return -1;
  array.address = at;
  array.ndim = static_cast<std::uint32_t>(ndim);
  array.extents = std::move(numbers);
  array.shape_tuple = extents;
  array.stride_tuple = steps;
  array.type_name = nb::borrow(name);
  array.owner = nb::borrow(owner);
  array.type = intern_type(text);
  return 0;
}

int clear(PyObject* self) {
  array_in(self).owner.reset();
  return 0;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(array_in(self).owner.ptr());
  return 0;
}

void destroy(PyObject* self) {
  PyObject_GC_UnTrack(self);
  PyTypeObject* type = Py_TYPE(self);
  array_in(self).~ArrayBase();
  const auto release = reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free));
  release(self);
  Py_DECREF(type);
}

template <nb::object ArrayBase::* Member>
PyObject* get(PyObject* self, void*) {
  const nb::object& value = array_in(self).*Member;
  return (value.is_valid() ? nb::object(value) : nb::none()).release().ptr();
}

PyObject* get_address(PyObject* self, void*) { return PyLong_FromUnsignedLongLong(array_in(self).address); }

PyGetSetDef attributes[] = {{"_address", get_address, nullptr, "Address of the first element.", nullptr},
                            {"_shape", get<&ArrayBase::shape_tuple>, nullptr, "Elements in each dimension.", nullptr},
                            {"_strides", get<&ArrayBase::stride_tuple>, nullptr, "Strides in bytes.", nullptr},
                            {"_type_name", get<&ArrayBase::type_name>, nullptr, "The canonical type.", nullptr},
                            {"_owner", get<&ArrayBase::owner>, nullptr, "What is kept alive.", nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot slots[] = {
    {Py_tp_doc,
     const_cast<char*>("ArrayBase(address, shape, strides, type_name, owner=None)\n--\n\nWhere an array lies "
                       "in device memory: shape and strides (bytes) are tuples of int; type_name is the "
                       "canonical type, such as array(float32,1,C); owner is kept alive. Immutable.")},
    {Py_tp_new, reinterpret_cast<void*>(make)},
    {Py_tp_init, reinterpret_cast<void*>(initialise)},
    {Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {Py_tp_getset, attributes},
    {0, nullptr}};

PyType_Spec spec{"warploom._core.ArrayBase", sizeof(ArrayObject), 0,
                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

}  // namespace

std::uint32_t intern_type(std::string_view name) {
  static auto* names = new std::unordered_map<std::string, std::uint32_t>;
  return names->emplace(name, static_cast<std::uint32_t>(names->size() + 1)).first->second;
}

ArrayBase* array_of(PyObject* object) {
  if (!PyObject_TypeCheck(object, array_type)) return nullptr;
  ArrayBase& array = array_in(object);
  return array.type == 0 ? nullptr : &array;
}

void register_array(nb::module_& m) {
  const nb::object type = nb::steal(PyType_FromSpec(&spec));
  if (!type.is_valid()) throw nb::python_error();
  m.attr("ArrayBase") = type;
  // The module may be cleared before the last array goes.
  array_type = reinterpret_cast<PyTypeObject*>(nb::object(type).release().ptr());
}

}  // namespace warploom::python

// _core.ArrayBase: address, shape, strides and type of an array in device memory, as launches read them.
#include <algorithm>
#include <array>
#include <exception>
#include <iterator>
#include <new>
#include <unordered_map>

#include "arguments.hpp"
#include "pointer.hpp"

namespace warploom::python {
namespace {

using nb::literals::operator""_a;

// A type of Python's own making, not nanobind's: subclasses may have other base classes too, and an array is made in a
// fraction of the time.
struct ArrayObject {
  PyObject ob_base;
  ArrayBase array;
};

PyTypeObject* array_type = nullptr;
// The class of new arrays, which nearly all have; see set_array_class().
PyObject* array_class = nullptr;

ArrayBase& array_in(PyObject* self) { return reinterpret_cast<ArrayObject*>(self)->array; }

bool read_extents(std::int64_t* out, PyObject* tuple) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    out[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(tuple, i));
    if (out[i] == -1 && PyErr_Occurred() != nullptr) return false;
  }
  return true;
}

PyObject* make(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* self = type->tp_alloc(type, 0);
  if (self != nullptr) new (&array_in(self)) ArrayBase();
  return self;
}

void set_layout(ArrayBase& array, std::shared_ptr<const ArrayLayout> layout) {
  array.type = layout->type;
  array.ndim = layout->ndim;
  array.extents = layout->extents.get();
  array.layout = std::move(layout);
}

// Null with an exception.
std::shared_ptr<ArrayLayout> layout_of(PyObject* shape, PyObject* strides, PyObject* name) {
  auto layout = std::make_shared<ArrayLayout>();
  layout->shape_tuple = nb::steal(PySequence_Tuple(shape));
  layout->stride_tuple = nb::steal(PySequence_Tuple(strides));
  if (!layout->shape_tuple.is_valid() || !layout->stride_tuple.is_valid()) return nullptr;
  const Py_ssize_t ndim = PyTuple_GET_SIZE(layout->shape_tuple.ptr());
  if (ndim != PyTuple_GET_SIZE(layout->stride_tuple.ptr())) {
    PyErr_SetString(PyExc_ValueError, "shape and strides differ in length");
    return nullptr;
  }
  const char* text = PyUnicode_AsUTF8(name);
  if (text == nullptr) return nullptr;
  layout->extents = std::make_unique<std::int64_t[]>(2 * static_cast<std::size_t>(ndim));
  std::int64_t* numbers = layout->extents.get();
  if (!read_extents(numbers, layout->shape_tuple.ptr()) || !read_extents(numbers + ndim, layout->stride_tuple.ptr()))
    return nullptr;
  layout->ndim = static_cast<std::uint32_t>(ndim);
  layout->elements = 1;
  for (Py_ssize_t i = 0; i < ndim; ++i) layout->elements *= static_cast<std::uint64_t>(numbers[i]);
  layout->type_name = nb::borrow(name);
  layout->dtype = nb::none();
  layout->type = intern_type(text);
  return layout;
}

int initialise(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"address", "shape",   "strides", "type_name", "owner",
                                "dtype",   "c_order", "f_order", "stream",    nullptr};
  PyObject *address = nullptr, *shape = nullptr, *strides = nullptr, *name = nullptr, *owner = Py_None;
  PyObject *dtype = Py_None, *stream = nullptr;
  int c_order = 0, f_order = 0;
  if (PyArg_ParseTupleAndKeywords(args, kwargs, "OOOU|OOppO:ArrayBase", const_cast<char**>(names), &address, &shape,
                                  &strides, &name, &owner, &dtype, &c_order, &f_order, &stream) == 0)
    return -1;
  ArrayBase& array = array_in(self);
  if (array.type != 0) {
    PyErr_SetString(PyExc_TypeError, "an ArrayBase is immutable");
    return -1;
  }
  const std::uint64_t at = PyLong_AsUnsignedLongLong(address);
  if (at == ~std::uint64_t{0} && PyErr_Occurred() != nullptr) return -1;
  const std::shared_ptr<ArrayLayout> layout = layout_of(shape, strides, name);
  if (!layout) return -1;
  layout->dtype = nb::borrow(dtype);
  layout->c_order = c_order != 0;
  layout->f_order = f_order != 0;
  array.address = at;
  array.owner = nb::borrow(owner);
  array.native = nb::borrow(native_pointer_of(owner));
  array.stream = stream == nullptr ? nb::object(nb::int_(0)) : nb::borrow(stream);
  set_layout(array, layout);
  return 0;
}

int clear(PyObject* self) {
  array_in(self).native.reset();
  array_in(self).owner.reset();
  array_in(self).stream.reset();
  return 0;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(array_in(self).owner.ptr());
  Py_VISIT(array_in(self).native.ptr());
  Py_VISIT(array_in(self).stream.ptr());
  return 0;
}

void destroy(PyObject* self) {
  PyObject_GC_UnTrack(self);
  PyTypeObject* type = Py_TYPE(self);
  array_in(self).~ArrayBase();
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* given(const nb::object& value) { return (value.is_valid() ? nb::object(value) : nb::none()).release().ptr(); }

template <nb::object ArrayBase::* Member>
PyObject* get(PyObject* self, void*) {
  return given(array_in(self).*Member);
}

template <nb::object ArrayLayout::* Member>
PyObject* get_common(PyObject* self, void*) {
  const ArrayLayout* layout = array_in(self).layout.get();
  return given(layout == nullptr ? nb::object() : layout->*Member);
}

template <bool ArrayLayout::* Member>
PyObject* get_order(PyObject* self, void*) {
  const ArrayLayout* layout = array_in(self).layout.get();
  return PyBool_FromLong(layout != nullptr && layout->*Member ? 1 : 0);
}

PyObject* get_address(PyObject* self, void*) { return PyLong_FromUnsignedLongLong(array_in(self).address); }
PyObject* get_ndim(PyObject* self, void*) { return PyLong_FromUnsignedLong(array_in(self).ndim); }
PyObject* get_size(PyObject* self, void*) {
  const ArrayLayout* layout = array_in(self).layout.get();
  return PyLong_FromUnsignedLongLong(layout == nullptr ? 0 : layout->elements);
}
int set_stream(PyObject* self, PyObject* value, void*) {
  array_in(self).stream = value == nullptr ? nb::object(nb::int_(0)) : nb::borrow(value);
  return 0;
}

constexpr auto get_shape = get_common<&ArrayLayout::shape_tuple>;
constexpr auto get_strides = get_common<&ArrayLayout::stride_tuple>;
constexpr auto get_owner = get<&ArrayBase::owner>;

PyGetSetDef attributes[] = {
    {"_address", get_address, nullptr, "Address of the first element.", nullptr},
    {"_shape", get_shape, nullptr, "Elements in each dimension.", nullptr},
    {"_strides", get_strides, nullptr, "Strides in bytes.", nullptr},
    {"_type_name", get_common<&ArrayLayout::type_name>, nullptr, "The canonical type.", nullptr},
    {"_owner", get_owner, nullptr, "What is kept alive.", nullptr},
    {"shape", get_shape, nullptr, "Elements in each dimension.", nullptr},
    {"strides", get_strides, nullptr, "Strides in bytes.", nullptr},
    {"dtype", get_common<&ArrayLayout::dtype>, nullptr, "The type of an element.", nullptr},
    {"ndim", get_ndim, nullptr, "Number of dimensions.", nullptr},
    {"size", get_size, nullptr, "Number of elements.", nullptr},
    {"gpu_data", get_owner, nullptr, "The memory.", nullptr},
    {"stream", get<&ArrayBase::stream>, set_stream, "What calls use that are given no stream; 0 for none.", nullptr},
    {"_c_order", get_order<&ArrayLayout::c_order>, nullptr, "Whether elements follow each other in C order.", nullptr},
    {"_f_order", get_order<&ArrayLayout::f_order>, nullptr, "The same in Fortran order.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot slots[] = {
    {Py_tp_doc, const_cast<char*>(
                    "ArrayBase(address, shape, strides, type_name, owner=None, dtype=None, c_order=False, "
                    "f_order=False, stream=0)\n--\n\nWhere an array lies in device memory: shape and strides (bytes) "
                    "are tuples of int; type_name is the canonical type, such as array(float32,1,C); owner is kept "
                    "alive. Immutable, but for the stream.")},
    {Py_tp_new, reinterpret_cast<void*>(make)},
    {Py_tp_init, reinterpret_cast<void*>(initialise)},
    {Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {Py_tp_getset, attributes},
    {0, nullptr}};

PyType_Spec spec{"warploom._core.ArrayBase", sizeof(ArrayObject), 0,
                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

// ---- new arrays ----

// What Python code knows of a shape: (bytes, shape, strides, type name, dtype, C order,
// Fortran order), or None where the short way does not do.
PyObject* plan_function = nullptr;

using Layout = std::shared_ptr<const ArrayLayout>;

void destroy_layout(PyObject* capsule) { delete static_cast<Layout*>(PyCapsule_GetPointer(capsule, nullptr)); }

// By (shape, dtype, order), as they were given: a capsule with a Layout, or None.
nb::object layout_object(nb::handle shape, nb::handle dtype, nb::handle order) {
  static PyObject* known = PyDict_New();
  constexpr Py_ssize_t most = 4096;
  const nb::object key = nb::steal(PyTuple_Pack(3, shape.ptr(), dtype.ptr(), order.ptr()));
  if (!key.is_valid()) throw nb::python_error();
  if (PyObject* found = PyDict_GetItemWithError(known, key.ptr())) return nb::borrow(found);
  if (PyErr_Occurred() != nullptr) {  // a dtype that cannot be a key, such as a list
    PyErr_Clear();
    return nb::none();
  }
  const nb::object plan = nb::steal(PyObject_CallFunctionObjArgs(plan_function, shape.ptr(), dtype.ptr(), order.ptr(),
                                                                 static_cast<PyObject*>(nullptr)));
  if (!plan.is_valid()) throw nb::python_error();
  nb::object result = plan;
  if (!plan.is_none()) {
    const auto item = [&](Py_ssize_t i) { return PyTuple_GET_ITEM(plan.ptr(), i); };
    const std::shared_ptr<ArrayLayout> layout = layout_of(item(1), item(2), item(3));
    if (!layout) throw nb::python_error();
    layout->bytes = PyLong_AsUnsignedLongLong(item(0));
    layout->dtype = nb::borrow(item(4));
    layout->c_order = PyObject_IsTrue(item(5)) != 0;
    layout->f_order = PyObject_IsTrue(item(6)) != 0;
    result = nb::steal(PyCapsule_New(new Layout(layout), nullptr, destroy_layout));
  }
  if (PyDict_GET_SIZE(known) >= most) PyDict_Clear(known);
  if (PyDict_SetItem(known, key.ptr(), result.ptr()) != 0) throw nb::python_error();
  return result;
}

bool plain_extent(PyObject* number) { return PyLong_CheckExact(number) && PyLong_AsLongLong(number) >= 0; }

// A size, or a tuple of sizes.
bool plain_shape(PyObject* shape) {
  if (PyLong_CheckExact(shape)) {
    const bool plain = plain_extent(shape);
    PyErr_Clear();
    return plain;
  }
  if (!PyTuple_CheckExact(shape)) return false;
  bool plain = true;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(shape); ++i) plain = plain && plain_extent(PyTuple_GET_ITEM(shape, i));
  PyErr_Clear();
  return plain;
}

// Layouts that were used last, by shape, and by dtype and order as the objects that they are.
struct QuickLayout {
  nb::object shape, dtype, order;
  Layout layout;
};
constexpr std::size_t kQuick = 64;
QuickLayout* quick_layouts() {
  static auto* const all = new std::array<QuickLayout, kQuick>;
  return all->data();
}

bool equal_shapes(PyObject* one, PyObject* other) {
  if (one == other) return true;
  if (Py_TYPE(one) != Py_TYPE(other)) return false;
  if (!PyTuple_CheckExact(one)) return PyLong_AsLongLong(one) == PyLong_AsLongLong(other);
  const Py_ssize_t count = PyTuple_GET_SIZE(one);
  if (count != PyTuple_GET_SIZE(other)) return false;
  for (Py_ssize_t i = 0; i < count; ++i)
    if (PyLong_AsLongLong(PyTuple_GET_ITEM(one, i)) != PyLong_AsLongLong(PyTuple_GET_ITEM(other, i))) return false;
  return true;
}

// Of a plain shape; null where Python code has to make the array.
Layout layout_for(nb::handle shape, nb::handle dtype, nb::handle order) {
  std::uint64_t key = reinterpret_cast<std::uintptr_t>(dtype.ptr()) >> 4;
  const auto mix = [&key](PyObject* number) {
    key = (key ^ static_cast<std::uint64_t>(PyLong_AsLongLong(number))) * 0x9E3779B97F4A7C15;
  };
  if (PyTuple_CheckExact(shape.ptr()))
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(shape.ptr()); ++i) mix(PyTuple_GET_ITEM(shape.ptr(), i));
  else
    mix(shape.ptr());
  QuickLayout& quick = quick_layouts()[key >> 32 & (kQuick - 1)];
  if (quick.layout && quick.dtype.ptr() == dtype.ptr() && quick.order.ptr() == order.ptr() &&
      equal_shapes(quick.shape.ptr(), shape.ptr()))
    return quick.layout;
  const nb::object capsule = layout_object(shape, dtype, order);
  if (capsule.is_none()) return nullptr;
  const Layout layout = *static_cast<Layout*>(PyCapsule_GetPointer(capsule.ptr(), nullptr));
  // A dtype with fields can be changed.
  const nb::object fields = nb::getattr(layout->dtype, "names", nb::none());
  if (fields.is_none()) quick = {nb::borrow(shape), nb::borrow(dtype), nb::borrow(order), layout};
  return layout;
}

nb::object new_array(nb::handle shape, nb::handle dtype, nb::handle order, nb::handle stream) {
  if (array_class == nullptr || plan_function == nullptr || !plain_shape(shape.ptr())) return nb::none();
  const nb::object type = nb::borrow(array_class);  // the interpreter may begin to end meanwhile
  const Layout layout = layout_for(shape, dtype, order);
  if (!layout) return nb::none();
  const nb::object memory = nb::steal(make_pointer(layout->bytes));
  if (!memory.is_valid()) return nb::none();
  nb::object made = nb::steal(make(reinterpret_cast<PyTypeObject*>(type.ptr()), nullptr, nullptr));
  if (!made.is_valid()) throw nb::python_error();
  ArrayBase& array = array_in(made.ptr());
  array.address = address_of_pointer(memory.ptr());
  array.owner = memory;
  array.native = memory;
  array.stream = nb::borrow(stream);
  set_layout(array, layout);
  return made;
}

// Copies all of a contiguous array to or from a contiguous buffer of the host, on the default stream; false when that
// is not what they are.
bool copy_plain(nb::handle object, nb::handle host, bool to_host) {
  const ArrayBase* array = array_of(object.ptr());
  if (array == nullptr || array->layout->bytes == 0) return false;
  const Device* device = device_of_live_pointer(array->owner.ptr());
  if (device == nullptr) return false;
  Py_buffer view;
  if (PyObject_GetBuffer(host.ptr(), &view, to_host ? PyBUF_ANY_CONTIGUOUS | PyBUF_WRITABLE : PyBUF_ANY_CONTIGUOUS) !=
      0) {
    PyErr_Clear();
    return false;
  }
  struct Release {
    Py_buffer& view;
    ~Release() { PyBuffer_Release(&view); }
  } const release{view};
  if (static_cast<std::uint64_t>(view.len) != array->layout->bytes) return false;
  const Device opened = *device;
  const nb::object keeps = array->owner;
  void* const at = pointer(array->address);
  const WithoutGil unlocked;
  copy(opened, to_host ? view.buf : at, to_host ? at : view.buf, array->layout->bytes);
  return true;
}

// ---- cuda.device_array ----

PyObject *device_array_long_way = nullptr, *device_array_dtype = nullptr;

// device_array(shape, dtype, strides=None, order="C", stream=0), what Python code has to make included.
PyObject* device_array(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  static PyObject* const parameters[] = {PyUnicode_InternFromString("shape"), PyUnicode_InternFromString("dtype"),
                                         PyUnicode_InternFromString("strides"), PyUnicode_InternFromString("order"),
                                         PyUnicode_InternFromString("stream")};
  static PyObject* const c_order = PyUnicode_InternFromString("C");
  static PyObject* const no_stream = PyLong_FromLong(0);
  PyObject* given[] = {nullptr, device_array_dtype, Py_None, c_order, no_stream};
  bool plain = count <= 5 && device_array_dtype != nullptr;
  for (Py_ssize_t i = 0; plain && i < count; ++i) given[i] = arguments[i];
  const Py_ssize_t named = names == nullptr ? 0 : PyTuple_GET_SIZE(names);
  for (Py_ssize_t i = 0; plain && i < named; ++i) {
    const auto* at = std::find(std::begin(parameters), std::end(parameters), PyTuple_GET_ITEM(names, i));
    plain = at != std::end(parameters) && at - std::begin(parameters) >= count;
    if (plain) given[at - std::begin(parameters)] = arguments[count + i];
  }
  if (plain && given[0] != nullptr && given[2] == Py_None) {
    try {
      nb::object made = new_array(given[0], given[1], given[3], given[4]);
      if (!made.is_none()) return made.release().ptr();
    } catch (...) {
      restore_exception(std::current_exception());
      return nullptr;
    }
  }
  if (device_array_long_way == nullptr) {
    PyErr_SetString(PyExc_RuntimeError, "the interpreter ends");
    return nullptr;
  }
  return PyObject_Vectorcall(device_array_long_way, arguments, static_cast<std::size_t>(count), names);
}

nb::object make_device_array(nb::object long_way, nb::object dtype, const char* module) {
  static PyMethodDef method = {
      "device_array", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(device_array)),
      METH_FASTCALL | METH_KEYWORDS,
      "device_array(shape, dtype='float64', strides=None, order='C', stream=0)\n--\n\n"
      "An array in device memory, contents unspecified; arguments as ``numpy.empty``, ``strides`` in bytes."};
  device_array_long_way = long_way.release().ptr();
  device_array_dtype = dtype.release().ptr();
  const nb::object name = nb::steal(PyUnicode_FromString(module));
  const nb::object function = nb::steal(PyCFunction_NewEx(&method, nullptr, name.ptr()));
  if (!function.is_valid()) throw nb::python_error();
  return function;
}

void set_array_class(nb::object type, nb::object plan) {
  array_class = type.release().ptr();
  plan_function = plan.release().ptr();
}

void forget_array_class() {
  Py_CLEAR(array_class);
  Py_CLEAR(plan_function);
  Py_CLEAR(device_array_long_way);
  Py_CLEAR(device_array_dtype);
  for (std::size_t i = 0; i < kQuick; ++i) quick_layouts()[i] = {};
}

}  // namespace

std::uint32_t intern_type(std::string_view name) {
  static auto* names = new std::unordered_map<std::string, std::uint32_t>;
  return names->emplace(name, static_cast<std::uint32_t>(names->size() + 1)).first->second;
}

ArrayBase* array_of(PyObject* object) {
  if (reinterpret_cast<PyObject*>(Py_TYPE(object)) != array_class && !PyObject_TypeCheck(object, array_type))
    return nullptr;
  ArrayBase& array = array_in(object);
  return array.type == 0 ? nullptr : &array;
}

void register_array(nb::module_& m) {
  const nb::object type = nb::steal(PyType_FromSpec(&spec));
  if (!type.is_valid()) throw nb::python_error();
  m.attr("ArrayBase") = type;
  // The module may be cleared before the last array goes.
  array_type = reinterpret_cast<PyTypeObject*>(nb::object(type).release().ptr());
  m.def("set_array_class", &set_array_class, "type"_a, "plan"_a,
        "Says which class new arrays have, and what gives the layout for a shape, a dtype and an order.");
  m.def(
      "make_device_array", &make_device_array, "long_way"_a, "dtype"_a, "module"_a,
      "The function cuda.device_array of a module, which leaves to long_way() what it cannot do; dtype: the default.");
  m.def("forget_array_class", &forget_array_class, "Takes that back, before the interpreter ends.");
  m.def("new_array", &new_array, "shape"_a.none(), "dtype"_a.none(), "order"_a.none(), "stream"_a.none(),
        "A contiguous array in new memory of the current context; None where Python code has to make it.");
  m.def(
      "read_array", [](nb::handle array, nb::handle host) { return copy_plain(array, host, true); }, "array"_a,
      "host"_a,
      "Copies a contiguous array that new_array() made to a host array of the same layout; False when they are not.");
  m.def(
      "write_array", [](nb::handle array, nb::handle host) { return copy_plain(array, host, false); }, "array"_a,
      "host"_a, "The same from the host.");
  register_pointer(m);
}

}  // namespace warploom::python

// _core.NativePointer: memory that waits for its release in the device's queue when its last reference is gone.
#include "pointer.hpp"

#include <pthread.h>

#include <memory>
#include <utility>
#include <vector>

#include "current.hpp"

namespace warploom::python {
namespace {

using nb::literals::operator""_a;

// Of Python's own making, as ArrayBase: a class of the package inherits it beside MemoryPointer.
struct PointerObject {
  PyObject ob_base;
  PointerObject *before, *after;           // all that are alive; under the GIL
  detail::IdleMemory idle;                 // the usual one of the two
  std::shared_ptr<detail::Memory> memory;  // made by waiting
  std::shared_ptr<OpenDevice> open;
  PyObject* context;
  std::uint64_t address;
  std::size_t bytes;
  long references;
  bool live;
};

PyTypeObject* pointer_type = nullptr;
PointerObject* newest = nullptr;

// What the package has said, for the life of the process.
struct Classes {
  PyObject *pointer = nullptr, *manager = nullptr, *get_context = nullptr, *config = nullptr;
  PyObject *manager_name = nullptr, *device_name = nullptr, *native_name = nullptr, *opened_name = nullptr,
           *count_name = nullptr, *ratio_name = nullptr;
};
Classes classes;

// The context that was asked for last, while contexts stay as they are. Nothing here keeps it or its device.
struct Latest {
  std::uint64_t handle = 0, epoch = 0;
  PyObject* context = nullptr;
  std::weak_ptr<OpenDevice> open;
};
Latest latest;

// The settings of limits that a device was given last.
struct Limits {
  PyObject *count = nullptr, *ratio = nullptr;
  const OpenDevice* open = nullptr;
};
Limits limits;

// In a process that fork() made of one with devices, which have no threads there.
bool forked = false;

PointerObject& in(PyObject* self) { return *reinterpret_cast<PointerObject*>(self); }

// The device of a context. Nothing here keeps it open.
std::shared_ptr<OpenDevice> device_of(const nb::object& context) {
  const nb::object device = nb::steal(PyObject_GetAttr(context.ptr(), classes.device_name));
  nb::object native = device.is_valid() ? nb::steal(PyObject_GetAttr(device.ptr(), classes.native_name)) : nb::object();
  if (native.is_valid() && native.is_none())  // it has not been opened yet
    native = nb::steal(PyObject_GetAttr(context.ptr(), classes.opened_name));
  if (!native.is_valid()) throw nb::python_error();
  PyDevice* found = nullptr;
  if (!nb::try_cast(native, found)) throw nb::type_error("the context has no native device");
  return *found->open;
}

// Ends a reference without the GIL when it is the last one; see Held.
template <class T>
void let_go(std::shared_ptr<T>& reference) {
  if (reference.use_count() == 1) {
    const Held<std::shared_ptr<T>> last(std::move(reference));
  }
  std::destroy_at(&reference);
}

// What nobody has put off.
void give_back(PointerObject& pointer) {
  const detail::IdleMemory idle = std::exchange(pointer.idle, {});
  if (idle.address == nullptr || forked) return;
  const WithoutGil unlocked;
  detail::give_back(pointer.open->device, idle);
}

void link(PointerObject& pointer) {
  pointer.before = nullptr;
  pointer.after = newest;
  if (newest != nullptr) newest->before = &pointer;
  newest = &pointer;
}

void unlink(PointerObject& pointer) {
  if (pointer.before != nullptr) pointer.before->after = pointer.after;
  if (pointer.after != nullptr) pointer.after->before = pointer.before;
  if (newest == &pointer) newest = pointer.after;
  pointer.before = pointer.after = nullptr;
}

// Of the package's module of settings.
nb::object setting(PyObject* name) {
  if (PyModule_Check(classes.config))
    if (PyObject* found = PyDict_GetItemWithError(PyModule_GetDict(classes.config), name)) return nb::borrow(found);
  return nb::steal(PyObject_GetAttr(classes.config, name));
}

// Puts the release off; false with an exception.
bool release(PointerObject& pointer) {
  if (!pointer.live) return true;
  pointer.live = false;
  unlink(pointer);
  if (classes.config == nullptr) {  // the interpreter is about to end
    give_back(pointer);
    const WithoutGil unlocked;
    pointer.memory.reset();
    return true;
  }
  const nb::object count = setting(classes.count_name), ratio = setting(classes.ratio_name);
  if (!count.is_valid() || !ratio.is_valid()) return false;
  if (limits.count != count.ptr() || limits.ratio != ratio.ptr() || limits.open != pointer.open.get()) {
    const std::size_t most = PyLong_AsSize_t(count.ptr());
    const double part = PyFloat_AsDouble(ratio.ptr());
    if (PyErr_Occurred() != nullptr || !set_limits(pointer.open->device, most, part)) return false;
    Py_XSETREF(limits.count, Py_NewRef(count.ptr()));
    Py_XSETREF(limits.ratio, Py_NewRef(ratio.ptr()));
    limits.open = pointer.open.get();
  }
  if (pointer.idle.address == nullptr)
    return release_memory(pointer.open->device, std::move(pointer.memory), pointer.bytes);
  const detail::IdleMemory idle = std::exchange(pointer.idle, {});
  return detail::put_off_release(pointer.open->device, idle, pointer.bytes) ||
         release_memory(pointer.open->device, idle, pointer.bytes);
}

bool interpreter_ends() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing() != 0;
#else
  return _Py_IsFinalizing() != 0;
#endif
}

void finalize(PyObject* self) {
  PointerObject& pointer = in(self);
  if (!pointer.live || forked || interpreter_ends()) return;
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  if (!release(pointer)) PyErr_WriteUnraisable(self);
  PyErr_Restore(type, value, trace);
}

void destroy(PyObject* self) {
  PyObject_GC_UnTrack(self);
  PyTypeObject* type = Py_TYPE(self);
  PointerObject& pointer = in(self);
  if (pointer.live) unlink(pointer);
  give_back(pointer);
  let_go(pointer.memory);
  let_go(pointer.open);
  Py_CLEAR(pointer.context);
  type->tp_free(self);
  Py_DECREF(type);
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(in(self).context);
  return 0;
}

PyObject* make(PyTypeObject* type, PyObject*, PyObject*) {
  PyErr_Format(PyExc_TypeError, "%s objects are made by the library", type->tp_name);
  return nullptr;
}

PyObject* call(PyObject* self, PyObject*, PyObject*) {
  if (!release(in(self))) return nullptr;
  Py_RETURN_NONE;
}

PyObject* get_address(PyObject* self, void*) { return PyLong_FromUnsignedLongLong(in(self).address); }
PyObject* get_size(PyObject* self, void*) { return PyLong_FromSize_t(in(self).bytes); }
PyObject* get_context(PyObject* self, void*) {
  PyObject* context = in(self).context;
  return Py_NewRef(context == nullptr ? Py_None : context);
}
PyObject* get_references(PyObject* self, void*) { return PyLong_FromLong(in(self).references); }
int set_references(PyObject* self, PyObject* value, void*) {
  const long count = value == nullptr ? 0 : PyLong_AsLong(value);
  if (PyErr_Occurred() != nullptr) return -1;
  in(self).references = count;
  return 0;
}
PyObject* get_live(PyObject* self, void*) { return PyBool_FromLong(in(self).live ? 1 : 0); }
PyObject* get_true(PyObject*, void*) { Py_RETURN_TRUE; }
PyObject* get_none(PyObject*, void*) { Py_RETURN_NONE; }
PyObject* get_self(PyObject* self, void*) { return Py_NewRef(self); }

PyGetSetDef attributes[] = {{"context", get_context, nullptr, "The context whose memory it is.", nullptr},
                            {"device_pointer", get_address, nullptr, "The address.", nullptr},
                            {"handle", get_address, nullptr, "The address.", nullptr},
                            {"_device_address", get_address, nullptr, "The address.", nullptr},
                            {"size", get_size, nullptr, "Bytes.", nullptr},
                            {"_cuda_memsize_", get_size, nullptr, "Bytes.", nullptr},
                            {"refct", get_references, set_references, "The pointer and its live views.", nullptr},
                            {"is_managed", get_true, nullptr, "True: it is released with its last reference.", nullptr},
                            {"alive", get_live, nullptr, "Whether it has not been released.", nullptr},
                            {"_owner", get_none, nullptr, "None: nothing else keeps the memory.", nullptr},
                            {"_finalizer", get_self, nullptr, "What releases the memory when it is called.", nullptr},
                            {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot slots[] = {{Py_tp_doc, const_cast<char*>("Base class of device memory that the default memory manager "
                                                     "hands out; calling it releases the memory.")},
                       {Py_tp_new, reinterpret_cast<void*>(make)},
                       {Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
                       {Py_tp_finalize, reinterpret_cast<void*>(finalize)},
                       {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                       {Py_tp_call, reinterpret_cast<void*>(call)},
                       {Py_tp_getset, attributes},
                       {0, nullptr}};

PyType_Spec spec{"warploom._core.NativePointer", sizeof(PointerObject), 0,
                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots};

void set_classes(nb::object pointer, nb::object manager, nb::object current, nb::object config) {
  const auto name = [](const char* text) { return PyUnicode_InternFromString(text); };
  classes = {pointer.release().ptr(),
             manager.release().ptr(),
             current.release().ptr(),
             config.release().ptr(),
             name("_memory_manager"),
             name("device"),
             name("_core"),
             name("_core_device"),
             name("CUDA_DEALLOCS_COUNT"),
             name("CUDA_DEALLOCS_RATIO")};
}

// What was said keeps the package's modules alive, and with them the devices.
void forget_classes() {
  for (PyObject* one : {classes.pointer, classes.manager, classes.get_context, classes.config}) Py_XDECREF(one);
  classes.pointer = classes.manager = classes.get_context = nullptr;
  classes.config = nullptr;
  latest = {};
}

void release_all(nb::handle context) {
  std::vector<nb::object> found;
  for (PointerObject* pointer = newest; pointer != nullptr; pointer = pointer->after)
    if (pointer->context == context.ptr()) found.push_back(nb::borrow(reinterpret_cast<PyObject*>(pointer)));
  for (const nb::object& pointer : found)
    if (!release(in(pointer.ptr()))) throw nb::python_error();
}

// The current context and its device; an invalid one when its memory manager is not the default one.
nb::object usual_context(std::shared_ptr<OpenDevice>& open) {
  if (latest.context != nullptr && latest.handle == current_context() && latest.epoch == contexts_epoch() && !forked) {
    open = latest.open.lock();
    if (open) return nb::borrow(latest.context);
  }
  nb::object context = nb::steal(PyObject_CallNoArgs(classes.get_context));
  const nb::object manager =
      context.is_valid() ? nb::steal(PyObject_GetAttr(context.ptr(), classes.manager_name)) : nb::object();
  if (!manager.is_valid()) throw nb::python_error();
  if (reinterpret_cast<PyObject*>(Py_TYPE(manager.ptr())) != classes.manager) return {};
  open = device_of(context);
  latest = {current_context(), contexts_epoch(), current_context() == 0 ? nullptr : context.ptr(), open};
  return context;
}

}  // namespace

void forget_limits() { limits.open = nullptr; }

PyObject* make_pointer(std::size_t bytes) {
  if (classes.get_context == nullptr || bytes == 0) return nullptr;
  // The interpreter may begin to end while this thread is without the GIL.
  const nb::object kept = nb::borrow(classes.pointer);
  std::shared_ptr<OpenDevice> open;
  const nb::object context = usual_context(open);
  if (!context.is_valid()) return nullptr;
  const Place place = place_of_caller();
  const detail::IdleMemory idle = detail::take_idle_memory(open->device, bytes, place.file, place.line);
  std::shared_ptr<detail::Memory> memory;
  if (idle.address == nullptr) {
    try {
      const WithoutGil unlocked;  // it may wait for work that needs the GIL
      memory = std::make_shared<detail::Memory>(open->device, bytes, 1, place.file, place.line);
    } catch (const Error&) {
      return nullptr;  // Python code tries again, and says it in CUDA's words
    }
  }
  auto* type = reinterpret_cast<PyTypeObject*>(kept.ptr());
  PyObject* self = type->tp_alloc(type, 0);
  if (self == nullptr) {
    if (idle.address != nullptr) detail::give_back(open->device, idle);
    throw nb::python_error();
  }
  PointerObject& pointer = in(self);
  pointer.idle = idle;
  pointer.address = reinterpret_cast<std::uint64_t>(idle.address != nullptr ? idle.address : memory->address());
  new (&pointer.memory) std::shared_ptr<detail::Memory>(std::move(memory));
  new (&pointer.open) std::shared_ptr<OpenDevice>(std::move(open));
  pointer.context = nb::object(context).release().ptr();
  pointer.bytes = bytes;
  pointer.references = 1;
  pointer.live = true;
  link(pointer);
  return self;
}

std::uint64_t address_of_pointer(PyObject* object) { return in(object).address; }

const Device* device_of_live_pointer(PyObject* object) {
  if (forked || object == nullptr || !PyObject_TypeCheck(object, pointer_type)) return nullptr;
  const PointerObject& pointer = in(object);
  return pointer.live ? &pointer.open->device : nullptr;
}

PyObject* native_pointer_of(PyObject* object) {
  if (PyObject_TypeCheck(object, pointer_type)) return object;
  static PyObject* const name = PyUnicode_InternFromString("_root");
  const nb::object root = nb::steal(object == Py_None ? nullptr : PyObject_GetAttr(object, name));
  PyErr_Clear();
  return root.is_valid() && PyObject_TypeCheck(root.ptr(), pointer_type) ? root.ptr() : nullptr;
}

void check_for_launch(PyObject* native, const OpenDevice& device) {
  const PointerObject& pointer = in(native);
  if (pointer.live && pointer.open.get() == &device) return;
  detail::check_argument(device.device, pointer.open->device, pointer.live);
}

void register_pointer(nb::module_& m) {
  const nb::object type = nb::steal(PyType_FromSpec(&spec));
  if (!type.is_valid()) throw nb::python_error();
  m.attr("NativePointer") = type;
  pointer_type = reinterpret_cast<PyTypeObject*>(nb::object(type).release().ptr());
  pthread_atfork(nullptr, nullptr, [] { forked = true; });
  m.def("set_pointer_classes", &set_classes, "pointer"_a, "manager"_a, "get_context"_a, "config"_a,
        "Says which class new memory has, for which memory manager, where the current context is found, and where the "
        "limits of pending releases.");
  m.def("forget_pointer_classes", &forget_classes, "Takes that back, before the interpreter ends.");
  m.def("release_pointers", &release_all, "context"_a, "Releases all native memory of a context that is alive.");
  m.def(
      "allocate_pointer",
      [](std::size_t bytes) {
        PyObject* made = make_pointer(bytes);
        return made == nullptr ? nb::none() : nb::steal(made);
      },
      "nbytes"_a, "New memory of the current context; None when only its memory manager can make it.");
}

}  // namespace warploom::python

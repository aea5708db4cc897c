// _core.ConfiguredLaunch and _core.Configurable: kernels with a launch configuration, called and found without running
// Python code.
#include <array>
#include <cstddef>

#include <nanobind/nanobind.h>
// After Python.h.
#include <structmember.h>

#include "current.hpp"
#include "dispatch.hpp"

namespace warploom::python {
namespace {

using nb::literals::operator""_a;

// What the package has said, for the life of the process.
struct Hooks {
  PyObject* long_way = nullptr;  // (launch, args, kwargs)
  PyObject* error = nullptr;     // the exception that a RuntimeError of a launch becomes
  PyObject* done = nullptr;      // after a launch that was waited for
};
Hooks hooks;

// ---- a kernel with a configuration ----

struct LaunchObject {
  PyObject ob_base;
  vectorcallfunc call;
  PyObject *dispatcher, *config;  // of the short way; null where there is none
  FastDispatcher* fast;
  LaunchConfig* shape;
  PyObject* callbacks;
  std::uint64_t context, epoch;  // that the short way serves
};

LaunchObject& launch_in(PyObject* self) { return *reinterpret_cast<LaunchObject*>(self); }

bool is_empty(PyObject* callbacks) { return PyList_CheckExact(callbacks) && PyList_GET_SIZE(callbacks) == 0; }

PyObject* call_long_way(PyObject* self, PyObject* const* arguments, std::size_t count, PyObject* names) {
  if (hooks.long_way == nullptr) {
    PyErr_SetString(PyExc_RuntimeError, "the package has said nothing of launches");
    return nullptr;
  }
  const nb::object positional = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(count)));
  const nb::object keywords = nb::steal(PyDict_New());
  if (!positional.is_valid() || !keywords.is_valid()) return nullptr;
  for (std::size_t i = 0; i < count; ++i)
    PyTuple_SET_ITEM(positional.ptr(), static_cast<Py_ssize_t>(i), Py_NewRef(arguments[i]));
  for (Py_ssize_t i = 0; names != nullptr && i < PyTuple_GET_SIZE(names); ++i)
    if (PyDict_SetItem(keywords.ptr(), PyTuple_GET_ITEM(names, i), arguments[count + static_cast<std::size_t>(i)]) != 0)
      return nullptr;
  return PyObject_CallFunctionObjArgs(hooks.long_way, self, positional.ptr(), keywords.ptr(), nullptr);
}

// RuntimeError becomes what the hook says, with itself as the cause.
void name_error() {
  if (hooks.error == nullptr || PyErr_ExceptionMatches(PyExc_RuntimeError) == 0) return;
  PyObject *type = nullptr, *value = nullptr, *trace = nullptr;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  const nb::object named = nb::steal(PyObject_CallOneArg(hooks.error, value));
  if (!named.is_valid() || named.ptr() == value) {
    if (named.is_valid()) PyErr_Restore(type, value, trace);
    return;
  }
  PyException_SetCause(named.ptr(), value);  // takes the reference
  Py_XDECREF(type);
  Py_XDECREF(trace);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(named.ptr())), named.ptr());
}

PyObject* call(PyObject* self, PyObject* const* arguments, std::size_t flags, PyObject* names) {
  LaunchObject& launch = launch_in(self);
  const auto count = static_cast<std::size_t>(PyVectorcall_NARGS(flags));
  const bool short_way = launch.fast != nullptr && launch.context == current_context() &&
                         launch.epoch == contexts_epoch() && names == nullptr && is_empty(launch.callbacks);
  if (!short_way) return call_long_way(self, arguments, count, names);
  FastDispatcher::Outcome outcome{};
  try {
    // Others may arm it anew while this thread is without the GIL.
    const nb::object dispatcher = nb::borrow(launch.dispatcher), config = nb::borrow(launch.config);
    outcome = launch.fast->call(*launch.shape, arguments, count);
  } catch (...) {
    restore_exception(std::current_exception());
    name_error();
    return nullptr;
  }
  if (outcome == FastDispatcher::Outcome::unknown) return call_long_way(self, arguments, count, nullptr);
  if (outcome == FastDispatcher::Outcome::done && hooks.done != nullptr) return PyObject_CallNoArgs(hooks.done);
  Py_RETURN_NONE;
}

PyObject* make_launch(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* self = type->tp_alloc(type, 0);
  if (self == nullptr) return nullptr;
  launch_in(self).call = call;
  launch_in(self).callbacks = PyList_New(0);
  if (launch_in(self).callbacks == nullptr) Py_CLEAR(self);
  return self;
}

int clear_launch(PyObject* self) {
  LaunchObject& launch = launch_in(self);
  launch.fast = nullptr;
  Py_CLEAR(launch.dispatcher);
  Py_CLEAR(launch.config);
  Py_CLEAR(launch.callbacks);
  return 0;
}

int traverse_launch(PyObject* self, visitproc visit, void* arg) {
  LaunchObject& launch = launch_in(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(launch.dispatcher);
  Py_VISIT(launch.config);
  Py_VISIT(launch.callbacks);
  return 0;
}

template <int (*Clear)(PyObject*)>
void destroy(PyObject* self) {
  PyObject_GC_UnTrack(self);
  PyTypeObject* type = Py_TYPE(self);
  Clear(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* get_callbacks(PyObject* self, void*) {
  PyObject* callbacks = launch_in(self).callbacks;
  return Py_NewRef(callbacks == nullptr ? Py_None : callbacks);
}

int set_callbacks(PyObject* self, PyObject* value, void*) {
  if (value == nullptr) {
    PyErr_SetString(PyExc_AttributeError, "pre_launch_callbacks cannot be deleted");
    return -1;
  }
  Py_XSETREF(launch_in(self).callbacks, Py_NewRef(value));
  return 0;
}

PyGetSetDef launch_attributes[] = {{"pre_launch_callbacks", get_callbacks, set_callbacks,
                                    "Functions (kernel, launch configuration) called before each launch.", nullptr},
                                   {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyMemberDef launch_members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(LaunchObject, call), READONLY, nullptr},
                                {nullptr, 0, 0, 0, nullptr}};

PyType_Slot launch_slots[] = {
    {Py_tp_doc, const_cast<char*>("Base class of kernels with a launch configuration; arm_launch() gives one a short "
                                  "way, and without it a call goes the package's way.")},
    {Py_tp_new, reinterpret_cast<void*>(make_launch)},
    {Py_tp_dealloc, reinterpret_cast<void*>(destroy<clear_launch>)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse_launch)},
    {Py_tp_clear, reinterpret_cast<void*>(clear_launch)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_getset, launch_attributes},
    {Py_tp_members, launch_members},
    {0, nullptr}};

PyType_Spec launch_spec{"warploom._core.ConfiguredLaunch", sizeof(LaunchObject), 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
                        launch_slots};

PyTypeObject* launch_type = nullptr;

LaunchObject& checked_launch(nb::handle object) {
  if (!PyObject_TypeCheck(object.ptr(), launch_type)) throw nb::type_error("this is no configured launch");
  return launch_in(object.ptr());
}

void arm(nb::handle object, nb::handle_t<FastDispatcher> dispatcher, nb::handle_t<PyLaunchConfig> config,
         std::uint64_t context) {
  LaunchObject& launch = checked_launch(object);
  Py_XSETREF(launch.dispatcher, Py_NewRef(dispatcher.ptr()));
  Py_XSETREF(launch.config, Py_NewRef(config.ptr()));
  launch.fast = nb::inst_ptr<FastDispatcher>(dispatcher);
  launch.shape = &*nb::inst_ptr<PyLaunchConfig>(config)->config;
  launch.context = context;
  launch.epoch = contexts_epoch();
}

void set_launch_class(nb::handle type, nb::object long_way, nb::object error, nb::object done) {
  hooks = {long_way.release().ptr(), error.release().ptr(), done.release().ptr()};
  // Classes written in Python do not inherit it before Python 3.12.
  auto* object = reinterpret_cast<PyTypeObject*>(type.ptr());
  object->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
  PyType_Modified(object);
}

// ---- a kernel, whose subscript is a configuration ----

struct ConfigurableObject {
  PyObject ob_base;
  PyObject* known;  // a dict, by subscript
};

ConfigurableObject& configurable_in(PyObject* self) { return *reinterpret_cast<ConfigurableObject*>(self); }

PyObject* subscript(PyObject* self, PyObject* key) {
  PyObject* known = configurable_in(self).known;
  if (known != nullptr && PyDict_CheckExact(known)) {
    if (PyObject* found = PyDict_GetItemWithError(known, key)) return Py_NewRef(found);
    if (PyErr_Occurred() != nullptr) PyErr_Clear();  // one that cannot be remembered
  }
  static PyObject* name = PyUnicode_InternFromString("_configure_subscript");
  return PyObject_CallMethodOneArg(self, name, key);
}

int clear_configurable(PyObject* self) {
  Py_CLEAR(configurable_in(self).known);
  return 0;
}

int traverse_configurable(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(configurable_in(self).known);
  return 0;
}

PyObject* get_known(PyObject* self, void*) {
  PyObject* known = configurable_in(self).known;
  return Py_NewRef(known == nullptr ? Py_None : known);
}

int set_known(PyObject* self, PyObject* value, void*) {
  Py_XSETREF(configurable_in(self).known, value == nullptr ? nullptr : Py_NewRef(value));
  return 0;
}

PyGetSetDef configurable_attributes[] = {
    {"_configurations", get_known, set_known, "Configured launches by subscript.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot configurable_slots[] = {
    {Py_tp_doc, const_cast<char*>("Base class of kernels: a subscript gives what _configurations has for it, else what "
                                  "_configure_subscript() makes.")},
    {Py_tp_dealloc, reinterpret_cast<void*>(destroy<clear_configurable>)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse_configurable)},
    {Py_tp_clear, reinterpret_cast<void*>(clear_configurable)},
    {Py_mp_subscript, reinterpret_cast<void*>(subscript)},
    {Py_tp_getset, configurable_attributes},
    {0, nullptr}};

PyType_Spec configurable_spec{"warploom._core.Configurable", sizeof(ConfigurableObject), 0,
                              Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, configurable_slots};

nb::object add_type(nb::module_& m, const char* name, PyType_Spec& spec) {
  nb::object type = nb::steal(PyType_FromSpec(&spec));
  if (!type.is_valid()) throw nb::python_error();
  m.attr(name) = type;
  return type;
}

}  // namespace

void register_configured(nb::module_& m) {
  // The module may be cleared before the last object goes.
  launch_type = reinterpret_cast<PyTypeObject*>(add_type(m, "ConfiguredLaunch", launch_spec).release().ptr());
  add_type(m, "Configurable", configurable_spec).release();
  m.def("arm_launch", &arm, "launch"_a, "dispatcher"_a, "config"_a, "context"_a,
        "Calls of the launch in the context of that handle go to the dispatcher first, until contexts change.");
  m.def(
      "set_launch_class", &set_launch_class, "type"_a, "long_way"_a, "error"_a, "done"_a,
      "Says which class configured launches have; long_way(launch, args, kwargs): what launches otherwise; "
      "error(exception): what a RuntimeError of a launch becomes; done(): called after a launch that was waited for.");
}

}  // namespace warploom::python

// _core.ArrayBase: address, shape, strides and type of an array in device memory, as launches read them.
#include "arguments.hpp"

#include <cstring>
#include <unordered_map>

namespace warploom::python {
namespace {

using nb::literals::operator""_a;

PyTypeObject* array_type = nullptr;

void read_extents(std::int64_t* out, const nb::tuple& tuple) {
  for (std::size_t i = 0; i < tuple.size(); ++i) {
    out[i] = PyLong_AsLongLong(tuple[i].ptr());
    if (out[i] == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
  }
}

void make(ArrayBase* self, std::uint64_t address, nb::object shape, nb::object strides, nb::str type_name,
          nb::object owner) {
  const nb::tuple extents(std::move(shape)), steps(std::move(strides));
  if (extents.size() != steps.size()) throw nb::value_error("shape and strides differ in length");
  auto* array = new (self) ArrayBase();
  array->address = address;
  array->type = intern_type(type_name.c_str());
  array->ndim = static_cast<std::uint32_t>(extents.size());
  array->extents = std::make_unique<std::int64_t[]>(2 * extents.size());
  array->shape = array->extents.get();
  read_extents(array->shape, extents);
  read_extents(array->shape + array->ndim, steps);
  array->shape_tuple = nb::object(extents).release().ptr();
  array->stride_tuple = nb::object(steps).release().ptr();
  array->type_name = type_name.release().ptr();
  array->owner = owner.release().ptr();
}

int clear(PyObject* self) {
  auto* array = nb::inst_ptr<ArrayBase>(nb::handle(self));
  Py_CLEAR(array->owner);
  return 0;
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(nb::handle(self))) return 0;
  const auto* array = nb::inst_ptr<ArrayBase>(nb::handle(self));
  Py_VISIT(array->owner);
  return 0;
}

PyType_Slot slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)}, {Py_tp_clear, reinterpret_cast<void*>(clear)}, {0, nullptr}};

nb::object shared(PyObject* object) { return object == nullptr ? nb::none() : nb::borrow(object); }

}  // namespace

ArrayBase::~ArrayBase() {
  Py_XDECREF(shape_tuple);
  Py_XDECREF(stride_tuple);
  Py_XDECREF(type_name);
  Py_XDECREF(owner);
}

std::uint32_t intern_type(std::string_view name) {
  static auto* names = new std::unordered_map<std::string, std::uint32_t>;
  return names->emplace(name, static_cast<std::uint32_t>(names->size() + 1)).first->second;
}

ArrayBase* array_of(PyObject* object) {
  if (!PyObject_TypeCheck(object, array_type) || !nb::inst_ready(nb::handle(object))) return nullptr;
  return nb::inst_ptr<ArrayBase>(nb::handle(object));
}

void register_array(nb::module_& m) {
  const nb::class_<ArrayBase> type =
      nb::class_<ArrayBase>(m, "ArrayBase", nb::type_slots(slots), nb::is_weak_referenceable(),
                            "Where an array lies in device memory. Immutable; subclasses add the rest.")
          .def("__init__", &make, "address"_a, "shape"_a, "strides"_a, "type_name"_a, "owner"_a = nb::none(),
               "shape and strides (bytes): tuples of int; type_name: the canonical type, such as array(float32,1,C); "
               "owner is kept alive.")
          .def_ro("_address", &ArrayBase::address)
          .def_prop_ro("_shape", [](const ArrayBase& self) { return shared(self.shape_tuple); })
          .def_prop_ro("_strides", [](const ArrayBase& self) { return shared(self.stride_tuple); })
          .def_prop_ro("_type_name", [](const ArrayBase& self) { return shared(self.type_name); })
          .def_prop_ro("_owner", [](const ArrayBase& self) { return shared(self.owner); });
  array_type = reinterpret_cast<PyTypeObject*>(type.ptr());
}

}  // namespace warploom::python

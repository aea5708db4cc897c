// _core.LaunchConfig and _core.Launcher: the shape of a launch, and launches with arguments of known types.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "launch.hpp"

namespace warploom::python {
namespace {

using nb::literals::operator""_a;

LaunchConfig config_of(PyObject* grid, PyObject* block, const PyStream* stream, std::uint32_t smem, bool cooperative) {
  LaunchConfig config{dim3_of(grid, "grid"), dim3_of(block, "block"), smem, std::nullopt, cooperative};
  if (const Stream* queue = stream_of(stream)) config.stream = *queue;
  const Place place = place_of_caller();
  config.where = {place.file, place.line};
  return config;
}

}  // namespace

Dim3 dim3_of(PyObject* object, const char* what) {
  const auto extent = [&](PyObject* number) {
    const long long value = PyLong_AsLongLong(number);
    if (value == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();
    return value;
  };
  if (PyIndex_Check(object)) return {extent(object)};
  const nb::object items = nb::steal(PySequence_Tuple(object));
  if (!items.is_valid()) throw nb::python_error();
  const Py_ssize_t count = PyTuple_GET_SIZE(items.ptr());
  if (count < 1 || count > 3) throw nb::value_error((std::string(what) + " has 1, 2 or 3 extents").c_str());
  long long extents[3] = {1, 1, 1};
  for (Py_ssize_t i = 0; i < count; ++i) extents[i] = extent(PyTuple_GET_ITEM(items.ptr(), i));
  return {extents[0], extents[1], extents[2]};
}

Launcher::Launcher(const PyKernel& kernel, const std::vector<std::string>& types)
    : kernel_(kernel.kernel), open_(kernel.open) {
  for (const std::string& type : types) {
    types_.push_back(TypePlan::parse(type));
    parameters_ += types_.back().parameters();
  }
}

void Launcher::launch(const LaunchConfig& config, PyObject* const* arguments, std::size_t count) {
  if (count != types_.size()) {
    PyErr_Format(PyExc_TypeError, "the kernel takes %zu arguments, %zu were given", types_.size(), count);
    throw nb::python_error();
  }
  Packed packed(parameters_);
  for (std::size_t i = 0; i < count; ++i) pack(packed, types_[i], arguments[i]);
  launch(config, packed);
}

void Launcher::launch(const LaunchConfig& config, const Packed& packed) {
  if (warm_) {
    kernel_->launch_with(config, packed.arguments());
    return;
  }
  // The first launch builds the kernel. Other threads may use the configuration meanwhile.
  const LaunchConfig own = config;  // NOLINT(performance-unnecessary-copy-initialization)
  const WithoutGil unlocked;
  kernel_->launch_with(own, packed.arguments());
  warm_ = true;
}

void register_launch(nb::module_& m) {
  nb::class_<PyLaunchConfig>(m, "LaunchConfig", "Shape and place of a launch (cuLaunchKernel).")
      .def(
          "__init__",
          [](PyLaunchConfig* self, nb::handle grid, nb::handle block, const PyStream* stream, std::uint32_t smem,
             bool cooperative) {
            new (self)
                PyLaunchConfig{Held<LaunchConfig>(config_of(grid.ptr(), block.ptr(), stream, smem, cooperative))};
          },
          "grid"_a, "block"_a, "stream"_a = nb::none(), "smem"_a = 0, "cooperative"_a = false,
          "grid, block: an int or a tuple of up to 3; smem: bytes of dynamic shared memory for each block.")
      .def_prop_ro("grid", [](const PyLaunchConfig& self) { return tuple_of(self.config->grid); })
      .def_prop_ro("block", [](const PyLaunchConfig& self) { return tuple_of(self.config->block); })
      .def_prop_ro("smem", [](const PyLaunchConfig& self) { return self.config->shared_bytes; })
      .def_prop_ro("cooperative", [](const PyLaunchConfig& self) { return self.config->cooperative; });
  nb::class_<Launcher>(m, "Launcher", "A kernel and the canonical types of its arguments.")
      .def(nb::init<const PyKernel&, const std::vector<std::string>&>(), "kernel"_a, "arg_types"_a)
      .def(
          "launch",
          [](Launcher& self, nb::handle grid, nb::handle block, const PyStream* stream, std::uint32_t smem,
             bool cooperative, nb::object args) {
            const nb::tuple items(std::move(args));
            const Held<LaunchConfig> config(config_of(grid.ptr(), block.ptr(), stream, smem, cooperative));
            self.launch(*config, &PyTuple_GET_ITEM(items.ptr(), 0), items.size());
          },
          "grid"_a, "block"_a, "stream"_a.none(), "smem"_a, "cooperative"_a, "args"_a,
          "Queues a launch. An array argument is an ArrayBase or a tuple (address, shape, strides); scalars are cast "
          "to "
          "their type: integers wrap, real numbers are truncated, complex numbers raise TypeError. None or the default "
          "stream: the default stream.");
}

}  // namespace warploom::python

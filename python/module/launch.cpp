// _core.LaunchConfig and _core.Launcher: the shape of a launch, and launches with arguments of known types.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <span>
#include <utility>

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

// Whether an array that is written shares memory with another one.
bool overlap(const Packed& packed, std::span<const ArrayPlace> arrays) {
  struct Range {
    std::int64_t first, end;
  };
  const auto range_of = [&](const ArrayPlace& array) {
    const auto first = static_cast<std::int64_t>(packed.bits(array.parameter));
    Range range{first, first + static_cast<std::int64_t>(array.element)};
    for (std::size_t i = 1; i <= array.ndim; ++i) {
      const auto extent = static_cast<std::int64_t>(packed.bits(array.parameter + i));
      const auto stride = static_cast<std::int64_t>(packed.bits(array.parameter + array.ndim + i));
      if (extent <= 0) return Range{0, 0};
      (stride < 0 ? range.first : range.end) += (extent - 1) * stride;
    }
    return range;
  };
  for (std::size_t i = 0; i < arrays.size(); ++i) {
    if (!arrays[i].written) continue;
    const Range written = range_of(arrays[i]);
    for (std::size_t j = 0; j < arrays.size(); ++j) {
      if (j == i) continue;
      const Range other = range_of(arrays[j]);
      if (written.first < other.end && other.first < written.end) return true;
    }
  }
  return false;
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
  Packed packed(parameters_, **open_);
  for (std::size_t i = 0; i < count; ++i) pack(packed, types_[i], arguments[i]);
  launch(config, packed);
}

void Launcher::when_overlapping(const PyKernel& kernel, std::vector<ArrayPlace> arrays) {
  for (const ArrayPlace& array : arrays)
    if (array.parameter + 2 * array.ndim >= parameters_)
      throw nb::value_error("an array's parameters are not among the kernel's");
  overlapping_.emplace(kernel.kernel);
  arrays_ = std::move(arrays);
}

const Kernel& Launcher::kernel_for(const Packed& packed) const {
  return overlapping_ && overlap(packed, arrays_) ? **overlapping_ : *kernel_;
}

void Launcher::launch(const LaunchConfig& config, const Packed& packed) {
  const Kernel& kernel = kernel_for(packed);
  if (warm_ == &kernel) {
    kernel.launch_with(config, packed.arguments());
    return;
  }
  // The first launch builds the kernel. Other threads may use the configuration meanwhile.
  const LaunchConfig own = config;  // NOLINT(performance-unnecessary-copy-initialization)
  const WithoutGil unlocked;
  kernel.launch_with(own, packed.arguments());
  warm_ = &kernel;
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
          "when_overlapping",
          [](Launcher& self, const PyKernel& kernel,
             const std::vector<std::tuple<std::size_t, std::size_t, std::size_t, bool>>& arrays) {
            std::vector<ArrayPlace> places;
            places.reserve(arrays.size());
            for (const auto& [parameter, ndim, element, written] : arrays)
              places.push_back({parameter, ndim, element, written});
            self.when_overlapping(kernel, std::move(places));
          },
          "kernel"_a, "arrays"_a,
          "The kernel to launch instead when an array that is written overlaps another one. arrays: (first parameter, "
          "dimensions, bytes of an element, whether it is written) of each array argument.")
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

// _core.Module and _core.Kernel: lookup by name, variables, attributes and occupancy.
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "binding.hpp"

namespace warploom::python {
namespace {

using nb::literals::operator""_a;

nb::dict attributes(const PyKernel& self) {
  KernelAttributes found;
  {
    const WithoutGil unlocked;
    found = self.kernel->attributes();
  }
  nb::dict out;
  out["static_shared_bytes"] = found.static_shared_bytes;
  out["local_bytes"] = found.local_bytes;
  out["registers"] = found.registers;
  out["max_threads_per_block"] = found.max_threads_per_block;
  out["const_bytes"] = found.const_bytes;
  return out;
}

nb::list parameters(const PyKernel& self) {
  nb::list out;
  for (const Parameter& parameter : self.kernel->parameters())
    out.append(nb::make_tuple(parameter.name, parameter.offset, parameter.bytes, parameter.align));
  return out;
}

}  // namespace

void register_kernel(nb::module_& m) {
  nb::class_<PyKernel>(m, "Kernel", "A kernel of a module; keeps the module loaded.")
      .def_ro("name", &PyKernel::name, "The name in PTX.")
      .def_prop_ro("demangled_name", [](const PyKernel& self) { return self.kernel->demangled_name(); })
      .def("attributes", &attributes,
           "What a launch needs, as a dict: static_shared_bytes, local_bytes, registers, max_threads_per_block, "
           "const_bytes (cuFuncGetAttribute). Compiles the kernel.")
      .def("parameters", &parameters, "A list of (name, offset, bytes, align).")
      .def(
          "max_active_blocks",
          [](const PyKernel& self, nb::handle block, std::uint32_t shared) {
            const Dim3 extent = dim3_of(block.ptr(), "block");
            const WithoutGil unlocked;
            return self.kernel->max_active_blocks(extent, shared);
          },
          "block"_a, "smem"_a = 0,
          "Blocks of this size (an int, or a tuple of up to 3) with smem bytes of dynamic shared memory that one "
          "multiprocessor holds at once.")
      .def(
          "max_active_clusters",
          [](const PyKernel& self, nb::handle grid, nb::handle block, nb::handle cluster, std::uint32_t shared) {
            LaunchConfig config{dim3_of(grid.ptr(), "grid"), dim3_of(block.ptr(), "block"), shared};
            config.cluster = dim3_of(cluster.ptr(), "cluster");
            const WithoutGil unlocked;
            return self.kernel->max_active_clusters(config);
          },
          "grid"_a, "block"_a, "cluster"_a, "smem"_a = 0,
          "Clusters of this many blocks, of a launch with this grid, block and smem bytes of dynamic shared memory, "
          "that the device holds at once (cuOccupancyMaxActiveClusters).")
      .def(
          "max_potential_block",
          [](const PyKernel& self, const nb::object& smem, unsigned limit) {
            BlockChoice best;
            if (PyCallable_Check(smem.ptr()) != 0) {
              best = self.kernel->max_potential_block(
                  [&smem](unsigned block) { return nb::cast<std::size_t>(smem(block)); }, limit);
            } else {
              const auto bytes = nb::cast<std::uint32_t>(smem);
              const WithoutGil unlocked;
              best = self.kernel->max_potential_block(bytes, limit);
            }
            return nb::make_tuple(best.grid, best.block);
          },
          "smem"_a = 0, "limit"_a = 0,
          "(grid, block): the block with most threads resident, and the grid that fills the device with it. smem: "
          "bytes "
          "of dynamic shared memory, or a function of the block's threads (cuOccupancyMaxPotentialBlockSize).");
  nb::class_<PyModule>(m, "Module", "Loaded PTX.")
      .def(
          "kernel",
          [](const PyModule& self, std::string_view name) {
            Kernel found = self.module->kernel(name);
            std::string full = found.name();
            return PyKernel{Held<Kernel>(std::move(found)), self.open, std::move(full)};
          },
          "name"_a, Unlocked(), "Finds a kernel by its name in PTX or its C++ name.")
      .def(
          "kernel_names", [](const PyModule& self) { return self.module->kernel_names(); },
          "Names in PTX of all kernels.")
      .def(
          "global_",
          [](const PyModule& self, std::string_view name) {
            const auto found = self.module->global<std::byte>(name);
            return nb::make_tuple(reinterpret_cast<std::uint64_t>(found.data()), found.size());
          },
          "name"_a, "(address, bytes) of a variable (cuModuleGetGlobal).");
}

}  // namespace warploom::python

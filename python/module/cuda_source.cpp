// _core.compile_cuda: CUDA C++ source to PTX text, for linking with kernels.
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <span>
#include <string>

#include "binding.hpp"

namespace warploom::python {

using nb::literals::operator""_a;

void register_cuda_source(nb::module_& m) {
  m.def(
      "compile_cuda",
      [](std::string_view source, std::string_view name, std::string arch, std::vector<std::string> include_dirs,
         std::vector<std::string> defines, std::vector<std::string> arguments, bool debug, bool fast_math) {
        CompileOptions options;
        options.arch = std::move(arch);
        options.include_dirs = std::move(include_dirs);
        options.defines = std::move(defines);
        options.arguments = std::move(arguments);
        options.debug = debug;
        options.fast_math = fast_math;
        return compile_to_ptx(source, options, name);
      },
      "source"_a, nb::kw_only(), "name"_a = "<source>.cu", "arch"_a = "", "include_dirs"_a = std::vector<std::string>(),
      "defines"_a = std::vector<std::string>(), "arguments"_a = std::vector<std::string>(), "debug"_a = false,
      "fast_math"_a = false, Unlocked(),
      "Compiles CUDA C++ source to PTX text; name stands in messages, arch is such as \"sm_90\".");
  m.def(
      "image_ptx",
      [](const PyDevice& device, const nb::bytes& image, const std::string& name) {
        const std::span bytes(static_cast<const std::byte*>(image.data()), image.size());
        const WithoutGil unlocked;
        Linker linker(device.device());
        return linker.add_image(bytes, name).ptx(name);
      },
      "device"_a, "image"_a, "name"_a,
      "The PTX that a fatbin, object file, archive or program holds for the device, as one text; name stands in "
      "messages.");
}

}  // namespace warploom::python

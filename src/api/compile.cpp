// Compiling CUDA C++: source to PTX by the front end, PTX to a module by the device.
#include "api/state.hpp"
#include "frontend/cuda/cuda_compiler.hpp"

namespace warploom {
namespace {

frontend::CudaOptions front_end_options(const CompileOptions& options, unsigned sm) {
  if (options.optimization < 0 || options.optimization > 3)
    api::fail(ErrorId::invalid_value, "optimization level " + std::to_string(options.optimization) + " does not exist",
              "use 0, 1, 2 or 3");
  frontend::CudaOptions out;
  out.arch = options.arch.empty() ? "sm_" + std::to_string(sm) : options.arch;
  out.defines = options.defines;
  out.include_dirs = options.include_dirs;
  out.extra_flags = options.arguments;
  out.lineinfo = options.line_info;
  out.debug = options.debug;
  out.fast_math = options.fast_math;
  out.use_nvcc = options.compiler == CompileOptions::Compiler::nvcc;
  out.optimisation = static_cast<unsigned>(options.optimization);
  return out;
}

}  // namespace

Module Device::compile(std::string_view source, const CompileOptions& options, std::string_view name) const {
  runtime::Context& context = api::use(state_);
  const std::string ptx = api::checked(frontend::compile_cuda_source(
      std::string(source), std::string(name), front_end_options(options, context.device().profile().sm)));
  return load_ptx(ptx, name);
}

Module Device::compile_file(const std::string& path, const CompileOptions& options) const {
  runtime::Context& context = api::use(state_);
  const std::string ptx =
      api::checked(frontend::compile_cuda_file(path, front_end_options(options, context.device().profile().sm)));
  return load_ptx(ptx, path);
}

std::string compile_to_ptx(std::string_view source, const CompileOptions& options, std::string_view name) {
  constexpr unsigned default_sm = 90;
  return api::checked(
      frontend::compile_cuda_source(std::string(source), std::string(name), front_end_options(options, default_sm)));
}

}  // namespace warploom

// Finds the compiler, composes its command line and runs it.
#include "frontend/cuda/cuda_compiler.hpp"

#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/diag_of.hpp"
#include "frontend/cuda/child_process.hpp"
#include "frontend/cuda/header_store.hpp"

namespace warploom::frontend {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

bool in_path(const std::string& program) {
  std::stringstream dirs(environment("PATH"));
  for (std::string dir; std::getline(dirs, dir, ':');)
    if (!dir.empty() && access((fs::path(dir) / program).c_str(), X_OK) == 0) return true;
  return false;
}

// The environment variable decides alone when it is set; then what CMake found; then PATH.
Result<std::string> find_clang() {
  constexpr auto kRemedy =
      "install clang 22 (Debian: clang-22 from apt.llvm.org), or set WARPLOOM_CLANG to a clang "
      "that has the NVPTX target";
  if (std::string path = environment("WARPLOOM_CLANG"); !path.empty()) {
    if (access(path.c_str(), X_OK) == 0 || (path.find('/') == std::string::npos && in_path(path))) return path;
    return diag_of(ErrorId::compiler_missing, "WARPLOOM_CLANG names no program: " + path, kRemedy);
  }
  if (access(WARPLOOM_CLANG_PATH, X_OK) == 0) return std::string(WARPLOOM_CLANG_PATH);
  for (const char* name : {"clang-22", "clang"})
    if (in_path(name)) return std::string(name);
  return diag_of(ErrorId::compiler_missing, "clang, which compiles CUDA C++, is not found", kRemedy);
}

Result<std::string> find_nvcc() {
  if (std::string path = environment("WARPLOOM_NVCC"); !path.empty()) {
    if (access(path.c_str(), X_OK) == 0) return path;
  } else if (in_path("nvcc")) {
    return std::string("nvcc");
  }
  return diag_of(
      ErrorId::compiler_missing, "nvcc is not found",
      "put nvcc in PATH or set WARPLOOM_NVCC to it, or compile without asking for nvcc (clang is the default)");
}

// The oldest PTX version that has the target, at least 8.0 (PTX ISA, table of target names).
Result<std::string> ptx_feature(const std::string& arch) {
  std::string_view digits = arch;
  unsigned number = 0;
  if (digits.starts_with("sm_")) digits.remove_prefix(3);
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (code != std::errc() || digits.size() == arch.size() || number < 50)
    return diag_of(ErrorId::invalid_value, "\"" + arch + "\" is no GPU architecture",
                   "write sm_ and the compute capability, for instance sm_80 or sm_90");
  (void)end;
  if (number >= 120) return std::string("+ptx87");
  if (number >= 100) return std::string("+ptx86");
  return std::string("+ptx80");
}

void add_common(std::vector<std::string>& argv, const CudaOptions& options) {
  for (const std::string& define : options.defines) argv.push_back("-D" + define);
  for (const std::string& dir : options.include_dirs) argv.push_back("-I" + dir);
  for (const std::string& flag : options.extra_flags) argv.push_back(flag);
}

Result<std::vector<std::string>> clang_command(const CudaOptions& options) {
  auto clang = find_clang();
  WL_TRY(clang);
  auto headers = header_folder();
  WL_TRY(headers);
  auto feature = ptx_feature(options.arch);
  WL_TRY(feature);
  std::vector<std::string> argv = {
      *clang, "-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=" + options.arch, "-std=c++20", "-S",
      // Nothing of a CUDA installation, even when there is one.
      "-nocudainc", "-nocudalib", "--cuda-path=" + *headers, "-Wno-unknown-cuda-version", "-Xclang", "-target-feature",
      "-Xclang", *feature, "-fno-color-diagnostics", "-fno-diagnostics-show-line-numbers",
      "-fno-diagnostics-show-option", "-fmacro-backtrace-limit=2", "-isystem", *headers, "-include", "warploom_cuda.h"};
  argv.push_back("-O" + std::to_string(options.debug ? 0u : std::min(options.optimisation, 3u)));
  if (options.debug)
    argv.emplace_back("-g");
  else if (options.lineinfo)
    argv.emplace_back("-gline-directives-only");
  // What nvcc's -use_fast_math means: flush subnormals, approximate division, root and functions; no reassociation.
  if (options.fast_math)
    argv.insert(argv.end(), {"-fgpu-flush-denormals-to-zero", "-fgpu-approx-transcendentals", "-mllvm",
                             "-nvptx-prec-divf32=0", "-mllvm", "-nvptx-prec-sqrtf32=0"});
  add_common(argv, options);
  argv.insert(argv.end(), {"-o", "-"});
  return argv;
}

Result<std::string> finish(const Result<ChildResult>& child, const std::string& compiler, const char* remedy) {
  if (!child) {
    Diag diag = child.error();
    diag.remedy = remedy;
    return diag;
  }
  if (child->status == 0 && !child->out.empty()) return child->out;
  Diag diag = parse_compiler_errors(child->err, compiler);
  if (child->status >= 128) diag.where = compiler + " was ended by signal " + std::to_string(child->status - 128);
  return diag;
}

Result<std::string> run_clang(const std::string& input_path, std::string_view input, const CudaOptions& options) {
  auto command = clang_command(options);
  WL_TRY(command);
  command->push_back(input_path);
  return finish(run_child(*command, input), "clang", "set WARPLOOM_CLANG to a clang 22 that starts");
}

Result<std::string> run_nvcc(const std::string& input_path, const CudaOptions& options) {
  auto nvcc = find_nvcc();
  WL_TRY(nvcc);
  std::vector<std::string> argv = {*nvcc, "-ptx", "-std=c++20", "-arch=" + options.arch};
  if (options.debug)
    argv.emplace_back("-G");
  else if (options.lineinfo)
    argv.emplace_back("-lineinfo");
  if (options.fast_math) argv.emplace_back("-use_fast_math");
  add_common(argv, options);
  argv.insert(argv.end(), {"-o", "/dev/stdout", input_path});
  return finish(run_child(argv, {}), "nvcc", "set WARPLOOM_NVCC to an nvcc that starts");
}

// A name inside #line must not end the string it stands in.
std::string with_line_directive(const std::string& source, const std::string& name) {
  std::string quoted;
  for (const char c : name) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (c != '\n') quoted += c;
  }
  return "#line 1 \"" + quoted + "\"\n" + source;
}

}  // namespace

Result<std::string> compile_cuda_source(std::string source, std::string name, const CudaOptions& options) {
  const std::string text = with_line_directive(source, name);
  if (!options.use_nvcc) return run_clang("-", text, options);

  // nvcc reads files only, and wants the suffix.
  std::string dir = (fs::temp_directory_path() / "warploom-nvcc-XXXXXX").string();
  if (mkdtemp(dir.data()) == nullptr)
    return diag_of(ErrorId::file_error, "cannot make a temporary folder for nvcc", "set TMPDIR");
  const fs::path path = fs::path(dir) / "source.cu";
  std::ofstream(path, std::ios::binary) << text;
  auto result = run_nvcc(path.string(), options);
  std::error_code ignored;
  fs::remove_all(dir, ignored);
  return result;
}

Result<std::string> compile_cuda_file(const std::string& path, const CudaOptions& options) {
  if (access(path.c_str(), R_OK) != 0 || fs::is_directory(path))
    return diag_of(ErrorId::file_error, "cannot read " + path, "give the path of a .cu file");
  return options.use_nvcc ? run_nvcc(path, options) : run_clang(path, {}, options);
}

}  // namespace warploom::frontend

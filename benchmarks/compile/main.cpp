// What compiling costs: for each kernel of CUDA C++ and PTX files, the phases of each version, and a load from the
// cache.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "codegen/compile.hpp"
#include "codegen/linker.hpp"
#include "codegen/object_cache.hpp"
#include "device/cpu/block.hpp"
#include "frontend/cuda/cuda_compiler.hpp"
#include "ir/ir.hpp"

namespace {

using namespace warploom;

constexpr int kRepeats = 3;

double now() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

template <class F>
double seconds(const F& f) {
  const double start = now();
  f();
  return now() - start;
}

std::string text_of(const std::string& file) {
  if (file.ends_with(".ptx")) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  auto ptx = frontend::compile_cuda_file(file);
  if (!ptx) throw std::runtime_error(ptx.error().to_string());
  return *ptx;
}

void* some_address(const std::string& name) {
  static std::byte variable[64];
  if (name.starts_with(codegen::kVariablePrefix)) return variable;
  for (const auto& s : device::host_symbols())
    if (s.name == name) return s.address;
  return variable;
}

// All times in milliseconds of processor time.
struct Row {
  double build = 0, plan = 0, emit = 0, passes = 0, code = 0, link = 0, cached = 0;
  std::size_t instructions = 0, bytes = 0;
};

// From the text of the module to code in memory that the disk cache kept, in wall time.
double from_cache(const std::string& text, const std::string& kernel, codegen::Mode mode) {
  const auto start = std::chrono::steady_clock::now();
  auto module = ptx::parse(text);
  const ptx::Function* f = (*module)->find_function(kernel);
  auto built = ir::build(*module, *f);
  const auto plan = codegen::make_plan(**built, passes::BlockShape::of({256, 1, 1}), false, false);
  auto found = codegen::load_cached(codegen::cache_key(*plan, mode), *plan);
  codegen::LinkError error;
  if (!found || codegen::link(found->object, some_address, error) == nullptr) throw std::runtime_error("not cached");
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void measure(const std::shared_ptr<ptx::Module>& module, const ptx::Function& kernel, std::vector<Row>& main_versions) {
  std::size_t instructions = 0;
  if (auto body = ptx::parse_body(*module, kernel)) instructions = (*body)->instrs.size();
  for (codegen::Mode mode : {codegen::Mode::uniform, codegen::Mode::masked}) {
    const bool first = mode == codegen::Mode::uniform;
    std::array<std::vector<double>, 7> times;
    Row row;
    for (int i = 0; i < kRepeats; ++i) {
      std::shared_ptr<ir::Function> f;
      times[0].push_back(seconds([&] {
        if (auto built = ir::build(module, kernel)) f = *built;
      }));
      if (f == nullptr) return;
      std::shared_ptr<codegen::KernelPlan> plan;
      times[1].push_back(
          seconds([&] { plan = codegen::make_plan(*f, passes::BlockShape::of({256, 1, 1}), false, false); }));
      if (first) mode = plan->main_mode();
      auto made = codegen::compile(*plan, mode, [] { return false; });
      if (!made) {
        fmt::print("{}: {}\n", kernel.name, made.error().to_string());
        return;
      }
      times[2].push_back(made->phases.emit);
      times[3].push_back(made->phases.passes);
      times[4].push_back(made->phases.code);
      row.bytes = made->object.size();
      times[5].push_back(seconds([&] {
        codegen::LinkError error;
        if (codegen::link(made->object, some_address, error) == nullptr) fmt::print("{}\n", error.what);
      }));
      if (i == 0) codegen::save_cached(codegen::cache_key(*plan, mode), *plan, mode, *made);
      times[6].push_back(from_cache(module->text, kernel.name, mode));
    }
    row.cached = median(times[6]) * 1e3;
    row.build = median(times[0]) * 1e3;
    row.plan = median(times[1]) * 1e3;
    row.emit = median(times[2]) * 1e3;
    row.passes = median(times[3]) * 1e3;
    row.code = median(times[4]) * 1e3;
    row.link = median(times[5]) * 1e3;
    row.instructions = instructions;
    const double total = row.emit + row.passes + row.code + row.link;
    fmt::print("{:40.40} {:6} {:8} {:7.2f} {:7.2f} {:7.2f} {:8.2f} {:8.2f} {:6.2f} {:8.2f} {:7.2f} {:8}\n", kernel.name,
               instructions,
               !first                         ? "masked"
               : mode == codegen::Mode::block ? "block"
                                              : "uniform",
               row.build, row.plan, row.emit, row.passes, row.code, row.link, total, row.cached, row.bytes);
    if (first) main_versions.push_back(row);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    char folder[] = "/tmp/compile_bench-XXXXXX";
    if (mkdtemp(folder) == nullptr) throw std::runtime_error("no folder can be made in /tmp");
    setenv("WARPLOOM_CACHE_DIR", folder, 1);
    setenv("WARPLOOM_CACHE", "1", 1);
    std::vector<Row> rows;
    fmt::print("{:40} {:>6} {:8} {:>7} {:>7} {:>7} {:>8} {:>8} {:>6} {:>8} {:>7} {:>8}\n", "kernel", "instrs",
               "version", "build", "plan", "emit", "passes", "code", "link", "sum ms", "cached", "object");
    for (int i = 1; i < argc; ++i) {
      auto module = ptx::parse(text_of(argv[i]), argv[i]);
      if (!module) throw std::runtime_error(module.error().to_string());
      for (const ptx::Function& f : (*module)->functions)
        if (f.is_entry && f.has_body) measure(*module, f, rows);
    }
    std::vector<double> middle, cached;
    for (const Row& r : rows)
      if (r.instructions >= 100 && r.instructions <= 250) {
        middle.push_back(r.emit + r.passes + r.code + r.link);
        cached.push_back(r.cached);
      }
    if (!middle.empty())
      fmt::print("\n{} kernels of 100 to 250 instructions: median {:.1f} ms, from the cache {:.2f} ms\n", middle.size(),
                 median(middle), median(cached));
    std::filesystem::remove_all(folder);
    return 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 1;
  }
}

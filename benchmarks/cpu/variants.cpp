// Warploom, PoCL, the plain loop and OpenBLAS as variants of a case.
#include "variants.hpp"

#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "loops.hpp"
#include "memory.hpp"
#ifdef BENCH_OPENCL
#include "opencl.hpp"
#endif
#ifdef BENCH_OPENBLAS
#include <cblas.h>
#endif

namespace warploom::bench {
namespace {

#ifdef BENCH_OPENCL
std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The OpenCL twin of a case, on memory of the CPU device.
class Twin {
 public:
  Twin(cl_program program, const Memory& memory)
      : kernel_(program, memory.description().twin.c_str()),
        grid_{memory.description().grid.x, memory.description().grid.y},
        block_{memory.description().block.x, memory.description().block.y} {
    const std::vector<CaseArgument>& arguments = memory.description().arguments;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      const CaseArgument& argument = arguments[i];
      if (argument.is_buffer()) {
        buffers_.push_back(std::make_unique<ClBuffer>(memory.pointers()[i], argument.count * sizeof(Word)));
        kernel_.argument(i, buffers_.back()->memory());
      } else if (argument.kind == CaseArgument::Kind::integer) {
        kernel_.argument(i, argument.integer);
      } else {
        kernel_.argument(i, argument.real);
      }
    }
  }
  void run() const { kernel_.launch(grid_, block_); }

 private:
  ClKernel kernel_;
  std::size_t grid_[2], block_[2];
  std::vector<std::unique_ptr<ClBuffer>> buffers_;
};
#endif

std::function<void()> launches(const Module& module, const Memory& memory) {
  const Case& c = memory.description();
  return [kernel = module.kernel(c.name), config = LaunchConfig{c.grid, c.block}, arguments = memory.arguments(),
          device = memory.device()] {
    kernel.launch_with(config, arguments);
    device.synchronize();
  };
}

// A device with its modules, each compiled once.
class Sources {
 public:
  explicit Sources(Device device) : device_(std::move(device)) {}
  const Device& device() const { return device_; }
  const Module& module(const Case& c) {
    const auto it = modules_.find(c.source);
    if (it != modules_.end()) return it->second;
    return modules_.emplace(c.source, device_.compile_file(BENCH_PROJECT "/" + c.source)).first->second;
  }

 private:
  Device device_;
  std::map<std::string, Module> modules_;
};

// A device whose launches are counted; its report goes nowhere, since the process ends without one.
Device observed_device(unsigned threads) {
  setenv("WARPLOOM_OBSERVE", "explain", 1);
  Device device = Device::open("cpu", {.threads = threads});
  unsetenv("WARPLOOM_OBSERVE");
  return device;
}

}  // namespace

struct Bench::State {
  State(unsigned thread_count, const Peers& chosen)
      : threads(thread_count), peers(chosen), plain(Device::open("cpu", {.threads = thread_count})) {}

  unsigned threads;
  Peers peers;
  Sources plain;
  std::optional<Sources> observed, one_thread, unoptimised;
#ifdef BENCH_OPENCL
  std::map<std::string, cl_program> programs;

  cl_program twins(const Case& c) {
    const auto it = programs.find(c.twins);
    if (it != programs.end()) return it->second;
    return programs[c.twins] = OpenCl::instance().build(read_file(BENCH_PROJECT "/" + c.twins));
  }
#endif
};

Bench::Bench(unsigned threads, const Peers& peers) : state_(std::make_unique<State>(threads, peers)) {
  if (peers.explain && threads == 1) state_->observed.emplace(observed_device(threads));
  if (peers.unoptimised && threads == 1)
    state_->unoptimised.emplace(Device::open("cpu", {.threads = threads, .unoptimised = true}));
  if (threads > 1) state_->one_thread.emplace(Device::open("cpu", {.threads = 1}));
  loops::set_threads(static_cast<int>(threads));
#ifdef BENCH_OPENBLAS
  openblas_set_num_threads(static_cast<int>(threads));
#endif
}

Bench::~Bench() = default;

Measured Bench::measure(const Case& c, const Rounds& rounds) {
  const Peers& peers = state_->peers;
  // Device memory is host memory here, and nothing runs when another implementation's turn comes, so all share it.
  Memory memory(state_->plain.device(), c);
  std::optional<Memory> observed, one_thread;
  const Pointers& p = memory.pointers();
  Measured measured{.threads = state_->threads};
  std::vector<Variant>& variants = measured.variants;
  const auto add = [&](const char* name, std::function<void()> run) { variants.push_back({name, std::move(run)}); };
  add("warploom", launches(state_->plain.module(c), memory));
  if (peers.openmp && c.loop != nullptr) add("openmp", [&] { c.loop(p); });
#ifdef BENCH_OPENCL
  std::optional<Twin> twin;
  if (peers.pocl && !c.twin.empty() && OpenCl::instance().available()) {
    twin.emplace(state_->twins(c), memory);
    add("pocl", [&] { twin->run(); });
  }
#endif
#ifdef BENCH_OPENBLAS
  if (peers.blas && c.sgemm) {
    const int n = c.arguments.back().integer;
    add("blas", [&p, n] {
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, static_cast<const float*>(p[0]), n,
                  static_cast<const float*>(p[1]), n, 0, static_cast<float*>(p[2]), n);
    });
  }
#endif
  if (state_->observed) {
    observed.emplace(state_->observed->device(), c);
    add("explain", launches(state_->observed->module(c), *observed));
  }
  if (state_->one_thread && c.loop != nullptr) {
    one_thread.emplace(state_->one_thread->device(), c);
    add("one_thread", launches(state_->one_thread->module(c), *one_thread));
  }

  // The plain loop is the judge of the others; where there is none, Warploom is.
  Results reference, optimised;
  if (c.loop != nullptr) {
    c.loop(p);
    reference = memory.results();
    measured.operations = c.operations;
    if (c.per_result != 0)
      for (const Word word : reference[0]) measured.operations += c.per_result * word;
  }
  for (Variant& variant : variants) {
    Memory& own = variant.name == "explain" ? *observed : variant.name == "one_thread" ? *one_thread : memory;
    own.reset_results();
    try {
      variant.run();
    } catch (const std::exception& error) {
      variant.error = error.what();
      continue;
    }
    const Results results = own.results();
    if (variant.name == "warploom") optimised = results;
    if (reference.empty()) reference = results;
    variant.difference = difference(c, reference, results);
    if (variant.difference <= c.tolerance) continue;
    std::ostringstream text;
    text << "computes something else: off by " << variant.difference << ", allowed are " << c.tolerance;
    variant.error = text.str();
  }
  if (state_->unoptimised && c.loop != nullptr) {
    Memory own(state_->unoptimised->device(), c);
    launches(state_->unoptimised->module(c), own)();
    measured.equals_unoptimised = own.results() == optimised;
  }
  // What runs at first makes do with an interpreter while better code is compiled, which is measured elsewhere.
  wait_until_idle();
  for (Variant& variant : variants)
    if (variant.error.empty() && variant.name != "pocl" && variant.name != "blas") variant.run();
  wait_until_idle();
  take_turns(variants, rounds);
  return measured;
}

}  // namespace warploom::bench

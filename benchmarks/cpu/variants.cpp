// Warploom, PoCL, the plain loop and OpenBLAS as variants of a case.
#include "variants.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <numeric>
#include <optional>
#include <sstream>

#include "loops.hpp"
#ifdef BENCH_OPENCL
#include "opencl.hpp"
#endif
#ifdef BENCH_OPENBLAS
#include <cblas.h>
#endif

namespace warploom::bench {
namespace {

using Word = std::uint32_t;
using Array = DeviceArray<Word>;
using Results = std::vector<std::vector<Word>>;

std::vector<Word> contents(const CaseArgument& argument, Word seed) {
  std::vector<Word> words(argument.count);
  if (argument.kind == CaseArgument::Kind::output_floats || argument.kind == CaseArgument::Kind::output_words)
    return words;
  for (Word& word : words) {
    seed = seed * 1664525u + 1013904223u;
    word = seed >> 8;
    if (argument.has_floats()) word = std::bit_cast<Word>(static_cast<float>(word) * 0x1p-23f - 1.0f);
  }
  return words;
}

// Buffers of a case on one device.
class Memory {
 public:
  Memory(const Device& device, const Case& c) : case_(c), device_(device), pointers_(c.arguments.size()) {
    for (std::size_t i = 0; i < pointers_.size(); ++i) {
      arrays_.emplace_back();
      if (!c.arguments[i].is_buffer()) continue;
      arrays_.back().emplace(device, c.arguments[i].count);
      pointers_[i] = arrays_.back()->data();
      fill(i);
    }
  }
  void reset_results() {
    for (std::size_t i = 0; i < pointers_.size(); ++i)
      if (case_.arguments[i].is_result()) fill(i);
  }
  [[nodiscard]] Results results() const {
    Results results(pointers_.size());
    for (std::size_t i = 0; i < pointers_.size(); ++i)
      if (case_.arguments[i].is_result()) results[i] = arrays_[i]->to_vector();
    return results;
  }
  [[nodiscard]] const Pointers& pointers() const { return pointers_; }
  [[nodiscard]] const Case& description() const { return case_; }
  [[nodiscard]] const Device& device() const { return device_; }
  [[nodiscard]] std::vector<Argument> arguments() const {
    std::vector<Argument> list;
    for (std::size_t i = 0; i < pointers_.size(); ++i) {
      const CaseArgument& argument = case_.arguments[i];
      if (argument.is_buffer())
        list.push_back({&pointers_[i], sizeof(void*), &arrays_[i]->memory()});
      else if (argument.kind == CaseArgument::Kind::integer)
        list.push_back({&argument.integer, sizeof(int)});
      else
        list.push_back({&argument.real, sizeof(float)});
    }
    return list;
  }

 private:
  void fill(std::size_t i) {
    const std::vector<Word> words = contents(case_.arguments[i], static_cast<Word>(12345 + i));
    arrays_[i]->copy_from(words);
  }
  const Case& case_;
  Device device_;
  std::vector<std::optional<Array>> arrays_;
  Pointers pointers_;
};

// The largest difference of two results in units of the tolerance that the case allows; 1 is the limit.
double difference(const Case& c, const Results& reference, const Results& other) {
  double worst = 0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const std::vector<Word>&a = reference[i], &b = other[i];
    if (a.empty()) continue;
    if (!c.arguments[i].has_floats()) {
      const auto same = std::inner_product(a.begin(), a.end(), b.begin(), std::size_t{0}, std::plus<>(),
                                           [](Word x, Word y) { return x == y ? 1u : 0u; });
      const double share = 1 - static_cast<double>(same) / static_cast<double>(a.size());
      worst = std::max(worst, share);
      continue;
    }
    double squares = 0;
    for (const Word word : a) squares += std::pow(std::bit_cast<float>(word), 2);
    const double scale = std::sqrt(squares / static_cast<double>(a.size()));
    for (std::size_t k = 0; k < a.size(); ++k) {
      const double x = std::bit_cast<float>(a[k]), y = std::bit_cast<float>(b[k]);
      const double relative = std::abs(x - y) / (std::abs(x) + scale);
      worst = relative <= worst ? worst : std::isnan(relative) ? INFINITY : relative;
    }
  }
  return worst;
}

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

std::function<void()> warploom_run(const Module& module, const Memory& memory) {
  const Case& c = memory.description();
  return [kernel = module.kernel(c.name), config = LaunchConfig{c.grid, c.block}, arguments = memory.arguments(),
          device = memory.device()] {
    kernel.launch_with(config, arguments);
    device.synchronize();
  };
}

// A device whose launches are counted; its report goes nowhere, since the process ends without one.
Device observed_device(unsigned threads) {
  setenv("WARPLOOM_OBSERVE", "explain", 1);
  Device device = Device::open("cpu", {.threads = threads});
  unsetenv("WARPLOOM_OBSERVE");
  return device;
}

}  // namespace

struct Bench::State {
  Peers peers;
  Device device;
  Module module;
  std::optional<Device> observed;
  std::optional<Module> observed_module;
#ifdef BENCH_OPENCL
  cl_program program = nullptr;
#endif
};

Bench::Bench(unsigned threads, const Peers& peers) {
  const Device device = Device::open("cpu", {.threads = threads});
  const Module module = device.compile_file(BENCH_SOURCES "/kernels.cu");
  state_ = std::make_unique<State>(State{peers, device, module, {}, {}, {}});
  if (peers.explain) {
    state_->observed = observed_device(threads);
    state_->observed_module = state_->observed->compile_file(BENCH_SOURCES "/kernels.cu");
  }
  loops::set_threads(static_cast<int>(threads));
#ifdef BENCH_OPENCL
  if (peers.pocl && OpenCl::instance().available())
    state_->program = OpenCl::instance().build(read_file(BENCH_SOURCES "/kernels.cl"));
#endif
#ifdef BENCH_OPENBLAS
  openblas_set_num_threads(static_cast<int>(threads));
#endif
}

Bench::~Bench() = default;

std::vector<Variant> Bench::measure(const Case& c, const Rounds& rounds) {
  const Peers& peers = state_->peers;
  // Device memory is host memory here, and nothing runs when another implementation's turn comes, so all share it.
  Memory memory(state_->device, c);
  const Pointers& p = memory.pointers();
  std::vector<Variant> variants;
  const auto add = [&](const char* name, std::function<void()> run) { variants.push_back({name, std::move(run)}); };
  add("warploom", warploom_run(state_->module, memory));
  if (peers.openmp) add("openmp", [&] { c.loop(p); });
#ifdef BENCH_OPENCL
  std::optional<Twin> twin;
  if (state_->program != nullptr) {
    twin.emplace(state_->program, memory);
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
  std::optional<Memory> observed;
  if (state_->observed) {
    observed.emplace(*state_->observed, c);
    add("explain", warploom_run(*state_->observed_module, *observed));
  }

  // The plain loop is the judge of the others; without it Warploom is.
  c.loop(p);
  const Results reference = memory.results();
  for (Variant& variant : variants) {
    Memory& own = variant.name == "explain" ? *observed : memory;
    own.reset_results();
    try {
      variant.run();
    } catch (const std::exception& error) {
      variant.error = error.what();
      continue;
    }
    variant.difference = difference(c, reference, own.results());
    const double allowed = std::max(c.tolerance, c.differing);
    if (!(variant.difference <= allowed)) {
      std::ostringstream text;
      text << "computes something else: off by " << variant.difference << ", allowed are " << allowed;
      variant.error = text.str();
    }
  }
  take_turns(variants, rounds);
  return variants;
}

}  // namespace warploom::bench

// Benchmarks of the CPU device: each kernel of the lessons against its OpenCL twin on PoCL, one-core rates, the cost of
// explain, the first launch. After Google Benchmark's table stands a second one: what is expected, what was measured.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "workload.hpp"

namespace warploom::bench {
namespace {

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

const Device& all_cores() {
  static const Device device = Device::open("cpu");
  return device;
}

const Device& one_core() {
  static const Device device = Device::open("cpu", {.threads = 1});
  return device;
}

void set_rates(benchmark::State& state, const Case& c) {
  if (c.fma > 0) state.counters["GFMA/s"] = {c.fma * 1e-9, benchmark::Counter::kIsIterationInvariantRate};
  if (c.bytes > 0) state.counters["GB/s"] = {c.bytes * 1e-9, benchmark::Counter::kIsIterationInvariantRate};
}

// The best time of one iteration of each benchmark, in seconds: what the table of expectations compares, since other
// work on the machine can only add time.
std::map<std::string, double>& best_times() {
  static std::map<std::string, double> times;
  return times;
}

double best_of(const std::string& name) {
  const auto it = best_times().find(name);
  return it == best_times().end() ? 0 : it->second;
}

void measure(benchmark::State& state, const std::string& name, const std::function<void()>& work) {
  for ([[maybe_unused]] auto iteration : state) {
    const double seconds = seconds_of(work);
    state.SetIterationTime(seconds);
    const auto [it, fresh] = best_times().try_emplace(name, seconds);
    if (!fresh) it->second = std::min(it->second, seconds);
  }
}

void run_warploom(benchmark::State& state, const std::string& name, const Device& device, const Case& c) {
  try {
    const Workload workload(device, c);
    workload.run();  // compiles
    measure(state, name, [&] { workload.run(); });
    set_rates(state, c);
  } catch (const Error& error) {
    state.SkipWithError(error.message().c_str());
  }
}

void run_pocl(benchmark::State& state, const std::string& name, const Case& c) {
  if (!OpenCl::instance().available()) {
    state.SkipWithError("[SKIP] PoCL is not installed");
    return;
  }
  const Twin twin(c);
  twin.run();
  // A twin that computes something else is no yardstick.
  try {
    const Workload workload(all_cores(), c);
    workload.run();
    if (const std::string text = difference(c, workload.buffers(), twin.buffers()); !text.empty()) {
      state.SkipWithError(text.c_str());
      return;
    }
  } catch (const Error& error) {
    state.SkipWithError(error.message().c_str());
    return;
  }
  measure(state, name, [&] { twin.run(); });
  set_rates(state, c);
}

void run_plain_loop(benchmark::State& state, const std::string& name, const Case& c) {
  const std::size_t n = c.arguments[0].count;
  std::vector<float> a(n, 1.0f), b(n, 2.0f), sum(n);
  measure(state, name, [&] {
    for (std::size_t i = 0; i < n; ++i) sum[i] = a[i] + b[i];
    benchmark::DoNotOptimize(sum.data());
    benchmark::ClobberMemory();
  });
  set_rates(state, c);
}

// The first launch on a fresh device, whose cache is empty: PTX to machine code, and one small launch.
void run_first_launch(benchmark::State& state, const std::string& name, const Case& c) {
  Case small = c;
  small.grid = {1, 1};
  try {
    std::unique_ptr<Device> device;
    std::unique_ptr<Workload> workload;
    for ([[maybe_unused]] auto iteration : state) {
      workload.reset();
      device = std::make_unique<Device>(Device::open("cpu"));
      workload = std::make_unique<Workload>(*device, small);
      const double seconds = seconds_of([&] { workload->run(); });
      state.SetIterationTime(seconds);
      const auto [it, fresh] = best_times().try_emplace(name, seconds);
      if (!fresh) it->second = std::min(it->second, seconds);
    }
  } catch (const Error& error) {
    state.SkipWithError(error.message().c_str());
  }
}

const Case& find_case(const std::string& kernel) {
  for (const Case& c : cases())
    if (c.kernel == kernel) return c;
  std::abort();
}

const Case& matmul_1024() {
  static const Case big = [] {
    Case c = find_case("matmul_tiled<16>");
    constexpr std::size_t count = 1024 * 1024;
    for (CaseArgument& argument : c.arguments) {
      if (argument.is_buffer()) argument.count = count;
      if (argument.kind == CaseArgument::Kind::integer) argument.integer = 1024;
    }
    c.grid = {64, 64};
    c.fma = 1024.0 * 1024 * 1024;
    return c;
  }();
  return big;
}

// Best of five launches of every case, one line each, in this process; see times_under_explain().
int write_times(const char* path) {
  std::ofstream out(path);
  for (const Case& c : cases()) {
    try {
      const Workload workload(all_cores(), c);
      workload.run();
      double best = 1e30;
      for (int i = 0; i < 5; ++i) best = std::min(best, seconds_of([&] { workload.run(); }));
      out << c.kernel << '\t' << best << '\n';
    } catch (const Error& error) {
      std::fprintf(stderr, "%s: %s\n", c.kernel.c_str(), error.what());
    }
  }
  return 0;
}

// The same in a child process whose device is observed, so that its report does not mix with this one's output.
std::map<std::string, double> times_under_explain(const std::string& program) {
  const std::string path = program + ".times";
  const std::string command = "WARPLOOM_OBSERVE=explain '" + program + "' --times '" + path + "' >/dev/null 2>&1";
  std::map<std::string, double> times;
  if (std::system(command.c_str()) != 0) return times;
  std::ifstream in(path);
  std::string kernel;
  double seconds = 0;
  while (std::getline(in, kernel, '\t') && in >> seconds) {
    times[kernel] = seconds;
    in.ignore(1);
  }
  return times;
}

void row(const std::string& what, const char* expected, double got, const char* unit, bool met) {
  std::printf("%-52s %-16s %9.2f %-8s %s\n", what.c_str(), expected, got, unit, met ? "met" : "MISSED");
}

void print_expectations(const std::string& program) {
  std::printf("\n%-52s %-16s %18s\n", "expectation", "wanted", "measured");
  if (const double s = best_of("one_core/matmul_tiled_1024"); s > 0) {
    const double rate = matmul_1024().fma / s * 1e-9;
    row("tiled 16 x 16 matmul, 1024, one core", ">= 8 GFMA/s", rate, "GFMA/s", rate >= 8);
  }
  const double loop = best_of("one_core/vector_add/plain_loop");
  if (const double s = best_of("one_core/vector_add/warploom"); s > 0 && loop > 0)
    row("vector add against a plain loop, one core", "<= 1.2 x", s / loop, "x", s <= 1.2 * loop);
  if (const double s = best_of("first_launch/matmul_tiled"); s > 0)
    row("first launch of the tiled matmul", "< 150 ms", s * 1e3, "ms", s < 0.150);
  for (const Case& c : cases()) {
    const double ours = best_of("warploom/" + c.kernel), theirs = best_of("pocl/" + c.kernel);
    if (ours > 0 && theirs > 0) row(c.kernel + " against PoCL", "> 1 x faster", theirs / ours, "x", theirs > ours);
  }
  const std::map<std::string, double> observed = times_under_explain(program);
  for (const Case& c : cases()) {
    const double run = best_of("warploom/" + c.kernel);
    const auto it = observed.find(c.kernel);
    if (run > 0 && it != observed.end())
      row(c.kernel + " under explain", "<= 3 x run", it->second / run, "x", it->second <= 3 * run);
  }
}

void add(const std::string& name, const std::function<void(benchmark::State&, const std::string&)>& function) {
  benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) { function(state, name); })
      ->Unit(benchmark::kMillisecond)
      ->UseManualTime();
}

void register_benchmarks() {
  using State = benchmark::State;
  using Name = const std::string&;
  add("one_core/matmul_tiled_1024", [](State& s, Name name) { run_warploom(s, name, one_core(), matmul_1024()); });
  add("one_core/vector_add/plain_loop", [](State& s, Name name) { run_plain_loop(s, name, find_case("vector_add")); });
  add("one_core/vector_add/warploom",
      [](State& s, Name name) { run_warploom(s, name, one_core(), find_case("vector_add")); });
  add("first_launch/matmul_tiled",
      [](State& s, Name name) { run_first_launch(s, name, find_case("matmul_tiled<16>")); });
  for (const Case& c : cases()) {
    add("warploom/" + c.kernel, [&c](State& s, Name name) { run_warploom(s, name, all_cores(), c); });
    add("pocl/" + c.kernel, [&c](State& s, Name name) { run_pocl(s, name, c); });
  }
}

}  // namespace
}  // namespace warploom::bench

int main(int argc, char** argv) {
  using namespace warploom::bench;
  if (argc == 3 && std::string(argv[1]) == "--times") return write_times(argv[2]);
  register_benchmarks();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  print_expectations(argv[0]);
  return 0;
}

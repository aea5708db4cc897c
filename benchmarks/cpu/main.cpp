// The benchmark of the CPU device, `make bench`: each kernel beside its OpenCL twin on PoCL, a plain OpenMP loop and
// OpenBLAS.
#include <CLI/CLI.hpp>

#include <cstdio>
#include <cstdlib>
#include <regex>
#include <string>
#include <unistd.h>

#include "cases.hpp"
#include "measure.hpp"
#include "variants.hpp"

namespace warploom::bench {
namespace {

struct Options {
  std::string only = ".*";
  bool ours = false;
  unsigned threads = 1;
  int repeat = 25;
  double seconds = 2;
};

// Environment that the other runtimes read when they are loaded; sets it and starts over.
void set_environment(char** argv, unsigned threads) {
  if (std::getenv("WARPLOOM_BENCH_CHILD") != nullptr) return;
  const std::string count = std::to_string(threads);
  setenv("WARPLOOM_BENCH_CHILD", "1", 1);
  setenv("POCL_MAX_PTHREAD_COUNT", count.c_str(), 1);
  setenv("OMP_NUM_THREADS", count.c_str(), 1);
  setenv("OPENBLAS_NUM_THREADS", count.c_str(), 1);
  setenv("OMP_WAIT_POLICY", "passive", 1);
  setenv("KMP_BLOCKTIME", "0", 1);
  execv("/proc/self/exe", argv);
}

int run(const Options& options) {
  const Peers peers = options.ours ? Peers{false, false, false, false} : Peers{};
  Bench bench(options.threads, peers);
  const std::regex only(options.only);
  for (const Case& c : cases()) {
    if (!std::regex_search(c.name, only)) continue;
    const std::vector<Variant> variants =
        bench.measure(c, {.seconds = options.seconds, .least = std::min(3, options.repeat), .most = options.repeat});
    std::printf("%-18s", c.name.c_str());
    for (const Variant& variant : variants) {
      if (!variant.error.empty()) {
        std::printf("  %s: %s", variant.name.c_str(), variant.error.c_str());
        continue;
      }
      const std::vector<double>& own = options.threads == 1 ? variant.cpu : variant.wall;
      const std::vector<double>& ours = options.threads == 1 ? variants[0].cpu : variants[0].wall;
      std::printf("  %s %8.2f ms", variant.name.c_str(), 1e3 * median(own));
      if (&variant == &variants[0] || ours.empty()) continue;
      std::vector<double> ratios;
      for (std::size_t i = 0; i < own.size(); ++i) ratios.push_back(own[i] / ours[i]);
      std::printf(" (%.2f x)", median(ratios));
    }
    std::printf("\n");
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace warploom::bench

int main(int argc, char** argv) {
  using namespace warploom::bench;
  Options options;
  CLI::App app("Measures the CPU device beside other ways to use a CPU.");
  app.add_option("--only", options.only, "kernels whose name contains this regular expression");
  app.add_flag("--ours", options.ours, "only Warploom");
  app.add_option("--threads", options.threads, "threads of every implementation");
  app.add_option("--repeat", options.repeat, "rounds at most")->check(CLI::PositiveNumber);
  app.add_option("--seconds", options.seconds, "rounds for each kernel until this time has passed");
  CLI11_PARSE(app, argc, argv);
  set_environment(argv, options.threads);
  std::fflush(stdout);
  int code = 1;
  try {
    code = run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cpu_bench: %s\n", error.what());
  }
  std::fflush(nullptr);
  _exit(code);  // without the report of the observed device
}

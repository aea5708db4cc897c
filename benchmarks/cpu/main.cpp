// The benchmark of the CPU device, `make bench`: each kernel beside its OpenCL twin on PoCL, a plain OpenMP loop and
// OpenBLAS. Every number of threads is measured by a process of its own, whose environment says it to all libraries.
#include <CLI/CLI.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "cases.hpp"
#include "limits.hpp"
#include "measure.hpp"
#include "report.hpp"
#include "startup.hpp"
#include "variants.hpp"

namespace warploom::bench {
namespace {

using Json = nlohmann::json;

struct Options {
  std::string only = ".*";
  bool ours = false;
  bool lessons = false;
  unsigned threads = 0;
  int repeat = 25;
  double seconds = 3;
  std::string json_file{};
  std::string table_file{};
  std::string child{};  // what this process measures, for the one that started it
  std::string out{};
};

Json to_json(const Case& c, const Measured& measured) {
  const bool one = measured.threads == 1;
  Json variants = Json::object();
  const Variant& ours = measured.variants.front();
  for (const Variant& variant : measured.variants) {
    Json& entry = variants[variant.name];
    if (!variant.error.empty()) {
      entry["error"] = variant.error;
      continue;
    }
    const std::vector<double>& own = one ? variant.cpu : variant.wall;
    entry["ms"] = 1e3 * median(own);
    entry["cpu_ms"] = 1e3 * median(variant.cpu);
    entry["wall_ms"] = 1e3 * median(variant.wall);
    entry["rounds"] = own.size();
    entry["difference"] = variant.difference;
    if (&variant == &ours || !ours.error.empty()) continue;
    std::vector<double> ratios;
    for (std::size_t i = 0; i < own.size(); ++i) ratios.push_back(own[i] / (one ? ours.cpu : ours.wall)[i]);
    entry["ratio"] = median(ratios);
  }
  constexpr std::array<const char*, 3> traffic = {"read", "copy", "add"};
  Json kernel = {{"name", c.name},
                 {"threads", measured.threads},
                 {"variants", variants},
                 {"operations", measured.operations},
                 {"bytes", c.bytes},
                 {"traffic", traffic[static_cast<std::size_t>(c.traffic)]},
                 {"compute_bound", c.sgemm || (measured.operations > 0 && c.bytes == 0)}};
  if (measured.equals_unoptimised) kernel["equals_unoptimised"] = *measured.equals_unoptimised;
  return kernel;
}

Json measure_kernels(const Options& options, const std::vector<Case>& cases) {
  Peers peers;
  if (options.ours) peers = {false, false, false, false, false};
  Bench bench(options.threads, peers);
  const std::regex only(options.only);
  const Rounds rounds{.seconds = options.seconds, .least = std::min(3, options.repeat), .most = options.repeat};
  Json kernels = Json::array();
  for (const Case& c : cases) {
    if (!std::regex_search(c.name, only)) continue;
    kernels.push_back(to_json(c, bench.measure(c, rounds)));
    std::fputs(kernel_line(kernels.back()).c_str(), stdout);
    std::fflush(stdout);
  }
  return kernels;
}

Json run_child(const Options& options) {
  if (options.child == "kernels" || options.child == "units" || options.child == "lessons") {
    Json run = {{"threads", options.threads}};
    if (options.child != "lessons" && !options.ours) {
      const Limits limits = measure_limits(options.threads);
      run["limits"] = {{"read", limits.read}, {"copy", limits.copy}, {"add", limits.add}, {"fma", limits.fma}};
    }
    run["kernels"] = measure_kernels(options, options.child == "kernels" ? cases()
                                              : options.child == "units" ? units()
                                                                         : lessons());
    return run;
  }
  if (options.child == "first") {
    Json launches = Json::array();
    for (const FirstLaunch& launch : measure_first_launches(options.only))
      launches.push_back({{"kernel", launch.kernel}, {"instructions", launch.instructions}, {"ms", launch.ms}});
    return launches;
  }
  const LaunchCost cost = measure_launches(options.threads);
  return {{"threads", options.threads},  {"queued_us", cost.queued_us},         {"row_us", cost.row_us},
          {"waited_us", cost.waited_us}, {"graph_node_us", cost.graph_node_us}, {"grown_bytes", cost.grown_bytes}};
}

// Starts this program again for one measurement; null when that failed.
class Children {
 public:
  explicit Children(const Options& options) : options_(options) {
    std::string name = (std::filesystem::temp_directory_path() / "warploom-bench-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a folder for results");
    folder_ = name;
  }
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;
  ~Children() {
    std::error_code error;
    std::filesystem::remove_all(folder_, error);
  }
  [[nodiscard]] std::string cache_folder() const { return (folder_ / "cache").string(); }

  Json run(const std::string& what, unsigned threads, const std::map<std::string, std::string>& environment = {}) {
    const std::string out = (folder_ / "out.json").string(), count = std::to_string(threads);
    std::filesystem::remove(out);
    std::vector<std::string> arguments = {"cpu_bench",
                                          "--child",
                                          what,
                                          "--out",
                                          out,
                                          "--only",
                                          options_.only,
                                          "--threads",
                                          count,
                                          "--repeat",
                                          std::to_string(options_.repeat),
                                          "--seconds",
                                          std::to_string(options_.seconds)};
    if (options_.ours) arguments.emplace_back("--ours");
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      for (const char* name : {"POCL_MAX_PTHREAD_COUNT", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"})
        setenv(name, count.c_str(), 1);
      // Threads that have nothing to do sleep, or they would take the time of the next implementation.
      setenv("OMP_WAIT_POLICY", "passive", 1);
      setenv("KMP_BLOCKTIME", "0", 1);
      for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
      std::vector<char*> pointers;
      for (std::string& argument : arguments) pointers.push_back(argument.data());
      pointers.push_back(nullptr);
      execv("/proc/self/exe", pointers.data());
      _exit(127);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
      std::fprintf(stderr, "cpu_bench: measuring %s on %u threads failed\n", what.c_str(), threads);
      failed_ = true;
      return {};
    }
    std::ifstream file(out);
    return Json::parse(file);
  }
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  const Options& options_;
  std::filesystem::path folder_;
  bool failed_ = false;
};

// First launches by several processes: the median of each kernel.
Json first_launches(Children& children, unsigned threads, const std::map<std::string, std::string>& environment) {
  constexpr int processes = 3;
  Json all;
  std::map<std::string, std::vector<double>> times;
  for (int i = 0; i < processes; ++i) {
    const Json launches = children.run("first", threads, environment);
    if (launches.is_null()) return {};
    for (const Json& launch : launches) times[launch["kernel"]].push_back(launch["ms"]);
    all = launches;
  }
  for (Json& launch : all) launch["ms"] = median(times[launch["kernel"]]);
  return all;
}

int run_all(const Options& options) {
  Children children(options);
  std::vector<unsigned> counts = {1, 2};
  if (options.threads != 0) counts = {options.threads};
  if (options.threads == 0 && std::thread::hardware_concurrency() < 2) counts = {1};
  Json results = {{"runs", Json::array()}};
  const auto keep = [](Json& list, Json entry) {
    if (!entry.is_null()) list.push_back(std::move(entry));
  };
  for (const unsigned threads : counts) {
    std::printf("%u thread%s\n", threads, threads == 1 ? "" : "s");
    keep(results["runs"], children.run("kernels", threads));
  }
  std::printf("kernels with matrix instructions and textures\n");
  if (Json run = children.run("units", counts[0]); !run.is_null()) results["units"] = std::move(run);
  if (options.lessons) {
    std::printf("kernels of the examples\n");
    if (Json lessons = children.run("lessons", counts[0]); !lessons.is_null()) results["lessons"] = std::move(lessons);
  }
  if (!options.ours) {
    const std::map<std::string, std::string> off = {{"WARPLOOM_CACHE", "0"}},
                                             compiled = {{"WARPLOOM_CACHE", "0"}, {"WARPLOOM_TIER", "compiled"}};
    const std::map<std::string, std::string> on = {{"WARPLOOM_CACHE", "1"},
                                                   {"WARPLOOM_CACHE_DIR", children.cache_folder()}};
    Json cold = first_launches(children, counts[0], off);
    Json optimised = first_launches(children, counts[0], compiled);
    // A process that waits for its compiler leaves all that the next one needs.
    std::map<std::string, std::string> filling = on;
    filling["WARPLOOM_TIER"] = "compiled";
    children.run("first", counts[0], filling);
    Json cached = first_launches(children, counts[0], on);
    if (!cold.is_null() && !optimised.is_null() && !cached.is_null())
      results["first_launches"] = {
          {"cold", std::move(cold)}, {"optimised", std::move(optimised)}, {"cached", std::move(cached)}};
    results["launches"] = Json::array();
    for (const unsigned threads : counts) keep(results["launches"], children.run("launches", threads));
  }
  const std::string tables = report(results);
  std::printf("\n%s", tables.c_str());
  const auto write = [](const std::string& path, const std::string& text) {
    if (path.empty()) return true;
    std::ofstream file(path);
    if (file << text && file.flush()) return true;
    std::fprintf(stderr, "cpu_bench: cannot write \"%s\"\n", path.c_str());
    return false;
  };
  const bool written = write(options.json_file, results.dump(1) + "\n") && write(options.table_file, tables);
  return written && !children.failed() ? 0 : 1;
}

int run(const Options& options) {
  try {
    if (options.child.empty()) return run_all(options);
    const Json result = run_child(options);
    std::ofstream file(options.out);
    return file << result ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cpu_bench: %s\n", error.what());
    return 1;
  }
}

}  // namespace
}  // namespace warploom::bench

int main(int argc, char** argv) {
  using namespace warploom::bench;
  Options options;
  CLI::App app("Measures the CPU device beside other ways to use a CPU.");
  app.add_option("--only", options.only, "kernels whose name contains this regular expression");
  app.add_flag("--ours", options.ours, "only Warploom, and only kernels");
  app.add_flag("--lessons", options.lessons, "the kernels of the examples too");
  app.add_option("--threads", options.threads, "threads of every implementation; default: 1, then 2");
  app.add_option("--repeat", options.repeat, "rounds at most")->check(CLI::PositiveNumber);
  app.add_option("--seconds", options.seconds, "rounds for each kernel until this time has passed");
  app.add_option("--json", options.json_file, "also write the results to this file");
  app.add_option("--table", options.table_file, "also write the tables to this file");
  app.add_option("--child", options.child)->group("");
  app.add_option("--out", options.out)->group("");
  CLI11_PARSE(app, argc, argv);
  const int code = run(options);
  std::fflush(nullptr);
  _exit(code);  // without the report of an observed device
}

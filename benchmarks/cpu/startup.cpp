// First launches and empty launches.
#include "startup.hpp"

#include <fstream>
#include <regex>
#include <sstream>
#include <unistd.h>

#include "cases.hpp"
#include "measure.hpp"
#include "memory.hpp"

namespace warploom::bench {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Statements in the bodies of the kernels of a PTX module that are no directives, by kernel.
std::vector<std::pair<std::string, int>> instructions(const std::string& ptx) {
  std::vector<std::pair<std::string, int>> counts;
  std::istringstream lines(ptx);
  const std::regex entry("\\.entry\\s+(\\w+)");
  for (std::string line; std::getline(lines, line);) {
    if (std::smatch match; std::regex_search(line, match, entry)) counts.emplace_back(match[1], 0);
    const std::size_t first = line.find_first_not_of(" \t{");
    if (counts.empty() || first == std::string::npos || line.find(';') == std::string::npos) continue;
    if (line[first] != '.' && line[first] != '/') ++counts.back().second;
  }
  return counts;
}

double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  double total = 0, resident = 0;
  file >> total >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

}  // namespace

std::vector<FirstLaunch> measure_first_launches(const std::string& only) {
  const std::string ptx = compile_to_ptx(read_file(BENCH_PROJECT "/benchmarks/cpu/kernels.cu"));
  const std::vector<std::pair<std::string, int>> counts = instructions(ptx);
  const std::regex wanted(only);
  {  // what LLVM prepares once for a process is no kernel's cost
    const Device device = Device::open();
    device.load_ptx(ptx).kernel("empty").launch({1, 32});
    device.synchronize();
  }
  std::vector<FirstLaunch> launches;
  for (const Case& c : cases()) {
    if (!std::regex_search(c.name, wanted)) continue;
    Case small = c;
    for (CaseArgument& argument : small.arguments) {
      if (argument.kind != CaseArgument::Kind::integer) continue;
      argument.integer = c.one_block;
      break;
    }
    const Device device = Device::open();
    const Module module = device.load_ptx(ptx);
    const Memory memory(device, small);
    const Kernel kernel = module.kernel(c.name);
    const double start = wall_seconds();
    kernel.launch_with({1, c.block}, memory.arguments());
    device.synchronize();
    FirstLaunch& launch = launches.emplace_back(FirstLaunch{c.name, 0, 1e3 * (wall_seconds() - start)});
    for (const auto& [name, count] : counts)
      if (name == kernel.name()) launch.instructions = count;
  }
  return launches;
}

LaunchCost measure_launches(unsigned threads) {
  const Device device = Device::open("cpu", {.threads = threads});
  const Kernel kernel = device.compile_file(BENCH_PROJECT "/benchmarks/cpu/kernels.cu").kernel("empty");
  const auto row = [&](int count, double& queued) {
    const double start = wall_seconds();
    for (int i = 0; i < count; ++i) kernel.launch({1, 32});
    queued = 1e6 * (wall_seconds() - start) / count;
    device.synchronize();
    return 1e6 * (wall_seconds() - start) / count;
  };
  LaunchCost cost;
  std::vector<double> queued, rows, waited;
  double call = 0;
  row(1000, call);
  for (int round = 0; round < 9; ++round) {
    rows.push_back(row(20000, call));
    queued.push_back(call);
    const double start = wall_seconds();
    constexpr int count = 1000;
    for (int i = 0; i < count; ++i) {
      kernel.launch({1, 32});
      device.synchronize();
    }
    waited.push_back(1e6 * (wall_seconds() - start) / count);
  }
  Graph graph(device);
  constexpr int nodes = 100;
  GraphNode last = graph.launch({}, kernel, {1, 32});
  for (int i = 1; i < nodes; ++i) last = graph.launch({last}, kernel, {1, 32});
  const GraphExec exec = graph.instantiate();
  std::vector<double> graphs;
  for (int round = 0; round < 100; ++round) {
    const double start = wall_seconds();
    exec.launch();
    device.synchronize();
    graphs.push_back(1e6 * (wall_seconds() - start) / nodes);
  }
  cost.graph_node_us = median(graphs);
  cost.queued_us = median(queued);
  cost.row_us = median(rows);
  cost.waited_us = median(waited);
  constexpr int many = 1000000;
  const double before = resident_bytes();
  for (int i = 0; i < 10; ++i) row(many / 10, call);
  cost.grown_bytes = (resident_bytes() - before) / many;
  return cost;
}

}  // namespace warploom::bench

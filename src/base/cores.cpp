// The affinity mask and the limits of control groups.
#include "base/cores.hpp"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <thread>

namespace warploom {
namespace {

// The share of processor time of the process's control group, in cores; 0 when there is no limit.
double processor_share() {
  std::ifstream groups("/proc/self/cgroup");
  double least = 0;
  for (std::string line; std::getline(groups, line);) {
    if (!line.starts_with("0::")) continue;
    // Limits of the groups around it hold too.
    for (std::string path = line.substr(3);; path.resize(path.rfind('/'))) {
      std::ifstream limit("/sys/fs/cgroup" + (path == "/" ? "" : path) + "/cpu.max");
      double quota = 0, period = 0;
      if (limit >> quota >> period && period > 0 && (least == 0 || quota / period < least)) least = quota / period;
      if (path.find('/') == std::string::npos) break;
    }
  }
  return least;
}

}  // namespace

unsigned usable_cores() {
  unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) cores = static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
  const double share = processor_share();
  return share > 0 ? std::min(cores, std::max(1U, static_cast<unsigned>(std::lround(share)))) : cores;
}

}  // namespace warploom

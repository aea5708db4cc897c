// Clocks and rounds.
#include "measure.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <thread>

namespace warploom::bench {
namespace {

double seconds_of(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

double wall_seconds() { return seconds_of(CLOCK_MONOTONIC); }
double cpu_seconds() { return seconds_of(CLOCK_PROCESS_CPUTIME_ID); }

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const std::size_t middle = values.size() / 2;
  std::sort(values.begin(), values.end());
  return values.size() % 2 != 0 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

void wait_until_idle() {
  constexpr int most = 200;
  for (int i = 0; i < most; ++i) {
    const double before = cpu_seconds();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (cpu_seconds() - before < 1e-3) return;
  }
}

void take_turns(std::vector<Variant>& variants, const Rounds& rounds) {
  const double start = wall_seconds();
  for (int round = 0; round < rounds.most; ++round) {
    if (round >= rounds.least && wall_seconds() - start > rounds.seconds) break;
    for (Variant& variant : variants) {
      if (!variant.error.empty()) continue;
      const double wall = wall_seconds(), cpu = cpu_seconds();
      variant.run();
      variant.cpu.push_back(cpu_seconds() - cpu);
      variant.wall.push_back(wall_seconds() - wall);
    }
  }
}

}  // namespace warploom::bench

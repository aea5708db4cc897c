// The commands that show what Warploom knows: `isa` and `devices`.
#include <cstdio>
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "warploom/about.hpp"
#include "warploom/device.hpp"

namespace warploom::cli {

int isa(const std::string& name, bool json) {
  if (json && name.empty()) {
    fmt::print("{}", instruction_table_json());
    return 0;
  }
  if (json) {
    std::fprintf(stderr, "warploom: --json prints the whole table; leave \"%s\" out\n", name.c_str());
    return kUsageError;
  }
  fmt::print("{}", instruction_text(name));
  return 0;
}

int devices() {
  for (const std::string& name : Device::names()) {
    if (name == "cpu") continue;
    const DeviceProperties p = Device::open(name).properties();
    fmt::print("{}: {}, compute capability {}.{}, {} SMs, {} GiB\n", name, p.name, p.compute_capability_major,
               p.compute_capability_minor, p.multiprocessors, p.total_memory >> 30);
  }
  fmt::print("cpu: this machine's CPU; it can model (--gpu NAME)\n\n");
  fmt::print("{:<10}{:<26}{:>8}{:>6}{:>14}{:>14}{:>12}\n", "name", "GPU", "compute", "SMs", "threads/SM",
             "shared/block", "memory");
  for (const std::string& name : Device::profiles()) {
    DeviceOptions options;
    options.profile = name;
    const DeviceProperties p = Device::open("cpu", options).properties();
    std::string title = p.name.substr(0, p.name.find(" (modelled"));
    fmt::print("{:<10}{:<26}{:>8}{:>6}{:>14}{:>10} KiB{:>8} GiB\n", name, title,
               fmt::format("{}.{}", p.compute_capability_major, p.compute_capability_minor), p.multiprocessors,
               p.max_threads_per_multiprocessor, p.max_shared_memory_per_block / 1024, p.total_memory >> 30);
  }
  return 0;
}

}  // namespace warploom::cli

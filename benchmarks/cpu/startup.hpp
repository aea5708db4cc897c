// What it costs to start: first launches of kernels, and launches of an empty kernel.
#pragma once

#include <string>
#include <vector>

namespace warploom::bench {

struct FirstLaunch {
  std::string kernel;
  int instructions = 0;  // in its PTX
  double ms = 0;         // the launch of one block to its end, by a process that has not launched the kernel before
};

struct LaunchCost {
  double queued_us = 0;      // the call, in a row of launches
  double row_us = 0;         // each launch of such a row, to the end of the last
  double waited_us = 0;      // a launch and waiting for it
  double graph_node_us = 0;  // each node of a graph of a hundred launches that is launched and waited for
  double grown_bytes = 0;    // memory of the process, for each launch of a million
};

/// Each kernel whose name contains the regular expression, on a fresh device.
std::vector<FirstLaunch> measure_first_launches(const std::string& only);
LaunchCost measure_launches(unsigned threads);

}  // namespace warploom::bench

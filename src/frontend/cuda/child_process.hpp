// Runs a compiler as a child process with its input and output in memory.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace warploom::frontend {

struct ChildResult {
  int status = 0;  // exit status; 128 + signal when a signal ended it
  std::string out, err;
};

// `argv[0]` is a path, or a name looked up in PATH. An error means that the program could not be started.
Result<ChildResult> run_child(const std::vector<std::string>& argv, std::string_view input);

}  // namespace warploom::frontend

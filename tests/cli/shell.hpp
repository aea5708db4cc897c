// Runs a command of the shell and keeps what it says.
#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <string>

namespace warploom::test {

struct Outcome {
  int code = -1;
  std::string text;  // standard output and error together
};

inline Outcome shell(const std::string& command) {
  Outcome outcome;
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return outcome;
  char buffer[4096];
  while (const std::size_t n = std::fread(buffer, 1, sizeof buffer, pipe)) outcome.text.append(buffer, n);
  const int status = pclose(pipe);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

}  // namespace warploom::test

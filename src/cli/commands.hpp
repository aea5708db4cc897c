// The commands of the command line; each returns the exit code of the process.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace warploom::cli {

// Exit codes of the tool itself; a program's own code is passed on.
constexpr int kUsageError = 2;
constexpr int kCannotRun = 127;

struct RunOptions {
  std::vector<std::string> command;
  unsigned threads = 0;
  bool deterministic = false;
  bool time = false;
  std::string time_json_file;
  std::string dump_folder;
  std::string dump_kernel;
  std::string gpu;
  std::string device;
};

struct ExplainOptions : RunOptions {
  std::string json_file;
  bool no_gpu = false;
  bool no_counters = false;
};

struct CacheOptions {
  std::string action;
  std::optional<std::uint64_t> megabytes;  // of `limit`
};

struct ScanOptions {
  std::string file;
  std::string gpu;
  bool json = false;
  bool brief = false;
};

int run(const RunOptions& options);
int explain(const ExplainOptions& options);
int isa(const std::string& name, bool json);
int devices();
int scan(const ScanOptions& options);
int cache(const CacheOptions& options);

// Runs a program to its end with variables added to the environment: its exit code, or 128 plus the signal that ended
// it. Says why when it cannot be started. A silent one gets no input, and what it prints is not seen.
int run_program(const std::vector<std::string>& command, const std::map<std::string, std::string>& environment,
                bool silent = false);

}  // namespace warploom::cli

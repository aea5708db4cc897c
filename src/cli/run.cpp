// The commands that start a program: `run` and `explain`.
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <unistd.h>

#include "cli/commands.hpp"
#include "warploom/device.hpp"

namespace warploom::cli {
namespace {

std::map<std::string, std::string> environment_of(const RunOptions& options) {
  std::map<std::string, std::string> environment;
  if (!options.device.empty()) environment["WARPLOOM_DEVICE"] = options.device;
  if (!options.gpu.empty()) environment["WARPLOOM_PROFILE"] = options.gpu;
  if (options.threads != 0) environment["WARPLOOM_THREADS"] = std::to_string(options.threads);
  if (options.deterministic) environment["WARPLOOM_DETERMINISTIC"] = "1";
  return environment;
}

// The file the program's library writes its report to; one of our own when the user did not ask for it.
class ReportFile {
 public:
  explicit ReportFile(const std::string& wanted) : kept_(!wanted.empty()) {
    if (kept_) {
      path_ = std::filesystem::absolute(wanted).string();
      std::ofstream file(path_, std::ios::trunc);
      if (!file) {
        std::fprintf(stderr, "warploom: cannot write \"%s\": %s\n", wanted.c_str(), std::strerror(errno));
        path_.clear();
      }
      return;
    }
    std::string name = (std::filesystem::temp_directory_path() / "warploom-report-XXXXXX").string();
    const int file = mkstemp(name.data());
    if (file < 0) return;
    close(file);
    path_ = name;
  }
  ReportFile(const ReportFile&) = delete;
  ReportFile& operator=(const ReportFile&) = delete;
  ~ReportFile() {
    if (!path_.empty() && (!kept_ || empty())) std::remove(path_.c_str());
  }

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] bool has_kernels() const {
    std::ifstream file(path_);
    const auto json = nlohmann::json::parse(file, nullptr, false);
    return json.is_object() && !json.value("kernels", nlohmann::json::array()).empty();
  }

 private:
  [[nodiscard]] bool empty() const {
    std::error_code error;
    return std::filesystem::file_size(path_, error) == 0 || error;
  }

  bool kept_;
  std::string path_;
};

// Kernels whose files were written to a folder since a time.
std::size_t dumps_since(const std::string& folder, std::filesystem::file_time_type start) {
  std::size_t count = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const auto written = std::filesystem::last_write_time(entry.path() / "kernel.ptx", error);
    if (!error && written >= start) ++count;
  }
  return count;
}

}  // namespace

int run(const RunOptions& options) {
  if (options.command.empty()) return run_program({}, {});
  auto environment = environment_of(options);
  std::optional<ReportFile> times;
  if (options.time || !options.time_json_file.empty()) {
    times.emplace(options.time_json_file);
    if (times->path().empty()) return 1;
    environment["WARPLOOM_OBSERVE"] = "time";
    environment["WARPLOOM_TIMES_JSON"] = times->path();
  }
  // Time stamps of files are coarse.
  const auto before = std::filesystem::file_time_type::clock::now() - std::chrono::milliseconds(20);
  if (!options.dump_folder.empty()) {
    std::error_code error;
    std::filesystem::create_directories(options.dump_folder, error);
    if (error) {
      std::fprintf(stderr, "warploom: cannot make \"%s\": %s\n", options.dump_folder.c_str(), error.message().c_str());
      return 1;
    }
    environment["WARPLOOM_DUMP"] = std::filesystem::absolute(options.dump_folder).string();
    if (!options.dump_kernel.empty()) environment["WARPLOOM_DUMP_KERNEL"] = options.dump_kernel;
  }
  const auto start = std::chrono::steady_clock::now();
  const int code = run_program(options.command, environment);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  if (code == kCannotRun) return code;
  if (!options.dump_folder.empty()) {
    const std::size_t count = dumps_since(options.dump_folder, before);
    const std::string named = options.dump_kernel.empty() ? "" : " named \"" + options.dump_kernel + "\"";
    if (count == 0)
      std::fprintf(stderr, "warploom: nothing dumped, because the program launched no kernel%s through Warploom\n",
                   named.c_str());
    else
      std::fprintf(stderr, "warploom: %zu kernel%s dumped to \"%s\"\n", count, count == 1 ? "" : "s",
                   options.dump_folder.c_str());
  }
  if (times) {
    if (!times->has_kernels())
      std::fprintf(stderr,
                   "warploom: no kernel times, because the program launched no kernel through Warploom or ended "
                   "abnormally\n");
    std::fprintf(stderr, "warploom: the program ran for %.3f s\n", elapsed.count());
  }
  return code;
}

namespace {

// Runs the program on the GPU first, when there is one, and has its times shown beside the counts.
void time_on_gpu(const ExplainOptions& options, const ReportFile& times,
                 std::map<std::string, std::string>& environment) {
  const char* device = std::getenv("WARPLOOM_DEVICE");
  if (device != nullptr && std::strcmp(device, "cpu") == 0) return;
  std::fprintf(stderr, "warploom: running the program on the GPU first, without its output, to time kernels\n");
  std::map<std::string, std::string> there{
      {"WARPLOOM_DEVICE", device != nullptr && *device != '\0' ? device : "cuda:0"},
      {"WARPLOOM_OBSERVE", "gpu_time"},
      {"WARPLOOM_GPU_TIMES", times.path()}};
  if (options.no_counters) there["WARPLOOM_GPU_COUNTERS"] = "0";
  const int code = run_program(options.command, there, true);
  if (code != 0)
    std::fprintf(stderr,
                 "warploom: on the GPU the program ended with %d; `warploom run --device cuda:0 PROGRAM` shows why\n",
                 code);
  if (times.has_kernels())
    environment["WARPLOOM_GPU_TIMES"] = times.path();
  else
    std::fprintf(stderr, "warploom: no kernel was timed on the GPU\n");
}

}  // namespace

int explain(const ExplainOptions& options) {
  if (options.command.empty()) return run_program({}, {});
  const ReportFile report(options.json_file), times("");
  if (report.path().empty()) return 1;
  auto environment = environment_of(options);
  environment["WARPLOOM_OBSERVE"] = "explain";
  environment["WARPLOOM_REPORT_JSON"] = report.path();
  environment["WARPLOOM_GPU_TIMES"] = "";
  if (!options.no_gpu && !times.path().empty() && Device::names().size() > 1) time_on_gpu(options, times, environment);
  if (!environment["WARPLOOM_GPU_TIMES"].empty()) environment["WARPLOOM_DEVICE"] = "cpu";
  const int code = run_program(options.command, environment);
  if (code != kCannotRun && !report.has_kernels())
    std::fprintf(stderr,
                 "warploom: no report, because the program launched no kernel through Warploom or ended abnormally;\n"
                 "          explain needs a program that uses the Warploom library\n");
  return code;
}

}  // namespace warploom::cli

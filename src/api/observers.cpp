// Attaching of observers, and their reports at the end of the process.
#include "api/observers.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

#include "observe/explain/explain.hpp"
#include "report/report.hpp"
#include "report/times.hpp"

namespace warploom::api {
namespace {

// Lives until the process ends. It is made while the first device opens, so every Device that a program keeps in a
// static variable is closed, and its work done, before the reports are printed.
class Session {
 public:
  ~Session() {
    try {
      for (std::size_t i = 0; i < explains_.size(); ++i) report(*explains_[i], i);
      if (times_) report(*times_);
      if (gpu_times_) report(*gpu_times_);
    } catch (const std::exception& exception) {
      std::fprintf(stderr, "warploom: no report: %s\n", exception.what());
    }
  }

  // Devices of one profile share a report.
  std::shared_ptr<observe::explain::Explain> explain(const isa::GpuProfile& profile) {
    const std::lock_guard lock(mutex_);
    for (const auto& explain : explains_)
      if (explain->profile().name == profile.name) return explain;
    return explains_.emplace_back(std::make_shared<observe::explain::Explain>(profile));
  }

  // All devices share one.
  std::shared_ptr<observe::LaunchTimes> times() {
    const std::lock_guard lock(mutex_);
    // The list is for the JSON file, which is wanted whole; the text shows its first launches.
    if (!times_)
      times_ = std::make_shared<observe::LaunchTimes>(variable("WARPLOOM_TIMES_JSON") == nullptr ? 20 : SIZE_MAX);
    return times_;
  }

  // Of the first GPU.
  std::shared_ptr<observe::GpuTimes> gpu_times() {
    const std::lock_guard lock(mutex_);
    if (!gpu_times_) gpu_times_ = std::make_shared<observe::GpuTimes>();
    return gpu_times_;
  }

 private:
  // Null when it is empty too.
  static const char* variable(const char* name) {
    const char* text = std::getenv(name);
    return text == nullptr || *text == '\0' ? nullptr : text;
  }

  // To standard error, so that the program's output stays what it is.
  static void report(const observe::LaunchTimes& times) {
    const observe::LaunchTimes::Totals totals = times.totals();
    std::fflush(stdout);
    std::fputs(report::times_to_text(totals).c_str(), stderr);
    if (const char* path = variable("WARPLOOM_TIMES_JSON"); path != nullptr && totals.count != 0)
      write(path, report::times_to_json(totals));
  }

  static void report(const observe::GpuTimes& times) {
    const observe::GpuMeasurement measurement = times.measurement();
    if (const char* path = variable("WARPLOOM_GPU_TIMES"); path != nullptr && !measurement.kernels.empty())
      write(path, report::gpu_times_to_json(measurement));
  }

  static void report(const observe::explain::Explain& explain, std::size_t index) {
    report::Report report = report::make_report(explain);
    if (const char* path = variable("WARPLOOM_GPU_TIMES")) {
      std::ifstream file(path);
      report.gpu = report::gpu_times_from_json({std::istreambuf_iterator<char>(file), {}});
    }
    report::TextOptions options;
    options.colour = isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
    const std::string text = report::to_text(report, options);
    std::fflush(stdout);
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fflush(stdout);
    const char* path = variable("WARPLOOM_REPORT_JSON");
    if (path == nullptr) return;
    // A second profile gets a file of its own.
    write(index == 0 ? path : std::string(path) + "." + report.profile.name, report::to_json(report));
  }

  static void write(const std::string& path, const std::string& text) {
    std::FILE* file = std::fopen(path.c_str(), "w");
    const bool written = file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size();
    const bool closed = file != nullptr && std::fclose(file) == 0;
    if (!written || !closed)
      std::fprintf(stderr, "warploom: cannot write the report to \"%s\": %s\n", path.c_str(), std::strerror(errno));
  }

  std::mutex mutex_;
  std::vector<std::shared_ptr<observe::explain::Explain>> explains_;
  std::shared_ptr<observe::LaunchTimes> times_;
  std::shared_ptr<observe::GpuTimes> gpu_times_;
};

Session& session() {
  static Session instance;
  return instance;
}

}  // namespace

Result<std::shared_ptr<observe::LaunchLog>> attach_observers(device::Device& device) {
  std::shared_ptr<observe::LaunchLog> log;
  const char* variable = std::getenv("WARPLOOM_OBSERVE");
  std::string_view list = variable == nullptr ? std::string_view() : std::string_view(variable);
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view name = list.substr(0, comma);
    list.remove_prefix(std::min(comma + 1, list.size()));
    if (name == "explain") {
      device.add_observer(session().explain(device.profile()));
    } else if (name == "time") {
      log = session().times();
    } else if (name == "gpu_time") {
      device.set_gpu_times(session().gpu_times());
    } else if (!name.empty()) {
      Diag diag;
      diag.id = ErrorId::invalid_value;
      diag.what = "environment variable WARPLOOM_OBSERVE names the observer \"" + std::string(name) + "\"";
      diag.remedy = "the observers are: explain, time, gpu_time";
      return diag;
    }
  }
  return log;
}

}  // namespace warploom::api

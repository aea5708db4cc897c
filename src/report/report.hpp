// The report model and its printers: text for people, JSON for programs, both from the same data.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "isa/profile.hpp"
#include "observe/explain/explain.hpp"
#include "report/gpu.hpp"

namespace warploom::report {

struct Report {
  isa::GpuProfile profile;
  std::vector<observe::explain::KernelData> kernels;  // in the order of their first launch
  std::vector<observe::ManagedFacts> managed{};       // in the order in which they were made
  observe::ReleaseFacts releases{};                   // of all devices together
  std::optional<observe::GpuMeasurement> gpu{};       // of the same program on a GPU
};

Report make_report(const observe::explain::Explain& explain);

struct TextOptions {
  bool colour = false;
  unsigned width = 100;
};
std::string to_text(const Report& report, const TextOptions& options = {});

// The schema is described in docs/reference/report-json.md; `schema` grows when a field changes its meaning.
constexpr int kJsonSchema = 1;
std::string to_json(const Report& report);

// Lines of source files, read when first asked for; empty for a file that cannot be read.
class SourceText {
 public:
  [[nodiscard]] std::string line(const std::string& file, std::uint32_t number);

 private:
  std::map<std::string, std::vector<std::string>> files_;
};

}  // namespace warploom::report

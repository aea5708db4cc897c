// Both printers show the same model; text fits 100 columns and has no colour unless asked.
#include "report/report.hpp"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "kernel_builder.hpp"
#include "report/gpu.hpp"

namespace warploom::report {
namespace {

using isa::Space;
using observe::AccessKind;
using observe::explain::Explain;
using observe::explain::KernelBuilder;

Report example() {
  Explain explain(*isa::find_profile("h200"));
  KernelBuilder()
      .shared(4096)
      .access(7, Space::global, AccessKind::load, 32, 4)
      .access(8, Space::shared, AccessKind::load, 8, 1)
      .access(9, Space::global, AccessKind::store, 4, 4)
      .branch(6, 1000, 10)
      .run(explain);
  return make_report(explain);
}

TEST(TextReport, ShowsFiguresFindingsAndLines) {
  const std::string text = to_text(example());
  for (const char* expected :
       {"kernel kernel(float*)", "NVIDIA H200", "block 256 x 1 x 1 = 256 threads, 8 warps", "?16 a thread", "~100 %",
        "global load", "3,200,000", "32.00", "700,000", "2 findings", "kernel.cu:7: Global loads", "1,000 executed"})
    EXPECT_NE(text.find(expected), std::string::npos) << expected << "\n" << text;
}

TEST(TextReport, FitsTheWidthAndHasNoColour) {
  std::istringstream lines(to_text(example()));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
  EXPECT_EQ(to_text(example()).find('\033'), std::string::npos);
  EXPECT_NE(to_text(example(), {.colour = true}).find('\033'), std::string::npos);
}

TEST(TextReport, CleanKernelSaysSo) {
  Explain explain(*isa::find_profile("h200"));
  KernelBuilder().access(7, Space::global, AccessKind::load, 4, 4).run(explain);
  EXPECT_NE(to_text(make_report(explain)).find("nothing to change"), std::string::npos);
}

TEST(JsonReport, HoldsTheSameModel) {
  const auto json = nlohmann::json::parse(to_json(example()));
  EXPECT_EQ(json["schema"], kJsonSchema);
  EXPECT_EQ(json["profile"]["name"], "h200");
  const auto& kernel = json["kernels"][0];
  EXPECT_EQ(kernel["name"], "kernel(float*)");
  EXPECT_EQ(kernel["block"], nlohmann::json({256, 1, 1}));
  EXPECT_EQ(kernel["accesses"]["global_load"]["sectors"], 3200000);
  EXPECT_EQ(kernel["accesses"]["global_load"]["basis"], "exact");
  EXPECT_EQ(kernel["accesses"]["shared_load"]["bank_conflicts"], 700000);
  EXPECT_EQ(kernel["occupancy"]["basis"], "modelled");
  EXPECT_EQ(kernel["registers"]["basis"], "estimated");
  EXPECT_EQ(kernel["branches"]["divergent"], 10);
  ASSERT_EQ(kernel["lines"].size(), 4u);
  EXPECT_EQ(kernel["lines"][1]["line"], 7);
  EXPECT_EQ(kernel["lines"][1]["accesses"]["global_load"]["sectors_per_request"], 32.0);
  ASSERT_EQ(kernel["findings"].size(), 2u);
  EXPECT_EQ(kernel["findings"][0]["rule"], "uncoalesced");
  EXPECT_EQ(kernel["findings"][0]["line"], 7);
}

// Of one launch, and without what a GPU counts elsewhere.
TEST(GpuCounters, StandBesideWhatTheyCount) {
  using observe::explain::AccessGroup;
  observe::explain::KernelData kernel;
  kernel.launches = 2;
  const auto shared = static_cast<std::size_t>(AccessGroup::shared_store);
  const auto loads = static_cast<std::size_t>(AccessGroup::global_load);
  kernel.groups[shared].counts = {.requests = 50, .wavefronts = 100, .ideal_wavefronts = 60};
  kernel.elsewhere[shared].counts = {.requests = 10, .wavefronts = 40, .ideal_wavefronts = 40};
  kernel.groups[loads].counts = {.requests = 8, .sectors = 32};
  kernel.elsewhere[loads].counts = {.requests = 2, .sectors = 4};
  std::map<std::string, double> found;
  for (const observe::GpuCounterRow& row : observe::gpu_counter_rows())
    if (const auto here = counted(row, kernel)) found[row.id] = *here;
  EXPECT_EQ(found.at("shared_store_wavefronts"), 30);
  EXPECT_EQ(found.at("shared_store_conflicts"), 20);
  EXPECT_EQ(found.at("global_load_requests"), 3);
  EXPECT_EQ(found.at("global_load_sectors"), 14);
  EXPECT_EQ(found.count("l2_read_sectors"), 0u);
}

}  // namespace
}  // namespace warploom::report

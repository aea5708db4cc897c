// Times and hardware counters of a GPU in the report of explain, on stand-ins for the driver and CUPTI: what is
// measured, what is predicted, and that a launch which is repeated counts once.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "../cli/shell.hpp"
#include "report/gpu.hpp"

namespace {

using namespace warploom;
using test::Outcome;
using test::shell;

std::string temporary(const std::string& name) {
  return (std::filesystem::temp_directory_path() / (name + std::to_string(getpid()))).string();
}

nlohmann::json read(const std::string& path) {
  std::ifstream file(path);
  const auto json = nlohmann::json::parse(file, nullptr, false);
  std::filesystem::remove(path);
  return json;
}

// Without CUPTI.
Outcome with_driver(const std::string& command) {
  return shell("WARPLOOM_CUPTI=/nonexistent/libcupti.so WARPLOOM_CUDA_DRIVER=" STAND_IN_DRIVER " " + command);
}

Outcome with_cupti(const std::string& how, const std::string& command) {
  return shell("STAND_IN_CUPTI=" + how +
               " WARPLOOM_CUPTI=" STAND_IN_CUPTI " WARPLOOM_CUDA_DRIVER=" STAND_IN_DRIVER " " + command);
}

TEST(GpuTimes, ExplainShowsThemBesideItsCounts) {
  const std::string file = temporary("warploom-gpu-report-");
  const Outcome run = with_driver(WARPLOOM_CLI " explain --json " + file + " " WARPLOOM_PROGRAM);
  EXPECT_EQ(run.code, 0) << run.text;
  for (const char* text : {"Times on stand-in", "Hardware counters were not read: CUPTI cannot be loaded",
                           "(median of 7, warm); predicted ~"})
    EXPECT_NE(run.text.find(text), std::string::npos) << text << " is not in:\n" << run.text;
  const auto json = read(file);
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["gpu"]["name"], "stand-in");
  EXPECT_EQ(json["gpu"]["clock_hz"], 1.5e9);
  EXPECT_EQ(json["gpu"]["counters"]["read"], false);
  EXPECT_FALSE(json["gpu"]["counters"]["why_not"].get<std::string>().empty());
  ASSERT_EQ(json["kernels"].size(), 1U);
  const auto& gpu = json["kernels"][0]["gpu"];
  EXPECT_EQ(gpu["measured"]["runs"], 7);
  EXPECT_EQ(gpu["measured"]["warm"], true);
  EXPECT_LE(gpu["measured"]["fastest_seconds"].get<double>(), gpu["measured"]["median_seconds"].get<double>());
  EXPECT_GT(gpu["predicted"]["least_seconds"].get<double>(), 0);
  EXPECT_FALSE(gpu.contains("counters"));
}

TEST(GpuTimes, CountersStandBesideCounts) {
  const std::string file = temporary("warploom-gpu-report-");
  const Outcome run = with_cupti("reads", WARPLOOM_CLI " explain --json " + file + " " WARPLOOM_PROGRAM);
  EXPECT_EQ(run.code, 0) << run.text;
  EXPECT_EQ(run.text.find("counters were not read"), std::string::npos) << run.text;
  EXPECT_NE(run.text.find("counted here"), std::string::npos) << run.text;
  const auto json = read(file);
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["gpu"]["counters"]["read"], true);
  const auto& kernel = json["kernels"][0];
  const auto& counters = kernel["gpu"]["counters"];
  // The stand-in counts letters: an atomic's row is the sum of two metrics.
  const auto letters = [](const char* metric) { return static_cast<double>(std::string(metric).size()); };
  EXPECT_EQ(counters["warp_instructions"]["measured"], letters("smsp__inst_executed.sum"));
  EXPECT_EQ(counters["global_atomic_sectors"]["measured"],
            letters("l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum") +
                letters("l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum"));
  // What is counted here is that of one launch.
  const double launches = kernel["launches"].get<double>();
  for (const char* group : {"global_load", "global_store"})
    for (const char* what : {"requests", "sectors"}) {
      const auto& row = counters[std::string(group) + "_" + what];
      EXPECT_GT(row["counted"].get<double>(), 0) << group << what;
      EXPECT_EQ(row["counted"].get<double>() * launches, kernel["accesses"][group][what].get<double>())
          << group << what;
    }
  EXPECT_EQ(counters["warp_instructions"]["counted"].get<double>() * launches, kernel["instructions"]["warp"]);
  EXPECT_EQ(counters["active_warps_percent"]["counted"], kernel["occupancy"]["percent"]);
  EXPECT_FALSE(counters["memory_read_bytes"].contains("counted"));
}

TEST(GpuTimes, CountersThatAGpuLacksAreLeftOut) {
  const std::string file = temporary("warploom-gpu-report-");
  const Outcome run = with_cupti("lacks", WARPLOOM_CLI " explain --json " + file + " " WARPLOOM_PROGRAM);
  EXPECT_EQ(run.code, 0) << run.text;
  const auto json = read(file);
  ASSERT_TRUE(json.is_object());
  const auto& counters = json["kernels"][0]["gpu"]["counters"];
  EXPECT_TRUE(counters.contains("memory_read_bytes"));
  EXPECT_FALSE(counters.contains("l2_read_sectors"));
}

TEST(GpuTimes, CountersThatMayNotBeReadAreSaid) {
  const struct {
    const char *how, *options, *text;
  } cases[] = {
      {"denies", "", "hardware counters cannot be read: CUPTI reports CUPTI_ERROR_INSUFFICIENT_PRIVILEGES (35)"},
      {"fails", "", "a pass over the counters does not end"},
      {"reads", "--no-counters ", "they were not asked for"}};
  for (const auto& c : cases) {
    const Outcome run = with_cupti(c.how, std::string(WARPLOOM_CLI " explain ") + c.options + WARPLOOM_PROGRAM);
    EXPECT_EQ(run.code, 0) << run.text;
    EXPECT_NE(run.text.find("Hardware counters were not read: "), std::string::npos) << run.text;
    EXPECT_NE(run.text.find(c.text), std::string::npos) << run.text;
    EXPECT_NE(run.text.find("(median of 7, warm)"), std::string::npos) << run.text;
  }
}

TEST(GpuTimes, AreLeftOutWhenNobodyWantsThem) {
  for (const char* how : {WARPLOOM_CLI " explain --no-gpu " WARPLOOM_PROGRAM,
                          "WARPLOOM_DEVICE=cpu " WARPLOOM_CLI " explain " WARPLOOM_PROGRAM}) {
    const Outcome run = with_driver(how);
    EXPECT_EQ(run.code, 0) << run.text;
    EXPECT_EQ(run.text.find("GPU first"), std::string::npos) << run.text;
    EXPECT_EQ(run.text.find("on the GPU"), std::string::npos) << run.text;
  }
}

TEST(GpuTimes, AProgramThatFailsThereIsSaidAndExplained) {
  const Outcome run = with_driver(WARPLOOM_CLI " explain " WARPLOOM_PROGRAM " 3");
  EXPECT_EQ(run.code, 3) << run.text;
  EXPECT_NE(run.text.find("on the GPU the program ended with 3"), std::string::npos) << run.text;
  EXPECT_NE(run.text.find("kernel strided"), std::string::npos) << run.text;
}

// Tests of the device whose kernels change what they read.
TEST(GpuTimes, ARepeatedLaunchCountsOnce) {
  for (const char* how : {"reads", "denies", "fails"}) {
    const std::string file = temporary("warploom-gpu-times-");
    const Outcome run = with_cupti(how, "WARPLOOM_OBSERVE=gpu_time WARPLOOM_GPU_TIMES=" + file +
                                            " " DEVICE_TEST " --gtest_filter='Cuda.AKernelRunsOnArraysAndVariables'");
    EXPECT_EQ(run.code, 0) << run.text;
    const auto json = read(file);
    ASSERT_TRUE(json.is_object());
    ASSERT_EQ(json["kernels"].size(), 1U);
    EXPECT_EQ(json["kernels"][0]["kernel"], "scale");
    EXPECT_GE(json["kernels"][0]["seconds"].size(), 8U);  // seven of the first launch, and the others
    EXPECT_TRUE(json["kernels"][0]["warm"]);
    EXPECT_EQ(json["kernels"][0]["counters"].empty(), std::string(how) != "reads");
  }
}

TEST(GpuTimes, APredictionIsTheBusiestPart) {
  observe::explain::KernelData k;
  k.launches = 2;
  k.grid = {4, 1, 1};
  k.block = {32, 1, 1};
  k.warp_instructions = 8000;
  const observe::GpuFacts gpu{"some", 13000, 10, 1e9, 1e9};
  // Four blocks keep four multiprocessors busy: 8000 / 2 launches / 4 / (4 a cycle).
  auto p = report::predict(gpu, k);
  ASSERT_TRUE(p);
  EXPECT_DOUBLE_EQ(p->least, 250e-9);
  EXPECT_STREQ(p->limiter, "instructions");
  EXPECT_DOUBLE_EQ(p->uncached, p->least);
  k.groups[static_cast<std::size_t>(observe::explain::AccessGroup::shared_load)].counts.wavefronts = 4000;
  k.groups[static_cast<std::size_t>(observe::explain::AccessGroup::global_load)].counts.sectors = 1000;
  p = report::predict(gpu, k);
  EXPECT_DOUBLE_EQ(p->least, 500e-9);
  EXPECT_STREQ(p->limiter, "shared memory");
  EXPECT_DOUBLE_EQ(p->uncached, 500 * 32e-9);
  EXPECT_FALSE(report::predict({"none", 0, 0, 0, 0}, k));
}

TEST(GpuTimes, ABrokenFileIsNoMeasurement) {
  EXPECT_FALSE(report::gpu_times_from_json(""));
  EXPECT_FALSE(report::gpu_times_from_json("{\"kernels\": 3}"));
  observe::GpuMeasurement m{
      {"some", 13000, 10, 1e9, 2e9}, {{"k", {1, 2, 3}, {4, 5, 6}, 7, {3, 1, 2}, true, {{"m", 8}}}}, "why"};
  const auto back = report::gpu_times_from_json(report::gpu_times_to_json(m));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->gpu.name, "some");
  EXPECT_EQ(back->kernels.at(0).median(), 2);
  EXPECT_EQ(back->kernels.at(0).counters.at("m"), 8);
  EXPECT_EQ(back->why_no_counters, "why");
}

}  // namespace

// The command line: help, errors, exit codes, and a report of a program that runs under it.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "shell.hpp"

namespace {

using warploom::test::Outcome;
using warploom::test::shell;

Outcome warploom(const std::string& arguments) { return shell(std::string(WARPLOOM_CLI) + " " + arguments); }

testing::AssertionResult holds(const Outcome& outcome, const std::string& text) {
  if (outcome.text.find(text) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "no \"" << text << "\" in:\n" << outcome.text;
}

std::string temporary(const std::string& name) {
  return (std::filesystem::temp_directory_path() / (name + std::to_string(getpid()))).string();
}

TEST(CommandLine, HelpNamesTheCommands) {
  const Outcome help = warploom("--help");
  EXPECT_EQ(help.code, 0);
  for (const char* command : {"explain", "run", "scan", "isa", "devices", "cache"}) EXPECT_TRUE(holds(help, command));
  const Outcome explain = warploom("explain --help");
  EXPECT_EQ(explain.code, 0);
  EXPECT_TRUE(holds(explain, "warploom explain [OPTIONS] PROGRAM [ARGUMENTS...]"));
  EXPECT_TRUE(holds(explain, "--json"));
}

TEST(CommandLine, VersionIsPrinted) {
  EXPECT_EQ(warploom("--version").code, 0);
  EXPECT_TRUE(holds(warploom("--version"), "warploom 0."));
}

TEST(CommandLine, UsageErrors) {
  EXPECT_EQ(warploom("").code, 2);
  EXPECT_EQ(warploom("weave").code, 2);
  EXPECT_EQ(warploom("run").code, 2);
  EXPECT_TRUE(holds(warploom("run"), "no program given"));
  const Outcome gpu = warploom("explain --gpu h201 true");
  EXPECT_EQ(gpu.code, 2);
  EXPECT_TRUE(holds(gpu, "h200"));
}

TEST(CommandLine, PassesArgumentsAndExitCodesOn) {
  const Outcome echo = warploom("run sh -c 'echo \"$@\"; exit 7' name --json --threads 3");
  EXPECT_EQ(echo.code, 7);
  EXPECT_TRUE(holds(echo, "--json --threads 3"));
  const Outcome killed = warploom("run sh -c 'kill -9 $$'");
  EXPECT_EQ(killed.code, 137);
  EXPECT_TRUE(holds(killed, "signal 9"));
  const Outcome missing = warploom("run /no/such/program");
  EXPECT_EQ(missing.code, 127);
  EXPECT_TRUE(holds(missing, "cannot run \"/no/such/program\": No such file"));
}

TEST(Time, PrintsWhatLaunchesAndKernelsTook) {
  const std::string file = temporary("times.json");
  const Outcome outcome = warploom("run --time-json " + file + " " WARPLOOM_PROGRAM " 3");
  EXPECT_EQ(outcome.code, 3);
  for (const char* text : {"compile ms", "launch of", "strided(float const*, float*, int)", "100.0 %", "ran for"})
    EXPECT_TRUE(holds(outcome, text));
  std::ifstream in(file);
  const auto json = nlohmann::json::parse(in);
  EXPECT_EQ(json["schema"], "warploom-times-1");
  ASSERT_EQ(json["kernels"].size(), 1u);
  EXPECT_EQ(json["kernels"][0]["launches"], 1);
  ASSERT_EQ(json["launches"].size(), 1u);
  const auto& launch = json["launches"][0];
  EXPECT_EQ(launch["kernel"], "strided(float const*, float*, int)");
  EXPECT_EQ(launch["grid"], (nlohmann::json{4, 1, 1}));
  EXPECT_EQ(launch["block"], (nlohmann::json{256, 1, 1}));
  EXPECT_EQ(launch["start_ms"], 0);
  EXPECT_EQ(launch["failed"], false);
  EXPECT_GT(launch["compile_ms"], 0);
  EXPECT_EQ(launch["ms"], json["kernels"][0]["total_ms"]);
  std::filesystem::remove(file);
}

TEST(Time, SaysWhenThereIsNothingToTime) {
  const Outcome outcome = warploom("run --time true");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_TRUE(holds(outcome, "launched no kernel"));
  EXPECT_TRUE(holds(outcome, "ran for"));
  EXPECT_EQ(warploom("run --time-json /no/such/folder/file true").code, 1);
  EXPECT_TRUE(holds(shell("WARPLOOM_OBSERVE=clock " WARPLOOM_PROGRAM), "the observers are: explain, time"));
}

TEST(CommandLine, CacheIsListedBoundedAndCleared) {
  const std::string folder = temporary("warploom-cli-cache");
  const auto cache = [&](const std::string& arguments) {
    return shell("WARPLOOM_CACHE=1 WARPLOOM_CACHE_DIR=" + folder + " " + WARPLOOM_CLI + " " + arguments);
  };
  EXPECT_EQ(cache("cache path").text, folder + "\n");
  EXPECT_TRUE(holds(cache("cache size"), "0 files"));
  EXPECT_TRUE(cache("cache list").text.empty());
  EXPECT_EQ(cache("cache limit").text, "1024.0 MiB\n");
  // Reports need the code that counts, which is compiled to the end before the program ends.
  const auto report = [&] {
    const Outcome o = cache(std::string("explain ") + WARPLOOM_PROGRAM);
    EXPECT_EQ(o.code, 0) << o.text;
    return o;
  };
  EXPECT_TRUE(holds(report(), "strided"));
  const Outcome list = cache("cache list");
  EXPECT_TRUE(holds(list, "strided(float const*, float*, int) block counting"));
  EXPECT_TRUE(holds(cache("cache size"), "kernels"));
  // The same counts from the cache.
  const auto without_times = [](std::string text) {
    std::string out;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      const std::string line = text.substr(at, end - at);
      if (line.find(" ms") == std::string::npos && line.find(" us") == std::string::npos) out += line + "\n";
      at = end + 1;
    }
    return out;
  };
  EXPECT_EQ(without_times(report().text), without_times(report().text));
  EXPECT_TRUE(holds(cache("cache limit 5"), "at most 5.0 MiB"));
  EXPECT_EQ(cache("cache limit").text, "5.0 MiB\n");
  EXPECT_TRUE(holds(cache("cache clear"), "freed"));
  EXPECT_TRUE(cache("cache list").text.empty());
  EXPECT_EQ(cache("cache").code, 2);
  EXPECT_EQ(cache("cache burn").code, 2);
  EXPECT_EQ(cache("cache limit -3").code, 2);
  std::filesystem::remove_all(folder);
}

TEST(CommandLine, InstructionTable) {
  EXPECT_TRUE(holds(warploom("isa add"), "add two values"));
  EXPECT_TRUE(holds(warploom("isa"), "cvt"));
  const Outcome missing = warploom("isa nope");
  EXPECT_EQ(missing.code, 1);
  EXPECT_TRUE(holds(missing, "not_found"));
  const auto json = nlohmann::json::parse(warploom("isa --json").text);
  ASSERT_TRUE(json.is_array());
  EXPECT_GT(json.size(), 50u);
}

TEST(CommandLine, DevicesListsTheProfiles) {
  const Outcome devices = warploom("devices");
  EXPECT_EQ(devices.code, 0);
  for (const char* name : {"cpu", "h200", "NVIDIA H200", "a100", "227 KiB", "132"}) EXPECT_TRUE(holds(devices, name));
}

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

testing::AssertionResult file_holds(const std::filesystem::path& file, const std::string& text) {
  const std::string all = text_of(file);
  if (all.find(text) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "no \"" << text << "\" in " << file << ":\n" << all;
}

TEST(Dump, WritesEveryStageOfAKernel) {
  const std::filesystem::path folder = temporary("dump");
  const Outcome outcome = warploom("run --dump " + folder.string() + " --kernel strided " WARPLOOM_PROGRAM " 4");
  EXPECT_EQ(outcome.code, 4);
  EXPECT_TRUE(holds(outcome, "1 kernel dumped to"));
  const std::filesystem::path kernel = folder / "strided.block_x";
  EXPECT_TRUE(file_holds(kernel / "kernel.ptx", ".visible .entry _Z7stridedPKfPfi("));
  EXPECT_TRUE(file_holds(kernel / "1-blocks.ir", "block 0:"));
  EXPECT_TRUE(file_holds(kernel / "2-webs.ir", "ld.global"));
  EXPECT_TRUE(file_holds(kernel / "4-shapes.ir", "base + (0, 1, ... 31)"));
  EXPECT_TRUE(file_holds(kernel / "4-shapes.ir", ": varying"));
  for (const char* mode : {"block", "uniform", "masked", "conservative"}) {
    EXPECT_TRUE(file_holds(kernel / (std::string(mode) + ".ll"), "define"));
    EXPECT_TRUE(file_holds(kernel / (std::string(mode) + ".optimised.ll"), "define"));
    EXPECT_TRUE(file_holds(kernel / (std::string(mode) + ".s"), "ret"));
  }
  std::filesystem::remove_all(folder);
}

TEST(Dump, SaysWhenThereIsNothingToDump) {
  const std::filesystem::path folder = temporary("no_dump");
  const Outcome other = warploom("run --dump " + folder.string() + " --kernel other " WARPLOOM_PROGRAM);
  EXPECT_EQ(other.code, 0);
  EXPECT_TRUE(holds(other, "launched no kernel named \"other\""));
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::remove_all(folder);
  EXPECT_TRUE(holds(warploom("run --dump /proc/nothing true"), "cannot make \"/proc/nothing\""));
  EXPECT_EQ(warploom("run --kernel strided true").code, 2);
}

TEST(Explain, PrintsAReportAndWritesJson) {
  const std::string file = temporary("explain.json");
  const Outcome outcome = warploom("explain --gpu a100 --threads 1 --json " + file + " " WARPLOOM_PROGRAM " 5");
  EXPECT_EQ(outcome.code, 5);
  for (const char* text : {"strided(float const*, float*, int)", "NVIDIA A100", "block 256 x 1 x 1", "global load",
                           "32.00", "strided.cu:4: Global loads need 32.0 sectors per request where 4.0 would do"})
    EXPECT_TRUE(holds(outcome, text));
  std::ifstream in(file);
  const auto json = nlohmann::json::parse(in);
  EXPECT_EQ(json["profile"]["name"], "a100");
  ASSERT_EQ(json["kernels"].size(), 1u);
  const auto& accesses = json["kernels"][0]["accesses"];
  EXPECT_EQ(accesses["global_load"]["requests"], 32);
  EXPECT_EQ(accesses["global_load"]["sectors"], 1024);
  EXPECT_EQ(accesses["global_store"]["sectors"], 128);
  std::filesystem::remove(file);
}

TEST(Explain, SaysWhenThereIsNothingToReport) {
  const std::string file = temporary("nothing.json");
  const Outcome outcome = warploom("explain --json " + file + " true");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_TRUE(holds(outcome, "launched no kernel"));
  EXPECT_FALSE(std::filesystem::exists(file));
  const Outcome unwritable = warploom("explain --json /no/such/folder/file true");
  EXPECT_EQ(unwritable.code, 1);
  EXPECT_TRUE(holds(unwritable, "cannot write \"/no/such/folder/file\""));
}

TEST(Run, RunsWithoutAReport) {
  const Outcome outcome = warploom("run " WARPLOOM_PROGRAM);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.text, "");
}

}  // namespace

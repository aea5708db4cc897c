// The mnemonics of real programs: parser and verifier take all of them, and the CPU device compiles and interprets a
// kernel for each that it is said to run.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <vector>

#include "expand.hpp"
#include "on_device.hpp"
#include "ptx/decode.hpp"

namespace warploom::test {
namespace {

constexpr int kModules = 994;

struct Mnemonic {
  std::string tier, text;
  int modules = 0;      // that use it
  bool runs = false;    // no form of it is called unsupported
  std::string example;  // the instruction with operands
};

// What of programs a mnemonic belongs to, in the order in which support was built up: the last steps are what few
// programs use.
std::string step_of(const std::string& m) {
  const auto begins = [&](std::initializer_list<const char*> all) {
    return std::any_of(all.begin(), all.end(), [&](const char* p) { return m.starts_with(p); });
  };
  if (begins({"wgmma", "setmaxnreg", "stmatrix"})) return "6 wgmma, stmatrix";
  if (begins({"cp.async.bulk", "cp.reduce", "prefetch.tensormap"})) return "5 bulk copies";
  if (begins({"mbarrier", "barrier.cluster", "elect", "mapa", "fence.proxy", "fence.mbarrier", "cp.async.mbarrier"}))
    return "4 mbarrier, clusters";
  if (begins({"wmma"})) return "3 wmma";
  if (begins({"mma", "ldmatrix", "movmatrix"})) return "2 mma";
  if (begins({"cp.async"})) return "1 cp.async";
  if (begins({"tex", "tld4", "suld", "sust", "sured", "txq", "suq"})) return "1 textures";
  return "0 general";
}

std::vector<Mnemonic> read_census() {
  std::vector<Mnemonic> all;
  std::ifstream in(std::string(WARPLOOM_TEST_DATA) + "/census.txt");
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    Mnemonic m;
    words >> m.tier >> m.text >> m.modules;
    ptx::Decoded decoded;
    ptx::Complaint why;
    if (!ptx::decode(m.text, decoded, why)) {
      ADD_FAILURE() << m.text << ": " << why.what;
      continue;
    }
    m.runs = decoded.forms[0]->emit != "unsupported";
    m.example = instruction_of(*decoded.row, *decoded.forms[0], decoded.mods, {decoded.types, decoded.type_count});
    all.push_back(std::move(m));
  }
  return all;
}

const std::vector<Mnemonic>& census() {
  static const std::vector<Mnemonic> all = read_census();
  return all;
}

TEST(Census, ParserAndVerifierTakeEveryMnemonic) {
  ASSERT_EQ(census().size(), 973u);
  for (const Mnemonic& m : census()) {
    auto module = ptx::parse(module_of({m.example}));
    ASSERT_TRUE(module.ok()) << m.text;
    auto body = ptx::parse_body(**module, *(*module)->find_function("kernel"));
    EXPECT_TRUE(body.ok()) << m.text << " as " << m.example << "\n" << body.error().to_string();
  }
}

TEST(Census, DeviceCompilesAndInterpretsWhatItIsSaidToRun) {
  for (const char* tier : {"compiled", "interpreter"}) {
    setenv("WARPLOOM_TIER", tier, 1);
    const Device device = Device::open("cpu", {.threads = 1, .unoptimised = true});
    for (const Mnemonic& m : census()) {
      const std::string error = device_error(device, m.example);
      EXPECT_EQ(error.empty(), m.runs) << tier << ": " << m.text << " as " << m.example << "\n" << error;
    }
  }
}

// The least share of the modules that can be covered, given what is missing: of a step no more modules are lost than
// use it, and no more than use its missing mnemonics.
double covered(const std::map<std::string, int>& lost) {
  const std::map<std::string, double> users = {
      {"0 general", 100}, {"1 textures", 3.4},           {"1 cp.async", 3.9},    {"2 mma", 4.8},
      {"3 wmma", 1.2},    {"4 mbarrier, clusters", 2.4}, {"5 bulk copies", 1.8}, {"6 wgmma, stmatrix", 2.2}};
  double share = 100;
  for (const auto& [step, modules] : lost) share -= std::min(users.at(step), 100.0 * modules / kModules);
  return share;
}

TEST(Census, Figures) {
  struct Count {
    int all = 0, run = 0;
  };
  std::map<std::string, Count> tiers, steps;
  std::map<std::string, int> lost;
  for (const Mnemonic& m : census()) {
    const std::string step = step_of(m.text);
    ++tiers[m.tier].all, ++steps[step].all;
    tiers[m.tier].run += m.runs, steps[step].run += m.runs;
    if (!m.runs) lost[step] += m.modules;
    if (!m.runs) std::printf("not run: %s (%d modules)\n", m.text.c_str(), m.modules);
  }
  for (const auto& [name, c] : tiers) std::printf("tier %-2s: %d of %d mnemonics run\n", name.c_str(), c.run, c.all);
  for (const auto& [name, c] : steps) std::printf("%-20s: %d of %d mnemonics run\n", name.c_str(), c.run, c.all);
  std::printf("at least %.1f %% of %d modules are covered\n", covered(lost), kModules);
  ASSERT_EQ(tiers.size(), 5u);
  // Floors; they only rise.
  EXPECT_GE(tiers["1"].run, 487);
  EXPECT_GE(tiers["2"].run, 118);
  EXPECT_GE(tiers["2+"].run, 213);
  EXPECT_EQ(tiers["3"].run, tiers["3"].all);
  EXPECT_GE(tiers["4"].run, 41);
  EXPECT_GE(covered(lost), 95.9);
}

}  // namespace
}  // namespace warploom::test

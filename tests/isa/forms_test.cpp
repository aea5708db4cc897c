// Checks the instruction table against itself and, where ptxas is installed, against ptxas.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "../pattern.hpp"
#include "expand.hpp"
#include "ptx/module.hpp"

namespace warploom::test {
namespace {

constexpr std::size_t kCap = 120;  // combinations of one form

struct Ledger {
  // Mnemonics, or instructions with '*' for any part, on which the table and ptxas differ on purpose.
  std::vector<std::pair<std::string, std::string>> entries;

  Ledger() {
    std::ifstream in(std::string(WARPLOOM_TEST_DATA) + "/ledger.txt");
    for (std::string line; std::getline(in, line);) {
      if (line.empty() || line[0] == '#') continue;
      const auto bar = line.find(" | ");
      entries.emplace_back(line.substr(0, bar), bar == std::string::npos ? "" : line.substr(bar + 3));
    }
  }
  [[nodiscard]] bool excuses(const std::string& instruction) const {
    for (const auto& [pattern, reason] : entries) {
      if (!(pattern.find('*') != std::string::npos ? fits_pattern(pattern, instruction)
                                                   : instruction.substr(0, instruction.find_first_of(" ;")) == pattern))
        continue;
      return true;
    }
    return false;
  }
};

std::string ptxas() {
  for (const char* candidate :
       {static_cast<const char*>(std::getenv("PTXAS")), "/usr/local/cuda/bin/ptxas", "/usr/bin/ptxas"})
    if (candidate != nullptr && access(candidate, X_OK) == 0) return candidate;
  return "";
}

// What ptxas says about some instructions: the message for each that it rejects.
class Judge {
 public:
  std::map<std::size_t, std::string> rejected;

  explicit Judge(const std::vector<std::string>& instructions)
      : folder_(std::filesystem::temp_directory_path() / ("warploom-forms-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
    // ptxas judges in phases and leaves later ones out after an error, so what it rejects goes and the rest runs again.
    std::vector<std::size_t> left(instructions.size());
    std::iota(left.begin(), left.end(), std::size_t{0});
    while (!left.empty()) {
      const std::size_t before = rejected.size();
      run(instructions, left);
      if (rejected.size() == before) break;
      std::erase_if(left, [&](std::size_t i) { return rejected.contains(i); });
    }
    std::filesystem::remove_all(folder_);
  }

 private:
  std::filesystem::path folder_;

  // Messages that only say the target of the test is another one.
  static bool about_target(const std::string& line) {
    return line.find("requires .target") != std::string::npos || line.find("supported on .target") != std::string::npos;
  }

  void run(const std::vector<std::string>& all, const std::vector<std::size_t>& chosen) {
    const auto file = (folder_ / "forms.ptx").string();
    std::vector<std::string> texts;
    for (const std::size_t i : chosen) texts.push_back(all[i]);
    std::ofstream(file) << module_of(texts);
    const std::string command = "exec " + ptxas() + " -O0 -arch=sm_100a -o /dev/null " + file + " 2>&1";
    FILE* pipe = popen(command.c_str(), "r");
    char buffer[4096];
    std::map<std::size_t, std::string> found;
    while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) {
      const std::string line(buffer);
      const auto at = line.find(", line ");

      if (at == std::string::npos || line.find("error") == std::string::npos || about_target(line)) continue;
      const auto index = static_cast<std::size_t>(std::atoi(line.c_str() + at + 7) - kFirstLine);
      if (index < chosen.size()) found[chosen[index]] = line;
    }
    if (const int status = pclose(pipe); WIFSIGNALED(status)) {
      // ptxas crashes on some wrong instructions: find them by halves, they count as rejected.
      if (chosen.size() == 1) {
        rejected[chosen[0]] = "crash";
        return;
      }
      const auto half = chosen.begin() + static_cast<std::ptrdiff_t>(chosen.size() / 2);
      run(all, {chosen.begin(), half});
      run(all, {half, chosen.end()});
      return;
    }
    rejected.merge(found);
  }
};

// The first error of a module that holds one instruction; empty when it is accepted.
std::string our_error(const std::string& instruction) {
  auto module = ptx::parse(module_of({instruction}));
  if (!module) return module.error().to_string();
  auto body = ptx::parse_body(**module, *(*module)->find_function("kernel"));
  return body ? "" : body.error().to_string();
}

std::vector<std::string> all_instructions() {
  std::vector<std::string> out;
  std::set<std::string> seen;
  for (const isa::Row& row : isa::rows())
    for (const isa::Form& form : row.forms) {
      if (form.emit == "unsupported") continue;
      for (std::string& text : expand(row, form, kCap))
        if (seen.insert(text).second) out.push_back(std::move(text));
    }
  return out;
}

void compare_with_ptxas(const std::vector<std::string>& instructions) {
  const Ledger ledger;
  const Judge judge(instructions);
  const bool all = std::getenv("WARPLOOM_FORMS_ALL") != nullptr;  // one line for each difference, for work on the table
  int differences = 0, excused = 0;
  for (std::size_t i = 0; i < instructions.size(); ++i) {
    const auto theirs = judge.rejected.find(i);
    const std::string ours = our_error(instructions[i]);
    if (ours.empty() == (theirs == judge.rejected.end())) continue;
    if (ledger.excuses(instructions[i])) {
      ++excused;
      continue;
    }
    ++differences;
    if (all) std::printf("%s | %s\n", instructions[i].c_str(), ours.empty() ? theirs->second.c_str() : "ptxas accepts");
    if (all || differences > 40) continue;
    ADD_FAILURE() << instructions[i] << "\n  ours: " << (ours.empty() ? "accepted" : ours)
                  << "\n  ptxas: " << (theirs == judge.rejected.end() ? "accepted" : theirs->second);
  }
  std::printf("%zu instructions, %d differences, %d of them in the ledger\n", instructions.size(),
              differences + excused, excused);
  EXPECT_EQ(differences, 0);
}

TEST(Forms, EveryFormIsAccepted) {
  const auto instructions = all_instructions();
  EXPECT_GT(instructions.size(), 3000u);
  int failures = 0, limited = 0;
  for (const std::string& text : instructions) {
    const std::string error = our_error(text);
    if (error.empty()) continue;
    // The size of a vector is a rule over width, type and space that no single position can state.
    if (error.find("vector is too large") != std::string::npos ||
        error.find("eviction hint needs") != std::string::npos)
      ++limited;
    else if (++failures < 20)
      ADD_FAILURE() << text << "\n" << error;
  }
  EXPECT_LT(limited * 5, static_cast<int>(instructions.size()));
}

// What `texts` makes of every form that runs, each text once.
std::vector<std::string> of_every_form(std::vector<std::string> (*texts)(const isa::Row&, const isa::Form&)) {
  std::vector<std::string> instructions;
  std::set<std::string> seen;
  for (const isa::Row& row : isa::rows())
    for (const isa::Form& form : row.forms)
      if (form.emit != "unsupported")
        for (std::string& text : texts(row, form))
          if (seen.insert(text).second) instructions.push_back(std::move(text));
  return instructions;
}

TEST(Forms, PtxasAcceptsEveryForm) {
  if (ptxas().empty()) GTEST_SKIP() << "[SKIP] ptxas is not installed";
  compare_with_ptxas(all_instructions());
}

TEST(Forms, NearMissesAreJudgedAsPtxasDoes) {
  if (ptxas().empty()) GTEST_SKIP() << "[SKIP] ptxas is not installed";
  compare_with_ptxas(of_every_form(near_misses));
}

TEST(Forms, OperandsAreJudgedAsPtxasDoes) {
  if (ptxas().empty()) GTEST_SKIP() << "[SKIP] ptxas is not installed";
  compare_with_ptxas(of_every_form(register_misfits));
}

TEST(Forms, PrintedFormsParseToTheSame) {
  int failures = 0;
  for (const std::string& text : all_instructions()) {
    auto module = ptx::parse(module_of({text}));
    ASSERT_TRUE(module.ok());
    const ptx::Function& kernel = *(*module)->find_function("kernel");
    auto body = ptx::parse_body(**module, kernel);
    if (!body) continue;  // EveryFormIsAccepted reports it
    const std::string once = ptx::print(**module, **body, (*body)->instrs[0]);
    auto again = ptx::parse(module_of({once}));
    auto second = ptx::parse_body(**again, *(*again)->find_function("kernel"));
    const bool same = second.ok() && (*second)->instrs[0].mods == (*body)->instrs[0].mods &&
                      ptx::print(**again, **second, (*second)->instrs[0]) == once;
    if (!same && ++failures < 20) ADD_FAILURE() << text << "\n  printed: " << once;
  }
}

}  // namespace
}  // namespace warploom::test

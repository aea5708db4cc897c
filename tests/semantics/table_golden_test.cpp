// The references of every case of the instruction table give, bit for bit, what an H200 gave (h200_table.tsv); cases
// without a recording, or with another one, are in h200_ledger.txt with the reason.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <set>

#include "../pattern.hpp"
#include "ptxas_video.hpp"
#include "table_cases.hpp"

namespace warploom::semantics {
namespace {

std::map<std::string, std::string> read(const char* name, char separator) {
  std::map<std::string, std::string> lines;
  std::ifstream file(std::string(WARPLOOM_TEST_DATA) + "/" + name);
  for (std::string line; std::getline(file, line);) {
    const std::size_t at = line.find(separator);
    if (!line.empty() && line[0] != '#' && at != std::string::npos) lines[line.substr(0, at)] = line.substr(at + 1);
  }
  return lines;
}

// Ledger lines name a case, or several with '*' for any part. A reason that starts with the name of a deviation is not
// an excuse: the recording must be what the deviation makes.
struct Ledger {
  std::map<std::string, std::string> lines = read("h200_ledger.txt", '|');
  std::set<std::string> used;

  bool excuses(const std::string& key) {
    bool found = false;
    for (const auto& [name, reason] : lines) {
      if (deviation(reason) != 0 || !fits_pattern(name, key)) continue;
      used.insert(name);
      found = true;
    }
    return found;
  }
  unsigned deviations(const std::string& key) {
    unsigned all = 0;
    for (const auto& [name, reason] : lines) {
      if (deviation(reason) == 0 || !fits_pattern(name, key)) continue;
      used.insert(name);
      all |= deviation(reason);
    }
    return all;
  }
  static unsigned deviation(const std::string& reason) {
    for (const auto& [name, bit] : kDeviations)
      if (reason.starts_with(std::string(name) + ":")) return bit;
    return 0;
  }
};

std::string digest_of(const TableCase& c, const u64* const* columns, const bool* valid) {
  char digest[24];
  std::snprintf(digest, sizeof digest, "%08x", static_cast<std::uint32_t>(table_digest(c, columns, valid)));
  return digest;
}

TEST(TableGolden, references_equal_an_h200) {
  const auto recorded = read("h200_table.tsv", '\t');
  Ledger ledger;
  ASSERT_GT(recorded.size(), 7000u);
  const TableSuite& suite = table_suite();
  std::size_t compared = 0, excused = 0, approximate = 0, deviating = 0;
  for (const TableCase& c : suite.cases) {
    if (!c.ref && !c.group) {
      ++approximate;  // approx_test
      continue;
    }
    const TableBatch& batch = suite.batches[c.batch];
    for (const std::uint32_t mask : kTableMasks) {
      if (mask != kTableMasks[0] && !is_warp(suite, batch)) continue;
      const std::string key = table_key(c, is_warp(suite, batch) ? mask : 0);
      if (ledger.excuses(table_key(c, 0))) {
        ++excused;
        continue;
      }
      const auto at = recorded.find(key);
      if (at == recorded.end()) {
        ADD_FAILURE() << key << ": not recorded";
        continue;
      }
      std::vector<u64> results(kMostResults * kTableSets);
      u64* columns[kMostResults];
      for (std::size_t k = 0; k < kMostResults; ++k) columns[k] = &results[k * kTableSets];
      bool valid[kTableSets];
      ASSERT_TRUE(table_expect(c, suite.operands[batch.operands].data(), mask, columns, valid));
      ++compared;
      if (digest_of(c, columns, valid) == at->second) continue;
      const unsigned deviations = c.deviating ? ledger.deviations(key) : 0;
      if (deviations == 0) {
        ADD_FAILURE() << key << ": not what an H200 gave";
        continue;
      }
      ++deviating;
      const u64* words = suite.operands[batch.operands].data();
      for (std::size_t n = 0; n < kTableSets; ++n) {
        u64 a[kMostSources] = {};
        for (std::size_t k = 0; k < c.in.size(); ++k) a[k] = words[k * kTableSets + n];
        c.deviating(deviations, a, &columns[0][n]);
      }
      EXPECT_EQ(digest_of(c, columns, valid), at->second) << key << ": the deviation does not explain the recording";
    }
  }
  std::printf(
      "%zu cases of the table: %zu recordings compared, %zu equal, %zu as ptxas deviates, %zu in the ledger, "
      "%zu approximate\n",
      suite.cases.size(), compared, compared - deviating, deviating, excused, approximate);
  for (const auto& [name, reason] : ledger.lines) EXPECT_TRUE(ledger.used.contains(name)) << name << ": not needed";
  EXPECT_EQ(compared, recorded.size());
}

// A form of a pure instruction without a case needs a reason.
TEST(TableGolden, every_pure_form_has_cases) {
  for (const std::string& line : table_suite().left_out) std::printf("%s\n", line.c_str());
  for (const std::string& line : table_suite().left_out)
    EXPECT_TRUE(line.find("without a reference") == std::string::npos || line.starts_with("mov.b128") ||
                line.starts_with("cvt.rs{.relu}.satfinite"))  // tests/device/forms_test.cpp
        << line;
}

}  // namespace
}  // namespace warploom::semantics

// The references of every case of the instruction table give, bit for bit, what an H200 gave (h200_table.tsv); cases
// without a recording, or with another one, are in h200_ledger.txt with the reason.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <map>

#include "../pattern.hpp"
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

// Ledger lines name a case, or several with '*' for any part.
bool in_ledger(const std::map<std::string, std::string>& ledger, const std::string& key) {
  for (const auto& [name, reason] : ledger)
    if (fits_pattern(name, key)) return true;
  return false;
}

TEST(TableGolden, references_equal_an_h200) {
  const auto recorded = read("h200_table.tsv", '\t'), ledger = read("h200_ledger.txt", '|');
  ASSERT_GT(recorded.size(), 7000u);
  const TableSuite& suite = table_suite();
  std::size_t compared = 0, excused = 0, approximate = 0;
  for (const TableCase& c : suite.cases) {
    if (!c.ref && !c.group) {
      ++approximate;  // approx_test
      continue;
    }
    const TableBatch& batch = suite.batches[c.batch];
    for (const std::uint32_t mask : kTableMasks) {
      if (mask != kTableMasks[0] && !is_warp(suite, batch)) continue;
      const std::string key = table_key(c, is_warp(suite, batch) ? mask : 0);
      if (in_ledger(ledger, table_key(c, 0))) {
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
      char digest[24];
      std::snprintf(digest, sizeof digest, "%08x", static_cast<std::uint32_t>(table_digest(c, columns, valid)));
      EXPECT_EQ(digest, at->second) << key;
      ++compared;
    }
  }
  std::printf("%zu cases of the table: %zu recordings equal, %zu in the ledger, %zu approximate\n", suite.cases.size(),
              compared, excused, approximate);
  EXPECT_EQ(compared, recorded.size());
}

// A form of a pure instruction without a case needs a reason.
TEST(TableGolden, every_pure_form_has_cases) {
  for (const std::string& line : table_suite().left_out) std::printf("%s\n", line.c_str());
  for (const std::string& line : table_suite().left_out)
    EXPECT_TRUE(line.find("without a reference") == std::string::npos || line.starts_with("mov.b128")) << line;
}

}  // namespace
}  // namespace warploom::semantics

// The scalar references give, bit for bit, what an H200 gave for the recorded operands (h200.tsv).
#include <gtest/gtest.h>

#include <fstream>
#include <map>

#include "golden.hpp"

namespace warploom::semantics {
namespace {

TEST(Golden, references_equal_an_h200) {
  std::map<std::string, u64> recorded;
  std::ifstream file(std::string(WARPLOOM_TEST_DATA) + "/h200.tsv");
  for (std::string line; std::getline(file, line);) {
    const std::size_t tab = line.find('\t');
    if (tab != std::string::npos) recorded[line.substr(0, tab)] = std::stoull(line.substr(tab + 1), nullptr, 16);
  }
  ASSERT_GT(recorded.size(), 1000u);
  std::size_t compared = 0;
  for (const GoldenCase& g : golden_cases()) {
    const auto at = recorded.find(golden_name(g));
    if (at == recorded.end()) continue;  // approximate, or refused by ptxas
    std::vector<std::vector<u64>> results;
    for (const auto& set : g.sets) {
      u64 d[2] = {};
      g.c.ref(set.data(), d);
      results.emplace_back(d, d + g.c.out.size());
    }
    EXPECT_EQ(golden_digest(g, results), at->second) << at->first;
    ++compared;
  }
  EXPECT_EQ(compared, recorded.size());
}

}  // namespace
}  // namespace warploom::semantics

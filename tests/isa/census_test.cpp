// Counts how many of the mnemonics of real programs the table decodes, and how many of them the CPU device runs.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>

#include "ptx/decode.hpp"

namespace warploom::test {
namespace {

struct Count {
  int all = 0, decoded = 0, supported = 0;
};

TEST(Census, TableKnowsEveryMnemonicOfRealPrograms) {
  std::ifstream in(std::string(WARPLOOM_TEST_DATA) + "/census.txt");
  std::map<std::string, Count> tiers;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string tier, mnemonic;
    words >> tier >> mnemonic;
    Count& count = tiers[tier];
    ++count.all;
    ptx::Decoded decoded;
    ptx::Complaint why;
    if (!ptx::decode(mnemonic, decoded, why)) {
      ADD_FAILURE() << mnemonic << ": " << why.what;
      continue;
    }
    ++count.decoded;
    count.supported += decoded.forms[0]->emit != "unsupported";
  }
  ASSERT_EQ(tiers.size(), 5u);
  for (const auto& [tier, c] : tiers)
    std::printf("tier %-2s: %d mnemonics, %d decoded, %d supported by the CPU device\n", tier.c_str(), c.all, c.decoded,
                c.supported);
  EXPECT_EQ(tiers["1"].all, 487);
  // Everything but textures and surfaces in the general tiers.
  EXPECT_GE(tiers["1"].supported, 484);
  EXPECT_GE(tiers["2"].supported, 114);
  EXPECT_GE(tiers["2+"].supported, 203);
}

}  // namespace
}  // namespace warploom::test

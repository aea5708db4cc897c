// Occupancy limits against the profiler's, for every recorded launch, and the limiter for hand-made cases.
#include "observe/explain/occupancy.hpp"

#include <gtest/gtest.h>

#include <cstdio>

#include "tsv.hpp"

namespace warploom::observe::explain {
namespace {

isa::GpuProfile profile(const char* name) {
  auto found = isa::find_profile(name);
  EXPECT_TRUE(found.ok());
  return *found;
}

TEST(Occupancy, LimitsEqualTheProfilers) {
  const isa::GpuProfile h200 = profile("h200");
  const auto rows = tsv::read(std::string(WARPLOOM_TEST_DATA) + "/h200_counters.tsv");
  ASSERT_EQ(rows.size(), 57u);
  for (const tsv::Row& row : rows) {
    SCOPED_TRACE(row.at("id") + " " + row.at("kernel"));
    unsigned x = 0, y = 0, z = 0;
    ASSERT_EQ(std::sscanf(row.at("block").c_str(), "(%u,%u,%u)", &x, &y, &z), 3);
    const auto registers = static_cast<std::uint32_t>(tsv::number(row, "launch__registers_per_thread"));
    const auto shared = static_cast<std::uint64_t>(tsv::number(row, "launch__shared_mem_per_block_static"));
    const Occupancy o = compute_occupancy(h200, x * y * z, registers, shared);
    EXPECT_EQ(o.limit_warps, tsv::number(row, "launch__occupancy_limit_warps"));
    EXPECT_EQ(o.limit_blocks, tsv::number(row, "launch__occupancy_limit_blocks"));
    EXPECT_EQ(o.limit_registers, tsv::number(row, "launch__occupancy_limit_registers"));
    EXPECT_EQ(o.limit_shared, tsv::number(row, "launch__occupancy_limit_shared_mem"));
    EXPECT_DOUBLE_EQ(100 * o.fraction(), std::stod(row.at("sm__maximum_warps_per_active_cycle_pct")));
  }
}

TEST(Occupancy, NamesWhatLimits) {
  const isa::GpuProfile h200 = profile("h200");
  EXPECT_EQ(compute_occupancy(h200, 256, 32, 0).limiter, Limiter::warps);
  EXPECT_EQ(compute_occupancy(h200, 32, 32, 0).limiter, Limiter::blocks);
  EXPECT_EQ(compute_occupancy(h200, 256, 128, 0).limiter, Limiter::registers);
  EXPECT_EQ(compute_occupancy(h200, 256, 32, 100 * 1024).limiter, Limiter::shared_memory);
  EXPECT_EQ(compute_occupancy(h200, 256, 32, 100 * 1024).blocks, 2u);
  EXPECT_EQ(compute_occupancy(h200, 256, 255, 0).blocks, 1u);
  EXPECT_EQ(compute_occupancy(profile("l4"), 256, 32, 0).blocks, 6u);
  EXPECT_EQ(compute_occupancy(profile("t4"), 256, 32, 32 * 1024).blocks, 2u);
}

}  // namespace
}  // namespace warploom::observe::explain

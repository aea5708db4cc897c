// The counting rules against the counters an H200 gave for single-warp access patterns (counters/patterns.tsv).
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "counters/patterns.hpp"
#include "observe/facts.hpp"

namespace warploom::observe {
namespace {

using patterns::Kind;

struct Recorded {
  std::string kernel;
  std::uint32_t requests = 0, sectors = 0, wavefronts = 0, conflicts = 0;
};

std::vector<Recorded> read_recorded() {
  std::ifstream in(std::string(WARPLOOM_TEST_DATA) + "/patterns.tsv");
  std::vector<Recorded> rows;
  std::string line;
  std::getline(in, line);
  while (std::getline(in, line)) {
    std::istringstream fields(line);
    Recorded row;
    fields >> row.kernel >> row.requests >> row.sectors >> row.wavefronts >> row.conflicts;
    rows.push_back(row);
  }
  return rows;
}

isa::Space space_of(Kind kind) {
  if (kind == Kind::local_load) return isa::Space::local;
  return kind < Kind::global_load ? isa::Space::shared : isa::Space::global;
}

AccessKind access_of(Kind kind) {
  switch (kind) {
    case Kind::shared_load:
    case Kind::global_load:
    case Kind::local_load: return AccessKind::load;
    case Kind::shared_store:
    case Kind::global_store: return AccessKind::store;
    case Kind::shared_red:
    case Kind::global_red: return AccessKind::reduction;
    case Kind::shared_atom:
    case Kind::global_atom: return AccessKind::atomic;
  }
  return AccessKind::load;
}

std::string describe(const patterns::Pattern& p) {
  std::ostringstream out;
  out << patterns::kKindNames[static_cast<int>(p.kind)] << ' ' << p.bytes << " bytes, mask " << std::hex << p.mask
      << std::dec << ", index";
  for (const std::uint32_t index : p.index) out << ' ' << index;
  return out.str();
}

TEST(Patterns, CountsEqualTheHardware) {
  const auto recorded = read_recorded();
  const auto launched = patterns::all();
  ASSERT_EQ(recorded.size(), launched.size());
  std::uint32_t atomic_sectors = 0, recorded_atomic_sectors = 0;
  for (std::size_t i = 0; i < launched.size(); ++i) {
    const patterns::Pattern& p = launched[i];
    const Recorded& hardware = recorded[i];
    SCOPED_TRACE(describe(p));
    ASSERT_EQ(hardware.kernel.rfind(patterns::kKindNames[static_cast<int>(p.kind)], 0), 0u);
    std::uint64_t addresses[32];
    for (int lane = 0; lane < 32; ++lane) {
      addresses[lane] = std::uint64_t{p.index[lane]} * p.bytes;
      // An inactive lane's address must not matter.
      if (((p.mask >> lane) & 1) == 0) addresses[lane] = 0xdead0000u + 12345u * static_cast<unsigned>(lane);
    }
    AccessCounts counts;
    count_access(space_of(p.kind), access_of(p.kind), addresses, p.mask, p.bytes, counts);
    switch (space_of(p.kind)) {
      case isa::Space::shared:
        EXPECT_EQ(counts.wavefronts, hardware.wavefronts);
        EXPECT_EQ(counts.wavefronts - counts.ideal_wavefronts, hardware.conflicts);
        break;
      case isa::Space::global:
        EXPECT_EQ(counts.requests, hardware.requests);
        if (p.kind == Kind::global_red || p.kind == Kind::global_atom) {
          // The unit that merges atomics looks at a window of lanes; the rule ignores it and may miss a few sectors.
          EXPECT_LE(counts.sectors, hardware.sectors);
          atomic_sectors += static_cast<std::uint32_t>(counts.sectors);
          recorded_atomic_sectors += hardware.sectors;
        } else {
          EXPECT_EQ(counts.sectors, hardware.sectors);
        }
        break;
      default:
        EXPECT_EQ(counts.requests, hardware.requests);
        EXPECT_EQ(counts.sectors, hardware.sectors);
        break;
    }
  }
  EXPECT_NEAR(atomic_sectors, recorded_atomic_sectors, 0.01 * recorded_atomic_sectors);
}

TEST(Patterns, SectorsOfUnsortedAndStraddlingAccesses) {
  std::uint64_t addresses[32];
  for (std::uint32_t i = 0; i < 32; ++i) addresses[i] = (i * 7 % 32) * 4096;
  EXPECT_EQ(count_sectors(addresses, 0xffffffffu, 4), 32u);
  EXPECT_EQ(count_sectors(addresses, 0, 4), 0u);
  for (std::uint32_t i = 0; i < 32; ++i) addresses[i] = 28 + i * 32;  // eight bytes over a sector boundary
  EXPECT_EQ(count_sectors(addresses, 0xffffffffu, 8), 33u);
  EXPECT_EQ(count_sectors(addresses, 1, 8), 2u);
  for (std::uint32_t i = 0; i < 32; ++i) addresses[i] = (31 - i) * 4;
  EXPECT_EQ(count_sectors(addresses, 0xffffffffu, 4), 4u);
}

TEST(Patterns, IdealSectorsArePackedBytes) {
  std::uint64_t addresses[32];
  for (std::uint32_t i = 0; i < 32; ++i) addresses[i] = i * 128;
  AccessCounts counts;
  count_access(isa::Space::global, AccessKind::load, addresses, 0xffu, 4, counts);
  EXPECT_EQ(counts.sectors, 8u);
  EXPECT_EQ(counts.ideal_sectors, 1u);
  EXPECT_EQ(counts.active_lanes, 8u);
}

}  // namespace
}  // namespace warploom::observe

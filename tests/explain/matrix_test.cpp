// What matrix instructions count, against what the fragment layouts of the PTX manual give by hand, and the
// instructions that ptxas 13.0 makes of them for sm_90.
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "observed_launch.hpp"

namespace warploom {
namespace {

using isa::Space;

struct Recorder final : observe::Observer {
  void launch_done(const observe::KernelFacts& facts, const observe::LaunchFacts&,
                   const observe::LaunchCounts& counts) override {
    for (std::size_t s = 0; s < facts.sites.size(); ++s)
      if (facts.sites[s].kind == observe::Site::Kind::access) total += counts.access[s], ++sites;
  }
  observe::AccessCounts total;
  int sites = 0;
};

// Runs one warp with %rd1 = global memory, 256-byte aligned, and %r1 = shared memory, the same.
observe::AccessCounts count(const std::string& body, bool unoptimised) {
  const std::string text =
      ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 data)\n{\n"
      ".reg .b32 %r<20>; .reg .b64 %rd<4>; .reg .f64 %d<4>; .reg .b32 %x<16>;\n"
      ".shared .align 256 .b8 tile[16384];\nld.param.u64 %rd1, [data];\nmov.u32 %r1, tile;\nmov.u32 %r2, %tid.x;\n" +
      body + "\nret;\n}\n";
  auto recorder = std::make_shared<Recorder>();
  observe_launch(text, recorder, 32, 32768, unoptimised);
  EXPECT_EQ(recorder->sites, 1) << body;
  return recorder->total;
}

std::string registers(unsigned count, const char* prefix = "%x") {
  std::string list = "{";
  for (unsigned i = 0; i < count; ++i) list += (i == 0 ? "" : ", ") + std::string(prefix) + std::to_string(i);
  return list + "}";
}

class MatrixCounts : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Explain, MatrixCounts, testing::Bool(), [](const testing::TestParamInfo<bool>& instance) {
  return instance.param ? "unoptimised" : "optimised";
});

// wmma in global memory: requests, sectors and the sectors of the same bytes side by side.
TEST_P(MatrixCounts, FragmentsInGlobalMemory) {
  struct Case {
    const char* what;
    unsigned registers, stride;
    std::uint64_t requests, sectors, ideal;
  };
  for (const Case& c : {
           // Each register of a factor of 16 bits: groups of 4 lanes read 16 bytes of 8 rows, along or across.
           Case{"load.a.sync.aligned.row.m16n16k16.global.f16", 8, 64, 4, 32, 16},
           Case{"load.a.sync.aligned.col.m16n16k16.global.f16", 8, 64, 4, 32, 16},
           // Rows of 32 bytes that adjoin: 8 of them are 256 bytes, of which a request reads half, in each sector.
           Case{"load.b.sync.aligned.row.m16n16k16.global.f16", 8, 16, 4, 32, 16},
           Case{"load.a.sync.aligned.row.m32n8k16.global.bf16", 8, 64, 8, 64, 32},
           Case{"load.b.sync.aligned.col.m32n8k16.global.bf16", 2, 64, 2, 16, 8},
           // Bytes along the rows: four to a register, 16 to a group of 4 lanes.
           Case{"load.a.sync.aligned.row.m16n16k16.global.s8", 2, 64, 2, 16, 8},
           // Bytes across the rows: each by itself, of 4 rows for the 4 lanes of a group, 8 beside each other.
           Case{"load.a.sync.aligned.col.m16n16k16.global.s8", 2, 64, 8, 32, 8},
           // Pairs of accumulators: 32 bytes of 8 rows; across, one by one: 4 columns of 8.
           Case{"load.c.sync.aligned.row.m16n16k16.global.f32", 8, 64, 4, 32, 32},
           Case{"load.c.sync.aligned.col.m16n16k16.global.f32", 8, 64, 8, 32, 32},
           Case{"store.d.sync.aligned.row.m16n16k16.global.f32", 8, 64, 4, 32, 32},
           Case{"store.d.sync.aligned.col.m16n16k16.global.f32", 8, 64, 8, 32, 32},
           Case{"load.c.sync.aligned.row.m16n16k16.global.f16", 4, 64, 4, 32, 16},
           Case{"store.d.sync.aligned.col.m16n16k16.global.f16", 4, 64, 4, 32, 16},
           // tf32: a register each, 4 lanes of a row: half of a sector; across, 8 lanes of a column.
           Case{"load.a.sync.aligned.row.m16n16k8.global.tf32", 4, 64, 4, 32, 16},
           Case{"load.a.sync.aligned.col.m16n16k8.global.tf32", 4, 64, 4, 16, 16},
       }) {
    const bool stores = std::string(c.what).starts_with("store");
    const std::string list = registers(c.registers), stride = std::to_string(c.stride);
    const observe::AccessCounts r = count(
        "wmma." + std::string(c.what) + (stores ? " [%rd1], " + list : " " + list + ", [%rd1]") + ", " + stride + ";",
        GetParam());
    EXPECT_EQ(r.requests, c.requests) << c.what;
    EXPECT_EQ(r.sectors, c.sectors) << c.what;
    EXPECT_EQ(r.ideal_sectors, c.ideal) << c.what;
    EXPECT_EQ(r.active_lanes, 32 * c.requests) << c.what;
  }
  // f64: 8 rows of 4; accumulators in pairs, 4 pairs to a row of 64 bytes.
  const auto doubles = [&](const std::string& what, unsigned n) {
    return count("wmma.load." + what + ".f64 " + registers(n, "%d") + ", [%rd1], 32;", GetParam());
  };
  const observe::AccessCounts a = doubles("a.sync.aligned.row.m8n8k4.global", 1);
  EXPECT_EQ(std::tuple(a.requests, a.sectors), std::tuple(1U, 8U));
  const observe::AccessCounts c = doubles("c.sync.aligned.row.m8n8k4.global", 2);
  EXPECT_EQ(std::tuple(c.requests, c.sectors), std::tuple(1U, 16U));
  const observe::AccessCounts across = doubles("c.sync.aligned.col.m8n8k4.global", 2);
  EXPECT_EQ(std::tuple(across.requests, across.sectors), std::tuple(2U, 16U));
}

// wmma in shared memory: factors of 16 bits by ldmatrix, 8 rows of 16 bytes in a wavefront when no two share a bank.
TEST_P(MatrixCounts, FragmentsInSharedMemory) {
  const auto factor = [&](unsigned stride) {
    return count("wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 " + registers(8) + ", [%r1], " +
                     std::to_string(stride) + ";",
                 GetParam());
  };
  struct Case {
    unsigned stride;  // in halves
    std::uint64_t wavefronts;
  };
  // 8 rows 32, 48, 128 and 144 bytes apart: 2 rows on the same banks, none, all 8, none.
  for (const Case& c : {Case{16, 8}, Case{24, 4}, Case{64, 32}, Case{72, 4}}) {
    const observe::AccessCounts r = factor(c.stride);
    EXPECT_EQ(r.requests, 1U) << c.stride;
    EXPECT_EQ(r.wavefronts, c.wavefronts) << c.stride;
    EXPECT_EQ(r.ideal_wavefronts, 4U) << c.stride;
    EXPECT_EQ(r.active_lanes, 32U) << c.stride;
  }
  // Accumulators in pairs: half a warp takes 4 rows of 32 bytes, which are 64 bytes apart: 2 on the same banks.
  const observe::AccessCounts c =
      count("wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [%r1], " + registers(8) + ", 16;", GetParam());
  EXPECT_EQ(c.requests, 4U);
  EXPECT_EQ(c.wavefronts, 16U);
  EXPECT_EQ(c.ideal_wavefronts, 8U);
}

// ldmatrix and stmatrix: one request, 8 rows of 16 bytes at a time.
TEST_P(MatrixCounts, RowsOfMatrices) {
  struct Case {
    unsigned matrices, pitch;  // bytes from row to row
    std::uint64_t wavefronts;
  };
  for (const Case& c : {Case{1, 16, 1}, Case{2, 16, 2}, Case{4, 16, 4}, Case{4, 32, 8}, Case{4, 80, 4},
                        Case{4, 128, 32}, Case{4, 144, 4}, Case{2, 64, 8}}) {
    const std::string x = ".x" + std::to_string(c.matrices), list = registers(c.matrices);
    const std::string place = "mad.lo.u32 %r3, %r2, " + std::to_string(c.pitch) + ", %r1;\n";
    for (const std::string& move : {"ldmatrix.sync.aligned.m8n8" + x + ".shared.b16 " + list + ", [%r3];",
                                    "ldmatrix.sync.aligned.m8n8" + x + ".trans.shared.b16 " + list + ", [%r3];",
                                    "stmatrix.sync.aligned.m8n8" + x + ".shared.b16 [%r3], " + list + ";"}) {
      const observe::AccessCounts r = count(place + move, GetParam());
      EXPECT_EQ(r.requests, 1U) << move;
      EXPECT_EQ(r.wavefronts, c.wavefronts) << move << " pitch " << c.pitch;
      EXPECT_EQ(r.ideal_wavefronts, c.matrices) << move;
    }
  }
}

}  // namespace
}  // namespace warploom

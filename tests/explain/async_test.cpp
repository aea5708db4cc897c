// What asynchronous and bulk copies count: a read of global memory and a write of shared memory, or the other way
// round.
#include <gtest/gtest.h>

#include <map>

#include "observed_launch.hpp"

namespace warploom {
namespace {

struct Recorder final : observe::Observer {
  void launch_done(const observe::KernelFacts& facts, const observe::LaunchFacts&,
                   const observe::LaunchCounts& counts) override {
    for (std::size_t s = 0; s < facts.sites.size(); ++s) {
      const observe::Site& site = facts.sites[s];
      if (site.kind != observe::Site::Kind::access || !site.async) continue;
      (site.space == isa::Space::shared ? shared : global) += counts.access[s];
      kinds[site.space] = site.access;
    }
  }
  observe::AccessCounts global, shared;
  std::map<isa::Space, observe::AccessKind> kinds;
};

// Runs a block of 64 threads whose register %rd4 is the thread's 16 bytes in global memory, %r7 those in shared memory.
Recorder count(const std::string& body, bool unoptimised) {
  const std::string text =
      ".version 8.6\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 data)\n{\n"
      ".reg .b32 %r<20>; .reg .b64 %rd<12>; .reg .pred %p<4>;\n.shared .align 16 .b8 tile[2048];\n"
      ".shared .align 8 .b64 bar;\n"
      "ld.param.u64 %rd1, [data];\nmov.u32 %r2, %tid.x;\nmov.u32 %r5, tile;\nmad.lo.u32 %r7, %r2, 16, %r5;\n"
      "mul.wide.u32 %rd4, %r2, 16;\nadd.s64 %rd4, %rd1, %rd4;\n" +
      body + "\nret;\n}\n";
  auto recorder = std::make_shared<Recorder>();
  observe_launch(text, recorder, 64, 4096, unoptimised);
  return *recorder;
}

class AsyncCounts : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Explain, AsyncCounts, testing::Bool(), [](const testing::TestParamInfo<bool>& instance) {
  return instance.param ? "unoptimised" : "optimised";
});

TEST_P(AsyncCounts, CopiesOfWholeAndShortSources) {
  for (const char* copy : {"cp.async.cg.shared.global [%r7], [%rd4], 16;",
                           "mov.u32 %r8, 16;\ncp.async.cg.shared.global [%r7], [%rd4], 16, %r8;"}) {
    const Recorder r = count(copy, GetParam());
    EXPECT_EQ(r.global.requests, 2u) << copy;
    EXPECT_EQ(r.global.sectors, 32u) << copy;
    EXPECT_EQ(r.global.ideal_sectors, 32u) << copy;
    EXPECT_EQ(r.global.active_lanes, 64u) << copy;
    EXPECT_EQ(r.shared.requests, 2u) << copy;
    EXPECT_EQ(r.shared.wavefronts, 8u) << copy;
    EXPECT_EQ(r.shared.ideal_wavefronts, 8u) << copy;
    EXPECT_EQ(r.kinds.at(isa::Space::global), observe::AccessKind::load);
    EXPECT_EQ(r.kinds.at(isa::Space::shared), observe::AccessKind::store);
  }
  // Lanes whose source is left out read nothing, and write zeros.
  const Recorder half = count(
      "and.b32 %r9, %r2, 1;\nsetp.eq.u32 %p1, %r9, 1;\ncp.async.ca.shared.global [%r7], [%rd4], 16, %p1;", GetParam());
  EXPECT_EQ(half.global.requests, 2u);
  EXPECT_EQ(half.global.active_lanes, 32u);
  EXPECT_EQ(half.global.sectors, 32u);
  EXPECT_EQ(half.shared.active_lanes, 64u);
}

// Half of each warp goes to shared memory, half to global; all go to local memory.
TEST_P(AsyncCounts, GenericAccessesAreCountedInTheSpaceOfTheirAddress) {
  struct Spaces final : observe::Observer {
    void launch_done(const observe::KernelFacts& facts, const observe::LaunchFacts&,
                     const observe::LaunchCounts& counts) override {
      for (std::size_t s = 0; s < facts.sites.size(); ++s)
        if (facts.sites[s].kind == observe::Site::Kind::access) sums[facts.sites[s].space] += counts.access[s];
    }
    std::map<isa::Space, observe::AccessCounts> sums;
  };
  const auto spaces = std::make_shared<Spaces>();
  observe_launch(
      ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 data)\n{\n"
      ".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p;\n.shared .align 4 .b8 tile[256];\n"
      ".local .align 4 .b8 mine[16];\n"
      "ld.param.u64 %rd1, [data];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n"
      "mov.u64 %rd4, tile;\ncvta.shared.u64 %rd5, %rd4;\nadd.s64 %rd5, %rd5, %rd2;\n"
      "and.b32 %r2, %r1, 16;\nsetp.eq.u32 %p, %r2, 0;\nselp.b64 %rd6, %rd3, %rd5, %p;\nst.u32 [%rd6], %r1;\n"
      "mov.u64 %rd7, mine;\ncvta.local.u64 %rd8, %rd7;\nst.u32 [%rd8+4], %r1;\nld.u32 %r3, [%rd8+4];\n"
      "st.u32 [%rd6], %r3;\nret;\n}\n",
      spaces, 64, 4096, GetParam());
  const observe::AccessCounts& global = spaces->sums[isa::Space::global];
  EXPECT_EQ(global.requests, 4u);
  EXPECT_EQ(global.sectors, 8u);
  EXPECT_EQ(global.active_lanes, 64u);
  const observe::AccessCounts& shared = spaces->sums[isa::Space::shared];
  EXPECT_EQ(shared.requests, 4u);
  EXPECT_EQ(shared.wavefronts, 4u);
  EXPECT_EQ(shared.sectors, 0u);
  EXPECT_EQ(shared.active_lanes, 64u);
  const observe::AccessCounts& local = spaces->sums[isa::Space::local];
  EXPECT_EQ(local.requests, 4u);
  EXPECT_EQ(local.sectors, 16u);
  EXPECT_EQ(local.active_lanes, 128u);
  EXPECT_EQ(spaces->sums.count(isa::Space::generic), 0u);
}

TEST_P(AsyncCounts, BulkCopiesAndReductions) {
  const std::string start =
      "setp.ne.u32 %p2, %r2, 0;\n@%p2 ret;\nmbarrier.init.shared.b64 [bar], 1;\n"
      "mbarrier.arrive.expect_tx.shared.b64 %rd8, [bar], 512;\n";
  const Recorder in = count(start +
                                "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r5], [%rd1], 512, "
                                "[bar];",
                            GetParam());
  EXPECT_EQ(in.global.requests, 1u);
  EXPECT_EQ(in.global.sectors, 16u);
  EXPECT_EQ(in.shared.wavefronts, 4u);
  EXPECT_EQ(in.kinds.at(isa::Space::global), observe::AccessKind::load);
  EXPECT_EQ(in.kinds.at(isa::Space::shared), observe::AccessKind::store);
  // From 16 on a range of 512 bytes touches one sector more than it fills.
  const Recorder out = count(start + "cp.async.bulk.global.shared::cta.bulk_group [%rd1+16], [%r5], 512;", GetParam());
  EXPECT_EQ(out.global.sectors, 17u);
  EXPECT_EQ(out.global.ideal_sectors, 16u);
  EXPECT_EQ(out.kinds.at(isa::Space::global), observe::AccessKind::store);
  const Recorder sum =
      count(start + "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r5], 512;", GetParam());
  EXPECT_EQ(sum.kinds.at(isa::Space::global), observe::AccessKind::reduction);
}

}  // namespace
}  // namespace warploom

// Every rule finds its case, says the figure and the place, and stays silent on the clean twin.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernel_builder.hpp"

namespace warploom::observe::explain {
namespace {

using isa::Space;

const Finding* find(const KernelData& kernel, std::string_view rule) {
  const auto found = std::find_if(kernel.findings.begin(), kernel.findings.end(),
                                  [&](const Finding& finding) { return finding.rule == rule; });
  return found == kernel.findings.end() ? nullptr : &*found;
}

// A rule's only finding: the right line, and a message that holds each text.
void expect_only(const KernelData& kernel, std::string_view rule, std::uint32_t line,
                 std::initializer_list<const char*> texts) {
  ASSERT_EQ(kernel.findings.size(), 1u) << (kernel.findings.empty() ? "" : kernel.findings.back().message);
  const Finding* finding = find(kernel, rule);
  ASSERT_NE(finding, nullptr) << kernel.findings[0].rule;
  EXPECT_EQ(finding->source.line, line);
  EXPECT_GT(finding->cost, 0);
  EXPECT_EQ(finding->message.back(), '.');
  for (const char* text : texts) EXPECT_NE(finding->message.find(text), std::string::npos) << finding->message;
}

void expect_clean(const KernelData& kernel) { EXPECT_TRUE(kernel.findings.empty()) << kernel.findings[0].message; }

KernelBuilder load(double per_request, double ideal) {
  return KernelBuilder().access(7, Space::global, AccessKind::load, per_request, ideal);
}

TEST(Rules, CoalescedAccessIsClean) {
  expect_clean(load(4, 4).analyse());
  expect_clean(load(1, 4).analyse());  // every lane reads the same word
  expect_clean(load(16, 16).analyse());
  expect_clean(KernelBuilder().analyse());
}

TEST(Rules, ScatteredAccess) {
  expect_only(load(32, 4).analyse(), "uncoalesced", 7, {"32.0 sectors", "4.0 would do", "sector of its own"});
}

TEST(Rules, StridedAccess) {
  expect_only(load(8, 4).analyse(), "uncoalesced", 7, {"8.0 sectors", "about 8 bytes apart instead of 4"});
  expect_only(KernelBuilder().access(9, Space::global, AccessKind::store, 16, 4).analyse(), "uncoalesced", 9,
              {"Global stores", "16.0 sectors"});
}

TEST(Rules, ARareScatteredLineIsNotWorthASentence) {
  expect_clean(load(4, 4).access(8, Space::global, AccessKind::load, 32, 4, 100).analyse());
}

TEST(Rules, DoublePrecisionOnFloatData) {
  expect_only(KernelBuilder().doubles(12, 3, 2.0).analyse(), "double_precision", 12,
              {"from the literal 2", "3 of 100 instructions", "np.float32"});
  expect_only(KernelBuilder().doubles(11, 1, std::nullopt).doubles(12, 3, 0.5).analyse(), "double_precision", 12,
              {"from the literal 0.5", "4 of 100"});
  expect_only(KernelBuilder().doubles(11, 1, std::nullopt).analyse(), "double_precision", 11,
              {"Double-precision arithmetic on float32 data"});
  expect_clean(KernelBuilder().doubles(12, 3, 2.0, false).analyse());
}

TEST(Rules, MisalignedAccess) {
  expect_only(load(5, 4).analyse(), "misaligned", 7, {"5.0 sectors", "multiple of 32 bytes"});
  expect_only(load(5.5, 4).block(16, 16).analyse(), "misaligned", 7, {"5.5 sectors"});
}

TEST(Rules, ArrayOfStructures) {
  auto aos = KernelBuilder();
  auto soa = KernelBuilder();
  for (int field = 0; field < 3; ++field) {
    aos.access(7, Space::global, AccessKind::load, 12, 4);
    soa.access(7, Space::global, AccessKind::load, 4, 4);
  }
  expect_only(aos.analyse(), "array_of_structures", 7, {"3 global loads", "one array for each field"});
  expect_clean(soa.analyse());
  // A loop over a row for each thread, unrolled by eight, looks alike but is not.
  auto rows = KernelBuilder();
  for (int i = 0; i < 8; ++i) rows.access(7, Space::global, AccessKind::load, 32, 4);
  expect_only(rows.analyse(), "uncoalesced", 7, {"sector of its own"});
}

TEST(Rules, Reuse) {
  const auto naive = [](double sectors) {
    return KernelBuilder().grid(132).block(256).access(8, Space::global, AccessKind::load, sectors, 4, 132 * 8 * 512);
  };
  expect_only(naive(2).analyse(), "reuse", 8, {"512 values", "2.0 sectors", "shared memory once"});
  expect_clean(naive(4).analyse());
  expect_clean(KernelBuilder().access(8, Space::global, AccessKind::load, 2, 4, 1024 * 8).analyse());
  expect_clean(naive(2).access(9, Space::shared, AccessKind::load, 1, 1).analyse());
}

TEST(Rules, BankConflicts) {
  const auto shared = [](double degree) {
    return KernelBuilder().access(5, Space::shared, AccessKind::load, degree, 1);
  };
  expect_only(shared(32).analyse(), "bank_conflicts", 5, {"32.0 passes", "column", "pad the inner dimension"});
  expect_only(shared(4).analyse(), "bank_conflicts", 5, {"4.0 passes", "stride"});
  expect_only(shared(2).block(16, 16).analyse(), "bank_conflicts", 5, {"2 rows of the 16-wide block"});
  expect_clean(shared(1).analyse());
  expect_clean(shared(1.05).analyse());
}

TEST(Rules, WideSharedAccessWithoutConflictIsClean) {
  expect_clean(KernelBuilder().access(5, Space::shared, AccessKind::load, 4, 4, 1000, 16).analyse());
}

TEST(Rules, Divergence) {
  const auto kernel = [](double lanes, std::uint64_t divergent) {
    return KernelBuilder().lanes(lanes).branch(3, 1000, divergent).branch(8, 1000, 10).analyse();
  };
  expect_only(kernel(17, 500), "divergence", 3, {"17.0 of 32 lanes", "50 %", "threadIdx.x / 32"});
  expect_clean(kernel(31.5, 500));
  expect_clean(kernel(32, 0));
}

TEST(Rules, PartialWarps) {
  expect_only(KernelBuilder().block(100).lanes(25).analyse(), "partial_warps", 0,
              {"100 threads", "4 warps", "22 %", "96 or 128"});
  expect_clean(KernelBuilder().block(96).analyse());
  expect_clean(KernelBuilder().block(1023).analyse());
  const KernelData tiny = KernelBuilder().block(1).lanes(1).analyse();
  ASSERT_NE(find(tiny, "partial_warps"), nullptr);
  EXPECT_NE(find(tiny, "partial_warps")->message.find("97 %"), std::string::npos);
}

TEST(Rules, LowOccupancy) {
  expect_only(KernelBuilder().registers(200).analyse(), "low_occupancy", 0, {"8 of 64 warps", "registers", "200"});
  EXPECT_EQ(KernelBuilder().registers(200).analyse().findings[0].basis, Basis::estimated);
  expect_only(KernelBuilder().shared(90 * 1024).analyse(), "low_occupancy", 0, {"16 of 64 warps", "92160 bytes"});
  expect_only(KernelBuilder().block(32).analyse(), "low_occupancy", 0, {"32 of 64 warps", "at least 64 threads"});
  expect_clean(KernelBuilder().registers(32).shared(8 * 1024).analyse());
}

TEST(Rules, SmallGrid) {
  expect_only(KernelBuilder().grid(16).analyse(), "small_grid", 0, {"16 blocks", "132 multiprocessors", "88 %"});
  expect_clean(KernelBuilder().grid(132).analyse());
}

TEST(Rules, LocalMemory) {
  expect_only(KernelBuilder().local_bytes(128).access(4, Space::local, AccessKind::load, 28, 4).analyse(),
              "local_memory", 4, {"128 bytes", "unrolling"});
}

TEST(Rules, AtomicContention) {
  const auto atomic = [](double per_request) {
    return KernelBuilder().access(6, Space::global, AccessKind::reduction, per_request, 4);
  };
  expect_only(atomic(32).analyse(), "atomic_contention", 6, {"32.0 separate accesses", "shuffles"});
  expect_clean(atomic(4).analyse());
}

TEST(Rules, SharedAtomicContention) {
  const auto atomic = [](double degree) {
    return KernelBuilder().access(6, Space::shared, AccessKind::atomic, degree, 1);
  };
  expect_only(atomic(5).analyse(), "shared_atomic_contention", 6, {"5.0 turns"});
  expect_clean(atomic(1).analyse());
}

TEST(Rules, DearestFindingComesFirst) {
  const KernelData kernel = load(32, 4).access(5, Space::shared, AccessKind::load, 2, 1).analyse();
  ASSERT_EQ(kernel.findings.size(), 2u);
  EXPECT_EQ(kernel.findings[0].rule, "uncoalesced");
  EXPECT_GT(kernel.findings[0].cost, kernel.findings[1].cost);
}

TEST(Explain, SumsLaunchesOfOneShape) {
  Explain explain(*isa::find_profile("h200"));
  load(4, 4).run(explain);
  load(4, 4).run(explain);
  load(4, 4).grid(7).run(explain);
  const auto kernels = explain.analyse();
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].launches, 2u);
  EXPECT_EQ(kernels[0].group(AccessGroup::global_load).counts.requests, 200000u);
  EXPECT_EQ(kernels[1].launches, 1u);
}

}  // namespace
}  // namespace warploom::observe::explain

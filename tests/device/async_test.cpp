// Asynchronous copies and mbarriers: what has been copied when a wait ends, who waits for whom, and misuse.
#include <cstring>

#include "ptx_test.hpp"

namespace {

using namespace warploom;
using namespace device_test;

class Async : public PtxTest {
 protected:
  static constexpr std::uint32_t kThreads = 96;

  // Each thread runs `copy` (from %rd4 to %r7), waits, and gives back the bytes of its neighbour.
  [[nodiscard]] static std::string copy_kernel(unsigned bytes, const std::string& copy, const std::string& wait) {
    const std::string size = std::to_string(bytes);
    std::string read, old;
    for (unsigned w = 0; w < bytes; w += 4) {
      const std::string at = std::to_string(w);
      old += "st.shared.u32 [%r7+" + at + "], 0x55555555;\n";
      read += "ld.shared.u32 %r10, [%r9+" + at + "];\nst.global.u32 [%rd6+" + at + "], %r10;\n";
    }
    return module_of(".shared .align 16 .b8 tile[4096];\nmov.u32 %r5, tile;\nmul.lo.u32 %r6, %r2, " + size +
                     ";\nadd.u32 %r7, %r5, %r6;\nmul.wide.u32 %rd5, %r2, " + size +
                     ";\nadd.s64 %rd4, %rd2, %rd5;\nadd.s64 %rd6, %rd1, %rd5;\n" + old + copy + "\n" + wait +
                     "\nbar.sync 0;\nxor.b32 %r8, %r6, " + size + ";\nadd.u32 %r9, %r5, %r8;\n" + read);
  }
  // What the neighbours' words are when thread t copies the first `valid(t)` of `bytes` bytes.
  template <class F>
  [[nodiscard]] static std::vector<std::uint32_t> copied(const std::vector<std::uint32_t>& in, unsigned bytes,
                                                         F valid) {
    std::vector<std::uint32_t> out(kThreads * bytes / 4);
    for (std::uint32_t t = 0; t < kThreads; ++t) {
      const std::uint32_t from = t ^ 1;
      std::vector<std::uint8_t> data(bytes, 0);
      std::memcpy(data.data(), in.data() + from * bytes / 4, valid(from));
      std::memcpy(out.data() + t * bytes / 4, data.data(), bytes);
    }
    return out;
  }
};
PTX_TEST_MODES(Async);

TEST_P(Async, CopiesOfEverySizeWithEveryWait) {
  const std::vector<std::uint32_t> in = random_words(kThreads * 4);
  for (const unsigned bytes : {4U, 8U, 16U})
    for (const char* wait : {"cp.async.wait_all;", "cp.async.commit_group;\ncp.async.wait_group 0;"}) {
      const std::string size = std::to_string(bytes);
      std::vector<std::string> copies{"cp.async.ca.shared.global [%r7], [%rd4], " + size + ";"};
      if (bytes == 16) copies.push_back("cp.async.cg.shared.global.L2::128B [%r7], [%rd4], 16;");
      for (const std::string& copy : copies)
        EXPECT_EQ(run(copy_kernel(bytes, copy, wait), {1, kThreads}, kThreads * bytes / 4, in),
                  copied(in, bytes, [&](std::uint32_t) { return bytes; }))
            << copy;
    }
}

TEST_P(Async, ShortSourcesAreFilledWithZeros) {
  const std::vector<std::uint32_t> in = random_words(kThreads * 4);
  for (const unsigned bytes : {4U, 8U, 16U}) {
    const std::string size = std::to_string(bytes), all = std::to_string(bytes + 1);
    const auto got =
        run(copy_kernel(bytes,
                        "rem.u32 %r12, %r2, " + all + ";\ncp.async.ca.shared.global [%r7], [%rd4], " + size + ", %r12;",
                        "cp.async.wait_all;"),
            {1, kThreads}, kThreads * bytes / 4, in);
    EXPECT_EQ(got, copied(in, bytes, [&](std::uint32_t t) { return t % (bytes + 1); }));
  }
  const auto none = run(copy_kernel(16, "cp.async.cg.shared.global [%r7], [%rd4], 16, 0;", "cp.async.wait_all;"),
                        {1, kThreads}, kThreads * 4, in);
  EXPECT_EQ(none, copied(in, 16, [](std::uint32_t) { return 0U; }));
}

TEST_P(Async, SourcesAreLeftOutAndLanesToo) {
  const std::vector<std::uint32_t> in = random_words(kThreads * 4);
  const auto ignored =
      run(copy_kernel(16, "setp.gt.u32 %p1, %r2, 40;\ncp.async.ca.shared.global [%r7], [%rd4], 16, %p1;",
                      "cp.async.wait_all;"),
          {1, kThreads}, kThreads * 4, in);
  EXPECT_EQ(ignored, copied(in, 16, [](std::uint32_t t) { return t > 40 ? 0U : 16U; }));
  // Lanes that a guard or a branch leaves out keep what was there.
  for (const char* copy : {"and.b32 %r12, %r2, 3;\nsetp.eq.u32 %p1, %r12, 1;\n"
                           "@%p1 cp.async.ca.shared.global [%r7], [%rd4], 16;",
                           "and.b32 %r12, %r2, 3;\nsetp.ne.u32 %p1, %r12, 1;\n@%p1 bra OVER;\nmov.u32 %r13, 16;\n"
                           "cp.async.ca.shared.global [%r7], [%rd4], 16, %r13;\nOVER:"}) {
    const auto some = run(copy_kernel(16, copy, "cp.async.wait_all;"), {1, kThreads}, kThreads * 4, in);
    for (std::uint32_t t = 0; t < kThreads; ++t)
      for (std::uint32_t w = 0; w < 4; ++w)
        EXPECT_EQ(some[t * 4 + w], (t ^ 1) % 4 == 1 ? in[(t ^ 1) * 4 + w] : 0x55555555) << t;
  }
}

TEST_P(Async, CopyPastTheArrayIsAnIllegalAddress) {
  for (const char* copy : {"cp.async.ca.shared.global [%r7], [%rd7], 16;",
                           "mov.u32 %r12, 16;\ncp.async.ca.shared.global [%r7], [%rd7], 16, %r12;"}) {
    const std::string what =
        error_of(copy_kernel(16, std::string("mov.u64 %rd7, 0x7000000000;\nadd.s64 %rd7, %rd4, %rd7;\n") + copy, ""),
                 {1, kThreads}, error_id::illegal_address);
    EXPECT_NE(what.find("test.ptx:"), std::string::npos) << what;
  }
  (void)error_of(copy_kernel(16, "add.s64 %rd4, %rd4, 8;\ncp.async.ca.shared.global [%r7], [%rd4], 16;", ""),
                 {1, kThreads}, error_id::misaligned_address, random_words(kThreads * 4));
}

const char* const kWait =
    "WAIT:\n"
    "mbarrier.test_wait.shared.b64 %p1, [bar], %rd10;\n"
    "@!%p1 bra WAIT;\n";

TEST_P(Async, AllThreadsArriveAndWait) {
  // In each phase a thread reads what another warp's thread wrote before it arrived.
  const std::string body =
      ".shared .align 8 .b64 bar;\n.shared .align 4 .b8 tile[1024];\n"
      "setp.ne.u32 %p2, %r2, 0;\n"
      "@!%p2 mbarrier.init.shared.b64 [bar], 128;\n"
      "bar.sync 0;\n"
      "mov.u32 %r5, tile;\nmad.lo.u32 %r6, %r2, 4, %r5;\n"
      "add.u32 %r7, %r2, 32;\nand.b32 %r7, %r7, 127;\nmad.lo.u32 %r7, %r7, 4, %r5;\n"
      "mov.u32 %r8, 0;\nmov.u32 %r9, %r2;\n"
      "LOOP:\n"
      "and.b32 %r11, %r8, 1;\nmul.lo.u32 %r11, %r11, 512;\nadd.u32 %r12, %r6, %r11;\nadd.u32 %r13, %r7, %r11;\n"
      "st.shared.u32 [%r12], %r9;\n"
      "mbarrier.arrive.shared.b64 %rd10, [bar];\n" +
      std::string(kWait) +
      "ld.shared.u32 %r9, [%r13];\n"
      "add.u32 %r9, %r9, 1;\n"
      "add.u32 %r8, %r8, 1;\n"
      "setp.lt.u32 %p3, %r8, 10;\n"
      "@%p3 bra LOOP;\n"
      "st.global.u32 [%rd3], %r9;\n";
  EXPECT_EQ(run(module_of(body), {2, 128}, 256),
            expected<std::uint32_t>(256, [](int i) { return (i % 128 + 32 * 10) % 128 + 10; }));
}

// One warp fills two buffers in turn, the others read them: both sides wait for the other by parity.
TEST_P(Async, ProducerAndConsumers) {
  const std::string body =
      ".shared .align 8 .b64 full[2];\n.shared .align 8 .b64 empty[2];\n.shared .align 16 .b8 tile[1024];\n"
      "setp.ne.u32 %p2, %r2, 0;\n@%p2 bra READY;\n"
      "mbarrier.init.shared::cta.b64 [full], 1;\nmbarrier.init.shared::cta.b64 [full+8], 1;\n"
      "mbarrier.init.shared::cta.b64 [empty], 64;\nmbarrier.init.shared::cta.b64 [empty+8], 64;\n"
      "fence.mbarrier_init.release.cluster;\n"
      "READY:\nbar.sync 0;\n"
      "mov.u32 %r10, full;\nmov.u32 %r11, empty;\nmov.u32 %r12, tile;\n"
      "mov.u32 %r8, 0;\nmov.u32 %r9, 0;\n"
      "setp.ge.u32 %p3, %r2, 64;\n"
      "LOOP:\n"
      "and.b32 %r13, %r8, 1;\nshr.u32 %r14, %r8, 1;\nand.b32 %r14, %r14, 1;\n"
      "mad.lo.u32 %r15, %r13, 8, %r10;\nmad.lo.u32 %r16, %r13, 8, %r11;\nmad.lo.u32 %r17, %r13, 512, %r12;\n"
      "@%p3 bra PRODUCE;\n"
      "CONSUMER_WAITS:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r15], %r14;\n"
      "@!%p1 bra CONSUMER_WAITS;\n"
      "mad.lo.u32 %r18, %r2, 4, %r17;\nld.shared.u32 %r19, [%r18];\nmad.lo.u32 %r9, %r9, 3, %r19;\n"
      "mbarrier.arrive.release.cta.shared::cta.b64 _, [%r16];\n"
      "bra NEXT;\n"
      "PRODUCE:\n"
      "setp.ne.u32 %p4, %r2, 64;\n@%p4 bra NEXT;\n"
      "xor.b32 %r20, %r14, 1;\n"
      "PRODUCER_WAITS:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r16], %r20, 1000;\n"
      "@!%p1 bra PRODUCER_WAITS;\n"
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r15], 256;\n"
      "mul.wide.u32 %rd5, %r8, 256;\nadd.s64 %rd5, %rd2, %rd5;\n"
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r17], [%rd5], 256, [%r15];\n"
      "NEXT:\n"
      "add.u32 %r8, %r8, 1;\nsetp.lt.u32 %p5, %r8, 7;\n@%p5 bra LOOP;\n"
      "st.global.u32 [%rd3], %r9;\n";
  const std::vector<std::uint32_t> in = random_words(64 * 7);
  const auto out = run(module_of(body), {3, 96}, 288, in);
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::uint32_t sum = 0;
    for (std::size_t k = 0; k < 7 && i % 96 < 64; ++k) sum = sum * 3 + in[k * 64 + i % 96];
    EXPECT_EQ(out[i], sum) << i;
  }
}

// cp.async tells an mbarrier when its copies are there.
TEST_P(Async, CopiesArriveAtAnMbarrier) {
  const std::vector<std::uint32_t> in = random_words(kThreads * 4);
  const std::string before =
      ".shared .align 8 .b64 bar;\nsetp.ne.u32 %p2, %r2, 0;\n"
      "@!%p2 mbarrier.init.shared.b64 [bar], 96;\nbar.sync 0;\n"
      "cp.async.ca.shared.global [%r7], [%rd4], 16;\n";
  for (const char* arrive : {"cp.async.mbarrier.arrive.noinc.shared.b64 [bar];\n"
                             "WAIT:\nmbarrier.test_wait.parity.shared.b64 %p1, [bar], 0;\n@!%p1 bra WAIT;\n",
                             "cp.async.mbarrier.arrive.shared.b64 [bar];\nmbarrier.arrive.shared.b64 %rd10, [bar];\n"
                             "WAIT:\nmbarrier.test_wait.shared.b64 %p1, [bar], %rd10;\n@!%p1 bra WAIT;\n"})
    EXPECT_EQ(run(copy_kernel(16, before, arrive), {1, kThreads}, kThreads * 4, in),
              copied(in, 16, [](std::uint32_t) { return 16U; }));
}

// One thread plays every part in turn; what tests say is put together as bits.
TEST_P(Async, PhasesAndCounts) {
  const std::string test = "selp.u32 %r11, 1, 0, %p1;\nshl.b32 %r10, %r10, 1;\nor.b32 %r10, %r10, %r11;\n";
  const auto parity = [&](const char* p) {
    return std::string("mbarrier.test_wait.parity.shared.b64 %p1, [bar], ") + p + ";\n" + test;
  };
  const auto state = [&](const char* s) {
    return std::string("mbarrier.test_wait.shared.b64 %p1, [bar], ") + s + ";\n" + test;
  };
  const std::string body =
      ".shared .align 8 .b64 bar;\nmov.u32 %r10, 0;\nsetp.ne.u32 %p2, %r2, 0;\n@%p2 bra END;\n"
      "mbarrier.init.shared.b64 [bar], 3;\n" +
      parity("0") + parity("1") +  // 0 1: the phase before the first counts as over
      "mbarrier.arrive.noComplete.shared.b64 %rd10, [bar], 2;\n" + state("%rd10") +     // 0
      "mbarrier.arrive.shared.b64 %rd11, [bar];\n" + state("%rd10") + state("%rd11") +  // 1 1
      parity("0") + parity("1") +                                                       // 1 0
      // A third of the threads leaves; two are enough from the next phase on.
      "mbarrier.arrive_drop.shared.b64 %rd12, [bar];\n" + state("%rd12") +     // 0
      "mbarrier.arrive.shared::cta.b64 _, [bar], 2;\n" + state("%rd12") +      // 1
      "mbarrier.arrive.shared::cta.b64 %rd13, [bar], 2;\n" + state("%rd13") +  // 1
      // Bytes count as well, in either order.
      "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [bar], 16;\n"
      "mbarrier.arrive.shared.b64 %rd14, [bar];\n"
      "mbarrier.arrive.shared.b64 %rd15, [bar];\n" +
      state("%rd14") +                                                                           // 0
      "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 24;\n" + state("%rd14") +           // 0
      "mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [bar], 8;\n" + state("%rd14") +  // 1
      "mbarrier.inval.shared.b64 [bar];\n"
      "mbarrier.pending_count.b64 %r12, %rd11;\nmbarrier.pending_count.b64 %r13, %rd15;\n"
      "shl.b32 %r12, %r12, 24;\nor.b32 %r10, %r10, %r12;\n"
      "shl.b32 %r13, %r13, 28;\nor.b32 %r10, %r10, %r13;\n"
      "END:\nst.global.u32 [%rd3], %r10;\n";
  EXPECT_EQ(run(module_of(body), {1, 32}, 1), std::vector<std::uint32_t>{0b01'0'11'10'011'001 | 1U << 24 | 1U << 28});
}

TEST_P(Async, MisuseIsExplained) {
  const auto error = [&](const std::string& body, int id) {
    return error_of(module_of(".shared .align 8 .b64 bar;\n.shared .align 8 .b64 zero;\n" + body), {1, 32}, id);
  };
  EXPECT_NE(error("st.shared.u64 [zero], 0;\nmbarrier.arrive.shared.b64 %rd10, [zero];\n", error_id::mbarrier_misuse)
                .find("mbarrier.init"),
            std::string::npos);
  EXPECT_NE(error("mov.u32 %r5, bar;\nmbarrier.init.shared.b64 [%r5+4], 1;\n", error_id::misaligned_address).size(),
            0u);
  EXPECT_NE(error("mbarrier.init.shared.b64 [bar], %r1;\n", error_id::mbarrier_misuse).find("0 arrivals"),
            std::string::npos);
  EXPECT_NE(error("mbarrier.init.b64 [%rd1], 1;\n", error_id::illegal_address).find("shared memory"),
            std::string::npos);
  EXPECT_NE(error("mbarrier.init.shared.b64 [bar], 1;\nmbarrier.arrive.shared::cta.b64 _, [bar], 2;\n",
                  error_id::mbarrier_misuse)
                .find("2 arrivals"),
            std::string::npos);
  EXPECT_NE(error("cp.async.wait_group %r1;\n", error_id::ptx_invalid).find("cp"), std::string::npos);
  EXPECT_NE(error("cp.async.cg.shared.global [bar], [%rd2], 8;\n", error_id::ptx_invalid).find("16"),
            std::string::npos);
  EXPECT_NE(error("cp.async.ca.shared.global [bar], [%rd2], 12;\n", error_id::ptx_invalid).find("4, 8 or 16"),
            std::string::npos);
}

TEST_P(Async, BulkCopiesBothWaysAndReductions) {
  const std::vector<std::uint32_t> in = random_words(64);
  const std::string body =
      ".shared .align 8 .b64 bar;\n.shared .align 16 .b8 tile[256];\n.shared .align 16 .b8 other[256];\n"
      "setp.ne.u32 %p2, %r2, 0;\n@%p2 bra END;\n"
      "mbarrier.init.shared.b64 [bar], 1;\n"
      "mov.u32 %r5, tile;\nmov.u32 %r6, other;\n"
      "mbarrier.arrive.expect_tx.shared.b64 %rd10, [bar], 256;\n"
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r5], [%rd2], 256, [bar];\n" +
      std::string(kWait) +
      "mbarrier.arrive.expect_tx.shared.b64 %rd10, [bar], 256;\n"
      "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r6], [%r5], 256, [bar];\n"
      "AGAIN:\nmbarrier.test_wait.shared.b64 %p1, [bar], %rd10;\n@!%p1 bra AGAIN;\n"
      "cp.async.bulk.prefetch.L2.global [%rd2], 256;\n"
      "fence.proxy.async.shared::cta;\n"
      "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r6], 256;\n"
      "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r5], 128;\n"
      "cp.reduce.async.bulk.global.shared::cta.bulk_group.max.s32 [%rd1+128], [%r5], 128;\n"
      "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;\ncp.async.bulk.wait_group 0;\n"
      "END:\n";
  const auto out = run(module_of(body), {1, 64}, 64, in);
  for (std::size_t i = 0; i < 64; ++i) {
    const auto larger = [&] {
      return std::max(static_cast<std::int32_t>(in[i]), static_cast<std::int32_t>(in[i - 32]));
    };
    EXPECT_EQ(out[i], i < 32 ? in[i] * 2 : static_cast<std::uint32_t>(larger())) << i;
  }
}

}  // namespace

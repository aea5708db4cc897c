// Clusters, distributed shared memory, barriers of clusters and grids, and the special registers that speak of them.
#include "ptx_test.hpp"

namespace {

using namespace warploom;
using namespace device_test;

class Clusters : public PtxTest {
 protected:
  [[nodiscard]] static LaunchConfig config(Dim3 grid, Dim3 block, Dim3 cluster) {
    LaunchConfig c{grid, block};
    c.cluster = cluster;
    return c;
  }
};
PTX_TEST_MODES(Clusters);

// Each block writes to its own shared memory and reads that of the next rank, three ways.
TEST_P(Clusters, BlocksReadEachOthersSharedMemory) {
  const std::string body =
      ".shared .align 4 .b8 tile[256];\n"
      "mov.u32 %r10, tile;\nmov.u32 %r11, %cluster_ctarank;\nmov.u32 %r12, %cluster_nctarank;\n"
      "mad.lo.u32 %r13, %r2, 4, %r10;\nmad.lo.u32 %r14, %r3, 3, 5;\nst.shared.u32 [%r13], %r14;\n"
      "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
      "add.u32 %r15, %r11, 1;\nrem.u32 %r15, %r15, %r12;\n"
      "mapa.shared::cluster.u32 %r16, %r13, %r15;\nld.shared::cluster.u32 %r17, [%r16];\n"
      "cvt.u64.u32 %rd10, %r13;\ncvta.shared.u64 %rd11, %rd10;\nmapa.u64 %rd12, %rd11, %r15;\nld.u32 %r18, [%rd12];\n"
      "mapa.shared::cluster.u32 %r19, %r10, %r15;\nmad.lo.u32 %r19, %r2, 4, %r19;\nld.shared::cluster.u32 %r20, "
      "[%r19];\n"
      // Ranks from addresses: 1 for each that is right.
      "getctarank.shared::cluster.u32 %r21, %r16;\nsetp.eq.u32 %p1, %r21, %r15;\n@!%p1 add.u32 %r17, %r17, 1000;\n"
      "getctarank.u64 %r21, %rd12;\nsetp.eq.u32 %p1, %r21, %r15;\n@!%p1 add.u32 %r17, %r17, 2000;\n"
      "getctarank.shared::cluster.u32 %r21, %r13;\nsetp.eq.u32 %p1, %r21, %r11;\n@!%p1 add.u32 %r17, %r17, 4000;\n"
      "setp.eq.u32 %p1, %r17, %r18;\n@!%p1 add.u32 %r17, %r17, 8000;\n"
      "setp.eq.u32 %p1, %r17, %r20;\n@!%p1 add.u32 %r17, %r17, 16000;\n"
      "barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\n"
      "st.global.u32 [%rd3], %r17;\n";
  EXPECT_EQ(run(module_of(body), config(12, 64, 4), 12 * 64), expected<std::uint32_t>(12 * 64, [](int i) {
              const int block = i / 64, next = block / 4 * 4 + (block + 1) % 4;
              return (next * 64 + i % 64) * 3 + 5;
            }));
}

// Sums over the cluster by atomics on rank 0's memory, many phases, with a part of the warp at times.
TEST_P(Clusters, AtomicsAndManyPhases) {
  const std::string body =
      ".shared .align 4 .u32 sum;\n"
      "setp.ne.u32 %p2, %r2, 0;\n@!%p2 st.shared.u32 [sum], 0;\n"
      "mov.u32 %r10, sum;\nmapa.shared::cluster.u32 %r11, %r10, 0;\nmov.u32 %r12, 0;\nmov.u32 %r15, 0;\n"
      "barrier.cluster.arrive;\nbarrier.cluster.wait;\n"
      "LOOP:\n"
      "add.u32 %r13, %r2, %r12;\nand.b32 %r13, %r13, 3;\nsetp.ne.u32 %p3, %r13, 0;\n@%p3 bra SKIP;\n"
      "red.relaxed.cluster.shared::cluster.add.u32 [%r11], 1;\n"
      "SKIP:\n"
      "barrier.cluster.arrive.release;\nadd.u32 %r12, %r12, 1;\nbarrier.cluster.wait.acquire;\n"
      "ld.shared::cluster.u32 %r14, [%r11];\nadd.u32 %r15, %r15, %r14;\n"
      "barrier.cluster.arrive;\nbarrier.cluster.wait;\n"
      "setp.lt.u32 %p4, %r12, 5;\n@%p4 bra LOOP;\n"
      "st.global.u32 [%rd3], %r15;\n";
  // 96 threads in each of 3 blocks: a quarter of them adds in each phase.
  EXPECT_EQ(run(module_of(body), config(6, 96, 3), 6 * 96),
            std::vector<std::uint32_t>(6 * 96, 72 * (1 + 2 + 3 + 4 + 5)));
}

TEST_P(Clusters, RemoteMbarriersStoresAndCopies) {
  const std::vector<std::uint32_t> in = random_words(64);
  // Each block waits at its own mbarrier for what the other block of the pair sends.
  const std::string body =
      ".shared .align 8 .b64 bar;\n.shared .align 16 .b8 tile[512];\n.shared .align 16 .b8 own[128];\n"
      "mov.u32 %r10, bar;\nmov.u32 %r11, tile;\nmov.u32 %r12, own;\nmov.u32 %r13, %cluster_ctarank;\nxor.b32 %r14, "
      "%r13, 1;\n"
      "setp.ne.u32 %p2, %r2, 0;\n@!%p2 mbarrier.init.shared.b64 [bar], 32;\n"
      "mad.lo.u32 %r15, %r2, 4, %r12;\nmad.lo.u32 %r16, %r3, 7, 1;\nst.shared.u32 [%r15], %r16;\n"
      "st.shared.u32 [tile+64], 0;\n"
      "fence.mbarrier_init.release.cluster;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n"
      // 32 st.async of 8 bytes, one copy of 128 bytes, 32 reductions of 4 bytes.
      "@!%p2 mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 512;\n"
      "mbarrier.arrive.shared::cta.b64 _, [bar];\n"
      "mapa.shared::cluster.u32 %r17, %r11, %r14;\nmapa.shared::cluster.u32 %r18, %r10, %r14;\n"
      "add.u32 %r19, %r2, 100;\nmad.lo.u32 %r20, %r2, 8, %r17;\n"
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.u32 [%r20+128], {%r16, %r19}, [%r18];\n"
      "@!%p2 cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r17], [%r12], 128, [%r18];\n"
      "red.async.relaxed.cluster.add.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r17+384], %r2, [%r18];\n"
      "WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;\n@!%p1 bra WAIT;\n"
      "mad.lo.u32 %r21, %r2, 4, %r11;\nld.shared.u32 %r22, [%r21];\n"
      "mad.lo.u32 %r23, %r2, 8, %r11;\nld.shared.v2.u32 {%r24, %r25}, [%r23+128];\n"
      "setp.ne.u32 %p3, %r22, %r24;\n@%p3 add.u32 %r22, %r22, 10000;\n"
      "setp.ne.u32 %p3, %r25, %r19;\n@%p3 add.u32 %r22, %r22, 20000;\n"
      "ld.shared.u32 %r26, [tile+384];\n"
      "add.u32 %r22, %r22, %r26;\n"
      "barrier.cluster.arrive;\nbarrier.cluster.wait;\n"
      "st.global.u32 [%rd3], %r22;\n";
  const auto out =
      run(module_of("mov.u32 %r30, tile2;\n" + body, ".shared .align 16 .b8 tile2[16];\n"), config(4, 32, 2), 128);
  // What lies at tile+384 first is not known: compare the differences.
  for (int i = 0; i < 128; ++i) {
    const int from = (i / 32 ^ 1) * 32 + i % 32;
    EXPECT_EQ(out[static_cast<std::size_t>(i)] - out[static_cast<std::size_t>(i / 32 * 32)],
              static_cast<std::uint32_t>((from - (i / 32 ^ 1) * 32) * 7))
        << i;
  }
}

TEST_P(Clusters, ACopyGoesToSeveralBlocks) {
  const std::vector<std::uint32_t> in = random_words(32);
  const std::string body =
      ".shared .align 8 .b64 bar;\n.shared .align 16 .b8 tile[128];\n"
      "mov.u32 %r10, bar;\nmov.u32 %r11, tile;\nmov.u32 %r12, %cluster_ctarank;\n"
      "setp.ne.u32 %p2, %r2, 0;\n@%p2 bra READY;\n"
      "mbarrier.init.shared.b64 [bar], 1;\nmbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 128;\n"
      "READY:\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\n"
      "setp.ne.u32 %p3, %r12, 2;\n@%p3 bra OVER;\n@%p2 bra OVER;\nmov.u16 %h1, 15;\n"
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r11], [%rd2], 128, "
      "[%r10], "
      "%h1;\n"
      "OVER:\nWAIT:\nmbarrier.try_wait.parity.shared::cta.b64 %p1, [bar], 0;\n@!%p1 bra WAIT;\n"
      "mad.lo.u32 %r13, %r2, 4, %r11;\nld.shared.u32 %r14, [%r13];\nst.global.u32 [%rd3], %r14;\n";
  const auto out = run(module_of(body), config(4, 32, 4), 128, in);
  for (std::size_t i = 0; i < 128; ++i) EXPECT_EQ(out[i], in[i % 32]) << i;
}

// The kernel itself may ask for clusters; without any, a cluster is one block. As the GPU has it.
TEST_P(Clusters, SpecialRegisters) {
  const std::vector<std::string> registers{
      "%clusterid.x",      "%clusterid.y",       "%nclusterid.x",     "%nclusterid.y",
      "%cluster_ctaid.x",  "%cluster_ctaid.y",   "%cluster_nctaid.x", "%cluster_nctaid.y",
      "%cluster_nctaid.z", "%cluster_ctarank",   "%cluster_nctarank", "%total_smem_size",
      "%aggr_smem_size",   "%dynamic_smem_size", "%nwarpid",          "%nsmid"};
  const auto body = [&](const std::string& at) {
    std::string text = ".shared .align 4 .b8 tile[1000];\nst.shared.u32 [tile], %r2;\n" + at;
    for (std::size_t k = 0; k < registers.size(); ++k)
      text += "mov.u32 %r10, " + registers[k] + ";\nst.global.u32 [%rd4+" + std::to_string(k * 4) + "], %r10;\n";
    return text +
           "mov.pred %p1, %is_explicit_cluster;\nselp.u32 %r10, 1, 0, %p1;\nst.global.u32 [%rd4+64], %r10;\n"
           "OVER:\n";
  };
  // Of block (3,1), by its first thread.
  const std::string last =
      "mov.u32 %r11, %ctaid.x;\nmov.u32 %r12, %ctaid.y;\nsetp.ne.u32 %p1, %r11, 3;\n@%p1 bra OVER;\n"
      "setp.ne.u32 %p1, %r12, 1;\n@%p1 bra OVER;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra OVER;\nmov.u64 %rd4, %rd1;\n";
  using Words = std::vector<std::uint32_t>;
  const Words clustered{1, 0, 2, 2, 1, 1, 2, 2, 1, 3, 4, 1024, 2024, 0, 64, 132, 1};
  EXPECT_EQ(run(module_of(body(last)), config({4, 4}, 32, {2, 2}), 17),
            (Words{1, 0, 2, 2, 1, 1, 2, 2, 1, 3, 4, 1024, 2024, 0, 64, 132, 1}));
  EXPECT_EQ(run(module_of(body(last)), {{4, 4}, 32}, 17),
            (Words{3, 1, 4, 4, 0, 0, 1, 1, 1, 0, 1, 1024, 2024, 0, 64, 132, 0}));
  std::string own = module_of(body(last));
  own.replace(own.find(".param .u32 n)") + 14, 0, "\n.reqnctapercluster 2, 2, 1\n");
  EXPECT_EQ(run(own, {{4, 4}, 32}, 17), clustered);
}

TEST_P(Clusters, WrongClustersAreRefused) {
  const std::string text = module_of("st.global.u32 [%rd3], %r3;\n");
  EXPECT_NE(error_of(text, config(6, 32, 4), error_id::launch_dimensions).find("multiple"), std::string::npos);
  EXPECT_NE(error_of(text, config(32, 32, 32), error_id::launch_dimensions).find("16"), std::string::npos);
  EXPECT_NE(error_of(module_of(".shared .u32 x;\nmov.u32 %r10, x;\nmapa.shared::cluster.u32 %r11, %r10, 2;\n"
                               "st.global.u32 [%rd3], %r11;\n"),
                     config(2, 32, 2), error_id::illegal_address)
                .find("rank 2"),
            std::string::npos);
}

// Where an address lies; the answers are those of the GPU.
TEST_P(Clusters, SpacesOfAddresses) {
  const std::string before = ".const .align 4 .u32 c0 = 5;\n.global .align 4 .u32 g0;\n";
  std::string body =
      ".shared .align 4 .u32 s0;\n.local .align 4 .u32 l0;\nmov.u64 %rd10, c0;\ncvta.const.u64 %rd10, %rd10;\n"
      "mov.u64 %rd11, g0;\ncvta.global.u64 %rd11, %rd11;\nmov.u64 %rd12, s0;\ncvta.shared.u64 %rd12, %rd12;\n"
      "mov.u64 %rd13, l0;\ncvta.local.u64 %rd13, %rd13;\nmov.u64 %rd14, out;\ncvta.param.u64 %rd14, %rd14;\n"
      "mov.u64 %rd15, %rd1;\nmov.u64 %rd16, 0;\nsetp.ne.u32 %p2, %r2, 33;\n@%p2 bra OVER;\n";
  int words = 0;
  for (int r = 10; r < 17; ++r)
    for (const char* space :
         {"const", "global", "local", "shared", "shared::cta", "shared::cluster", "param", "param::entry"})
      body += std::string("isspacep.") + space + " %p1, %rd" + std::to_string(r) +
              ";\nselp.u32 %r10, 1, 0, %p1;\nst.global.u32 [%rd1+" + std::to_string(words++ * 4) + "], %r10;\n";
  const std::vector<std::uint32_t> hardware{1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                                            1, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0,
                                            1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(run(module_of(body + "OVER:\n", before), {1, 64}, 56), hardware);
}

// The barrier of a cooperative grid as CUDA's headers write it: a word in the workspace of %envreg1 and %envreg2.
TEST_P(Clusters, GridBarrierInTheWorkspace) {
  const std::string sync =
      "barrier.sync 0;\nsetp.ne.u32 %p2, %r2, 0;\n@%p2 bra WAITED#;\n"
      "mov.u32 %r10, %envreg1;\nmov.u32 %r11, %envreg2;\nmov.b64 %rd10, {%r11, %r10};\n"
      "mov.u32 %r12, %ctaid.x;\nmov.u32 %r13, %nctaid.x;\nsetp.eq.u32 %p3, %r12, 0;\nsub.u32 %r14, 0x80000001, %r13;\n"
      "selp.u32 %r14, %r14, 1, %p3;\nfence.acq_rel.gpu;\natom.add.u32 %r15, [%rd10+4], %r14;\n"
      "SPIN#:\nld.volatile.u32 %r16, [%rd10+4];\nxor.b32 %r17, %r15, %r16;\nsetp.ge.s32 %p4, %r17, 0;\n@%p4 bra "
      "SPIN#;\n"
      "fence.acq_rel.gpu;\nWAITED#:\nbarrier.sync 0;\n";
  const auto synchronise = [&](const std::string& n) {
    std::string text = sync;
    for (std::size_t at = text.find('#'); at != std::string::npos; at = text.find('#')) text.replace(at, 1, n);
    return text;
  };
  const std::string body = "add.u32 %r20, %r3, 1;\nst.global.u32 [%rd3], %r20;\n" + synchronise("1") +
                           // The neighbour block's word.
                           "add.u32 %r21, %r3, 32;\nrem.u32 %r21, %r21, 256;\nmul.wide.u32 %rd11, %r21, 4;\n"
                           "add.s64 %rd11, %rd1, %rd11;\nld.global.u32 %r22, [%rd11];\n" +
                           synchronise("2") + "st.global.u32 [%rd3], %r22;\n";
  LaunchConfig cooperative{8, 32};
  cooperative.cooperative = true;
  for (int round = 0; round < 3; ++round)
    EXPECT_EQ(run(module_of(body), cooperative, 256),
              expected<std::uint32_t>(256, [](int i) { return (i + 32) % 256 + 1; }));
  EXPECT_EQ(run(module_of("mov.u32 %r10, %envreg1;\nmov.u32 %r11, %envreg2;\nor.b32 %r10, %r10, %r11;\n"
                          "st.global.u32 [%rd3], %r10;\n"),
                {1, 32}, 32),
            std::vector<std::uint32_t>(32, 0));
}

// The functions that Numba calls for it.
TEST_P(Clusters, GridBarrierByFunctions) {
  const std::string before =
      ".extern .func (.param .b64 r) cudaCGGetIntrinsicHandle(.param .b32 scope);\n"
      ".extern .func (.param .b32 r) cudaCGSynchronize(.param .b64 handle, .param .b32 flags);\n";
  const auto sync = std::string(
      "{ .param .b64 h; .param .b32 f; .param .b32 r;\nst.param.b64 [h], %rd20;\nst.param.b32 [f], 0;\n"
      "call.uni (r), cudaCGSynchronize, (h, f);\nld.param.b32 %r25, [r]; }\n");
  const std::string body =
      "{ .param .b32 s; .param .b64 h;\nst.param.b32 [s], 1;\ncall.uni (h), cudaCGGetIntrinsicHandle, (s);\n"
      "ld.param.b64 %rd20, [h]; }\n"
      "add.u32 %r20, %r3, 1;\nst.global.u32 [%rd3], %r20;\n" +
      sync +
      "add.u32 %r21, %r3, 32;\nrem.u32 %r21, %r21, 256;\nmul.wide.u32 %rd11, %r21, 4;\n"
      "add.s64 %rd11, %rd1, %rd11;\nld.global.u32 %r22, [%rd11];\n" +
      sync + "add.u32 %r22, %r22, %r25;\nst.global.u32 [%rd3], %r22;\n";
  LaunchConfig cooperative{8, 32};
  cooperative.cooperative = true;
  EXPECT_EQ(run(module_of(body, before), cooperative, 256),
            expected<std::uint32_t>(256, [](int i) { return (i + 32) % 256 + 1; }));
}

}  // namespace

// Real calls: functions that call themselves, each other, or through a table; memory of a thread's stack.
#include <functional>
#include <numeric>

#include "ptx_test.hpp"

namespace {

using namespace warploom;
using namespace device_test;

class Stack : public PtxTest {};
PTX_TEST_MODES(Stack);

const char* const kFibonacci =
    ".func (.param .b32 r) fib(.param .b32 n)\n{\n"
    ".reg .b32 %r<8>; .reg .pred %p;\n"
    "ld.param.u32 %r1, [n];\n"
    "setp.lt.u32 %p, %r1, 2;\n"
    "mov.u32 %r4, %r1;\n"
    "@%p bra DONE;\n"
    "sub.u32 %r2, %r1, 1;\n"
    "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r2; call.uni (b), fib, (a); ld.param.b32 %r3, [b]; }\n"
    "sub.u32 %r2, %r1, 2;\n"
    "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r2; call.uni (b), fib, (a); ld.param.b32 %r4, [b]; }\n"
    "add.u32 %r4, %r3, %r4;\n"
    "DONE:\n"
    "st.param.b32 [r], %r4;\nret;\n}\n";

std::uint32_t fib(std::uint32_t n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

// Lanes go to different depths and meet again.
TEST_P(Stack, RecursionToADepthOfEachLane) {
  const std::string body =
      "and.b32 %r10, %r2, 7;\n"
      "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r10; call.uni (b), fib, (a); ld.param.b32 %r11, [b]; }\n"
      "bar.warp.sync 0xffffffff;\n"
      "st.global.u32 [%rd3], %r11;\n";
  EXPECT_EQ(run(module_of(body, kFibonacci), {2, 64}, 128),
            expected<std::uint32_t>(128, [](int i) { return fib(static_cast<std::uint32_t>(i) & 7); }));
  // All lanes alike, and in a loop.
  const std::string same =
      "mov.u32 %r12, 0;\nmov.u32 %r13, 0;\n"
      "LOOP:\n"
      "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r12; call.uni (b), fib, (a); ld.param.b32 %r11, [b]; }\n"
      "add.u32 %r13, %r13, %r11;\nadd.u32 %r12, %r12, 1;\nsetp.lt.u32 %p1, %r12, 8;\n@%p1 bra LOOP;\n"
      "bar.sync 0;\n"
      "st.global.u32 [%rd3], %r13;\n";
  EXPECT_EQ(run(module_of(same, kFibonacci), {1, 70}, 70), std::vector<std::uint32_t>(70, 33));
}

// Two functions in turn, with an array of their own, whose address goes to the next call.
TEST_P(Stack, MutualRecursionWithArraysOfTheirOwn) {
  const auto function = [](const char* name, const char* other, const char* step) {
    return std::string(".func (.param .b64 r) ") + name +
           "(.param .b32 n, .param .b64 last)\n{\n"
           ".local .align 8 .b8 own[16];\n"
           ".reg .b32 %r<6>; .reg .b64 %rd<8>; .reg .pred %p;\n"
           "ld.param.u32 %r1, [n];\nld.param.u64 %rd1, [last];\n"
           "ld.u64 %rd2, [%rd1];\n"
           "setp.eq.u32 %p, %r1, 0;\n@%p bra DONE;\n" +
           "mad.lo.u64 %rd2, %rd2, " + step +
           ", 1;\n"
           "mov.u64 %rd3, own;\ncvta.local.u64 %rd3, %rd3;\nst.u64 [%rd3], %rd2;\nst.local.u64 [own+8], %rd1;\n"
           "sub.u32 %r2, %r1, 1;\n"
           "{ .param .b32 a; .param .b64 b; .param .b64 c;\nst.param.b32 [a], %r2;\nst.param.b64 [b], %rd3;\n"
           "call.uni (c), " +
           other +
           ", (a, b);\nld.param.b64 %rd4, [c]; }\n"
           "ld.local.u64 %rd5, [own];\nld.local.u64 %rd6, [own+8];\n"
           // Both must be as they were.
           "setp.ne.u64 %p, %rd5, %rd2;\n@%p add.u64 %rd4, %rd4, 1000000;\n"
           "setp.ne.u64 %p, %rd6, %rd1;\n@%p add.u64 %rd4, %rd4, 1000000;\n"
           "add.u64 %rd2, %rd4, %rd5;\n"
           "DONE:\nst.param.b64 [r], %rd2;\nret;\n}\n";
  };
  const std::string before = ".func (.param .b64 r) odd(.param .b32 n, .param .b64 last);\n" +
                             function("even", "odd", "3") + function("odd", "even", "5");
  const std::string body =
      ".local .align 8 .b8 start[8];\n"
      "cvt.u64.u32 %rd4, %r2;\nst.local.u64 [start], %rd4;\n"
      "mov.u64 %rd5, start;\ncvta.local.u64 %rd5, %rd5;\nrem.u32 %r10, %r2, 6;\n"
      "{ .param .b32 a; .param .b64 b; .param .b64 c;\nst.param.b32 [a], %r10;\nst.param.b64 [b], %rd5;\n"
      "call.uni (c), even, (a, b);\nld.param.b64 %rd6, [c]; }\n"
      "cvt.u32.u64 %r11, %rd6;\nst.global.u32 [%rd3], %r11;\n";
  const auto expect = [](std::uint32_t t) {
    std::uint64_t last = t, sum = 0;
    for (std::uint32_t k = 0; k < t % 6; ++k) {
      last = last * (k % 2 == 0 ? 3 : 5) + 1;
      sum += last;
    }
    return static_cast<std::uint32_t>(sum + last);
  };
  EXPECT_EQ(run(module_of(body, before), {1, 96}, 96),
            expected<std::uint32_t>(96, [&](int i) { return expect(static_cast<std::uint32_t>(i)); }));
}

// A pointer to a function that calls itself through a pointer.
TEST_P(Stack, RecursionThroughPointers) {
  const std::string before =
      ".func (.param .b32 r) down(.param .b64 f, .param .b32 n)\n{\n"
      ".reg .b32 %r<6>; .reg .b64 %rd<4>; .reg .pred %p;\n"
      "ld.param.u64 %rd1, [f];\nld.param.u32 %r1, [n];\nmov.u32 %r3, 0;\n"
      "setp.eq.u32 %p, %r1, 0;\n@%p bra DONE;\nsub.u32 %r2, %r1, 1;\n"
      "{ .param .b64 a; .param .b32 b; .param .b32 c;\nst.param.b64 [a], %rd1;\nst.param.b32 [b], %r2;\n"
      "proto: .callprototype (.param .b32 _) _ (.param .b64 _, .param .b32 _);\n"
      "call (c), %rd1, (a, b), proto;\nld.param.b32 %r3, [c]; }\n"
      "add.u32 %r3, %r3, %r1;\n"
      "DONE:\nst.param.b32 [r], %r3;\nret;\n}\n";
  const std::string body =
      "mov.u64 %rd5, down;\nand.b32 %r10, %r2, 15;\n"
      "{ .param .b64 a; .param .b32 b; .param .b32 c;\nst.param.b64 [a], %rd5;\nst.param.b32 [b], %r10;\n"
      "call.uni (c), down, (a, b);\nld.param.b32 %r11, [c]; }\n"
      "st.global.u32 [%rd3], %r11;\n";
  EXPECT_EQ(run(module_of(body, before), {1, 64}, 64),
            expected<std::uint32_t>(64, [](int i) { return (i & 15) * ((i & 15) + 1) / 2; }));
  const std::string what =
      error_of(module_of("mov.u64 %rd5, 12345;\n"
                         "{ .param .b64 a; .param .b32 b; .param .b32 c;\n"
                         "st.param.b64 [a], %rd5;\nst.param.b32 [b], %r2;\n"
                         "proto: .callprototype (.param .b32 _) _ (.param .b64 _, .param .b32 _);\n"
                         "call (c), %rd5, (a, b), proto;\n}\n",
                         before),
               {1, 32}, error_id::device_trap);
  EXPECT_NE(what.find("no function"), std::string::npos) << what;
}

// Every function of a tree calls the one below it twice, so that inlining would copy the lowest a thousand times.
TEST_P(Stack, LargeTreesOfCallsStandOnce) {
  if (GetParam() != Code::interpreted && GetParam() != Code::unoptimised) GTEST_SKIP() << "takes long to optimise";
  constexpr unsigned kDepth = 10;
  std::string functions =
      ".shared .u32 met[64];\n"
      ".func (.param .b32 r) f0(.param .b32 x)\n{\n.reg .b32 %a<4>; .reg .pred %odd;\nld.param.b32 %a1, [x];\n"
      "and.b32 %a2, %a1, 1;\nsetp.ne.u32 %odd, %a2, 0;\n@%odd bra ODD;\nsub.u32 %a1, %a1, 1;\nbra DONE;\n"
      "ODD: mul.lo.u32 %a1, %a1, 7;\nDONE: st.param.b32 [r], %a1;\nret;\n}\n";
  for (unsigned i = 1; i <= kDepth; ++i) {
    const std::string below = "f" + std::to_string(i - 1), number = std::to_string(i);
    // Some levels meet at a barrier, between a store and a load of another thread's word.
    const std::string meet = i % 4 != 0 ? ""
                                        : "mov.u32 %a4, %tid.x;\nshl.b32 %a4, %a4, 2;\nmov.u32 %a5, met;\n"
                                          "add.u32 %a4, %a4, %a5;\nst.shared.u32 [%a4], %a1;\nbar.sync 0;\n"
                                          "sub.u32 %a4, %a4, %a5;\nxor.b32 %a4, %a4, 252;\nadd.u32 %a4, %a4, %a5;\n"
                                          "ld.shared.u32 %a4, [%a4];\nbar.sync 0;\nadd.u32 %a1, %a1, %a4;\n";
    functions += ".func (.param .b32 r) f" + number + "(.param .b32 x)\n{\n.reg .b32 %a<6>;\nld.param.b32 %a1, [x];\n" +
                 meet + "mad.lo.u32 %a2, %a1, 3, " + number +
                 ";\n{\n.param .b32 p; .param .b32 q;\nst.param.b32 [p], %a2;\ncall (q), " + below +
                 ", (p);\nld.param.b32 %a2, [q];\n}\nxor.b32 %a3, %a1, " + number +
                 ";\n{\n.param .b32 p; .param .b32 q;\nst.param.b32 [p], %a3;\ncall (q), " + below +
                 ", (p);\nld.param.b32 %a3, [q];\n}\nmad.lo.u32 %a2, %a3, 5, %a2;\nst.param.b32 [r], %a2;\nret;\n}\n";
  }
  const std::string text = module_of(
      "{\n.param .b32 p; .param .b32 q;\nst.param.b32 [p], %r2;\ncall (q), f10, (p);\n"
      "ld.param.b32 %r5, [q];\n}\nst.global.u32 [%rd3], %r5;\n",
      functions);
  using Values = std::vector<std::uint32_t>;
  const std::function<Values(unsigned, Values)> f = [&](unsigned i, Values x) {
    if (i == 0) {
      for (std::uint32_t& v : x) v = (v & 1) != 0 ? v * 7 : v - 1;
      return x;
    }
    if (i % 4 == 0) {
      const Values before = x;
      for (std::size_t t = 0; t < x.size(); ++t) x[t] += before[t ^ 63];
    }
    Values a = x, b = x;
    for (std::uint32_t& v : a) v = v * 3 + i;
    for (std::uint32_t& v : b) v ^= i;
    a = f(i - 1, a);
    b = f(i - 1, b);
    for (std::size_t t = 0; t < a.size(); ++t) a[t] += b[t] * 5;
    return a;
  };
  Values all(64);
  std::iota(all.begin(), all.end(), 0U);
  EXPECT_EQ(run(text, {1, 64}, 64), f(kDepth, all));
}

TEST_P(Stack, OverflowIsAnErrorOfItsOwn) {
  const std::string before =
      ".func endless(.param .b32 n)\n{\n.reg .b32 %r<4>;\nld.param.u32 %r1, [n];\nadd.u32 %r2, %r1, 1;\n"
      "{ .param .b32 a; st.param.b32 [a], %r2; call.uni endless, (a); }\nret;\n}\n";
  const std::string what =
      error_of(module_of("setp.ne.u32 %p1, %r2, 37;\n@%p1 bra OVER;\n"
                         "{ .param .b32 a; st.param.b32 [a], %r2; call.uni endless, (a); }\nOVER:\n",
                         before),
               {1, 64}, error_id::stack_overflow);
  EXPECT_NE(what.find("thread (37,0,0)"), std::string::npos) << what;
  EXPECT_NE(what.find("bytes of a thread's stack"), std::string::npos) << what;
}

TEST_P(Stack, AllocatesAtRunTime) {
  const std::string before =
      ".func (.param .b32 r) sum(.param .b32 n)\n{\n"
      ".reg .b32 %r<10>; .reg .b64 %rd<8>; .reg .pred %p;\n"
      "ld.param.u32 %r1, [n];\ncvt.u64.u32 %rd1, %r1;\nshl.b64 %rd2, %rd1, 2;\n"
      "alloca.u64 %rd3, %rd2, 16;\n"
      "and.b64 %rd4, %rd3, 15;\ncvt.u32.u64 %r7, %rd4;\n"
      "mov.u32 %r2, 0;\n"
      "FILL:\nsetp.ge.u32 %p, %r2, %r1;\n@%p bra FILLED;\n"
      "mul.wide.u32 %rd5, %r2, 4;\nadd.s64 %rd5, %rd3, %rd5;\nst.local.u32 [%rd5], %r2;\nadd.u32 %r2, %r2, 1;\nbra "
      "FILL;\n"
      "FILLED:\nmov.u32 %r2, 0;\nmov.u32 %r3, %r7;\n"
      "SUM:\nsetp.ge.u32 %p, %r2, %r1;\n@%p bra DONE;\n"
      "mul.wide.u32 %rd5, %r2, 4;\nadd.s64 %rd5, %rd3, %rd5;\nld.local.u32 %r4, [%rd5];\nadd.u32 %r3, %r3, %r4;\n"
      "add.u32 %r2, %r2, 1;\nbra SUM;\n"
      "DONE:\nst.param.b32 [r], %r3;\nret;\n}\n";
  // What a function has allocated is free when it returns: 4000 rounds would not fit otherwise.
  const std::string body =
      "mov.u32 %r12, 0;\nmov.u32 %r13, 0;\n"
      "LOOP:\nadd.u32 %r14, %r2, %r12;\nand.b32 %r14, %r14, 31;\n"
      "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r14; call.uni (b), sum, (a); ld.param.b32 %r11, [b]; }\n"
      "add.u32 %r13, %r13, %r11;\nadd.u32 %r12, %r12, 1;\nsetp.lt.u32 %p1, %r12, 1024;\n@%p1 bra LOOP;\n"
      "st.global.u32 [%rd3], %r13;\n";
  EXPECT_EQ(run(module_of(body, before), {1, 64}, 64), std::vector<std::uint32_t>(64, 32 * (31 * 30 * 32 / 6)));
  // The same without a function, with the stack pointer put back.
  const std::string saved =
      "mov.u32 %r12, 0;\nmov.u32 %r13, 0;\n"
      "LOOP:\nstacksave.u64 %rd10;\n"
      "alloca.u64 %rd11, 4096;\nst.local.u32 [%rd11+4092], %r12;\nld.local.u32 %r14, [%rd11+4092];\n"
      "stackrestore.u64 %rd10;\n"
      "add.u32 %r13, %r13, %r14;\nadd.u32 %r12, %r12, 1;\nsetp.lt.u32 %p1, %r12, 100;\n@%p1 bra LOOP;\n"
      "st.global.u32 [%rd3], %r13;\n";
  EXPECT_EQ(run(module_of(saved), {1, 64}, 64), std::vector<std::uint32_t>(64, 4950));
  (void)error_of(module_of("alloca.u64 %rd11, 100000;\nst.local.u32 [%rd11], %r2;\n"), {1, 32},
                 error_id::stack_overflow);
}

// Parameters in registers, as in PTX 1 and in hand-written code, and constants as arguments.
TEST_P(Stack, ParametersInRegisters) {
  const std::string before =
      ".func (.reg .b32 %out) scaled(.reg .b32 %x, .reg .b32 %k)\n{\nmad.lo.u32 %out, %x, %k, 7;\nret;\n}\n"
      ".func (.param .b32 r) plus(.param .b32 a, .param .b32 b)\n{\n.reg .b32 %r<4>;\nld.param.u32 %r1, [a];\n"
      "ld.param.u32 %r2, [b];\nadd.u32 %r3, %r1, %r2;\nst.param.b32 [r], %r3;\nret;\n}\n";
  const std::string body =
      "call (%r10), scaled, (%r2, 3);\ncall (%r11), plus, (%r10, 100);\nst.global.u32 [%rd3], %r11;\n";
  EXPECT_EQ(run(module_of(body, before), {1, 64}, 64), expected<std::uint32_t>(64, [](int i) { return i * 3 + 107; }));
}

// One byte as a parameter, as in code without optimisation.
TEST_P(Stack, ParametersOfOneByte) {
  const std::string before =
      ".func (.param .b32 r) byte(.param .b8 a, .param .b32 depth)\n{\n.reg .b16 %h<4>; .reg .b32 %r<8>; .reg .pred "
      "%p;\n"
      "ld.param.s8 %h1, [a];\nld.param.u8 %h2, [a];\nld.param.u32 %r1, [depth];\n"
      "cvt.s32.s16 %r2, %h1;\ncvt.u32.u16 %r3, %h2;\nmad.lo.u32 %r4, %r3, 1000, %r2;\n"
      "setp.eq.u32 %p, %r1, 0;\n@%p bra DONE;\nsub.u32 %r1, %r1, 1;\n"
      "{ .param .b8 x; .param .b32 y; .param .b32 z; st.param.b8 [x], %h1; st.param.b32 [y], %r1;\n"
      "call.uni (z), byte, (x, y); ld.param.b32 %r5, [z]; }\nadd.u32 %r4, %r4, %r5;\n"
      "DONE:\nst.param.b32 [r], %r4;\nret;\n}\n"
      ".func (.param .b32 r) flat(.param .b8 a)\n{\n.reg .b16 %h<4>; .reg .b32 %r<4>;\nld.param.s8 %h1, [a];\n"
      "cvt.s32.s16 %r1, %h1;\nst.param.b32 [r], %r1;\nret;\n}\n";
  const std::string body =
      "add.u32 %r10, %r2, 100;\ncvt.u16.u32 %h1, %r10;\n"
      "{ .param .b8 x; .param .b32 y; .param .b32 z; st.param.b8 [x], %h1; st.param.b32 [y], 1;\n"
      "call.uni (z), byte, (x, y); ld.param.b32 %r11, [z]; }\n"
      "{ .param .b8 x; .param .b32 z; st.param.b8 [x], %h1; call.uni (z), flat, (x); ld.param.b32 %r12, [z]; }\n"
      "add.u32 %r11, %r11, %r12;\nst.global.u32 [%rd3], %r11;\n";
  EXPECT_EQ(run(module_of(body, before), {1, 64}, 64), expected<std::uint32_t>(64, [](int i) {
              const int x = static_cast<std::int8_t>(i + 100), u = (i + 100) & 255;
              return 2 * (u * 1000 + x) + x;
            }));
}

TEST_P(Stack, AnAliasIsTheFunctionItStandsFor) {
  const std::string before =
      ".visible .func (.param .b32 r) plain(.param .b32 a)\n{\n.reg .b32 %r<4>;\nld.param.u32 %r1, [a];\n"
      "add.u32 %r1, %r1, 5;\nst.param.b32 [r], %r1;\nret;\n}\n"
      ".visible .func (.param .b32 r) other(.param .b32 a);\n.alias other, plain;\n";
  const std::string body =
      "{ .param .b32 a; .param .b32 b; st.param.b32 [a], %r2; call.uni (b), other, (a); ld.param.b32 %r11, [b]; }\n"
      "st.global.u32 [%rd3], %r11;\n";
  EXPECT_EQ(run(module_of(body, before), {1, 32}, 32), expected<std::uint32_t>(32, [](int i) { return i + 5; }));
}

TEST_P(Stack, LaunchesFromKernelsAreRefusedByName) {
  const std::string what = error_of(
      module_of("{ .param .b64 a; .param .b64 b; .param .b32 r; st.param.b64 [a], %rd1; st.param.b64 [b], %rd1;\n"
                "call.uni (r), __cudaCDP2LaunchDeviceV2, (a, b); }\n",
                ".extern .func (.param .b32 r) __cudaCDP2LaunchDeviceV2(.param .b64 a, .param .b64 b);\n"),
      {1, 32}, error_id::unsupported_instruction);
  EXPECT_NE(what.find("dynamic parallelism"), std::string::npos) << what;
  EXPECT_NE(what.find("test.ptx:"), std::string::npos) << what;
}

}  // namespace

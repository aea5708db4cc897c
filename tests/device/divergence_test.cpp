// Control flow that differs by lane: the device must agree with the host's own compilation of the same functions.
#include "device_test.hpp"
#include "kernels/divergence_cases.hpp"

namespace {

using namespace warploom;
using namespace device_test;

DEVICE_TEST_FILE(Divergence, "divergence.cu");

#define DIVERGENCE_CASE(name)                                                                                  \
  TEST_P(Divergence, name) {                                                                                   \
    const int n = 1000;                                                                                        \
    const std::vector<std::uint32_t> in = random_words(n, 3);                                                  \
    const auto device_in = array(in);                                                                          \
    for (const int block : {32, 50, 256}) {                                                                    \
      auto out = filled<std::uint32_t>(n, 0xdeadbeef);                                                         \
      kernel("run_" #name).launch({blocks_for(n, static_cast<std::size_t>(block)), block}, device_in, out, n); \
      EXPECT_EQ(out.to_vector(), expected<std::uint32_t>(n, [&](int i) {                                       \
                  return ::name(static_cast<unsigned>(i), in[static_cast<std::size_t>(i)]);                    \
                }));                                                                                           \
    }                                                                                                          \
  }
DIVERGENCE_CASE(nested_ifs)
DIVERGENCE_CASE(loops_by_lane)
DIVERGENCE_CASE(break_and_continue)
DIVERGENCE_CASE(nested_loops)
DIVERGENCE_CASE(switches)
DIVERGENCE_CASE(early_return)
DIVERGENCE_CASE(short_circuit)
DIVERGENCE_CASE(collatz)
DIVERGENCE_CASE(mutual_loops)

TEST_P(Divergence, LanesMeetAgain) {
  const std::vector<std::uint32_t> in = random_words(64, 9);
  const auto device_in = array(in);
  DeviceArray<std::uint32_t> out(device, 64);
  kernel("reconverges").launch({1, 64}, device_in, out);
  std::uint32_t ballot[2] = {0, 0};
  for (std::size_t i = 0; i < 64; ++i) {
    std::uint32_t v = in[i];
    if (v & 1)
      for (std::uint32_t k = 0; k < (v & 7); ++k) v = mix(v);
    else if (v & 2)
      v = mix(v) + 1;
    ballot[i / 32] |= (v & 1) << (i % 32);
  }
  EXPECT_EQ(out.to_vector(), expected<std::uint32_t>(64, [&](int i) { return ballot[i / 32]; }));
}

TEST_P(Divergence, OnlyTheBranchsLanesVote) {
  DeviceArray<std::uint32_t> out(device, 32);
  kernel("active_in_branch").launch({1, 32}, out);
  EXPECT_EQ(out.to_vector(), expected<std::uint32_t>(32, [](int i) {
              return i % 3 == 0 ? 0x49249249u : i % 3 == 1 ? 0x92490000u : 0u;
            }));
}

TEST_P(Divergence, ManyWordsInLanesThatPart) {
  constexpr unsigned threads = 96, rounds = 3;
  auto out = filled<unsigned>(threads * 40, 0);
  kernel("many_words").launch({1, threads}, out, static_cast<int>(rounds));
  std::vector<unsigned> words(threads * 40);
  for (unsigned i = 0; i < words.size(); ++i) words[i] = i;
  for (unsigned s = 0; s < rounds + 2; ++s) {
    const auto goes = [&](unsigned t) { return s < rounds || t % 32 >= 8; };
    for (unsigned i = 0; i < 40; ++i) {
      const std::vector<unsigned> before = words;
      for (unsigned t = 0; t < threads; ++t)
        if (goes(t)) words[t * 40 + i] = before[t * 40 + i] * 5 + before[(t ^ 1U << i % 3) * 40 + (i + 7) % 40];
    }
    for (unsigned t = 0; t < threads; ++t)
      if (goes(t) && (words[t * 40 + s % 2] & 16) != 0) words[t * 40] ^= t;
  }
  EXPECT_EQ(out.to_vector(), words);
}

TEST_P(Divergence, ALoopThatPartsInLaterBlocks) {
  const int threads = 128, width = 6, height = 2, uniform_blocks = 4;
  for (int launch = 0; launch < 2; ++launch) {
    auto out = filled<int>(threads * width * height, -1);
    kernel("place_in_a_parted_loop").launch({{width, height}, threads}, out, uniform_blocks);
    EXPECT_EQ(out.to_vector(), expected<int>(threads * width * height,
                                             [&](int i) {
                                               const int t = i % threads, x = i / threads % width,
                                                         y = i / threads / width;
                                               const int rounds = x < uniform_blocks ? 5 : 1 + t % 40;
                                               return rounds * (x * 3 + y * 1000) + rounds * (rounds - 1) / 2;
                                             }))
        << launch;
  }
}

}  // namespace

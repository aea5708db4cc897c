// Loops whose values do not fit into registers for a whole warp: each lane gets what it would get alone.
#include <cmath>

#include "device_test.hpp"

namespace {

using namespace warploom;
using namespace device_test;

DEVICE_TEST_FILE(LaneGroups, "lane_groups.cu");

TEST_P(LaneGroups, SumsInRegisters) {
  constexpr int tile = 24, rounds = 3, blocks = 2;
  std::vector<float> a(tile * 8 * rounds), b(tile * 16 * rounds);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 37) * 0.125F - 2;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 29) * 0.0625F;
  DeviceArray<float> da(device, a), db(device, b);
  auto out = filled<float>(blocks * 128 * 20, 0);
  kernel("many_sums").launch({blocks, {16, 8}}, da, db, out, rounds);
  const std::vector<float> got = out.to_vector();
  for (std::size_t t = 0; t < blocks * 128; ++t)
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t j = 0; j < 5; ++j) {
        float sum = 0;
        for (std::size_t r = 0; r < rounds; ++r)
          for (std::size_t k = 0; k < tile; ++k) {
            const float p = a[(r * tile + k) * 8 + t % 128 / 16] + static_cast<float>(i);
            const float q = b[(r * tile + k) * 16 + t % 16] - static_cast<float>(j);
            sum = std::fma(p, q, sum);
          }
        ASSERT_EQ(got[t * 20 + i * 5 + j], sum) << "thread " << t << ", sum " << i << ", " << j;
      }
}

TEST_P(LaneGroups, WordsThatDependOnEachOther) {
  std::vector<unsigned> seeds(64);
  for (unsigned i = 0; i < 64; ++i) seeds[i] = (i * 2654435761U) >> 3;
  DeviceArray<unsigned> ds(device, seeds);
  const auto key = [&](std::size_t i) { return seeds[i & 63] | 1; };
  for (const auto& [threads, steps, stop] :
       {std::tuple{64, 100, 0U}, std::tuple{96, 100, key(23)}, std::tuple{40, 7, 0U}, std::tuple{32, 0, 0U}}) {
    const int blocks = 3;
    auto out = filled<unsigned>(static_cast<std::size_t>(blocks * threads * 21), 0);
    kernel("mixed_words").launch({blocks, threads}, ds, out, steps, stop);
    const std::vector<unsigned> got = out.to_vector();
    for (unsigned t = 0; t < static_cast<unsigned>(threads); ++t) {
      unsigned word[20], rounds = 0;
      for (unsigned i = 0; i < 20; ++i) word[i] = t * 20 + i;
      for (unsigned s = 0; s < static_cast<unsigned>(steps) && key(s) != stop; ++s) {
        for (unsigned i = 0; i < 20; ++i) {
          word[i] = (word[i] ^ (word[(i + 1) % 20] >> 7)) * key(s) + key(t + i);
          if ((word[i] & 8) != 0) word[i] += t;
        }
        rounds += key(s) & 3;
      }
      for (unsigned b = 0; b < blocks; ++b) {
        const std::size_t at = (b * static_cast<unsigned>(threads) + t) * std::size_t{21};
        for (unsigned i = 0; i < 20; ++i) ASSERT_EQ(got[at + i], word[i]) << "thread " << t << ", word " << i;
        ASSERT_EQ(got[at + 20], rounds) << "thread " << t;
      }
    }
  }
}

TEST_P(LaneGroups, Doubles) {
  const int threads = 64, steps = 50;
  std::vector<double> a(32);
  for (std::size_t i = 0; i < 32; ++i) a[i] = 0.5 - static_cast<double>(i) / 64;
  DeviceArray<double> da(device, a);
  auto out = filled<double>(2 * threads * 12, 0);
  kernel("many_doubles").launch({2, threads}, da, out, steps);
  const std::vector<double> got = out.to_vector();
  for (std::size_t t = 0; t < threads; ++t) {
    double x[12];
    for (std::size_t i = 0; i < 12; ++i) x[i] = static_cast<double>(t) + static_cast<double>(i) * 0.25;
    for (std::size_t s = 0; s < steps; ++s)
      for (std::size_t i = 0; i < 12; ++i) x[i] = std::fma(x[i], a[(s + i) & 31], x[(i + 7) % 12]);
    for (std::size_t b = 0; b < 2; ++b)
      for (std::size_t i = 0; i < 12; ++i) ASSERT_EQ(got[(b * threads + t) * 12 + i], x[i]) << "thread " << t;
  }
}

TEST_P(LaneGroups, LoopsThatSomeLanesReach) {
  const int threads = 70, steps = 9;
  std::vector<float> a(32);
  for (std::size_t i = 0; i < 32; ++i) a[i] = 0.5F - static_cast<float>(i) / 64;
  DeviceArray<float> da(device, a);
  auto out = filled<float>(threads, 0);
  kernel("sums_of_some").launch({1, threads}, da, out, steps);
  const std::vector<float> got = out.to_vector();
  for (std::size_t t = 0; t < threads; ++t) {
    float x[20];
    for (float& v : x) v = static_cast<float>(t);
    if (t % 3 != 2)
      for (std::size_t s = 0; s < steps; ++s)
        for (std::size_t i = 0; i < 20; ++i) x[i] = std::fma(x[(i + 5) % 20], a[(s + i) & 31], a[t & 31]);
    float sum = 0;
    for (std::size_t i = 0; i < 20; ++i) sum = std::fma(x[i], static_cast<float>(i + 1), sum);
    ASSERT_EQ(got[t], sum) << "thread " << t;
  }
}

}  // namespace

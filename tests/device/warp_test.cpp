// Warp functions against the definitions in the PTX manual, computed lane by lane on the host.
#include "device_test.hpp"

#include <bit>

namespace {

using namespace warploom;
using namespace device_test;

DEVICE_TEST_FILE(Warp, "warp.cu");

TEST_P(Warp, ShuffleIdx) {
  const std::vector<std::uint32_t> words = random_words(32);
  std::vector<int> source(words.begin(), words.end());
  for (int i = 0; i < 8; ++i) source[static_cast<std::size_t>(i)] = i * 9 - 20;
  const auto device_source = array(source);
  for (const int width : {1, 2, 4, 8, 16, 32}) {
    DeviceArray<int> out(device, 64);
    kernel("shuffle_idx").launch({1, 64}, device_source, width, out);
    EXPECT_EQ(out.to_vector(), expected<int>(64,
                                             [&](int t) {
                                               const int lane = t % 32,
                                                         from = (lane & ~(width - 1)) |
                                                                (source[static_cast<std::size_t>(lane)] & (width - 1));
                                               return (t - lane + from) * 3;
                                             }))
        << width;
  }
}

TEST_P(Warp, ShuffleUpDownXor) {
  for (const int width : {2, 8, 32})
    for (const int delta : {0, 1, 3, 7, 16, 31}) {
      DeviceArray<int> up(device, 96), down(device, 96), exchanged(device, 96);
      kernel("shuffle_up").launch({1, 96}, static_cast<unsigned>(delta), width, up);
      kernel("shuffle_down").launch({1, 96}, static_cast<unsigned>(delta), width, down);
      kernel("shuffle_xor").launch({1, 96}, delta, width, exchanged);
      const auto pick = [&](auto from) {
        return expected<int>(96, [&](int t) {
          const int lane = t % 32, first = lane & ~(width - 1), last = first | (width - 1);
          const int source = from(lane);
          return (t - lane + (source < first || source > last ? lane : source)) * 3;
        });
      };
      EXPECT_EQ(up.to_vector(), pick([&](int lane) { return lane - delta; })) << width << ' ' << delta;
      EXPECT_EQ(down.to_vector(), pick([&](int lane) { return lane + delta; })) << width << ' ' << delta;
      // xor may reach lower segments but not higher ones.
      EXPECT_EQ(exchanged.to_vector(),
                expected<int>(96,
                              [&](int t) {
                                const int lane = t % 32, source = lane ^ delta;
                                return (t - lane + (source > (lane | (width - 1)) ? lane : source)) * 3;
                              }))
          << width << ' ' << delta;
    }
}

TEST_P(Warp, ShuffleTypes) {
  DeviceArray<double> d(device, 32);
  DeviceArray<long long> l(device, 32);
  DeviceArray<float> f(device, 32);
  kernel("shuffle_types").launch({1, 32}, d, l, f);
  EXPECT_EQ(d.to_vector(), expected<double>(32, [](int t) { return (t ^ 5) * 1.25 + 1e100; }));
  EXPECT_EQ(l.to_vector(), expected<long long>(32, [](int t) {
              return static_cast<unsigned long long>(t + 3 < 32 ? t + 3 : t) * 1000000007ull * 1000000007ull;
            }));
  EXPECT_EQ(f.to_vector(), expected<float>(32, [](int t) { return static_cast<float>(t >= 2 ? t - 2 : t) * 0.5f; }));
}

TEST_P(Warp, ShuffleOfSomeLanes) {
  DeviceArray<int> out(device, 32);
  kernel("shuffle_partial").launch({1, 32}, out);
  EXPECT_EQ(out.to_vector(), expected<int>(32, [](int t) {
              if (t < 12) return (t % 4 == 3 ? t : t + 1) * 7;
              return t < 16 ? -1 : (t ^ 1) * 7;
            }));
}

TEST_P(Warp, Votes) {
  std::vector<int> in(96);
  const std::vector<std::uint32_t> words = random_words(96, 4);
  for (std::size_t i = 0; i < 96; ++i)
    in[i] = static_cast<int>((words[i] & 1) | 2 | (i == 40 ? 4 : 0) | (i >= 64 ? 8 : i % 2 * 8)) & (i == 70 ? ~2 : ~0);
  const auto device_in = array(in);
  DeviceArray<std::uint32_t> out(device, 96 * 5);
  kernel("votes").launch({1, 96}, device_in, out);
  EXPECT_EQ(out.to_vector(), expected<std::uint32_t>(96 * 5, [&](int i) {
              const std::size_t warp = static_cast<std::size_t>(i / 5 / 32) * 32;
              std::uint32_t mask[4] = {0, 0, 0, 0};
              for (std::size_t lane = 0; lane < 32; ++lane)
                for (int bit = 0; bit < 4; ++bit)
                  mask[bit] |= static_cast<std::uint32_t>(in[warp + lane] >> bit & 1) << lane;
              switch (i % 5) {
                case 0: return mask[0];
                case 1: return mask[1] == ~0u ? 1u : 0u;
                case 2: return mask[2] != 0 ? 1u : 0u;
                case 3: return mask[3] == 0 || mask[3] == ~0u ? 1u : 0u;
                default: return ~0u;
              }
            }));
}

TEST_P(Warp, Matches) {
  std::vector<int> in(64);
  const std::vector<std::uint32_t> words = random_words(64, 6);
  for (std::size_t i = 0; i < 64; ++i) in[i] = static_cast<int>(i < 32 ? words[i] & 13 : (words[i] & 3) | 8);
  const auto device_in = array(in);
  DeviceArray<std::uint32_t> any(device, 64), all(device, 64);
  DeviceArray<int> same(device, 64);
  kernel("matches").launch({1, 64}, device_in, any, all, same);
  const auto lanes_like = [](const auto& values, int i) {
    const std::size_t warp = static_cast<std::size_t>(i / 32) * 32;
    std::uint32_t mask = 0;
    for (std::size_t lane = 0; lane < 32; ++lane)
      mask |= values[warp + lane] == values[static_cast<std::size_t>(i)] ? 1u << lane : 0u;
    return mask;
  };
  EXPECT_EQ(any.to_vector(), expected<std::uint32_t>(64, [&](int i) { return lanes_like(in, i); }));
  EXPECT_EQ(all.to_vector(), expected<std::uint32_t>(64, [](int i) { return i < 32 ? 0u : ~0u; }));
  EXPECT_EQ(same.to_vector(), expected<int>(64, [](int i) { return i < 32 ? 0 : 1; }));

  std::vector<unsigned long long> wide(32);
  for (std::size_t i = 0; i < 32; ++i) wide[i] = (words[i] & 3ull) << 40 | 5;
  const auto device_wide = array(wide);
  kernel("matches_wide").launch({1, 32}, device_wide, any);
  std::vector<std::uint32_t> got(32);
  any.copy_to(got);
  EXPECT_EQ(got, expected<std::uint32_t>(32, [&](int i) { return lanes_like(wide, i); }));
}

TEST_P(Warp, Reductions) {
  const std::vector<std::uint32_t> words = random_words(64, 8);
  const std::vector<int> in(words.begin(), words.end());
  const auto device_in = array(in);
  DeviceArray<std::uint32_t> out(device, 64 * 9);
  kernel("reductions").launch({1, 64}, device_in, out);
  EXPECT_EQ(out.to_vector(), expected<std::uint32_t>(64 * 9, [&](int i) {
              const int t = i / 9;
              const std::size_t warp = static_cast<std::size_t>(t / 32) * 32;
              std::uint32_t sum = 0, umin = ~0u, umax = 0, all = ~0u, any = 0, odd = 0, half = 0;
              int smin = std::numeric_limits<int>::max(), smax = std::numeric_limits<int>::min();
              for (std::size_t lane = 0; lane < 32; ++lane) {
                const std::uint32_t v = words[warp + lane];
                sum += v;
                umin = std::min(umin, v);
                umax = std::max(umax, v);
                smin = std::min(smin, in[warp + lane]);
                smax = std::max(smax, in[warp + lane]);
                all &= v;
                any |= v;
                odd ^= v;
                if (lane % 2 == static_cast<std::size_t>(t % 2)) half += static_cast<std::uint32_t>(warp + lane);
              }
              const std::uint32_t results[9] = {
                  sum, static_cast<std::uint32_t>(smin), static_cast<std::uint32_t>(smax), umin, umax, all, any, odd,
                  half};
              return results[i % 9];
            }));
}

TEST_P(Warp, BlockSumAndScan) {
  for (const int n : {1, 31, 32, 33, 100, 1024}) {
    const std::vector<std::uint32_t> words = random_words(static_cast<std::size_t>(n) * 3);
    const std::vector<int> in(words.begin(), words.end());
    const auto device_in = array(in);
    DeviceArray<int> out(device, 3);
    kernel("block_sum").launch({3, n}, device_in, out);
    EXPECT_EQ(out.to_vector(),
              expected<int>(
                  3, [&](int b) { return std::accumulate(words.begin() + b * n, words.begin() + (b + 1) * n, 0u); }))
        << n;
  }
  const std::vector<int> in = counting(96, 5);
  const auto device_in = array(in);
  DeviceArray<int> out(device, 96);
  kernel("warp_scan").launch({1, 96}, device_in, out);
  EXPECT_EQ(out.to_vector(),
            expected<int>(96, [&](int i) { return std::accumulate(in.begin() + i / 32 * 32, in.begin() + i + 1, 0); }));
}

}  // namespace

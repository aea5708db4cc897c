// Barriers in loops, under uniform conditions, with reductions, named, and with threads that have left.
#include "device_test.hpp"

namespace {

using namespace warploom;
using namespace device_test;

DEVICE_TEST_FILE(Barriers, "barriers.cu");

TEST_P(Barriers, InALoop) {
  for (const int n : {1, 32, 50, 256, 1000, 1024}) {
    const int rounds = 7, blocks = 3;
    DeviceArray<int> out(device, static_cast<std::size_t>(n * blocks));
    kernel("in_a_loop").launch({blocks, n}, out, rounds);
    std::vector<std::uint32_t> s(static_cast<std::size_t>(n));
    std::iota(s.begin(), s.end(), 0u);
    for (int r = 0; r < rounds; ++r) {
      const std::vector<std::uint32_t> old = s;
      for (int t = 0; t < n; ++t)
        s[static_cast<std::size_t>(t)] = old[static_cast<std::size_t>((t + n - 1) % n)] * 3 +
                                         old[static_cast<std::size_t>((t + 1) % n)] + static_cast<std::uint32_t>(r);
    }
    EXPECT_EQ(out.to_vector(), expected<int>(n * blocks, [&](int i) { return s[static_cast<std::size_t>(i % n)]; }))
        << n;
  }
}

TEST_P(Barriers, UnderUniformConditions) {
  const std::vector<int> flags = {1, 0, 1, 1};
  const auto device_flags = array(flags);
  DeviceArray<int> out(device, 256 * 4);
  kernel("under_uniform_conditions").launch({4, 256}, device_flags, out);
  std::vector<int> want;
  for (int b = 0; b < 4; ++b) {
    std::vector<int> s = counting(256);
    if (b & 1) {
      const std::vector<int> old = s;
      for (int t = 0; t < 256; ++t) s[static_cast<std::size_t>(t)] = old[static_cast<std::size_t>(255 - t)] + 1;
    }
    for (int r = 0; r < 4; ++r) {
      const std::vector<int> old = s;
      for (int t = 0; t < 256; ++t)
        s[static_cast<std::size_t>(t)] = flags[static_cast<std::size_t>(r)]
                                             ? old[static_cast<std::size_t>((t + 1) & 255)] * 2 + r
                                             : old[static_cast<std::size_t>(t)] + 1;
    }
    want.insert(want.end(), s.begin(), s.end());
  }
  EXPECT_EQ(out.to_vector(), want);
}

TEST_P(Barriers, LoopWithAnExitInTheMiddle) {
  for (const int n : {33, 96}) {
    const auto limit = filled<int>(1, 1000);
    DeviceArray<int> out(device, static_cast<std::size_t>(n));
    kernel("loop_until").launch({1, n}, limit, out);
    EXPECT_EQ(out.to_vector(), std::vector<int>(static_cast<std::size_t>(n), 1024 * 100 + 10));
  }
}

TEST_P(Barriers, LoopsOverTheGrid) {
  const int blocks = 3;
  for (const int threads : {32, 64, 256})
    for (const int n : {1, 31, 100, 768, 769, 5000, 5121}) {
      const std::vector<int> in = expected<int>(n, [](int i) { return i * 7 % 101; });
      const auto value = [&](int i) {
        const int v = in[static_cast<std::size_t>(i)];
        return v % 3 == 0 ? -v : v;
      };
      const auto device_in = array(in);
      DeviceArray<int> out(device, static_cast<std::size_t>(n)), sums(device, blocks);
      kernel("grid_loop").launch({blocks, threads}, device_in, out, sums, n);
      std::vector<int> want(blocks, 0);
      for (int i = 0; i < n; ++i) want[static_cast<std::size_t>(i / threads % blocks)] += value(i);
      EXPECT_EQ(out.to_vector(), expected<int>(n, [&](int i) { return value(i) + 1; })) << threads << " " << n;
      EXPECT_EQ(sums.to_vector(), want) << threads << " " << n;

      const int all = blocks * threads;
      DeviceArray<int> other(device, std::vector<int>(static_cast<std::size_t>(all), -7));
      kernel("grid_loop_or_leave").launch({blocks, threads}, device_in, other, n);
      EXPECT_EQ(other.to_vector(), expected<int>(all,
                                                 [&](int g) {
                                                   if (g >= n) return -7;
                                                   if ((g ^ 1) >= n) return -1;
                                                   int sum = 0;
                                                   for (int i = g ^ 1; i < n; i += all)
                                                     sum += in[static_cast<std::size_t>(i)];
                                                   return sum;
                                                 }))
          << threads << " " << n;
    }
}

TEST_P(Barriers, CountAndOr) {
  for (const int n : {20, 64, 200}) {
    for (const int variant : {0, 1, 2}) {
      const std::vector<int> in = expected<int>(n, [&](int i) {
        return variant == 0 ? i % 5 : variant == 1 ? i - 3 : i == n - 1 ? 77 : 1;
      });
      const auto device_in = array(in);
      DeviceArray<int> out(device, static_cast<std::size_t>(n));
      kernel("count_and_or").launch({1, n}, device_in, out);
      int count = 0, all = 1, any = 0;
      for (const int v : in) {
        count += v > 0;
        all &= v >= 0;
        any |= v == 77;
      }
      EXPECT_EQ(out.to_vector(), std::vector<int>(static_cast<std::size_t>(n), count * 100 + all * 10 + any));
    }
  }
}

TEST_P(Barriers, ThreadsThatLeftDoNotHoldUpTheOthers) {
  auto out = filled<int>(128, -1);
  kernel("after_some_left").launch({1, 128}, out);
  EXPECT_EQ(out.to_vector(), expected<int>(128, [](int i) { return i < 100 ? 99 - i : -1; }));
}

TEST_P(Barriers, DivergenceBetweenThem) {
  DeviceArray<int> out(device, 64);
  kernel("divergence_between").launch({1, 64}, out);
  EXPECT_EQ(out.to_vector(), expected<int>(64, [](int i) { return i * (i + 1) / 2; }));
}

TEST_P(Barriers, InsideAFunction) {
  DeviceArray<int> out(device, 128);
  kernel("inside_a_function").launch({1, 128}, out);
  EXPECT_EQ(out.to_vector(), expected<int>(128, [](int i) { return i * 3 + 1; }));
}

TEST_P(Barriers, Named) {
  DeviceArray<int> out(device, 128);
  kernel("named").launch({1, 64}, out);
  EXPECT_EQ(out.to_vector(), expected<int>(128, [](int i) { return (31 - i % 32) * 10 + i / 32; }));
}

TEST_P(Barriers, OfAWarp) {
  DeviceArray<int> out(device, 64);
  kernel("warp_barrier").launch({1, 64}, out);
  EXPECT_EQ(out.to_vector(), expected<int>(64, [](int i) { return ((i ^ 1) ^ 31) * 2; }));
}

}  // namespace

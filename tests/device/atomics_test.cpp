// Atomics: every operation, width and space, what they return, and loops made of compare-and-swap.
#include "device_test.hpp"

#include <algorithm>
#include <limits>

namespace {

using namespace warploom;
using namespace device_test;

DEVICE_TEST_FILE(Atomics, "atomics.cu");

struct Results {
  int add_i, min_i, max_i, and_i, or_i, xor_i, sub_i;
  unsigned add_u, min_u, max_u, inc_u, dec_u, and_u, or_u, xor_u;
  unsigned long long add_q, min_q, max_q, and_q, or_q, xor_q;
  long long min_l, max_l;
  float add_f;
  double add_d;
};

Results initial() {
  Results r{};
  r.min_i = r.max_i = 3;
  r.and_i = -1;
  r.min_u = ~0u;
  r.dec_u = 7;
  r.and_u = ~0u;
  r.min_q = ~0ull;
  r.and_q = ~0ull;
  return r;
}

Results after(int threads) {
  Results r = initial();
  for (int i = 0; i < threads; ++i) {
    const unsigned u = static_cast<unsigned>(i);
    const unsigned long long q = u;
    r.add_i += i - 50;
    r.sub_i -= i;
    r.min_i = std::min(r.min_i, (i * 37) % 101 - 50);
    r.max_i = std::max(r.max_i, (i * 37) % 101 - 50);
    r.and_i &= ~(1 << (i % 20));
    r.or_i |= 1 << (i % 20);
    r.xor_i ^= i * 977;
    r.add_u += u * 3u;
    r.min_u = std::min(r.min_u, 4000000000u + u);
    r.max_u = std::max(r.max_u, 4000000000u + u);
    r.inc_u = r.inc_u >= 12u ? 0u : r.inc_u + 1;
    r.dec_u = r.dec_u == 0 || r.dec_u > 12u ? 12u : r.dec_u - 1;
    r.and_u &= ~(1u << (i % 31));
    r.or_u |= 1u << (i % 31);
    r.xor_u ^= u * 1000003u;
    r.add_q += q * 10000000000ull;
    r.min_q = std::min(r.min_q, (1ull << 63) + q);
    r.max_q = std::max(r.max_q, (1ull << 63) + q);
    r.and_q &= ~(1ull << (i % 63));
    r.or_q |= 1ull << (i % 63);
    r.xor_q ^= q * 1000000007ull * 1000003ull;
    r.min_l = std::min(r.min_l, -static_cast<long long>(i) * 10000000000ll);
    r.max_l = std::max(r.max_l, -static_cast<long long>(i) * 10000000000ll);
    r.add_f += static_cast<float>(i % 16);
    r.add_d += i * 0.5;
  }
  return r;
}

void expect_same(const Results& got, const Results& want) {
#define WL_SAME(field) EXPECT_EQ(got.field, want.field)
  WL_SAME(add_i);
  WL_SAME(sub_i);
  WL_SAME(min_i);
  WL_SAME(max_i);
  WL_SAME(and_i);
  WL_SAME(or_i);
  WL_SAME(xor_i);
  WL_SAME(add_u);
  WL_SAME(min_u);
  WL_SAME(max_u);
  WL_SAME(inc_u);
  WL_SAME(dec_u);
  WL_SAME(and_u);
  WL_SAME(or_u);
  WL_SAME(xor_u);
  WL_SAME(add_q);
  WL_SAME(min_q);
  WL_SAME(max_q);
  WL_SAME(and_q);
  WL_SAME(or_q);
  WL_SAME(xor_q);
  WL_SAME(min_l);
  WL_SAME(max_l);
  WL_SAME(add_f);
  WL_SAME(add_d);
#undef WL_SAME
}

TEST_P(Atomics, OnGlobalMemory) {
  for (const auto& [blocks, threads] : {std::pair{1, 1}, {1, 32}, {20, 50}, {8, 256}}) {
    auto r = filled<Results>(1, initial());
    kernel("on_global").launch({blocks, threads}, r);
    expect_same(r.to_vector()[0], after(blocks * threads));
  }
}

TEST_P(Atomics, OnSharedMemory) {
  for (const int threads : {1, 40, 512, 1024}) {
    auto r = filled<Results>(1, initial());
    kernel("on_shared").launch({1, threads}, r);
    expect_same(r.to_vector()[0], after(threads));
  }
}

TEST_P(Atomics, ReturnTheOldValue) {
  const int n = 64 * 48;
  auto counter = filled<unsigned>(1, 100);
  DeviceArray<unsigned> ticket(device, n);
  kernel("tickets").launch({64, 48}, counter, ticket);
  std::vector<unsigned> got = ticket.to_vector();
  std::sort(got.begin(), got.end());
  EXPECT_EQ(got, expected<unsigned>(n, [](int i) { return i + 100; }));
  EXPECT_EQ(counter.to_vector()[0], 100u + n);

  DeviceArray<unsigned> shared_ticket(device, 500);
  kernel("tickets_shared").launch({1, 500}, shared_ticket);
  got = shared_ticket.to_vector();
  std::sort(got.begin(), got.end());
  EXPECT_EQ(got, expected<unsigned>(500, [](int i) { return i; }));
}

TEST_P(Atomics, ExchangesHandOnEveryValue) {
  const int n = 10 * 100;
  auto cell = filled<int>(1, -1);
  auto cell_f = filled<float>(1, -1.0f);
  auto cell_q = filled<unsigned long long>(1, ~0ull);
  DeviceArray<int> got(device, n);
  DeviceArray<float> got_f(device, n);
  DeviceArray<unsigned long long> got_q(device, n);
  kernel("exchanges").launch({10, 100}, cell, got, cell_f, got_f, cell_q, got_q);
  std::vector<int> all = got.to_vector();
  all.push_back(cell.to_vector()[0]);
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, counting(n + 1, -1));
  std::vector<float> all_f = got_f.to_vector();
  all_f.push_back(cell_f.to_vector()[0]);
  std::sort(all_f.begin(), all_f.end());
  EXPECT_EQ(all_f, expected<float>(n + 1, [](int i) { return i - 1; }));
  std::vector<unsigned long long> all_q = got_q.to_vector();
  all_q.push_back(cell_q.to_vector()[0]);
  std::sort(all_q.begin(), all_q.end());
  EXPECT_EQ(all_q, expected<unsigned long long>(
                       n + 1, [](int i) { return i == 1000 ? ~0ull : static_cast<unsigned long long>(i) << 33; }));
}

TEST_P(Atomics, CompareAndSwapLoops) {
  const int n = 6 * 40;
  std::vector<float> in(n);
  const std::vector<std::uint32_t> words = random_words(n, 2);
  for (std::size_t i = 0; i < n; ++i) in[i] = static_cast<float>(words[i] & 0xffff) * 0.5f;
  const auto device_in = array(in);
  auto largest = filled<float>(1, 0.0f);
  auto product = filled<unsigned long long>(1, 1);
  auto half = array<unsigned short>({7, 65000});
  kernel("cas_loops").launch({6, 40}, device_in, largest, product, half);
  EXPECT_EQ(largest.to_vector()[0], *std::max_element(in.begin(), in.end()));
  unsigned long long power = 1;
  for (int i = 0; i < n; ++i) power *= 3;
  EXPECT_EQ(product.to_vector()[0], power);
  EXPECT_EQ(half.to_vector(), (std::vector<unsigned short>{static_cast<unsigned short>(7 + 5 * n / 2),
                                                           static_cast<unsigned short>(65000 + 5 * n / 2)}));
}

TEST_P(Atomics, Histogram) {
  const int n = 20000;
  const std::vector<std::uint32_t> words = random_words(n, 12);
  std::vector<unsigned char> in(n);
  std::vector<unsigned> want(256, 0);
  for (std::size_t i = 0; i < n; ++i) {
    in[i] = static_cast<unsigned char>((words[i] & 15) * (words[i] >> 8 & 15));
    ++want[in[i]];
  }
  const auto device_in = array(in);
  for (const int threads : {96, 256}) {
    auto bins = filled<unsigned>(256, 0);
    kernel("histogram").launch({5, threads}, device_in, bins, n);
    EXPECT_EQ(bins.to_vector(), want);
  }
}

TEST_P(Atomics, Scopes) {
  auto out = filled<unsigned>(3, 0);
  kernel("scopes").launch({1, 100}, out);
  EXPECT_EQ(out.to_vector(), (std::vector<unsigned>{200, 99, 100}));
}

}  // namespace

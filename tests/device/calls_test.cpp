// Calls of device functions: arguments, results, recursion, pointers to functions.
#include "device_test.hpp"

namespace {

using namespace warploom;
using namespace device_test;

DEVICE_TEST_FILE(Calls, "calls.cu");

int add3(int a, int b, int c) { return a + b * 2 + c * 3; }
int diverging(int i) {
  if (i & 1) return add3(i, 1, 2);
  int r = 0;
  for (int k = 0; k < (i & 7); ++k) r += add3(k, i, 0);
  return r;
}

TEST_P(Calls, ArgumentsAndResults) {
  const int n = 128;
  const std::vector<int> in = counting(n, 11);
  const auto device_in = array(in);
  DeviceArray<int> out(device, n * 4);
  DeviceArray<double> wide(device, n);
  kernel("calls").launch({2, 64}, device_in, out, wide);
  EXPECT_EQ(out.to_vector(), expected<int>(n * 4, [&](int j) {
              const int i = j / 4, v = in[static_cast<std::size_t>(i)];
              const short c[3] = {static_cast<short>(v), static_cast<short>(v + 1), static_cast<short>(-v)};
              const int results[4] = {add3(v, i, 7), v * 2 + static_cast<int>(v * 0.5) + c[i % 3], v + 1 + v * 2,
                                      diverging(i)};
              return results[j % 4];
            }));
  EXPECT_EQ(wide.to_vector(), expected<double>(n, [](int i) {
              // The sum of the integers and a float is a float; only the last addition is in double.
              const long long whole = static_cast<char>(i) + static_cast<short>(i * 3) + i * 5 + i * 10000000000ll;
              const float sum = static_cast<float>(whole) + static_cast<float>(i) * 0.25f;
              return static_cast<double>(sum) + i * 0.125;
            }));
}

TEST_P(Calls, InABranch) {
  DeviceArray<int> out(device, 64);
  kernel("call_in_branch").launch({1, 64}, out);
  EXPECT_EQ(out.to_vector(), expected<int>(64, [](int i) {
              return i % 3 == 0 ? add3(i, i, i) : i % 3 == 1 ? diverging(i) : -1;
            }));
}

TEST_P(Calls, Recursion) {
  DeviceArray<unsigned> out(device, 32 * 3);
  kernel("recursion").launch({1, 32}, out);
  EXPECT_EQ(out.to_vector(), expected<unsigned>(32 * 3, [](int j) {
              const unsigned i = static_cast<unsigned>(j) / 3;
              unsigned factorial = 1, a = 0, b = 1;
              for (unsigned k = 2; k <= i % 13; ++k) factorial *= k;
              for (unsigned k = 0; k < i % 11; ++k) {
                const unsigned next = a + b;
                a = b;
                b = next;
              }
              const unsigned results[3] = {factorial, a, i % 2 == 0 ? 1u : 0u};
              return results[j % 3];
            }));
}

TEST_P(Calls, ThroughPointers) {
  const std::vector<int> which = expected<int>(64, [](int i) { return i * 7 % 3; });
  const auto device_which = array(which);
  DeviceArray<int> out(device, 64);
  const auto apply = [](int op, int i) { return op == 0 ? i + 10 : op == 1 ? i * 10 : i - 10; };
  for (const int op : {0, 1, 2}) {
    kernel("indirect_uniform").launch({1, 64}, op, out);
    EXPECT_EQ(out.to_vector(), expected<int>(64, [&](int i) { return apply(op, i); }));
  }
  kernel("indirect").launch({1, 64}, device_which, out);
  EXPECT_EQ(out.to_vector(), expected<int>(64, [&](int i) { return apply(which[static_cast<std::size_t>(i)], i); }));
}

}  // namespace

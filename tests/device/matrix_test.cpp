// Matrix instructions in kernels, against what an H200 gave for the same PTX.
#include <bit>
#include <cmath>

#include "device_test.hpp"
#include "matrix_cases.hpp"

namespace {

using namespace warploom;
using namespace device_test;
using test::MatrixCase;
using Kind = MatrixCase::Kind;

DEVICE_TEST_FILE(Matrix, "matrix.cu");

// The results of a recorded case, as the recorder lays them out.
std::vector<std::uint32_t> run(const Device& device, const MatrixCase& c) {
  const bool image = c.kind == Kind::store || c.kind == Kind::stmatrix;
  const unsigned blocks = image || c.kind == Kind::load ? test::kLoadImages : test::kMatrixCases;
  const auto pool = [&](const std::string& type, char which) {
    return DeviceArray<std::uint32_t>(device,
                                      type.empty() ? std::vector<std::uint32_t>(1) : test::matrix_pool(type, which));
  };
  const auto a = c.kind == Kind::load ? pool("", 'a') : pool(c.a, 'a');
  const DeviceArray<std::uint8_t> images(
      device, c.kind == Kind::load ? test::load_images(test::element_bits(c.a)) : std::vector<std::uint8_t>(1));
  const auto b = pool(c.b, 'b'), m = pool(c.c, 'c');
  const auto e = pool(c.selector >= 0 ? c.metadata() : "", 'e');
  const std::size_t words = std::size_t{blocks} * (image ? test::kImageBytes / 4 : 32 * c.d_words);
  DeviceArray<std::uint32_t> d(device, std::vector<std::uint32_t>(words));
  const Module module = device.load_ptx(test::matrix_kernel(c), "matrix.ptx");
  const void* first = c.kind == Kind::load ? static_cast<const void*>(images.data()) : a.data();
  module.kernel("k").launch({blocks, 32}, first, b.data(), m.data(), e.data(), d.data());
  return d.to_vector();
}

// Each form in compiled and in interpreted code, a part of them in each mode; what was cached is what ran before.
TEST_P(Matrix, KernelsGiveTheBitsOfAnH200) {
  const auto recorded = test::recorded_matrices(WARPLOOM_MATRIX_RECORD);
  const bool first = GetParam() == Code::optimised || GetParam() == Code::cached || GetParam() == Code::mixed;
  std::size_t number = 0, ran = 0;
  for (const MatrixCase& c : test::matrix_cases()) {
    const auto expected = recorded.find(c.name());
    if (expected == recorded.end() || (number++ % 3 == 0) != first) continue;
    SCOPED_TRACE(c.name());
    const std::vector<std::uint32_t> results = run(device, c);
    ++ran;
    const std::size_t step = results.size() / 8;
    for (std::size_t i = 0; i < 8; ++i)
      EXPECT_EQ(test::digest(std::span(results).subspan(i * step, step)), expected->second[i])
          << c.name() << ", part " << i;
  }
  EXPECT_GT(ran, 100u);
}

// What movmatrix makes of the registers of a warp.
std::vector<std::uint32_t> transposed(const std::vector<std::uint32_t>& in) {
  std::vector<std::uint32_t> out(in.size());
  const auto half = [&](std::size_t warp, std::size_t row, std::size_t column) {
    return in[warp + 4 * row + column / 2] >> 16 * (column % 2) & 0xffff;
  };
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::size_t warp = i / 32 * 32, lane = i % 32;
    out[i] = half(warp, lane % 4 * 2, lane / 4) | half(warp, lane % 4 * 2 + 1, lane / 4) << 16;
  }
  return out;
}

TEST_P(Matrix, LanesThatMeetAgainAreAWholeWarp) {
  std::vector<std::uint32_t> in = random_words(128);
  DeviceArray<std::uint32_t> out(device, in.size());
  kernel("turned").launch({1, 128}, array(in), out, 0);
  EXPECT_EQ(out.to_vector(), transposed(in));
  kernel("turned").launch({1, 128}, array(in), out, 1);
  for (std::size_t i = 0; i < in.size(); ++i)
    if (i % 32 % 3 == 1)
      for (std::size_t k = 0; k < i % 32; ++k) in[i] = in[i] * 3 + 1;
  EXPECT_EQ(out.to_vector(), transposed(in));
}

// Small integers, whose products are exact in every type.
template <class T, class C>
void multiply(const Device& device, const Kernel& kernel, unsigned m, unsigned n, bool negative, T (*element)(int),
              double (*value)(C)) {
  constexpr unsigned kDepth = 48;
  std::vector<T> a, b;
  std::vector<int> x, y;
  for (unsigned i = 0; i < m * kDepth; ++i) {
    x.push_back(static_cast<int>(i * 7 % 5) - (negative ? 2 : 0));
    a.push_back(element(x.back()));
  }
  for (unsigned i = 0; i < n * kDepth; ++i) {
    y.push_back(static_cast<int>(i * 11 % 7) - (negative ? 3 : 0));
    b.push_back(element(y.back()));
  }
  DeviceArray<C> c(device, std::size_t{m} * n);
  kernel.launch({1, 32}, DeviceArray<T>(device, a), DeviceArray<T>(device, b), c, static_cast<int>(kDepth));
  const std::vector<C> results = c.to_vector();
  for (unsigned i = 0; i < m; ++i)
    for (unsigned j = 0; j < n; ++j) {
      int sum = 1;
      for (unsigned k = 0; k < kDepth; ++k) sum += x[i * kDepth + k] * y[j * kDepth + k];
      EXPECT_EQ(value(results[i * n + j]), sum) << i << ' ' << j;
    }
}

std::uint16_t half_of(int x) {
  std::uint32_t size = static_cast<std::uint32_t>(x < 0 ? -x : x), exponent = 25;
  if (size == 0) return 0;
  for (; size < 1024; size *= 2) --exponent;
  return static_cast<std::uint16_t>((x < 0 ? 0x8000U : 0U) | exponent << 10 | (size - 1024));
}
double of_half(std::uint16_t x) {
  const int exponent = x >> 10 & 31;
  const double size = exponent == 0 ? 0 : std::ldexp(1024 + (x & 1023), exponent - 25);
  return (x & 0x8000) != 0 ? -size : size;
}

TEST_P(Matrix, ProductsInCuda) {
  const auto same = [](auto x) { return static_cast<double>(x); };
  multiply<std::uint16_t, float>(device, kernel("product_half"), 16, 16, true, half_of, same);
  multiply<std::uint16_t, std::uint16_t>(device, kernel("product_half_wide"), 32, 8, true, half_of, of_half);
  multiply<std::uint16_t, float>(
      device, kernel("product_bfloat"), 8, 32, true,
      [](int x) { return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(x)) >> 16); },
      same);
  multiply<float, float>(
      device, kernel("product_tf32"), 16, 16, true, [](int x) { return static_cast<float>(x); }, same);
  multiply<std::int8_t, int>(
      device, kernel("product_byte"), 16, 16, true, [](int x) { return static_cast<std::int8_t>(x); }, same);
  multiply<std::uint8_t, int>(
      device, kernel("product_unsigned"), 8, 32, false, [](int x) { return static_cast<std::uint8_t>(x); }, same);
  multiply<double, double>(
      device, kernel("product_double"), 8, 8, true, [](int x) { return static_cast<double>(x); }, same);
}

TEST_P(Matrix, ProductsOfNarrowElementsInCuda) {
  // Rows of 32 times -2, one row of 7 at the end.
  std::vector<unsigned> in(8 * 4, 0xEEEEEEEE);
  for (std::size_t i = 28; i < 32; ++i) in[i] = 0x77777777;
  const DeviceArray<unsigned> source(device, in);
  DeviceArray<int> out(device, 3 * 64);
  kernel("product_narrow").launch({1, 32}, source, out);
  const std::vector<int> got = out.to_vector();
  for (std::size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(got[i], i < 56 ? 1 - 2 * 3 * 32 : 1 + 7 * 3 * 32) << i;
    EXPECT_EQ(got[64 + i], 128 - 16) << i;
    EXPECT_EQ(got[128 + i], 128 - 16 + 16) << i;
  }
}

// Launches, and gives the id of the error; 0 for none.
template <class... Arguments>
int error_of(const Device& device, const Kernel& kernel, unsigned threads, const Arguments&... arguments) {
  try {
    kernel.launch({1, threads}, arguments...);
    device.synchronize();
  } catch (const Error& error) {
    return error.id();
  }
  return 0;
}

TEST_P(Matrix, PartOfAWarpIsAnError) {
  for (const unsigned mask : {1U, 0x7fffffffU, 0xaaaaaaaaU}) {
    DeviceArray<unsigned> out(device, 64);
    EXPECT_EQ(error_of(device, kernel("part"), 64, out, mask), error_id::partial_warp) << mask;
    device.reset();
    reload();
  }
  DeviceArray<unsigned> out(device, 64);
  EXPECT_EQ(error_of(device, kernel("part"), 64, out, 0xffffffffU), 0);
  EXPECT_EQ(error_of(device, kernel("part"), 64, out, 0U), 0);
  EXPECT_EQ(error_of(device, kernel("part"), 40, out, 0xffffffffU), error_id::partial_warp);
  device.reset();
}

TEST_P(Matrix, RowsMustBeAligned) {
  {
    DeviceArray<unsigned> out(device, 32);
    EXPECT_EQ(error_of(device, kernel("rows"), 32, out, 48), 0);
    const std::vector<unsigned> words = out.to_vector();
    for (unsigned lane = 0; lane < 32; ++lane) EXPECT_EQ(words[lane], lane / 4 * 12 + lane % 4);
    EXPECT_EQ(error_of(device, kernel("rows"), 32, out, 40), error_id::misaligned_address);
  }
  device.reset();
  reload();
  {
    DeviceArray<unsigned> out(device, 256);
    DeviceArray<unsigned short> matrix(device, 16 * 24);
    EXPECT_EQ(error_of(device, kernel("load"), 32, matrix, out, 24U), 0);
    EXPECT_EQ(error_of(device, kernel("load"), 32, matrix, out, 17U), error_id::misaligned_address);
  }
  device.reset();
  reload();
  DeviceArray<unsigned> out(device, 256);
  DeviceArray<unsigned short> matrix(device, 16 * 24);
  EXPECT_EQ(error_of(device, kernel("load"), 32, matrix, out, 1U << 24), error_id::illegal_address);
  device.reset();
}

}  // namespace

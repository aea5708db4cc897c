// Linear algebra and Fourier transforms on both devices: the same calls against sums in double precision; on a machine
// without a GPU cuBLAS and cuFFT are stand-ins.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <bit>
#include <cmath>
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include "cuda_test.hpp"

namespace {

using namespace warploom;
using test::id_of;
using test::on_gpu;
using C32 = std::complex<float>;
using C64 = std::complex<double>;

class Math : public testing::TestWithParam<const char*> {
 protected:
  static void SetUpTestSuite() {
    if (on_gpu()) return;
    setenv("WARPLOOM_CUDA_DRIVER", STAND_IN_DRIVER, 1);
    setenv("WARPLOOM_CUBLAS", STAND_IN_BLAS, 1);
    setenv("WARPLOOM_CUFFT", STAND_IN_BLAS, 1);
  }
  Device device = Device::open(GetParam());
  Stream stream{device};

  // Skips where the library is not installed, which is what the error says.
  template <class F>
  void with_library(F&& work) {
    try {
      work();
    } catch (const Error& error) {
      if (error.id() != error_id::not_supported || error.message().find("there is no ") == std::string::npos) throw;
      std::printf("[SKIP] %s\n", error.message().c_str());
      GTEST_SKIP() << error.message();
    }
  }
};

template <class T>
struct Rounding {
  static constexpr double unit = std::is_same_v<T, double> || std::is_same_v<T, C64> ? 0x1p-53 : 0x1p-24;
};

template <class T>
std::vector<T> random_values(std::size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<T> out(count);
  for (T& value : out) {
    if constexpr (std::is_floating_point_v<T>)
      value = static_cast<T>(uniform(generator));
    else
      value = T(static_cast<typename T::value_type>(uniform(generator)),
                static_cast<typename T::value_type>(uniform(generator)));
  }
  return out;
}

template <class T>
C64 element(const ArrayView<const T, 2>& m, blas::Op op, long long i, long long j) {
  const C64 value = op == blas::Op::none ? m(i, j) : m(j, i);
  return op == blas::Op::conjugate_transpose ? std::conj(value) : value;
}

// The bound of a sum of k products (Higham, Accuracy and Stability, (3.13)); complex products have four roundings more.
template <class T>
double bound(double k, double magnitude) {
  const double terms = (k + 4) * (std::is_floating_point_v<T> ? 1 : 3) * Rounding<T>::unit;
  return terms / (1 - terms) * magnitude;
}

template <class T>
void check_gemm(const Stream& stream, const ArrayView<T, 2>& a, const std::vector<T>& host_a, blas::Op op_a,
                const ArrayView<T, 2>& b, const std::vector<T>& host_b, blas::Op op_b, NdArray<T, 2>& c,
                const std::vector<T>& host_c) {
  const T alpha = static_cast<T>(1.5), beta = static_cast<T>(-0.5);
  c.copy_from(ArrayView<const T, 2>(host_c.data(), c.view().shape(), c.view().strides()));
  blas::gemm(stream, alpha, a, b, beta, c.view(), op_a, op_b);
  stream.synchronize();
  const std::vector<T> got = c.elements().to_vector();
  const ArrayView<const T, 2> in_a(host_a.data(), a.shape(), a.strides()), in_b(host_b.data(), b.shape(), b.strides()),
      before(host_c.data(), c.view().shape(), c.view().strides()),
      after(got.data(), c.view().shape(), c.view().strides());
  const long long k = op_a == blas::Op::none ? a.extent(1) : a.extent(0);
  for (long long i = 0; i < c.extent(0); ++i)
    for (long long j = 0; j < c.extent(1); ++j) {
      C64 sum = 0;
      double magnitude = 0;
      for (long long x = 0; x < k; ++x) {
        const C64 left = element<T>(in_a, op_a, i, x), right = element<T>(in_b, op_b, x, j);
        sum += left * right;
        magnitude += std::abs(left) * std::abs(right);
      }
      const C64 want = C64(alpha) * sum + C64(beta) * C64(before(i, j));
      const double most = 1.5 * magnitude + 0.5 * std::abs(C64(before(i, j)));
      ASSERT_LE(std::abs(C64(after(i, j)) - want), bound<T>(static_cast<double>(k), most)) << i << ", " << j;
    }
}

template <class T>
void all_products(const Device& device, const Stream& stream) {
  constexpr long long m = 7, n = 5, k = 9;
  using blas::Op;
  for (const Order order_c : {Order::c, Order::f})
    for (const Order order_a : {Order::c, Order::f})
      for (const Order order_b : {Order::c, Order::f})
        for (const Op op_a : {Op::none, Op::transpose, Op::conjugate_transpose})
          for (const Op op_b : {Op::none, Op::transpose, Op::conjugate_transpose}) {
            const bool flip_a = op_a != Op::none, flip_b = op_b != Op::none;
            NdArray<T, 2> a(device, {flip_a ? k : m, flip_a ? m : k}, order_a);
            NdArray<T, 2> b(device, {flip_b ? n : k, flip_b ? k : n}, order_b);
            NdArray<T, 2> c(device, {m, n}, order_c);
            const auto host_a = random_values<T>(a.size(), 1), host_b = random_values<T>(b.size(), 2),
                       host_c = random_values<T>(c.size(), 3);
            a.copy_from(ArrayView<const T, 2>(host_a.data(), a.view().shape(), a.view().strides()));
            b.copy_from(ArrayView<const T, 2>(host_b.data(), b.view().shape(), b.view().strides()));
            // BLAS has no conjugate without a transpose: that needs the operand in the result's order.
            if ((op_a == Op::conjugate_transpose && order_a != order_c) ||
                (op_b == Op::conjugate_transpose && order_b != order_c)) {
              try {
                blas::gemm(stream, static_cast<T>(1), a.view(), b.view(), static_cast<T>(0), c.view(), op_a, op_b);
                ADD_FAILURE() << "a conjugate alone";
              } catch (const Error& error) {
                EXPECT_EQ(error.id(), error_id::not_supported);
                EXPECT_FALSE(error.remedy().empty());
              }
              continue;
            }
            check_gemm(stream, a.view(), host_a, op_a, b.view(), host_b, op_b, c, host_c);
            if (testing::Test::HasFatalFailure()) return;
          }
}

TEST_P(Math, ProductsOfAllTypesOrdersAndTransposes) {
  with_library([&] {
    all_products<float>(device, stream);
    all_products<double>(device, stream);
    all_products<C32>(device, stream);
    all_products<C64>(device, stream);
  });
}

TEST_P(Math, ABatchMayRepeatAnOperandAndViewsHaveGaps) {
  with_library([&] {
    constexpr long long batch = 3, m = 4, n = 6, k = 5;
    const auto host_a = random_values<double>(batch * m * k, 1), host_b = random_values<double>(k * n, 2);
    NdArray<double, 3> a(device, {batch, m, k}), c(device, {batch, m + 2, n + 1});
    NdArray<double, 3> b(device, {1, k, n});
    a.copy_from(ArrayView<const double, 3>(host_a.data(), a.view().shape()));
    b.copy_from(ArrayView<const double, 3>(host_b.data(), b.view().shape()));
    fill(device, c.view(), 7.0);
    const auto part = c.view().slice(1, 0, m).slice(2, 0, n);
    // beta = 0 reads nothing.
    fill(device, part, std::numeric_limits<double>::quiet_NaN());
    blas::gemm(stream, 2.0, a.view(), b.view(), 0.0, part);
    stream.synchronize();
    const auto got = c.elements().to_vector();
    const ArrayView<const double, 3> out(got.data(), c.view().shape());
    for (long long x = 0; x < batch; ++x)
      for (long long i = 0; i < m + 2; ++i)
        for (long long j = 0; j < n + 1; ++j) {
          if (i >= m || j >= n) {
            ASSERT_EQ(out(x, i, j), 7.0);
            continue;
          }
          double want = 0, magnitude = 0;
          for (long long y = 0; y < k; ++y) {
            const double term =
                host_a[static_cast<std::size_t>((x * m + i) * k + y)] * host_b[static_cast<std::size_t>(y * n + j)];
            want += 2 * term;
            magnitude += 2 * std::abs(term);
          }
          ASSERT_NEAR(out(x, i, j), want, 2 * bound<double>(k, magnitude));
        }
  });
}

// Bits of small whole numbers, which both types hold.
std::uint16_t bits_of(blas::Half, int value) { return std::bit_cast<std::uint16_t>(static_cast<_Float16>(value)); }
std::uint16_t bits_of(blas::Bfloat16, int value) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16);
}

template <class T>
void small_products(const Device& device, const Stream& stream) {
  // Sums of whole numbers below 256 are exact.
  constexpr long long n = 4;
  std::vector<T> host_a, host_b;
  for (int i = 0; i < n * n; ++i) {
    host_a.push_back({bits_of(T{}, i % 5 - 2)});
    host_b.push_back({bits_of(T{}, i % 3 - 1)});
  }
  NdArray<T, 2> a(device, {n, n}), b(device, {n, n}), c(device, {n, n});
  a.copy_from(ArrayView<const T, 2>(host_a.data(), a.view().shape()));
  b.copy_from(ArrayView<const T, 2>(host_b.data(), b.view().shape()));
  blas::gemm(stream, 3.0F, a.view(), b.view(), 0.0F, c.view());
  stream.synchronize();
  const auto got = c.elements().to_vector();
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      int want = 0;
      for (int k = 0; k < n; ++k) want += 3 * ((i * 4 + k) % 5 - 2) * ((k * 4 + j) % 3 - 1);
      ASSERT_EQ(got[static_cast<std::size_t>(i * n + j)].bits, bits_of(T{}, want) & (want == 0 ? 0x7fff : 0xffff));
    }
}

TEST_P(Math, SixteenBitProducts) {
  with_library([&] {
    small_products<blas::Half>(device, stream);
    small_products<blas::Bfloat16>(device, stream);
  });
}

template <class T>
void vectors(const Device& device, const Stream& stream) {
  constexpr long long n = 33, rows = 6;
  using Real = decltype(std::abs(T{}));
  const auto host_x = random_values<T>(2 * n, 1), host_y = random_values<T>(n, 2),
             host_a = random_values<T>(rows * n, 3);
  NdArray<T, 1> x(device, {2 * n}), y(device, {n}), out(device, {1}), product(device, {rows});
  NdArray<Real, 1> length(device, {1});
  NdArray<T, 2> a(device, {rows, n});
  x.copy_from(ArrayView<const T, 1>(host_x.data(), x.view().shape()));
  y.copy_from(ArrayView<const T, 1>(host_y.data(), y.view().shape()));
  a.copy_from(ArrayView<const T, 2>(host_a.data(), a.view().shape()));
  // Every second element, from the last one on.
  const auto odd = x.view().slice(0, 2 * n - 1, -1, -2);
  const auto at = [&](long long i) { return C64(host_x[static_cast<std::size_t>(2 * n - 1 - 2 * i)]); };
  blas::gemv(stream, static_cast<T>(2), a.view(), odd, static_cast<T>(0), product.view());
  for (const bool conjugate : {false, true}) {
    blas::dot(stream, odd, y.view(), out.view(), conjugate);
    stream.synchronize();
    C64 want = 0;
    double magnitude = 0;
    for (long long i = 0; i < n; ++i) {
      const C64 term = (conjugate ? std::conj(at(i)) : at(i)) * C64(host_y[static_cast<std::size_t>(i)]);
      want += term;
      magnitude += std::abs(term);
    }
    ASSERT_LE(std::abs(C64(out.elements().to_vector()[0]) - want), 2 * bound<T>(n, magnitude));
  }
  const auto got_product = product.elements().to_vector();
  for (long long i = 0; i < rows; ++i) {
    C64 want = 0;
    double magnitude = 0;
    for (long long j = 0; j < n; ++j) {
      const C64 term = C64(host_a[static_cast<std::size_t>(i * n + j)]) * at(j);
      want += term;
      magnitude += 2 * std::abs(term);
    }
    ASSERT_LE(std::abs(C64(got_product[static_cast<std::size_t>(i)]) - 2.0 * want), 2 * bound<T>(n, magnitude));
  }
  blas::nrm2(stream, odd, length.view());
  blas::axpy(stream, static_cast<T>(0.5), odd, y.view());
  blas::scal(stream, static_cast<T>(4), odd);
  stream.synchronize();
  double squares = 0;
  for (long long i = 0; i < n; ++i) squares += std::norm(at(i));
  ASSERT_NEAR(static_cast<double>(length.elements().to_vector()[0]), std::sqrt(squares),
              bound<T>(n, std::sqrt(squares)));
  const auto sum = y.elements().to_vector(), scaled = x.elements().to_vector();
  for (long long i = 0; i < n; ++i) {
    const C64 before(host_y[static_cast<std::size_t>(i)]), want = before + 0.5 * at(i);
    ASSERT_LE(std::abs(C64(sum[static_cast<std::size_t>(i)]) - want), bound<T>(1, std::abs(before) + std::abs(at(i))));
    ASSERT_EQ(C64(scaled[static_cast<std::size_t>(2 * i + 1)]), 4.0 * C64(host_x[static_cast<std::size_t>(2 * i + 1)]));
    ASSERT_EQ(scaled[static_cast<std::size_t>(2 * i)], host_x[static_cast<std::size_t>(2 * i)]);
  }
}

TEST_P(Math, VectorsOfAllTypesWithNegativeStrides) {
  with_library([&] {
    vectors<float>(device, stream);
    vectors<double>(device, stream);
    vectors<C32>(device, stream);
    vectors<C64>(device, stream);
  });
}

// The sum itself, of the last axes, whose lengths are n.
std::vector<C64> transformed(const std::vector<C64>& in, const std::vector<long long>& n, int sign) {
  std::vector<C64> data = in;
  long long inner = 1;
  for (std::size_t axis = n.size(); axis-- > 0; inner *= n[axis]) {
    const auto before = data;
    const long long outer = static_cast<long long>(data.size()) / (n[axis] * inner);
    for (long long o = 0; o < outer; ++o)
      for (long long u = 0; u < n[axis]; ++u)
        for (long long i = 0; i < inner; ++i) {
          C64 sum = 0;
          for (long long x = 0; x < n[axis]; ++x)
            sum += before[static_cast<std::size_t>((o * n[axis] + x) * inner + i)] *
                   std::polar(1.0, sign * 2 * std::numbers::pi * static_cast<double>(u * x % n[axis]) /
                                       static_cast<double>(n[axis]));
          data[static_cast<std::size_t>((o * n[axis] + u) * inner + i)] = sum;
        }
  }
  return data;
}

// Relative, of all elements (Higham, Theorem 24.2, with log2 of the number of elements rounded up); the sums that are
// compared with are no better than n roundings of double precision.
template <class T>
void expect_close(const std::vector<C64>& got, const std::vector<C64>& want, double elements) {
  double error = 0, length = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    error += std::norm(got[i] - want[i]);
    length += std::norm(want[i]);
  }
  const double unit = Rounding<T>::unit, eta = unit + 4 * unit / (1 - 4 * unit) * (std::numbers::sqrt2 + unit);
  const double limit = (std::ceil(std::log2(elements)) + 1) * eta + elements * 0x1p-52;
  EXPECT_LE(std::sqrt(error), limit * std::sqrt(length));
}

template <class T>
std::vector<C64> widened(const std::vector<T>& values) {
  return std::vector<C64>(values.begin(), values.end());
}

template <class T, unsigned Rank>
void transforms(const Device& device, const Stream& stream, const long long (&shape)[Rank], unsigned axes) {
  using Complex = std::complex<T>;
  long long half_shape[Rank];
  std::copy(shape, shape + Rank, half_shape);
  half_shape[Rank - 1] = shape[Rank - 1] / 2 + 1;
  NdArray<Complex, Rank> in(device, shape), out(device, shape), half(device, half_shape);
  NdArray<T, Rank> real(device, shape), back(device, shape);
  const auto values = random_values<Complex>(in.size(), 1);
  const auto reals = random_values<T>(real.size(), 2);
  in.copy_from(ArrayView<const Complex, Rank>(values.data(), shape));
  real.copy_from(ArrayView<const T, Rank>(reals.data(), shape));
  const std::vector<long long> n(shape + (Rank - axes), shape + Rank);
  double count = 1;
  for (const long long extent : n) count *= static_cast<double>(extent);

  fft::forward(stream, in.view(), out.view(), {.axes = axes});
  stream.synchronize();
  expect_close<T>(widened(out.elements().to_vector()), transformed(widened(values), n, -1), count);
  // In place, and scaled back.
  fft::inverse(stream, out.view(), out.view(), {.axes = axes, .scale = 1 / count});
  stream.synchronize();
  expect_close<T>(widened(out.elements().to_vector()), widened(values), count * count);

  fft::forward_real(stream, real.view(), half.view(), {.axes = axes});
  stream.synchronize();
  const auto want = transformed(widened(reals), n, -1);
  const auto stored = half.elements().to_vector();
  std::vector<C64> want_half;
  const auto row = static_cast<std::size_t>(shape[Rank - 1]), kept = row / 2 + 1;
  for (std::size_t i = 0; i < want.size(); ++i)
    if (i % row < kept) want_half.push_back(want[i]);
  expect_close<T>(widened(stored), want_half, count);
  fft::inverse_real(stream, half.view(), back.view(), {.axes = axes, .scale = 1 / count});
  stream.synchronize();
  expect_close<T>(widened(back.elements().to_vector()), widened(reals), count * count);
  EXPECT_EQ(half.elements().to_vector(), stored);  // the input stays
}

TEST_P(Math, TransformsOfOneToThreeAxes) {
  with_library([&] {
    transforms<float, 1>(device, stream, {60}, 1);
    transforms<double, 1>(device, stream, {45}, 1);
    transforms<float, 2>(device, stream, {3, 16}, 1);
    transforms<double, 2>(device, stream, {6, 10}, 2);
    transforms<float, 3>(device, stream, {2, 6, 8}, 2);
    transforms<double, 3>(device, stream, {4, 3, 5}, 3);
  });
}

TEST_P(Math, WorkRunsInTheOrderOfItsStream) {
  with_library([&] {
    constexpr long long n = 16;
    NdArray<float, 2> a(device, {n, n}), b(device, {n, n}), c(device, {n, n});
    for (int round = 0; round < 20; ++round) {
      fill(device, stream, a.view(), 1.0F);
      fill(device, stream, b.view(), static_cast<float>(round));
      blas::gemm(stream, 1.0F, a.view(), b.view(), 0.0F, c.view());
      blas::gemm(stream, 1.0F, a.view(), c.view(), 0.0F, b.view());
      stream.synchronize();
      ASSERT_EQ(b.elements().to_vector()[5], static_cast<float>(round * n * n));
    }
  });
}

TEST_P(Math, AsTheGuideShows) {
  with_library([&] {
    const auto host_a = random_values<float>(64 * 48, 1), host_b = random_values<float>(48 * 32, 2);
    // [guide]
    NdArray<float, 2> a(device, {64, 48}), b(device, {48, 32}), c(device, {64, 32});
    a.copy_from({host_a.data(), {64, 48}});
    b.copy_from({host_b.data(), {48, 32}});
    blas::gemm(stream, 1.0F, a.view(), b.view(), 0.0F, c.view());  // c = a b
    NdArray<std::complex<float>, 2> spectrum(device, {64, 17});
    fft::forward_real(stream, c.view(), spectrum.view());  // of each row
    stream.synchronize();
    // [/guide]
    const auto product = c.elements().to_vector();
    const auto first = spectrum.elements().to_vector()[0];
    double sum = 0, magnitude = 0;
    for (int i = 0; i < 32; ++i) {
      sum += static_cast<double>(product[static_cast<std::size_t>(i)]);
      magnitude += std::abs(static_cast<double>(product[static_cast<std::size_t>(i)]));
    }
    EXPECT_LE(std::abs(C64(first) - sum), bound<float>(32, magnitude));
  });
}

TEST_P(Math, AGraphHoldsAProduct) {
  with_library([&] {
    NdArray<float, 2> a(device, {2, 2}), c(device, {2, 2});
    fill(device, a.view(), 2.0F);
    fill(device, c.view(), 1.0F);
    stream.synchronize();
    stream.begin_capture();
    blas::gemm(stream, 1.0F, a.view(), a.view(), 1.0F, c.view());
    const GraphExec graph = stream.end_capture().instantiate();
    for (int i = 0; i < 3; ++i) graph.launch(stream);
    stream.synchronize();
    EXPECT_EQ(c.elements().to_vector()[0], 25.0F);
  });
}

TEST_P(Math, CallsThatCannotBeAreRefused) {
  NdArray<float, 2> a(device, {4, 6}), b(device, {6, 3}), c(device, {4, 3}), wrong(device, {5, 3});
  const auto product = [&](const ArrayView<float, 2>& x, const ArrayView<float, 2>& y, const ArrayView<float, 2>& z) {
    return id_of([&] { blas::gemm(stream, 1.0F, x, y, 0.0F, z); });
  };
  EXPECT_EQ(product(a.view(), b.view(), wrong.view()), error_id::invalid_value);
  EXPECT_EQ(product(b.view(), b.view(), c.view()), error_id::invalid_value);
  // The result is an operand; elements are two apart in both directions; memory of nobody.
  NdArray<float, 2> square(device, {4, 4});
  EXPECT_EQ(product(square.view(), square.view(), square.view()), error_id::invalid_value);
  NdArray<float, 2> wide(device, {8, 12});
  EXPECT_EQ(product(wide.view().slice(0, 0, 8, 2).slice(1, 0, 12, 2), b.view(), c.view()), error_id::not_supported);
  EXPECT_EQ(product({nullptr, {4, 6}}, b.view(), c.view()), error_id::invalid_value);
  EXPECT_EQ(product({a.view().data(), {4000, 6}}, b.view(), c.view()), error_id::invalid_value);
  NdArray<C32, 1> in(device, {8}), out(device, {7});
  EXPECT_EQ(id_of([&] { fft::forward(stream, in.view(), out.view()); }), error_id::invalid_value);
  EXPECT_EQ(id_of([&] { fft::forward(stream, in.view(), in.view(), {.axes = 2}); }), error_id::invalid_value);
  EXPECT_EQ(id_of([&] { fft::forward(stream, in.view().slice(0, 0, 8, 2), out.view().slice(0, 0, 4)); }),
            error_id::invalid_value);
}

TEST_P(Math, ArraysThatTheDeviceDoesNotReachAreRefused) {
  std::vector<float> host(16);
  NdArray<float, 2> a(device, {4, 4}), c(device, {4, 4});
  if (std::string(GetParam()) == "cpu") {
    // Nobody's memory, as that of a GPU is for the host.
    void* nobodys = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(nobodys, MAP_FAILED);
    EXPECT_EQ(
        id_of([&] { blas::gemm(stream, 1.0F, {static_cast<float*>(nobodys), {4, 4}}, a.view(), 0.0F, c.view()); }),
        error_id::invalid_value);
    munmap(nobodys, 4096);
    EXPECT_EQ(id_of([&] { blas::gemm(stream, 1.0F, {host.data(), {4, 4}}, a.view(), 0.0F, c.view()); }), 0);
    stream.synchronize();
    return;
  }
  try {
    blas::gemm(stream, 1.0F, {host.data(), {4, 4}}, a.view(), 0.0F, c.view());
    ADD_FAILURE() << "memory of the host";
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), error_id::invalid_value);
    EXPECT_NE(error.message().find("memory of the host"), std::string::npos) << error.what();
    EXPECT_EQ(error.where(), "a");
  }
  if (Device::names().size() < 3) return;
  const Device other = Device::open("cuda:1");
  NdArray<float, 2> far(other, {4, 4});
  EXPECT_EQ(id_of([&] { blas::gemm(stream, 1.0F, far.view(), a.view(), 0.0F, c.view()); }), error_id::invalid_device);
}

INSTANTIATE_TEST_SUITE_P(On, Math, testing::Values("cpu", "cuda:0"),
                         [](const auto& one) { return std::string(one.param) == "cpu" ? "Cpu" : "Cuda"; });

TEST(MathLibraries, EachStreamHasAHandleAndNoneIsLeft) {
  if (on_gpu()) GTEST_SKIP() << "for the stand-in";
  setenv("WARPLOOM_CUDA_DRIVER", STAND_IN_DRIVER, 1);
  setenv("WARPLOOM_CUBLAS", STAND_IN_BLAS, 1);
  auto* library = dlopen(STAND_IN_BLAS, RTLD_NOW);
  ASSERT_NE(library, nullptr);
  auto* alive = reinterpret_cast<int (*)()>(dlsym(library, "stand_in_blas_alive"));
  {
    const Device device = Device::open("cuda:0");
    const Stream one(device), two(device);
    NdArray<float, 2> a(device, {2, 2}), c(device, {2, 2}), d(device, {2, 2});
    fill(device, a.view(), 1.0F);
    blas::gemm(one, 1.0F, a.view(), a.view(), 0.0F, c.view());
    blas::gemm(two, 1.0F, a.view(), a.view(), 0.0F, d.view());
    device.synchronize();
    EXPECT_EQ(alive(), 2);  // one for each stream
    device.reset();
    EXPECT_EQ(alive(), 0);
  }
  EXPECT_EQ(alive(), 0);
}

}  // namespace

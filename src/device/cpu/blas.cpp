// The CPU device's linear algebra: OpenBLAS's C interface (CBLAS, BLAS Technical Forum), loaded when it is first used.
#include <algorithm>
#include <bit>
#include <complex>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "base/diag_of.hpp"
#include "base/library.hpp"
#include "device/cpu/cpu_device.hpp"

namespace warploom::device {
namespace {

using C32 = std::complex<float>;
using C64 = std::complex<double>;

// CBLAS_ORDER and CBLAS_TRANSPOSE.
constexpr int kColumns = 102;
int op_of(Transposed op) { return op == Transposed::no ? 111 : op == Transposed::yes ? 112 : 113; }

// Scalars go by value for real types and by address for complex ones.
template <class T>
using GemmReal = void(int, int, int, int, int, int, T, const T*, int, const T*, int, T, T*, int);
using GemmComplex = void(int, int, int, int, int, int, const void*, const void*, int, const void*, int, const void*,
                         void*, int);
template <class T>
using GemvReal = void(int, int, int, int, T, const T*, int, const T*, int, T, T*, int);
using GemvComplex = void(int, int, int, int, const void*, const void*, int, const void*, int, const void*, void*, int);
template <class T>
using DotReal = T(int, const T*, int, const T*, int);
using DotComplex = void(int, const void*, int, const void*, int, void*);
template <class T>
using AxpyReal = void(int, T, const T*, int, T*, int);
using AxpyComplex = void(int, const void*, const void*, int, void*, int);
template <class T, class X>
using Nrm2 = T(int, const X*, int);
template <class T>
using ScalReal = void(int, T, T*, int);
using ScalComplex = void(int, const void*, void*, int);

// WL_ENTRY(name without cblas_, type).
#define WARPLOOM_CBLAS_ENTRIES(WL_ENTRY)        \
  WL_ENTRY(sgemm, GemmReal<float>)              \
  WL_ENTRY(dgemm, GemmReal<double>)             \
  WL_ENTRY(cgemm, GemmComplex)                  \
  WL_ENTRY(zgemm, GemmComplex)                  \
  WL_ENTRY(sgemv, GemvReal<float>)              \
  WL_ENTRY(dgemv, GemvReal<double>)             \
  WL_ENTRY(cgemv, GemvComplex)                  \
  WL_ENTRY(zgemv, GemvComplex)                  \
  WL_ENTRY(sdot, DotReal<float>)                \
  WL_ENTRY(ddot, DotReal<double>)               \
  WL_ENTRY(cdotu_sub, DotComplex)               \
  WL_ENTRY(zdotu_sub, DotComplex)               \
  WL_ENTRY(cdotc_sub, DotComplex)               \
  WL_ENTRY(zdotc_sub, DotComplex)               \
  WL_ENTRY(saxpy, AxpyReal<float>)              \
  WL_ENTRY(daxpy, AxpyReal<double>)             \
  WL_ENTRY(caxpy, AxpyComplex)                  \
  WL_ENTRY(zaxpy, AxpyComplex)                  \
  WL_ENTRY(snrm2, Nrm2<float WL_COMMA float>)   \
  WL_ENTRY(dnrm2, Nrm2<double WL_COMMA double>) \
  WL_ENTRY(scnrm2, Nrm2<float WL_COMMA void>)   \
  WL_ENTRY(dznrm2, Nrm2<double WL_COMMA void>)  \
  WL_ENTRY(sscal, ScalReal<float>)              \
  WL_ENTRY(dscal, ScalReal<double>)             \
  WL_ENTRY(cscal, ScalComplex)                  \
  WL_ENTRY(zscal, ScalComplex)
#define WL_COMMA ,

struct Cblas {
#define WL_ENTRY(name, type) type* name = nullptr;
  WARPLOOM_CBLAS_ENTRIES(WL_ENTRY)
#undef WL_ENTRY
};

Result<Cblas> load() {
  auto library = Library::open({"WARPLOOM_OPENBLAS",
                                {"libopenblas.so.0", "libopenblas.so", "libcblas.so.3"},
                                "OpenBLAS",
                                "install OpenBLAS (Debian: libopenblas0), or name its file in WARPLOOM_OPENBLAS"});
  if (!library) return std::move(library.error());
  Cblas blas;
#define WL_ENTRY(name, type) library->take(blas.name, "cblas_" #name);
  WARPLOOM_CBLAS_ENTRIES(WL_ENTRY)
#undef WL_ENTRY
  WL_TRY(library->complete());
  return blas;
}

const Result<Cblas>& cblas() {
  static const auto& loaded = *new Result<Cblas>(load());
  return loaded;
}

int narrow(std::int64_t value) { return static_cast<int>(value); }  // the caller has kept to most()

template <class T>
constexpr bool kComplex = !std::is_floating_point_v<T>;

// A scalar as CBLAS takes it.
template <class T>
auto scalar(const C64& value, T& place) {
  if constexpr (kComplex<T>) {
    place = T(value);
    return static_cast<const void*>(&place);
  } else {
    place = static_cast<T>(value.real());
    return place;
  }
}

template <class T, class F>
void gemm(F* f, const Gemm& g, const T* a, const T* b, T* c) {
  T alpha{}, beta{};
  const auto one = scalar<T>(g.alpha, alpha);
  const auto other = scalar<T>(g.beta, beta);
  for (std::int64_t i = 0; i < g.batch; ++i)
    f(kColumns, op_of(g.a.op), op_of(g.b.op), narrow(g.m), narrow(g.n), narrow(g.k), one, a + i * g.a.step,
      narrow(g.a.leading), b + i * g.b.step, narrow(g.b.leading), other, c + i * g.c_step, narrow(g.c_leading));
}

template <class T, class F>
void gemm(F* f, const Gemm& g) {
  gemm<T>(f, g, static_cast<const T*>(g.a.data), static_cast<const T*>(g.b.data), static_cast<T*>(g.c));
}

// ---- f16 and bf16: their values and sums as f32, rounded to nearest even at the end ----

float bf16_value(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

std::uint16_t bf16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (value != value) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float value_of(Scalar type, std::uint16_t bits) {
  return type == Scalar::bf16 ? bf16_value(bits) : static_cast<float>(std::bit_cast<_Float16>(bits));
}

std::uint16_t bits_of(Scalar type, float value) {
  return type == Scalar::bf16 ? bf16_bits(value) : std::bit_cast<std::uint16_t>(static_cast<_Float16>(value));
}

std::int64_t columns(const MatrixIn& matrix, std::int64_t plain, std::int64_t transposed) {
  return matrix.op == Transposed::no ? plain : transposed;
}

// One matrix of `rows` x `count`, columns without gaps.
std::vector<float> widened(Scalar type, const std::uint16_t* from, std::int64_t leading, std::int64_t rows,
                           std::int64_t count) {
  std::vector<float> out(static_cast<std::size_t>(rows * count));
  for (std::int64_t j = 0; j < count; ++j)
    for (std::int64_t i = 0; i < rows; ++i)
      out[static_cast<std::size_t>(j * rows + i)] = value_of(type, from[j * leading + i]);
  return out;
}

void gemm_16(const Cblas& blas, const Gemm& g) {
  const std::int64_t a_rows = columns(g.a, g.m, g.k), a_columns = columns(g.a, g.k, g.m);
  const std::int64_t b_rows = columns(g.b, g.k, g.n), b_columns = columns(g.b, g.n, g.k);
  Gemm one = g;
  one.batch = 1;
  one.a.leading = std::max<std::int64_t>(1, a_rows);
  one.b.leading = std::max<std::int64_t>(1, b_rows);
  one.c_leading = std::max<std::int64_t>(1, g.m);
  for (std::int64_t i = 0; i < g.batch; ++i) {
    auto* c = static_cast<std::uint16_t*>(g.c) + i * g.c_step;
    const auto a =
        widened(g.type, static_cast<const std::uint16_t*>(g.a.data) + i * g.a.step, g.a.leading, a_rows, a_columns);
    const auto b =
        widened(g.type, static_cast<const std::uint16_t*>(g.b.data) + i * g.b.step, g.b.leading, b_rows, b_columns);
    // What is multiplied by 0 is not read.
    auto sum = g.beta == 0.0 ? std::vector<float>(static_cast<std::size_t>(g.m * g.n))
                             : widened(g.type, c, g.c_leading, g.m, g.n);
    gemm<float>(blas.sgemm, one, a.data(), b.data(), sum.data());
    for (std::int64_t col = 0; col < g.n; ++col)
      for (std::int64_t row = 0; row < g.m; ++row)
        c[col * g.c_leading + row] = bits_of(g.type, sum[static_cast<std::size_t>(col * g.m + row)]);
  }
}

template <class T, class F>
void gemv(F* f, const Gemv& g) {
  T alpha{}, beta{};
  const auto one = scalar<T>(g.alpha, alpha);
  const auto other = scalar<T>(g.beta, beta);
  f(kColumns, op_of(g.a.op), narrow(g.m), narrow(g.n), one, static_cast<const T*>(g.a.data), narrow(g.a.leading),
    static_cast<const T*>(g.x.data), narrow(g.x.step), other, static_cast<T*>(g.y.data), narrow(g.y.step));
}

template <class T>
struct VectorEntries {
  DotReal<T>* dot;
  AxpyReal<T>* axpy;
  Nrm2<T, T>* nrm2;
  ScalReal<T>* scal;
};

template <class T>
void vector_real(const VectorEntries<T>& f, const VectorCall& v) {
  auto *x = static_cast<T*>(v.x.data), *y = static_cast<T*>(v.y.data), *result = static_cast<T*>(v.result);
  const int n = narrow(v.count), dx = narrow(v.x.step), dy = narrow(v.y.step);
  const T alpha = static_cast<T>(v.alpha.real());
  switch (v.task) {
    case VectorTask::dot:
    case VectorTask::dot_conjugated: *result = f.dot(n, x, dx, y, dy); break;
    case VectorTask::axpy: f.axpy(n, alpha, x, dx, y, dy); break;
    case VectorTask::nrm2: *result = f.nrm2(n, x, dx); break;
    case VectorTask::scal: f.scal(n, alpha, x, dx); break;
  }
}

template <class T>
struct ComplexEntries {
  DotComplex *dotu, *dotc;
  AxpyComplex* axpy;
  Nrm2<T, void>* nrm2;
  ScalComplex* scal;
};

template <class T>
void vector_complex(const ComplexEntries<T>& f, const VectorCall& v) {
  const int n = narrow(v.count), dx = narrow(v.x.step), dy = narrow(v.y.step);
  const std::complex<T> alpha(v.alpha);
  switch (v.task) {
    case VectorTask::dot: f.dotu(n, v.x.data, dx, v.y.data, dy, v.result); break;
    case VectorTask::dot_conjugated: f.dotc(n, v.x.data, dx, v.y.data, dy, v.result); break;
    case VectorTask::axpy: f.axpy(n, &alpha, v.x.data, dx, v.y.data, dy); break;
    case VectorTask::nrm2: *static_cast<T*>(v.result) = f.nrm2(n, v.x.data, dx); break;
    case VectorTask::scal: f.scal(n, &alpha, v.x.data, dx); break;
  }
}

Diag no_such_type() {
  Diag d;
  d.id = ErrorId::not_supported;
  d.what = "16-bit elements have matrix products only";
  return d;
}

}  // namespace

Result<void> CpuMath::reachable(const void* address) {
  if (address == nullptr || device_.reads(address)) return {};
  return diag_of(ErrorId::invalid_value, "the array is in memory that the CPU does not reach",
                 "pass an array of this device or of the host; copy those of GPUs first");
}

Result<void> CpuMath::need_blas() {
  if (!cblas()) return Diag(cblas().error());
  return {};
}

Result<void> CpuMath::run(const Gemm& call) {
  WL_TRY(need_blas());
  const Cblas& blas = *cblas();
  switch (call.type) {
    case Scalar::f16:
    case Scalar::bf16: gemm_16(blas, call); break;
    case Scalar::f32: gemm<float>(blas.sgemm, call); break;
    case Scalar::f64: gemm<double>(blas.dgemm, call); break;
    case Scalar::c64: gemm<C32>(blas.cgemm, call); break;
    case Scalar::c128: gemm<C64>(blas.zgemm, call); break;
  }
  return {};
}

Result<void> CpuMath::run(const Gemv& call) {
  WL_TRY(need_blas());
  const Cblas& blas = *cblas();
  switch (call.type) {
    case Scalar::f16:
    case Scalar::bf16: return no_such_type();
    case Scalar::f32: gemv<float>(blas.sgemv, call); break;
    case Scalar::f64: gemv<double>(blas.dgemv, call); break;
    case Scalar::c64: gemv<C32>(blas.cgemv, call); break;
    case Scalar::c128: gemv<C64>(blas.zgemv, call); break;
  }
  return {};
}

Result<void> CpuMath::run(const VectorCall& call) {
  WL_TRY(need_blas());
  const Cblas& b = *cblas();
  switch (call.type) {
    case Scalar::f16:
    case Scalar::bf16: return no_such_type();
    case Scalar::f32: vector_real<float>({b.sdot, b.saxpy, b.snrm2, b.sscal}, call); break;
    case Scalar::f64: vector_real<double>({b.ddot, b.daxpy, b.dnrm2, b.dscal}, call); break;
    case Scalar::c64: vector_complex<float>({b.cdotu_sub, b.cdotc_sub, b.caxpy, b.scnrm2, b.cscal}, call); break;
    case Scalar::c128: vector_complex<double>({b.zdotu_sub, b.zdotc_sub, b.zaxpy, b.dznrm2, b.zscal}, call); break;
  }
  return {};
}

}  // namespace warploom::device

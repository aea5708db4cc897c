// Linear algebra on arrays in device memory: the same calls on both devices, at the speed of a library.
#pragma once

#include <complex>
#include <cstdint>
#include <type_traits>

#include "warploom/array.hpp"
#include "warploom/export.hpp"
#include "warploom/stream.hpp"
#include "warploom/view.hpp"

namespace warploom {
namespace detail {

// Values are those of the runtime.
enum class Element : std::uint8_t { f16, bf16, f32, f64, c64, c128 };

// A view without its type; strides in bytes.
struct AnyView {
  const void* data = nullptr;
  unsigned rank = 0;
  const long long* shape = nullptr;
  const long long* strides = nullptr;

  AnyView() = default;
  AnyView(const void* at, unsigned axes, const long long* extents, const long long* steps)
      : data(at), rank(axes), shape(extents), strides(steps) {}
  template <class T, unsigned Rank>
  explicit AnyView(const ArrayView<T, Rank>& view)
      : data(view.data()), rank(Rank), shape(view.shape()), strides(view.strides()) {}
};

// Matrices of rank 2, or 3 for a batch; `ops` by their value.
WARPLOOM_API void gemm(const Stream& stream, Element type, std::complex<double> alpha, const AnyView& a, int op_a,
                       const AnyView& b, int op_b, std::complex<double> beta, const AnyView& c);
WARPLOOM_API void gemv(const Stream& stream, Element type, std::complex<double> alpha, const AnyView& a, int op,
                       const AnyView& x, std::complex<double> beta, const AnyView& y);
// The result is one element.
WARPLOOM_API void dot(const Stream& stream, Element type, const AnyView& x, const AnyView& y, bool conjugate,
                      const AnyView& result);
WARPLOOM_API void nrm2(const Stream& stream, Element type, const AnyView& x, const AnyView& result);
WARPLOOM_API void axpy(const Stream& stream, Element type, std::complex<double> alpha, const AnyView& x,
                       const AnyView& y);
WARPLOOM_API void scal(const Stream& stream, Element type, std::complex<double> alpha, const AnyView& x);

}  // namespace detail

/// Basic linear algebra (BLAS levels 1 to 3) on views of device memory. On a GPU cuBLAS does the work, on the CPU
/// device OpenBLAS; both are found when they are first used, and not_supported says what to install when there is none.
///
/// Calls are queued on the stream and return at once; arrays must stay until the stream has passed them. Views are of
/// memory of the stream's device. Lines of a matrix lie in C or in Fortran order with any distance between them;
/// views of vectors have any stride but 0. `c` and `y` overlap no other argument. Scalars are given by value. What is
/// multiplied by beta = 0 is not read. Throw invalid_value for shapes that do not fit, overlaps, and memory that is not
/// inside one allocation; not_supported for a layout that the library does not take, and for more than 2^31 - 1
/// elements along an axis. Errors of the library itself are reported by the stream. (BLAS Technical Forum, "Basic
/// Linear Algebra Subprograms"; cuBLAS documentation.)
namespace blas {

/// IEEE half precision and bfloat16 as their bits; products of them are summed as float.
struct Half {
  std::uint16_t bits;
};
struct Bfloat16 {
  std::uint16_t bits;
};

/// What a matrix enters a product as.
enum class Op : std::uint8_t { none, transpose, conjugate_transpose };

namespace detail {

template <class T>
struct Traits;
template <>
struct Traits<Half> {
  static constexpr auto element = warploom::detail::Element::f16;
  using Scalar = float;
};
template <>
struct Traits<Bfloat16> {
  static constexpr auto element = warploom::detail::Element::bf16;
  using Scalar = float;
};
template <>
struct Traits<float> {
  static constexpr auto element = warploom::detail::Element::f32;
  using Scalar = float;
  using Real = float;
};
template <>
struct Traits<double> {
  static constexpr auto element = warploom::detail::Element::f64;
  using Scalar = double;
  using Real = double;
};
template <>
struct Traits<std::complex<float>> {
  static constexpr auto element = warploom::detail::Element::c64;
  using Scalar = std::complex<float>;
  using Real = float;
};
template <>
struct Traits<std::complex<double>> {
  static constexpr auto element = warploom::detail::Element::c128;
  using Scalar = std::complex<double>;
  using Real = double;
};
template <class T>
using Scalar = typename Traits<T>::Scalar;
template <class T>
using Real = typename Traits<T>::Real;  // none for 16-bit types, which have matrix products only
template <class T, unsigned Rank>
using In = std::type_identity_t<ArrayView<const T, Rank>>;

}  // namespace detail

/// c = alpha op(a) op(b) + beta c. With views of rank 3 the first axis counts the matrices of a batch; a and b may
/// have 1 there, or the stride 0, for the same matrix each time.
template <class T, unsigned Rank>
void gemm(const Stream& stream, detail::Scalar<T> alpha, const detail::In<T, Rank>& a, const detail::In<T, Rank>& b,
          detail::Scalar<T> beta, const ArrayView<T, Rank>& c, Op op_a = Op::none, Op op_b = Op::none) {
  static_assert(Rank == 2 || Rank == 3, "matrices, or a batch of them");
  using warploom::detail::AnyView;
  warploom::detail::gemm(stream, detail::Traits<T>::element, alpha, AnyView(a), static_cast<int>(op_a), AnyView(b),
                         static_cast<int>(op_b), beta, AnyView(c));
}

/// y = alpha op(a) x + beta y.
template <class T>
void gemv(const Stream& stream, detail::Scalar<T> alpha, const detail::In<T, 2>& a, const detail::In<T, 1>& x,
          detail::Scalar<T> beta, const ArrayView<T, 1>& y, Op op = Op::none) {
  static_assert(sizeof(detail::Real<T>) != 0);
  using warploom::detail::AnyView;
  warploom::detail::gemv(stream, detail::Traits<T>::element, alpha, AnyView(a), static_cast<int>(op), AnyView(x), beta,
                         AnyView(y));
}

/// result[0] = sum of x y, or of conj(x) y; result is device memory.
template <class T>
void dot(const Stream& stream, const detail::In<T, 1>& x, const detail::In<T, 1>& y, const ArrayView<T, 1>& result,
         bool conjugate = false) {
  static_assert(sizeof(detail::Real<T>) != 0);
  using warploom::detail::AnyView;
  warploom::detail::dot(stream, detail::Traits<T>::element, AnyView(x), AnyView(y), conjugate, AnyView(result));
}

/// result[0] = the Euclidean length of x; result is device memory.
template <class T>
void nrm2(const Stream& stream, const ArrayView<T, 1>& x,
          const ArrayView<detail::Real<std::remove_const_t<T>>, 1>& result) {
  using warploom::detail::AnyView;
  warploom::detail::nrm2(stream, detail::Traits<std::remove_const_t<T>>::element, AnyView(x), AnyView(result));
}

/// y = alpha x + y.
template <class T>
void axpy(const Stream& stream, detail::Scalar<T> alpha, const detail::In<T, 1>& x, const ArrayView<T, 1>& y) {
  static_assert(sizeof(detail::Real<T>) != 0);
  using warploom::detail::AnyView;
  warploom::detail::axpy(stream, detail::Traits<T>::element, alpha, AnyView(x), AnyView(y));
}

/// x = alpha x.
template <class T>
void scal(const Stream& stream, detail::Scalar<T> alpha, const ArrayView<T, 1>& x) {
  static_assert(sizeof(detail::Real<T>) != 0);
  warploom::detail::scal(stream, detail::Traits<T>::element, alpha, warploom::detail::AnyView(x));
}

}  // namespace blas
}  // namespace warploom

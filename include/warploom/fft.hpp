// Fourier transforms of arrays in device memory: the same calls on both devices, at the speed of a library.
#pragma once

#include <complex>
#include <type_traits>

#include "warploom/blas.hpp"
#include "warploom/export.hpp"
#include "warploom/stream.hpp"
#include "warploom/view.hpp"

namespace warploom {
namespace detail {

enum class Fourier : std::uint8_t { complex, real_to_complex, complex_to_real };
// `axes`: the last so many are transformed.
WARPLOOM_API void fourier(const Stream& stream, Fourier kind, bool f64, bool inverse, unsigned axes, double scale,
                          const AnyView& in, const AnyView& out);
// Where shared libraries are looked for before the system's folders.
WARPLOOM_API void add_library_folder(const char* folder);

}  // namespace detail

/// Discrete Fourier transforms of the last one to three axes, for each place of the axes before them. On a GPU cuFFT
/// does the work, on the CPU device FFTW; both are found when they are first used, and not_supported says what to
/// install when there is none.
///
/// Calls are queued on the stream and return at once; arrays must stay until the stream has passed them. Views are of
/// memory of the stream's device, elements one after the other in C order. The forward transform has the exponent
/// -2 pi i; nothing is divided: an inverse after a forward one gives the elements times their number, unless `scale`
/// says otherwise. Throw invalid_value for shapes that do not fit, other layouts, overlaps, and memory that is not
/// inside one allocation; not_supported for more than 2^31 - 1 elements of a transform. (cuFFT and FFTW documentation.)
namespace fft {

struct Options {
  unsigned axes = 1;  ///< the last so many axes are transformed, 1 to 3
  double scale = 1;   ///< the result is multiplied by it
};

/// Of complex elements; `out` may be `in`.
template <class T, unsigned Rank>
void forward(const Stream& stream, const std::type_identity_t<ArrayView<const std::complex<T>, Rank>>& in,
             const ArrayView<std::complex<T>, Rank>& out, const Options& options = {}) {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>, "single or double precision");
  detail::fourier(stream, detail::Fourier::complex, sizeof(T) == 8, false, options.axes, options.scale,
                  detail::AnyView(in), detail::AnyView(out));
}
template <class T, unsigned Rank>
void inverse(const Stream& stream, const std::type_identity_t<ArrayView<const std::complex<T>, Rank>>& in,
             const ArrayView<std::complex<T>, Rank>& out, const Options& options = {}) {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>, "single or double precision");
  detail::fourier(stream, detail::Fourier::complex, sizeof(T) == 8, true, options.axes, options.scale,
                  detail::AnyView(in), detail::AnyView(out));
}

/// Of real elements: `out` has n / 2 + 1 elements on the last axis, where `in` has n.
template <class T, unsigned Rank>
void forward_real(const Stream& stream, const std::type_identity_t<ArrayView<const T, Rank>>& in,
                  const ArrayView<std::complex<T>, Rank>& out, const Options& options = {}) {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>, "single or double precision");
  detail::fourier(stream, detail::Fourier::real_to_complex, sizeof(T) == 8, false, options.axes, options.scale,
                  detail::AnyView(in), detail::AnyView(out));
}
/// Its inverse: `in` has n / 2 + 1 elements on the last axis, where `out` has n; `in` stays as it is.
template <class T, unsigned Rank>
void inverse_real(const Stream& stream, const std::type_identity_t<ArrayView<const std::complex<T>, Rank>>& in,
                  const ArrayView<T, Rank>& out, const Options& options = {}) {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>, "single or double precision");
  detail::fourier(stream, detail::Fourier::complex_to_real, sizeof(T) == 8, true, options.axes, options.scale,
                  detail::AnyView(in), detail::AnyView(out));
}

}  // namespace fft
}  // namespace warploom

// Fourier transforms: shapes of views as calls of a library.
#include "warploom/fft.hpp"

#include "api/math.hpp"
#include "base/library.hpp"
#include "warploom/array.hpp"
#include "warploom/memory.hpp"

namespace warploom::detail {
namespace {

bool is_contiguous(const AnyView& view, std::size_t element) {
  auto step = static_cast<std::int64_t>(element);
  for (unsigned i = view.rank; i-- > 0;) {
    if (view.shape[i] != 1 && view.strides[i] != step) return false;
    step *= view.shape[i];
  }
  return true;
}

[[noreturn]] void fail_shape(const std::string& what) {
  api::fail(ErrorId::invalid_value, what, "pass arrays whose shapes fit");
}

}  // namespace

void add_library_folder(const char* folder) { warploom::add_library_folder(std::string(folder)); }

void fourier(const Stream& stream, Fourier kind, bool f64, bool inverse, unsigned axes, double scale, const AnyView& in,
             const AnyView& out) {
  const api::MathCall call(stream);
  if (axes < 1 || axes > 3 || axes > in.rank || in.rank != out.rank)
    fail_shape("a transform is of 1 to 3 axes that both arrays have, not of " + std::to_string(axes) + " of " +
               api::shape_text(in) + " to " + api::shape_text(out));
  const std::size_t real = f64 ? 8 : 4;
  const std::size_t in_bytes = kind == Fourier::real_to_complex ? real : 2 * real;
  const std::size_t out_bytes = kind == Fourier::complex_to_real ? real : 2 * real;
  const api::Extent from = call.place(in, in_bytes, "the input"), to = call.place(out, out_bytes, "the result");

  // Both agree except in the last axis of a real transform, of which about half is stored.
  const AnyView& full = kind == Fourier::complex_to_real ? out : in;
  const AnyView& stored = kind == Fourier::complex_to_real ? in : out;
  for (unsigned i = 0; i < in.rank; ++i) {
    const bool halved = kind != Fourier::complex && i + 1 == in.rank;
    if (stored.shape[i] != (halved ? full.shape[i] / 2 + 1 : full.shape[i]))
      fail_shape("the input is " + api::shape_text(in) + ", the result " + api::shape_text(out) +
                 (halved ? "; n real elements on the last axis go with n / 2 + 1 complex ones" : ""));
  }
  device::Fourier f;
  static_assert(static_cast<int>(Fourier::complex_to_real) == static_cast<int>(device::FourierKind::complex_to_real));
  f.kind = static_cast<device::FourierKind>(kind);
  f.f64 = f64;
  f.inverse = inverse;
  f.rank = static_cast<int>(axes);
  f.scale = scale;
  for (unsigned i = 0; i < in.rank; ++i) {
    if (i < in.rank - axes) {
      f.batch *= full.shape[i];
    } else {
      if (full.shape[i] < 1) fail_shape("a transform has at least one element, not " + api::shape_text(full));
      f.length[i - (in.rank - axes)] = full.shape[i];
    }
  }
  if (f.batch == 0) return;
  if (!is_contiguous(in, in_bytes) || !is_contiguous(out, out_bytes))
    api::fail(ErrorId::invalid_value, "the elements do not lie one after the other in C order",
              "copy the array to one in C order");
  if (from.overlaps(to) && (kind != Fourier::complex || in.data != out.data))
    api::fail(ErrorId::invalid_value, "the result overlaps the input",
              "give the result memory of its own; a complex transform may be in place");
  call.fits(f.count(), "the size of a transform");
  call.fits(f.batch, "the number of transforms");
  api::checked(call.math().need_fourier());
  f.in = const_cast<void*>(in.data);
  f.out = const_cast<void*>(out.data);
  if (kind != Fourier::complex_to_real) {
    call.enqueue(f);
    return;
  }
  // Libraries destroy the input.
  const DeviceArray<std::byte> scratch(stream, from.bytes);
  warploom::copy(stream, scratch.data(), in.data, from.bytes);
  f.in = scratch.data();
  call.enqueue(f);
}

}  // namespace warploom::detail

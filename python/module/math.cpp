// Linear algebra and Fourier transforms of arrays, as warploom.blas and warploom.fft call them.
#include "arguments.hpp"
#include "binding.hpp"
#include "warploom/blas.hpp"
#include "warploom/fft.hpp"

#include <nanobind/stl/complex.h>
#include <nanobind/stl/string.h>

namespace warploom::python {
namespace {

using nb::literals::operator""_a;
using detail::AnyView;
using detail::Element;

Element element_of(const std::string& dtype) {
  static constexpr const char* kNames[] = {"float16", "bfloat16", "float32", "float64", "complex64", "complex128"};
  for (std::size_t i = 0; i < std::size(kNames); ++i)
    if (dtype == kNames[i]) return static_cast<Element>(i);
  throw nb::type_error(("there is no linear algebra for elements of type " + dtype).c_str());
}

// Of an ArrayBase; the arrays of a call outlive it.
class View {
 public:
  explicit View(nb::handle object) {
    const ArrayBase* array = array_of(object.ptr());
    if (array == nullptr) throw nb::type_error("an array in device memory is needed");
    const std::int64_t* extents = array->extents;
    numbers_.assign(extents, extents + 2 * array->ndim);
    view_ = AnyView(pointer(array->address), array->ndim, numbers_.data(), numbers_.data() + array->ndim);
  }
  View(const View&) = delete;
  View& operator=(const View&) = delete;
  operator const AnyView&() const { return view_; }  // NOLINT(google-explicit-constructor)

 private:
  std::vector<long long> numbers_;
  AnyView view_;
};

using Scalar = std::complex<double>;

void gemm(const PyStream& stream, const std::string& dtype, Scalar alpha, nb::handle a, int op_a, nb::handle b,
          int op_b, Scalar beta, nb::handle c) {
  const View va(a), vb(b), vc(c);
  const Element type = element_of(dtype);
  const WithoutGil unlocked;
  detail::gemm(*stream.stream, type, alpha, va, op_a, vb, op_b, beta, vc);
}

void gemv(const PyStream& stream, const std::string& dtype, Scalar alpha, nb::handle a, int op, nb::handle x,
          Scalar beta, nb::handle y) {
  const View va(a), vx(x), vy(y);
  const Element type = element_of(dtype);
  const WithoutGil unlocked;
  detail::gemv(*stream.stream, type, alpha, va, op, vx, beta, vy);
}

void dot(const PyStream& stream, const std::string& dtype, nb::handle x, nb::handle y, bool conjugate,
         nb::handle result) {
  const View vx(x), vy(y), out(result);
  const Element type = element_of(dtype);
  const WithoutGil unlocked;
  detail::dot(*stream.stream, type, vx, vy, conjugate, out);
}

void nrm2(const PyStream& stream, const std::string& dtype, nb::handle x, nb::handle result) {
  const View vx(x), out(result);
  const Element type = element_of(dtype);
  const WithoutGil unlocked;
  detail::nrm2(*stream.stream, type, vx, out);
}

void axpy(const PyStream& stream, const std::string& dtype, Scalar alpha, nb::handle x, nb::handle y) {
  const View vx(x), vy(y);
  const Element type = element_of(dtype);
  const WithoutGil unlocked;
  detail::axpy(*stream.stream, type, alpha, vx, vy);
}

void scal(const PyStream& stream, const std::string& dtype, Scalar alpha, nb::handle x) {
  const View vx(x);
  const Element type = element_of(dtype);
  const WithoutGil unlocked;
  detail::scal(*stream.stream, type, alpha, vx);
}

void fourier(const PyStream& stream, int kind, bool f64, bool inverse, unsigned axes, double scale, nb::handle in,
             nb::handle out) {
  if (kind < 0 || kind > 2) throw nb::value_error("there is no such transform");
  const View from(in), to(out);
  const WithoutGil unlocked;
  detail::fourier(*stream.stream, static_cast<detail::Fourier>(kind), f64, inverse, axes, scale, from, to);
}

}  // namespace

void register_math(nb::module_& m) {
  m.def("gemm", &gemm, "stream"_a, "dtype"_a, "alpha"_a, "a"_a, "op_a"_a, "b"_a, "op_b"_a, "beta"_a, "c"_a,
        "c = alpha op(a) op(b) + beta c, queued; op 0: none, 1: transpose, 2: conjugate transpose. Use warploom.blas.");
  m.def("gemv", &gemv, "stream"_a, "dtype"_a, "alpha"_a, "a"_a, "op"_a, "x"_a, "beta"_a, "y"_a,
        "y = alpha op(a) x + beta y, queued.");
  m.def("dot", &dot, "stream"_a, "dtype"_a, "x"_a, "y"_a, "conjugate"_a, "result"_a,
        "result[0] = sum of x y, or of conj(x) y, queued.");
  m.def("nrm2", &nrm2, "stream"_a, "dtype"_a, "x"_a, "result"_a, "result[0] = the Euclidean length of x, queued.");
  m.def("axpy", &axpy, "stream"_a, "dtype"_a, "alpha"_a, "x"_a, "y"_a, "y = alpha x + y, queued.");
  m.def("scal", &scal, "stream"_a, "dtype"_a, "alpha"_a, "x"_a, "x = alpha x, queued.");
  m.def("fourier", &fourier, "stream"_a, "kind"_a, "f64"_a, "inverse"_a, "axes"_a, "scale"_a, "in_"_a, "out"_a,
        "Transforms the last axes, queued; kind 0: complex, 1: real to complex, 2: complex to real. Use warploom.fft.");
  m.def(
      "add_library_folder", [](const std::string& folder) { detail::add_library_folder(folder.c_str()); }, "folder"_a,
      "A folder where shared libraries are looked for before the system's.");
}

}  // namespace warploom::python

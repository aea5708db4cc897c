// Linear algebra: shapes and layouts of views as the column-major calls of BLAS.
#include "warploom/blas.hpp"

#include <algorithm>
#include <optional>

#include "api/math.hpp"

namespace warploom {
namespace api {

std::size_t element_bytes(detail::Element type) {
  switch (type) {
    case detail::Element::f16:
    case detail::Element::bf16: return 2;
    case detail::Element::f32: return 4;
    case detail::Element::f64:
    case detail::Element::c64: return 8;
    case detail::Element::c128: return 16;
  }
  return 1;
}

Extent extent_of(const detail::AnyView& view, std::size_t element) {
  std::int64_t low = 0, high = 0;
  for (unsigned i = 0; i < view.rank; ++i) {
    if (view.shape[i] <= 0) return {};
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(view.shape[i] - 1, view.strides[i], &reach) ||
        __builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high))
      fail(ErrorId::invalid_value, "a view's strides reach beyond memory", "pass the strides of an array");
  }
  return {static_cast<const std::byte*>(view.data) + low, static_cast<std::size_t>(high - low) + element};
}

std::string shape_text(const detail::AnyView& view) {
  std::string text;
  for (unsigned i = 0; i < view.rank; ++i) text += (i == 0 ? "" : " x ") + std::to_string(view.shape[i]);
  return text;
}

void check_reached(detail::DeviceState& device, const void* address, const char* what) {
  device::Math* math = device.context->device().math();
  if (math == nullptr) return;
  auto reached = math->reachable(address);
  if (reached) return;
  const std::lock_guard lock(device.mutex);
  if (reached.error().id == ErrorId::invalid_device && !device.peers.empty()) return;
  reached.error().where = what;
  fail(std::move(reached.error()));
}

MathCall::MathCall(const Stream& stream)
    : stream_(stream),
      device_(*(use(detail::Access::state(stream), "the stream"), detail::Access::state(stream)->device)),
      context_(*device_.context),
      math_(context_.device().math()) {
  if (math_ == nullptr)
    fail(ErrorId::not_supported, "this device has neither linear algebra nor Fourier transforms",
         "open another device");
}

Extent MathCall::place(const detail::AnyView& view, std::size_t element, const char* what) const {
  for (unsigned i = 0; i < view.rank; ++i)
    if (view.shape[i] < 0)
      fail(ErrorId::invalid_value, std::string(what) + " has a negative extent: " + shape_text(view), "pass an array");
  const Extent extent = extent_of(view, element);
  check_place(context_, extent.low, extent.bytes, what);
  if (extent.bytes != 0) check_reached(device_, extent.low, what);
  return extent;
}

void MathCall::fits(std::int64_t value, const char* what) const {
  if (value <= math_->most()) return;
  fail(ErrorId::not_supported,
       std::string(what) + " is " + std::to_string(value) + ", more than the " + std::to_string(math_->most()) +
           " that the library takes",
       "work on parts of the arrays");
}

void MathCall::submit(runtime::Work work) const {
  // In a graph it is a node of its own, like a copy.
  checked(context_.enqueue(queue_of(stream_, device_),
                           runtime::Operation::other(runtime::NodeKind::copy, std::move(work))));
}

}  // namespace api

namespace detail {
namespace {

using api::MathCall;
using device::MatrixIn;
using device::Transposed;

constexpr int kNone = 0, kTranspose = 1, kConjugate = 2;

void check_op(int op) {
  if (op < kNone || op > kConjugate)
    api::fail(ErrorId::invalid_value, "there is no such operation on a matrix",
              "pass none, transpose or conjugate transpose");
}

// The distance of the lines of a matrix whose elements lie one after the other along `inner`; none: they do not.
std::optional<std::int64_t> leading(const AnyView& m, unsigned outer, unsigned inner, std::size_t element) {
  const auto bytes = static_cast<std::int64_t>(element);
  if (m.shape[inner] > 1 && m.strides[inner] != bytes) return std::nullopt;
  const std::int64_t least = std::max<std::int64_t>(1, m.shape[inner]);
  if (m.shape[outer] <= 1) return least;
  const std::int64_t step = m.strides[outer];
  if (step % bytes != 0 || step / bytes < least) return std::nullopt;
  return step / bytes;
}

[[noreturn]] void fail_layout(const char* what, const char* why) {
  api::fail(ErrorId::not_supported, std::string(what) + " " + why, "copy it to an array in C or Fortran order");
}

// A batch as its first matrix and the distance to the next one, in elements.
struct Matrix {
  AnyView view;  // rank 2
  std::int64_t batch = 1, step = 0;
};

Matrix matrix_of(const AnyView& view, std::size_t element, const char* what) {
  if (view.rank == 2) return {view, 1, 0};
  Matrix out{{view.data, 2, view.shape + 1, view.strides + 1}, view.shape[0], 0};
  if (view.shape[0] > 1) {
    if (view.strides[0] % static_cast<std::int64_t>(element) != 0)
      fail_layout(what, "has a stride of part of an element");
    out.step = view.strides[0] / static_cast<std::int64_t>(element);
  }
  return out;
}

// op(a) for a column-major product, or its transpose when the product is of the transposed result.
MatrixIn operand(const Matrix& m, int op, bool transposed, std::size_t element, const char* what) {
  MatrixIn out{m.view.data, 1, m.step, Transposed::no};
  const auto columns = leading(m.view, 1, 0, element), rows = leading(m.view, 0, 1, element);
  if (!columns && !rows) fail_layout(what, "has neither rows nor columns whose elements lie one after the other");
  // What memory holds is a itself by columns, or its transpose by rows; one of them may need the conjugate alone.
  const auto take = [&](const std::optional<std::int64_t>& distance, bool is_transpose) {
    if (!distance) return false;
    const bool flip = (op != kNone) != (transposed != is_transpose);
    if (op == kConjugate && !flip) return false;
    out.leading = *distance;
    out.op = !flip ? Transposed::no : op == kConjugate ? Transposed::conjugated : Transposed::yes;
    return true;
  };
  if (take(columns, false) || take(rows, true)) return out;
  fail_layout(what, "is to be conjugated and lies in the other order than the result");
}

device::Scalar scalar_of(Element type) { return static_cast<device::Scalar>(type); }
static_assert(static_cast<int>(Element::c128) == static_cast<int>(device::Scalar::c128));

void check_vector_type(Element type) {
  if (type == Element::f16 || type == Element::bf16)
    api::fail(ErrorId::not_supported, "16-bit elements have matrix products only", "use float32 elements");
}

[[noreturn]] void fail_shapes(const std::string& what, const char* remedy = "pass arrays whose shapes fit") {
  api::fail(ErrorId::invalid_value, what, remedy);
}

void check_apart(const api::Extent& result, const api::Extent& other, const char* what) {
  if (result.overlaps(other))
    fail_shapes(std::string("the result overlaps ") + what, "give the result memory of its own");
}

// The elements of a view of one axis; `data` is the lowest address.
device::Vector vector_of(const MathCall& call, const AnyView& view, std::size_t element, const char* what,
                         api::Extent& place) {
  if (view.rank != 1) fail_shapes(std::string(what) + " is no vector: " + api::shape_text(view));
  place = call.place(view, element, what);
  call.fits(view.shape[0], what);
  device::Vector out{const_cast<std::byte*>(place.low), 1};
  if (view.shape[0] <= 1) return out;
  if (view.strides[0] == 0 || view.strides[0] % static_cast<std::int64_t>(element) != 0)
    fail_layout(what, "has a stride of 0 or of part of an element");
  out.step = view.strides[0] / static_cast<std::int64_t>(element);
  call.fits(std::abs(out.step), "the stride of a vector");
  return out;
}

void same_length(const AnyView& x, const AnyView& y) {
  if (x.shape[0] != y.shape[0])
    fail_shapes("the vectors have " + std::to_string(x.shape[0]) + " and " + std::to_string(y.shape[0]) + " elements");
}

void run_vector(const Stream& stream, device::VectorTask task, Element type, std::complex<double> alpha,
                const AnyView* x, const AnyView* y, const AnyView* result) {
  check_vector_type(type);
  const MathCall call(stream);
  const std::size_t element = api::element_bytes(type);
  device::VectorCall v;
  v.task = task;
  v.type = scalar_of(type);
  v.alpha = alpha;
  api::Extent x_place, y_place, result_place;
  v.x = vector_of(call, *x, element, "x", x_place);
  v.count = x->shape[0];
  if (y != nullptr) {
    v.y = vector_of(call, *y, element, "y", y_place);
    same_length(*x, *y);
  }
  if (result != nullptr) {
    const bool real = task == device::VectorTask::nrm2 && (type == Element::c64 || type == Element::c128);
    v.result = vector_of(call, *result, real ? element / 2 : element, "the result", result_place).data;
    if (result->shape[0] != 1) fail_shapes("the result has not one element: " + api::shape_text(*result));
    check_apart(result_place, x_place, "x");
    check_apart(result_place, y_place, "y");
  } else if (y != nullptr) {
    check_apart(y_place, x_place, "x");
  }
  // Of a single vector the order of the elements does not matter, and BLAS takes no negative strides there.
  if (y == nullptr) v.x.step = std::abs(v.x.step);
  if (v.count == 0 && result == nullptr) return;
  api::checked(call.math().need_blas());
  call.enqueue(v);
}

}  // namespace

void gemm(const Stream& stream, Element type, std::complex<double> alpha, const AnyView& a, int op_a, const AnyView& b,
          int op_b, std::complex<double> beta, const AnyView& c) {
  check_op(op_a);
  check_op(op_b);
  const MathCall call(stream);
  const std::size_t element = api::element_bytes(type);
  for (const AnyView* view : {&a, &b, &c})
    if (view->rank != c.rank || (view->rank != 2 && view->rank != 3))
      fail_shapes("a product takes matrices, or batches of them, not " + api::shape_text(a) + ", " +
                  api::shape_text(b) + " and " + api::shape_text(c));
  const api::Extent a_place = call.place(a, element, "a"), b_place = call.place(b, element, "b"),
                    c_place = call.place(c, element, "c");
  const Matrix ma = matrix_of(a, element, "a"), mb = matrix_of(b, element, "b"), mc = matrix_of(c, element, "c");

  device::Gemm g;
  g.type = scalar_of(type);
  g.alpha = alpha;
  g.beta = beta;
  const auto size = [](const Matrix& m, int op, unsigned axis) { return m.view.shape[op == kNone ? axis : 1 - axis]; };
  const std::int64_t m = mc.view.shape[0], n = mc.view.shape[1], k = size(ma, op_a, 1);
  if (size(ma, op_a, 0) != m || size(mb, op_b, 0) != k || size(mb, op_b, 1) != n)
    fail_shapes("op(a) is " + std::to_string(size(ma, op_a, 0)) + " x " + std::to_string(k) + ", op(b) " +
                std::to_string(size(mb, op_b, 0)) + " x " + std::to_string(size(mb, op_b, 1)) + ", and c " +
                std::to_string(m) + " x " + std::to_string(n));
  g.batch = mc.batch;
  for (const Matrix* one : {&ma, &mb})
    if (one->batch != g.batch && one->batch != 1)
      fail_shapes("the batches have " + std::to_string(ma.batch) + ", " + std::to_string(mb.batch) + " and " +
                  std::to_string(mc.batch) + " matrices");
  if (m == 0 || n == 0 || g.batch == 0) return;
  check_apart(c_place, a_place, "a");
  check_apart(c_place, b_place, "b");

  // BLAS fills columns: of c itself, or of its transpose when c lies by rows.
  const auto by_rows = leading(mc.view, 0, 1, element);
  const auto by_columns = by_rows ? std::nullopt : leading(mc.view, 1, 0, element);
  if (!by_rows && !by_columns) fail_layout("c", "has neither rows nor columns whose elements lie one after the other");
  const MatrixIn first = operand(ma, op_a, by_rows.has_value(), element, "a");
  const MatrixIn second = operand(mb, op_b, by_rows.has_value(), element, "b");
  g.a = by_rows ? second : first;
  g.b = by_rows ? first : second;
  g.m = by_rows ? n : m;
  g.n = by_rows ? m : n;
  g.k = k;
  g.c = const_cast<void*>(c.data);
  g.c_leading = by_rows ? *by_rows : *by_columns;
  g.c_step = mc.step;
  // A result may lie in memory only once.
  if (g.batch > 1 && std::abs(g.c_step) < g.c_leading * (g.n - 1) + g.m)
    fail_shapes("the matrices of the result overlap", "give each a place of its own");
  for (const std::int64_t value : {g.m, g.n, g.k, g.batch, g.a.leading, g.b.leading, g.c_leading})
    call.fits(value, "an extent of a matrix");
  api::checked(call.math().need_blas());
  call.enqueue(g);
}

void gemv(const Stream& stream, Element type, std::complex<double> alpha, const AnyView& a, int op, const AnyView& x,
          std::complex<double> beta, const AnyView& y) {
  check_vector_type(type);
  check_op(op);
  const MathCall call(stream);
  const std::size_t element = api::element_bytes(type);
  if (a.rank != 2) fail_shapes("a is no matrix: " + api::shape_text(a));
  const api::Extent a_place = call.place(a, element, "a");
  api::Extent x_place, y_place;
  device::Gemv g;
  g.type = scalar_of(type);
  g.alpha = alpha;
  g.beta = beta;
  g.x = vector_of(call, x, element, "x", x_place);
  g.y = vector_of(call, y, element, "y", y_place);
  if (a.shape[op == kNone ? 1 : 0] != x.shape[0] || a.shape[op == kNone ? 0 : 1] != y.shape[0])
    fail_shapes("a is " + api::shape_text(a) + (op == kNone ? "" : ", transposed") + ", x has " +
                std::to_string(x.shape[0]) + " elements and y " + std::to_string(y.shape[0]));
  if (y.shape[0] == 0) return;
  check_apart(y_place, a_place, "a");
  check_apart(y_place, x_place, "x");
  g.a = operand({a, 1, 0}, op, false, element, "a");
  // As memory holds it: by columns, unless the operand is the transpose of what was asked for.
  const bool held_transposed = (g.a.op != Transposed::no) != (op != kNone);
  g.m = held_transposed ? a.shape[1] : a.shape[0];
  g.n = held_transposed ? a.shape[0] : a.shape[1];
  for (const std::int64_t value : {g.m, g.n, g.a.leading}) call.fits(value, "an extent of a matrix");
  api::checked(call.math().need_blas());
  call.enqueue(g);
}

void dot(const Stream& stream, Element type, const AnyView& x, const AnyView& y, bool conjugate,
         const AnyView& result) {
  run_vector(stream, conjugate ? device::VectorTask::dot_conjugated : device::VectorTask::dot, type, 1, &x, &y,
             &result);
}

void nrm2(const Stream& stream, Element type, const AnyView& x, const AnyView& result) {
  run_vector(stream, device::VectorTask::nrm2, type, 1, &x, nullptr, &result);
}

void axpy(const Stream& stream, Element type, std::complex<double> alpha, const AnyView& x, const AnyView& y) {
  run_vector(stream, device::VectorTask::axpy, type, alpha, &x, &y, nullptr);
}

void scal(const Stream& stream, Element type, std::complex<double> alpha, const AnyView& x) {
  run_vector(stream, device::VectorTask::scal, type, alpha, &x, nullptr, nullptr);
}

}  // namespace detail
}  // namespace warploom

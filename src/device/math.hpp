// Linear algebra and Fourier transforms, which a device takes from a library that is installed.
#pragma once

#include <complex>
#include <cstdint>

#include "base/result.hpp"

namespace warploom::device {

enum class Scalar : std::uint8_t { f16, bf16, f32, f64, c64, c128 };
enum class Transposed : std::uint8_t { no, yes, conjugated };

// Matrices are column-major; `leading` is the distance of columns, `step` that of the matrices of a batch, in elements.
struct MatrixIn {
  const void* data = nullptr;
  std::int64_t leading = 1, step = 0;
  Transposed op = Transposed::no;
};

// c = alpha op(a) op(b) + beta c, for each matrix of a batch; op(a) is m x k. Sums of f16 and bf16 are f32.
struct Gemm {
  Scalar type = Scalar::f32;
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  MatrixIn a, b;
  void* c = nullptr;
  std::int64_t c_leading = 1, c_step = 0;
  std::complex<double> alpha = 1, beta = 0;
};

// Elements `step` apart; with a negative step the first element is the last in memory, and `data` the lowest address.
struct Vector {
  void* data = nullptr;
  std::int64_t step = 1;
};

// y = alpha op(a) x + beta y; a is m x n.
struct Gemv {
  Scalar type = Scalar::f32;
  std::int64_t m = 0, n = 0;
  MatrixIn a;
  Vector x, y;
  std::complex<double> alpha = 1, beta = 0;
};

enum class VectorTask : std::uint8_t {
  dot,             // result = sum of x y
  dot_conjugated,  // result = sum of conj(x) y
  axpy,            // y = alpha x + y
  nrm2,            // result = the Euclidean length of x, real
  scal,            // x = alpha x
};
struct VectorCall {
  VectorTask task = VectorTask::scal;
  Scalar type = Scalar::f32;
  std::int64_t count = 0;
  Vector x, y;
  std::complex<double> alpha = 1;
  void* result = nullptr;  // device memory
};

enum class FourierKind : std::uint8_t { complex, real_to_complex, complex_to_real };
// Of the last `rank` axes, whose real lengths are `length`; elements lie one after the other in C order. The result is
// multiplied by `scale`. complex_to_real may destroy its input.
struct Fourier {
  FourierKind kind = FourierKind::complex;
  bool f64 = false;
  bool inverse = false;
  int rank = 1;
  std::int64_t length[3] = {1, 1, 1};
  std::int64_t batch = 1;
  void* in = nullptr;
  void* out = nullptr;
  double scale = 1;

  [[nodiscard]] std::int64_t half() const { return length[rank - 1] / 2 + 1; }
  // Elements of one transform, in its real lengths and with the last one cut to the half that is stored.
  [[nodiscard]] std::int64_t count() const { return length[0] * length[1] * length[2]; }
  [[nodiscard]] std::int64_t half_count() const { return count() / length[rank - 1] * half(); }
  [[nodiscard]] std::int64_t in_count() const { return kind == FourierKind::complex_to_real ? half_count() : count(); }
  [[nodiscard]] std::int64_t out_count() const { return kind == FourierKind::real_to_complex ? half_count() : count(); }
};

// Calls have been checked. They run to their end, or go to the thread's current queue. Safe from several threads.
class Math {
 public:
  virtual ~Math() = default;
  // Loads the libraries, so that what is missing is said before work is queued.
  virtual Result<void> need_blas() = 0;
  virtual Result<void> need_fourier() = 0;
  // An error for memory that work on this device cannot use, such as that of the host under a GPU.
  virtual Result<void> reachable(const void* address) {
    (void)address;
    return {};
  }
  // The most that a length, a distance or a count may be.
  [[nodiscard]] virtual std::int64_t most() const { return 0x7fffffff; }
  virtual Result<void> run(const Gemm& call) = 0;
  virtual Result<void> run(const Gemv& call) = 0;
  virtual Result<void> run(const VectorCall& call) = 0;
  virtual Result<void> run(const Fourier& call) = 0;
};

}  // namespace warploom::device

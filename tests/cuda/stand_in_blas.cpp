// A libcublas and a libcufft for tests on machines without a GPU: plain loops, queued in the stand-in driver's streams.
#include <dlfcn.h>

#include <atomic>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <numbers>
#include <utility>
#include <vector>

namespace {

using C32 = std::complex<float>;
using C64 = std::complex<double>;

// Runs a function in the order of a stream, as a library's kernels do.
int queue(void* stream, std::function<void()> function) {
  using LaunchHost = int(void*, void (*)(void*), void*);
  static auto* launch = [] {
    void* driver = dlopen(std::getenv("WARPLOOM_CUDA_DRIVER"), RTLD_NOW);
    return reinterpret_cast<LaunchHost*>(dlsym(driver, "cuLaunchHostFunc"));
  }();
  auto owned = std::make_unique<std::function<void()>>(std::move(function));
  const auto run = [](void* data) {
    auto* mine = static_cast<std::function<void()>*>(data);
    (*mine)();
    delete mine;
  };
  if (launch(stream, run, owned.get()) != 0) return 14;
  (void)owned.release();  // to the one that runs it
  return 0;
}

struct Handle {
  void* stream = nullptr;
  bool on_device = false;
};

std::atomic<int> handles{0}, plans_made{0};

// Elements of any type as complex numbers in double precision.
C64 load(const void* data, int type, std::int64_t at) {
  switch (type) {
    case 0: return static_cast<const float*>(data)[at];
    case 1: return static_cast<const double*>(data)[at];
    case 2: return static_cast<double>(static_cast<const _Float16*>(data)[at]);
    case 4: return static_cast<const C32*>(data)[at];
    case 5: return static_cast<const C64*>(data)[at];
    case 14: {
      const std::uint32_t bits = static_cast<std::uint32_t>(static_cast<const std::uint16_t*>(data)[at]) << 16;
      return __builtin_bit_cast(float, bits);
    }
    default: std::abort();
  }
}

void store(void* data, int type, std::int64_t at, C64 value) {
  switch (type) {
    case 0: static_cast<float*>(data)[at] = static_cast<float>(value.real()); break;
    case 1: static_cast<double*>(data)[at] = value.real(); break;
    case 2: static_cast<_Float16*>(data)[at] = static_cast<_Float16>(value.real()); break;
    case 4: static_cast<C32*>(data)[at] = C32(value); break;
    case 5: static_cast<C64*>(data)[at] = value; break;
    case 14: {
      const auto bits = __builtin_bit_cast(std::uint32_t, static_cast<float>(value.real()));
      static_cast<std::uint16_t*>(data)[at] = static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
      break;
    }
    default: std::abort();
  }
}

C64 element(const void* data, int type, int op, std::int64_t leading, std::int64_t offset, std::int64_t i,
            std::int64_t j) {
  const C64 value = load(data, type, offset + (op == 0 ? j * leading + i : i * leading + j));
  return op == 2 ? std::conj(value) : value;
}

// Of a vector whose step may be negative: then the first element is the last in memory.
std::int64_t place(int n, int step, int i) { return std::int64_t{step < 0 ? i - n + 1 : i} * step; }

int scalar_type(int type) { return type == 2 || type == 14 ? 0 : type; }

struct Plan {
  int rank = 0, kind = 0;
  long long length[3] = {1, 1, 1};
  long long batch = 1;
  void* stream = nullptr;
};
std::mutex mutex;
std::map<int, Plan> plans;

C64 read(const void* data, bool f64, bool real, std::int64_t at) {
  return load(data, real ? (f64 ? 1 : 0) : (f64 ? 5 : 4), at);
}

// The sum itself; sizes of tests are small.
void transform(const Plan& p, void* in, void* out, int sign) {
  const bool f64 = p.kind >= 0x69;
  const bool real_in = p.kind == 0x2a || p.kind == 0x6a, real_out = p.kind == 0x2c || p.kind == 0x6c;
  const long long n0 = p.rank > 2 ? p.length[p.rank - 3] : 1, n1 = p.rank > 1 ? p.length[p.rank - 2] : 1,
                  n2 = p.length[p.rank - 1], half = n2 / 2 + 1;
  const long long in_last = real_out ? half : n2, out_last = real_in ? half : n2;
  std::vector<C64> full(static_cast<std::size_t>(n0 * n1 * n2));
  for (long long b = 0; b < p.batch; ++b) {
    const auto source = [&](long long i, long long j, long long k) {
      return read(in, f64, real_in, ((b * n0 + i) * n1 + j) * in_last + k);
    };
    for (long long i = 0; i < n0; ++i)
      for (long long j = 0; j < n1; ++j)
        for (long long k = 0; k < n2; ++k)
          full[static_cast<std::size_t>((i * n1 + j) * n2 + k)] =
              real_out && k >= half ? std::conj(source((n0 - i) % n0, (n1 - j) % n1, n2 - k)) : source(i, j, k);
    for (long long u = 0; u < n0; ++u)
      for (long long v = 0; v < n1; ++v)
        for (long long w = 0; w < out_last; ++w) {
          C64 sum = 0;
          for (long long i = 0; i < n0; ++i)
            for (long long j = 0; j < n1; ++j)
              for (long long k = 0; k < n2; ++k) {
                const double turn = static_cast<double>(u * i % n0) / static_cast<double>(n0) +
                                    static_cast<double>(v * j % n1) / static_cast<double>(n1) +
                                    static_cast<double>(w * k % n2) / static_cast<double>(n2);
                sum += full[static_cast<std::size_t>((i * n1 + j) * n2 + k)] *
                       std::polar(1.0, sign * 2 * std::numbers::pi * turn);
              }
          store(out, real_out ? (f64 ? 1 : 0) : (f64 ? 5 : 4), ((b * n0 + u) * n1 + v) * out_last + w, sum);
        }
    // As the real one, it may destroy its input.
    if (real_out)
      for (long long i = 0; i < n0 * n1 * half; ++i) store(in, f64 ? 5 : 4, b * n0 * n1 * half + i, 0);
  }
}

int execute(int number, void* in, void* out, int sign) {
  Plan plan;
  {
    const std::lock_guard lock(mutex);
    const auto it = plans.find(number);
    if (it == plans.end()) return 1;
    plan = it->second;
  }
  return queue(plan.stream, [=] { transform(plan, in, out, sign); }) == 0 ? 0 : 6;
}

template <int Type>
int gemv(Handle* h, int op, int m, int n, const void* alpha, const void* a, int lda, const void* x, int dx,
         const void* beta, void* y, int dy) {
  const C64 by = load(alpha, Type, 0), keep = load(beta, Type, 0);
  return queue(h->stream, [=] {
    const int rows = op == 0 ? m : n, columns = op == 0 ? n : m;
    for (int i = 0; i < rows; ++i) {
      C64 sum = 0;
      for (int j = 0; j < columns; ++j)
        sum += element(a, Type, op, lda, 0, i, j) * load(x, Type, place(columns, dx, j));
      const std::int64_t at = place(rows, dy, i);
      store(y, Type, at, by * sum + (keep == 0.0 ? C64(0) : keep * load(y, Type, at)));
    }
  });
}

template <int Type>
int dot(Handle* h, int n, const void* x, int dx, const void* y, int dy, void* result, bool conjugate) {
  if (!h->on_device) return 7;
  return queue(h->stream, [=] {
    C64 sum = 0;
    for (int i = 0; i < n; ++i) {
      const C64 left = load(x, Type, place(n, dx, i));
      sum += (conjugate ? std::conj(left) : left) * load(y, Type, place(n, dy, i));
    }
    store(result, Type, 0, sum);
  });
}

template <int Type>
int axpy(Handle* h, int n, const void* alpha, const void* x, int dx, void* y, int dy) {
  if (h->on_device) return 7;
  const C64 by = load(alpha, Type, 0);
  return queue(h->stream, [=] {
    for (int i = 0; i < n; ++i) {
      const std::int64_t at = place(n, dy, i);
      store(y, Type, at, by * load(x, Type, place(n, dx, i)) + load(y, Type, at));
    }
  });
}

template <int Type>
int nrm2(Handle* h, int n, const void* x, int dx, void* result) {
  if (!h->on_device) return 7;
  return queue(h->stream, [=] {
    double sum = 0;
    for (int i = 0; i < n && dx > 0; ++i) sum += std::norm(load(x, Type, place(n, dx, i)));
    store(result, Type == 4 ? 0 : Type == 5 ? 1 : Type, 0, std::sqrt(sum));
  });
}

template <int Type>
int scal(Handle* h, int n, const void* alpha, void* x, int dx) {
  if (h->on_device) return 7;
  const C64 by = load(alpha, Type, 0);
  return queue(h->stream, [=] {
    for (int i = 0; i < n && dx > 0; ++i) store(x, Type, place(n, dx, i), by * load(x, Type, place(n, dx, i)));
  });
}

}  // namespace

extern "C" {

#define ENTRY [[gnu::visibility("default")]] int

ENTRY cublasCreate_v2(Handle** handle) {
  *handle = new Handle;
  ++handles;
  return 0;
}
ENTRY cublasDestroy_v2(Handle* handle) {
  delete handle;
  --handles;
  return 0;
}
ENTRY cublasSetStream_v2(Handle* handle, void* stream) {
  handle->stream = stream;
  return 0;
}
ENTRY cublasSetPointerMode_v2(Handle* handle, int mode) {
  handle->on_device = mode == 1;
  return 0;
}
[[gnu::visibility("default")]] const char* cublasGetStatusString(int) { return "a status of the stand-in"; }
ENTRY cublasGemmStridedBatchedEx(Handle* h, int op_a, int op_b, int m, int n, int k, const void* alpha, const void* a,
                                 int a_type, int lda, long long step_a, const void* b, int b_type, int ldb,
                                 long long step_b, const void* beta, void* c, int c_type, int ldc, long long step_c,
                                 int batch, int compute, int) {
  if (h->on_device || a_type != b_type || b_type != c_type) return 7;
  if (compute != (a_type == 1 || a_type == 5 ? 70 : 68)) return 15;
  if (lda < (op_a == 0 ? m : k) || ldb < (op_b == 0 ? k : n) || ldc < m) return 7;
  const C64 by = load(alpha, scalar_type(a_type), 0), keep = load(beta, scalar_type(a_type), 0);
  return queue(h->stream, [=] {
    for (int i = 0; i < batch; ++i)
      for (int col = 0; col < n; ++col)
        for (int row = 0; row < m; ++row) {
          C64 sum = 0;
          for (int x = 0; x < k; ++x)
            sum +=
                element(a, a_type, op_a, lda, i * step_a, row, x) * element(b, b_type, op_b, ldb, i * step_b, x, col);
          const std::int64_t at = i * step_c + std::int64_t{col} * ldc + row;
          store(c, c_type, at, by * sum + (keep == 0.0 ? C64(0) : keep * load(c, c_type, at)));
        }
  });
}

#define VECTORS(letter, type)                                                                                  \
  ENTRY cublas##letter##gemv_v2(Handle* h, int op, int m, int n, const void* alpha, const void* a, int lda,    \
                                const void* x, int dx, const void* beta, void* y, int dy) {                    \
    return gemv<type>(h, op, m, n, alpha, a, lda, x, dx, beta, y, dy);                                         \
  }                                                                                                            \
  ENTRY cublas##letter##axpy_v2(Handle* h, int n, const void* alpha, const void* x, int dx, void* y, int dy) { \
    return axpy<type>(h, n, alpha, x, dx, y, dy);                                                              \
  }                                                                                                            \
  ENTRY cublas##letter##scal_v2(Handle* h, int n, const void* alpha, void* x, int dx) {                        \
    return scal<type>(h, n, alpha, x, dx);                                                                     \
  }
VECTORS(S, 0)
VECTORS(D, 1)
VECTORS(C, 4)
VECTORS(Z, 5)
#define DOT(name, type, conjugate)                                                                        \
  ENTRY cublas##name##_v2(Handle* h, int n, const void* x, int dx, const void* y, int dy, void* result) { \
    return dot<type>(h, n, x, dx, y, dy, result, conjugate);                                              \
  }
DOT(Sdot, 0, false)
DOT(Ddot, 1, false)
DOT(Cdotu, 4, false)
DOT(Zdotu, 5, false)
DOT(Cdotc, 4, true)
DOT(Zdotc, 5, true)
#define NRM2(name, type)                                                           \
  ENTRY cublas##name##_v2(Handle* h, int n, const void* x, int dx, void* result) { \
    return nrm2<type>(h, n, x, dx, result);                                        \
  }
NRM2(Snrm2, 0)
NRM2(Dnrm2, 1)
NRM2(Scnrm2, 4)
NRM2(Dznrm2, 5)

ENTRY cufftCreate(int* number) {
  const std::lock_guard lock(mutex);
  *number = ++plans_made;
  plans[*number] = {};
  return 0;
}
ENTRY cufftMakePlanMany64(int number, int rank, long long* n, long long*, long long, long long, long long*, long long,
                          long long, int kind, long long batch, std::size_t* work) {
  const std::lock_guard lock(mutex);
  Plan& plan = plans[number];
  plan.rank = rank;
  plan.kind = kind;
  plan.batch = batch;
  for (int i = 0; i < rank; ++i) plan.length[i] = n[i];
  *work = 0;
  return 0;
}
ENTRY cufftDestroy(int number) {
  const std::lock_guard lock(mutex);
  return plans.erase(number) == 1 ? 0 : 1;
}
ENTRY cufftSetStream(int number, void* stream) {
  const std::lock_guard lock(mutex);
  plans[number].stream = stream;
  return 0;
}
ENTRY cufftExecC2C(int plan, void* in, void* out, int sign) { return execute(plan, in, out, sign); }
ENTRY cufftExecZ2Z(int plan, void* in, void* out, int sign) { return execute(plan, in, out, sign); }
ENTRY cufftExecR2C(int plan, void* in, void* out) { return execute(plan, in, out, -1); }
ENTRY cufftExecD2Z(int plan, void* in, void* out) { return execute(plan, in, out, -1); }
ENTRY cufftExecC2R(int plan, void* in, void* out) { return execute(plan, in, out, 1); }
ENTRY cufftExecZ2D(int plan, void* in, void* out) { return execute(plan, in, out, 1); }

// For the tests: what is alive.
ENTRY stand_in_blas_alive() {
  const std::lock_guard lock(mutex);
  return handles + static_cast<int>(plans.size());
}
}

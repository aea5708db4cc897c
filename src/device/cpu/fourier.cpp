// The CPU device's Fourier transforms: FFTW 3, loaded when it is first used (FFTW manual, "Advanced Interface").
#include <dlfcn.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <mutex>
#include <type_traits>

#include "base/library.hpp"
#include "device/cpu/math.hpp"

namespace warploom::device {
namespace {

struct PlanHandle;
using Complex = void;

constexpr unsigned kDestroyInput = 1U << 0, kEstimate = 1U << 6;  // FFTW_DESTROY_INPUT, FFTW_ESTIMATE

// The entry points of one precision; elements are passed by address only.
struct Fftw {
  PlanHandle* (*c2c)(int rank, const int* n, int many, Complex* in, const int* in_embed, int in_step, int in_distance,
                     Complex* out, const int* out_embed, int out_step, int out_distance, int sign, unsigned flags);
  PlanHandle* (*r2c)(int rank, const int* n, int many, void* in, const int* in_embed, int in_step, int in_distance,
                     Complex* out, const int* out_embed, int out_step, int out_distance, unsigned flags);
  PlanHandle* (*c2r)(int rank, const int* n, int many, Complex* in, const int* in_embed, int in_step, int in_distance,
                     void* out, const int* out_embed, int out_step, int out_distance, unsigned flags);
  void (*execute)(const PlanHandle*);
  void (*destroy)(PlanHandle*);
  void (*set_threads)(int) = nullptr;  // null without the library of threads
};

Result<Fftw> load(bool f64) {
  auto library = Library::open({f64 ? "WARPLOOM_FFTW" : "WARPLOOM_FFTWF",
                                {f64 ? "libfftw3.so.3" : "libfftw3f.so.3"},
                                f64 ? "FFTW (double)" : "FFTW (single)",
                                f64 ? "install FFTW (Debian: libfftw3-double3), or name its file in WARPLOOM_FFTW"
                                    : "install FFTW (Debian: libfftw3-single3), or name its file in WARPLOOM_FFTWF"});
  if (!library) return std::move(library.error());
  Fftw out{};
  const auto entry = [&](auto*& member, const char* single, const char* twice) {
    library->take(member, f64 ? twice : single);
  };
  entry(out.c2c, "fftwf_plan_many_dft", "fftw_plan_many_dft");
  entry(out.r2c, "fftwf_plan_many_dft_r2c", "fftw_plan_many_dft_r2c");
  entry(out.c2r, "fftwf_plan_many_dft_c2r", "fftw_plan_many_dft_c2r");
  entry(out.execute, "fftwf_execute", "fftw_execute");
  entry(out.destroy, "fftwf_destroy_plan", "fftw_destroy_plan");
  WL_TRY(library->complete());
  // Threads are a library of their own, which finds the first one by its name.
  void* threads = dlopen(f64 ? "libfftw3_threads.so.3" : "libfftw3f_threads.so.3", RTLD_NOW | RTLD_LOCAL);
  if (threads == nullptr) return out;
  auto* start = reinterpret_cast<int (*)()>(dlsym(threads, f64 ? "fftw_init_threads" : "fftwf_init_threads"));
  auto* set =
      reinterpret_cast<void (*)(int)>(dlsym(threads, f64 ? "fftw_plan_with_nthreads" : "fftwf_plan_with_nthreads"));
  if (start != nullptr && set != nullptr && start() != 0) out.set_threads = set;
  return out;
}

const Result<Fftw>& fftw(bool f64) {
  static const auto& single = *new Result<Fftw>(load(false));
  static const auto& twice = *new Result<Fftw>(load(true));
  return f64 ? twice : single;
}

// Only the execution of a plan may happen in several threads at once.
std::mutex& planner() {
  static auto& instance = *new std::mutex;
  return instance;
}

template <class T>
void scale(T* values, std::int64_t count, double factor) {
  const T by = static_cast<T>(factor);
  for (std::int64_t i = 0; i < count; ++i) values[i] *= by;
}

}  // namespace

Result<void> CpuMath::need_fourier() {
  for (const bool f64 : {false, true})
    if (!fftw(f64)) return Diag(fftw(f64).error());
  return {};
}

Result<void> CpuMath::run(const Fourier& call) {
  if (!fftw(call.f64)) return Diag(fftw(call.f64).error());
  const Fftw& library = *fftw(call.f64);
  int lengths[3] = {};
  std::copy(call.length, call.length + call.rank, lengths);
  const int batch = static_cast<int>(call.batch), in_count = static_cast<int>(call.in_count()),
            out_count = static_cast<int>(call.out_count());
  PlanHandle* plan = nullptr;
  {
    const std::lock_guard lock(planner());
    // Small transforms are done before threads have begun.
    if (library.set_threads != nullptr)
      library.set_threads(call.count() * call.batch < 32768 ? 1 : static_cast<int>(threads_));
    if (call.kind == FourierKind::complex)
      plan = library.c2c(call.rank, lengths, batch, call.in, nullptr, 1, in_count, call.out, nullptr, 1, out_count,
                         call.inverse ? 1 : -1, kEstimate);
    else if (call.kind == FourierKind::real_to_complex)
      plan = library.r2c(call.rank, lengths, batch, call.in, nullptr, 1, in_count, call.out, nullptr, 1, out_count,
                         kEstimate);
    else
      plan = library.c2r(call.rank, lengths, batch, call.in, nullptr, 1, in_count, call.out, nullptr, 1, out_count,
                         kEstimate | kDestroyInput);
  }
  if (plan == nullptr) {
    Diag d;
    d.id = ErrorId::not_supported;
    d.what = "FFTW has no plan for this transform";
    return d;
  }
  library.execute(plan);
  {
    const std::lock_guard lock(planner());
    library.destroy(plan);
  }
  if (call.scale != 1) {
    const std::int64_t reals = call.out_count() * call.batch * (call.kind == FourierKind::complex_to_real ? 1 : 2);
    if (call.f64)
      scale(static_cast<double*>(call.out), reals, call.scale);
    else
      scale(static_cast<float*>(call.out), reals, call.scale);
  }
  return {};
}

}  // namespace warploom::device

// cuFFT, declared from its documentation ("cuFFT API Reference").
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "base/library.hpp"
#include "device/cuda/cuda_device.hpp"
#include "device/cuda/cuda_math.hpp"

namespace warploom::device::cuda {
namespace {

using FourierStatus = int;  // cufftResult

// cufftType.
constexpr int kR2C = 0x2a, kC2R = 0x2c, kC2C = 0x29, kD2Z = 0x6a, kZ2D = 0x6c, kZ2Z = 0x69;
constexpr int kForward = -1, kInverse = 1;

using Exec = FourierStatus(FourierPlan, void*, void*);
using ExecComplex = FourierStatus(FourierPlan, void*, void*, int);

// WL_ENTRY(member, name of the entry point, type).
#define WARPLOOM_CUFFT_ENTRIES(WL_ENTRY)                                                                        \
  WL_ENTRY(create, "cufftCreate", FourierStatus(FourierPlan*))                                                  \
  WL_ENTRY(make, "cufftMakePlanMany64",                                                                         \
           FourierStatus(FourierPlan, int, long long*, long long*, long long, long long, long long*, long long, \
                         long long, int, long long, std::size_t*))                                              \
  WL_ENTRY(destroy, "cufftDestroy", FourierStatus(FourierPlan))                                                 \
  WL_ENTRY(set_stream, "cufftSetStream", FourierStatus(FourierPlan, StreamHandle*))                             \
  WL_ENTRY(c2c, "cufftExecC2C", ExecComplex)                                                                    \
  WL_ENTRY(r2c, "cufftExecR2C", Exec)                                                                           \
  WL_ENTRY(c2r, "cufftExecC2R", Exec)                                                                           \
  WL_ENTRY(z2z, "cufftExecZ2Z", ExecComplex)                                                                    \
  WL_ENTRY(d2z, "cufftExecD2Z", Exec)                                                                           \
  WL_ENTRY(z2d, "cufftExecZ2D", Exec)

template <class F>
using Entry = F*;

struct Cufft {
#define WL_ENTRY(member, name, type) Entry<type> member = nullptr;
  WARPLOOM_CUFFT_ENTRIES(WL_ENTRY)
#undef WL_ENTRY
};

Result<Cufft> load() {
  auto library =
      Library::open({"WARPLOOM_CUFFT",
                     {"libcufft.so.12", "libcufft.so.11", "libcufft.so"},
                     "cuFFT",
                     "install cuFFT of the driver's CUDA version (pip install nvidia-cufft, or the CUDA toolkit), "
                     "or name its file in WARPLOOM_CUFFT"});
  if (!library) return std::move(library.error());
  Cufft fft;
#define WL_ENTRY(member, name, type) library->take(fft.member, name);
  WARPLOOM_CUFFT_ENTRIES(WL_ENTRY)
#undef WL_ENTRY
  WL_TRY(library->complete());
  return fft;
}

const Result<Cufft>& cufft() {
  static const auto& loaded = *new Result<Cufft>(load());
  return loaded;
}

Diag fft_error(FourierStatus status, const char* what) {
  static constexpr const char* kNames[] = {"SUCCESS",       "INVALID_PLAN",   "ALLOC_FAILED", "INVALID_TYPE",
                                           "INVALID_VALUE", "INTERNAL_ERROR", "EXEC_FAILED",  "SETUP_FAILED",
                                           "INVALID_SIZE",  "UNALIGNED_DATA"};
  Diag d;
  d.id = status == 2                  ? ErrorId::out_of_memory
         : status == 4 || status == 8 ? ErrorId::invalid_value
                                      : ErrorId::driver_error;
  const auto number = static_cast<std::size_t>(status);
  d.what = std::string(what) + ": cuFFT reports " + (number < std::size(kNames) ? kNames[number] : "status ") +
           (number < std::size(kNames) ? "" : std::to_string(status));
  d.where = "cuFFT";
  if (d.id == ErrorId::out_of_memory) d.remedy = "free memory, or transform fewer at a time";
  return d;
}

constexpr std::size_t kPlans = 32;

// cuFFT does not scale: each element is multiplied after it. {0}: its type, {1}: the logarithm of its bytes.
constexpr const char* kScale = R"(.visible .entry scale_{0}(.param .u64 data, .param .u64 count, .param .{0} factor)
{{
  .reg .pred %p;
  .reg .b32 %r<5>;
  .reg .{0} %f<3>;
  .reg .b64 %rd<8>;
  ld.param.u64 %rd1, [data];
  ld.param.u64 %rd2, [count];
  ld.param.{0} %f1, [factor];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, %ntid.x;
  mov.u32 %r3, %tid.x;
  mov.u32 %r4, %nctaid.x;
  mul.wide.u32 %rd3, %r1, %r2;
  cvt.u64.u32 %rd4, %r3;
  add.u64 %rd3, %rd3, %rd4;
  mul.wide.u32 %rd5, %r4, %r2;
LOOP:
  setp.ge.u64 %p, %rd3, %rd2;
  @%p bra DONE;
  shl.b64 %rd6, %rd3, {1};
  add.u64 %rd7, %rd1, %rd6;
  ld.global.{0} %f2, [%rd7];
  mul.rn.{0} %f2, %f2, %f1;
  st.global.{0} [%rd7], %f2;
  add.u64 %rd3, %rd3, %rd5;
  bra LOOP;
DONE:
  ret;
}}
)";

std::string scaling() {
  return ".version 7.0\n.target sm_70\n.address_size 64\n" + fmt::format(kScale, "f32", 2) +
         fmt::format(kScale, "f64", 3);
}

template <class T>
void put(std::vector<std::byte>& params, std::size_t at, T value) {
  std::memcpy(params.data() + at, &value, sizeof value);
}

}  // namespace

Result<void> CudaMath::need_fourier() {
  if (!cufft()) return Diag(cufft().error());
  return {};
}

void CudaMath::forget_plans() {
  if (!plans_.empty() && device_.enter())
    for (const PlanOf& one : plans_) (void)(*cufft()).destroy(one.plan);
  plans_.clear();
}

Result<FourierPlan> CudaMath::plan_for(const PlanKey& key) {
  for (auto it = plans_.begin(); it != plans_.end(); ++it) {
    if (it->key != key) continue;
    plans_.splice(plans_.begin(), plans_, it);
    return it->plan;
  }
  const Cufft& fft = *cufft();
  if (plans_.size() >= kPlans) {
    (void)device_.driver().synchronize();
    (void)fft.destroy(plans_.back().plan);
    plans_.pop_back();
  }
  device_.keep_context();
  FourierPlan plan = 0;
  if (const FourierStatus status = fft.create(&plan); status != 0) return fft_error(status, "a plan");
  long long lengths[3] = {};
  std::copy(key.length.begin(), key.length.begin() + key.rank, lengths);
  std::size_t work_bytes = 0;
  FourierStatus status =
      fft.make(plan, key.rank, lengths, nullptr, 1, 0, nullptr, 1, 0, key.kind, key.batch, &work_bytes);
  if (status != 0) {
    (void)fft.destroy(plan);
    return fft_error(status, "a plan");
  }
  plans_.push_front({key, plan});
  return plan;
}

Result<void> CudaMath::run(const Fourier& call) {
  WL_TRY(need_fourier());
  WL_TRY(device_.enter());
  const bool complex = call.kind == FourierKind::complex, forward = call.kind == FourierKind::real_to_complex;
  PlanKey key{device_.here().handle(),
              complex   ? (call.f64 ? kZ2Z : kC2C)
              : forward ? (call.f64 ? kD2Z : kR2C)
                        : (call.f64 ? kZ2D : kC2R),
              call.rank,
              {call.length[0], call.length[1], call.length[2]},
              call.batch};
  {
    const std::lock_guard lock(mutex_);
    auto plan = plan_for(key);
    if (!plan) return std::move(plan.error());
    const Cufft& fft = *cufft();
    FourierStatus status = fft.set_stream(*plan, key.stream);  // another may have come to the same address
    if (status != 0) return fft_error(status, "a stream for cuFFT");
    status = complex   ? (call.f64 ? fft.z2z : fft.c2c)(*plan, call.in, call.out, call.inverse ? kInverse : kForward)
             : forward ? (call.f64 ? fft.d2z : fft.r2c)(*plan, call.in, call.out)
                       : (call.f64 ? fft.z2d : fft.c2r)(*plan, call.in, call.out);
    if (status != 0) return fft_error(status, "a Fourier transform");
  }
  if (call.scale != 1) WL_TRY(scale(call));
  return device_.finish(device_.here());
}

Result<void> CudaMath::scale(const Fourier& call) {
  std::shared_ptr<Module> module;
  {
    const std::lock_guard lock(mutex_);
    if (scaling_ == nullptr) {
      auto loaded = device_.load(scaling(), "scaling.ptx");
      if (!loaded) return std::move(loaded.error());
      scaling_ = std::move(*loaded);
    }
    module = scaling_;
  }
  auto kernel = module->kernel(call.f64 ? "scale_f64" : "scale_f32");
  if (!kernel) return std::move(kernel.error());
  const auto reals =
      static_cast<std::uint64_t>(call.out_count() * call.batch) * (call.kind == FourierKind::complex_to_real ? 1 : 2);
  Launch launch;
  launch.block = {256, 1, 1};
  launch.grid = {static_cast<std::uint32_t>(std::clamp<std::uint64_t>((reals + 255) / 256, 1, 4096)), 1, 1};
  launch.params.resize((*kernel)->param_bytes());
  put(launch.params, 0, reinterpret_cast<std::uintptr_t>(call.out));
  put(launch.params, 8, reals);
  if (call.f64)
    put(launch.params, 16, call.scale);
  else
    put(launch.params, 16, static_cast<float>(call.scale));
  return device_.run_checked(**kernel, launch);
}

}  // namespace warploom::device::cuda

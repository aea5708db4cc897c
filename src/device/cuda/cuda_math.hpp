// Linear algebra of a GPU through cuBLAS and Fourier transforms through cuFFT, both found at run time.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>

#include "device/cuda/driver.hpp"
#include "device/device.hpp"
#include "device/math.hpp"

namespace warploom::device::cuda {

class CudaDevice;
struct BlasHandle;
using FourierPlan = int;  // cufftHandle

class CudaMath final : public Math {
 public:
  explicit CudaMath(CudaDevice& device) : device_(device) {}
  ~CudaMath() override { forget(); }
  CudaMath(const CudaMath&) = delete;
  CudaMath& operator=(const CudaMath&) = delete;

  Result<void> need_blas() override;
  Result<void> need_fourier() override;
  Result<void> reachable(const void* address) override;
  Result<void> run(const Gemm& call) override;
  Result<void> run(const Gemv& call) override;
  Result<void> run(const VectorCall& call) override;
  Result<void> run(const Fourier& call) override;

  // Destroys handles and plans; the device must not be used by them any more.
  void forget();

 private:
  // Handles and plans have work memory, which work in two streams must not share: so each is of one stream.
  struct BlasOf {
    StreamHandle* stream;
    BlasHandle* handle;
  };
  struct PlanKey {
    StreamHandle* stream;
    int kind, rank;
    std::array<std::int64_t, 3> length;
    std::int64_t batch;
    auto operator<=>(const PlanKey&) const = default;
  };
  struct PlanOf {
    PlanKey key;
    FourierPlan plan;
  };

  // Runs a call of cuBLAS with the handle of the thread's current queue.
  Result<void> with_blas(const char* what, const std::function<int(BlasHandle*)>& call);
  Result<BlasHandle*> handle_for(StreamHandle* stream);
  Result<FourierPlan> plan_for(const PlanKey& key);
  Result<void> scale(const Fourier& call);
  void forget_plans();

  CudaDevice& device_;
  std::mutex mutex_;
  std::list<BlasOf> handles_;  // most recently used first
  std::list<PlanOf> plans_;
  std::shared_ptr<Module> scaling_;
};

}  // namespace warploom::device::cuda

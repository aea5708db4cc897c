// Linear algebra of the CPU device through OpenBLAS and Fourier transforms through FFTW, both found at run time.
#pragma once

#include "device/math.hpp"

namespace warploom::device {

class CpuDevice;

class CpuMath final : public Math {
 public:
  CpuMath(CpuDevice& device, unsigned threads) : device_(device), threads_(threads) {}
  Result<void> need_blas() override;
  Result<void> need_fourier() override;
  Result<void> reachable(const void* address) override;
  Result<void> run(const Gemm& call) override;
  Result<void> run(const Gemv& call) override;
  Result<void> run(const VectorCall& call) override;
  Result<void> run(const Fourier& call) override;

 private:
  CpuDevice& device_;
  const unsigned threads_;  // of a transform; OpenBLAS has threads of its own
};

}  // namespace warploom::device

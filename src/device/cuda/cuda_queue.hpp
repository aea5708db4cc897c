// Streams and events of the driver as the runtime's queues and marks.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "device/cuda/driver.hpp"
#include "device/queue.hpp"

namespace warploom::device::cuda {

class CudaDevice;

class CudaMark final : public Mark {
 public:
  static Result<std::shared_ptr<CudaMark>> make(const CudaDevice& device, StreamHandle* stream);
  ~CudaMark() override;
  Result<bool> reached() override;
  Result<void> wait() override;
  Result<double> ms_since(const Mark& earlier) const override;
  [[nodiscard]] EventHandle* handle() const { return handle_; }

 private:
  explicit CudaMark(const CudaDevice& device) : device_(device) {}
  const CudaDevice& device_;
  EventHandle* handle_ = nullptr;
};

class CudaQueue final : public Queue {
 public:
  static Result<std::unique_ptr<CudaQueue>> make(const CudaDevice& device, bool blocking, int priority);
  // The legacy default stream, which nobody makes or destroys.
  static std::unique_ptr<CudaQueue> legacy(const CudaDevice& device);
  // A CUstream of another library's in the device's context, which must outlive the result.
  static Result<std::unique_ptr<CudaQueue>> adopt(const CudaDevice& device, std::uint64_t number);
  ~CudaQueue() override;
  Result<std::shared_ptr<Mark>> mark() override;
  Result<void> after(const Mark& mark) override;
  Result<void> call(std::function<Result<void>()> function) override;
  void report_to(std::function<void(Diag)> report) override;
  Result<bool> idle() override;
  Result<void> wait() override;
  [[nodiscard]] std::uint64_t number() const override;

  [[nodiscard]] StreamHandle* handle() const { return handle_; }
  [[nodiscard]] const CudaDevice& device() const { return device_; }
  // For messages; the name lives as long as the process.
  void launched(const std::string& kernel) {
    recent_[count_.fetch_add(1, std::memory_order_relaxed) % recent_.size()].store(&kernel, std::memory_order_relaxed);
  }

 private:
  CudaQueue(const CudaDevice& device, StreamHandle* handle, bool owned)
      : device_(device), handle_(handle), owned_(owned) {}
  // Of what the GPU met while it worked.
  Result<void> finished(Status status);

  const CudaDevice& device_;
  StreamHandle* const handle_;
  const bool owned_;
  std::shared_ptr<const std::function<void(Diag)>> report_;
  std::array<std::atomic<const std::string*>, 4> recent_{};
  std::atomic<std::size_t> count_{0};
};

}  // namespace warploom::device::cuda

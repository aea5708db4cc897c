// Streams and events of the driver as the runtime's queues and marks.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "device/cuda/driver.hpp"
#include "device/device.hpp"
#include "device/queue.hpp"

namespace warploom::device::cuda {

class CudaDevice;

// Events that nobody refers to any more: making one takes the driver longer than recording it.
class SpareEvents {
 public:
  // Of this generation; null when there is none.
  EventHandle* take(unsigned generation) {
    const std::lock_guard lock(mutex_);
    if (generation != generation_ || events_.empty()) return nullptr;
    EventHandle* event = events_.back();
    events_.pop_back();
    return event;
  }
  // False when there are enough.
  bool keep(EventHandle* event, unsigned generation) {
    constexpr std::size_t most = 256;
    const std::lock_guard lock(mutex_);
    if (generation != generation_) {
      events_.clear();  // a reset has ended them
      generation_ = generation;
    }
    if (events_.size() >= most) return false;
    events_.push_back(event);
    return true;
  }
  std::vector<EventHandle*> take_all() {
    const std::lock_guard lock(mutex_);
    return std::exchange(events_, {});
  }

 private:
  std::mutex mutex_;
  unsigned generation_ = 0;
  std::vector<EventHandle*> events_;
};

class CudaMark final : public Mark {
 public:
  static Result<std::shared_ptr<CudaMark>> make(const CudaDevice& device, StreamHandle* stream);
  ~CudaMark() override;
  Result<bool> reached() override;
  Result<void> wait() override;
  Result<double> ms_since(const Mark& earlier) const override;
  [[nodiscard]] EventHandle* handle() const { return handle_; }

 private:
  explicit CudaMark(const CudaDevice& device);
  const CudaDevice& device_;
  const unsigned generation_;  // a later one has ended the event
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
  // For messages; names live as long as the process.
  struct Launched {
    const std::string* kernel = nullptr;
    Origin site{};
  };
  void launched(const Launched& launch) {
    while (recent_busy_.test_and_set(std::memory_order_acquire)) {
    }
    recent_[count_++ % recent_.size()] = launch;
    recent_busy_.clear(std::memory_order_release);
  }

 private:
  CudaQueue(const CudaDevice& device, StreamHandle* handle, bool owned);
  // Of what the GPU met while it worked.
  Result<void> finished(Status status);

  const CudaDevice& device_;
  StreamHandle* const handle_;
  const bool owned_;
  std::shared_ptr<const std::function<void(Diag)>> report_;
  const unsigned generation_;
  std::atomic_flag recent_busy_;  // guards what follows, for the length of a copy
  std::array<Launched, 4> recent_{};
  std::size_t count_ = 0;
};

}  // namespace warploom::device::cuda

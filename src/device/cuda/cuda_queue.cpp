// Order of work on the GPU, and waiting for it.
#include "device/cuda/cuda_queue.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/readable.hpp"
#include "device/cuda/cuda_device.hpp"

namespace warploom::device::cuda {
namespace {

constexpr Status kNotReady = 600;

StreamHandle* legacy_handle() {
  return reinterpret_cast<StreamHandle*>(1);  // CU_STREAM_LEGACY
}

}  // namespace

CudaMark::CudaMark(const CudaDevice& device) : device_(device), generation_(device.generation()) {}

Result<std::shared_ptr<CudaMark>> CudaMark::make(const CudaDevice& device, StreamHandle* stream) {
  std::shared_ptr<CudaMark> mark(new CudaMark(device));
  mark->handle_ = device.spare_events().take(mark->generation_);
  if (mark->handle_ == nullptr) {
    WL_TRY(device.enter());
    WL_TRY(device.checked(device.driver().event_create(&mark->handle_, 0), "an event cannot be made"));
  }
  const auto record = [&] { return device.driver().event_record(mark->handle_, stream); };
  WL_TRY(device.checked_inside(stream, "an event cannot be recorded", record));
  return mark;
}

CudaMark::~CudaMark() {
  if (handle_ == nullptr || generation_ != device_.generation()) return;
  if (!device_.spare_events().keep(handle_, generation_) && device_.enter())
    (void)device_.driver().event_destroy(handle_);
}

Result<bool> CudaMark::reached() {
  auto status = device_.inside([&] { return device_.driver().event_query(handle_); });
  if (!status) return std::move(status.error());
  if (*status == kNotReady) return false;
  WL_TRY(device_.checked(*status, "work on the GPU failed"));
  return true;
}

Result<void> CudaMark::wait() {
  auto status = device_.inside([&] { return device_.driver().event_synchronize(handle_); });
  if (!status) return std::move(status.error());
  return device_.checked(*status, "work on the GPU failed");
}

Result<double> CudaMark::ms_since(const Mark& earlier) const {
  WL_TRY(device_.enter());
  float ms = 0;
  WL_TRY(device_.checked(device_.driver().event_elapsed(&ms, static_cast<const CudaMark&>(earlier).handle_, handle_),
                         "a time"));
  return static_cast<double>(ms);
}

Result<std::unique_ptr<CudaQueue>> CudaQueue::make(const CudaDevice& device, bool blocking, int priority) {
  WL_TRY(device.enter());
  StreamHandle* handle = nullptr;
  WL_TRY(device.checked(device.driver().stream_create(&handle, blocking ? 0 : kNonBlocking, priority),
                        "a stream cannot be made"));
  return std::unique_ptr<CudaQueue>(new CudaQueue(device, handle, true));
}

std::unique_ptr<CudaQueue> CudaQueue::legacy(const CudaDevice& device) {
  return std::unique_ptr<CudaQueue>(new CudaQueue(device, legacy_handle(), false));
}

Result<std::unique_ptr<CudaQueue>> CudaQueue::adopt(const CudaDevice& device, std::uint64_t number) {
  auto* handle = reinterpret_cast<StreamHandle*>(number);  // NOLINT(performance-no-int-to-ptr): a CUstream
  // CU_STREAM_PER_THREAD, the driver's own default stream of each thread.
  if (number == 2) return std::unique_ptr<CudaQueue>(new CudaQueue(device, handle, false));
  Diag d;
  d.id = ErrorId::invalid_handle;
  d.what = fmt::format("0x{:x} is no stream of this device", number);
  d.remedy = "pass the CUstream of a stream that lives, of the same device";
  // The driver reads through the number.
  if (number % alignof(void*) != 0 || !readable(handle)) return d;
  WL_TRY(device.enter());
  ContextHandle *owner = nullptr, *current = nullptr;
  if (device.driver().stream_context(handle, &owner) != 0) return d;
  WL_TRY(device.checked(device.driver().get_context(&current), "the GPU's context cannot be used"));
  if (owner != current) return d;
  return std::unique_ptr<CudaQueue>(new CudaQueue(device, handle, false));
}

std::uint64_t CudaQueue::number() const { return reinterpret_cast<std::uintptr_t>(handle_); }

CudaQueue::CudaQueue(const CudaDevice& device, StreamHandle* handle, bool owned)
    : device_(device), handle_(handle), owned_(owned), generation_(device.generation()) {}

CudaQueue::~CudaQueue() {
  if (owned_ && generation_ == device_.generation() && device_.enter()) (void)device_.driver().stream_destroy(handle_);
}

Result<std::shared_ptr<Mark>> CudaQueue::mark() {
  auto made = CudaMark::make(device_, handle_);
  if (!made) return std::move(made.error());
  return std::shared_ptr<Mark>(std::move(*made));
}

Result<void> CudaQueue::after(const Mark& mark) {
  const auto wait = [&] {
    return device_.driver().stream_wait(handle_, static_cast<const CudaMark&>(mark).handle(), 0);
  };
  return device_.checked_inside(handle_, "a stream cannot wait", wait);
}

void CudaQueue::report_to(std::function<void(Diag)> report) {
  report_ = std::make_shared<const std::function<void(Diag)>>(std::move(report));
}

Result<void> CudaQueue::call(std::function<Result<void>()> function) {
  struct Call {
    std::function<Result<void>()> function;
    std::shared_ptr<const std::function<void(Diag)>> report;
  };
  WL_TRY(device_.enter());
  auto call = std::make_unique<Call>(Call{std::move(function), report_});
  const auto run = [](void* data) {
    const std::unique_ptr<Call> mine(static_cast<Call*>(data));
    auto done = mine->function();
    if (!done && mine->report) (*mine->report)(std::move(done.error()));
  };
  WL_TRY(device_.checked(device_.driver().host_function(handle_, run, call.get()), "a host function cannot be queued"));
  (void)call.release();
  return {};
}

Result<bool> CudaQueue::idle() {
  auto status = device_.inside(handle_, [&] { return device_.driver().stream_query(handle_); });
  if (!status) return std::move(status.error());
  if (*status == kNotReady) return false;
  WL_TRY(finished(*status));
  return true;
}

Result<void> CudaQueue::wait() {
  auto status = device_.inside(handle_, [&] { return device_.driver().stream_synchronize(handle_); });
  if (!status) return std::move(status.error());
  return finished(*status);
}

Result<void> CudaQueue::finished(Status status) {
  if (status == 0) return {};
  Diag d = driver_error(device_.driver(), status, "work on the GPU failed");
  std::array<Launched, 4> recent;
  while (recent_busy_.test_and_set(std::memory_order_acquire)) {
  }
  for (std::size_t i = 0; i < recent.size(); ++i) recent[i] = recent_[(count_ + i) % recent.size()];
  recent_busy_.clear(std::memory_order_release);
  // The last one first, each place once.
  std::vector<std::string> texts;
  for (std::size_t i = recent.size(); i-- > 0;) {
    if (recent[i].kernel == nullptr) continue;
    std::string text = recent[i].kernel->c_str();
    if (recent[i].site.file != nullptr)
      text += fmt::format(" (launched at {}:{})", recent[i].site.file, recent[i].site.line);
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(std::move(text));
  }
  if (texts.size() == 1)
    d.where = "kernel " + texts.front();
  else if (!texts.empty())
    d.where = fmt::format("one of the stream's last kernels: {}", fmt::join(texts, ", "));
  return d;
}

}  // namespace warploom::device::cuda

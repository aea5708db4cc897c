// Device memory of several processes.
#include "warploom/shared_memory.hpp"

#include <utility>

#include "api/state.hpp"

namespace warploom {

SharedMemoryHandle share_memory(const Device& device, const void* address) {
  runtime::Context& context = api::use(detail::Access::state(device));
  const device::Device::SharedMemory shared = api::checked(context.device().share(address));
  return {shared.handle, shared.offset};
}

SharedMemory::SharedMemory(const Device& device, const SharedMemoryHandle& handle)
    : device_(device), offset_(handle.offset) {
  start_ = api::checked(api::use(detail::Access::state(device_)).device().open_shared(handle.handle));
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : device_(other.device_), start_(std::exchange(other.start_, nullptr)), offset_(other.offset_) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(start_, other.start_);
  std::swap(offset_, other.offset_);
  return *this;
}

SharedMemory::~SharedMemory() {
  if (start_ != nullptr) detail::Access::state(device_)->context->device().close_shared(start_);
}

void* SharedMemory::data() const noexcept {
  return start_ == nullptr ? nullptr : static_cast<std::byte*>(start_) + offset_;
}

}  // namespace warploom

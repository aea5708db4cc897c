// Copies and fills by address, and host memory that kernels may access.
#include "warploom/memory.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "api/launch.hpp"
#include "api/state.hpp"

namespace warploom {
namespace detail {

// CU_MEMHOSTALLOC_* of page-locked memory, by its addresses.
class HostFlags {
 public:
  static constexpr unsigned kMapped = 2, kWriteCombined = 4;
  static HostFlags& of_process() {
    static auto* flags = new HostFlags;  // memory may end after static objects
    return *flags;
  }
  void add(const void* at, std::size_t bytes, unsigned flags) {
    const std::lock_guard lock(mutex_);
    ranges_[reinterpret_cast<std::uintptr_t>(at)] = {bytes, flags};
  }
  void remove(const void* at) {
    const std::lock_guard lock(mutex_);
    ranges_.erase(reinterpret_cast<std::uintptr_t>(at));
  }
  [[nodiscard]] std::optional<unsigned> find(const void* address) const {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    const std::lock_guard lock(mutex_);
    const auto after = ranges_.upper_bound(at);
    if (after == ranges_.begin()) return std::nullopt;
    const auto& [start, range] = *std::prev(after);
    if (at - start >= range.bytes) return std::nullopt;
    return range.flags;
  }

 private:
  struct Range {
    std::size_t bytes = 0;
    unsigned flags = 0;
  };
  mutable std::mutex mutex_;
  std::map<std::uintptr_t, Range> ranges_;
};

struct HostRangeState : Owned {
  HostRangeState(std::shared_ptr<DeviceState> owner, void* at, std::size_t size, bool mapped, unsigned flags)
      : Owned(std::move(owner)), address(at), bytes(size), mapped_here(mapped) {
    HostFlags::of_process().add(at, size, flags);
  }
  ~HostRangeState() {
    HostFlags::of_process().remove(address);
    runtime::Context& context = *device->context;
    const auto release = [&context, at = address, size = bytes, unmap = mapped_here,
                          made_in = generation]() -> Result<void> {
      context.drain();
      // A GPU's reset has unregistered it, and someone may have registered it again.
      if (!context.device().is_hardware() || made_in == context.generation()) context.device().unregister_host(at);
      if (unmap) munmap(at, size);
      return {};
    };
    // The owner of registered memory may free it now.
    if (mapped_here)
      context.release_later(context.memory_releases(), release, bytes);
    else
      (void)release();
  }
  HostRangeState(const HostRangeState&) = delete;
  HostRangeState& operator=(const HostRangeState&) = delete;

  void* address;
  std::size_t bytes;
  bool mapped_here;
};

}  // namespace detail

namespace api {

void check_place(runtime::Context& context, const void* address, std::size_t bytes, const char* what) {
  if (bytes == 0) return;
  if (address == nullptr) fail(ErrorId::invalid_value, std::string(what) + " is null", "pass a valid address");
  if (context.device().addressable(address, bytes)) return;
  fail(ErrorId::invalid_value,
       std::string(what) + " has no " + std::to_string(bytes) + " bytes of one device allocation",
       "keep the range inside the allocation", context.device().describe_address(address));
}

void check_fill(runtime::Context& context, const void* to, const void* element, std::size_t element_bytes,
                std::size_t count) {
  if (element == nullptr || element_bytes == 0 || count > std::numeric_limits<std::size_t>::max() / element_bytes)
    fail(ErrorId::invalid_value, "a fill needs an element of at least one byte and a size that fits memory",
         "pass the element and its size");
  check_place(context, to, element_bytes * count, "the destination of a fill");
}

}  // namespace api

namespace {

void copy_on(const detail::DeviceState& device, runtime::Context& context, const Stream* stream, void* to,
             const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  api::check_place(context, to, bytes, "the destination of a copy");
  api::check_place(context, from, bytes, "the source of a copy");
  api::run_on(context, device, stream, runtime::Operation::copy(to, from, bytes));
}

void fill_on(const detail::DeviceState& device, runtime::Context& context, const Stream* stream, void* to,
             const void* element, std::size_t element_bytes, std::size_t count) {
  if (count == 0) return;
  api::check_fill(context, to, element, element_bytes, count);
  api::run_on(context, device, stream,
              runtime::Operation::fill(to, std::span(static_cast<const std::byte*>(element), element_bytes), count));
}

}  // namespace

void copy(const Device& device, void* to, const void* from, std::size_t bytes) {
  const auto& state = detail::Access::state(device);
  copy_on(*state, api::use(state), nullptr, to, from, bytes);
}

void copy(const Stream& stream, void* to, const void* from, std::size_t bytes) {
  const auto& state = detail::Access::state(stream);
  runtime::Context& context = api::use(state, "the stream");
  copy_on(*state->device, context, &stream, to, from, bytes);
}

void fill(const Device& device, void* to, const void* element, std::size_t element_bytes, std::size_t count) {
  const auto& state = detail::Access::state(device);
  fill_on(*state, api::use(state), nullptr, to, element, element_bytes, count);
}

void fill(const Stream& stream, void* to, const void* element, std::size_t element_bytes, std::size_t count) {
  const auto& state = detail::Access::state(stream);
  runtime::Context& context = api::use(state, "the stream");
  fill_on(*state->device, context, &stream, to, element, element_bytes, count);
}

void copy_peer(const Stream& stream, const Device& to_device, void* to, const Device& from_device, const void* from,
               std::size_t bytes) {
  const auto &receiver = detail::Access::state(to_device), &sender = detail::Access::state(from_device);
  api::check_place(api::use(receiver), to, bytes, "the destination of a copy");
  api::check_place(api::use(sender), from, bytes, "the source of a copy");
  const auto& queue = detail::Access::state(stream);
  runtime::Context& context = api::use(queue, "the stream");
  if (receiver->context->device().is_hardware() != sender->context->device().is_hardware())
    api::fail(ErrorId::invalid_device, "one of the devices is a GPU, the other is not",
              "copy through host memory: copy_to() of the one, copy_from() of the other");
  if (queue->device != receiver && queue->device != sender)
    api::fail(ErrorId::invalid_handle, "the stream belongs to a third device", "use a stream of either device");
  if (bytes == 0) return;
  // The devices stay open until the copy is done.
  api::checked(context.submit(queue->stream, [receiver, sender, to, from, bytes] {
    return sender->context->device().copy_to_peer(receiver->context->device(), to, from, bytes);
  }));
}

void copy_peer(const Device& to_device, void* to, const Device& from_device, const void* from, std::size_t bytes) {
  from_device.synchronize();
  to_device.synchronize();
  const Stream stream = to_device.default_stream();
  copy_peer(stream, to_device, to, from_device, from, bytes);
  stream.synchronize();
}

// ---- DeferCleanup ----

DeferCleanup::DeferCleanup(const Device& device) : device_(detail::Access::state(device)) {
  runtime::Context& context = api::use(device_);
  context.memory_releases().defer();
  context.object_releases().defer();
}

DeferCleanup::~DeferCleanup() {
  device_->context->memory_releases().resume();
  device_->context->object_releases().resume();
}

// ---- HostMemory ----

HostMemory::HostMemory(const Device& device, std::size_t bytes, const HostMemoryOptions& options) : options_(options) {
  const auto& owner = detail::Access::state(device);
  runtime::Context& context = api::use(owner);
  if (bytes == 0) return;
  if (context.captures().any()) api::checked(context.captures().permit_unsafe("an allocation of host memory"));
  const auto map = [bytes] { return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); };
  void* address = map();
  if (address == MAP_FAILED) {
    api::checked(context.memory_releases().flush());
    address = map();
  }
  if (address == MAP_FAILED)
    api::fail(ErrorId::out_of_memory, "the host has no " + std::to_string(bytes) + " bytes of memory to map",
              "free host memory that is no longer needed");
  auto registered = context.device().register_host(address, bytes);
  if (!registered) {
    munmap(address, bytes);
    api::fail(std::move(registered.error()));
  }
  state_ = std::make_unique<detail::HostRangeState>(
      owner, address, bytes, true,
      detail::HostFlags::kMapped | (options.write_combined ? detail::HostFlags::kWriteCombined : 0U));
}

HostMemory::HostMemory(HostMemory&&) noexcept = default;
HostMemory& HostMemory::operator=(HostMemory&&) noexcept = default;
HostMemory::~HostMemory() = default;
void* HostMemory::data() const noexcept { return state_ ? state_->address : nullptr; }
std::size_t HostMemory::bytes() const noexcept { return state_ ? state_->bytes : 0; }

unsigned host_memory_flags(const Device& device, const void* address) {
  api::use(detail::Access::state(device));
  const auto flags = detail::HostFlags::of_process().find(address);
  if (!flags)
    api::fail(ErrorId::invalid_value, "the address is not in page-locked host memory",
              "pass an address of HostMemory or of a HostRegistration");
  return *flags;
}

// ---- HostRegistration ----

HostRegistration::HostRegistration(const Device& device, void* address, std::size_t bytes) {
  const auto& owner = detail::Access::state(device);
  runtime::Context& context = api::use(owner);
  const auto start = reinterpret_cast<std::uintptr_t>(address);
  if (address == nullptr || bytes == 0 || bytes > std::numeric_limits<std::uintptr_t>::max() - start)
    api::fail(ErrorId::invalid_value, "there is no host memory of " + std::to_string(bytes) + " bytes at that address",
              "pass the address and size of host memory");
  if (context.captures().any()) api::checked(context.captures().permit_unsafe("a registration of host memory"));
  api::checked(context.device().register_host(address, bytes));
  state_ = std::make_unique<detail::HostRangeState>(owner, address, bytes, false, detail::HostFlags::kMapped);
}

HostRegistration::HostRegistration(HostRegistration&&) noexcept = default;
HostRegistration& HostRegistration::operator=(HostRegistration&&) noexcept = default;
HostRegistration::~HostRegistration() = default;
void* HostRegistration::data() const noexcept { return state_ ? state_->address : nullptr; }
std::size_t HostRegistration::bytes() const noexcept { return state_ ? state_->bytes : 0; }

}  // namespace warploom

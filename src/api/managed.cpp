// ManagedMemory over the device's.
#include "warploom/managed.hpp"

#include "api/state.hpp"

namespace warploom {
namespace detail {

struct ManagedState : Owned {
  ManagedState(std::shared_ptr<DeviceState> owner, void* at, std::size_t size)
      : Owned(std::move(owner)), address(static_cast<std::byte*>(at)), bytes(size) {}
  ~ManagedState() {
    runtime::Context& context = *device->context;
    context.release_later(
        context.memory_releases(),
        [&context, at = address, made_in = generation]() -> Result<void> {
          context.drain();
          // A GPU's reset has released it, and there may be other memory at its address.
          if (!context.device().is_hardware() || made_in == context.generation()) context.device().release_managed(at);
          return {};
        },
        bytes);
  }
  static ManagedMemory make(const Device& device, std::size_t bytes, const ManagedOptions& options,
                            device::Origin origin);
  ManagedState(const ManagedState&) = delete;
  ManagedState& operator=(const ManagedState&) = delete;

  std::byte* address;
  std::size_t bytes;
};

}  // namespace detail

namespace {

runtime::Context& context_of(const std::unique_ptr<detail::ManagedState>& state) {
  if (!state) api::fail_moved_from("the managed memory");
  if (state->generation != state->device->context->generation()) api::fail_before_reset("the managed memory");
  return api::use(state->device);
}

void check_range(const detail::ManagedState& state, std::size_t offset, std::size_t bytes) {
  if (bytes == 0 || offset > state.bytes || bytes > state.bytes - offset)
    api::fail(ErrorId::invalid_value,
              std::to_string(bytes) + " bytes at offset " + std::to_string(offset) + " are no part of " +
                  std::to_string(state.bytes) + " bytes of managed memory",
              "name at least one byte, inside the allocation");
}

}  // namespace

ManagedMemory detail::ManagedState::make(const Device& device, std::size_t bytes, const ManagedOptions& options,
                                         device::Origin origin) {
  const auto& owner = Access::state(device);
  runtime::Context& context = api::use(owner);
  if (bytes == 0) api::fail(ErrorId::invalid_value, "managed memory of 0 bytes", "ask for at least one byte");
  auto address = context.device().allocate_managed(bytes, options.track, origin);
  if (!address && address.error().id == ErrorId::out_of_memory) {
    api::checked(context.memory_releases().flush());
    address = context.device().allocate_managed(bytes, options.track, origin);
  }
  ManagedMemory memory;
  memory.state_ = std::make_unique<ManagedState>(owner, api::checked(std::move(address)), bytes);
  return memory;
}

ManagedMemory detail::managed_at(const Device& device, std::size_t bytes, const ManagedOptions& options,
                                 const char* file, unsigned line) {
  return ManagedState::make(device, bytes, options, {file, line});
}

ManagedMemory::ManagedMemory() noexcept = default;
ManagedMemory::ManagedMemory(const Device& device, std::size_t bytes, const ManagedOptions& options,
                             const std::source_location& where)
    : ManagedMemory(detail::managed_at(device, bytes, options, where.file_name(), where.line())) {}
ManagedMemory::ManagedMemory(ManagedMemory&&) noexcept = default;
ManagedMemory& ManagedMemory::operator=(ManagedMemory&&) noexcept = default;
ManagedMemory::~ManagedMemory() = default;
void* ManagedMemory::data() const noexcept { return state_ ? state_->address : nullptr; }
std::size_t ManagedMemory::bytes() const noexcept { return state_ ? state_->bytes : 0; }

void ManagedMemory::advise(MemoryAdvice advice, MemoryLocation location, std::size_t offset, std::size_t bytes) const {
  runtime::Context& context = context_of(state_);
  check_range(*state_, offset, bytes);
  static_assert(static_cast<int>(MemoryAdvice::unset_accessed_by) ==
                static_cast<int>(device::MemoryAdvice::unset_accessed_by));
  const auto number = static_cast<int>(advice);
  if (number < 1 || number > 6)
    api::fail(ErrorId::invalid_value, "there is no memory advice " + std::to_string(number), "use MemoryAdvice");
  api::checked(context.device().advise(state_->address + offset, bytes, static_cast<device::MemoryAdvice>(number),
                                       location == MemoryLocation::host));
}

void ManagedMemory::advise(MemoryAdvice advice, MemoryLocation location) const {
  context_of(state_);
  advise(advice, location, 0, state_->bytes);
}

void ManagedMemory::prefetch(const Stream& stream, MemoryLocation to, std::size_t offset, std::size_t bytes) const {
  runtime::Context& context = context_of(state_);
  check_range(*state_, offset, bytes);
  api::checked(context.submit(api::queue_of(stream, *state_->device),
                              [&device = context.device(), at = state_->address + offset, bytes, to] {
                                return device.prefetch(at, bytes, to == MemoryLocation::host);
                              }));
}

void ManagedMemory::prefetch(const Stream& stream, MemoryLocation to) const {
  context_of(state_);
  prefetch(stream, to, 0, state_->bytes);
}

void ManagedMemory::attach(const Stream& stream, MemoryAttachment how) const {
  runtime::Context& context = context_of(state_);
  const auto& queue = api::queue_of(stream, *state_->device);
  if (how != MemoryAttachment::global && how != MemoryAttachment::host && how != MemoryAttachment::single)
    api::fail(ErrorId::invalid_value, "there is no such attachment", "use MemoryAttachment");
  if (how == MemoryAttachment::single && context.is_legacy(queue))
    api::fail(ErrorId::invalid_value, "memory is attached to a default stream, which all others wait for",
              "attach it to a stream of its own");
  static_assert(static_cast<int>(MemoryAttachment::single) == static_cast<int>(device::Attachment::single));
  api::checked(context.submit(queue, [&device = context.device(), at = state_->address, how] {
    return device.attach(at, static_cast<device::Attachment>(how));
  }));
}

ManagedStatistics ManagedMemory::statistics() const {
  const auto facts = context_of(state_).device().managed_facts(state_->address);
  if (!facts) api::fail_before_reset("the managed memory");
  ManagedStatistics out;
  out.page_bytes = facts->page_bytes;
  out.pages = facts->pages;
  out.on_host = facts->on_host;
  out.on_device = facts->on_device;
  out.on_both = facts->on_both;
  out.device_faults = facts->device_faults;
  out.host_faults = facts->host_faults;
  out.to_device = facts->to_device;
  out.to_host = facts->to_host;
  out.prefetched_to_device = facts->prefetched_to_device;
  out.prefetched_to_host = facts->prefetched_to_host;
  out.duplicated = facts->duplicated;
  out.remote = facts->remote;
  out.ping_pong = facts->ping_pong;
  out.most_moves = facts->most_moves;
  out.tracked = facts->tracked;
  return out;
}

}  // namespace warploom

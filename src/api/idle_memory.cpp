// Device memory that is taken and put off without waiting.
#include "warploom/idle_memory.hpp"

#include "api/math.hpp"
#include "api/state.hpp"

namespace warploom::detail {
namespace {

// The queue is the context's own, so that the release may refer to it.
runtime::PendingReleases::Release release_of(runtime::Context& context, const IdleMemory& memory) {
  return [&context, memory]() -> Result<void> {
    context.release(memory.address, memory.generation);
    return {};
  };
}

}  // namespace

IdleMemory take_idle_memory(const Device& device, std::size_t bytes, const char* file, unsigned line) {
  const auto& state = Access::state(device);
  if (!state) return {};
  runtime::Context& context = *state->context;
  const std::uint64_t generation = context.generation();
  return {context.allocate_idle(bytes, {file, line}), generation};
}

bool put_off_release(const Device& device, const IdleMemory& memory, std::size_t bytes) {
  runtime::Context& context = *Access::state(device)->context;
  if (context.device().observed()) return false;
  return context.memory_releases().add_quietly(release_of(context, memory), bytes);
}

void release_idle_memory(const Device& device, const IdleMemory& memory, std::size_t bytes) {
  runtime::Context& context = *Access::state(device)->context;
  auto added = context.memory_releases().add(release_of(context, memory), bytes);
  context.report_releases();
  api::checked(std::move(added));
}

void check_argument(const Device& device, const Device& owner, bool live) {
  if (!live)
    api::fail(ErrorId::invalid_handle,
              "the memory of an array passed to the kernel has been released, or the device reset",
              "keep the array's memory until the launch, and make arrays anew after a reset");
  if (!api::reaches(*Access::state(device), *Access::state(owner)))
    api::fail(ErrorId::invalid_handle, "an array passed to the kernel belongs to another device",
              "copy it to the kernel's device, or enable access to that peer (Context.enable_peer_access)");
}

void check_foreign(const Device& device, const void* address, std::size_t bytes) {
  const auto& state = Access::state(device);
  runtime::Context& context = api::use(state);
  if (bytes == 0 || address == nullptr) return;
  api::check_reached(*state, address, "an array of another library");
  if (!context.device().pageable(address, bytes)) return;
  const std::lock_guard lock(state->mutex);
  if (!state->peers.empty()) return;  // it may be theirs
  api::fail(ErrorId::invalid_value, "the array is in memory of the host, which kernels do not reach",
            "copy it to an array on the device, or register the memory", context.device().describe_address(address));
}

void give_back(const Device& device, const IdleMemory& memory) {
  Access::state(device)->context->release(memory.address, memory.generation);
}

}  // namespace warploom::detail

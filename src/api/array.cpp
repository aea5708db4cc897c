// Untyped device memory: allocation, copies and fills.
#include "warploom/array.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "api/state.hpp"

namespace warploom::detail {
namespace {

void check_range(std::size_t offset, std::size_t bytes, std::size_t size, const void* host) {
  if (offset > size || bytes > size - offset)
    api::fail(ErrorId::invalid_value,
              "a copy of " + std::to_string(bytes) + " bytes at offset " + std::to_string(offset) +
                  " does not fit the array of " + std::to_string(size) + " bytes",
              "copy at most size() elements, or make the array larger");
  if (host == nullptr && bytes != 0)
    api::fail(ErrorId::invalid_value, "the host pointer of a copy is null", "pass memory of the host");
}

}  // namespace

MemoryState::~MemoryState() {
  if (resource) {
    if (generation == device->context->generation()) resource->deallocate(address, bytes, *stream);
    return;
  }
  runtime::Context& context = *device->context;
  if (stream) {
    free_captured(*stream, address);
    return;
  }
  runtime::PendingReleases& later = context.memory_releases();
  if (address == nullptr || !later.is_deferred()) {
    context.release(address, generation, pool.get());
    return;
  }
  context.release_later(
      later,
      [&context, at = address, made_in = generation, from = pool]() -> Result<void> {
        context.release(at, made_in, from.get());
        return {};
      },
      bytes);
}

namespace {

std::size_t size_in_bytes(std::size_t count, std::size_t element_bytes) {
  if (count > std::numeric_limits<std::size_t>::max() / element_bytes)
    api::fail(ErrorId::out_of_memory,
              "an array of " + std::to_string(count) + " elements of " + std::to_string(element_bytes) +
                  " bytes is larger than any memory",
              "check the element count for an overflow");
  return count * element_bytes;
}

}  // namespace

Memory::Memory(const Device& device, std::size_t count, std::size_t element_bytes, const char* file, unsigned line) {
  const auto& owner = Access::state(device);
  runtime::Context& context = api::use(owner);
  state_ = std::make_shared<MemoryState>(owner, size_in_bytes(count, element_bytes));
  state_->address = api::checked(context.allocate(state_->bytes, {.origin = {file, line}}));
}

Memory::Memory(const Stream& stream, const MemoryPool* pool, std::size_t count, std::size_t element_bytes,
               const std::source_location& where) {
  const auto& queue = Access::state(stream);
  runtime::Context& context = api::use(queue, "the stream");
  auto from = pool == nullptr ? context.current_pool() : api::pool_of(*pool, *queue->device);
  state_ = std::make_shared<MemoryState>(queue->device, size_in_bytes(count, element_bytes));
  state_->address = api::checked(context.allocate(
      state_->bytes, {.pool = &from, .stream = &queue->stream, .origin = {where.file_name(), where.line()}}));
  state_->pool = std::move(from);
  if (context.captures().any() && state_->bytes != 0 && context.graph_memory().find(state_->address) != nullptr)
    state_->stream = stream;
}

Memory::Memory(std::shared_ptr<MemoryResource> resource, const Stream& stream, std::size_t count,
               std::size_t element_bytes, const std::source_location& where) {
  if (!resource) api::fail(ErrorId::invalid_value, "the memory resource of an array is null", "pass a resource");
  const auto& owner = Access::state(resource->device());
  api::use(owner);
  api::queue_of(stream, *owner);
  auto state = std::make_shared<MemoryState>(owner, size_in_bytes(count, element_bytes));
  state->address = resource->allocate(state->bytes, stream, where);
  state->stream = stream;
  state->resource = std::move(resource);
  state_ = std::move(state);
}

Memory::~Memory() = default;

void* Memory::address() const noexcept {
  if (!state_ || state_->generation != state_->device->context->generation()) return nullptr;
  return state_->address;
}

void Memory::copy_from(const void* host, std::size_t offset, std::size_t bytes, const Stream* stream) {
  runtime::Context& context = api::use(state_, "the array");
  check_range(offset, bytes, state_->bytes, host);
  if (bytes == 0) return;
  void* to = static_cast<std::byte*>(state_->address) + offset;
  api::run_on(context, *state_->device, stream, runtime::Operation::copy(to, host, bytes));
}

void Memory::copy_to(void* host, std::size_t offset, std::size_t bytes, const Stream* stream) const {
  runtime::Context& context = api::use(state_, "the array");
  check_range(offset, bytes, state_->bytes, host);
  if (bytes == 0) return;
  const void* from = static_cast<const std::byte*>(state_->address) + offset;
  api::run_on(context, *state_->device, stream, runtime::Operation::copy(host, from, bytes));
}

void Memory::copy_from(const Memory& source, std::size_t bytes, const Stream* stream) {
  runtime::Context& context = api::use(state_, "the array");
  api::use(source.state_, "the source array");
  if (source.state_->device != state_->device)
    api::fail(ErrorId::invalid_handle, "the source array belongs to another device", "copy through the host");
  if (source.state_ == state_ || bytes == 0) return;
  check_range(0, bytes, state_->bytes, source.state_->address);
  api::run_on(context, *state_->device, stream,
              runtime::Operation::copy(state_->address, source.state_->address, bytes));
}

void Memory::fill(const void* element, std::size_t element_bytes, const Stream* stream) {
  runtime::Context& context = api::use(state_, "the array");
  if (state_->bytes == 0) return;
  std::vector<std::byte> pattern(element_bytes);
  if (element != nullptr) std::memcpy(pattern.data(), element, element_bytes);
  api::run_on(context, *state_->device, stream,
              runtime::Operation::fill(state_->address, pattern, state_->bytes / element_bytes));
}

}  // namespace warploom::detail

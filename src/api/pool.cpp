// MemoryPool over the runtime's pools.
#include "warploom/pool.hpp"

#include "api/state.hpp"

namespace warploom {
namespace api {

const std::shared_ptr<runtime::Pool>& pool_of(const MemoryPool& pool, const detail::DeviceState& device) {
  const auto& state = detail::Access::state(pool);
  use(state, "the pool");
  if (state->device.get() != &device)
    fail(ErrorId::invalid_handle, "the pool belongs to another device", "use a pool of the same device");
  return state->pool;
}

}  // namespace api

namespace {

runtime::Pool::Policy policy_of(const MemoryPoolOptions& options) {
  return {.release_threshold = options.release_threshold,
          .max_bytes = options.max_bytes,
          .follow_events = options.reuse_follow_event_dependencies,
          .opportunistic = options.reuse_allow_opportunistic,
          .internal_dependencies = options.reuse_allow_internal_dependencies};
}

runtime::Pool& pool_in(const std::shared_ptr<detail::PoolState>& state) {
  api::use(state, "the pool");
  return *state->pool;
}

}  // namespace

MemoryPool::MemoryPool(const Device& device, const MemoryPoolOptions& options) {
  const auto& owner = detail::Access::state(device);
  runtime::Context& context = api::use(owner);
  state_ = std::make_shared<detail::PoolState>(owner, context.make_pool(policy_of(options)));
}

MemoryPool MemoryPool::of(const Device& device) {
  const auto& owner = detail::Access::state(device);
  runtime::Context& context = api::use(owner);
  return MemoryPool(std::make_shared<detail::PoolState>(owner, context.default_pool()));
}

MemoryPool MemoryPool::current(const Device& device) {
  const auto& owner = detail::Access::state(device);
  api::use(owner);
  {
    const std::lock_guard lock(owner->mutex);
    auto current = owner->current_pool.lock();
    if (current && current->generation == owner->context->generation()) return MemoryPool(std::move(current));
  }
  return of(device);
}

void MemoryPool::set_current(const Device& device, const MemoryPool& pool) {
  const auto& owner = detail::Access::state(device);
  runtime::Context& context = api::use(owner);
  context.set_current_pool(api::pool_of(pool, *owner));
  const std::lock_guard lock(owner->mutex);
  owner->current_pool = pool.state_;
}

void* MemoryPool::allocate(std::size_t bytes, const Stream& stream, const std::source_location& where) const {
  return detail::allocate_at(*this, bytes, stream, where.file_name(), where.line());
}

void* detail::allocate_at(const MemoryPool& pool, std::size_t bytes, const Stream& stream, const char* file,
                          unsigned line) {
  const auto& state = Access::state(pool);
  runtime::Context& context = api::use(state, "the pool");
  const auto& queue = api::queue_of(stream, *state->device);
  return api::checked(context.allocate(bytes, {.pool = &state->pool, .stream = &queue, .origin = {file, line}}));
}

void detail::free_captured(const Stream& stream, void* address) {
  const auto& state = Access::state(stream);
  if (state && state->generation == state->device->context->generation())
    state->device->context->release_captured(state->stream, address);
}

void MemoryPool::deallocate(void* address, const Stream& stream) const {
  runtime::Context& context = api::use(state_, "the pool");
  api::checked(context.release_on(api::queue_of(stream, *state_->device), address));
}

MemoryPoolOptions MemoryPool::options() const {
  const runtime::Pool::Policy policy = pool_in(state_).policy();
  return {.release_threshold = policy.release_threshold,
          .max_bytes = policy.max_bytes,
          .reuse_follow_event_dependencies = policy.follow_events,
          .reuse_allow_opportunistic = policy.opportunistic,
          .reuse_allow_internal_dependencies = policy.internal_dependencies};
}

void MemoryPool::set_options(const MemoryPoolOptions& options) const { pool_in(state_).set_policy(policy_of(options)); }

MemoryPoolStatistics MemoryPool::statistics() const {
  const runtime::Pool::Statistics s = pool_in(state_).statistics();
  return {s.used, s.used_high, s.reserved, s.reserved_high};
}

void MemoryPool::reset_statistics() const { pool_in(state_).reset_high(true, true); }

void MemoryPool::trim(std::uint64_t keep) const { pool_in(state_).trim(keep); }

void* allocate(const Device& device, std::size_t bytes, const std::source_location& where) {
  runtime::Context& context = api::use(detail::Access::state(device));
  return api::checked(context.allocate(bytes, {.origin = {where.file_name(), where.line()}}));
}

void deallocate(const Device& device, void* address) {
  api::checked(api::use(detail::Access::state(device)).release_now(address));
}

void* allocate(const Stream& stream, std::size_t bytes, const std::source_location& where) {
  const auto& state = detail::Access::state(stream);
  runtime::Context& context = api::use(state, "the stream");
  return api::checked(context.allocate(bytes, {.stream = &state->stream, .origin = {where.file_name(), where.line()}}));
}

void deallocate(const Stream& stream, void* address) {
  const auto& state = detail::Access::state(stream);
  runtime::Context& context = api::use(state, "the stream");
  api::checked(context.release_on(state->stream, address));
}

}  // namespace warploom

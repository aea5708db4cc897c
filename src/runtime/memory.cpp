// Memory of a context: its pools, what happens when there is not enough, and late releases.
#include <algorithm>
#include <string>

#include "runtime/context.hpp"

namespace warploom::runtime {

Result<void*> Context::allocate(std::size_t bytes, const Request& request) {
  WL_TRY(usable());
  if (captures_.any()) {
    if (request.stream != nullptr) {
      if (bytes == 0 && captures_.info(**request.stream).status == CaptureStatus::active) return nullptr;
      auto captured = capture_allocation(bytes, request);
      if (!captured || *captured != nullptr) return captured;
      WL_TRY(captures_.permit_on(**request.stream, is_legacy(*request.stream), "an allocation"));
    }
    WL_TRY(captures_.permit_unsafe("an allocation"));
  }
  if (bytes == 0) return nullptr;
  std::shared_ptr<Pool> current;
  if (request.pool == nullptr && request.stream != nullptr && several_pools_.load(std::memory_order_acquire))
    current = current_pool();
  Pool& pool = request.pool != nullptr ? **request.pool : current ? *current : *default_pool_;
  std::vector<Ticket> after;
  auto address = pool.allocate(bytes, request.stream, request.origin, after);
  if (!address && address.error().id == ErrorId::out_of_memory) address = allocate_again(bytes, request, pool, after);
  if (address && !after.empty()) {
    auto ordered = submit(*request.stream, [] { return Result<void>(); }, std::move(after), How{});
    if (!ordered) {
      pool.release(*address, {});
      return std::move(ordered.error());
    }
  }
  return address;
}

void* Context::allocate_idle(std::size_t bytes, device::Origin origin) {
  if (bytes == 0 || captures_.any() || poisoned_.load(std::memory_order_acquire)) return nullptr;
  return default_pool_->allocate_idle(bytes, origin);
}

// Null when the stream is not captured. The block is made outside of the captures' lock: flushing releases may call
// anything.
Result<void*> Context::capture_allocation(std::size_t bytes, const Request& request) {
  std::shared_ptr<GraphBlock> block;
  for (;;) {
    auto made = captures_.allocate(**request.stream, graph_memory_, bytes, block);
    if (!made) return std::move(made.error());
    if (!made->captured || made->address != nullptr) return made->address;
    auto fresh = graph_block(bytes, request.origin);
    if (!fresh) return std::move(fresh.error());
    block = std::move(*fresh);
  }
}

Result<std::shared_ptr<GraphBlock>> Context::graph_block(std::size_t bytes, device::Origin origin) {
  std::vector<Ticket> after;
  const Request request{.pool = &graph_pool_, .origin = origin};
  auto address = graph_pool_->allocate(bytes, nullptr, origin, after);
  if (!address && address.error().id == ErrorId::out_of_memory)
    address = allocate_again(bytes, request, *graph_pool_, after);
  if (!address) return std::move(address.error());
  return std::make_shared<GraphBlock>(*address, graph_pool_->size_of(*address),
                                      [context = weak_from_this(), made_in = generation()](void* at) {
                                        if (const auto self = context.lock())
                                          self->release(at, made_in, self->graph_pool_.get());
                                      });
}

Result<void*> Context::allocate_again(std::size_t bytes, const Request& request, Pool& pool,
                                      std::vector<Ticket>& after) {
  trim_pools();
  auto address = pool.allocate(bytes, request.stream, request.origin, after);
  if (address) return address;
  for (PendingReleases* queue : {&memory_releases_, &object_releases_})
    if (auto flushed = queue->flush(); !flushed) record_error(std::move(flushed.error()));
  if (!on_worker_thread()) {
    drain();
    trim_pools();
  }
  address = pool.allocate(bytes, request.stream, request.origin, after);
  if (!address) describe_pending(address.error());
  return address;
}

void Context::describe_pending(Diag& diag) {
  const std::size_t count = memory_releases_.count() + object_releases_.count();
  diag.what += ", " + std::to_string(count) + " releases pending";
  if (count != 0) diag.what += " of " + std::to_string(memory_releases_.bytes()) + " bytes";
  std::uint64_t idle = 0;
  for (const auto& pool : pools()) idle += pool->idle();
  if (idle != 0) diag.what += ", " + std::to_string(idle) + " idle in pools";
  if (count != 0 && memory_releases_.is_deferred()) diag.remedy += "; leave the scope that defers releases";
}

void Context::release(void* address, std::uint64_t generation, Pool* pool) {
  if (address == nullptr) return;
  std::vector<Ticket> tickets;
  {
    const std::lock_guard order(streams_mutex_);
    if (generation != this->generation()) return;
    add_pending(tickets);
  }
  (pool == nullptr ? *default_pool_ : *pool).release(address, std::move(tickets));
  if (pool != nullptr) forget_if_unused(*pool);
}

bool Context::release_anywhere(void* address, const std::vector<Ticket>& after) {
  if (default_pool_->release(address, after)) return true;
  if (several_pools_.load(std::memory_order_acquire)) {
    for (const auto& pool : pools()) {
      if (pool == graph_pool_ || !pool->release(address, after)) continue;
      forget_if_unused(*pool);
      return true;
    }
  }
  return graph_memory_.release(address);
}

Diag Context::no_allocation(void* address) const {
  Diag diag;
  diag.id = ErrorId::invalid_value;
  diag.what = "the address to free is not the start of an allocation of a pool";
  diag.where = device_->describe_address(address);
  diag.remedy = "free each allocation once, with the address that it was given";
  return diag;
}

Result<void> Context::release_on(const std::shared_ptr<Stream>& stream, void* address) {
  WL_TRY(usable());
  if (captures_.any()) {
    if (address == nullptr && captures_.info(*stream).status != CaptureStatus::none) return {};
    auto captured = captures_.deallocate(*stream, graph_memory_, address);
    if (!captured) return std::move(captured.error());
    if (*captured) return {};
    WL_TRY(captures_.permit_on(*stream, is_legacy(stream), "a free"));
  }
  if (address == nullptr) return {};
  std::vector<Ticket> after;
  const std::uint64_t tail = stream->known_end();
  add_default_order(stream, after);
  if (!stream->done(tail)) after.push_back({stream, tail});
  if (release_anywhere(address, after)) return {};
  return no_allocation(address);
}

void Context::release_captured(const std::shared_ptr<Stream>& stream, void* address) {
  if (captures_.deallocate_own(*stream, graph_memory_, address)) return;
  graph_memory_.release(address);
}

Result<void> Context::release_now(void* address) {
  WL_TRY(usable());
  if (captures_.any()) WL_TRY(captures_.permit_unsafe("a free"));
  if (address == nullptr) return {};
  std::vector<Ticket> after;
  {
    const std::lock_guard order(streams_mutex_);
    add_pending(after);
  }
  if (!release_anywhere(address, after)) return no_allocation(address);
  drain();
  return {};
}

// ---- pools ----

std::vector<std::shared_ptr<Pool>> Context::pools() {
  const std::lock_guard lock(pools_mutex_);
  std::vector<std::shared_ptr<Pool>> all = pools_;
  all.push_back(default_pool_);
  all.push_back(graph_pool_);
  return all;
}

std::shared_ptr<Pool> Context::make_pool(const Pool::Policy& policy) {
  auto pool = std::make_shared<Pool>(*device_, known_, policy);
  const std::lock_guard lock(pools_mutex_);
  pools_.push_back(pool);
  several_pools_.store(true, std::memory_order_release);
  return pool;
}

void Context::abandon_pool(const std::shared_ptr<Pool>& pool) {
  if (pool == default_pool_) return;
  {
    const std::lock_guard lock(pools_mutex_);
    if (current_ == pool) current_ = default_pool_;
    abandoned_.push_back(pool.get());
  }
  pool->trim(0);
  forget_if_unused(*pool);
}

void Context::forget_if_unused(const Pool& pool) {
  std::shared_ptr<Pool> gone;  // ends outside the lock
  const std::lock_guard lock(pools_mutex_);
  if (std::find(abandoned_.begin(), abandoned_.end(), &pool) == abandoned_.end() || pool.live() != 0) return;
  std::erase(abandoned_, &pool);
  const auto it = std::find_if(pools_.begin(), pools_.end(), [&](const auto& one) { return one.get() == &pool; });
  if (it == pools_.end()) return;
  gone = std::move(*it);
  pools_.erase(it);
}

std::shared_ptr<Pool> Context::current_pool() {
  const std::lock_guard lock(pools_mutex_);
  return current_;
}

void Context::set_current_pool(const std::shared_ptr<Pool>& pool) {
  const std::lock_guard lock(pools_mutex_);
  current_ = pool;
}

void Context::trim_pools() {
  for (const auto& pool : pools()) pool->trim(0);
}

void Context::pools_synchronized() {
  default_pool_->synchronized();
  graph_pool_->synchronized();
  if (!several_pools_.load(std::memory_order_acquire)) return;
  for (const auto& pool : pools()) pool->synchronized();
}

std::size_t Context::free_bytes() {
  std::size_t free = device_->free_bytes();
  for (const auto& pool : pools()) free += pool->idle();
  return free;
}

// ---- late releases ----

void Context::release_later(PendingReleases& queue, PendingReleases::Release release, std::uint64_t bytes) {
  if (auto done = queue.add(std::move(release), bytes); !done) record_error(std::move(done.error()));
  report_releases();
}

void Context::report_releases() {
  if (!device_->observed()) return;
  const PendingReleases &memory = memory_releases_, &objects = object_releases_;
  device_->report_releases({.device = reinterpret_cast<std::uintptr_t>(this),
                            .put_off = memory.put_off() + objects.put_off(),
                            .most = std::max<std::uint64_t>(memory.most(), objects.most()),
                            .flushes = memory.flushes() + objects.flushes(),
                            .pending = memory.count() + objects.count()});
}

}  // namespace warploom::runtime

// The memory resources that come with the library.
#include "warploom/resource.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <thread>

#include <fmt/format.h>

#include "api/state.hpp"

namespace warploom {
namespace {

const std::shared_ptr<MemoryResource>& checked_upstream(const std::shared_ptr<MemoryResource>& upstream) {
  if (!upstream)
    api::fail(ErrorId::invalid_value, "the upstream of a memory resource is null",
              "pass the resource that allocates, for instance a PoolResource");
  return upstream;
}

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

}  // namespace

MemoryResource::~MemoryResource() = default;

// ---- PoolResource ----

void* PoolResource::do_allocate(std::size_t bytes, const Stream& stream, const std::source_location& where) {
  return pool_.allocate(bytes, stream, where);
}

void PoolResource::do_deallocate(void* address, std::size_t, const Stream& stream) noexcept {
  const auto& state = detail::Access::state(stream);
  if (!state || state->generation != state->device->context->generation()) return;  // a reset has freed it
  runtime::Context& context = *state->device->context;
  if (auto released = context.release_on(state->stream, address); !released)
    context.report(std::move(released.error()));
}

// ---- ArenaResource ----

struct ArenaResource::Arena {
  std::byte* begin;
  std::size_t bytes, used;
  std::size_t live;
  Stream stream;
};

ArenaResource::ArenaResource(std::shared_ptr<MemoryResource> upstream, std::size_t arena_bytes)
    : MemoryResource(checked_upstream(upstream)->device()), upstream_(std::move(upstream)), arena_bytes_(arena_bytes) {
  if (arena_bytes < 1024)
    api::fail(ErrorId::invalid_value, fmt::format("an arena of {} bytes", arena_bytes),
              "make arenas of 1024 bytes at least");
}

ArenaResource::~ArenaResource() {
  for (const auto& arena : arenas_) upstream_->deallocate(arena->begin, arena->bytes, arena->stream);
}

std::size_t ArenaResource::arenas() const {
  const std::lock_guard lock(mutex_);
  return arenas_.size();
}

void* ArenaResource::do_allocate(std::size_t bytes, const Stream& stream, const std::source_location& where) {
  constexpr std::size_t alignment = 256;
  if (bytes > arena_bytes_ / 2) return upstream_->allocate(bytes, stream, where);
  const std::size_t need = (bytes + alignment - 1) / alignment * alignment;
  const auto& queue = api::queue_of(stream, *detail::Access::state(device()));
  const std::lock_guard lock(mutex_);
  for (auto it = arenas_.rbegin(); it != arenas_.rend(); ++it) {
    Arena& arena = **it;
    if (arena.bytes - arena.used < need || detail::Access::state(arena.stream)->stream != queue) continue;
    void* const address = arena.begin + arena.used;
    arena.used += need;
    ++arena.live;
    return address;
  }
  auto* const begin = static_cast<std::byte*>(upstream_->allocate(arena_bytes_, stream, where));
  arenas_.push_back(std::make_unique<Arena>(Arena{begin, arena_bytes_, need, 1, stream}));
  return begin;
}

void ArenaResource::do_deallocate(void* address, std::size_t bytes, const Stream& stream) noexcept {
  std::unique_ptr<Arena> empty;
  {
    const std::lock_guard lock(mutex_);
    const auto* const at = static_cast<std::byte*>(address);
    const auto it = std::find_if(arenas_.begin(), arenas_.end(), [&](const auto& arena) {
      return std::greater_equal<>()(at, arena->begin) && std::less<>()(at, arena->begin + arena->bytes);
    });
    if (it != arenas_.end()) {
      if (--(*it)->live != 0) return;
      empty = std::move(*it);
      arenas_.erase(it);
    }
  }
  if (empty)
    upstream_->deallocate(empty->begin, empty->bytes, empty->stream);
  else
    upstream_->deallocate(address, bytes, stream);
}

// ---- LimitingResource ----

LimitingResource::LimitingResource(std::shared_ptr<MemoryResource> upstream, std::uint64_t limit)
    : MemoryResource(checked_upstream(upstream)->device()), upstream_(std::move(upstream)), limit_(limit) {}

std::uint64_t LimitingResource::used() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

void* LimitingResource::do_allocate(std::size_t bytes, const Stream& stream, const std::source_location& where) {
  {
    const std::lock_guard lock(mutex_);
    if (bytes > limit_ - used_)
      api::fail(
          ErrorId::out_of_memory,
          fmt::format("over the limit of a memory resource: {} bytes asked for, {} of {} in use", bytes, used_, limit_),
          "free what the resource allocated, or make it with a larger limit",
          fmt::format("at {}:{}", where.file_name(), where.line()));
    used_ += bytes;
  }
  try {
    return upstream_->allocate(bytes, stream, where);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    used_ -= bytes;
    throw;
  }
}

void LimitingResource::do_deallocate(void* address, std::size_t bytes, const Stream& stream) noexcept {
  upstream_->deallocate(address, bytes, stream);
  const std::lock_guard lock(mutex_);
  used_ -= std::min<std::uint64_t>(bytes, used_);
}

// ---- LoggingResource ----

LoggingResource::LoggingResource(std::shared_ptr<MemoryResource> upstream, std::function<void(const std::string&)> line)
    : MemoryResource(checked_upstream(upstream)->device()),
      upstream_(std::move(upstream)),
      line_(std::move(line)),
      start_ns_(now_ns()) {
  if (!line_)
    api::fail(ErrorId::invalid_value, "the log of a memory resource is empty", "pass a function that takes a line");
  line_("thread,seconds,action,address,bytes,place");
}

void LoggingResource::write(const char* action, const void* address, std::size_t bytes,
                            const std::source_location* where) {
  const double seconds = static_cast<double>(now_ns() - start_ns_) * 1e-9;
  std::string line = fmt::format("{:x},{:.9f},{},{},{},", std::hash<std::thread::id>()(std::this_thread::get_id()),
                                 seconds, action, fmt::ptr(address), bytes);
  if (where != nullptr) line += fmt::format("{}:{}", where->file_name(), where->line());
  const std::lock_guard lock(mutex_);
  line_(line);
}

void* LoggingResource::do_allocate(std::size_t bytes, const Stream& stream, const std::source_location& where) {
  void* address = nullptr;
  try {
    address = upstream_->allocate(bytes, stream, where);
  } catch (...) {
    write("allocate failed", nullptr, bytes, &where);
    throw;
  }
  write("allocate", address, bytes, &where);
  return address;
}

void LoggingResource::do_deallocate(void* address, std::size_t bytes, const Stream& stream) noexcept {
  write("free", address, bytes, nullptr);
  upstream_->deallocate(address, bytes, stream);
}

// ---- StatisticsResource ----

StatisticsResource::StatisticsResource(std::shared_ptr<MemoryResource> upstream)
    : MemoryResource(checked_upstream(upstream)->device()), upstream_(std::move(upstream)) {}

StatisticsResource::Statistics StatisticsResource::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

void* StatisticsResource::do_allocate(std::size_t bytes, const Stream& stream, const std::source_location& where) {
  void* address = nullptr;
  try {
    address = upstream_->allocate(bytes, stream, where);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    ++statistics_.failed;
    throw;
  }
  const std::lock_guard lock(mutex_);
  Statistics& s = statistics_;
  s.bytes += bytes;
  s.bytes_total += bytes;
  ++s.count;
  ++s.count_total;
  s.bytes_high = std::max(s.bytes_high, s.bytes);
  s.count_high = std::max(s.count_high, s.count);
  return address;
}

void StatisticsResource::do_deallocate(void* address, std::size_t bytes, const Stream& stream) noexcept {
  upstream_->deallocate(address, bytes, stream);
  const std::lock_guard lock(mutex_);
  statistics_.bytes -= std::min<std::uint64_t>(bytes, statistics_.bytes);
  statistics_.count -= statistics_.count == 0 ? 0 : 1;
}

}  // namespace warploom

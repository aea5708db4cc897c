// Memory resources: allocators of device memory that compose, for DeviceArray and for code that takes one.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "warploom/device.hpp"
#include "warploom/export.hpp"
#include "warploom/pool.hpp"
#include "warploom/stream.hpp"

namespace warploom {

/// Allocates device memory in the order of streams. Resources that have an upstream change what it does and leave the
/// allocation to it, so that they stack. All of this header's may be used by several threads.
class WARPLOOM_API MemoryResource {
 public:
  virtual ~MemoryResource();
  MemoryResource(const MemoryResource&) = delete;
  MemoryResource& operator=(const MemoryResource&) = delete;

  /// `bytes` bytes for later work of the stream, at least 256-byte aligned; null for 0 bytes. Throws out_of_memory.
  [[nodiscard]] void* allocate(std::size_t bytes, const Stream& stream,
                               const std::source_location& where = std::source_location::current()) {
    return bytes == 0 ? nullptr : do_allocate(bytes, stream, where);
  }
  /// Frees in the order of the stream what allocate() gave, with the same size. Nothing for null. Does not throw: an
  /// error is that of the next call that waits for the device.
  void deallocate(void* address, std::size_t bytes, const Stream& stream) noexcept {
    if (address != nullptr) do_deallocate(address, bytes, stream);
  }
  [[nodiscard]] const Device& device() const noexcept { return device_; }

 protected:
  explicit MemoryResource(Device device) : device_(std::move(device)) {}
  virtual void* do_allocate(std::size_t bytes, const Stream& stream, const std::source_location& where) = 0;
  virtual void do_deallocate(void* address, std::size_t bytes, const Stream& stream) noexcept = 0;

 private:
  Device device_;
};

/// What make_resource() takes: any type with these two functions.
template <class T>
concept StreamOrderedAllocator = requires(T& t, void* address, std::size_t bytes, const Stream& stream) {
  { t.allocate(bytes, stream) } -> std::convertible_to<void*>;
  t.deallocate(address, bytes, stream);
};

/// From a pool: the one given, or the device's current one.
class WARPLOOM_API PoolResource final : public MemoryResource {
 public:
  explicit PoolResource(const Device& device) : MemoryResource(device), pool_(MemoryPool::current(device)) {}
  PoolResource(const Device& device, MemoryPool pool) : MemoryResource(device), pool_(std::move(pool)) {}
  [[nodiscard]] const MemoryPool& pool() const noexcept { return pool_; }

 private:
  void* do_allocate(std::size_t bytes, const Stream& stream, const std::source_location& where) override;
  void do_deallocate(void* address, std::size_t bytes, const Stream& stream) noexcept override;
  MemoryPool pool_;
};

/// Cuts allocations from arenas of `arena_bytes` bytes, each of one stream, one after the other; an arena goes back
/// upstream when all that was cut from it is freed. Cheap for many small allocations with one life time. Larger ones
/// than an arena go upstream.
class WARPLOOM_API ArenaResource final : public MemoryResource {
 public:
  explicit ArenaResource(std::shared_ptr<MemoryResource> upstream, std::size_t arena_bytes = std::size_t{1} << 22);
  ~ArenaResource() override;
  /// Arenas that are held now.
  [[nodiscard]] std::size_t arenas() const;

 private:
  struct Arena;
  void* do_allocate(std::size_t bytes, const Stream& stream, const std::source_location& where) override;
  void do_deallocate(void* address, std::size_t bytes, const Stream& stream) noexcept override;
  std::shared_ptr<MemoryResource> upstream_;
  std::size_t arena_bytes_;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Arena>> arenas_;
};

/// Refuses what would put more than `limit` bytes in use at once, with out_of_memory.
class WARPLOOM_API LimitingResource final : public MemoryResource {
 public:
  LimitingResource(std::shared_ptr<MemoryResource> upstream, std::uint64_t limit);
  [[nodiscard]] std::uint64_t limit() const noexcept { return limit_; }
  [[nodiscard]] std::uint64_t used() const;

 private:
  void* do_allocate(std::size_t bytes, const Stream& stream, const std::source_location& where) override;
  void do_deallocate(void* address, std::size_t bytes, const Stream& stream) noexcept override;
  std::shared_ptr<MemoryResource> upstream_;
  std::uint64_t limit_;
  mutable std::mutex mutex_;
  std::uint64_t used_ = 0;
};

/// One line for each call, in CSV: thread, time in seconds since the resource was made, "allocate", "allocate failed"
/// or "free", address, bytes, place.
class WARPLOOM_API LoggingResource final : public MemoryResource {
 public:
  /// `line` gets each line without its end, one at a time; the heading first. It must not throw.
  LoggingResource(std::shared_ptr<MemoryResource> upstream, std::function<void(const std::string&)> line);

 private:
  void* do_allocate(std::size_t bytes, const Stream& stream, const std::source_location& where) override;
  void do_deallocate(void* address, std::size_t bytes, const Stream& stream) noexcept override;
  void write(const char* action, const void* address, std::size_t bytes, const std::source_location* where);
  std::shared_ptr<MemoryResource> upstream_;
  std::function<void(const std::string&)> line_;
  std::mutex mutex_;
  std::uint64_t start_ns_;
};

/// Counts what passes through it.
class WARPLOOM_API StatisticsResource final : public MemoryResource {
 public:
  struct Statistics {
    std::uint64_t bytes = 0, bytes_high = 0, bytes_total = 0;  ///< in use now, at most, ever allocated
    std::uint64_t count = 0, count_high = 0, count_total = 0;  ///< allocations, the same
    std::uint64_t failed = 0;                                  ///< allocations that threw
  };
  explicit StatisticsResource(std::shared_ptr<MemoryResource> upstream);
  [[nodiscard]] Statistics statistics() const;

 private:
  void* do_allocate(std::size_t bytes, const Stream& stream, const std::source_location& where) override;
  void do_deallocate(void* address, std::size_t bytes, const Stream& stream) noexcept override;
  std::shared_ptr<MemoryResource> upstream_;
  mutable std::mutex mutex_;
  Statistics statistics_;
};

/// A resource over an allocator of another library or of the user's own. What its allocate() throws, allocations throw;
/// its deallocate() must not throw.
template <StreamOrderedAllocator T>
[[nodiscard]] std::shared_ptr<MemoryResource> make_resource(const Device& device, T allocator) {
  class Adapted final : public MemoryResource {
   public:
    Adapted(const Device& device, T allocator) : MemoryResource(device), allocator_(std::move(allocator)) {}

   private:
    void* do_allocate(std::size_t bytes, const Stream& stream, const std::source_location&) override {
      return allocator_.allocate(bytes, stream);
    }
    void do_deallocate(void* address, std::size_t bytes, const Stream& stream) noexcept override {
      allocator_.deallocate(address, bytes, stream);
    }
    T allocator_;
  };
  return std::make_shared<Adapted>(device, std::move(allocator));
}

}  // namespace warploom

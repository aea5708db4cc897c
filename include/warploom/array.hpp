// DeviceArray: elements in device memory, with copies to and from the host.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <source_location>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "warploom/device.hpp"
#include "warploom/export.hpp"
#include "warploom/pool.hpp"
#include "warploom/resource.hpp"
#include "warploom/stream.hpp"

namespace warploom {
namespace detail {

struct MemoryState;

// MemoryPool::allocate() for a place in a program of another language.
WARPLOOM_API void* allocate_at(const MemoryPool& pool, std::size_t bytes, const Stream& stream, const char* file,
                               unsigned line);
// Frees what was allocated while the stream was captured: by a node while that capture goes on, else when a launch has
// made it and nobody has freed it.
WARPLOOM_API void free_captured(const Stream& stream, void* address);

/// Untyped device memory; what DeviceArray and launches are built from. Offsets and sizes in bytes.
class WARPLOOM_API Memory {
 public:
  // `file` stands in messages and lives for ever.
  Memory(const Device& device, std::size_t count, std::size_t element_bytes, const char* file, unsigned line);
  Memory(const Stream& stream, const MemoryPool* pool, std::size_t count, std::size_t element_bytes,
         const std::source_location& where);
  Memory(std::shared_ptr<MemoryResource> resource, const Stream& stream, std::size_t count, std::size_t element_bytes,
         const std::source_location& where);
  Memory(Memory&&) noexcept = default;
  Memory& operator=(Memory&&) noexcept = default;
  ~Memory();

  [[nodiscard]] bool valid() const noexcept { return state_ != nullptr; }
  [[nodiscard]] void* address() const noexcept;
  // A null stream means the default stream and waits for the end of the copy.
  void copy_from(const void* host, std::size_t offset, std::size_t bytes, const Stream* stream);
  void copy_to(void* host, std::size_t offset, std::size_t bytes, const Stream* stream) const;
  void copy_from(const Memory& source, std::size_t bytes, const Stream* stream);
  void fill(const void* element, std::size_t element_bytes, const Stream* stream);

 private:
  friend struct Access;
  std::shared_ptr<MemoryState> state_;
};

}  // namespace detail

/// `size()` elements of T in device memory, 256-byte aligned, contents unspecified at first. Move only. Destroying one
/// while work that uses it is queued is safe: the memory goes back when that work has finished.
///
/// Copies without a stream run on the default stream and return when they are done. Copies with a stream return at
/// once when the host memory is pinned, which must then stay as it is until the stream has reached the copy; with other
/// host memory they wait as cuMemcpyAsync does. A moved-from array has size 0 and throws invalid_handle when used.
template <class T>
class DeviceArray {
  static_assert(std::is_trivially_copyable_v<T>, "elements of device memory are copied as bytes");
  static_assert(!std::is_const_v<T> && !std::is_reference_v<T>, "DeviceArray<T> needs a plain element type");

 public:
  using value_type = T;

  /// Throws out_of_memory. 0 elements are allowed and have no memory (cuMemAlloc). `where` stands in messages.
  DeviceArray(const Device& device, std::size_t count,
              const std::source_location& where = std::source_location::current())
      : memory_(device, count, sizeof(T), where.file_name(), where.line()), size_(count) {}
  /// Allocates and copies.
  DeviceArray(const Device& device, std::span<const T> host,
              const std::source_location& where = std::source_location::current())
      : DeviceArray(device, host.size(), where) {
    copy_from(host);
  }
  DeviceArray(const Device& device, const std::vector<T>& host,
              const std::source_location& where = std::source_location::current())
      : DeviceArray(device, std::span<const T>(host), where) {}
  /// Memory of the current pool, or of `pool`, for work queued on the stream from now on; other streams must wait for
  /// that stream first (cuMemAllocAsync). Throws out_of_memory, and invalid_handle for a pool of another device.
  DeviceArray(const Stream& stream, std::size_t count,
              const std::source_location& where = std::source_location::current())
      : memory_(stream, nullptr, count, sizeof(T), where), size_(count) {}
  DeviceArray(const MemoryPool& pool, const Stream& stream, std::size_t count,
              const std::source_location& where = std::source_location::current())
      : memory_(stream, &pool, count, sizeof(T), where), size_(count) {}
  /// Memory of a resource, which lives as long as the array; destroying the array frees in the order of the stream.
  DeviceArray(std::shared_ptr<MemoryResource> resource, const Stream& stream, std::size_t count,
              const std::source_location& where = std::source_location::current())
      : memory_(std::move(resource), stream, count, sizeof(T), where), size_(count) {}

  DeviceArray(DeviceArray&& other) noexcept : memory_(std::move(other.memory_)), size_(std::exchange(other.size_, 0)) {}
  DeviceArray& operator=(DeviceArray&& other) noexcept {
    memory_ = std::move(other.memory_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return size_ * sizeof(T); }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  /// False for a moved-from array.
  [[nodiscard]] bool valid() const noexcept { return memory_.valid(); }
  /// Device pointer, for arithmetic and as a kernel argument; null when there are no elements or after a reset. Do not
  /// read or write through it on the host: only copies are ordered with kernels.
  [[nodiscard]] T* data() const noexcept { return static_cast<T*>(memory_.address()); }

  /// Copies host.size() elements to elements offset and on; throws invalid_value when they do not fit.
  void copy_from(std::span<const T> host, std::size_t offset = 0) {
    memory_.copy_from(host.data(), scaled(offset), host.size_bytes(), nullptr);
  }
  void copy_from(std::span<const T> host, const Stream& stream, std::size_t offset = 0) {
    memory_.copy_from(host.data(), scaled(offset), host.size_bytes(), &stream);
  }
  /// Copies elements offset and on to the host; throws invalid_value when there are fewer than host.size().
  void copy_to(std::span<T> host, std::size_t offset = 0) const {
    memory_.copy_to(host.data(), scaled(offset), host.size_bytes(), nullptr);
  }
  void copy_to(std::span<T> host, const Stream& stream, std::size_t offset = 0) const {
    memory_.copy_to(host.data(), scaled(offset), host.size_bytes(), &stream);
  }
  /// Copies all of `source`, on the same device, to the first elements.
  void copy_from(const DeviceArray& source) { memory_.copy_from(source.memory_, source.bytes(), nullptr); }
  void copy_from(const DeviceArray& source, const Stream& stream) {
    memory_.copy_from(source.memory_, source.bytes(), &stream);
  }
  /// All elements, after the work queued so far on blocking streams.
  [[nodiscard]] std::vector<T> to_vector() const {
    std::vector<T> host(size_);
    copy_to(std::span<T>(host));
    return host;
  }

  /// Sets every element (cuMemsetD8 and its siblings).
  void fill(const T& value) { memory_.fill(&value, sizeof(T), nullptr); }
  void fill(const T& value, const Stream& stream) { memory_.fill(&value, sizeof(T), &stream); }
  /// Sets every byte to 0.
  void zero() { memory_.fill(nullptr, 1, nullptr); }
  void zero(const Stream& stream) { memory_.fill(nullptr, 1, &stream); }

  /// For launches.
  [[nodiscard]] const detail::Memory& memory() const noexcept { return memory_; }

 private:
  // An offset too large to be scaled stays too large.
  static std::size_t scaled(std::size_t offset) {
    constexpr std::size_t limit = std::numeric_limits<std::size_t>::max();
    return offset > limit / sizeof(T) ? limit : offset * sizeof(T);
  }

  detail::Memory memory_;
  std::size_t size_;
};

}  // namespace warploom

// Memory of the CUDA device: its own, managed, the host's and that of other GPUs.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "device/cuda/cuda_device.hpp"
#include "device/largest.hpp"

namespace warploom::device::cuda {
namespace {

// CU_MEMHOSTREGISTER_PORTABLE and _DEVICEMAP.
constexpr unsigned kMappedEverywhere = 1 | 2;

constexpr DeviceNumber kHostSide = -1;  // CU_DEVICE_CPU

DevicePointer pointer_of(const void* address) { return reinterpret_cast<DevicePointer>(address); }

}  // namespace

std::string CudaDevice::named(std::uintptr_t address, const Allocation& block) {
  std::string out = fmt::format("{} bytes at {:#x}", block.bytes, address);
  if (block.origin.file != nullptr) out += fmt::format(" made at {}:{}", block.origin.file, block.origin.line);
  return out;
}

// ---- memory ----

Diag CudaDevice::no_memory(Status status, std::size_t bytes) const {
  Diag d = driver_error(driver_, status, fmt::format("{} bytes of device memory cannot be allocated", bytes));
  if (d.id != ErrorId::out_of_memory) return d;
  return out_of_memory(bytes);
}

Diag CudaDevice::out_of_memory(std::size_t bytes) const {
  Diag d;
  d.id = ErrorId::out_of_memory;
  const std::size_t free = free_bytes();
  const std::lock_guard lock(memory_mutex_);
  d.what =
      fmt::format("out of device memory: {} bytes asked for, {} of {} free on {}", bytes, free, limit_, profile_.title);
  d.where = largest_allocations(allocations_, named);
  d.remedy = limit_ < profile_.memory_bytes
                 ? "free arrays that are no longer needed, or give the device a larger limit"
                 : "free arrays that are no longer needed; other programs use the GPU's memory too (nvidia-smi)";
  return d;
}

Result<void*> CudaDevice::take(std::size_t bytes) {
  WL_TRY(enter());
  bool fits = false;
  {
    const std::lock_guard lock(memory_mutex_);
    fits = taken_bytes_ <= limit_ && bytes <= limit_ - taken_bytes_;
    if (fits) taken_bytes_ += bytes;
  }
  if (!fits) return out_of_memory(bytes);
  DevicePointer address = 0;
  const Status status = driver_.allocate(&address, bytes);
  {
    const std::lock_guard lock(memory_mutex_);
    if (status == 0)
      taken_[address] = bytes;
    else
      taken_bytes_ -= bytes;
  }
  if (status != 0) return no_memory(status, bytes);
  return reinterpret_cast<void*>(address);
}

void CudaDevice::give(DevicePointer address) {
  const std::lock_guard lock(memory_mutex_);
  const auto it = taken_.find(address);
  if (it == taken_.end()) return;
  taken_bytes_ -= it->second;
  taken_.erase(it);
}

Result<void*> CudaDevice::allocate(std::size_t bytes) {
  auto address = take(bytes);
  if (address) mark(*address, bytes, {});
  return address;
}

Result<void> CudaDevice::release(void* address) {
  unmark(address);
  give(pointer_of(address));
  WL_TRY(enter());
  return checked(driver_.release(pointer_of(address)), "memory cannot be released");
}

Result<void*> CudaDevice::reserve(std::size_t bytes) {
  auto address = take(bytes);
  if (!address) return address;
  const std::lock_guard lock(memory_mutex_);
  reserved_[pointer_of(*address)] = {bytes, {}};
  return address;
}

void CudaDevice::unreserve(void* address) {
  {
    const std::lock_guard lock(memory_mutex_);
    reserved_.erase(pointer_of(address));
  }
  give(pointer_of(address));
  if (enter()) (void)driver_.release(pointer_of(address));
}

void CudaDevice::mark(void* address, std::size_t bytes, Origin origin) {
  const std::lock_guard lock(memory_mutex_);
  allocations_[pointer_of(address)] = {bytes, origin};
}

void CudaDevice::unmark(void* address) {
  const std::lock_guard lock(memory_mutex_);
  allocations_.erase(pointer_of(address));
}

std::string CudaDevice::describe_address(const void* address) const {
  const std::uintptr_t at = pointer_of(address);
  const std::lock_guard lock(memory_mutex_);
  auto next = allocations_.upper_bound(at);
  if (next == allocations_.begin()) return "no allocation lies before it";
  const auto& [start, block] = *--next;
  const std::string name = named(start, block);
  if (at < start + block.bytes) return fmt::format("byte {} of {}", at - start, name);
  return fmt::format("{} bytes past the end of {}", at - start - block.bytes, name);
}

bool CudaDevice::holds(const void* address) const {
  const std::uintptr_t at = pointer_of(address);
  const std::lock_guard lock(memory_mutex_);
  auto next = allocations_.upper_bound(at);
  if (next == allocations_.begin()) return false;
  const auto& [start, block] = *--next;
  return at < start + block.bytes;
}

bool CudaDevice::addressable(const void* address, std::size_t bytes) const {
  const std::uintptr_t at = pointer_of(address);
  // Of the last range that begins at or before the address, how much is left from there; of the next, how far it is.
  struct Room {
    std::size_t inside = 0, ahead = ~std::size_t{0};
  };
  const auto room = [at](const std::map<std::uintptr_t, Allocation>& ranges) {
    Room out;
    auto next = ranges.upper_bound(at);
    if (next != ranges.end()) out.ahead = next->first - at;
    if (next == ranges.begin()) return out;
    const auto& [start, block] = *--next;
    if (at < start + block.bytes) out.inside = start + block.bytes - at;
    return out;
  };
  const std::lock_guard lock(memory_mutex_);
  const Room allocation = room(allocations_), reserved = room(reserved_);
  if (allocation.inside != 0) return bytes <= allocation.inside;
  // What is not ours may be anyone's.
  return reserved.inside == 0 && bytes <= std::min(allocation.ahead, reserved.ahead);
}

Result<void> CudaDevice::set_memory_limit(std::uint64_t bytes) {
  if (bytes == 0 || bytes > profile_.memory_bytes) {
    Diag d;
    d.id = ErrorId::invalid_value;
    d.what = fmt::format("a memory limit of {} bytes; the device was opened with {}", bytes, profile_.memory_bytes);
    d.remedy = "pass 1 byte at least and at most what the device was opened with";
    return d;
  }
  const std::lock_guard lock(memory_mutex_);
  limit_ = bytes;
  return {};
}

std::size_t CudaDevice::free_bytes() const {
  std::size_t free = 0, total = 0;
  if (!enter() || driver_.memory_info(&free, &total) != 0) return 0;
  const std::lock_guard lock(memory_mutex_);
  return std::min<std::size_t>(free, limit_ - std::min(taken_bytes_, limit_));
}

// ---- memory of several processes ----

Result<Device::SharedMemory> CudaDevice::share(const void* address) {
  WL_TRY(enter());
  DevicePointer start = 0;
  std::size_t bytes = 0;
  WL_TRY(checked(driver_.address_range(&start, &bytes, pointer_of(address)), "the allocation to share"));
  SharedHandle handle;
  WL_TRY(checked(driver_.share_memory(&handle, start), "memory cannot be shared with other processes"));
  SharedMemory out;
  std::copy(std::begin(handle.reserved), std::end(handle.reserved), out.handle.begin());
  out.offset = pointer_of(address) - start;
  return out;
}

Result<void*> CudaDevice::open_shared(const std::array<std::byte, 64>& handle) {
  WL_TRY(enter());
  SharedHandle theirs;
  std::copy(handle.begin(), handle.end(), std::begin(theirs.reserved));
  constexpr unsigned kEnablePeers = 1;  // CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS
  DevicePointer address = 0;
  WL_TRY(checked(driver_.open_shared(&address, theirs, kEnablePeers), "memory of another process cannot be opened"));
  return reinterpret_cast<void*>(address);
}

void CudaDevice::close_shared(void* address) {
  if (!enter()) return;
  (void)driver_.synchronize();  // work may still use it
  (void)driver_.close_shared(pointer_of(address));
}

Result<void> CudaDevice::register_host(void* address, std::size_t bytes) {
  WL_TRY(enter());
  WL_TRY(checked(driver_.register_host(address, bytes, kMappedEverywhere), "host memory cannot be registered"));
  const std::lock_guard lock(memory_mutex_);
  host_ranges_[pointer_of(address)] = bytes;
  return {};
}

void CudaDevice::unregister_host(void* address) {
  {
    const std::lock_guard lock(memory_mutex_);
    host_ranges_.erase(pointer_of(address));
  }
  if (enter()) (void)driver_.unregister_host(address);
}

Result<void> CudaDevice::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return {};
  CudaQueue& queue = here();
  const auto call = [&] { return driver_.copy(pointer_of(to), pointer_of(from), bytes, queue.handle()); };
  WL_TRY(checked_inside(queue.handle(), "a copy", call));
  return finish(queue);
}

Result<void> CudaDevice::fill(void* to, const void* element, std::size_t element_bytes, std::size_t count) {
  if (element_bytes == 0 || count == 0) return {};
  WL_TRY(enter());
  CudaQueue& queue = here();
  StreamHandle* stream = queue.handle();
  const DevicePointer at = pointer_of(to);
  Status status = 0;
  if (element_bytes == 1) {
    status = driver_.fill8(at, *static_cast<const unsigned char*>(element), count, stream);
  } else if (element_bytes == 2) {
    std::uint16_t value = 0;
    std::memcpy(&value, element, 2);
    status = driver_.fill16(at, value, count, stream);
  } else if (element_bytes == 4) {
    std::uint32_t value = 0;
    std::memcpy(&value, element, 4);
    status = driver_.fill32(at, value, count, stream);
  } else {
    // What is written already is the source of the rest.
    const std::size_t total = element_bytes * count;
    status = driver_.copy(at, pointer_of(element), element_bytes, stream);
    for (std::size_t done = element_bytes; status == 0 && done < total;) {
      const std::size_t n = std::min(done, total - done);
      status = driver_.copy(at + done, at, n, stream);
      done += n;
    }
  }
  WL_TRY(checked(status, "a fill"));
  return finish(queue);
}

// ---- managed memory ----

Result<void*> CudaDevice::allocate_managed(std::size_t bytes, bool tracked, Origin origin) {
  (void)tracked;  // the driver moves pages without telling anyone
  WL_TRY(enter());
  constexpr unsigned kGlobal = 1;  // CU_MEM_ATTACH_GLOBAL
  DevicePointer address = 0;
  if (const Status status = driver_.allocate_managed(&address, bytes, kGlobal); status != 0)
    return no_memory(status, bytes);
  Status status = driver_.fill8(address, 0, bytes, own_->handle());
  if (status == 0) status = driver_.stream_synchronize(own_->handle());
  if (status != 0) {
    (void)driver_.release(address);
    return driver_error(driver_, status, "managed memory cannot be cleared");
  }
  const std::lock_guard lock(memory_mutex_);
  allocations_[address] = {bytes, origin};
  managed_[address] = bytes;
  return reinterpret_cast<void*>(address);
}

void CudaDevice::release_managed(void* address) {
  {
    const std::lock_guard lock(memory_mutex_);
    // A reset has released it.
    if (managed_.erase(pointer_of(address)) == 0) return;
    allocations_.erase(pointer_of(address));
  }
  if (enter()) (void)driver_.release(pointer_of(address));
}

Result<void> CudaDevice::advise(void* address, std::size_t bytes, MemoryAdvice advice, bool host) {
  WL_TRY(enter());
  return checked(driver_.advise(pointer_of(address), bytes, static_cast<int>(advice), host ? kHostSide : number_),
                 "advice on managed memory");
}

Result<void> CudaDevice::prefetch(void* address, std::size_t bytes, bool to_host) {
  WL_TRY(enter());
  CudaQueue& queue = here();
  WL_TRY(checked(driver_.prefetch(pointer_of(address), bytes, to_host ? kHostSide : number_, queue.handle()),
                 "a prefetch of managed memory"));
  return finish(queue);
}

Result<void> CudaDevice::attach(void* address, Attachment how) {
  WL_TRY(enter());
  CudaQueue& queue = here();
  WL_TRY(checked(driver_.attach(queue.handle(), pointer_of(address), 0, static_cast<unsigned>(how)),
                 "managed memory cannot be attached"));
  return finish(queue);
}

std::optional<observe::ManagedFacts> CudaDevice::managed_facts(void* address) const {
  const std::lock_guard lock(memory_mutex_);
  const auto it = managed_.find(pointer_of(address));
  if (it == managed_.end()) return std::nullopt;
  observe::ManagedFacts facts;
  facts.id = it->first;
  facts.bytes = it->second;
  return facts;
}

// ---- peers ----

Result<bool> CudaDevice::can_access(const Device& peer) const {
  if (&peer == this || !peer.is_hardware()) return false;
  int possible = 0;
  WL_TRY(checked(driver_.can_access_peer(&possible, number_, static_cast<const CudaDevice&>(peer).number_),
                 "whether a GPU reaches a peer"));
  return possible != 0;
}

Result<void> CudaDevice::enable_peer(Device& peer) {
  WL_TRY(enter());
  const Status status = driver_.enable_peer(static_cast<CudaDevice&>(peer).context_, 0);
  constexpr Status kEnabled = 704;  // by another library that uses the same context
  return status == kEnabled ? Result<void>() : checked(status, "access to a peer's memory");
}

Result<void> CudaDevice::disable_peer(Device& peer) {
  WL_TRY(enter());
  return checked(driver_.disable_peer(static_cast<CudaDevice&>(peer).context_), "the end of access to a peer's memory");
}

Result<void> CudaDevice::copy_to_peer(Device& peer_, void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return {};
  auto& peer = static_cast<CudaDevice&>(peer_);
  const auto* current = static_cast<const CudaQueue*>(Queue::current());
  const CudaDevice& home = current != nullptr ? current->device() : *this;
  WL_TRY(home.enter());
  CudaQueue& queue = home.here();
  WL_TRY(checked(driver_.copy_peer(pointer_of(to), peer.context_, pointer_of(from), context_, bytes, queue.handle()),
                 "a copy to another GPU"));
  return home.finish(queue);
}

}  // namespace warploom::device::cuda

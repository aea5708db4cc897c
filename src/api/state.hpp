// What the public handles point at, and how results inside become exceptions at the edge.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/launches.hpp"
#include "base/result.hpp"
#include "device/device.hpp"
#include "runtime/context.hpp"
#include "runtime/event.hpp"
#include "warploom/warploom.hpp"

namespace warploom {
namespace detail {

struct ErrorData {
  Diag diag;
  std::string text;
};

struct ErrorAccess {
  static Error make(Diag diag);
};

struct PoolState;

struct DeviceState {
  std::shared_ptr<runtime::Context> context;
  std::atomic<std::size_t> total_memory = 0;
  std::shared_ptr<api::LaunchRecorder> launches;
  bool per_thread_default = false;
  unsigned ordinal = 0;
  std::mutex mutex;  // of what follows
  std::weak_ptr<PoolState> current_pool;
  std::vector<std::weak_ptr<DeviceState>> peers;  // whose memory kernels may access
  std::atomic<bool> has_peers = false;            // there was one
};

// What is made on a device: it keeps the device open, and a reset makes it invalid.
struct Owned {
  explicit Owned(std::shared_ptr<DeviceState> owner)
      : device(std::move(owner)), generation(device->context->generation()) {}

  std::shared_ptr<DeviceState> device;
  std::uint64_t generation;
};

struct StreamState : Owned {
  StreamState(std::shared_ptr<DeviceState> owner, std::shared_ptr<runtime::Stream> queue, bool closes)
      : Owned(std::move(owner)), stream(std::move(queue)), closes_stream(closes) {}
  ~StreamState() {
    if (closes_stream) device->context->close_stream(stream);
  }
  StreamState(const StreamState&) = delete;
  StreamState& operator=(const StreamState&) = delete;

  std::shared_ptr<runtime::Stream> stream;
  bool closes_stream;  // false for default streams and those of someone else
};

struct EventState : Owned {
  EventState(std::shared_ptr<DeviceState> owner, bool timing)
      : Owned(std::move(owner)), event(std::make_shared<runtime::Event>(timing)) {}
  std::shared_ptr<runtime::Event> event;
};

struct MemoryState : Owned {
  MemoryState(std::shared_ptr<DeviceState> owner, std::size_t size) : Owned(std::move(owner)), bytes(size) {}
  ~MemoryState();
  MemoryState(const MemoryState&) = delete;
  MemoryState& operator=(const MemoryState&) = delete;

  void* address = nullptr;
  std::size_t bytes;
  std::shared_ptr<runtime::Pool> pool{};       // null: the default one
  std::shared_ptr<MemoryResource> resource{};  // or a resource, with the stream that it frees in
  std::optional<Stream> stream{};
};

struct PoolState : Owned {
  PoolState(std::shared_ptr<DeviceState> owner, std::shared_ptr<runtime::Pool> made)
      : Owned(std::move(owner)), pool(std::move(made)) {}
  ~PoolState() { device->context->abandon_pool(pool); }
  PoolState(const PoolState&) = delete;
  PoolState& operator=(const PoolState&) = delete;

  std::shared_ptr<runtime::Pool> pool;
};

struct ModuleState : Owned {
  ModuleState(std::shared_ptr<DeviceState> owner, std::shared_ptr<device::Module> loaded, std::string module_name)
      : Owned(std::move(owner)), module(std::move(loaded)), name(std::move(module_name)) {}
  std::shared_ptr<device::Module> module;
  std::string name;
};

struct KernelState {
  std::shared_ptr<ModuleState> module;
  device::Kernel* kernel;  // lives as long as the module
};

// Reads and makes public handles.
struct Access {
  static Device make(std::shared_ptr<DeviceState> state) { return Device(std::move(state)); }
  static Stream make(std::shared_ptr<StreamState> state) { return Stream(std::move(state)); }
  static Module make(std::shared_ptr<ModuleState> state) { return Module(std::move(state)); }
  static MemoryPool make(std::shared_ptr<PoolState> state) { return MemoryPool(std::move(state)); }
  static Kernel make(std::shared_ptr<KernelState> state) { return Kernel(std::move(state)); }
  static Graph make(std::shared_ptr<GraphState> state) { return Graph(std::move(state)); }
  static GraphExec make(std::shared_ptr<GraphExecState> state) { return GraphExec(std::move(state)); }
  template <class Handle>
  static const auto& state(const Handle& handle) {
    return handle.state_;
  }
};

}  // namespace detail

// Opens the public face of any device; Device::open and tests use it.
// `session` hears of every launch.
Device adopt_device(std::unique_ptr<device::Device> device, std::shared_ptr<observe::LaunchLog> session = nullptr,
                    bool per_thread_default_stream = false, unsigned ordinal = 0);

namespace api {

[[noreturn]] void fail(Diag diag);
[[noreturn]] void fail(ErrorId id, std::string what, std::string remedy = {}, std::string where = {});

template <class T>
T checked(Result<T> result) {
  if (!result) fail(std::move(result.error()));
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// The bytes of a file; throws file_error.
std::string read_file(const std::string& path);

[[noreturn]] void fail_moved_from(const char* what);
[[noreturn]] void fail_before_reset(const char* what);

// The context of a handle's device, checked: not moved from and not poisoned. `what` names it in messages: "the
// stream".
runtime::Context& use(const std::shared_ptr<detail::DeviceState>& device);
template <class State>
runtime::Context& use(const std::shared_ptr<State>& state, const char* what) {
  if (!state) fail_moved_from(what);
  if (state->generation != state->device->context->generation()) fail_before_reset(what);
  return use(state->device);
}

// Whether kernels of a device may be passed memory of another, or of its own.
bool reaches(const detail::DeviceState& device, const detail::DeviceState& other);

// The queue of a stream that is used together with something of `device`.
const std::shared_ptr<runtime::Stream>& queue_of(const Stream& stream, const detail::DeviceState& device);

// The pool of a handle that is used together with something of `device`.
const std::shared_ptr<runtime::Pool>& pool_of(const MemoryPool& pool, const detail::DeviceState& device);

// Throws invalid_value when an address is null or reaches out of a device allocation; `what` names it.
void check_place(runtime::Context& context, const void* address, std::size_t bytes, const char* what);

// The queue of calls that are given no stream.
std::shared_ptr<runtime::Stream> default_queue(runtime::Context& context, const detail::DeviceState& device);

// Runs device work on `stream`, or on the default stream and waits when it is null. An operation may be captured. With
// a stream, a copy from pageable host memory has left it when the call returns, and one to it is done.
void run_on(runtime::Context& context, const detail::DeviceState& device, const Stream* stream,
            runtime::Operation operation);
void run_on(runtime::Context& context, const detail::DeviceState& device, const Stream* stream, runtime::Work work);

// Pageable memory of at most this many bytes is copied aside, for more the call waits (CUDA Driver API, "API
// synchronization behavior").
inline constexpr std::size_t kStagedBytes = std::size_t{64} << 10;

// Between which bytes a copy happens.
struct CopyPlaces {
  const void* to = nullptr;
  std::size_t to_bytes = 0;
  const void* from = nullptr;
  std::size_t from_bytes = 0;
  std::function<runtime::Operation()> stage;  // the same copy from memory of its own; none: it cannot
};
// The same as run_on() for a copy that is more than one run of bytes.
void run_copy(runtime::Context& context, const detail::DeviceState& device, const Stream* stream,
              const CopyPlaces& places, runtime::Operation operation);

}  // namespace api
}  // namespace warploom

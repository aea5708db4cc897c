// What a device offers to the runtime: memory, modules, kernels, launches. Streams and events live above, in runtime/.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "device/queue.hpp"
#include "isa/profile.hpp"
#include "isa/ref/texture.hpp"
#include "observe/facts.hpp"
#include "observe/launch_times.hpp"
#include "observe/memory_facts.hpp"

namespace warploom::observe {
class GpuTimes;
}

namespace warploom::device {

struct ParamInfo {
  std::string name;
  std::uint32_t offset, bytes, align;
};

class Math;
class Module;

// One kernel of a loaded module. Compiled at its first launch, per block shape; thread safe.
class Kernel {
 public:
  virtual ~Kernel() = default;
  [[nodiscard]] virtual const std::string& name() const = 0;
  [[nodiscard]] virtual std::span<const ParamInfo> params() const = 0;
  [[nodiscard]] virtual std::uint32_t param_bytes() const = 0;
  // Compiles if needed, and says what a launch would need.
  virtual Result<observe::KernelFacts> facts() = 0;
};

class Module {
 public:
  virtual ~Module() = default;
  // The kernel lives as long as the module.
  virtual Result<Kernel*> kernel(const std::string& name) = 0;
  [[nodiscard]] virtual std::vector<std::string> kernel_names() const = 0;
  struct Global {
    void* address;
    std::size_t bytes;
  };
  virtual Result<Global> global(const std::string& name) = 0;
  // Names of the .global and .const variables of module scope.
  [[nodiscard]] virtual std::vector<std::string> global_names() const = 0;
};

struct PtxText {
  std::string text, name;  // the name stands in messages
};

// What cuMemAdvise takes; unset is set and the next number.
enum class MemoryAdvice : std::uint8_t {
  set_read_mostly = 1,
  unset_read_mostly,
  set_preferred_location,
  unset_preferred_location,
  set_accessed_by,
  unset_accessed_by,
};

// Whose work uses managed memory (CU_MEM_ATTACH_*).
enum class Attachment : std::uint8_t { global = 1, host = 2, single = 4 };

// Where a program asked for memory, for messages; the text lives for ever. Empty: not known.
struct Origin {
  const char* file = nullptr;
  std::uint32_t line = 0;
};

struct Launch {
  std::array<std::uint32_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  std::uint32_t shared_bytes = 0;
  bool cooperative = false;
  std::array<std::uint32_t, 3> cluster{0, 0, 0};  // blocks of a cluster; zeros: what the kernel itself asks for
  std::vector<std::byte> params;                  // laid out as Kernel::params() says
  std::int32_t priority = 0;                      // of its stream: lower is more urgent
  Origin site{};                                  // where the program asked for it
};

// A checked launch that may run many times, with everything looked up that does not change in between.
class PreparedLaunch {
 public:
  virtual ~PreparedLaunch() = default;
  // Runs it to its end, as Device::run does. Safe to call from several threads.
  virtual Result<void> run() = 0;
};

// What a texture or surface object stands for. Its memory is not owned.
struct TextureSetup {
  isa::ref::Image image;
  isa::ref::Sampler sampler;  // of textures
  bool is_surface = false;
  std::uint64_t texels = 0;  // the array, where the device has its own
  unsigned level = 0;        // of it, for surfaces
};

// A part of one level of an array of texels, and its rows in host memory.
struct TexelCopy {
  std::array<std::size_t, 3> start{}, count{};  // in texels, slices last
  unsigned level = 0;
  std::byte* host = nullptr;
  std::size_t pitch = 0;  // bytes from row to row
  bool to_device = false;
};

class Device {
 public:
  virtual ~Device() = default;
  [[nodiscard]] virtual const isa::GpuProfile& profile() const = 0;
  // A GPU, not one that is modelled.
  [[nodiscard]] virtual bool is_hardware() const { return false; }
  // Launches and copies that can usefully run at the same time on threads of the host's.
  [[nodiscard]] virtual unsigned concurrency() const { return 2; }
  // The queue of a stream; null where the host runs the work. Queues keep CUDA's order between the legacy default
  // stream and others themselves.
  struct QueueOptions {
    bool legacy = false;  // of the legacy default stream
    bool blocking = true;
    int priority = 0;
    std::uint64_t adopt = 0;  // the number of a queue that another library made and destroys
  };
  virtual Result<std::unique_ptr<Queue>> make_queue(const QueueOptions& options) {
    (void)options;
    return std::unique_ptr<Queue>();
  }

  virtual Result<void*> allocate(std::size_t bytes) = 0;  // 256-byte aligned
  virtual Result<void> release(void* address) = 0;
  // Nearest allocation, for messages: "12 bytes past the end of 4096 bytes at 0x...".
  [[nodiscard]] virtual std::string describe_address(const void* address) const = 0;
  [[nodiscard]] virtual std::size_t free_bytes() const = 0;
  // Memory for a pool to divide, which counts as allocated. Only what mark() names in it is an allocation.
  virtual Result<void*> reserve(std::size_t bytes) { return allocate(bytes); }
  virtual void unreserve(void* address) { (void)release(address); }
  virtual void mark(void* address, std::size_t bytes, Origin origin) { (void)address, (void)bytes, (void)origin; }
  virtual void unmark(void* address) { (void)address; }
  // Memory that host and device share, zeroed (cuMemAllocManaged), and what a program says of its use; see
  // cpu/managed.hpp for what is modelled.
  virtual Result<void*> allocate_managed(std::size_t bytes, bool tracked, Origin origin) {
    (void)bytes, (void)tracked, (void)origin;
    return no_managed_memory();
  }
  virtual void release_managed(void* address) { (void)address; }
  virtual Result<void> advise(void* address, std::size_t bytes, MemoryAdvice advice, bool host) {
    (void)address, (void)bytes, (void)advice, (void)host;
    return no_managed_memory();
  }
  virtual Result<void> prefetch(void* address, std::size_t bytes, bool to_host) {
    (void)address, (void)bytes, (void)to_host;
    return no_managed_memory();
  }
  // Whose work uses the managed allocation that starts at the address, in the order of the current queue. A hint.
  virtual Result<void> attach(void* address, Attachment how) {
    (void)address, (void)how;
    return {};
  }
  // Of the managed allocation that starts at the address.
  [[nodiscard]] virtual std::optional<observe::ManagedFacts> managed_facts(void* address) const {
    (void)address;
    return std::nullopt;
  }
  // Tells observers of releases that were put off.
  virtual void report_releases(const observe::ReleaseFacts& facts) { (void)facts; }
  [[nodiscard]] virtual bool observed() const { return false; }

  // Bytes that may be allocated at most: at most what the device was opened with.
  virtual Result<void> set_memory_limit(std::uint64_t bytes) {
    (void)bytes;
    return {};
  }
  // Names the allocation of the driver's that holds the address for other processes, and opens one of theirs.
  struct SharedMemory {
    std::array<std::byte, 64> handle{};  // CUipcMemHandle
    std::size_t offset = 0;              // of the address
  };
  virtual Result<SharedMemory> share(const void* address) {
    (void)address;
    return no_shared_memory();
  }
  virtual Result<void*> open_shared(const std::array<std::byte, 64>& handle) {
    (void)handle;
    return no_shared_memory();
  }
  virtual void close_shared(void* address) { (void)address; }
  // False for a range that reaches into the device's address space but is not inside one allocation.
  [[nodiscard]] virtual bool addressable(const void* address, std::size_t bytes) const {
    (void)address, (void)bytes;
    return true;
  }
  // Makes host memory accessible to kernels, and ends that; at most one registration holds a byte.
  virtual Result<void> register_host(void* address, std::size_t bytes) {
    (void)address, (void)bytes;
    return {};
  }
  virtual void unregister_host(void* address) { (void)address; }
  // Pageable memory is host memory that is not registered.
  [[nodiscard]] virtual bool pageable(const void* address, std::size_t bytes) const {
    (void)address, (void)bytes;
    return false;
  }
  // Copies between host and device memory in any direction; the caller has checked the ranges.
  virtual Result<void> copy(void* to, const void* from, std::size_t bytes) {
    if (bytes != 0) std::memmove(to, from, bytes);
    return {};
  }
  // Repeats one element `count` times in device memory.
  virtual Result<void> fill(void* to, const void* element, std::size_t element_bytes, std::size_t count) {
    auto* out = static_cast<std::byte*>(to);
    const std::size_t total = element_bytes * count;
    if (total == 0) return {};
    if (element_bytes == 1) {
      std::memset(out, static_cast<int>(*static_cast<const std::byte*>(element)), total);
      return {};
    }
    // What is written already is the source of the rest, up to a size that stays in a cache.
    constexpr std::size_t largest = std::size_t{1} << 16;
    std::memcpy(out, element, element_bytes);
    std::size_t ready = element_bytes;
    for (std::size_t done = element_bytes, n = 0; done < total; done += n) {
      n = std::min(ready, total - done);
      std::memcpy(out + done, out, n);
      if (ready <= largest) ready += n;
    }
    return {};
  }

  // The 64-bit handle that kernels take. No launch that uses it may be under way when it is destroyed; one that is gone
  // is an error in the kernel that uses it.
  virtual Result<std::uint64_t> create_texture(const TextureSetup& setup) {
    (void)setup;
    Diag d;
    d.id = ErrorId::not_supported;
    d.what = "this device has no textures";
    return d;
  }
  virtual void destroy_texture(std::uint64_t handle) { (void)handle; }
  virtual void destroy_surface(std::uint64_t handle) { destroy_texture(handle); }
  virtual void forget_textures() {}  // destroys all, and all arrays of texels

  // Arrays of texels in a layout that only the device knows, for devices that have such; elsewhere texels are plain
  // memory, and these are never called. An image says the shape; its levels have no address.
  [[nodiscard]] virtual bool has_texel_arrays() const { return false; }
  virtual Result<std::uint64_t> allocate_texels(const isa::ref::Image& image) {
    (void)image;
    return no_texel_arrays();
  }
  virtual void release_texels(std::uint64_t texels) { (void)texels; }
  virtual Result<void> copy_texels(std::uint64_t texels, const isa::ref::Image& image, const TexelCopy& part) {
    (void)texels, (void)image, (void)part;
    return no_texel_arrays();
  }

  // Other devices of the same kind: whether kernels may access their memory, and copies between the two. Here that
  // needs nothing; a copy is in the order of the current queue, which belongs to either device.
  [[nodiscard]] virtual Result<bool> can_access(const Device& peer) const { return &peer != this; }
  virtual Result<void> enable_peer(Device& peer) {
    (void)peer;
    return {};
  }
  virtual Result<void> disable_peer(Device& peer) {
    (void)peer;
    return {};
  }
  virtual Result<void> copy_to_peer(Device& peer, void* to, const void* from, std::size_t bytes) {
    (void)peer;
    return copy(to, from, bytes);
  }

  // What the driver says of the kernel's occupancy; nothing where that is computed from the kernel's facts.
  virtual Result<std::optional<std::uint32_t>> resident_blocks(Kernel& kernel, std::uint32_t threads,
                                                               std::size_t dynamic_shared) {
    (void)kernel, (void)threads, (void)dynamic_shared;
    return std::optional<std::uint32_t>();
  }
  // Clusters of the launch's shape that the whole device holds at once.
  virtual Result<std::optional<std::uint32_t>> resident_clusters(Kernel& kernel, const Launch& launch) {
    (void)kernel, (void)launch;
    return std::optional<std::uint32_t>();
  }
  struct BlockChoice {
    std::uint32_t grid = 0, block = 0;
  };
  // The smallest grid of the best block, whose dynamic shared memory the function says.
  virtual Result<std::optional<BlockChoice>> best_block(Kernel& kernel,
                                                        const std::function<std::size_t(std::uint32_t)>& dynamic_shared,
                                                        std::uint32_t limit) {
    (void)kernel, (void)dynamic_shared, (void)limit;
    return std::optional<BlockChoice>();
  }

  // Linear algebra and Fourier transforms; null: the device has none.
  virtual Math* math() { return nullptr; }

  // Called when all queues are idle: prints what kernels have printed.
  virtual Result<void> synchronize() { return {}; }
  // After everything made on the device has been released, or could not be: makes it usable again.
  virtual Result<void> reset() { return {}; }

  virtual Result<std::shared_ptr<Module>> load(std::string ptx, std::string name) = 0;
  // Links modules that refer to each other, and loads the result.
  virtual Result<std::shared_ptr<Module>> load_linked(std::vector<PtxText> texts, std::string name) {
    (void)texts;
    Diag d;
    d.id = ErrorId::not_supported;
    d.what = "this device does not link modules";
    d.where = std::move(name);
    return d;
  }

  // Checks a launch without running it: dimensions, arguments, shared memory, cooperative size.
  virtual Result<void> check_launch(Kernel& kernel, const Launch& launch) = 0;
  // Runs one launch to its end, on all cores; called from a stream's thread. Safe to call from several threads.
  virtual Result<void> run(Kernel& kernel, const Launch& launch) = 0;
  // The same for a launch that check_launch has passed.
  virtual Result<void> run_checked(Kernel& kernel, const Launch& launch) { return run(kernel, launch); }
  // For many runs of a launch that check_launch has passed. The kernel's module and the device must outlive it.
  virtual Result<std::unique_ptr<PreparedLaunch>> prepare(Kernel& kernel, Launch launch) {
    struct Again final : PreparedLaunch {
      Again(Device& d, Kernel& k, Launch l) : device(d), kernel(k), launch(std::move(l)) {}
      Result<void> run() override { return device.run_checked(kernel, launch); }
      Device& device;
      Kernel& kernel;
      Launch launch;
    };
    return std::unique_ptr<PreparedLaunch>(std::make_unique<Again>(*this, kernel, std::move(launch)));
  }

  // Observers see every later launch; counting code is compiled in only while there is one.
  virtual void add_observer(std::shared_ptr<observe::Observer> observer) = 0;
  virtual void clear_observers() = 0;
  // Is told when each later launch began and ended; nullptr ends that.
  virtual void set_launch_log(std::shared_ptr<observe::LaunchLog> log) { (void)log; }
  // Of a GPU: later launches run one by one, and their times by its own clock are gathered.
  virtual void set_gpu_times(std::shared_ptr<observe::GpuTimes> times) { (void)times; }

 private:
  static Diag no_managed_memory() {
    Diag d;
    d.id = ErrorId::not_supported;
    d.what = "this device has no managed memory";
    return d;
  }
  static Diag no_shared_memory() {
    Diag d;
    d.id = ErrorId::not_supported;
    d.what = "the CPU device's memory is shared with other processes by the Python package only";
    d.remedy = "map memory of both processes (memfd_create), and register it with HostRegistration";
    return d;
  }
  static Diag no_texel_arrays() {
    Diag d;
    d.id = ErrorId::not_supported;
    d.what = "this device has no arrays of texels of its own";
    return d;
  }
};

// Which kernels leave their PTX, IR, LLVM IR and machine code as files.
struct DumpOptions {
  std::string folder;                                      // empty: none
  std::function<bool(const std::string& mangled)> wanted;  // none: all
};

// What runs a kernel whose optimised code is not there yet; results are the same bits.
enum class Tier : std::uint8_t {
  automatic,    // an interpreter, until the code is there
  compiled,     // nothing: launches wait for the compiler
  interpreter,  // the interpreter to the end, where it covers the kernel
  mixed,        // for tests: the interpreter and compiled code by turns
};

struct CpuOptions {
  unsigned threads = 0;  // 0: all cores
  std::string profile = "h200";
  bool deterministic = false;  // blocks in order on one thread
  bool unoptimised = false;    // conservative code: no lane shapes, always masked; the judge of the optimiser
  Tier tier = Tier::automatic;
  std::uint64_t memory_limit = 0;  // 0: the profile's
  DumpOptions dump{};
};
Result<std::unique_ptr<Device>> open_cpu(const CpuOptions& options);

struct CudaOptions {
  unsigned number = 0;  // as the driver counts
};
// A GPU, through the driver that is installed; invalid_device when there is none.
Result<std::unique_ptr<Device>> open_cuda(const CudaOptions& options);
// 0 without a driver.
unsigned cuda_device_count();

}  // namespace warploom::device

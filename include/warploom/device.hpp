// Device: something that runs PTX; memory, modules and streams belong to one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "warploom/dim3.hpp"
#include "warploom/export.hpp"

namespace warploom {

class Module;
class Stream;
namespace detail {
struct DeviceState;
struct Access;
}  // namespace detail

/// What Device::open() may be told. Environment variables of the command line override the fields they name:
/// WARPLOOM_THREADS, WARPLOOM_PROFILE, WARPLOOM_DETERMINISTIC=1, WARPLOOM_UNOPTIMISED=1, WARPLOOM_MEMORY_LIMIT (bytes,
/// or with K, M or G); WARPLOOM_OBSERVE=explain attaches an observer whose report is printed when the process ends,
/// WARPLOOM_REPORT_JSON=FILE also writes it as JSON.
struct DeviceOptions {
  unsigned threads = 0;            ///< threads that run blocks; 0: one for each core
  std::string profile = "h200";    ///< modelled GPU: its limits are enforced, its sizes are reported
  bool deterministic = false;      ///< blocks in order on one thread: one reproducible schedule
  bool unoptimised = false;        ///< conservative code, to tell a fault of the optimiser from one of the kernel
  std::uint64_t memory_limit = 0;  ///< bytes of device memory; 0: the profile's
  /// The default stream is one of the calling thread, not the legacy one (nvcc --default-stream per-thread).
  bool per_thread_default_stream = false;
  unsigned ordinal = 0;  ///< which of Device::count() devices
};

/// The two queues of releases that wait: memory, and everything else.
enum class ReleaseKind { memory, object };

/// Releases that a device has put off; see Device::pending().
struct PendingReleases {
  std::size_t memory_count = 0;    ///< of host memory, and of arrays within DeferCleanup
  std::uint64_t memory_bytes = 0;  ///< that these give back
  std::size_t object_count = 0;    ///< of everything else
  std::size_t most = 0;            ///< that ever were put off at once
  std::uint64_t flushes = 0;       ///< how often they were released
  bool deferred = false;           ///< within DeferCleanup
};

/// The modelled GPU (CUDA Driver API, cuDeviceGetAttribute; sizes in bytes).
struct DeviceProperties {
  std::string name;     ///< for instance "NVIDIA H200", or "NVIDIA H200 (modelled on the CPU)"
  std::string profile;  ///< for instance "h200"; of a GPU that no profile models "cuda"
  int compute_capability_major = 0;
  int compute_capability_minor = 0;
  unsigned warp_size = 32;
  unsigned multiprocessors = 0;
  unsigned max_threads_per_block = 0;
  unsigned max_threads_per_multiprocessor = 0;
  unsigned max_blocks_per_multiprocessor = 0;
  Dim3 max_block;
  Dim3 max_grid;
  std::size_t shared_memory_per_block = 0;      ///< without opting in
  std::size_t max_shared_memory_per_block = 0;  ///< static and dynamic together, at most
  std::size_t shared_memory_per_multiprocessor = 0;
  unsigned registers_per_multiprocessor = 0;
  std::size_t total_memory = 0;
};

/// A launch that has ended; see Device::record_launches().
struct LaunchRecord {
  std::string kernel;  ///< the C++ name with its parameter types, as Kernel::demangled_name()
  Dim3 grid, block;
  std::uint32_t shared_bytes = 0;  ///< dynamic, for each block
  double start_ms = 0;             ///< when it began, from when recording was switched on
  double ms = 0;                   ///< what it took on the device, without compile_ms
  double compile_ms = 0;           ///< in which it waited for the compiler: at first launches
  bool failed = false;
};

/// How CUDA C++ source becomes PTX.
struct CompileOptions {
  enum class Compiler { automatic, clang, nvcc };
  Compiler compiler = Compiler::automatic;  ///< automatic: clang with Warploom's own device header
  std::string arch{};                       ///< for instance "sm_90"; empty: the device's
  int optimization = 3;                     ///< 0 to 3
  bool line_info = true;                    ///< source lines in reports and errors
  bool debug = false;                       ///< as nvcc -G
  bool fast_math = false;                   ///< as nvcc --use_fast_math
  std::vector<std::string> include_dirs{};
  std::vector<std::string> defines{};    ///< "NAME" or "NAME=VALUE"
  std::vector<std::string> arguments{};  ///< handed to the compiler as they are
};

/// A device and its context. Copies are handles to the same device; it closes when the last handle to it, or to
/// anything made on it, is gone, after its work has finished. All functions may be called from several threads.
class WARPLOOM_API Device {
 public:
  /// Opens a device: "cpu", or "cuda:0" and so on for the GPUs of the installed CUDA driver ("cuda" is the first). An
  /// empty name stands for what WARPLOOM_DEVICE names, else for the first GPU when there is one and no option asks for
  /// something that only the CPU device has, else for "cpu". `options` are those of the CPU device. Throws
  /// invalid_device for another name or a GPU that is not there, invalid_value or not_found for bad options.
  [[nodiscard]] static Device open(std::string_view name = {}, const DeviceOptions& options = {});
  /// How many devices the process sees: WARPLOOM_DEVICES, by default 1. All have the profile that they are opened with,
  /// memory of their own, and share the processor. Throws invalid_value for a variable that is no number.
  [[nodiscard]] static unsigned count();
  /// What an empty name stands for here.
  [[nodiscard]] static std::string default_name(const DeviceOptions& options = {});
  /// Names that open() takes here: "cpu", then the GPUs.
  [[nodiscard]] static std::vector<std::string> names();
  /// Names of the profiles that DeviceOptions::profile accepts.
  [[nodiscard]] static std::vector<std::string> profiles();

  Device(const Device&) = default;
  Device(Device&&) noexcept = default;
  Device& operator=(const Device&) = default;
  Device& operator=(Device&&) noexcept = default;
  ~Device();

  [[nodiscard]] DeviceProperties properties() const;
  /// Device memory that can still be allocated, in bytes (cuMemGetInfo).
  [[nodiscard]] std::size_t free_memory() const;
  /// Changes how many bytes may be allocated; less than are in use frees nothing. Throws invalid_value for 0, and for
  /// more than the device was opened with.
  void set_memory_limit(std::uint64_t bytes) const;
  /// Which of count() devices this is.
  [[nodiscard]] unsigned ordinal() const;

  /// Releases of memory and of other things that wait, because each of them waits for the device. All are released,
  /// oldest first, when one more than NUMBA_CUDA_MAX_PENDING_DEALLOCS_COUNT (10) waits or more bytes than
  /// NUMBA_CUDA_MAX_PENDING_DEALLOCS_RATIO (0.2) of the device's memory, when memory is short, and by reset().
  [[nodiscard]] PendingReleases pending() const;
  /// Releases now; does nothing within DeferCleanup. Throws the first error; the releases after it are cancelled.
  void flush_pending() const;
  void flush_pending(ReleaseKind kind) const;
  /// Puts `release`, which gives back `bytes` bytes (0: not known), into the queue of its kind. Throws what
  /// flush_pending() throws when that goes over a limit, invalid_value for an empty function.
  void release_later(ReleaseKind kind, std::function<void()> release, std::uint64_t bytes) const;
  /// Limits of both queues: see pending(). Throws invalid_value for a ratio below 0.
  void set_pending_limits(std::size_t count, double ratio) const;

  /// Whether the devices may access each other's memory: two different ones can (cuDeviceCanAccessPeer).
  [[nodiscard]] bool can_access_peer(const Device& peer) const;
  /// Lets this device's kernels access the peer's memory (cuCtxEnablePeerAccess). Throws peer_access_enabled the second
  /// time, invalid_device for the device itself. Kernels of the CPU device reach that memory in any case.
  void enable_peer_access(const Device& peer) const;
  /// Ends that; throws peer_access_not_enabled (cuCtxDisablePeerAccess).
  void disable_peer_access(const Device& peer) const;

  /// Loads PTX text; `name` stands in messages. Kernels are compiled at their first launch, so a body that uses an
  /// instruction the device lacks fails there and not here. Throws the ptx_* errors with line and column.
  [[nodiscard]] Module load_ptx(std::string_view text, std::string_view name = "<ptx>") const;
  /// The same from a file. Throws file_error too.
  [[nodiscard]] Module load_ptx_file(const std::string& path) const;
  /// Loads a fatbin, or PTX text, that holds one module; `name` stands in messages. Of several PTX texts the one for
  /// the highest architecture is taken that the modelled GPU runs (cuModuleLoadData). Throws what load_ptx() throws,
  /// invalid_image for bytes that are no image or are cut short, no_ptx when there is machine code only or PTX for
  /// newer GPUs only, and invalid_value when the image holds several modules: load_images_file() loads those.
  [[nodiscard]] Module load_image(std::span<const std::byte> bytes, std::string_view name = "<image>") const;
  /// All modules of a program, shared library, object file, archive or fatbin: one for each fatbin, and one of all that
  /// was compiled with -rdc=true, linked. Throws what load_image() throws, file_error, and what Linker::load() throws.
  [[nodiscard]] std::vector<Module> load_images_file(const std::string& path) const;
  /// Compiles CUDA C++ source to PTX and loads it; `name` stands in messages. Throws compile_error with the compiler's
  /// messages, compiler_missing.
  [[nodiscard]] Module compile(std::string_view source, const CompileOptions& options = {},
                               std::string_view name = "<source>.cu") const;
  /// The same from a file; #include "..." looks beside the file first.
  [[nodiscard]] Module compile_file(const std::string& path, const CompileOptions& options = {}) const;

  /// The stream of calls that are given none: the legacy default stream, or the calling thread's own with
  /// DeviceOptions::per_thread_default_stream.
  [[nodiscard]] Stream default_stream() const;
  /// The legacy default stream: its work waits for earlier work of all blocking streams, and their later work waits for
  /// it (CUDA Runtime API, "Stream synchronization behavior").
  [[nodiscard]] Stream legacy_stream() const;
  /// The calling thread's own default stream, a blocking stream that is made at its first use. When the thread ends,
  /// what is queued on it still runs (cudaStreamPerThread).
  [[nodiscard]] Stream per_thread_stream() const;
  /// The stream with a handle, as Stream::handle() gives it, or 0 for the default stream: for handles that come back
  /// from another library. The result does not keep the stream: it is destroyed with its own last handle. On a GPU it
  /// may also be a CUstream that another library made on this device, which must live as long as the result and the
  /// work given to it. Throws invalid_handle when the device has no such stream.
  [[nodiscard]] Stream external_stream(std::uintptr_t handle) const;

  /// Waits for all work of all streams; throws the error of asynchronous work, if there was one (cuCtxSynchronize).
  void synchronize() const;

  /// Keeps a record of every launch that ends from now on, or stops to; switched on again it starts afresh. Costs less
  /// than a microsecond a launch, and about 150 bytes until take_launches() is called.
  void record_launches(bool on = true) const;
  /// The records kept since the last call, in the order in which launches ended; synchronize() first to have all.
  [[nodiscard]] std::vector<LaunchRecord> take_launches() const;

  /// Waits for all work, frees all memory, forgets errors, and makes the device usable again. Every array, module,
  /// kernel, stream and event made before throws invalid_handle when used, and may still be destroyed
  /// (cuDevicePrimaryCtxReset).
  void reset() const;

  /// False for a moved-from handle, which throws invalid_handle when used.
  [[nodiscard]] bool valid() const noexcept { return state_ != nullptr; }

 private:
  friend struct detail::Access;
  explicit Device(std::shared_ptr<detail::DeviceState> state) noexcept;
  std::shared_ptr<detail::DeviceState> state_;
};

/// Compiles CUDA C++ source to PTX text, for instance to link it with other PTX; needs no device. An empty
/// CompileOptions::arch is "sm_90". Throws compile_error with the compiler's messages, compiler_missing.
[[nodiscard]] WARPLOOM_API std::string compile_to_ptx(std::string_view source, const CompileOptions& options = {},
                                                      std::string_view name = "<source>.cu");

}  // namespace warploom

// Module, Kernel and Global: loaded PTX, launches of its kernels, and its variables.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "warploom/array.hpp"
#include "warploom/device.hpp"
#include "warploom/dim3.hpp"
#include "warploom/export.hpp"
#include "warploom/stream.hpp"

namespace warploom {

namespace detail {
struct ModuleState;
struct KernelState;
}  // namespace detail

/// A place in a program, for messages; `file` lives for ever. Null: not known.
struct ProgramPlace {
  const char* file = nullptr;
  unsigned line = 0;

  constexpr ProgramPlace() = default;
  constexpr ProgramPlace(const char* name, unsigned number) : file(name), line(number) {}
  constexpr ProgramPlace(const std::source_location& at)  // NOLINT(google-explicit-constructor)
      : file(at.file_name()), line(at.line()) {}
};

/// Shape and place of a launch: {grid, block, shared_bytes, stream, cooperative, cluster} (cuLaunchKernel).
struct LaunchConfig {
  Dim3 grid;                       ///< blocks
  Dim3 block;                      ///< threads in a block
  std::uint32_t shared_bytes = 0;  ///< dynamic shared memory for each block
  std::optional<Stream> stream{};  ///< none: the default stream
  bool cooperative = false;        ///< all blocks resident together, so that they may wait for each other
  /// Blocks of a cluster, which are resident together and see each other's shared memory (PTX ISA section 2.2.2);
  /// at most 16. None: what the kernel's own .reqnctapercluster says, else no clusters.
  std::optional<Dim3> cluster{};
  /// Stands in errors of the kernel; by default where this was written.
  ProgramPlace where = std::source_location::current();
};

/// See Kernel::max_potential_block().
struct BlockChoice {
  unsigned grid = 0;   ///< blocks that fill the device
  unsigned block = 0;  ///< threads in a block
};

/// One kernel argument: `bytes` bytes at `data`, read during the call.
struct Argument {
  const void* data = nullptr;
  std::size_t bytes = 0;
  const detail::Memory* memory = nullptr;  ///< the array that the pointer at `data` belongs to, when it is known
};

/// A copy that belongs to a launch; each address may be host or device memory.
struct Transfer {
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t bytes = 0;
};

/// One parameter of a kernel, as PTX declares it.
struct Parameter {
  std::string name;
  std::uint32_t offset = 0;  ///< in the parameter buffer
  std::uint32_t bytes = 0;
  std::uint32_t align = 1;
};

/// What a launch of a kernel needs (cuFuncGetAttribute). Asking for it compiles the kernel.
struct KernelAttributes {
  std::uint32_t static_shared_bytes = 0;  ///< for each block
  std::uint32_t local_bytes = 0;          ///< for each thread
  std::uint32_t registers = 0;            ///< for each thread; an estimate, since only ptxas knows
  std::uint32_t max_threads_per_block = 0;
  std::uint32_t const_bytes = 0;  ///< __constant__ variables of the module
};

namespace detail {

template <class T>
inline constexpr bool is_device_array = false;
template <class T>
inline constexpr bool is_device_array<DeviceArray<T>> = true;

// Keeps an argument's bytes for the length of a launch call.
template <class T>
struct Packed {
  static_assert(!std::is_array_v<T>, "pass a DeviceArray or a device pointer, not a host array or a string");
  static_assert(std::is_trivially_copyable_v<T>, "kernel arguments are copied as bytes");
  static_assert(!std::is_same_v<T, long double>, "device code has no long double");
  const T& value;
  explicit Packed(const T& argument) : value(argument) {}
  [[nodiscard]] Argument argument() const { return {&value, sizeof(T), nullptr}; }
};
template <>
struct Packed<std::nullptr_t> {
  void* value = nullptr;
  explicit Packed(std::nullptr_t) {}
  [[nodiscard]] Argument argument() const { return {static_cast<const void*>(&value), sizeof(value), nullptr}; }
};
template <class T>
struct Packed<DeviceArray<T>> {
  T* value;
  const Memory& memory;
  explicit Packed(const DeviceArray<T>& array) : value(array.data()), memory(array.memory()) {}
  [[nodiscard]] Argument argument() const { return {static_cast<const void*>(&value), sizeof(value), &memory}; }
};

}  // namespace detail

/// A kernel of a module. Copies are handles to the same kernel; they keep the module loaded.
class WARPLOOM_API Kernel {
 public:
  ~Kernel();
  Kernel(const Kernel&) = default;
  Kernel(Kernel&&) noexcept = default;
  Kernel& operator=(const Kernel&) = default;
  Kernel& operator=(Kernel&&) noexcept = default;

  /// Queues a launch and returns at once (cuLaunchKernel). Arguments are, in the kernel's order: trivially copyable
  /// values of the parameter's size, device pointers, DeviceArrays.
  ///
  /// Throws, leaving the device usable: launch_arguments (names the parameter, its size and the argument's),
  /// launch_dimensions, launch_resources, cooperative_too_large, and what compiling finds at a first launch
  /// (unsupported_instruction, ...). What goes wrong while the kernel runs is thrown by a later synchronising call.
  template <class... Arguments>
  void launch(const LaunchConfig& config, const Arguments&... arguments) const {
    launch_packed(config, detail::Packed<Arguments>(arguments)...);
  }
  /// The same with arguments known only at run time.
  void launch_with(const LaunchConfig& config, std::span<const Argument> arguments) const;
  /// Copies `before`, runs the kernel, copies `after` when it did not fail, as one piece of work in the stream, and
  /// returns when that is done: for a kernel that works on host data. Throws what launch(), copy() and synchronising
  /// calls throw.
  void run_with(const LaunchConfig& config, std::span<const Argument> arguments, std::span<const Transfer> before,
                std::span<const Transfer> after) const;

  /// The name in PTX (mangled for C++).
  [[nodiscard]] const std::string& name() const;
  /// The C++ name with its parameter types; name() when it is not mangled.
  [[nodiscard]] std::string demangled_name() const;
  [[nodiscard]] std::vector<Parameter> parameters() const;
  /// Compiles the kernel if needed, and throws what compiling finds.
  [[nodiscard]] KernelAttributes attributes() const;
  /// Blocks of `block` threads that one multiprocessor of the GPU, or of the modelled one, holds at once
  /// (cuOccupancyMaxActiveBlocksPerMultiprocessor); 0 when one does not fit.
  [[nodiscard]] unsigned max_active_blocks(const Dim3& block, std::uint32_t dynamic_shared_bytes = 0) const;
  /// The block with most threads resident on a multiprocessor, and the grid that fills the device with it
  /// (cuOccupancyMaxPotentialBlockSize). `limit`: threads of a block at most, 0 for none. The function says how much
  /// dynamic shared memory a block of so many threads takes, in bytes.
  [[nodiscard]] BlockChoice max_potential_block(std::uint32_t dynamic_shared_bytes = 0, unsigned limit = 0) const;
  [[nodiscard]] BlockChoice max_potential_block(const std::function<std::size_t(unsigned)>& dynamic_shared_bytes,
                                                unsigned limit = 0) const;
  /// Clusters of the launch that the whole device holds at once (cuOccupancyMaxActiveClusters). On the CPU device from
  /// max_active_blocks() of all multiprocessors: which of them can share a cluster is not modelled. Throws
  /// launch_dimensions for a launch that cannot be.
  [[nodiscard]] unsigned max_active_clusters(const LaunchConfig& config) const;

  /// False for a moved-from handle, which throws invalid_handle when used.
  [[nodiscard]] bool valid() const noexcept { return state_ != nullptr; }

 private:
  friend struct detail::Access;
  explicit Kernel(std::shared_ptr<detail::KernelState> state) noexcept;
  template <class... Packed>
  void launch_packed(const LaunchConfig& config, const Packed&... packed) const {
    const std::array<Argument, sizeof...(Packed)> list{packed.argument()...};
    launch_with(config, std::span<const Argument>(list.data(), list.size()));
  }
  std::shared_ptr<detail::KernelState> state_;
};

/// A variable of a module (__device__, __constant__), as size() elements of T. Copies run on the default stream, after
/// the work queued so far, and return when they are done (cuModuleGetGlobal). Keeps the module loaded.
template <class T>
class Global;

/// Loaded PTX. Copies are handles to the same module; it is unloaded when its last handle, its kernels and globals, and
/// the work that uses it are gone.
class WARPLOOM_API Module {
 public:
  ~Module();
  Module(const Module&) = default;
  Module(Module&&) noexcept = default;
  Module& operator=(const Module&) = default;
  Module& operator=(Module&&) noexcept = default;

  /// Finds a kernel by its name in PTX, or by its C++ name when that fits one kernel only: "scale", "detail::scale",
  /// "scale<float, 16>", "scale(float*, int)". Throws not_found, naming what there is (cuModuleGetFunction).
  [[nodiscard]] Kernel kernel(std::string_view name) const;
  /// Names in PTX of all kernels.
  [[nodiscard]] std::vector<std::string> kernel_names() const;
  /// Finds a variable by its name in PTX or its C++ name. Throws not_found, and invalid_value when its size is not a
  /// multiple of sizeof(T).
  template <class T>
  [[nodiscard]] Global<T> global(std::string_view name) const;

  /// False for a moved-from handle, which throws invalid_handle when used.
  [[nodiscard]] bool valid() const noexcept { return state_ != nullptr; }

 private:
  friend struct detail::Access;
  template <class T>
  friend class Global;
  struct RawGlobal {
    void* address = nullptr;
    std::size_t bytes = 0;
  };
  explicit Module(std::shared_ptr<detail::ModuleState> state) noexcept;
  [[nodiscard]] RawGlobal find_global(std::string_view name, std::size_t element_bytes) const;
  void copy_to_global(const RawGlobal& global, std::size_t offset, const void* host, std::size_t bytes) const;
  void copy_from_global(const RawGlobal& global, std::size_t offset, void* host, std::size_t bytes) const;
  std::shared_ptr<detail::ModuleState> state_;
};

template <class T>
class Global {
  static_assert(std::is_trivially_copyable_v<T>, "variables are copied as bytes");

 public:
  [[nodiscard]] std::size_t size() const noexcept { return raw_.bytes / sizeof(T); }
  /// Device pointer; see DeviceArray::data().
  [[nodiscard]] T* data() const noexcept { return static_cast<T*>(raw_.address); }

  /// Copies host.size() elements to the first elements; throws invalid_value when they do not fit.
  void copy_from(std::span<const T> host) const { module_.copy_to_global(raw_, 0, host.data(), host.size_bytes()); }
  /// Copies the first host.size() elements; throws invalid_value when there are fewer.
  void copy_to(std::span<T> host) const { module_.copy_from_global(raw_, 0, host.data(), host.size_bytes()); }
  /// Sets the first element.
  void set(const T& value) const { module_.copy_to_global(raw_, 0, &value, sizeof(T)); }
  /// Reads the first element.
  [[nodiscard]] T get() const {
    T value;
    module_.copy_from_global(raw_, 0, &value, sizeof(T));
    return value;
  }

 private:
  friend class Module;
  Global(Module module, const Module::RawGlobal& raw) : module_(std::move(module)), raw_(raw) {}
  Module module_;
  Module::RawGlobal raw_;
};

template <class T>
Global<T> Module::global(std::string_view name) const {
  return Global<T>(*this, find_global(name, sizeof(T)));
}

}  // namespace warploom

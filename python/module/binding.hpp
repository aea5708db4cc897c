// What the files of warploom._core share: handles that close without the GIL, and one registration for each file.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "interpreter.hpp"
#include "warploom/warploom.hpp"

namespace warploom::python {

namespace nb = nanobind;

// Closing a device waits for its work, and that work may need the GIL; so handles are let go without it.
template <class T>
class Held {
 public:
  Held() = default;
  explicit Held(T value) : value_(std::move(value)) {}
  Held(const Held&) = default;
  Held(Held&&) noexcept = default;
  Held& operator=(const Held&) = default;
  Held& operator=(Held&&) noexcept = default;
  ~Held() { reset(); }
  void reset() {
    if (!value_) return;
    if (PyGILState_Check() == 0) {
      value_.reset();
      return;
    }
    const WithoutGil unlocked;
    value_.reset();
  }
  [[nodiscard]] const T& operator*() const { return *value_; }
  [[nodiscard]] T& operator*() { return *value_; }
  [[nodiscard]] const T* operator->() const { return &*value_; }
  [[nodiscard]] bool has_value() const { return value_.has_value(); }

 private:
  std::optional<T> value_;
};

// A device as long as Python holds it, with the host memory that was registered through it.
struct OpenDevice {
  explicit OpenDevice(Device opened) : device(std::move(opened)) {}
  Device device;
  std::mutex mutex;
  std::map<std::uint64_t, HostRegistration> registrations;
};

struct PyDevice {
  Held<std::shared_ptr<OpenDevice>> open;
  [[nodiscard]] const Device& device() const { return (*open)->device; }
};

struct PyStream {
  explicit PyStream(Stream made, bool unnamed = false) : stream(std::move(made)), is_default(unnamed) {}
  // Others may use the stream from then on, which makes waiting for it dearer.
  [[nodiscard]] std::uint64_t handle() const { return is_default ? 0 : stream->handle(); }
  Held<Stream> stream;
  bool is_default;
};

struct PyGraph {
  Held<Graph> graph;
};

struct PyEvent {
  Held<Event> event;
};

using AnyMemory = std::variant<detail::Memory, HostMemory, ManagedMemory>;

struct PyMemory {
  Held<AnyMemory> memory;
  std::uint64_t address = 0;
  std::uint64_t size = 0;
};

struct PyModule {
  Held<Module> module;
  Held<std::shared_ptr<OpenDevice>> open;
};

struct PyKernel {
  Held<Kernel> kernel;
  Held<std::shared_ptr<OpenDevice>> open;
  std::string name;
};

// A stream argument: None stands for the default stream, and for waiting where a call can.
inline const Stream* stream_of(const PyStream* stream) {
  return stream == nullptr || stream->is_default ? nullptr : &*stream->stream;
}

inline void* pointer(std::uint64_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr): Python's addresses are integers
}

// A line of the Python program that called the package; the text lives for ever. Needs the GIL.
struct Place {
  const char* file = nullptr;
  unsigned line = 0;
};
Place place_of_caller();

nb::dict statistics_of(const MemoryPoolStatistics& statistics);
Dim3 dim3_of(PyObject* object, const char* what);
inline nb::tuple tuple_of(const Dim3& dim) { return nb::make_tuple(dim.x, dim.y, dim.z); }

// Makes an exception of C++ code Python's current one, for functions that nanobind does not call.
void restore_exception(const std::exception_ptr& thrown);

void register_error(nb::module_& m);
void register_device(nb::module_& m);
void register_memory(nb::module_& m);
void register_pool(nb::module_& m);
void register_stream(nb::module_& m);
void register_graph(nb::module_& m);
void register_dlpack(nb::module_& m);
void register_kernel(nb::module_& m);
void register_array(nb::module_& m);
void register_host_buffer(nb::module_& m);
void register_cuda_source(nb::module_& m);
void register_sources(nb::module_& m);
void register_launch(nb::module_& m);
void register_configured(nb::module_& m);
void register_dispatch(nb::module_& m);
void register_math(nb::module_& m);
void register_collectives(nb::module_& m);
// The compiler of Python kernels; null in a build without it.
[[gnu::weak]] void register_compile(nb::module_& m);

}  // namespace warploom::python

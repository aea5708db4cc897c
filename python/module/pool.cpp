// _core.MemoryPool, and the two queues of late releases.
#include <nanobind/stl/string.h>

#include "binding.hpp"
#include "pointer.hpp"

namespace warploom::python {
namespace {

using nb::literals::operator""_a;

struct PyPool {
  Held<MemoryPool> pool;
  Held<std::shared_ptr<OpenDevice>> open;
  Held<Stream> default_stream;
  [[nodiscard]] const Stream& stream(const PyStream* stream) const {
    const Stream* named = stream_of(stream);
    return named != nullptr ? *named : *default_stream;
  }
};

PyPool pool_of(const PyDevice& device, MemoryPool pool) {
  return {Held<MemoryPool>(std::move(pool)), device.open, Held<Stream>(device.device().default_stream())};
}

std::uint64_t allocate(const PyPool& self, std::size_t bytes, const PyStream* stream) {
  const Place place = place_of_caller();
  const WithoutGil unlocked;
  return reinterpret_cast<std::uint64_t>(
      detail::allocate_at(*self.pool, bytes, self.stream(stream), place.file, place.line));
}

void deallocate(const PyPool& self, std::uint64_t address, const PyStream* stream) {
  self.pool->deallocate(pointer(address), self.stream(stream));
}

void end(const PyPool& self, std::uint64_t address, const PyStream* stream, bool captured) {
  if (captured)
    detail::free_captured(self.stream(stream), pointer(address));
  else
    deallocate(self, address, stream);
}

nb::dict statistics(const PyPool& self) { return statistics_of(self.pool->statistics()); }

template <class T, T MemoryPoolOptions::* Member>
T get(const PyPool& self) {
  return self.pool->options().*Member;
}

template <class T, T MemoryPoolOptions::* Member>
void set(const PyPool& self, T value) {
  MemoryPoolOptions options = self.pool->options();
  options.*Member = value;
  self.pool->set_options(options);
}

// ---- late releases ----

// What a Python release raised, until the call that caused it is back in Python.
thread_local std::optional<nb::python_error> raised;
thread_local bool catching = false;

// release(handle), owned by a queue of the library.
class Release {
 public:
  Release(nb::object function, nb::object handle)
      : function_(function.release().ptr()), handle_(handle.release().ptr()) {}
  ~Release() {
    const InsidePython python;
    if (!python.entered()) return;
    Py_DECREF(function_);
    Py_DECREF(handle_);
  }
  Release(const Release&) = delete;
  Release& operator=(const Release&) = delete;

  void operator()() const {
    std::string failure;
    {
      const InsidePython python;
      if (!python.entered()) return;
      if (PyObject* result = PyObject_CallOneArg(function_, handle_)) {
        Py_DECREF(result);
        return;
      }
      nb::python_error error;
      failure = error.what();
      if (catching) raised.emplace(std::move(error));
    }
    throw std::runtime_error(failure);
  }

 private:
  PyObject *function_, *handle_;
};

struct PyReleases {
  Held<std::shared_ptr<OpenDevice>> open;
  ReleaseKind kind;
  [[nodiscard]] const Device& device() const { return (*open)->device; }
};

// Calls the library; a Python exception in it goes on as itself.
template <class Call>
void with_releases(Call call) {
  bool failed = false;
  const bool before = std::exchange(catching, true);  // a release may put off another one
  try {
    const WithoutGil unlocked;
    call();
  } catch (const Error&) {
    catching = before;
    if (!raised) throw;
    failed = true;
  }
  catching = before;
  if (!failed) return;
  nb::python_error error = std::move(*raised);
  raised.reset();
  throw error;
}

void add(const PyReleases& self, nb::object function, nb::object handle, std::uint64_t bytes, std::size_t count,
         double ratio) {
  auto release = std::make_shared<Release>(std::move(function), std::move(handle));
  forget_limits();
  with_releases([&] {
    self.device().set_pending_limits(count, ratio);
    self.device().release_later(self.kind, [release = std::move(release)] { (*release)(); }, bytes);
  });
}

std::size_t count(const PyReleases& self) {
  const PendingReleases pending = self.device().pending();
  return self.kind == ReleaseKind::memory ? pending.memory_count : pending.object_count;
}

}  // namespace

namespace {

// Calls the library where exceptions do not go on; false with Python's.
template <class Call>
bool succeeds(Call call) {
  try {
    with_releases(call);
    return true;
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return false;
}

}  // namespace

bool set_limits(const Device& device, std::size_t count, double ratio) {
  return succeeds([&] { device.set_pending_limits(count, ratio); });
}

bool release_memory(const Device& device, std::shared_ptr<detail::Memory> memory, std::size_t bytes) {
  return succeeds([&] {
    device.release_later(ReleaseKind::memory, [held = std::move(memory)]() mutable { held.reset(); }, bytes);
  });
}

bool release_memory(const Device& device, const detail::IdleMemory& memory, std::size_t bytes) {
  return succeeds([&] { detail::release_idle_memory(device, memory, bytes); });
}

nb::dict statistics_of(const MemoryPoolStatistics& s) {
  nb::dict out;
  out["used_current"] = s.used_current;
  out["used_high"] = s.used_high;
  out["reserved_current"] = s.reserved_current;
  out["reserved_high"] = s.reserved_high;
  return out;
}

void register_pool(nb::module_& m) {
  nb::class_<PyPool>(m, "MemoryPool", "A pool of device memory, allocated and freed in the order of streams.")
      .def(
          "__init__",
          [](PyPool* self, const PyDevice& device, std::uint64_t release_threshold, std::uint64_t max_bytes) {
            new (self) PyPool(pool_of(
                device, MemoryPool(device.device(), {.release_threshold = release_threshold, .max_bytes = max_bytes})));
          },
          "device"_a, "release_threshold"_a = 0, "max_bytes"_a = 0)
      .def_static(
          "default", [](const PyDevice& device) { return pool_of(device, MemoryPool::of(device.device())); },
          "device"_a, "The device's default pool (cuDeviceGetDefaultMemPool).")
      .def_static(
          "current", [](const PyDevice& device) { return pool_of(device, MemoryPool::current(device.device())); },
          "device"_a, "The pool of stream-ordered allocations that name none (cuDeviceGetMemPool).")
      .def(
          "make_current", [](const PyPool& self) { MemoryPool::set_current((*self.open)->device, *self.pool); },
          "Makes this the device's current pool (cuDeviceSetMemPool).")
      .def("allocate", &allocate, "nbytes"_a, "stream"_a = nb::none(),
           "The address of nbytes bytes for later work of the stream, or of the default stream "
           "(cuMemAllocFromPoolAsync).")
      .def("deallocate", &deallocate, "address"_a, "stream"_a = nb::none(),
           "Frees in the order of the stream (cuMemFreeAsync).")
      .def("end", &end, "address"_a, "stream"_a.none(), "captured"_a,
           "Frees what an object has whose life ends: in the order of the stream; captured: allocated while the stream "
           "was captured, so by a node while it still is, and not at all when no launch has made it.")
      .def("statistics", &statistics, "used and reserved bytes, each current and high (CU_MEMPOOL_ATTR_*).")
      .def(
          "reset_statistics", [](const PyPool& self) { self.pool->reset_statistics(); },
          "The high marks become the current values.")
      .def(
          "trim", [](const PyPool& self, std::uint64_t keep) { self.pool->trim(keep); }, "keep"_a = 0, Unlocked(),
          "Gives idle memory back to the device until keep bytes are left (cuMemPoolTrimTo).")
      .def_prop_rw("release_threshold", &get<std::uint64_t, &MemoryPoolOptions::release_threshold>,
                   &set<std::uint64_t, &MemoryPoolOptions::release_threshold>,
                   "Bytes that a call which waits for the device leaves in the pool.")
      .def_prop_rw("max_bytes", &get<std::uint64_t, &MemoryPoolOptions::max_bytes>,
                   &set<std::uint64_t, &MemoryPoolOptions::max_bytes>,
                   "Bytes that the pool takes from the device at most; 0: no limit of its own.")
      .def_prop_rw("reuse_follow_event_dependencies", &get<bool, &MemoryPoolOptions::reuse_follow_event_dependencies>,
                   &set<bool, &MemoryPoolOptions::reuse_follow_event_dependencies>,
                   "Reuse in a stream that has waited for an event after the free.")
      .def_prop_rw("reuse_allow_opportunistic", &get<bool, &MemoryPoolOptions::reuse_allow_opportunistic>,
                   &set<bool, &MemoryPoolOptions::reuse_allow_opportunistic>,
                   "Reuse in other streams once the free has been reached.")
      .def_prop_rw("reuse_allow_internal_dependencies",
                   &get<bool, &MemoryPoolOptions::reuse_allow_internal_dependencies>,
                   &set<bool, &MemoryPoolOptions::reuse_allow_internal_dependencies>,
                   "Rather than fail, make the stream wait for another stream's free.");

  nb::class_<PyReleases>(m, "PendingReleases", "The releases that a device has put off, of memory or of other objects.")
      .def(
          "__init__",
          [](PyReleases* self, const PyDevice& device, bool memory) {
            new (self) PyReleases{device.open, memory ? ReleaseKind::memory : ReleaseKind::object};
          },
          "device"_a, "memory"_a)
      .def("add", &add, "release"_a, "handle"_a, "nbytes"_a, "count"_a, "ratio"_a,
           "Has release(handle) called later, which gives back nbytes bytes; all are called when more than count wait, "
           "or more bytes than that ratio of the device's memory.")
      .def(
          "clear", [](const PyReleases& self) { with_releases([&] { self.device().flush_pending(self.kind); }); },
          "Calls all that wait, unless releases are deferred; the first exception cancels the rest.")
      .def("__len__", &count)
      .def_prop_ro(
          "size", [](const PyReleases& self) { return self.device().pending().memory_bytes; },
          "Bytes that the releases of memory give back.")
      .def_prop_ro(
          "flushes", [](const PyReleases& self) { return self.device().pending().flushes; },
          "How often either queue was released.");
}

}  // namespace warploom::python

// _core.Stream and _core.Event, and the calls of Python functions from a stream.
#include <atomic>
#include <stdexcept>

#include "binding.hpp"

namespace warploom::python {
namespace {

using nb::literals::operator""_a;

// A Python function that a library thread owns.
class HostFunction {
 public:
  explicit HostFunction(nb::object function) : function_(function.release().ptr()) {}
  ~HostFunction() {
    const InsidePython python;
    if (python.entered()) Py_DECREF(function_);
  }
  HostFunction(const HostFunction&) = delete;
  HostFunction& operator=(const HostFunction&) = delete;

  void operator()() const {
    std::string failure;
    {
      const InsidePython python;
      if (!python.entered()) return;
      if (PyObject* result = PyObject_CallNoArgs(function_)) {
        Py_DECREF(result);
        return;
      }
      const nb::python_error error;
      failure = error.what();
    }
    throw std::runtime_error(failure);
  }

 private:
  PyObject* function_;
};

std::uint64_t next_handle() {
  static std::atomic<std::uint64_t> next{0x100};  // CUDA reserves the lowest numbers for its default streams
  return next.fetch_add(1, std::memory_order_relaxed);
}

void host_function(const PyStream& self, nb::callable function) {
  auto shared = std::make_shared<HostFunction>(std::move(function));
  const WithoutGil unlocked;
  self.stream->host_function([shared = std::move(shared)] { (*shared)(); });
}

void record(const PyEvent& self, const PyStream* stream) {
  if (stream == nullptr)
    self.event->record();
  else
    self.event->record(*stream->stream);
}

}  // namespace

void register_stream(nb::module_& m) {
  nb::class_<PyEvent>(m, "Event", "A point in a stream's work (cuEventCreate).")
      .def(
          "__init__",
          [](PyEvent* self, const PyDevice& device, bool timing) {
            new (self) PyEvent{Held<Event>(Event(device.device(), {timing}))};
          },
          "device"_a, "timing"_a = true)
      .def("record", &record, "stream"_a = nb::none(), Unlocked(),
           "Captures the work queued so far on the stream, or on the default stream.")
      .def(
          "query", [](const PyEvent& self) { return self.event->query(); }, Unlocked(),
          "True when the captured work has finished, and for an event that was never recorded.")
      .def(
          "synchronize", [](const PyEvent& self) { self.event->synchronize(); }, Unlocked(),
          "Waits for the captured work.")
      .def_static(
          "elapsed_ms",
          [](const PyEvent& start, const PyEvent& end) { return Event::elapsed_ms(*start.event, *end.event); },
          "start"_a, "end"_a, Unlocked(), "Milliseconds between two recorded events that have been reached.");

  nb::class_<PyStream>(m, "Stream", "A queue of work that runs in order (cuStreamCreateWithPriority).")
      .def(
          "__init__",
          [](PyStream* self, const PyDevice& device, bool blocking, int priority) {
            new (self) PyStream{Held<Stream>(Stream(device.device(), {blocking, priority})), next_handle()};
          },
          "device"_a, "blocking"_a = true, "priority"_a = 0)
      .def_ro("handle", &PyStream::handle, "A number of its own for each stream; 0 for the default stream.")
      .def_prop_ro("blocking", [](const PyStream& self) { return self.stream->blocking(); })
      .def_prop_ro("priority", [](const PyStream& self) { return self.stream->priority(); })
      .def(
          "synchronize", [](const PyStream& self) { self.stream->synchronize(); }, Unlocked(),
          "Waits for all work queued so far; raises the error of asynchronous work, if there was one.")
      .def(
          "query", [](const PyStream& self) { return self.stream->query(); }, Unlocked(),
          "True when all work queued so far has finished.")
      .def(
          "wait", [](const PyStream& self, const PyEvent& event) { self.stream->wait(*event.event); }, "event"_a,
          Unlocked(), "Work queued later waits for what the event captured.")
      .def(
          "host_function", &host_function, "function"_a,
          "Queues a call of function() on a thread of the library, with the GIL held. It must not wait for the device; "
          "an exception in it becomes host_function_failed at the next synchronising call (cuLaunchHostFunc).");
}

}  // namespace warploom::python

// _core.Stream and _core.Event, and the calls of Python functions from a stream.
#include <nanobind/stl/string.h>

#include <stdexcept>

#include "binding.hpp"
#include "host_function.hpp"

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

void host_function(const PyStream& self, nb::callable function) {
  auto call = host_function_of(std::move(function));
  const WithoutGil unlocked;
  self.stream->host_function(std::move(call));
}

CaptureMode capture_mode(const std::string& name) {
  if (name == "global") return CaptureMode::global;
  if (name == "thread_local") return CaptureMode::this_thread;
  if (name == "relaxed") return CaptureMode::relaxed;
  throw nb::value_error("a capture mode is \"global\", \"thread_local\" or \"relaxed\"");
}

void record(const PyEvent& self, const PyStream* stream) {
  if (stream == nullptr)
    self.event->record();
  else
    self.event->record(*stream->stream);
}

}  // namespace

std::function<void()> host_function_of(nb::callable function) {
  auto shared = std::make_shared<HostFunction>(std::move(function));
  return [shared = std::move(shared)] { (*shared)(); };
}

void register_stream(nb::module_& m) {
  m.def(
      "exchange_capture_mode",
      [](const std::string& mode) {
        static constexpr const char* names[] = {"global", "thread_local", "relaxed"};
        return names[static_cast<std::size_t>(exchange_capture_mode(capture_mode(mode)))];
      },
      "mode"_a, "Sets the calling thread's capture mode and gives the one before.");
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
            new (self) PyStream(Stream(device.device(), {blocking, priority}));
          },
          "device"_a, "blocking"_a = true, "priority"_a = 0,
          "blocking=False: the legacy default stream does not wait for it. priority: from -5, the most urgent, to 0.")
      .def_prop_ro("handle", &PyStream::handle,
                   "A number of its own for each stream, on a GPU its CUstream; 0 for the default stream, 1 for the "
                   "legacy default stream.")
      .def_ro("is_default", &PyStream::is_default, "The device's default stream?")
      .def(
          "begin_capture",
          [](const PyStream& self, const std::string& mode) { self.stream->begin_capture(capture_mode(mode)); },
          "mode"_a = "relaxed", "From now on work becomes nodes of a graph (cuStreamBeginCapture).")
      .def(
          "end_capture", [](const PyStream& self) { return PyGraph{Held<Graph>(self.stream->end_capture())}; },
          "The graph of what was captured (cuStreamEndCapture).")
      .def(
          "add_graph", [](const PyStream& self, const PyGraph& graph) { self.stream->add_graph(*graph.graph); },
          "graph"_a, "Adds another graph to the capture, as one node.")
      .def_prop_ro(
          "capture_status", [](const PyStream& self) { return static_cast<int>(self.stream->capture_status()); },
          "0: not being captured, 1: being captured, 2: the capture has been invalidated.")
      .def_prop_ro(
          "capture_id", [](const PyStream& self) { return self.stream->capture_id(); },
          "A number of the capture; 0 without one.")
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

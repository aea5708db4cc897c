// _core.Memory: one allocation of device memory or of host memory that kernels may access.
#include <array>
#include <cstring>
#include <set>
#include <string>
#include <unordered_map>

#include "binding.hpp"

namespace warploom::python {
namespace {

using nb::literals::operator""_a;

struct Code {
  bool of_package;
  const char* file;
};

// By code object, which is kept: another one at its address would be taken for it.
const Code& code_of(PyCodeObject* code) {
  static auto* known = new std::unordered_map<PyCodeObject*, Code>;
  static auto* names = new std::set<std::string>;
  if (const auto it = known->find(code); it != known->end()) return it->second;
  const nb::object name = nb::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(code), "co_filename"));
  const char* text = name.is_valid() ? PyUnicode_AsUTF8(name.ptr()) : nullptr;
  if (text == nullptr) PyErr_Clear();
  const std::string file = text == nullptr ? "" : text;
  const bool of_package = file.find("/warploom/cuda/") != std::string::npos || file.ends_with("/contextlib.py") ||
                          file.ends_with("/functools.py");
  Py_INCREF(code);
  return known->emplace(code, Code{of_package, names->insert(file).first->c_str()}).first->second;
}

// Looking a line up takes longer the later it stands in its function.
unsigned line_of(PyFrameObject* frame, PyCodeObject* code) {
#if PY_VERSION_HEX >= 0x030B0000
  static auto* known = new std::unordered_map<std::uint64_t, unsigned>;
  const auto key = reinterpret_cast<std::uint64_t>(code) << 16 ^ static_cast<std::uint64_t>(PyFrame_GetLasti(frame));
  if (const auto it = known->find(key); it != known->end()) return it->second;
  return known->emplace(key, static_cast<unsigned>(PyFrame_GetLineNumber(frame))).first->second;
#else
  (void)code;
  return static_cast<unsigned>(PyFrame_GetLineNumber(frame));
#endif
}

// What a frame is, at the instruction it has come to.
struct Seen {
  const PyCodeObject* code = nullptr;
  int instruction = 0;
  bool of_package = false;
  Place place{};
};

Seen seen(PyFrameObject* frame) {
  PyCodeObject* code = PyFrame_GetCode(frame);
#if PY_VERSION_HEX >= 0x030B0000
  static std::array<Seen, 512> latest;
  const int instruction = PyFrame_GetLasti(frame);
  Seen& known = latest[((reinterpret_cast<std::uintptr_t>(code) >> 5) + static_cast<unsigned>(instruction)) % 512];
  const bool same = known.code == code && known.instruction == instruction;
#else
  Seen known;
  const int instruction = 0;
  const bool same = false;
#endif
  if (!same) {
    const Code& what = code_of(code);  // keeps the code
    known = {code, instruction, what.of_package, {}};
    if (!what.of_package) known.place = {what.file, line_of(frame, code)};
  }
  Py_DECREF(code);
  return known;
}

const ManagedMemory& managed(const PyMemory& self) {
  const ManagedMemory* memory = self.memory.has_value() ? std::get_if<ManagedMemory>(&*self.memory) : nullptr;
  if (memory == nullptr) throw nb::type_error("this is no managed memory, or it has been freed");
  return *memory;
}

MemoryLocation location(bool host) { return host ? MemoryLocation::host : MemoryLocation::device; }

void advise(const PyMemory& self, int advice, bool host, std::size_t offset, std::size_t bytes) {
  managed(self).advise(static_cast<MemoryAdvice>(advice), location(host), offset, bytes);
}

void prefetch(const PyMemory& self, bool host, std::size_t offset, std::size_t bytes, const PyStream& stream) {
  managed(self).prefetch(*stream.stream, location(host), offset, bytes);
}

nb::dict pages(const PyMemory& self) {
  const ManagedStatistics s = managed(self).statistics();
  nb::dict out;
  out["page_bytes"] = s.page_bytes;
  out["pages"] = s.pages;
  out["on_host"] = s.on_host;
  out["on_device"] = s.on_device;
  out["on_both"] = s.on_both;
  out["device_faults"] = s.device_faults;
  out["host_faults"] = s.host_faults;
  out["to_device"] = s.to_device;
  out["to_host"] = s.to_host;
  out["prefetched_to_device"] = s.prefetched_to_device;
  out["prefetched_to_host"] = s.prefetched_to_host;
  out["duplicated"] = s.duplicated;
  out["remote"] = s.remote;
  out["ping_pong"] = s.ping_pong;
  out["most_moves"] = s.most_moves;
  out["tracked"] = s.tracked;
  return out;
}

}  // namespace

Place place_of_caller() {
  PyFrameObject* frame = PyEval_GetFrame();
  Py_XINCREF(frame);
  Place place;
  while (frame != nullptr) {
    const Seen known = seen(frame);
    if (!known.of_package) {
      Py_DECREF(frame);
      return known.place;
    }
    PyFrameObject* caller = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = caller;
  }
  return place;
}

void register_memory(nb::module_& m) {
  nb::class_<PyMemory>(m, "Memory",
                       "An allocation; it goes back when free() is called or the object dies, after the work queued "
                       "until then. Keeps the device open.")
      .def_ro("address", &PyMemory::address,
              "Address on the device (and on the host, for host memory); 0 for no bytes.")
      .def_ro("size", &PyMemory::size, "Bytes.")
      .def(
          "free", [](PyMemory& self) { self.memory.reset(); },
          "Gives the memory back after the work queued so far (cuMemFree); does nothing a second time.")
      .def("advise", &advise, "advice"_a, "host"_a, "offset"_a, "nbytes"_a,
           "Advice (CU_MEM_ADVISE_*) on a part of managed memory, for the host or the device (cuMemAdvise).")
      .def("prefetch", &prefetch, "host"_a, "offset"_a, "nbytes"_a, "stream"_a,
           "Moves pages of managed memory to the host or the device, in the order of the stream (cuMemPrefetchAsync).")
      .def(
          "attach",
          [](const PyMemory& self, int how, const PyStream& stream) {
            managed(self).attach(*stream.stream, static_cast<MemoryAttachment>(how));
          },
          "how"_a, "stream"_a,
          "Whose work uses managed memory: CU_MEM_ATTACH_*, in the order of the stream (cuStreamAttachMemAsync).")
      .def("pages", &pages, "Where the pages of managed memory are, and how they got there: counts by name.")
      .def("__repr__", [](const PyMemory& self) {
        return nb::str("<Memory of {} bytes at {:#x}>").format(self.size, self.address);
      });
}

}  // namespace warploom::python

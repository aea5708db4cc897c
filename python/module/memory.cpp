// _core.Memory: one allocation of device memory or of host memory that kernels may access.
#include "binding.hpp"

namespace warploom::python {

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
      .def("__repr__", [](const PyMemory& self) {
        return nb::str("<Memory of {} bytes at {:#x}>").format(self.size, self.address);
      });
}

}  // namespace warploom::python

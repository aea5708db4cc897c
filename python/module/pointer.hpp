// Device memory as Python objects of the package's own type, made and released without running Python code.
#pragma once

#include <memory>

#include "binding.hpp"
#include "warploom/idle_memory.hpp"

namespace warploom::python {

// New memory of the current context, when its memory manager is the default one: an object of the class that
// set_array_classes() was given. Null, without an exception, when only Python code can make it.
PyObject* make_pointer(std::size_t bytes);
// The address of such an object; 0 for others and for memory that has been released.
std::uint64_t address_of_pointer(PyObject* object);
// Whether it is such an object whose memory has not been released, of the context that is current now.
const Device* device_of_live_pointer(PyObject* object);

// The object itself, or the one whose memory it views; null for memory of other makers.
PyObject* native_pointer_of(PyObject* object);
// Throws unless kernels of `device` may use its memory.
void check_for_launch(PyObject* native, const OpenDevice& device);

// The limits of a device's pending releases; false with an exception.
bool set_limits(const Device& device, std::size_t count, double ratio);
// Somebody else has set them.
void forget_limits();
// Puts the release of memory off, in the device's queue; false with an exception.
bool release_memory(const Device& device, std::shared_ptr<detail::Memory> memory, std::size_t bytes);
bool release_memory(const Device& device, const detail::IdleMemory& memory, std::size_t bytes);

void register_pointer(nb::module_& m);

}  // namespace warploom::python

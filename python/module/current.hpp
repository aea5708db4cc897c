// Which context is the calling thread's current one, as the package has said, for code that runs no Python.
#pragma once

#include <cstdint>

#include "binding.hpp"

namespace warploom::python {

// The handle of the thread's current context; 0 for none.
std::uint64_t current_context();
// Grows when a context is reset or gets another memory manager: what was learnt of contexts before does not hold.
std::uint64_t contexts_epoch();

void register_current(nb::module_& m);

}  // namespace warploom::python

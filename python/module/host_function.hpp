// Python functions that threads of the library call.
#pragma once

#include <functional>

#include "binding.hpp"

namespace warploom::python {

// Calls it with the GIL held; an exception in it leaves as one of C++. Needs the GIL now, not when it is called.
std::function<void()> host_function_of(nb::callable function);

}  // namespace warploom::python

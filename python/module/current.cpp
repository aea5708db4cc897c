// The current context of each thread.
#include "current.hpp"

namespace warploom::python {
namespace {

using nb::literals::operator""_a;

thread_local std::uint64_t current = 0;
std::uint64_t epoch = 1;  // under the GIL

}  // namespace

std::uint64_t current_context() { return current; }
std::uint64_t contexts_epoch() { return epoch; }

void register_current(nb::module_& m) {
  m.def(
      "set_current_context", [](std::uint64_t handle) { current = handle; }, "handle"_a,
      "Says which context is the calling thread's current one; 0: none.");
  m.def(
      "contexts_changed", [] { ++epoch; },
      "Says that a context was reset or has another memory manager: launches and memory look at it again.");
}

}  // namespace warploom::python

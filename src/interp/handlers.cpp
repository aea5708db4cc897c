// Finds generated handlers, and the native functions that they call.
#include "interp/handlers.hpp"

#include <algorithm>
#include <array>

#include "codegen/host_functions.hpp"

extern "C" {
extern const warploom::interp::Handler warploom_handlers[];
extern const std::uint64_t warploom_handler_count;
// Filled before the first handler is handed out.
extern void* warploom_handler_natives[];
void* warploom_handler_natives[128];
}

namespace warploom::interp {

bool has_handlers() {
#if defined(__x86_64__)
  static const bool good = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                           __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2") &&
                           __builtin_cpu_supports("lzcnt");
  return good;
#else
  return true;
#endif
}

Run find_handler(std::uint64_t key) {
  static const bool filled = [] {
    std::size_t i = 0;
    for (const codegen::HostFn& f : codegen::host_functions()) warploom_handler_natives[i++] = f.address;
    return i <= std::size(warploom_handler_natives);
  }();
  if (!filled) return nullptr;
  const Handler* end = warploom_handlers + warploom_handler_count;
  const Handler* at =
      std::lower_bound(warploom_handlers, end, key, [](const Handler& h, std::uint64_t k) { return h.key < k; });
  return at != end && at->key == key ? at->run : nullptr;
}

}  // namespace warploom::interp

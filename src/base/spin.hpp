// Waiting awake for a short while, which spares two switches of threads where the wait is short.
#pragma once

#include <chrono>

#include "base/cores.hpp"

namespace warploom {

inline void relax_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

class Spin {
 public:
  // False once the time is up, at once where another thread would need this core.
  bool again() {
    static const bool alone = usable_cores() == 1;
    if (alone) return false;
    relax_cpu();
    if (++turns_ % 32 != 0) return true;
    const auto now = std::chrono::steady_clock::now();
    if (turns_ == 32) end_ = now + kLongest;
    return now < end_;
  }

 private:
  static constexpr std::chrono::microseconds kLongest{20};
  unsigned turns_ = 0;
  std::chrono::steady_clock::time_point end_;
};

}  // namespace warploom

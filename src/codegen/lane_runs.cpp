// Finding runs.
#include "codegen/lane_runs.hpp"

namespace warploom::codegen {

Runs find_runs(const ir::Shape& s, unsigned from, unsigned lanes) {
  for (unsigned length = lanes; length >= 2; length /= 2) {
    bool good = true;
    std::int64_t stride = 0;
    bool first = true;
    for (unsigned r = from; r < from + lanes && good; r += length)
      for (unsigned l = r + 1; l < r + length && good; ++l) {
        std::int64_t step = 0;
        for (const ir::Term& t : s.terms) {
          const std::int64_t d = t.pattern[l] - t.pattern[l - 1];
          if (t.mult >= 0)
            good = good && d == 0;
          else
            step += d;
        }
        if (first) stride = step;
        first = false;
        good = good && step == stride;
      }
    if (good) return {length, stride};
  }
  return {};
}

}  // namespace warploom::codegen

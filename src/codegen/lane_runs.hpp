// Stretches of lanes at equal distances, within a lane shape.
#pragma once

#include "ir/ir.hpp"

namespace warploom::codegen {

// A stretch of lanes whose addresses are known relative to its first lane.
struct Runs {
  unsigned length = 0;      // lanes in a run, a power of two; 0: nothing is known
  std::int64_t stride = 0;  // bytes from lane to lane within a run, the same in all runs
};

// The longest runs with one stride among `lanes` lanes from `first` on; factors that are no constant must not change
// within a run.
Runs find_runs(const ir::Shape& shape, unsigned first = 0, unsigned lanes = 32);

}  // namespace warploom::codegen

// One case made ready to run by every implementation there is, on the same memory.
#pragma once

#include <memory>
#include <vector>

#include <warploom/warploom.hpp>

#include "cases.hpp"
#include "measure.hpp"

namespace warploom::bench {

class Bench;

/// What to measure beside Warploom itself.
struct Peers {
  bool pocl = true, openmp = true, blas = true, explain = true;
};

/// Devices and compiled kernels that all cases of a process share.
class Bench {
 public:
  Bench(unsigned threads, const Peers& peers);
  ~Bench();

  /// Runs the case by every implementation, compares the results with those of the first, and times them.
  [[nodiscard]] std::vector<Variant> measure(const Case& c, const Rounds& rounds);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace warploom::bench

// One case run by every implementation there is, on the same memory.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include <warploom/warploom.hpp>

#include "cases.hpp"
#include "measure.hpp"

namespace warploom::bench {

/// What to measure beside Warploom itself.
struct Peers {
  bool pocl = true, openmp = true, blas = true, explain = true, unoptimised = true;
};

struct Measured {
  unsigned threads = 1;
  std::vector<Variant> variants{};  // "warploom" first; then of "openmp", "pocl", "blas", "explain", "one_thread"
  double operations = 0;            // as Case::operations, with what depends on data
  std::optional<bool> equals_unoptimised{};  // bit for bit; measured on one thread
};

/// Devices and compiled kernels that the cases of a process share. PoCL takes its number of threads from the
/// environment when it is loaded, so a process measures one number.
class Bench {
 public:
  Bench(unsigned threads, const Peers& peers);
  ~Bench();

  /// Runs the case by every implementation, compares the results, and times those that agree. On one thread Warploom
  /// also runs under explain, on several also on one.
  [[nodiscard]] Measured measure(const Case& c, const Rounds& rounds);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace warploom::bench

// Timing of several implementations of one task, turn about, so that what else the machine does falls on all of them.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace warploom::bench {

double wall_seconds();
/// CPU time of all threads of this process.
double cpu_seconds();
double median(std::vector<double> values);

struct Variant {
  std::string name;
  std::function<void()> run;          // returns when the work is done
  std::string error{};                // why it takes no part
  double difference = 0;              // the largest, relative, from the reference
  std::vector<double> wall{}, cpu{};  // seconds, one for each round
};

struct Rounds {
  double seconds = 2;  // enough rounds to fill this, but
  int least = 3, most = 25;
};

/// Returns when no thread of this process works any more (compilers in the background, for instance).
void wait_until_idle();

/// In every round each variant without an error runs once.
void take_turns(std::vector<Variant>& variants, const Rounds& rounds);

}  // namespace warploom::bench

// What this machine can do at most: the bounds that the kernels' times are held against.
#pragma once

namespace warploom::bench {

/// Bytes and floating-point instructions (of one lane) in a second, all threads together.
struct Limits {
  double read = 0, copy = 0, add = 0;  // bytes that the loop names, without what a write-allocating cache adds
  double fma = 0;                      // fused multiply-adds of 32-bit floats
};

/// Best of several rounds, turn about; stores past the caches are tried as well as ordinary ones.
Limits measure_limits(unsigned threads);

}  // namespace warploom::bench

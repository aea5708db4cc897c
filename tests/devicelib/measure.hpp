// Arguments to try the device math functions on, and the check of their results against the published bounds.
#pragma once

#include <array>
#include <vector>

#include "reference.hpp"

namespace warploom::test {

template <class T>
using Samples = std::vector<std::array<T, 4>>;

// Values at the edges of the type (all pairs of them for two arguments), all bit patterns at random, and the case's
// intervals: about `count` divided by the case's cost, or what WARPLOOM_MATH_SAMPLES says instead of `count`.
template <class T>
Samples<T> samples_of(const MathCase& math, int count);

template <class T>
std::vector<T> edge_values();

// Fails the running test where a result is further from the correctly rounded one than bounds.tsv allows. Appends a
// line to the file that WARPLOOM_MATH_REPORT names, if it is set.
template <class T>
void expect_within(const MathCase& math, const Samples<T>& samples, const std::vector<T>& results);

// A line of that file for a function whose bound is an absolute error.
void report_absolute(const std::string& name, bool single, double worst, double bound, std::size_t samples);

}  // namespace warploom::test

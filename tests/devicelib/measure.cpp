// Samples of the arguments, the table of bounds, and the largest error of a function's results.
#include "measure.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <random>
#include <sstream>

namespace warploom::test {
namespace {

struct Bound {
  double in_double = 0, in_float = 0;
  std::string range;
  std::vector<double> numbers;
};
const std::map<std::string, Bound>& bounds() {
  static const std::map<std::string, Bound> table = [] {
    std::map<std::string, Bound> rows;
    std::ifstream file(std::string(WARPLOOM_TEST_DATA) + "/bounds.tsv");
    for (std::string line; std::getline(file, line);) {
      if (line.empty() || line[0] == '#') continue;
      std::istringstream words(line);
      std::string name, in_double, in_float;
      Bound bound;
      words >> name >> in_double >> in_float >> bound.range;
      for (double number = 0; words >> number;) bound.numbers.push_back(number);
      bound.in_double = std::atof(in_double.c_str());
      bound.in_float = std::atof(in_float.c_str());
      rows[name] = bound;
    }
    return rows;
  }();
  return table;
}

template <class T>
T from_bits(std::uint64_t bits) {
  if constexpr (sizeof(T) == 4)
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  else
    return std::bit_cast<double>(bits);
}

template <class T>
bool in_range(const Bound& bound, double x) {
  if (bound.range == "below") return std::fabs(x) < bound.numbers[0];
  if (bound.range == "outside") {
    const int first = sizeof(T) == 4 ? 2 : 0;
    return !(x > bound.numbers[first] && x < bound.numbers[first + 1]);
  }
  return true;
}

struct Worst {
  Error error;        // within the bound's range
  double beyond = 0;  // absolute, outside it
  std::vector<double> at;
};

template <class T>
Worst worst_of(const MathCase& math, const Samples<T>& samples, const std::vector<T>& results, const Bound& bound) {
  Worst worst;
  Exact exact;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double wide[4] = {samples[i][0], samples[i][1], samples[i][2], samples[i][3]};
    math.reference(exact, wide);
    const Error error = error_of(results[i], exact.get());
    if (!in_range<T>(bound, wide[0])) {
      worst.beyond = std::max(worst.beyond, error.absolute);
      continue;
    }
    worst.error.steps = std::max(worst.error.steps, error.steps);
    if (error.ulp > worst.error.ulp) {
      worst.error.ulp = error.ulp;
      worst.at.assign(wide, wide + math.arguments);
    }
  }
  return worst;
}

// Name, type, largest error in ulp and in steps from the correctly rounded value, bound, absolute error, samples.
void report_line(const std::string& name, bool single, const Worst& worst, const std::string& bound,
                 std::size_t samples) {
  const char* path = std::getenv("WARPLOOM_MATH_REPORT");
  if (path == nullptr) return;
  std::ofstream(path, std::ios::app) << name << '\t' << (single ? "float" : "double") << '\t' << worst.error.ulp << '\t'
                                     << worst.error.steps << '\t' << bound << '\t' << worst.beyond << '\t' << samples
                                     << '\n';
}

}  // namespace

void report_absolute(const std::string& name, bool single, double worst, double bound, std::size_t samples) {
  std::ostringstream text;
  text << bound;
  report_line(name, single, {{}, worst, {}}, text.str(), samples);
}

template <class T>
std::vector<T> edge_values() {
  using L = std::numeric_limits<T>;
  std::vector<T> values = {T(0),
                           L::denorm_min(),
                           L::denorm_min() * 3,
                           L::min() - L::denorm_min(),
                           L::min(),
                           L::epsilon(),
                           T(0.25),
                           T(0.5),
                           T(0.75),
                           T(1) - L::epsilon() / 2,
                           T(1),
                           T(1) + L::epsilon(),
                           T(1.5),
                           T(2),
                           T(2.5),
                           T(3),
                           T(4),
                           T(5),
                           T(7),
                           T(8),
                           T(10),
                           T(22),
                           T(23),
                           T(170),
                           T(171.5),
                           T(1e6),
                           T(1) / L::epsilon(),
                           T(2) / L::epsilon() + T(2),
                           L::max() / 2,
                           L::max(),
                           L::infinity()};
  const std::size_t count = values.size();
  for (std::size_t i = 0; i < count; ++i) values.push_back(-values[i]);
  values.push_back(L::quiet_NaN());
  return values;
}
template std::vector<float> edge_values<float>();
template std::vector<double> edge_values<double>();

template <class T>
Samples<T> samples_of(const MathCase& math, int count) {
  Samples<T> samples;
  const std::vector<T> edges = edge_values<T>();
  for (const T x : edges) {
    if (math.arguments == 1) samples.push_back({x});
    if (math.arguments == 2)
      for (const T y : edges) samples.push_back({x, y});
  }
  if (const char* wanted = std::getenv("WARPLOOM_MATH_SAMPLES")) count = std::atoi(wanted);
  std::mt19937_64 random(7);
  const std::size_t kinds = math.intervals.size() + 1;
  for (int i = 0; i < count / math.cost; ++i) {
    std::array<T, 4> x = {};
    const std::size_t kind = static_cast<std::size_t>(i) % kinds;
    for (int k = 0; k < math.arguments; ++k) {
      if (kind == 0) {
        x[k] = from_bits<T>(random());
      } else {
        const Interval range = math.intervals[kind - 1];
        x[k] = static_cast<T>(std::uniform_real_distribution<double>(range.low, range.high)(random));
      }
    }
    samples.push_back(x);
  }
  return samples;
}
template Samples<float> samples_of<float>(const MathCase&, int);
template Samples<double> samples_of<double>(const MathCase&, int);

template <class T>
void expect_within(const MathCase& math, const Samples<T>& samples, const std::vector<T>& results) {
  const Bound& bound = bounds().at(math.name);
  const Worst worst = worst_of(math, samples, results, bound);
  std::ostringstream where;
  for (const double x : worst.at) where << std::hexfloat << ' ' << x << std::defaultfloat << " (" << x << ')';
  const bool single = sizeof(T) == 4;
  const double limit = single ? bound.in_float : bound.in_double;
  report_line(math.name, single, worst, std::to_string(static_cast<int>(limit)), samples.size());
  EXPECT_LE(worst.error.steps, limit) << math.name << " in " << (single ? "float" : "double") << ": " << worst.error.ulp
                                      << " ulp at" << where.str();
  if (bound.range == "below") {
    EXPECT_LE(worst.beyond, bound.numbers[single ? 2 : 1]) << math.name;
  }
}
template void expect_within<float>(const MathCase&, const Samples<float>&, const std::vector<float>&);
template void expect_within<double>(const MathCase&, const Samples<double>&, const std::vector<double>&);

}  // namespace warploom::test

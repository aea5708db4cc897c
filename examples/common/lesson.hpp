// What every lesson needs around its kernels: sizes from the command line, inputs, checks that count, a time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include <warploom/warploom.hpp>

namespace lesson {

// Argument `index` of the command line as a positive number, or `otherwise`.
inline int size_argument(int argc, char** argv, int index, int otherwise) {
  if (index >= argc) return otherwise;
  const long value = std::strtol(argv[index], nullptr, 10);
  if (value <= 0 || value > 1 << 28) {
    std::fprintf(stderr, "%s: \"%s\" is no size\n", argv[0], argv[index]);
    std::exit(2);
  }
  return static_cast<int>(value);
}

// The same numbers in every run.
class Random {
 public:
  std::uint32_t next() {
    state_ = state_ * 1664525u + 1013904223u;
    return state_ >> 8;
  }
  float uniform(float low, float high) { return low + (high - low) * (static_cast<float>(next()) * 0x1p-24f); }
  std::vector<float> floats(std::size_t count, float low = -1, float high = 1) {
    std::vector<float> values(count);
    for (float& value : values) value = uniform(low, high);
    return values;
  }

 private:
  std::uint32_t state_ = 12345;
};

// Runs `work` once to compile the kernel and once between two events; milliseconds of the second run.
template <class Work>
double timed(const warploom::Device& device, Work work) {
  work();
  const warploom::Event start(device), end(device);
  start.record();
  work();
  end.record();
  end.synchronize();
  return warploom::Event::elapsed_ms(start, end);
}

// Collects the checks of a lesson; finish() is main's result.
class Checks {
 public:
  // One line: what was checked, how it went, and what the reader should notice.
  void report(const std::string& name, bool ok, const std::string& note) {
    std::printf("%-34s %-7s %s\n", name.c_str(), ok ? "ok" : "FAILED", note.c_str());
    failed_ += ok ? 0 : 1;
  }

  template <class T>
  void equal(const std::string& name, std::span<const T> got, std::span<const T> want, const std::string& note) {
    std::size_t wrong = got.size() == want.size() ? 0 : 1, first = 0;
    for (std::size_t i = 0; i < std::min(got.size(), want.size()); ++i)
      if (!(got[i] == want[i]) && wrong++ == 0) first = i;
    report(
        name, wrong == 0,
        wrong == 0 ? note : std::to_string(wrong) + " elements differ, the first is number " + std::to_string(first));
  }

  // Every |got - want| is within its own bound.
  void close(const std::string& name, std::span<const float> got, std::span<const double> want,
             std::span<const double> bound, const std::string& note) {
    std::size_t wrong = got.size() == want.size() ? 0 : 1, first = 0;
    double worst = 0;
    for (std::size_t i = 0; i < std::min(got.size(), want.size()); ++i) {
      const double error = std::abs(static_cast<double>(got[i]) - want[i]);
      if (!(error <= bound[i]) && wrong++ == 0) first = i;
      if (bound[i] > 0) worst = std::max(worst, error / bound[i]);
    }
    char text[160];
    if (wrong == 0)
      std::snprintf(text, sizeof text, "error %.3f of the bound  %s", worst, note.c_str());
    else
      std::snprintf(text, sizeof text, "%zu elements are out of bound, the first is number %zu: %g instead of %g",
                    wrong, first, static_cast<double>(first < got.size() ? got[first] : 0),
                    first < want.size() ? want[first] : 0);
    report(name, wrong == 0, text);
  }

  [[nodiscard]] int finish() const {
    std::printf("%s\n", failed_ == 0 ? "ok" : "FAILED");
    return failed_ == 0 ? 0 : 1;
  }

 private:
  int failed_ = 0;
};

inline std::string milliseconds(double ms) {
  char text[48];
  std::snprintf(text, sizeof text, "%.2f ms", ms);
  return text;
}

// Runs a lesson; an error of the library is printed whole and fails it.
template <class Body>
int run(Body body) {
  try {
    return body();
  } catch (const warploom::Error& error) {
    std::fprintf(stderr, "%s\nFAILED\n", error.what());
    return 1;
  }
}

}  // namespace lesson

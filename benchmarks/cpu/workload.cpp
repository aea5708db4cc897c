// Sets up buffers, arguments and kernels of a benchmark case on both sides, and compares their results.
#include "workload.hpp"

#include <bit>
#include <cmath>
#include <fstream>
#include <sstream>

namespace warploom::bench {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

cl_program twins() {
  static const cl_program program = OpenCl::instance().build(read_file(BENCH_KERNELS_CL), "-cl-std=CL1.2");
  return program;
}

}  // namespace

std::vector<Words> initial_buffers(const Case& c) {
  std::vector<Words> buffers(c.arguments.size());
  std::uint32_t state = 12345;
  for (std::size_t i = 0; i < c.arguments.size(); ++i) {
    const CaseArgument& argument = c.arguments[i];
    if (!argument.is_buffer()) continue;
    buffers[i].resize(argument.count);
    if (argument.kind == CaseArgument::Kind::output) continue;
    for (std::uint32_t& word : buffers[i]) {
      state = state * 1664525u + 1013904223u;
      word = state >> 8;
      if (argument.kind == CaseArgument::Kind::floats)
        word = std::bit_cast<std::uint32_t>(static_cast<float>(word) * 0x1p-23f - 1.0f);
    }
  }
  return buffers;
}

Workload::Workload(const Device& device, const Case& c)
    : device_(device),
      kernel_(device.compile_file(std::string(BENCH_EXAMPLES) + "/" + c.lesson + "/kernels.cu").kernel(c.kernel)),
      grid_(c.grid),
      block_(c.block),
      numbers_(c.arguments),
      pointers_(c.arguments.size()) {
  const std::vector<Words> initial = initial_buffers(c);
  for (std::size_t i = 0; i < numbers_.size(); ++i) {
    arrays_.push_back(nullptr);
    if (numbers_[i].is_buffer()) {
      arrays_.back() = std::make_unique<DeviceArray<std::uint32_t>>(device, initial[i]);
      pointers_[i] = arrays_.back()->data();
      arguments_.push_back({&pointers_[i], sizeof(void*), &arrays_.back()->memory()});
    } else if (numbers_[i].kind == CaseArgument::Kind::integer) {
      arguments_.push_back({&numbers_[i].integer, sizeof(int)});
    } else {
      arguments_.push_back({&numbers_[i].real, sizeof(float)});
    }
  }
}

std::vector<Words> Workload::buffers() const {
  std::vector<Words> result;
  for (const auto& array : arrays_) result.push_back(array ? array->to_vector() : Words());
  return result;
}

Twin::Twin(const Case& c) : kernel_(twins(), c.twin.c_str()), grid_{c.grid.x, c.grid.y}, block_{c.block.x, c.block.y} {
  const std::vector<Words> initial = initial_buffers(c);
  for (std::size_t i = 0; i < c.arguments.size(); ++i) {
    const CaseArgument& argument = c.arguments[i];
    const auto index = static_cast<cl_uint>(i);
    buffers_.push_back(nullptr);
    counts_.push_back(argument.count);
    if (argument.is_buffer()) {
      buffers_.back() = std::make_unique<ClBuffer>(argument.count * sizeof(std::uint32_t));
      buffers_.back()->write(initial[i].data(), argument.count * sizeof(std::uint32_t));
      kernel_.argument(index, buffers_.back()->memory());
    } else if (argument.kind == CaseArgument::Kind::integer) {
      kernel_.argument(index, argument.integer);
    } else {
      kernel_.argument(index, argument.real);
    }
  }
}

std::vector<Words> Twin::buffers() const {
  std::vector<Words> result;
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    result.emplace_back(buffers_[i] ? counts_[i] : 0);
    if (buffers_[i]) buffers_[i]->read(result.back().data(), counts_[i] * sizeof(std::uint32_t));
  }
  return result;
}

std::string difference(const Case& c, const std::vector<Words>& ours, const std::vector<Words>& theirs) {
  for (std::size_t i = 0; i < c.arguments.size(); ++i) {
    const bool exact = c.arguments[i].kind == CaseArgument::Kind::integers;
    // Sums of up to a million numbers in [-1, 1) in another order.
    const double bound = 2e-3;
    for (std::size_t k = 0; k < ours[i].size(); ++k) {
      if (ours[i][k] == theirs[i][k]) continue;
      const double a = std::bit_cast<float>(ours[i][k]), b = std::bit_cast<float>(theirs[i][k]);
      if (exact || !(std::abs(a - b) <= bound * std::max(1.0, std::abs(a))))
        return "argument " + std::to_string(i) + " element " + std::to_string(k) + ": " + std::to_string(a) +
               " on Warploom, " + std::to_string(b) + " on PoCL";
    }
  }
  return {};
}

}  // namespace warploom::bench

// Runs functions of the device math library on the CPU device: bitcode linked as a compiler links it, LLVM, PTX,
// launch.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <warploom/warploom.hpp>

namespace warploom::test {

// The PTX of one kernel `k_<name>` for each named function. The kernel takes (inputs, outputs, count): argument a of
// element i is in the 8-byte slot a * count + i, and so is result r: the function's value, then its `out` arguments.
// `in` arguments get the address of the slot of the element, so that they see one value.
std::string kernels_for(const std::vector<std::string>& names);

using Slots = std::vector<std::uint64_t>;

class DeviceFunctions {
 public:
  explicit DeviceFunctions(const std::vector<std::string>& names);
  // `inputs` holds the arguments' slots, one argument after the other; so does the result.
  Slots call(const std::string& name, const Slots& inputs, std::size_t count) const;

 private:
  Device device_;
  Module module_;
};

}  // namespace warploom::test

// The device math library: LLVM bitcode for the NVPTX target and the signatures of its functions.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace warploom::frontend {

// Bitcode of a module that defines every function of devicelib_functions() and needs no other module. Its functions
// carry no target attributes, so they are inlined into callers that carry none either. The bytes are 16-aligned and
// live as long as the program: read them lazily (llvm::getLazyBitcodeModule) and link with Linker::LinkOnlyNeeded.
std::span<const std::byte> devicelib_bitcode();

enum class DeviceType { none, int8, int16, int32, int64, float32, float64 };

struct DeviceArgument {
  enum class Passing {
    value,
    out,  // a pointer (generic address) to a result
    in,   // a pointer (generic address) to values that are read
  };
  DeviceType type = DeviceType::none;
  Passing passing = Passing::value;
  std::string_view name;
};

struct DeviceFunction {
  std::string_view name;  // as in cuda.libdevice, for instance "sinf"
  std::string symbol;     // as in the bitcode, for instance "__nv_sinf"
  DeviceType result = DeviceType::none;
  std::vector<DeviceArgument> arguments;
  bool in_numba = false;  // cuda.libdevice of Numba has it
};

// All functions, sorted by name.
std::span<const DeviceFunction> devicelib_functions();
// By name, with or without "__nv_"; null when there is none.
const DeviceFunction* find_devicelib_function(std::string_view name);

// The text of libdevice.sig.
std::string_view devicelib_signature_text();

}  // namespace warploom::frontend

// Whether a device compiles an instruction.
#pragma once

#include <string>

#include "expand.hpp"
#include "warploom/warploom.hpp"

namespace warploom::test {

// Empty when the device compiles and launches a kernel of the instruction, else the error. It stands behind a branch
// that is always taken: it is compiled and never runs.
inline std::string device_error(const Device& device, const std::string& instruction) {
  std::string text = module_of({instruction});
  const std::string parameter = "(.param .align 16 .b8 incoming[64]";
  text.insert(text.find(parameter) + parameter.size(), ", .param .u32 run");
  text.insert(text.find("\n" + instruction + "\n"),
              "\nld.param.u32 %r19, [run];\nsetp.eq.u32 %p19, %r19, 0;\n@%p19 bra END;");
  struct Bytes {
    alignas(16) char value[64] = {};
  };
  try {
    const Module module = device.load_ptx(text, "form.ptx");
    module.kernel("kernel").launch({1, 32}, Bytes{}, 0u);
    device.synchronize();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace warploom::test

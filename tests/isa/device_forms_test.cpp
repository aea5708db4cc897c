// Checks that the CPU device compiles every form that the table does not call unsupported, and refuses the others.
#include <gtest/gtest.h>

#include <string>
#include <vector>
#include <warploom/warploom.hpp>

#include "expand.hpp"

namespace warploom::test {
namespace {

// The instruction stands behind a branch that is always taken: it is compiled and never runs.
std::string kernel_of(const std::string& instruction) {
  std::string text = module_of({instruction});
  const auto replace = [&](const std::string& from, const std::string& to) {
    const auto at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
  };
  replace("(.param .align 16 .b8 incoming[64])", "(.param .align 16 .b8 incoming[64], .param .u32 run)");
  replace("\n" + instruction + "\n",
          "\nld.param.u32 %r19, [run];\nsetp.eq.u32 %p19, %r19, 0;\n@%p19 bra END;\n" + instruction + "\n");
  return text;
}

// Empty when the device compiles and launches the kernel, else the error.
std::string error_of(const Device& device, const std::string& instruction) {
  struct Bytes {
    alignas(16) char value[64] = {};
  };
  try {
    const Module module = device.load_ptx(kernel_of(instruction), "form.ptx");
    module.kernel("kernel").launch({1, 32}, Bytes{}, 0u);
    device.synchronize();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Pure forms are compiled by the tests of semantics, without a device around them.
TEST(DeviceForms, EveryFormThatTouchesMoreThanRegistersCompiles) {
  const Device device = Device::open("cpu", {.threads = 1, .unoptimised = true});
  int compiled = 0, failed = 0;
  for (const isa::Row& row : isa::rows())
    for (const isa::Form& form : row.forms) {
      const bool own = form.flow != isa::Flow::pure || row.name == "cvta" || row.name == "createpolicy";
      if (!own || form.emit == "unsupported") continue;
      for (const std::string& instruction : expand(row, form, 5)) {
        if (instruction.find(".v8.") != std::string::npos || instruction.find(".v4.b128") != std::string::npos)
          continue;  // legal for some types and spaces only, see vector_fits
        const std::string error = error_of(device, instruction);
        ++compiled;
        if (error.empty() || error.find("vector is too large") != std::string::npos ||
            error.find("eviction hint needs") != std::string::npos)
          continue;
        if (++failed < 30) ADD_FAILURE() << instruction << "\n" << error;
      }
    }
  EXPECT_EQ(failed, 0);
  EXPECT_GT(compiled, 300);
}

TEST(DeviceForms, UnsupportedFormsAreRefusedAtLaunchByName) {
  const Device device = Device::open("cpu", {.threads = 1, .unoptimised = true});
  for (const char* instruction : {"wgmma.fence.sync.aligned;", "wgmma.commit_group.sync.aligned;"}) {
    const std::string error = error_of(device, instruction);
    EXPECT_NE(error.find("unsupported_instruction"), std::string::npos) << instruction << "\n" << error;
    const std::string name = std::string(instruction).substr(0, std::string(instruction).find('.'));
    EXPECT_NE(error.find(name), std::string::npos) << error;
  }
}

}  // namespace
}  // namespace warploom::test

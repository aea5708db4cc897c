// Checks that the CPU device compiles every form that the table does not call unsupported, and refuses the others.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "expand.hpp"
#include "on_device.hpp"

namespace warploom::test {
namespace {

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
        const std::string error = device_error(device, instruction);
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
    const std::string error = device_error(device, instruction);
    EXPECT_NE(error.find("unsupported_instruction"), std::string::npos) << instruction << "\n" << error;
    const std::string name = std::string(instruction).substr(0, std::string(instruction).find('.'));
    EXPECT_NE(error.find(name), std::string::npos) << error;
  }
}

}  // namespace
}  // namespace warploom::test

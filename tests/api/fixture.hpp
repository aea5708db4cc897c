// A fake device with a few kernels, and a macro that checks which Error a statement throws.
#pragma once

#include <gtest/gtest.h>

#include "fake_device.hpp"

namespace warploom::test {

class FakeTest : public testing::Test {
 protected:
  // Kernels: wait(gate*), append(log*, value), fail(error id), scale<float, 16>(float*, float, int), two overloads of
  // pick.
  static Device open(FakeDevice** fake = nullptr) {
    auto device = std::make_unique<FakeDevice>();
    device->define("wait", {8}, [](const device::Launch& launch) -> Result<void> {
      param<Gate*>(launch, 0)->pass();
      return {};
    });
    device->define("append", {8, 4}, [](const device::Launch& launch) -> Result<void> {
      param<std::vector<int>*>(launch, 0)->push_back(param<int>(launch, 8));
      return {};
    });
    device->define("fail", {4}, [](const device::Launch& launch) -> Result<void> {
      Diag diag;
      diag.id = static_cast<ErrorId>(param<int>(launch, 0));
      diag.what = "the kernel failed as told";
      diag.where = "kernel fail, block (0,0,0), thread (5,0,0)";
      diag.loc = {"fail.cu", 12, 3};
      return diag;
    });
    device->define("_Z5scaleIfLi16EEvPT_S0_i", {8, 4, 4}, [](const device::Launch& launch) -> Result<void> {
      auto* data = param<float*>(launch, 0);
      for (int i = 0; i < param<int>(launch, 12); ++i) data[i] *= param<float>(launch, 8);
      return {};
    });
    device->define("_ZN1a4pickEi", {4}, [](const device::Launch&) { return Result<void>(); });
    device->define("_ZN1b4pickEf", {4}, [](const device::Launch&) { return Result<void>(); });
    if (fake != nullptr) *fake = device.get();
    return adopt_device(std::move(device));
  }

  FakeDevice* fake = nullptr;
  Device device = open(&fake);
  Module module = device.load_ptx("fake", "fake.ptx");
  Kernel wait = module.kernel("wait");
  Kernel append = module.kernel("append");
  Kernel fail = module.kernel("fail");
};

template <class Statement>
Error error_of(Statement statement) {
  try {
    statement();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no Error was thrown";
  return detail::ErrorAccess::make(Diag{});
}

#define EXPECT_ERROR(statement, expected)                                            \
  do {                                                                               \
    const ::warploom::Error error_ = ::warploom::test::error_of([&] { statement; }); \
    EXPECT_EQ(error_.id(), ::warploom::error_id::expected) << error_.what();         \
  } while (false)

}  // namespace warploom::test

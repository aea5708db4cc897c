// printf, assert and trap.
#include "device_test.hpp"

#include <cstdio>
#include <set>
#include <sstream>

namespace {

using namespace warploom;
using namespace device_test;

DEVICE_TEST_FILE(Output, "output.cu");

// What the device prints until it is idle.
template <class Launch>
std::string printed(const Device& device, Launch launch) {
  std::fflush(stdout);
  testing::internal::CaptureStdout();
  launch();
  device.synchronize();
  std::fflush(stdout);
  return testing::internal::GetCapturedStdout();
}

TEST_P(Output, PrintfFormats) {
  std::string want;
  for (int i = 0; i < 3; ++i) {
    char line[128];
    std::snprintf(line, sizeof line, "i=%d u=%u x=%x c=%c f=%.3f e=%e s=%s p%%\n", -i, static_cast<unsigned>(i) + 1u,
                  static_cast<unsigned>(i) + 255, 'a' + i, i * 0.5, 1e10 * i, "text");
    want += line;
  }
  EXPECT_EQ(printed(device, [&] { kernel("print_values").launch({1, 32}, 3); }), want);
  EXPECT_EQ(printed(device, [&] { kernel("print_long").launch({1, 1}, -5000000000ll, 18000000000000000000ull, 0.1); }),
            "-5000000000 18000000000000000000 0.1    42|7    |\n");
  EXPECT_EQ(printed(device, [&] { kernel("print_nothing").launch({1, 1}); }), "no arguments\n");
}

TEST_P(Output, EveryThreadPrintsOneWholeLine) {
  std::istringstream lines(printed(device, [&] { kernel("print_ordered").launch({7, 40}); }));
  std::set<std::pair<int, int>> seen;
  for (std::string line; std::getline(lines, line);) {
    int block = -1, thread = -1;
    ASSERT_EQ(std::sscanf(line.c_str(), "block %d thread %d", &block, &thread), 2) << line;
    EXPECT_TRUE(seen.emplace(block, thread).second) << line;
  }
  EXPECT_EQ(seen.size(), 280u);
}

TEST_P(Output, AssertNamesThePlace) {
  std::vector<int> values(256, 1);
  {
    const auto in = array(values);
    kernel("check").launch({4, 64}, in);
    EXPECT_NO_THROW(device.synchronize());
  }
  values[130] = 13;
  const auto in = array(values);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  try {
    kernel("check").launch({4, 64}, in);
    device.synchronize();
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), error_id::device_assert) << error.what();
    EXPECT_EQ(error.cuda_code(), 710);
    EXPECT_NE(std::string(error.what()).find("in[i] != 13"), std::string::npos) << error.what();
  }
  std::fflush(stdout);
  testing::internal::GetCapturedStdout();
  testing::internal::GetCapturedStderr();
  // Nothing works until a reset, then everything does.
  try {
    device.synchronize();
    ADD_FAILURE() << "the error did not stay";
  } catch (const Error& error) {
    EXPECT_EQ(error.cuda_code(), 710);
  }
  device.reset();
  EXPECT_NO_THROW(DeviceArray<int>(device, 4).zero());
}

TEST_P(Output, TrapIsAnError) {
  kernel("trap_at").launch({1, 64}, 64);
  EXPECT_NO_THROW(device.synchronize());
  try {
    kernel("trap_at").launch({1, 64}, 63);
    device.synchronize();
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.id(), error_id::device_trap) << error.what();
    EXPECT_EQ(error.cuda_code(), 719);
  }
}

}  // namespace

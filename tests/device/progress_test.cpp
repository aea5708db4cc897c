// Lanes, warps and blocks that wait for each other must all get on.
#include "device_test.hpp"

namespace {

using namespace warploom;
using namespace device_test;

DEVICE_TEST_FILE(Progress, "progress.cu");

TEST_P(Progress, LanesOfOneWarpTakeALock) {
  for (const auto& [blocks, threads] : {std::pair{1, 32}, {1, 50}, {4, 64}}) {
    auto lock = filled<int>(1, 0), counter = filled<int>(1, 0);
    kernel("warp_spin_lock").launch({blocks, threads}, lock, counter, 3);
    EXPECT_EQ(counter.to_vector()[0], blocks * threads * 3);
  }
}

TEST_P(Progress, TheHolderIsOutsideTheLoop) {
  auto lock = filled<int>(1, 0), counter = filled<int>(1, 0);
  kernel("naive_spin_lock").launch({2, 32}, lock, counter);
  EXPECT_EQ(counter.to_vector()[0], 64);
}

TEST_P(Progress, ALaneWaitsForALane) {
  auto flag = filled<int>(1, 0), out = filled<int>(1, 0);
  kernel("lane_waits_for_lane").launch({1, 32}, flag, out);
  EXPECT_EQ(out.to_vector()[0], 77);
}

TEST_P(Progress, AWarpWaitsForAWarp) {
  DeviceArray<int> out(device, 32);
  kernel("warp_waits_for_warp").launch({1, 64}, out);
  EXPECT_EQ(out.to_vector(), counting(32, 500));
}

TEST_P(Progress, ABlockWaitsForALaterBlock) {
  for (const int blocks : {2, 8}) {
    auto flag = filled<int>(1, 0);
    DeviceArray<int> out(device, 64);
    kernel("block_waits_for_block").launch({blocks, 64}, flag, out);
    EXPECT_EQ(out.to_vector(), counting(64, 9));
  }
}

TEST_P(Progress, AChainOfBlocks) {
  const int blocks = 40;
  auto done = filled<int>(blocks, 0), out = filled<int>(blocks * 32, 0);
  kernel("chain_of_blocks").launch({blocks, 32}, done, out);
  EXPECT_EQ(out.to_vector(), expected<int>(blocks * 32, [](int i) { return i / 32 + 1; }));
}

TEST_P(Progress, AGridBarrierInACooperativeLaunch) {
  const int blocks = 16, rounds = 3;
  auto arrived = filled<unsigned>(1, 0);
  DeviceArray<int> box(device, blocks), out(device, blocks * rounds);
  kernel("grid_barrier").launch({blocks, 64, 0, std::nullopt, true}, arrived, box, out, rounds);
  EXPECT_EQ(out.to_vector(),
            expected<int>(blocks * rounds, [](int i) { return (i % blocks + 1) % blocks * 10 + i / blocks; }));
}

TEST_P(Progress, PingPong) {
  const int rounds = 50;
  DeviceArray<int> out(device, 2 * rounds);
  kernel("ping_pong").launch({1, 64}, out, rounds);
  EXPECT_EQ(out.to_vector(), expected<int>(2 * rounds, [](int i) { return i % 2 * 100 + i / 2; }));
}

}  // namespace

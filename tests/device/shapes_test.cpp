// Grids and blocks of every shape: each thread exists once and knows where it is.
#include "device_test.hpp"

namespace {

using namespace warploom;
using namespace device_test;

DEVICE_TEST_FILE(Shapes, "shapes.cu");

struct Place {
  std::uint32_t tid[3], ctaid[3], ntid[3], nctaid[3], lane, warp_threads;
};

TEST_P(Shapes, EveryThreadKnowsItsPlace) {
  const std::pair<Dim3, Dim3> shapes[] = {{1, 1},
                                          {1, 31},
                                          {3, 32},
                                          {2, 33},
                                          {5, 1024},
                                          {1, {1, 1, 64}},
                                          {2, {32, 8}},
                                          {1, {7, 5, 3}},
                                          {{2, 3}, {16, 2}},
                                          {{2, 1, 3}, 48},
                                          {{1, 2, 2}, {4, 4, 4}},
                                          {1, {1023, 1}},
                                          {{3, 2, 2}, {5, 3, 2}},
                                          {1, {2, 512, 1}},
                                          {1, {1, 33, 2}}};
  for (const auto& [grid, block] : shapes) {
    const std::size_t threads = block.count(), blocks = grid.count();
    DeviceArray<Place> places(device, threads * blocks);
    places.zero();
    kernel("where_am_i").launch({grid, block}, places);
    const std::vector<Place> got = places.to_vector();
    const std::string shape = std::to_string(blocks) + " blocks of " + std::to_string(block.x) + "x" +
                              std::to_string(block.y) + "x" + std::to_string(block.z);
    for (std::size_t b = 0; b < blocks; ++b)
      for (std::size_t t = 0; t < threads; ++t) {
        const Place& p = got[b * threads + t];
        ASSERT_EQ(p.tid[0] + block.x * (p.tid[1] + block.y * p.tid[2]), t) << shape;
        ASSERT_EQ(p.ctaid[0] + grid.x * (p.ctaid[1] + grid.y * p.ctaid[2]), b) << shape;
        ASSERT_LT(p.tid[0], block.x);
        ASSERT_LT(p.tid[1], block.y);
        ASSERT_LT(p.ctaid[0], grid.x);
        ASSERT_LT(p.ctaid[1], grid.y);
        ASSERT_EQ((Dim3{p.ntid[0], p.ntid[1], p.ntid[2]}), block) << shape;
        ASSERT_EQ((Dim3{p.nctaid[0], p.nctaid[1], p.nctaid[2]}), grid) << shape;
        ASSERT_EQ(p.lane, t % 32) << shape;
        ASSERT_EQ(p.warp_threads, std::min<std::size_t>(32, threads - t / 32 * 32)) << shape;
      }
  }
}

TEST_P(Shapes, ManyBlocksRunOnceEach) {
  for (const int threads : {1, 17, 96, 1000}) {
    const int blocks = 3000;
    auto all = filled<unsigned long long>(1, 0);
    auto in_block = filled<unsigned>(blocks, 0);
    kernel("count_threads").launch({blocks, threads}, all, in_block);
    EXPECT_EQ(all.to_vector()[0], static_cast<unsigned long long>(blocks) * static_cast<unsigned>(threads));
    EXPECT_EQ(in_block.to_vector(), std::vector<unsigned>(blocks, static_cast<unsigned>(threads)));
  }
}

TEST_P(Shapes, KernelWithoutArguments) {
  kernel("empty").launch({2, 64});
  EXPECT_NO_THROW(device.synchronize());
}

}  // namespace

// Collectives through the public API: on two CPU devices, and through NCCL or its stand-in on two GPUs.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "cuda_test.hpp"

namespace {

using namespace warploom;
using test::id_of;
using test::on_gpu;

std::vector<float> ramp(std::size_t n, float first) {
  std::vector<float> out(n);
  std::iota(out.begin(), out.end(), first);
  return out;
}

std::vector<float> joined(std::vector<float> a, const std::vector<float>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

struct Rank {
  explicit Rank(const Device& on) : device(on), stream(on, {.blocking = false}) {}
  Device device;
  Stream stream;
};

class Collectives : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!on_gpu()) {
      setenv("WARPLOOM_CUDA_DRIVER", STAND_IN_DRIVER, 1);
      setenv("WARPLOOM_NCCL", STAND_IN_NCCL, 1);
    }
    const bool cpu = std::string(GetParam()) == "cpu";
    try {
      for (const char* name : {"cuda:0", "cuda:1"}) ranks.emplace_back(Device::open(cpu ? "cpu" : name));
    } catch (const Error& error) {
      GTEST_SKIP() << error.what();
    }
  }
  [[nodiscard]] std::vector<Communicator> group() const {
    const std::vector<Device> devices{ranks[0].device, ranks[1].device};
    return Communicator::all(devices);
  }
  // Calls for both ranks of one thread.
  void together(const std::function<void(std::size_t)>& call) const {
    CollectiveGroup group(ranks[0].device);
    for (std::size_t i = 0; i < 2; ++i) call(i);
    group.end();
  }
  [[nodiscard]] std::vector<DeviceArray<float>> arrays(std::size_t n, float step = 100) const {
    std::vector<DeviceArray<float>> out;
    for (std::size_t i = 0; i < 2; ++i) out.emplace_back(ranks[i].device, ramp(n, step * static_cast<float>(i)));
    return out;
  }
  [[nodiscard]] std::vector<float> after(std::size_t i, const DeviceArray<float>& array) const {
    ranks[i].stream.synchronize();
    return array.to_vector();
  }
  std::vector<Rank> ranks;
};

TEST_P(Collectives, SumsAndLargest) {
  const auto members = group();
  ASSERT_EQ(members.size(), 2U);
  EXPECT_EQ(members[1].rank(), 1);
  EXPECT_EQ(members[1].ranks(), 2);
  const auto from = arrays(1000);
  auto to = arrays(1000);
  together([&](std::size_t i) { members[i].all_reduce(from[i], to[i], Reduction::sum, ranks[i].stream); });
  std::vector<float> sum(1000);
  for (std::size_t k = 0; k < sum.size(); ++k) sum[k] = 2 * static_cast<float>(k) + 100;
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(after(i, to[i]), sum);
  // In place, several in a row.
  for (int k = 0; k < 3; ++k)
    together([&](std::size_t i) { members[i].all_reduce(to[i], to[i], Reduction::sum, ranks[i].stream); });
  for (float& v : sum) v *= 8;
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(after(i, to[i]), sum);
  together([&](std::size_t i) { members[i].all_reduce(from[i], to[i], Reduction::max, ranks[i].stream); });
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(after(i, to[i]), ramp(1000, 100));
}

TEST_P(Collectives, AsTheGuideShows) {
  const Device first = ranks[0].device, second = ranks[1].device;
  // [all]
  const std::vector<Device> devices{first, second};
  const std::vector<Communicator> members = Communicator::all(devices);
  std::vector<DeviceArray<float>> sums;
  for (const Device& one : devices) sums.emplace_back(one, std::vector<float>{1, 2, 3});
  CollectiveGroup group(first);  // one thread calls for several ranks
  for (std::size_t i = 0; i < 2; ++i)
    members[i].all_reduce(sums[i], sums[i], Reduction::sum, devices[i].default_stream());
  group.end();
  // [/all]
  for (const DeviceArray<float>& one : sums) EXPECT_EQ(one.to_vector(), (std::vector<float>{2, 4, 6}));
}

TEST_P(Collectives, PartsOfAll) {
  const auto members = group();
  const auto from = arrays(64);
  auto all = arrays(128), half = arrays(32);
  together([&](std::size_t i) { members[i].all_gather(from[i], all[i], ranks[i].stream); });
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(after(i, all[i]), joined(ramp(64, 0), ramp(64, 100)));
  together([&](std::size_t i) { members[i].reduce_scatter(from[i], half[i], Reduction::sum, ranks[i].stream); });
  for (std::size_t i = 0; i < 2; ++i) {
    std::vector<float> expected(32);
    for (std::size_t k = 0; k < 32; ++k) expected[k] = 2 * static_cast<float>(k + 32 * i) + 100;
    EXPECT_EQ(after(i, half[i]), expected);
  }
  auto copy = arrays(64);
  together([&](std::size_t i) { members[i].broadcast(from[i], copy[i], 1, ranks[i].stream); });
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(after(i, copy[i]), ramp(64, 100));
  auto rooted = arrays(64);
  together([&](std::size_t i) { members[i].reduce(from[i], rooted[i], Reduction::max, 0, ranks[i].stream); });
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(after(i, rooted[i]), ramp(64, 100));  // that of rank 1 is untouched
}

TEST_P(Collectives, MessagesBothWays) {
  const auto members = group();
  const auto from = arrays(50);
  auto to = arrays(50, 7);
  together([&](std::size_t i) {
    const int other = 1 - static_cast<int>(i);
    members[i].send(from[i], other, ranks[i].stream);
    members[i].receive(to[i], other, ranks[i].stream);
  });
  EXPECT_EQ(after(0, to[0]), ramp(50, 100));
  EXPECT_EQ(after(1, to[1]), ramp(50, 0));
}

TEST_P(Collectives, ThreadsJoinByAnIdentity) {
  const CommunicatorId id = Communicator::unique_id(ranks[0].device);
  const auto from = arrays(100);
  auto to = arrays(100);
  std::vector<std::thread> threads;
  std::vector<std::vector<float>> got(2);
  for (std::size_t i = 0; i < 2; ++i)
    threads.emplace_back([&, i] {
      const Communicator mine(ranks[i].device, id, 2, static_cast<int>(i));
      mine.all_reduce(from[i], to[i], Reduction::sum, ranks[i].stream);
      got[i] = after(i, to[i]);
    });
  for (std::thread& t : threads) t.join();
  std::vector<float> sum(100);
  for (std::size_t k = 0; k < sum.size(); ++k) sum[k] = 2 * static_cast<float>(k) + 100;
  EXPECT_EQ(got[0], sum);
  EXPECT_EQ(got[1], sum);
}

TEST_P(Collectives, MisuseIsExplained) {
  const auto members = group();
  const auto from = arrays(8);
  auto to = arrays(8), small = arrays(4);
  const Stream& stream = ranks[0].stream;
  EXPECT_EQ(id_of([&] { members[0].all_reduce(from[0], small[0], Reduction::sum, stream); }), error_id::invalid_value);
  EXPECT_EQ(id_of([&] { members[0].send(from[0], 2, stream); }), error_id::invalid_value);
  EXPECT_EQ(id_of([&] { members[1].send(from[1], 0, stream); }), error_id::invalid_handle);
  EXPECT_EQ(id_of([&] { members[0].broadcast(from[0].data(), to[0].data(), 9, ElementType::f32, 0, stream); }),
            error_id::invalid_value);
  if (std::string(GetParam()) == "cuda" && !on_gpu()) {
    // What NCCL refuses is thrown by the call: the stand-in does not know bfloat16.
    EXPECT_EQ(id_of([&] {
                members[0].all_reduce(from[0].data(), to[0].data(), 4, ElementType::bf16, Reduction::sum, stream);
              }),
              error_id::invalid_value);
    EXPECT_EQ(id_of([&] { stream.synchronize(); }), 0);
  }
  const std::vector<Device> twice{ranks[0].device, ranks[0].device};
  EXPECT_EQ(id_of([&] { (void)Communicator::all(twice); }), error_id::invalid_value);
  EXPECT_EQ(id_of([&] { (void)Communicator::all({}); }), error_id::invalid_value);
  const CommunicatorId id = Communicator::unique_id(ranks[0].device);
  EXPECT_EQ(id_of([&] { (void)Communicator(ranks[0].device, id, 2, 2); }), error_id::invalid_value);
}

INSTANTIATE_TEST_SUITE_P(Both, Collectives, testing::Values("cpu", "cuda"),
                         [](const auto& which) { return std::string(which.param); });

TEST(CollectivesOfOne, GiveWhatTheyGet) {
  if (!on_gpu()) {
    setenv("WARPLOOM_CUDA_DRIVER", STAND_IN_DRIVER, 1);
    setenv("WARPLOOM_NCCL", STAND_IN_NCCL, 1);
  }
  const std::vector<Device> devices{Device::open("cuda:0")};
  const std::vector<Communicator> alone = Communicator::all(devices);
  const DeviceArray<float> from(devices[0], ramp(1000, 3));
  DeviceArray<float> to(devices[0], 1000);
  const Stream stream(devices[0], {.blocking = false});
  alone[0].all_reduce(from, to, Reduction::sum, stream);
  stream.synchronize();
  EXPECT_EQ(to.to_vector(), ramp(1000, 3));
  const Communicator joined(devices[0], Communicator::unique_id(devices[0]), 1, 0);
  to.zero();
  joined.all_gather(from, to, devices[0].default_stream());
  EXPECT_EQ(to.to_vector(), ramp(1000, 3));
}

TEST(CollectivesOfOne, NeedNccl) {
  if (on_gpu()) GTEST_SKIP() << "NCCL may be there";
  setenv("WARPLOOM_CUDA_DRIVER", STAND_IN_DRIVER, 1);
  // In a process that starts anew, since a library is found once.
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        setenv("WARPLOOM_NCCL", "/nowhere/libnccl.so.2", 1);
        try {
          (void)Communicator::unique_id(Device::open("cuda:0"));
        } catch (const Error& error) {
          const bool helps = std::string(error.what()).find("pip install nvidia-nccl") != std::string::npos;
          _exit(error.id() == error_id::not_supported && helps ? 7 : 1);
        }
        _exit(2);
      },
      testing::ExitedWithCode(7), "");
}

// ---- what only the CPU device promises ----

class CpuCollectives : public testing::Test {
 protected:
  std::vector<Device> devices{Device::open("cpu"), Device::open("cpu"), Device::open("cpu")};
  std::vector<Communicator> members = Communicator::all(devices);

  template <class T>
  std::vector<T> reduced(const std::vector<T>& values, ElementType type, Reduction how) {
    std::vector<DeviceArray<T>> arrays;
    for (std::size_t i = 0; i < 3; ++i) arrays.emplace_back(devices[i], std::vector<T>{values[i]});
    for (std::size_t i = 0; i < 3; ++i)
      members[i].all_reduce(arrays[i].data(), arrays[i].data(), 1, type, how, devices[i].default_stream());
    std::vector<T> out;
    for (std::size_t i = 0; i < 3; ++i) out.push_back(arrays[i].to_vector()[0]);
    return out;
  }
};

TEST_F(CpuCollectives, EveryTypeAndReduction) {
  using Bytes = std::vector<std::int8_t>;
  EXPECT_EQ(reduced<std::int8_t>({100, 100, -3}, ElementType::i8, Reduction::sum),
            Bytes(3, static_cast<std::int8_t>(197)));
  EXPECT_EQ(reduced<std::int8_t>({-5, 7, 2}, ElementType::i8, Reduction::min), Bytes(3, -5));
  EXPECT_EQ(reduced<std::uint64_t>({1ULL << 40, 3, 2}, ElementType::u64, Reduction::product),
            std::vector<std::uint64_t>(3, 6ULL << 40));
  EXPECT_EQ(reduced<std::int64_t>({-9, 4, 2}, ElementType::i64, Reduction::average), std::vector<std::int64_t>(3, -1));
  EXPECT_EQ(reduced<std::int32_t>({-9, 4, 2}, ElementType::i32, Reduction::max), std::vector<std::int32_t>(3, 4));
  EXPECT_EQ(reduced<double>({0.1, 0.2, 0.3}, ElementType::f64, Reduction::sum),
            std::vector<double>(3, 0.1 + 0.2 + 0.3));
  EXPECT_EQ(reduced<float>({1, 2, 4}, ElementType::f32, Reduction::average), std::vector<float>(3, 7.0F / 3));
  // 1 + 2 + 1.5 as half (0x4480) and bfloat16 (0x4090).
  EXPECT_EQ(reduced<std::uint16_t>({0x3C00, 0x4000, 0x3E00}, ElementType::f16, Reduction::sum),
            std::vector<std::uint16_t>(3, 0x4480));
  EXPECT_EQ(reduced<std::uint16_t>({0x3F80, 0x4000, 0x3FC0}, ElementType::bf16, Reduction::sum),
            std::vector<std::uint16_t>(3, 0x4090));
}

TEST_F(CpuCollectives, RanksThatDisagreeAreTold) {
  std::vector<DeviceArray<float>> a;
  for (std::size_t i = 0; i < 3; ++i) a.emplace_back(devices[i], std::vector<float>(8, 1));
  for (std::size_t i = 0; i < 3; ++i)
    members[i].all_reduce(a[i].data(), a[i].data(), i == 1 ? 4 : 8, ElementType::f32, Reduction::sum,
                          devices[i].default_stream());
  for (const Device& device : devices) EXPECT_EQ(id_of([&] { device.synchronize(); }), error_id::invalid_value);
  members[0].send(a[0].data(), 3, ElementType::f32, 1, devices[0].default_stream());
  members[1].receive(a[1].data(), 4, ElementType::f32, 0, devices[1].default_stream());
  EXPECT_EQ(id_of([&] { devices[1].synchronize(); }), error_id::invalid_value);
}

TEST_F(CpuCollectives, ARankThatLeavesHoldsUpNobody) {
  std::optional<DeviceArray<float>> a;
  a.emplace(devices[0], std::vector<float>(8, 1));
  members[0].all_reduce(*a, *a, Reduction::sum, devices[0].default_stream());
  members.pop_back();
  EXPECT_EQ(id_of([&] { devices[0].synchronize(); }), error_id::invalid_handle);
  CommunicatorId foreign{};
  EXPECT_EQ(id_of([&] { (void)Communicator(devices[0], foreign, 2, 0); }), error_id::not_supported);
}

}  // namespace

// Random kernels, compiled, from the disk cache and interpreted, must compute what their interpreter says.
//
// A longer run: WARPLOOM_RANDOM_KERNELS=100 WARPLOOM_RANDOM_SEED=1000 device_random_kernels_test
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include <warploom/warploom.hpp>

#include "random_kernel.hpp"

namespace {

using namespace warploom;

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// The first are whole warps.
constexpr random_kernels::Block kBlocks[] = {{64, 1, 1}, {32, 3, 1}, {16, 4, 2}, {8, 8, 1},  {128, 1, 1}, {5, 7, 1},
                                             {18, 3, 1}, {48, 2, 1}, {33, 1, 1}, {16, 3, 2}, {1, 64, 1},  {2, 3, 11}};
constexpr std::uint64_t kWhole = 5;

std::vector<std::uint32_t> input() {
  std::vector<std::uint32_t> in(random_kernels::in_words);
  for (std::uint32_t i = 0; i < in.size(); ++i)
    in[i] = i % 3 == 0 ? i * 2654435761U : i % 3 == 1 ? i & 31 : (i * 40503U) >> 7;
  return in;
}

// One launch; an empty string when it left what it must.
std::string difference(const Device& device, const Module& module, const random_kernels::Kernel& kernel,
                       std::uint32_t grid, const random_kernels::Block& block, std::uint32_t p0, std::uint32_t p1) {
  const std::size_t threads = std::size_t{grid} * block.count();
  const random_kernels::Memory before{input(),
                                      std::vector<std::uint32_t>(threads * random_kernels::results, 0xdeadbeef),
                                      std::vector<std::uint32_t>(threads * random_kernels::scratch_words),
                                      std::vector<std::uint32_t>(random_kernels::sums)};
  random_kernels::Memory expected = before;
  random_kernels::interpret(kernel, grid, block, p0, p1, expected);
  const DeviceArray<std::uint32_t> in(device, before.in), out(device, before.out), scratch(device, before.scratch),
      sum(device, before.sum);
  module.kernel(kernel.name).launch({grid, {block.x, block.y, block.z}}, in, out, scratch, sum, p0, p1);
  const char* wrong = out.to_vector() != expected.out           ? "results"
                      : scratch.to_vector() != expected.scratch ? "scratch memory"
                      : sum.to_vector() != expected.sum         ? "sums"
                                                                : nullptr;
  if (wrong == nullptr) return {};
  return std::string(wrong) + " of grid " + std::to_string(grid) + ", block " + std::to_string(block.x) + "x" +
         std::to_string(block.y) + "x" + std::to_string(block.z) + ", p0 " + std::to_string(p0) + ", p1 " +
         std::to_string(p1);
}

// The disk cache of this test.
class CacheFolder {
 public:
  CacheFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "warploom-random-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no folder can be made");
    path_ = name;
    setenv("WARPLOOM_CACHE_DIR", name.c_str(), 1);
  }
  ~CacheFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  CacheFolder(const CacheFolder&) = delete;
  CacheFolder& operator=(const CacheFolder&) = delete;

 private:
  std::filesystem::path path_;
};

TEST(RandomKernels, ComputeWhatTheInterpreterSays) {
  const CacheFolder folder;
  const std::uint64_t count = from_environment("WARPLOOM_RANDOM_KERNELS", 3);
  const std::uint64_t first = from_environment("WARPLOOM_RANDOM_SEED", 1);
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const bool whole = seed % 2 == 0;
    const random_kernels::Kernel kernel = random_kernels::generate(seed, whole);
    const std::string text = random_kernels::cuda_prelude() + random_kernels::cuda_text(kernel);
    for (const char* const code : {"optimised", "unoptimised", "cached", "interpreter", "mixed"}) {
      const bool unoptimised = code == std::string("unoptimised");
      const bool compiled = code != std::string("interpreter") && code != std::string("mixed");
      setenv("WARPLOOM_TIER", compiled ? "compiled" : code, 1);
      setenv("WARPLOOM_CACHE", compiled ? "1" : "0", 1);
      const code_cache::Statistics before = code_cache::statistics();
      const Device device = Device::open("cpu", {.threads = 1, .unoptimised = unoptimised});
      const Module module = device.compile(text, {.optimization = static_cast<int>(3 - seed / 2 % 3)});
      for (std::uint64_t launch = 0; launch < 2; ++launch) {
        const std::uint64_t pick = seed * 7 + launch * 2;
        const random_kernels::Block block = kBlocks[whole ? pick % kWhole : pick % std::size(kBlocks)];
        const auto grid = static_cast<std::uint32_t>(1 + seed % 3);
        ASSERT_EQ(difference(device, module, kernel, grid, block, launch == 0 ? 3 : block.x - 1,
                             launch == 1 ? 0xfffffff0U : 17),
                  "")
            << "seed " << seed << ", " << code << "\n"
            << text;
      }
      const code_cache::Statistics after = code_cache::statistics();
      if (code == std::string("cached")) {
        EXPECT_GT(after.loaded, before.loaded);
      } else if (compiled && seed == first) {  // later, versions that were wanted before may still be on their way
        EXPECT_EQ(after.loaded, before.loaded);
      }
    }
  }
}

}  // namespace

// Random kernels, compiled, from the disk cache and interpreted, must compute what their interpreter says.
//
// A longer run: WARPLOOM_RANDOM_KERNELS=10000 WARPLOOM_RANDOM_SEED=1000 device_random_kernels_test
// --gtest_filter=*Many* For a GPU: WARPLOOM_RANDOM_WRITE=DIR ... --gtest_filter=*Many* writes them, run_on_gpu.py DIR
// OUT runs them there.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <warploom/warploom.hpp>

#include "frontend/cuda/cuda_compiler.hpp"
#include "random_ast.hpp"

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

struct Launch {
  std::uint32_t grid, p0, p1;
  random_kernels::Block block;

  [[nodiscard]] std::size_t threads() const { return std::size_t{grid} * block.count(); }
  [[nodiscard]] random_kernels::Memory memory() const {
    return {input(), std::vector<std::uint32_t>(threads() * random_kernels::results, 0xdeadbeef),
            std::vector<std::uint32_t>(threads() * random_kernels::scratch_words),
            std::vector<std::uint32_t>(random_kernels::sums)};
  }
};

bool is_whole(std::uint64_t seed) { return seed % 2 == 0; }
Launch launch_of(std::uint64_t seed, std::uint64_t launch) {
  const std::uint64_t pick = seed * 7 + launch * 2;
  const random_kernels::Block block = kBlocks[is_whole(seed) ? pick % kWhole : pick % std::size(kBlocks)];
  return {static_cast<std::uint32_t>(1 + seed % 3), launch == 0 ? 3 : block.x - 1, launch == 1 ? 0xfffffff0U : 17,
          block};
}

// One launch; an empty string when it left what it must.
std::string difference(const Device& device, const Module& module, const random_kernels::Kernel& kernel,
                       const Launch& l) {
  const random_kernels::Memory before = l.memory();
  random_kernels::Memory expected = before;
  random_kernels::interpret(kernel, l.grid, l.block, l.p0, l.p1, expected);
  const DeviceArray<std::uint32_t> in(device, before.in), out(device, before.out), scratch(device, before.scratch),
      sum(device, before.sum);
  module.kernel(kernel.name).launch({l.grid, {l.block.x, l.block.y, l.block.z}}, in, out, scratch, sum, l.p0, l.p1);
  const char* wrong = out.to_vector() != expected.out           ? "results"
                      : scratch.to_vector() != expected.scratch ? "scratch memory"
                      : sum.to_vector() != expected.sum         ? "sums"
                                                                : nullptr;
  if (wrong == nullptr) return {};
  return std::string(wrong) + " of grid " + std::to_string(l.grid) + ", block " + std::to_string(l.block.x) + "x" +
         std::to_string(l.block.y) + "x" + std::to_string(l.block.z) + ", p0 " + std::to_string(l.p0) + ", p1 " +
         std::to_string(l.p1);
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
    const random_kernels::Kernel kernel = random_kernels::generate(seed, is_whole(seed));
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
        ASSERT_EQ(difference(device, module, kernel, launch_of(seed, launch)), "")
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

// Compiled once from CUDA, run in one way.
void open_way(std::string_view way) {
  const bool compiled = way != "interpreter" && way != "mixed";
  setenv("WARPLOOM_TIER", compiled ? "compiled" : std::string(way).c_str(), 1);
  setenv("WARPLOOM_CACHE", "0", 1);
}
Device device_of(std::string_view way) {
  if (way == "hardware") return Device::open(std::getenv("WARPLOOM_TEST_DEVICE"));
  open_way(way);
  return Device::open("cpu", {.threads = 1, .unoptimised = way == "unoptimised"});
}

std::string ptx_of(const std::vector<random_kernels::Kernel>& kernels, unsigned optimisation) {
  std::string text = random_kernels::cuda_prelude();
  for (const random_kernels::Kernel& k : kernels) text += random_kernels::cuda_text(k);
  // WARPLOOM_RANDOM_COMPILER=nvcc: the test then needs no clang.
  const char* compiler = std::getenv("WARPLOOM_RANDOM_COMPILER");
  const bool nvcc = compiler != nullptr && compiler == std::string_view("nvcc");
  auto ptx = frontend::compile_cuda_source(text, "random.cu",
                                           {.lineinfo = false, .use_nvcc = nvcc, .optimisation = optimisation});
  if (!ptx) throw std::runtime_error(ptx.error().to_string());
  return *ptx;
}

// Takes away statements as long as the kernel still goes wrong.
void reduce(random_kernels::Kernel& kernel, const std::function<bool(const random_kernels::Kernel&)>& is_wrong) {
  const std::function<bool(random_kernels::Body&)> smaller = [&](random_kernels::Body& body) {
    for (std::size_t i = 0; i < body.size(); ++i) {
      const auto taken = body[i];
      body.erase(body.begin() + static_cast<std::ptrdiff_t>(i));
      if (is_wrong(kernel)) return true;
      body.insert(body.begin() + static_cast<std::ptrdiff_t>(i), taken);
      for (random_kernels::Body& inner : taken->bodies)
        if (smaller(inner)) return true;
    }
    return false;
  };
  while (smaller(kernel.body)) {
  }
}

std::uint64_t digest(const random_kernels::Memory& memory) {
  std::uint64_t h = 0xcbf29ce484222325;
  for (const auto* words : {&memory.out, &memory.scratch, &memory.sum})
    for (const std::uint32_t word : *words) h = (h ^ word) * 0x100000001b3;
  return h;
}

// Modules of kernels with their launches and what these must leave behind.
class Writer {
 public:
  explicit Writer(const std::string& folder) : folder_(folder), list_(folder + "/launches.tsv") {
    std::ofstream in(folder + "/in.bin", std::ios::binary);
    const auto words = input();
    in.write(reinterpret_cast<const char*>(words.data()), static_cast<std::streamsize>(words.size() * 4));
  }
  void module(std::uint64_t first, const std::string& ptx) {
    const std::string name = "m" + std::to_string(first) + ".ptx";
    std::ofstream(folder_ + "/" + name) << ptx;
    file_ = name;
  }
  void launch(const random_kernels::Kernel& kernel, const Launch& l) {
    random_kernels::Memory memory = l.memory();
    random_kernels::interpret(kernel, l.grid, l.block, l.p0, l.p1, memory);
    list_ << file_ << '\t' << kernel.name << '\t' << l.grid << '\t' << l.block.x << '\t' << l.block.y << '\t'
          << l.block.z << '\t' << l.p0 << '\t' << l.p1 << '\t' << memory.out.size() << '\t' << memory.scratch.size()
          << '\t' << memory.sum.size() << '\t' << std::hex << digest(memory) << std::dec << '\n';
  }

 private:
  std::string folder_, file_;
  std::ofstream list_;
};

// Most are small, so that there can be many.
random_kernels::Kernel one_of_many(std::uint64_t seed) {
  return random_kernels::generate(seed, is_whole(seed), seed % 16 == 0 ? 24 : 3 + static_cast<int>(seed % 5));
}

TEST(RandomKernels, ManyAgreeInEveryWayOfRunningThem) {
  constexpr std::uint64_t kModule = 8;
  const std::uint64_t count = from_environment("WARPLOOM_RANDOM_KERNELS", 16);
  const std::uint64_t first = from_environment("WARPLOOM_RANDOM_SEED", 1000);
  const char* folder = std::getenv("WARPLOOM_RANDOM_WRITE");
  std::optional<Writer> writer;
  if (folder != nullptr) writer.emplace(folder);
  std::vector<std::string_view> ways{"optimised", "unoptimised", "interpreter", "mixed"};
  if (std::getenv("WARPLOOM_TEST_DEVICE") != nullptr) ways.push_back("hardware");
  std::uint64_t launches = 0, wrong = 0;
  for (std::uint64_t begin = first; begin < first + count; begin += kModule) {
    const auto optimisation = static_cast<unsigned>(3 - begin / kModule % 3);
    std::vector<random_kernels::Kernel> kernels;
    for (std::uint64_t seed = begin; seed < std::min(begin + kModule, first + count); ++seed)
      kernels.push_back(one_of_many(seed));
    const std::string ptx = ptx_of(kernels, optimisation);
    if (writer) writer->module(begin, ptx);
    for (const std::string_view way : ways) {
      if (way == "mixed" && count > 100 && begin / kModule % 4 != 0) continue;
      const Device device = device_of(way);
      const Module module = device.load_ptx(ptx, "random.ptx");
      for (std::size_t k = 0; k < kernels.size(); ++k) {
        for (std::uint64_t n = 0; n < 2; ++n) {
          const Launch l = launch_of(begin + k, n);
          if (writer) {
            if (way == "optimised") writer->launch(kernels[k], l);
            continue;
          }
          ++launches;
          const std::string what = difference(device, module, kernels[k], l);
          if (what.empty()) continue;
          if (++wrong > 5) return;
          random_kernels::Kernel smallest = one_of_many(begin + k);
          reduce(smallest, [&](const random_kernels::Kernel& candidate) {
            const Device again = device_of(way);
            return !difference(again, again.load_ptx(ptx_of({candidate}, optimisation), "random.ptx"), candidate, l)
                        .empty();
          });
          ADD_FAILURE() << "seed " << begin + k << ", " << way << ": " << what << "; reduced:\n"
                        << random_kernels::cuda_text(smallest);
        }
      }
    }
    if (count > 100 && (begin - first) / kModule % 32 == 31)
      std::printf("seeds %llu to %llu: %llu launches, %llu wrong\n", static_cast<unsigned long long>(first),
                  static_cast<unsigned long long>(begin + kModule - 1), static_cast<unsigned long long>(launches),
                  static_cast<unsigned long long>(wrong)),
          std::fflush(stdout);
  }
}

}  // namespace

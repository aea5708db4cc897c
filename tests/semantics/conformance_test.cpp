// Every case of the instruction table on the CPU device, in each way of running kernels and with lanes left out: the
// results are those of the references, which are those of an H200 (table_golden_test).
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>
#include <warploom/warploom.hpp>

#include "table_cases.hpp"

namespace warploom::semantics {
namespace {

constexpr const char* kHeader = ".version 8.4\n.target sm_90a\n.address_size 64\n\n";

enum class Code { optimised, unoptimised, interpreted, mixed };

class Conformance : public testing::TestWithParam<Code> {
 protected:
  Conformance() {
    setenv("WARPLOOM_CACHE", "0", 1);
    const bool interpreted = GetParam() == Code::interpreted;
    setenv("WARPLOOM_TIER", GetParam() == Code::mixed ? "mixed" : interpreted ? "interpreter" : "compiled", 1);
    device_.emplace(Device::open("cpu", {.threads = 2, .unoptimised = GetParam() == Code::unoptimised}));
  }

  // Runs the batches whose number is `part` modulo `parts`.
  void run(bool masked, std::size_t part, std::size_t parts) {
    const TableSuite& suite = table_suite();
    std::size_t compared = 0;
    for (std::size_t i = part; i < suite.batches.size(); i += parts) {
      const TableBatch& batch = suite.batches[i];
      if (masked && is_warp(suite, batch)) continue;  // always run with masks
      const std::vector<u64>& words = suite.operands[batch.operands];
      const Module module = device_->load_ptx(kHeader + table_kernel(suite, i, masked), "batch.ptx");
      const Kernel kernel = module.kernel("batch" + std::to_string(i));
      const DeviceArray<u64> in(*device_, words);
      for (const std::uint32_t mask : kTableMasks) {
        if (!masked && !is_warp(suite, batch) && mask != kTableMasks[0]) continue;
        if (masked && mask != 0x5a5a1234 && mask != 1) continue;
        DeviceArray<u64> out(*device_, std::vector<u64>(table_words(suite, batch), 0));
        if (masked || is_warp(suite, batch)) {
          kernel.launch({1, kTableSets}, in, out, mask);
        } else {
          kernel.launch({1, kTableSets}, in, out);
        }
        compared += check(suite, batch, words, mask, out.to_vector());
      }
    }
    EXPECT_GT(compared, 10u);
  }

 private:
  std::optional<Device> device_;
  int reported_ = 0;

  std::size_t check(const TableSuite& suite, const TableBatch& batch, const std::vector<u64>& words, std::uint32_t mask,
                    const std::vector<u64>& got) {
    const auto slots = table_slots(suite, batch);
    std::size_t compared = 0;
    for (std::size_t i = 0; i < batch.cases.size(); ++i) {
      const TableCase& c = suite.cases[batch.cases[i]];
      std::vector<u64> want(kMostResults * kTableSets);
      u64* columns[kMostResults];
      for (std::size_t k = 0; k < kMostResults; ++k) columns[k] = &want[k * kTableSets];
      bool valid[kTableSets];
      if (!table_expect(c, words.data(), mask, columns, valid)) continue;
      ++compared;
      int wrong = 0;
      for (std::size_t n = 0; n < kTableSets; ++n) {
        for (std::size_t k = 0; k < c.out.size() && valid[n]; ++k) {
          const u64 have = got[(slots[i] + k) * kTableSets + n];
          if (have == columns[k][n] ||
              (c.any_nan && is_nan_bits(c.out[k], have) && is_nan_bits(c.out[k], columns[k][n])))
            continue;
          if (++wrong > 1 || ++reported_ > 60) continue;
          std::string sources;
          for (std::size_t s = 0; s < c.in.size(); ++s) sources += " " + hex(words[s * kTableSets + n]);
          ADD_FAILURE() << c.name << " lanes " << hex(mask) << " set " << n << ":" << sources << ": result " << k
                        << " is " << hex(have) << ", not " << hex(columns[k][n]);
        }
      }
      if (wrong > 1 && reported_ <= 60) ADD_FAILURE() << c.name << ": " << wrong << " wrong results";
    }
    return compared;
  }
  static std::string hex(u64 v) {
    char text[24];
    std::snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(v));
    return text;
  }
};

// The mixed tier, and masks, take turns over the batches; WARPLOOM_CONFORMANCE_ALL=1 has them do all.
std::size_t parts() { return std::getenv("WARPLOOM_CONFORMANCE_ALL") == nullptr ? 4 : 1; }
TEST_P(Conformance, all_lanes) { run(false, 0, GetParam() == Code::mixed ? parts() : 1); }
TEST_P(Conformance, lanes_left_out) { run(true, static_cast<std::size_t>(GetParam()) % parts(), parts()); }

std::string code_name(const testing::TestParamInfo<Code>& instance) {
  static constexpr const char* kNames[] = {"optimised", "unoptimised", "interpreted", "mixed"};
  return kNames[static_cast<int>(instance.param)];
}
INSTANTIATE_TEST_SUITE_P(Table, Conformance,
                         testing::Values(Code::optimised, Code::unoptimised, Code::interpreted, Code::mixed),
                         code_name);

}  // namespace
}  // namespace warploom::semantics

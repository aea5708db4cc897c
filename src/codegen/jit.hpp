// Compiled kernels: each version of a kernel becomes machine code in the background or when it is first entered.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "codegen/counters.hpp"
#include "codegen/kernel_plan.hpp"

namespace warploom::codegen {

struct HostSymbol {
  std::string name;
  void* address;
};

// Address of a module variable, nullptr when there is none.
using GlobalResolver = std::function<void*(const std::string&)>;

struct CodePlace {
  ir::BlockId block;
  std::size_t index;
};

// Safe from several threads. May be destroyed while a version is being compiled.
class KernelCode {
 public:
  // `symbols` must live as long as the process. The plan is shared with whoever interprets sites and slots.
  // `globals` is not called after the code is destroyed.
  KernelCode(std::shared_ptr<KernelPlan> plan, std::span<const HostSymbol> symbols, GlobalResolver globals);
  ~KernelCode();
  KernelCode(const KernelCode&) = delete;
  KernelCode& operator=(const KernelCode&) = delete;

  // Starts to compile a version in the background, unless it is there or on its way; returns at once. With the
  // version for full warps comes the masked one, at low priority, where lanes are likely to part. Errors are kept for
  // entry().
  void request(Mode mode);
  // Entry of a version if it is compiled, else nullptr.
  [[nodiscard]] CodeEntry ready(Mode mode) const {
    return entries_[static_cast<std::size_t>(mode)].load(std::memory_order_acquire);
  }
  // Entry of a version: waits for the compilation if that is under way, compiles here if it has not begun.
  // The same error each time for a version that cannot be compiled.
  Result<CodeEntry> entry(Mode mode);

  // Fixed counts per execution of each site's block by a full warp of the uniform version; zero until it is compiled.
  [[nodiscard]] const std::vector<StaticCount>& static_counts() const;
  [[nodiscard]] const KernelPlan& plan() const { return *plan_; }

  // The instruction whose code lies at `pc`, if any. Slow: for faults.
  [[nodiscard]] bool locate(const void* pc, CodePlace& place) const;

  // Never reused within a process.
  [[nodiscard]] std::uint64_t id() const { return id_; }
  // Time that threads spent to compile and link the versions there are.
  [[nodiscard]] double compile_seconds() const;
  // Time that entry() made launches wait; threads that wait together count once.
  [[nodiscard]] double waited_seconds() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;  // shared with background threads
  std::shared_ptr<KernelPlan> plan_;
  const std::array<std::atomic<CodeEntry>, kModes>& entries_;
  const std::uint64_t id_;
};

// What became of the versions that this process needed.
struct CodeStatistics {
  std::uint64_t compiled = 0;  // by LLVM
  std::uint64_t loaded = 0;    // from the disk cache
};
CodeStatistics code_statistics();

// Texts of one version for people who look inside: LLVM IR before and after optimisation, and assembly.
struct Dump {
  std::string llvm, optimised, assembly;
};
Result<Dump> dump(const std::shared_ptr<KernelPlan>& plan, Mode mode);

}  // namespace warploom::codegen

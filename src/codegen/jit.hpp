// Compiled kernels: each version of a kernel becomes machine code when it is first entered.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
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

class KernelCode {
 public:
  // `symbols` must outlive the code. The plan is shared with whoever interprets sites and slots.
  KernelCode(std::shared_ptr<KernelPlan> plan, std::span<const HostSymbol> symbols, GlobalResolver globals);
  ~KernelCode();
  KernelCode(const KernelCode&) = delete;
  KernelCode& operator=(const KernelCode&) = delete;

  // Entry of a version, compiled now if it is not yet; safe from several threads.
  Result<CodeEntry> entry(Mode mode);
  // The same without waiting: nullptr if it is not compiled.
  [[nodiscard]] CodeEntry ready(Mode mode) const {
    return entries_[static_cast<std::size_t>(mode)].load(std::memory_order_acquire);
  }

  // Fixed counts per execution of each site's block by a full warp of the uniform version.
  [[nodiscard]] const std::vector<StaticCount>& static_counts() const { return static_counts_; }
  [[nodiscard]] const KernelPlan& plan() const { return *plan_; }

  // The instruction whose code lies at `pc`, if any. Slow: for faults.
  [[nodiscard]] bool locate(const void* pc, CodePlace& place) const;

  // Never reused within a process.
  [[nodiscard]] std::uint64_t id() const { return id_; }
  [[nodiscard]] double compile_seconds() const { return compile_seconds_; }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  std::shared_ptr<KernelPlan> plan_;
  std::span<const HostSymbol> symbols_;
  GlobalResolver globals_;
  std::mutex mutex_;
  std::array<std::atomic<CodeEntry>, 3> entries_{};
  std::vector<StaticCount> static_counts_;
  double compile_seconds_ = 0;
  const std::uint64_t id_;
};

// Texts of one version for people who look inside: LLVM IR before and after optimisation, and assembly.
struct Dump {
  std::string llvm, optimised, assembly;
};
Result<Dump> dump(const std::shared_ptr<KernelPlan>& plan, Mode mode);

}  // namespace warploom::codegen

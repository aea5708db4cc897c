// The explain observer: gathers counts while a program runs, then says what they mean.
#pragma once

#include <map>
#include <mutex>
#include <tuple>

#include "isa/profile.hpp"
#include "observe/explain/data.hpp"
#include "observe/memory_facts.hpp"

namespace warploom::observe::explain {

class Explain : public Observer, public MemoryObserver {
 public:
  explicit Explain(isa::GpuProfile profile) : profile_(std::move(profile)) {}

  void launch_done(const KernelFacts& kernel, const LaunchFacts& launch, const LaunchCounts& counts) override;
  void launch_failed(const KernelFacts& kernel, const LaunchFacts& launch, const Diag& diag) override;

  void managed_memory(const ManagedFacts& facts) override;
  void releases(const ReleaseFacts& facts) override;

  [[nodiscard]] const isa::GpuProfile& profile() const { return profile_; }
  // Kernels in the order of their first launch, with occupancy and findings.
  [[nodiscard]] std::vector<KernelData> analyse() const;
  // Managed allocations in the order in which they were made.
  [[nodiscard]] std::vector<ManagedFacts> managed() const;
  // Of all devices together.
  [[nodiscard]] ReleaseFacts releases() const;

 private:
  // Kernels of two modules may share a name; the number of sites tells most of them apart.
  using Key =
      std::tuple<std::string, std::size_t, std::array<std::uint32_t, 3>, std::array<std::uint32_t, 3>, std::uint32_t>;
  struct Record {
    KernelData data;
    LaunchCounts counts;
  };
  Record& record(const KernelFacts& kernel, const LaunchFacts& launch);

  isa::GpuProfile profile_;
  mutable std::mutex mutex_;
  std::map<Key, std::size_t> index_;
  std::vector<Record> records_;
  std::map<std::uint64_t, ManagedFacts> managed_;
  std::map<std::uint64_t, ReleaseFacts> releases_;
};

}  // namespace warploom::observe::explain

// A benchmark case made ready to launch, on Warploom or on PoCL.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <warploom/warploom.hpp>

#include "cases.hpp"
#include "opencl.hpp"

namespace warploom::bench {

using Words = std::vector<std::uint32_t>;

/// The initial contents of a case's buffers, one for each argument (empty for numbers); the same in every run.
std::vector<Words> initial_buffers(const Case& c);

/// A case on a Warploom device.
class Workload {
 public:
  Workload(const Device& device, const Case& c);
  void launch() const { kernel_.launch_with({grid_, block_}, arguments_); }
  /// Runs one launch and waits for it.
  void run() const {
    launch();
    device_.synchronize();
  }
  [[nodiscard]] std::vector<Words> buffers() const;

 private:
  Device device_;
  Kernel kernel_;
  Dim3 grid_, block_;
  std::vector<CaseArgument> numbers_;
  std::vector<std::unique_ptr<DeviceArray<std::uint32_t>>> arrays_;  // null for numbers
  std::vector<void*> pointers_;
  std::vector<Argument> arguments_;
};

/// The twin of a case on PoCL.
class Twin {
 public:
  explicit Twin(const Case& c);
  void run() const { kernel_.launch(grid_, block_); }
  [[nodiscard]] std::vector<Words> buffers() const;

 private:
  ClKernel kernel_;
  std::size_t grid_[2], block_[2];
  std::vector<std::size_t> counts_;
  std::vector<std::unique_ptr<ClBuffer>> buffers_;
};

/// An empty text when both sides computed the same, up to the order of float additions; else what differs.
std::string difference(const Case& c, const std::vector<Words>& ours, const std::vector<Words>& theirs);

}  // namespace warploom::bench

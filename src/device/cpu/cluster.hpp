// A cluster of blocks in flight: all on one thread of the host, with their shared memory in each other's windows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "device/cpu/block.hpp"

namespace warploom::device {

// The shared memory of rank r lies at r + 1 times this in the window of each block of the cluster; a block finds its
// own at the start of its window too, as for shared::cta.
inline constexpr std::uint64_t kClusterStride = 1 << 24;

class Cluster {
 public:
  Cluster() = default;
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // Makes the blocks and binds them to a grid.
  Result<void> bind(Grid& grid, std::uint64_t* counters, unsigned thread);
  // Prepares all blocks for cluster `number` of the grid.
  void start(std::uint64_t number);
  // Gives each block a turn.
  BlockState::Progress run();

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(blocks_.size()); }
  // Puts the shared memory of all ranks into a block's window.
  Result<void> map(std::uint32_t rank, std::byte* window, std::size_t bytes) const;
  // Is the range in the shared memory of a block? Addresses may be of any block's window.
  [[nodiscard]] bool contains(std::uint64_t address, std::uint64_t shared_bytes) const;

  // The barrier: its phase, which ends when every lane that lives has come.
  [[nodiscard]] bool odd_phase() const { return odd_; }
  void advance();

 private:
  int memory_ = -1;  // a file without a name
  std::vector<std::unique_ptr<BlockState>> blocks_;
  std::vector<char> done_;
  bool odd_ = false;
};

// Runs all clusters of a grid that are left, on the calling thread.
void work_on_clusters(Grid& grid, unsigned thread);

}  // namespace warploom::device

// Clusters: memory that several windows show, turns of the blocks, the cluster's barrier.
#include "device/cpu/cluster.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

namespace warploom::device {
namespace {

Diag no_memory() {
  Diag d;
  d.id = ErrorId::out_of_memory;
  d.what = "the host has no memory for another cluster of blocks";
  d.remedy = "launch smaller clusters";
  return d;
}

}  // namespace

Cluster::~Cluster() {
  blocks_.clear();
  if (memory_ >= 0) close(memory_);
}

Result<void> Cluster::bind(Grid& grid, std::uint64_t* counters, unsigned thread) {
  memory_ = memfd_create("cluster", MFD_CLOEXEC);
  if (memory_ < 0 || ftruncate(memory_, static_cast<off_t>(kClusterStride * grid.cluster_blocks)) != 0)
    return no_memory();
  for (std::uint32_t r = 0; r < grid.cluster_blocks; ++r) {
    blocks_.push_back(std::make_unique<BlockState>());
    blocks_.back()->join(*this, r);
  }
  for (auto& block : blocks_) WL_TRY(block->bind(grid, counters, thread));
  done_.assign(blocks_.size(), false);
  return {};
}

Result<void> Cluster::map(std::uint32_t rank, std::byte* window, std::size_t bytes) const {
  const auto place = [&](std::byte* at, std::uint32_t r) {
    return mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, memory_,
                static_cast<off_t>(kClusterStride * r)) != MAP_FAILED;
  };
  bool good = place(window, rank);
  // Around each, as around a window: whole-vector loads of inactive lanes may touch it.
  constexpr std::size_t pad = 4096;
  for (std::uint32_t r = 0; r < size(); ++r) {
    std::byte* at = window + kClusterStride * (r + 1);
    good = good && place(at, r) && mprotect(at - pad, pad, PROT_READ | PROT_WRITE) == 0 &&
           mprotect(at + bytes, pad, PROT_READ | PROT_WRITE) == 0;
  }
  if (good) return {};
  return no_memory();
}

void Cluster::start(std::uint64_t number) {
  odd_ = false;
  for (std::uint32_t r = 0; r < size(); ++r) {
    done_[r] = false;
    blocks_[r]->start(number * size() + r);
  }
}

BlockState::Progress Cluster::run() {
  bool all = true, any = false;
  for (std::uint32_t r = 0; r < size(); ++r) {
    if (done_[r]) continue;
    switch (blocks_[r]->run()) {
      case BlockState::Progress::failed: return BlockState::Progress::failed;
      case BlockState::Progress::done:
        done_[r] = true;
        any = true;
        break;
      case BlockState::Progress::stalled: all = false; break;
    }
  }
  if (all) return BlockState::Progress::done;
  // One that has ended may be what the others wait for.
  return any ? run() : BlockState::Progress::stalled;
}

bool Cluster::contains(std::uint64_t address, std::uint64_t shared_bytes) const {
  return std::any_of(blocks_.begin(), blocks_.end(), [&](const auto& block) {
    std::uint64_t offset = address - block->window_address();
    if (offset >= kClusterStride && offset < kClusterStride * (size() + 1)) offset %= kClusterStride;
    return offset < shared_bytes;
  });
}

void Cluster::advance() {
  for (const auto& block : blocks_)
    if (!block->all_arrived()) return;
  odd_ = !odd_;
  for (const auto& block : blocks_) block->forget_arrivals();
}

bool BlockState::in_shared(std::uint64_t address) const {
  return cluster_ == nullptr ? in_own_shared(address) : cluster_->contains(address, grid_->shared_bytes);
}

std::uint64_t BlockState::offset_in_cluster(std::uint64_t offset, std::uint32_t rank) const {
  if (cluster_ == nullptr) return offset;
  if (offset >= kClusterStride && offset < kClusterStride * (cluster_blocks() + 1)) offset %= kClusterStride;
  return offset + kClusterStride * (rank + 1);
}

std::uint32_t BlockState::rank_of_offset(std::uint64_t offset) const {
  if (cluster_ == nullptr || offset < kClusterStride || offset >= kClusterStride * (cluster_blocks() + 1)) return rank_;
  return static_cast<std::uint32_t>(offset / kClusterStride) - 1;
}

bool BlockState::odd_phase() const { return cluster_ == nullptr ? odd_phase_ : cluster_->odd_phase(); }

void BlockState::advance_cluster() {
  if (cluster_ != nullptr) return cluster_->advance();
  if (!all_arrived()) return;
  odd_phase_ = !odd_phase_;
  forget_arrivals();
}

bool BlockState::all_arrived() const {
  for (std::uint32_t w = 0; w < warp_count_; ++w)
    if (state_[w] != WarpState::done && (warps_[w].live & ~warps_[w].cluster_arrived) != 0) return false;
  return true;
}

void BlockState::forget_arrivals() {
  for (std::uint32_t w = 0; w < warp_count_; ++w) warps_[w].cluster_arrived = 0;
}

void work_on_clusters(Grid& grid, unsigned thread) {
  std::vector<std::uint64_t> counters(grid.counters.size(), 0);
  std::vector<std::unique_ptr<Cluster>> active, idle;
  BlockRange range;
  bool want_new = true;
  std::size_t turn = 0, stalls = 0;
  while (!grid.failed.load(std::memory_order_relaxed)) {
    if (want_new && (range.first < range.end || grid.queue.take(thread, range))) {
      std::unique_ptr<Cluster> cluster;
      if (!idle.empty()) {
        cluster = std::move(idle.back());
        idle.pop_back();
      } else {
        cluster = std::make_unique<Cluster>();
        if (auto ok = cluster->bind(grid, counters.empty() ? nullptr : counters.data(), thread); !ok) {
          grid.fail(std::move(ok.error()));
          break;
        }
      }
      cluster->start(range.first++);
      active.push_back(std::move(cluster));
      turn = active.size() - 1;
      want_new = false;
    }
    if (active.empty()) break;
    if (turn >= active.size()) turn = 0;
    const BlockState::Progress p = active[turn]->run();
    if (p == BlockState::Progress::failed) break;
    if (p == BlockState::Progress::done) {
      idle.push_back(std::move(active[turn]));
      active.erase(active.begin() + static_cast<std::ptrdiff_t>(turn));
      want_new = active.empty();
      stalls = 0;
      continue;
    }
    ++turn;
    // Blocks wait for each other often; only a cluster that waits for long may wait for another one.
    if (++stalls % 64 == 0) {
      want_new = true;
      usleep(0);
    }
  }
  if (counters.empty()) return;
  const std::lock_guard lock(grid.mutex);
  for (std::size_t i = 0; i < counters.size(); ++i) grid.counters[i] += counters[i];
}

}  // namespace warploom::device

extern "C" {

std::int32_t warploom_cluster_arrive(warploom::codegen::WarpContext* c, std::uint64_t*, std::uint32_t mask,
                                     std::uint64_t, std::uint64_t) {
  auto* block = static_cast<warploom::device::BlockState*>(c->block);
  c->cluster_parity = (c->cluster_parity & ~mask) | (block->odd_phase() ? mask : 0);
  c->cluster_arrived |= mask;
  return 1;
}

// Lanes whose phase of the cluster's barrier is over.
std::uint32_t warploom_cluster_ready(warploom::codegen::WarpContext* c) {
  auto* block = static_cast<warploom::device::BlockState*>(c->block);
  block->advance_cluster();
  return block->odd_phase() ? ~c->cluster_parity : c->cluster_parity;
}

}  // extern "C"

// A thread block in flight: its shared window, the state of its warps, and the loop that runs them between barriers.
#pragma once

#include <array>
#include <atomic>
#include <csetjmp>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "codegen/jit.hpp"
#include "device/cpu/peers.hpp"
#include "device/cpu/pool.hpp"
#include "device/device.hpp"
#include "interp/program.hpp"

namespace warploom::device {

class CpuDevice;
class Cluster;

// Places of blocks in a grid by number. Row by row, or in square tiles whose blocks use the same rows and columns.
class BlockOrder {
 public:
  BlockOrder() = default;
  BlockOrder(const std::array<std::uint32_t, 3>& grid, bool tiled);
  [[nodiscard]] std::array<std::uint32_t, 3> place(std::uint64_t number) const;
  // Blocks of one cluster after the other, x first in both.
  void in_clusters(const std::array<std::uint32_t, 3>& cluster) {
    cluster_ = cluster;
    clustered_ = true;
  }

 private:
  std::array<std::uint32_t, 3> cluster_{1, 1, 1};
  bool clustered_ = false;
  std::uint64_t x_ = 1, y_ = 1;
  bool line_ = true, tiled_ = false;
};

// One launch while it runs; shared by all workers.
struct Grid {
  codegen::KernelCode* code = nullptr;
  CpuDevice* device = nullptr;
  Tier tier = Tier::compiled;
  std::function<const interp::Program*()> program;    // for another tier
  std::function<codegen::KernelCode*()> loop_code;    // for blocks that stay in loops of the interpreter
  double interpreted_from = 0, interpreted_used = 0;  // clocks of the thread that interprets when it began
  const Launch* launch = nullptr;
  const std::byte* params = nullptr;
  std::uint32_t shared_bytes = 0;  // static and dynamic, as laid out
  std::uint64_t blocks = 0;
  std::uint64_t id = 0;
  std::uint32_t stream_from = 0;  // WarpContext::stream_from
  bool start_conservative = false;
  AddressRanges forbidden;  // of other devices, in code that checks accesses
  bool one_by_one = false;  // blocks may wait for each other: they are begun in order, and none before it is needed
  std::array<std::uint32_t, 3> cluster{1, 1, 1};
  std::uint32_t cluster_blocks = 1;  // of a launch with clusters; `blocks` then counts clusters
  bool in_clusters = false;
  std::uint64_t workspace = 0;  // WarpContext::workspace
  BlockOrder order;
  BlockQueue queue;  // what nobody has begun
  WorkerPool::LateCall* late = nullptr;
  WorkerPool* pool = nullptr;
  std::int32_t priority = 0;  // of its stream: lower is more urgent
  std::atomic<bool> failed{false};
  std::mutex mutex;
  std::optional<Diag> error;            // the first one
  std::vector<std::uint64_t> counters;  // merged under the mutex
  codegen::GlobalResolver resolve;      // of module variables, for a replay

  void fail(Diag d);
};

// Memory faults inside generated code, caught by the signal handler of faults.cpp.
struct FaultPoint {
  sigjmp_buf jump;
  void* address = nullptr;
  void* pc = nullptr;
};
void install_fault_handler();
void arm_fault_point(FaultPoint* point);  // of this thread; nullptr disarms

// What an access without a closed form cost. It depends on what stands here and on the first address modulo 32, so a
// memo is never out of date.
struct PatternMemo {
  std::uint32_t distance[32];  // of the active lanes' addresses from the first one's, 0 for the others
  std::uint32_t mask;          // active lanes
  std::uint32_t what, bytes;   // space and kind of the access, see warploom_count
  std::uint8_t ideal;
  std::uint8_t amount[32];  // sectors or wavefronts by first address modulo 32, 0: not known
};

class BlockState {
 public:
  BlockState();
  ~BlockState();
  BlockState(const BlockState&) = delete;
  BlockState& operator=(const BlockState&) = delete;

  // Prepares for blocks of a grid. `counters`: of this worker, may be null.
  Result<void> bind(Grid& grid, std::uint64_t* counters, unsigned thread = 0);
  // Would bind() find its contexts as they were left by a launch of the same code with the same block shape?
  [[nodiscard]] bool laid_out_for(const Grid& grid) const {
    return laid_out_for_ == grid.code->id() && laid_out_block_ == grid.launch->block;
  }
  // Prepares for a block of the grid it is bound to.
  void start(std::uint64_t number);

  using Exit = codegen::Exit;
  enum class Progress { done, stalled, failed };
  // Runs warps until the block is done, or all of them only wait for other blocks.
  Progress run();
  // Starts and runs blocks one after the other, until one is not done at once. Takes the begun ones off the range.
  Progress run(BlockRange& range);

  // Of the thread `lane` of warp `w`: "block (1,0,0), thread (5,2,0)".
  [[nodiscard]] std::string where(std::uint32_t warp, std::uint32_t lane) const;
  [[nodiscard]] std::string where_warp(std::uint32_t warp) const;
  // Is the address inside memory that belongs to this block: shared window, local memory, parameters?
  [[nodiscard]] bool owns(std::uint64_t address, std::size_t bytes) const;
  [[nodiscard]] bool in_shared(std::uint64_t address) const;  // of any block of the cluster
  [[nodiscard]] bool in_own_shared(std::uint64_t address) const;
  [[nodiscard]] bool in_local(std::uint64_t address) const;

  // The cluster this block belongs to: how many blocks, and where their shared memory lies in this block's window.
  void join(Cluster& cluster, std::uint32_t rank) {
    cluster_ = &cluster;
    rank_ = rank;
  }
  [[nodiscard]] std::uint32_t cluster_blocks() const { return cluster_ == nullptr ? 1 : grid_->cluster_blocks; }
  [[nodiscard]] std::uint64_t offset_in_cluster(std::uint64_t offset, std::uint32_t rank) const;
  [[nodiscard]] std::uint32_t rank_of_offset(std::uint64_t offset) const;
  [[nodiscard]] std::uint64_t window_address() const { return reinterpret_cast<std::uint64_t>(window_); }
  // Its barrier; a block without a cluster is one of its own.
  [[nodiscard]] bool odd_phase() const;
  void advance_cluster();
  [[nodiscard]] bool all_arrived() const;
  void forget_arrivals();

  Grid& grid() { return *grid_; }
  // Called by generated code.
  void arrive(std::int32_t id, std::int32_t threads, std::uint32_t mask);
  std::int32_t run_part(codegen::WarpContext& c, std::int32_t reason);
  void fail_at(std::uint32_t warp, std::uint32_t mask, ErrorId id, std::string what, std::string remedy,
               ir::BlockId block, std::size_t inst);

  // Where a count is remembered, by a hash of what it depends on; only with counters.
  PatternMemo& pattern_memo(std::uint64_t hash) { return pattern_memos_[hash % kPatternMemos]; }

  // The instruction for which a native function accesses memory; its faults are the instruction's.
  std::optional<codegen::CodePlace> native_place;

  // Memory checker state of a replay, see faults.cpp.
  std::uint64_t fault_address = 0;
  std::optional<Diag> check_error;

 private:
  enum class WarpState : std::uint8_t { ready, waiting, done };
  struct Barrier {
    std::uint32_t arrived = 0;   // threads
    std::uint32_t expected = 0;  // 0: all of the block
    bool any = false;
    std::uint32_t popc = 0;
    bool all_true = true, any_true = false;
  };

  void reset_warp(std::uint32_t w);
  void setup_warps();
  void setup_tids();
  Progress run_warps();
  Progress run_guarded(BlockRange* range);
  std::uint32_t run_rounds(codegen::Exit& exit);
  std::int32_t step(std::uint32_t w);
  void place_warp(codegen::WarpContext& c);
  codegen::Exit run_block_version();
  void split_block(std::uint32_t stopped);
  void set_block_values(codegen::WarpContext& c, const std::byte* area);
  void let_go_on(codegen::WarpContext& c);
  void choose_tier(std::uint32_t w);
  codegen::CodeEntry compiled(std::uint32_t w);
  codegen::CodeEntry entry_of(codegen::Mode mode);
  std::optional<Exit> interpret(std::uint32_t w);
  bool may_interpret();
  bool interprets(codegen::Mode mode);
  [[nodiscard]] bool leaves_cores_alone() const;
  bool toss();
  bool release_barriers();
  void convert_to_conservative(codegen::WarpContext& c);
  void report_fault(const FaultPoint& fault);

  static constexpr std::size_t kPatternMemos = 256;
  std::unique_ptr<PatternMemo[]> pattern_memos_;

  Grid* grid_ = nullptr;
  std::uint64_t number_ = 0;  // of the block being run
  std::byte* reserve_ =
      nullptr;  // 4 GiB of address space; the window is in its middle, so that any 32-bit offset faults cleanly
  std::byte* window_ = nullptr;
  std::size_t committed_ = 0;
  std::vector<std::byte> local_;
  std::byte* local_base_ = nullptr;
  codegen::WarpContext* warps_ = nullptr;
  std::unique_ptr<std::byte[]> warp_storage_;
  std::size_t warp_storage_bytes_ = 0;
  std::array<WarpState, 32> state_{};
  std::array<codegen::Mode, 32> mode_{};
  std::array<bool, 32> interpreted_{};  // the warp is run by the interpreter; its mode is conservative
  interp::Interpreter interpreter_;
  const interp::Program* program_ = nullptr;
  codegen::KernelCode* loop_code_ = nullptr;
  std::array<bool, 32> in_loop_code_{};  // the warp has gone to loop_code_ and uses that for the uniform version
  bool helps_ = false;                   // on a thread that did not launch
  bool asked_ = false;                   // for the program
  std::uint32_t tosses_ = 0;
  std::uint32_t warp_count_ = 0, threads_ = 0;
  std::array<std::uint32_t, 3> place_{};  // of the block being run
  bool has_block_version_ = false;        // and the block has a full warp
  bool plain_ = false;                    // rounds from barrier to barrier need no bookkeeping
  bool irregular_ = false;  // some warp left the regular course: all state must be reset before the next block
  std::array<Barrier, 16> barriers_{};
  std::uint32_t current_ = 0;  // warp being run
  Cluster* cluster_ = nullptr;
  std::uint32_t rank_ = 0;
  bool odd_phase_ = false;  // of the barrier of a cluster of its own
  bool fresh_ = false;      // no warp has begun
  bool in_block_version_ = false;
  codegen::Exit part_exit_{};       // how the warp ended that split the block
  std::uint64_t laid_out_for_ = 0;  // KernelCode::id
  std::array<std::uint32_t, 3> laid_out_block_{};
};

// Runs all blocks of the grid that are left, on the calling thread, which is number `thread` of those that do.
void work_on(Grid& grid, unsigned thread);

// The functions that generated code calls, by name.
std::span<const codegen::HostSymbol> host_symbols();

}  // namespace warploom::device

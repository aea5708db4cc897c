// What generated code and the scheduler share: the state of one warp, and the codes a region returns. No LLVM here.
#pragma once

#include <cstddef>
#include <cstdint>

namespace warploom::codegen {

// Why a piece of generated code returned to the scheduler.
enum class Exit : std::int32_t {
  done = 0,             // all lanes have exited
  barrier = 1,          // all live lanes wait at a barrier of the block; see WarpContext::barrier_*
  yield = 2,            // a spin loop went round: let other warps and blocks run
  to_masked = 3,        // lanes diverged: go on in the masked version
  to_uniform = 4,       // all lanes are together again: go on in the uniform version
  to_conservative = 5,  // a lane pattern wrapped: go on in the version without patterns
  error = 6,            // trap, assert: the block's error is set
  split = 7,            // of the block version: its warps go on one by one, WarpContext::running stopped it
};

// Versions of a kernel. The block version runs all warps of a block, the others one warp.
enum class Mode : std::int32_t { uniform = 0, masked = 1, conservative = 2, block = 3 };
inline constexpr std::size_t kModes = 4;
constexpr const char* name_of(Mode mode) {
  constexpr const char* kNames[kModes] = {"uniform", "masked", "conservative", "block"};
  return kNames[static_cast<std::size_t>(mode)];
}

// Where code is entered, WarpContext::entry. Values >= 0 name a block: its live-in values are in the save area.
// kEntryResume: all values are in the save area and the lane masks say where each lane stands.
inline constexpr std::int32_t kEntryResume = -1;
inline constexpr std::int32_t kEntryDone = INT32_MIN;  // of the block version: the warp has ended

// What warploom_run_part gives the block version: the block behind the barrier at which the warp waits, or one of
// these.
inline constexpr std::int32_t kPartDone = -1;
inline constexpr std::int32_t kPartSplit = -2;
inline constexpr std::int32_t kPartError = -3;

struct WarpContext {
  std::byte* shared = nullptr;               // window of the block's shared memory
  std::byte* params = nullptr;               // parameter buffer of the launch
  std::byte* local = nullptr;                // lane i's local memory begins at local + i * local_bytes
  std::byte* slots = nullptr;                // save area of the uniform and masked versions
  std::byte* wide_slots = nullptr;           // save area of the conservative version: every value 32 lanes wide
  std::uint32_t* pending = nullptr;          // by block: lanes that continue there
  std::uint32_t* barrier_pending = nullptr;  // by block: lanes that continue there after the block's barrier
  std::uint32_t* sync_pending = nullptr;     // by block: lanes that wait there for other lanes of the warp
  std::uint64_t* counters = nullptr;         // of this worker, see Counters
  std::byte* block_in = nullptr;   // block version: values common to all warps, as warps not yet run need them
  std::byte* block_out = nullptr;  // and as warps that have come to the next barrier need them
  void* block = nullptr;           // the scheduler's block
  std::int32_t entry = 0;
  std::uint32_t live = 0;        // lanes that exist and have not exited
  std::uint32_t at_barrier = 0;  // lanes that wait at the block's barrier
  std::int32_t barrier_id = 0;
  std::int32_t barrier_threads = 0;  // threads the barrier waits for, 0: all of the block
  std::uint32_t barrier_true = 0;    // lanes that brought a true predicate to bar.red
  std::uint32_t barrier_popc = 0, barrier_and = 0, barrier_or = 0;  // results of bar.red
  std::uint32_t transitions = 0;                                    // from uniform to masked, in this block
  std::uint32_t force_sync = 0;  // let lanes pass a warp-level wait that can never be met
  std::uint32_t spins = 0;
  std::uint32_t interpreted = 0;  // barriers that the interpreter has come to
  std::uint32_t parted = 0;       // block version: the warp cannot go on in it
  std::uint32_t running = 0;      // of the first warp: the one that the block version runs
  std::int32_t region_entry = 0;  // of the first warp: the block where warps that have not run begin
  std::uint32_t ctaid[3] = {}, nctaid[3] = {}, ntid[3] = {};
  std::uint32_t warp = 0, warps = 0;
  std::uint32_t stream_from = 0;  // stores of so many bytes by each thread of the grid do not fit into the caches
  std::uint32_t shared_bytes = 0, dynamic_shared_bytes = 0;
  std::uint32_t smid = 0;
  std::uint64_t grid_id = 0;
  std::uint64_t workspace = 0;  // of a cooperative grid, for its barrier; %envreg1 and %envreg2
  std::uint32_t clusterid[3] = {}, nclusterid[3] = {}, cluster_ctaid[3] = {}, cluster_nctaid[3] = {};
  std::uint32_t cluster_rank = 0, cluster_blocks = 1, explicit_cluster = 0;
  std::uint32_t cluster_arrived = 0;               // lanes that have come to the cluster's barrier and not left it
  std::uint32_t cluster_parity = 0;                // by lane: of the barrier's phase when it came
  std::uint32_t total_shared = 0, all_shared = 0;  // rounded, without and with what the system keeps
  std::uint32_t sm_count = 1, warps_per_sm = 1;
  std::uint32_t tid_base[3] = {};  // what is left of %tid after its lane pattern is taken off
  alignas(64) std::uint32_t tid[3][32] = {};
};

using CodeEntry = std::int32_t (*)(WarpContext*);

}  // namespace warploom::codegen

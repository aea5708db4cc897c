// Warps of a block: entering versions, barriers, yields.
#include "device/cpu/block.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "device/cpu/cluster.hpp"
#include "device/cpu/cpu_device.hpp"

namespace warploom::device {

using codegen::Exit;
using codegen::Mode;
using codegen::WarpContext;

namespace {

// Generated code expects rounding to nearest and denormal numbers; a thread that waits may have asked for something
// else for itself.
class StandardFloatMode {
 public:
#if defined(__x86_64__)
  StandardFloatMode() : before_(__builtin_ia32_stmxcsr()) {
    if ((before_ & kModes) != kStandard) __builtin_ia32_ldmxcsr(kStandard);
  }
  ~StandardFloatMode() {
    if ((before_ & kModes) != kStandard) __builtin_ia32_ldmxcsr(before_);
  }
#elif defined(__aarch64__)
  StandardFloatMode() : before_(__builtin_aarch64_get_fpcr()) {
    if (before_ != 0) __builtin_aarch64_set_fpcr(0);
  }
  ~StandardFloatMode() {
    if (before_ != 0) __builtin_aarch64_set_fpcr(before_);
  }
#endif
  StandardFloatMode(const StandardFloatMode&) = delete;
  StandardFloatMode& operator=(const StandardFloatMode&) = delete;

 private:
  static constexpr unsigned kModes = 0xFFC0, kStandard = 0x1F80;  // of MXCSR, without the sticky flags
  unsigned before_ = 0;
};

constexpr std::size_t kIdleStates = 16;  // of a thread, kept for later launches

// Stores that pass the caches by are not ordered like others.
void finish_streams() {
#if defined(__x86_64__)
  __builtin_ia32_sfence();
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

constexpr std::size_t kHalfWindow = 2ULL << 30;
constexpr std::size_t kPad = 4096;  // either side of the window: whole-vector loads of inactive lanes may touch it

std::size_t round_up(std::size_t x, std::size_t to) { return (x + to - 1) / to * to; }

}  // namespace

void Grid::fail(Diag d) {
  const std::lock_guard lock(mutex);
  if (!error) error = std::move(d);
  failed.store(true, std::memory_order_release);
}

BlockState::BlockState() = default;

BlockState::~BlockState() {
  if (reserve_ != nullptr) munmap(reserve_, 2 * kHalfWindow);
}

Result<void> BlockState::bind(Grid& grid, std::uint64_t* counters, unsigned thread) {
  helps_ = thread != 0;
  grid_ = &grid;
  program_ = nullptr;
  loop_code_ = nullptr;
  asked_ = grid.tier == Tier::compiled;
  tosses_ = 0;
  const codegen::KernelPlan& plan = grid.code->plan();
  const Launch& launch = *grid.launch;
  if (counters != nullptr && !pattern_memos_) pattern_memos_ = std::make_unique<PatternMemo[]>(kPatternMemos);
  threads_ = launch.block[0] * launch.block[1] * launch.block[2];
  warp_count_ = (threads_ + 31) / 32;
  plain_ = plan.plain_barriers || plan.f().barriers == 0;
  has_block_version_ = threads_ >= 32 && !grid.start_conservative && plan.has_block_version();
  irregular_ = true;

  if (reserve_ == nullptr) {
    void* at = mmap(nullptr, 2 * kHalfWindow, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) {
      Diag d;
      d.id = ErrorId::out_of_memory;
      d.what = "the host has no address space left for another resident block";
      d.remedy = "launch fewer blocks that wait for each other";
      return d;
    }
    reserve_ = static_cast<std::byte*>(at);
    window_ = reserve_ + kHalfWindow;
  }
  const std::size_t need = round_up(grid.shared_bytes, kPad) + kPad;
  if (committed_ < need) {
    mprotect(window_ - kPad, kPad + need, PROT_READ | PROT_WRITE);
    committed_ = need;
  }
  if (cluster_ != nullptr) WL_TRY(cluster_->map(rank_, window_, round_up(std::max(grid.shared_bytes, 1U), kPad)));
  const std::size_t local = std::size_t{plan.f().local_bytes} * warp_count_ * 32 + 128;
  if (local_.size() < local) {
    local_.resize(local);
    laid_out_for_ = 0;
  }
  local_base_ = reinterpret_cast<std::byte*>(round_up(reinterpret_cast<std::uintptr_t>(local_.data()), 64));

  if (!laid_out_for(grid)) setup_warps();
  for (std::uint32_t w = 0; w < warp_count_; ++w) {
    WarpContext& c = warps_[w];
    c.params = const_cast<std::byte*>(grid.params);
    c.counters = counters;
    for (int i = 0; i < 3; ++i) c.nctaid[i] = launch.grid[static_cast<std::size_t>(i)];
    c.grid_id = grid.id;
    c.stream_from = grid.stream_from;
    c.shared_bytes = grid.shared_bytes;
    for (std::size_t i = 0; i < 3; ++i) {
      c.cluster_nctaid[i] = grid.cluster[i];
      c.nclusterid[i] = launch.grid[i] / grid.cluster[i];
    }
    c.cluster_blocks = grid.cluster_blocks;
    c.explicit_cluster = grid.in_clusters ? 1 : 0;
    c.workspace = grid.workspace;
    const isa::GpuProfile& profile = grid.device->profile();
    c.total_shared = static_cast<std::uint32_t>(round_up(grid.shared_bytes, 128));
    c.all_shared = grid.shared_bytes + profile.reserved_shared_per_block;
    c.sm_count = profile.sm_count;
    c.warps_per_sm = profile.threads_per_sm / 32;
    c.dynamic_shared_bytes = launch.shared_bytes;
  }
  return {};
}

void BlockState::reset_warp(std::uint32_t w) {
  WarpContext& c = warps_[w];
  const std::uint32_t lanes = std::min(32U, threads_ - w * 32);
  c.entry = 0;
  c.live = lanes == 32 ? 0xFFFFFFFF : (1U << lanes) - 1;
  c.cluster_arrived = c.cluster_parity = 0;
  c.at_barrier = c.barrier_true = c.transitions = c.interpreted = c.force_sync = c.spins = 0;
  state_[w] = WarpState::ready;
  mode_[w] = grid_->start_conservative ? Mode::conservative : lanes == 32 ? Mode::uniform : Mode::masked;
  choose_tier(w);
  if (mode_[w] != Mode::uniform) c.pending[0] = c.live;
  c.parted = lanes == 32 ? 0 : 1;
}

void BlockState::place_warp(WarpContext& c) {
  const auto& cluster = grid_->cluster;
  for (std::size_t i = 0; i < 3; ++i) c.ctaid[i] = c.clusterid[i] = place_[i];
  if (!grid_->in_clusters) return;
  for (std::size_t i = 0; i < 3; ++i) {
    c.clusterid[i] = place_[i] / cluster[i];
    c.cluster_ctaid[i] = place_[i] % cluster[i];
  }
  c.cluster_rank = c.cluster_ctaid[0] + cluster[0] * (c.cluster_ctaid[1] + cluster[1] * c.cluster_ctaid[2]);
}

void BlockState::start(std::uint64_t number) {
  number_ = number;
  place_ = grid_->order.place(number);
  fresh_ = has_block_version_ && !interprets(Mode::block);
  // The block version asks for nothing but the place, as long as no warp leaves it.
  if (fresh_ && !irregular_) {
    place_warp(warps_[0]);
    if (threads_ % 32 != 0) reset_warp(warp_count_ - 1);
    return;
  }
  for (std::uint32_t w = 0; w < warp_count_; ++w) {
    warps_[w].entry = 0;
    place_warp(warps_[w]);
  }
  if (irregular_) {
    // Only a warp that never leaves the version for full warps stays as it is.
    irregular_ = !fresh_ && (grid_->start_conservative || grid_->code->plan().spins || grid_->tier > Tier::compiled);
    for (std::uint32_t w = 0; w < warp_count_; ++w) reset_warp(w);
    if (grid_->code->plan().f().barriers != 0) barriers_.fill({});
  } else if (threads_ % 32 != 0) {
    reset_warp(warp_count_ - 1);
  }
}

void BlockState::setup_warps() {
  const codegen::KernelPlan& plan = grid_->code->plan();
  const std::size_t blocks = plan.f().blocks.size();
  const std::size_t masks = round_up(blocks * 4, 64);
  const std::size_t slots = round_up(plan.slot_bytes, 64), wide = round_up(plan.wide_slot_bytes, 64);
  const std::size_t context = round_up(sizeof(WarpContext), 64);
  const std::size_t each = context + slots + 3 * masks;
  const std::size_t common = round_up(plan.block_slot_bytes, 64);
  const std::size_t total = (each + wide) * warp_count_ + 2 * common + 128;
  if (warp_storage_bytes_ < total) {
    warp_storage_ = std::make_unique_for_overwrite<std::byte[]>(total);
    warp_storage_bytes_ = total;
  }
  auto at = reinterpret_cast<std::uintptr_t>(warp_storage_.get());
  auto* base = reinterpret_cast<std::byte*>(round_up(at, 64));
  // Contexts first, so that they index as an array; save areas that are rarely used last.
  warps_ = reinterpret_cast<WarpContext*>(base);
  std::byte* rest = base + context * warp_count_;
  static_assert(sizeof(WarpContext) % 64 == 0);
  std::byte* block_in = rest + (slots + 3 * masks) * warp_count_;
  std::byte* wide_rest = block_in + 2 * common;
  for (std::uint32_t w = 0; w < warp_count_; ++w) {
    auto* c = new (&warps_[w]) WarpContext();
    c->slots = rest;
    c->pending = reinterpret_cast<std::uint32_t*>(rest + slots);
    c->barrier_pending = reinterpret_cast<std::uint32_t*>(rest + slots + masks);
    c->sync_pending = reinterpret_cast<std::uint32_t*>(rest + slots + 2 * masks);
    std::memset(rest + slots, 0, 3 * masks);
    rest += slots + 3 * masks;
    c->wide_slots = wide_rest + wide * w;
    c->block_in = block_in;
    c->block_out = block_in + common;
    c->block = this;
    c->shared = window_;
    c->local = local_base_ + std::size_t{w} * 32 * plan.f().local_bytes;
    c->warp = w;
    c->warps = warp_count_;
    for (std::size_t i = 0; i < 3; ++i) c->ntid[i] = grid_->launch->block[i];
  }
  setup_tids();
  laid_out_for_ = grid_->code->id();
  laid_out_block_ = grid_->launch->block;
  irregular_ = true;
}

void BlockState::setup_tids() {
  const auto& block = grid_->launch->block;
  const passes::BlockShape shape = passes::BlockShape::of(block);
  std::array<ir::Shape, 3> tid{shape.tid(0), shape.tid(1), shape.tid(2)};
  for (std::uint32_t w = 0; w < warp_count_; ++w) {
    WarpContext& c = warps_[w];
    for (std::uint32_t l = 0; l < 32; ++l) {
      const std::uint32_t t = w * 32 + l;
      c.tid[0][l] = t % block[0];
      c.tid[1][l] = t / block[0] % block[1];
      c.tid[2][l] = t / block[0] / block[1];
    }
    for (std::size_t a = 0; a < 3; ++a)
      c.tid_base[a] = c.tid[a][0] - (tid[a].linear() ? static_cast<std::uint32_t>(tid[a].terms[0].pattern[0]) : 0U);
  }
}

// The other versions keep scalars where the conservative one keeps lanes.
void BlockState::convert_to_conservative(WarpContext& c) {
  const codegen::KernelPlan& plan = grid_->code->plan();
  const auto scalar = [&](std::size_t v) {
    std::uint64_t x = 0;
    std::memcpy(&x, c.slots + plan.slots[v].offset,
                plan.storage[v] == isa::Type::pred ? 4 : isa::bytes(plan.storage[v]));
    return x;
  };
  for (std::size_t v = 0; v < plan.crosses.size(); ++v) {
    if (!plan.crosses[v]) continue;
    const ir::Shape& s = plan.prepared.shapes.of[v];
    const unsigned bytes = isa::bytes(plan.storage[v]);
    std::byte* to = c.wide_slots + plan.wide_slots[v].offset;
    if (s.varying()) {
      std::memcpy(to, c.slots + plan.slots[v].offset, plan.wide_slots[v].bytes);
      continue;
    }
    const std::uint64_t base = scalar(v);
    if (plan.storage[v] == isa::Type::pred) {
      // A uniform predicate of the conservative version is a scalar too, and reads the lowest bit of the mask.
      const std::uint32_t mask = (base & 1) != 0 ? 0xFFFFFFFF : 0;
      std::memcpy(to, &mask, 4);
      continue;
    }
    for (std::size_t l = 0; l < 32; ++l) {
      std::uint64_t x = base;
      for (const ir::Term& t : s.terms) {
        std::uint64_t factor = 1;
        if (t.mult >= 0) {
          factor = scalar(static_cast<std::size_t>(t.mult));
          if (t.widen == 1 && isa::bits(plan.storage[static_cast<std::size_t>(t.mult)]) == 32)
            factor = static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(factor)));
        }
        x += factor * static_cast<std::uint64_t>(t.pattern[l]);
      }
      std::memcpy(to + l * bytes, &x, bytes);
    }
  }
}

std::int32_t BlockState::step(std::uint32_t w) {
  WarpContext& c = warps_[w];
  current_ = w;
  for (;;) {
    if (interpreted_[w]) {
      if (const auto exit = interpret(w)) return static_cast<std::int32_t>(*exit);
      continue;
    }
    const codegen::CodeEntry code = compiled(w);
    if (code == nullptr) {
      if (interpreted_[w]) continue;
      return static_cast<std::int32_t>(Exit::error);
    }
    const std::int32_t exit = code(&c);
    switch (static_cast<Exit>(exit)) {
      case Exit::to_masked:
        mode_[w] = Mode::masked;
        irregular_ = true;
        ++c.transitions;
        continue;
      case Exit::to_uniform: mode_[w] = Mode::uniform; continue;
      case Exit::to_conservative:
        mode_[w] = Mode::conservative;
        irregular_ = true;
        convert_to_conservative(c);
        c.entry = codegen::kEntryResume;
        continue;
      default: return exit;
    }
  }
}

// The warp leaves a barrier.
void BlockState::let_go_on(WarpContext& c) {
  c.at_barrier = 0;
  for (std::size_t k = 0; k < grid_->code->plan().f().blocks.size(); ++k) {
    c.pending[k] |= c.barrier_pending[k];
    c.barrier_pending[k] = 0;
  }
}

// Runs one warp of the block version on its own to the next barrier; context.hpp says what comes back.
std::int32_t BlockState::run_part(WarpContext& c, std::int32_t reason) {
  const codegen::KernelPlan& plan = grid_->code->plan();
  const std::uint32_t w = c.warp;
  if (c.parted == 0) {
    mode_[w] = Mode::uniform;
    interpreted_[w] = false;
  }
  place_warp(c);
  irregular_ = true;
  switch (static_cast<Exit>(reason)) {
    case Exit::to_masked:
      mode_[w] = Mode::masked;
      ++c.transitions;
      break;
    case Exit::to_conservative:
      mode_[w] = Mode::conservative;
      convert_to_conservative(c);
      c.entry = codegen::kEntryResume;
      break;
    default:
      if (mode_[w] != Mode::uniform) let_go_on(c);
  }
  part_exit_ = static_cast<Exit>(step(w));
  if (part_exit_ == Exit::done) {
    c.entry = codegen::kEntryDone;
    return codegen::kPartDone;
  }
  if (part_exit_ == Exit::error || grid_->failed.load(std::memory_order_relaxed)) return codegen::kPartError;
  if (part_exit_ != Exit::barrier) return codegen::kPartSplit;
  std::int32_t next = c.entry;
  if (mode_[w] != Mode::uniform) {
    // Whole: every lane that lives waits, and all in one place.
    if (c.at_barrier != c.live) return codegen::kPartSplit;
    next = -1;
    for (std::size_t k = 0; k < plan.f().blocks.size(); ++k) {
      if (c.barrier_pending[k] == 0) continue;
      if (next >= 0) return codegen::kPartSplit;
      next = static_cast<std::int32_t>(k);
    }
  }
  const bool wide = mode_[w] == Mode::conservative;
  for (std::size_t v = 0; v < plan.block_uniform.size(); ++v)
    if (plan.block_uniform[v] && plan.crosses[v])
      std::memcpy(c.block_out + plan.block_slots[v].offset,
                  wide ? c.wide_slots + plan.wide_slots[v].offset : c.slots + plan.slots[v].offset,
                  plan.storage[v] == isa::Type::pred ? 4 : isa::bytes(plan.storage[v]));
  if (mode_[w] == Mode::masked && c.live == 0xFFFFFFFF) {
    c.barrier_pending[next] = 0;
    c.at_barrier = 0;
    c.entry = next;
    mode_[w] = Mode::uniform;
  }
  c.parted = mode_[w] == Mode::uniform ? 0 : 1;
  return next;
}

void BlockState::set_block_values(WarpContext& c, const std::byte* area) {
  const codegen::KernelPlan& plan = grid_->code->plan();
  for (std::size_t v = 0; v < plan.block_uniform.size(); ++v)
    if (plan.block_uniform[v] && plan.crosses[v])
      std::memcpy(c.slots + plan.slots[v].offset, area + plan.block_slots[v].offset, plan.block_slots[v].bytes);
}

// From the block version to warps of their own. Warps before `stopped` have come to a barrier or ended, those behind it
// stand at the start of the region.
void BlockState::split_block(std::uint32_t stopped) {
  irregular_ = true;
  for (std::uint32_t w = 0; w < warp_count_; ++w) {
    WarpContext& c = warps_[w];
    place_warp(c);
    if (w == stopped) continue;
    if (w > stopped && c.parted == 0) c.entry = warps_[0].region_entry;
    if (c.parted == 0) {
      mode_[w] = Mode::uniform;
      interpreted_[w] = false;
      set_block_values(c, w < stopped ? c.block_out : c.block_in);
    }
    if (c.entry == codegen::kEntryDone) {
      state_[w] = WarpState::done;
    } else if (c.parted == 0 && grid_->code->plan().lockstep[static_cast<std::size_t>(c.entry)]) {
      // Between two iterations of a loop, where of the versions for one warp only the masked one can be entered.
      mode_[w] = Mode::masked;
      c.pending[c.entry] |= c.live;
      c.entry = codegen::kEntryResume;
      state_[w] = WarpState::ready;
    } else if (w > stopped) {
      if (c.parted != 0) let_go_on(c);
      state_[w] = WarpState::ready;
    } else {
      state_[w] = WarpState::waiting;
      c.barrier_id = c.barrier_threads = 0;
      barriers_[0].any = true;
      barriers_[0].arrived += static_cast<std::uint32_t>(std::popcount(c.live));
    }
  }
}

Exit BlockState::run_block_version() {
  fresh_ = false;
  codegen::CodeEntry code = grid_->code->ready(Mode::block);
  if (code == nullptr) code = entry_of(Mode::block);
  if (code == nullptr) return Exit::error;
  in_block_version_ = true;
  const auto exit = static_cast<Exit>(code(warps_));
  in_block_version_ = false;
  return exit;
}

BlockState::Progress BlockState::run() { return run_guarded(nullptr); }
BlockState::Progress BlockState::run(BlockRange& range) { return run_guarded(&range); }

BlockState::Progress BlockState::run_guarded(BlockRange* range) {
  FaultPoint fault;
  if (sigsetjmp(fault.jump, 0) != 0) {
    arm_fault_point(nullptr);
    if (in_block_version_) current_ = warps_[0].running;
    in_block_version_ = false;
    report_fault(fault);
    laid_out_for_ = 0;  // lane masks are in an unknown state
    return Progress::failed;
  }
  arm_fault_point(&fault);
  Progress p = Progress::done;
  if (range == nullptr) {
    p = run_warps();
  } else {
    while (range->first < range->end && p == Progress::done && !grid_->failed.load(std::memory_order_relaxed)) {
      start(range->first++);
      p = run_warps();
    }
  }
  arm_fault_point(nullptr);
  if (p == Progress::failed) laid_out_for_ = 0;
  return p;
}

// Runs all warps from one plain barrier to the next and to the end, as long as all of them do the same. Gives the first
// warp that did something else, and what; those before it are noted as waiting or done. Gives warp_count_ when all are
// done.
std::uint32_t BlockState::run_rounds(Exit& exit) {
  for (;;) {
    const auto first = static_cast<Exit>(step(0));
    exit = first;
    std::uint32_t w = 0;
    if (first == Exit::done) {
      for (w = 1; w < warp_count_; ++w)
        if (exit = static_cast<Exit>(step(w)); exit != Exit::done) break;
      if (w == warp_count_) return w;
    } else if (first == Exit::barrier) {
      for (;;) {
        if (exit != Exit::barrier || mode_[w] != Mode::uniform || grid_->failed.load(std::memory_order_relaxed)) break;
        if (++w == warp_count_) break;
        exit = static_cast<Exit>(step(w));
      }
      if (w == warp_count_) continue;
    }
    irregular_ = true;
    for (std::uint32_t k = 0; k < w; ++k) state_[k] = first == Exit::done ? WarpState::done : WarpState::waiting;
    if (first == Exit::barrier && w != 0) {
      barriers_[0].any = true;
      barriers_[0].arrived += 32 * w;
    }
    return w;
  }
}

BlockState::Progress BlockState::run_warps() {
  std::uint32_t stopped = warp_count_;
  Exit stop = Exit::done;
  bool begun = false;
  if (fresh_) {
    stop = run_block_version();
    if (stop == Exit::done) return Progress::done;
    if (stop == Exit::error) return Progress::failed;
    stopped = warps_[0].running;
    stop = part_exit_;
    split_block(stopped);
    begun = true;
  }
  for (;; stopped = warp_count_, begun = false) {
    bool progress = begun, any_left = false;
    if (!begun && plain_ && (!irregular_ || std::all_of(state_.begin(), state_.begin() + warp_count_, [](WarpState s) {
          return s == WarpState::ready;
        }))) {
      stopped = run_rounds(stop);
      if (stopped == warp_count_) return Progress::done;
      progress = stopped != 0;
    }
    irregular_ = true;
    for (std::uint32_t w = 0; w < warp_count_; ++w) {
      if (state_[w] != WarpState::ready) {
        any_left = any_left || state_[w] == WarpState::waiting;
        continue;
      }
      const auto exit = w == stopped ? stop : static_cast<Exit>(step(w));
      if (exit == Exit::error || grid_->failed.load(std::memory_order_relaxed)) return Progress::failed;
      if (exit == Exit::done) {
        state_[w] = WarpState::done;
        progress = true;
        continue;
      }
      any_left = true;
      if (exit == Exit::yield) continue;
      progress = true;
      WarpContext& c = warps_[w];
      if (c.barrier_id < 0 || c.barrier_id >= 16) {
        fail_at(w, c.at_barrier, ErrorId::barrier_divergence, fmt::format("barrier {} does not exist", c.barrier_id),
                "PTX has barriers 0 to 15", 0, 0);
        return Progress::failed;
      }
      Barrier& b = barriers_[static_cast<std::size_t>(c.barrier_id)];
      const std::uint32_t lanes =
          mode_[w] == Mode::uniform ? 32 : static_cast<std::uint32_t>(std::popcount(c.at_barrier));
      b.any = true;
      // Barriers are counted in whole warps, as on hardware.
      b.arrived += c.barrier_threads != 0 ? 32 : lanes;
      if (c.barrier_threads != 0) b.expected = static_cast<std::uint32_t>(c.barrier_threads);
      const auto yes = static_cast<std::uint32_t>(std::popcount(c.barrier_true));
      b.popc += yes;
      b.all_true = b.all_true && yes == lanes;
      b.any_true = b.any_true || yes != 0;
      state_[w] = WarpState::waiting;
      // A barrier with a count is complete at once: who comes later belongs to the next round.
      if (b.expected != 0 && b.arrived >= b.expected) release_barriers();
    }
    if (!any_left) return Progress::done;
    if (release_barriers()) continue;
    if (progress) continue;
    bool any_ready = false;
    for (std::uint32_t w = 0; w < warp_count_; ++w) any_ready = any_ready || state_[w] == WarpState::ready;
    if (any_ready) return Progress::stalled;
    // All that are left wait, and no barrier is complete.
    std::string who;
    for (std::uint32_t w = 0; w < warp_count_; ++w)
      if (state_[w] == WarpState::waiting)
        who += fmt::format("{}warp {} at barrier {}", who.empty() ? "" : ", ", w, warps_[w].barrier_id);
    Diag d;
    d.id = ErrorId::barrier_divergence;
    d.what = "threads of a block wait for ever: " + who;
    d.where = fmt::format("kernel {}, block ({},{},{})", grid_->code->plan().f().name, warps_[0].ctaid[0],
                          warps_[0].ctaid[1], warps_[0].ctaid[2]);
    d.remedy = "let every thread of the block, or the number that the barrier names, reach the same barrier";
    grid_->fail(std::move(d));
    return Progress::failed;
  }
}

void BlockState::arrive(std::int32_t id, std::int32_t threads, std::uint32_t) {
  if (id < 0 || id >= 16) return;
  Barrier& b = barriers_[static_cast<std::size_t>(id)];
  b.any = true;
  b.arrived += 32;
  b.expected = static_cast<std::uint32_t>(threads);
  if (b.arrived >= b.expected) release_barriers();
}

bool BlockState::release_barriers() {
  std::uint32_t live = 0;
  for (std::uint32_t w = 0; w < warp_count_; ++w)
    if (state_[w] != WarpState::done) live += static_cast<std::uint32_t>(std::popcount(warps_[w].live));
  bool released = false;
  for (std::size_t id = 0; id < barriers_.size(); ++id) {
    Barrier& b = barriers_[id];
    if (!b.any) continue;
    const std::uint32_t needed = b.expected != 0 ? b.expected : live;
    if (b.arrived < needed) continue;
    for (std::uint32_t w = 0; w < warp_count_; ++w) {
      WarpContext& c = warps_[w];
      if (state_[w] != WarpState::waiting || c.barrier_id != static_cast<std::int32_t>(id)) continue;
      state_[w] = WarpState::ready;
      c.barrier_popc = b.popc;
      c.barrier_and = b.all_true ? 1 : 0;
      c.barrier_or = b.any_true ? 1 : 0;
      c.barrier_true = 0;
      if (mode_[w] != Mode::uniform) let_go_on(c);
    }
    b = {};
    released = true;
  }
  return released;
}

bool BlockState::in_own_shared(std::uint64_t address) const {
  const auto start = reinterpret_cast<std::uint64_t>(window_);
  return address >= start && address < start + grid_->shared_bytes;
}

bool BlockState::in_local(std::uint64_t address) const {
  const auto start = reinterpret_cast<std::uint64_t>(local_base_);
  return address >= start && address < start + local_.size();
}

bool BlockState::owns(std::uint64_t address, std::size_t bytes) const {
  const auto params = reinterpret_cast<std::uint64_t>(grid_->params);
  return (in_shared(address) && in_shared(address + bytes - 1)) ||
         (in_local(address) && in_local(address + bytes - 1)) ||
         (address >= params && address + bytes <= params + grid_->launch->params.size());
}

std::string BlockState::where(std::uint32_t warp, std::uint32_t lane) const {
  const WarpContext& c = warps_[warp];
  return fmt::format("kernel {}, block ({},{},{}), thread ({},{},{})", grid_->code->plan().f().name, place_[0],
                     place_[1], place_[2], c.tid[0][lane], c.tid[1][lane], c.tid[2][lane]);
}

std::string BlockState::where_warp(std::uint32_t warp) const {
  const WarpContext& c = warps_[warp];
  const std::uint32_t last = std::min(31U, threads_ - warp * 32 - 1);
  return fmt::format("kernel {}, block ({},{},{}), one of threads ({},{},{}) to ({},{},{})",
                     grid_->code->plan().f().name, place_[0], place_[1], place_[2], c.tid[0][0], c.tid[1][0],
                     c.tid[2][0], c.tid[0][last], c.tid[1][last], c.tid[2][last]);
}

void BlockState::fail_at(std::uint32_t warp, std::uint32_t mask, ErrorId id, std::string what, std::string remedy,
                         ir::BlockId block, std::size_t inst) {
  Diag d;
  d.id = id;
  d.what = std::move(what);
  d.where = where(warp, mask == 0 ? 0 : static_cast<std::uint32_t>(std::countr_zero(mask)));
  d.remedy = std::move(remedy);
  const ir::Function& f = grid_->code->plan().f();
  const auto& insts = f.blocks[static_cast<std::size_t>(block)].insts;
  if (inst < insts.size()) {
    if (insts[inst].source >= 0)
      d.loc = f.sources[static_cast<std::size_t>(insts[inst].source)].loc;
    else
      d.loc = f.module->place(insts[inst].p.line);
  }
  grid_->fail(std::move(d));
}

void work_on(Grid& grid, unsigned thread) {
  const StandardFloatMode float_mode;
  if (grid.in_clusters) {
    work_on_clusters(grid, thread);
    finish_streams();
    return;
  }
  std::vector<std::uint64_t> counters(grid.counters.size(), 0);
  // States are kept for the next launch; each reserves address space.
  thread_local std::vector<std::unique_ptr<BlockState>> idle;
  // Blocks in flight: more than one only while some wait for others.
  std::vector<std::unique_ptr<BlockState>> active;
  BlockRange range;  // blocks taken from the grid and not begun
  const auto take = [&] {
    if (range.first < range.end) return true;
    if (!grid.one_by_one) grid.pool->help_more_urgent(grid.priority);
    if (!grid.queue.take(thread, range)) return false;
    if (thread == 0 && grid.late != nullptr) grid.late->consider(grid);
    return true;
  };
  const auto new_state = [&]() -> std::unique_ptr<BlockState> {
    std::unique_ptr<BlockState> b;
    // One that is laid out for this kernel, or a new one, or the one that was idle for the longest time.
    auto at = std::find_if(idle.begin(), idle.end(), [&](const auto& state) { return state->laid_out_for(grid); });
    if (at == idle.end() && idle.size() >= kIdleStates) at = idle.begin();
    if (at == idle.end()) {
      b = std::make_unique<BlockState>();
    } else {
      b = std::move(*at);
      idle.erase(at);
    }
    if (auto ok = b->bind(grid, counters.empty() ? nullptr : counters.data(), thread); !ok) {
      grid.fail(std::move(ok.error()));
      return nullptr;
    }
    return b;
  };
  const auto retire = [&](std::unique_ptr<BlockState> b) {
    if (idle.size() < kIdleStates) idle.push_back(std::move(b));
  };

  std::unique_ptr<BlockState> current;
  std::size_t turn = 0, stalls = 0;
  bool want_new = true;
  while (!grid.failed.load(std::memory_order_relaxed)) {
    // One block after the other, on one state, as long as none waits.
    if (want_new && take()) {
      if (current == nullptr) current = new_state();
      if (current == nullptr) break;
      switch (current->run(range)) {
        case BlockState::Progress::done: stalls = 0; break;
        case BlockState::Progress::failed: break;
        case BlockState::Progress::stalled: active.push_back(std::move(current)); break;
      }
      want_new = active.empty();
      continue;
    }
    if (active.empty()) break;
    if (turn >= active.size()) turn = 0;
    if (active[turn]->run() == BlockState::Progress::stalled) {
      ++turn;
      want_new = true;
      if (++stalls > 2 * active.size()) {
        usleep(0);
        stalls = 0;
      }
    } else {
      retire(std::move(active[turn]));
      active.erase(active.begin() + static_cast<std::ptrdiff_t>(turn));
      want_new = true;
      stalls = 0;
    }
  }
  finish_streams();
  if (current != nullptr) retire(std::move(current));
  for (auto& b : active) retire(std::move(b));
  if (!counters.empty()) {
    const std::lock_guard lock(grid.mutex);
    for (std::size_t i = 0; i < counters.size(); ++i) grid.counters[i] += counters[i];
  }
}

}  // namespace warploom::device

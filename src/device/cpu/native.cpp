// mbarriers, addresses of clusters and state spaces; what all functions for whole instructions share.
#include "device/cpu/native.hpp"

#include <fmt/format.h>

#include <cstring>

#include "codegen/counters.hpp"
#include "device/cpu/cpu_device.hpp"
#include "device/cpu/mbarrier.hpp"

using warploom::codegen::MbarrierOp;
using warploom::codegen::WarpContext;
using warploom::device::Mbarrier;
using warploom::device::NativeRun;

extern "C" {
std::uint32_t warploom_check(WarpContext* c, const std::uint64_t* addresses, std::uint32_t mask, std::uint32_t bytes,
                             std::uint32_t site);
void warploom_count(WarpContext* c, std::uint64_t* addresses, std::uint32_t mask, std::uint32_t bytes,
                    std::uint32_t what, std::uint64_t* to);
}

namespace warploom::device {

const ir::Inst& NativeRun::inst() const {
  const auto& blocks = block_.grid().code->plan().f().blocks;
  return blocks[place_ >> 32].insts[place_ & 0xFFFFFFFF];
}

bool NativeRun::fail(unsigned lane, ErrorId id, std::string what, std::string remedy) {
  block_.fail_at(c_.warp, 1U << lane, id, std::move(what), std::move(remedy), static_cast<ir::BlockId>(place_ >> 32),
                 place_ & 0xFFFFFFFF);
  return false;
}

bool NativeRun::aligned(unsigned lane, std::uint64_t address, std::uint32_t align) {
  if (address % align == 0) return true;
  return fail(lane, ErrorId::misaligned_address,
              fmt::format("access at {:#x}, which is no multiple of {}", address, align),
              fmt::format("align the address to {} bytes", align));
}

bool NativeRun::shared_ok(unsigned lane, std::uint64_t address, std::uint64_t bytes, std::uint32_t align,
                          const char* what) {
  if (!aligned(lane, address, align)) return false;
  if (block_.in_shared(address) && (bytes == 0 || block_.in_shared(address + bytes - 1))) return true;
  return fail(lane, ErrorId::illegal_address,
              fmt::format("{} of {} bytes at {:#x} does not lie in the block's {} bytes of shared memory", what, bytes,
                          address, block_.grid().shared_bytes),
              "give it the address of a shared variable, and reserve enough shared memory");
}

bool NativeRun::checked(unsigned lane, bool second, std::uint64_t address, std::uint64_t bytes) {
  if (!block_.grid().code->plan().checking || bytes == 0) return true;
  std::uint64_t addresses[32] = {};
  addresses[lane] = address;
  const std::int32_t site = second ? inst().second_site : inst().site;
  return site < 0 || warploom_check(&c_, addresses, 1U << lane, static_cast<std::uint32_t>(bytes),
                                    static_cast<std::uint32_t>(site)) != 0;
}

std::uint64_t* NativeRun::counters(bool second, const observe::Site*& site) {
  const codegen::KernelPlan& plan = block_.grid().code->plan();
  const std::int32_t id = second ? inst().second_site : inst().site;
  if (!plan.counting || c_.counters == nullptr || id < 0) return nullptr;
  site = &plan.sites[static_cast<std::size_t>(id)];
  const codegen::CounterLayout layout{plan.f().blocks.size(), plan.sites.size()};
  return c_.counters + layout.site(static_cast<std::size_t>(id));
}

void NativeRun::count(bool second, std::uint64_t* addresses, std::uint32_t mask) {
  const observe::Site* site = nullptr;
  std::uint64_t* to = counters(second, site);
  if (to == nullptr || mask == 0) return;
  std::uint64_t copy[32];
  std::memcpy(copy, addresses, sizeof copy);
  warploom_count(&c_, copy, mask, site->bytes,
                 static_cast<std::uint32_t>(site->space) | static_cast<std::uint32_t>(site->access) << 8, to);
}

void NativeRun::count_bulk(bool second, std::uint64_t address, std::uint64_t bytes) {
  const observe::Site* site = nullptr;
  std::uint64_t* to = counters(second, site);
  if (to == nullptr || bytes == 0) return;
  constexpr std::uint64_t sector = 32, row = 128;
  to[0] += 1;
  if (site->space == isa::Space::shared) {
    to[3] += (bytes + row - 1) / row;
    to[4] += (bytes + row - 1) / row;
  } else {
    to[1] += (address + bytes - 1) / sector - address / sector + 1;
    to[2] += (bytes + sector - 1) / sector;
  }
  to[5] += 1;
}

namespace {

const char* const kUse = "initialise it once with mbarrier.init, for as many arrivals as there will be in each phase";

// The object at an address; false after an error.
bool find_mbarrier(NativeRun& run, unsigned lane, std::uint64_t address, std::uint64_t*& word) {
  if (!run.shared_ok(lane, address, 8, 8, "an mbarrier")) return false;
  word = reinterpret_cast<std::uint64_t*>(address);
  if (Mbarrier::is_one(*word)) return true;
  return run.fail(lane, ErrorId::mbarrier_misuse, fmt::format("there is no initialised mbarrier at {:#x}", address),
                  kUse);
}

bool add_bytes(NativeRun& run, unsigned lane, Mbarrier& m, std::int64_t bytes) {
  m.bytes += bytes;
  if (m.bytes >= -Mbarrier::kMostBytes && m.bytes <= Mbarrier::kMostBytes) return true;
  return run.fail(lane, ErrorId::mbarrier_misuse,
                  fmt::format("the mbarrier would wait for {} bytes, its limit is {}", m.bytes, Mbarrier::kMostBytes),
                  "expect fewer bytes in one phase");
}

bool arrive(NativeRun& run, unsigned lane, std::uint64_t address, std::uint64_t operand, std::uint64_t what,
            std::uint64_t* state) {
  std::uint64_t* word = nullptr;
  if (!find_mbarrier(run, lane, address, word)) return false;
  Mbarrier m(*word);
  if (state != nullptr) *state = *word;
  std::uint64_t count = operand & 0xFFFFFFFF;
  // The thread's copies are done already: its arrival was added and is taken back.
  if ((what & codegen::kMbarrierCopy) != 0 && (what & codegen::kMbarrierNoComplete) != 0) return true;
  if ((what & codegen::kMbarrierExpect) != 0) {
    if (!add_bytes(run, lane, m, static_cast<std::int64_t>(count))) return false;
    count = 1;
  }
  if (count == 0 || count > m.pending)
    return run.fail(
        lane, ErrorId::mbarrier_misuse,
        fmt::format("{} arrivals at an mbarrier that waits for {} more of {}", count, m.pending, m.expected),
        "arrive as often in each phase as mbarrier.init says, and wait for its end before the next");
  if ((what & codegen::kMbarrierDrop) != 0) m.expected -= static_cast<std::uint32_t>(count);
  m.pending -= static_cast<std::uint32_t>(count);
  if (m.turn() && (what & codegen::kMbarrierNoComplete) != 0)
    return run.fail(lane, ErrorId::mbarrier_misuse, "an arrival with .noComplete completes the phase",
                    "leave the last arrival to an instruction without .noComplete");
  *word = m.word();
  return true;
}

// Of an operand of mapa and getctarank, in the block's shared window. `what`: 1 of a generic instruction, 2 of a name.
std::uint64_t window_offset(const WarpContext& c, std::uint64_t operand, std::uint64_t what) {
  if ((what & 1) == 0) return static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(operand)});
  return (what & 2) != 0 ? operand : operand - reinterpret_cast<std::uint64_t>(c.shared);
}

}  // namespace

bool NativeRun::complete(unsigned lane, std::uint64_t mbarrier, std::uint64_t bytes) {
  std::uint64_t* word = nullptr;
  if (!find_mbarrier(*this, lane, mbarrier, word)) return false;
  Mbarrier m(*word);
  if (!add_bytes(*this, lane, m, -static_cast<std::int64_t>(bytes))) return false;
  m.turn();
  *word = m.word();
  return true;
}

}  // namespace warploom::device

extern "C" {

std::int32_t warploom_mbarrier(WarpContext* c, std::uint64_t* rows, std::uint32_t mask, std::uint64_t what,
                               std::uint64_t place) {
  using namespace warploom;
  using namespace warploom::device;
  NativeRun run(c, rows, mask, place);
  const auto op = static_cast<MbarrierOp>(what & 0xFF);
  std::uint64_t* word = nullptr;
  switch (op) {
    case MbarrierOp::init:
      return run.for_lanes([&](unsigned l) {
        const std::uint64_t at = run.at(0, l), count = run.at(1, l) & 0xFFFFFFFF;
        if (!run.shared_ok(l, at, 8, 8, "an mbarrier")) return false;
        if (count == 0 || count > Mbarrier::kMostArrivals)
          return run.fail(
              l, ErrorId::mbarrier_misuse,
              fmt::format("an mbarrier for {} arrivals; there may be 1 to {}", count, Mbarrier::kMostArrivals),
              "give it the number of threads that arrive");
        *reinterpret_cast<std::uint64_t*>(at) = Mbarrier(static_cast<std::uint32_t>(count)).word();
        return true;
      });
    case MbarrierOp::inval:
      return run.for_lanes([&](unsigned l) {
        if (!find_mbarrier(run, l, run.at(0, l), word)) return false;
        *word = 0;
        return true;
      });
    case MbarrierOp::arrive: {
      // With a result its row comes first.
      const bool returns = run.inst().p.operands[0].kind == ptx::Operand::Kind::reg;
      const std::size_t at = returns ? 1 : 0;
      return run.for_lanes([&](unsigned l) {
        return arrive(run, l, run.at(at, l), run.at(at + 1, l), what, returns ? &run.at(0, l) : nullptr);
      });
    }
    case MbarrierOp::expect_tx:
      return run.for_lanes([&](unsigned l) {
        if (!find_mbarrier(run, l, run.at(0, l), word)) return false;
        Mbarrier m(*word);
        if (!add_bytes(run, l, m, static_cast<std::int64_t>(run.at(1, l) & 0xFFFFFFFF))) return false;
        *word = m.word();
        return true;
      });
    case MbarrierOp::complete_tx:
      return run.for_lanes([&](unsigned l) { return run.complete(l, run.at(0, l), run.at(1, l) & 0xFFFFFFFF); });
    case MbarrierOp::test:
      return run.for_lanes([&](unsigned l) {
        if (!find_mbarrier(run, l, run.at(1, l), word)) return false;
        const std::uint64_t phase = run.at(2, l);
        const bool odd = (what & codegen::kMbarrierParity) != 0 ? (phase & 1) != 0 : phase >> 63 != 0;
        run.at(0, l) = Mbarrier(*word).odd != odd ? 1 : 0;
        return true;
      });
    case MbarrierOp::pending_count:
      return run.for_lanes([&](unsigned l) {
        run.at(0, l) = Mbarrier(run.at(1, l)).pending;
        return true;
      });
  }
  return 1;
}

std::int32_t warploom_mapa(WarpContext* c, std::uint64_t* rows, std::uint32_t mask, std::uint64_t what,
                           std::uint64_t place) {
  using namespace warploom;
  NativeRun run(c, rows, mask, place);
  device::BlockState& block = run.block();
  return run.for_lanes([&](unsigned l) {
    const std::uint64_t rank = run.at(2, l) & 0xFFFFFFFF;
    if (rank >= block.cluster_blocks())
      return run.fail(l, ErrorId::illegal_address,
                      fmt::format("rank {} in a cluster of {} blocks", rank, block.cluster_blocks()),
                      "ranks count from 0; launch larger clusters");
    const std::uint64_t offset = warploom::device::window_offset(*c, run.at(1, l), what);
    const std::uint64_t there = block.offset_in_cluster(offset, static_cast<std::uint32_t>(rank));
    run.at(0, l) = (what & 1) != 0 ? reinterpret_cast<std::uint64_t>(c->shared) + there : there;
    return true;
  });
}

std::int32_t warploom_getctarank(WarpContext* c, std::uint64_t* rows, std::uint32_t mask, std::uint64_t what,
                                 std::uint64_t place) {
  using namespace warploom;
  NativeRun run(c, rows, mask, place);
  return run.for_lanes([&](unsigned l) {
    run.at(0, l) = run.block().rank_of_offset(warploom::device::window_offset(*c, run.at(1, l), what));
    return true;
  });
}

std::int32_t warploom_isspacep(WarpContext* c, std::uint64_t* rows, std::uint32_t mask, std::uint64_t what,
                               std::uint64_t place) {
  using namespace warploom;
  NativeRun run(c, rows, mask, place);
  device::BlockState& block = run.block();
  const auto space = static_cast<isa::Space>(what);
  const bool own_only = !run.inst().p.has(isa::Mod::shared__cluster);
  const ptx::Module& module = *block.grid().code->plan().f().module;
  const auto constant = [&](std::uint64_t a) {
    for (const ptx::Variable& v : module.variables) {
      if (v.space != isa::Space::constant) continue;
      const auto start = reinterpret_cast<std::uint64_t>(block.grid().resolve(v.name));
      if (start != 0 && a >= start && a < start + v.bytes) return true;
    }
    return false;
  };
  return run.for_lanes([&](unsigned l) {
    const std::uint64_t a = run.at(1, l);
    const auto param_start = reinterpret_cast<std::uint64_t>(c->params);
    const bool shared = own_only ? block.in_own_shared(a) : block.in_shared(a);
    const bool local = block.in_local(a);
    const bool param = a >= param_start && a < param_start + block.grid().launch->params.size();
    bool is = false;
    switch (space) {
      case isa::Space::shared: is = shared; break;
      case isa::Space::local: is = local; break;
      case isa::Space::param: is = param; break;
      case isa::Space::constant: is = constant(a); break;
      // Parameters are in global memory too.
      default: is = !block.in_shared(a) && !local && !constant(a);
    }
    run.at(0, l) = is ? 1 : 0;
    return true;
  });
}

}  // extern "C"

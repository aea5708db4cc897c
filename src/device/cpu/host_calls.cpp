// Functions that generated code calls: scheduling of lanes, warp operations on 32 values, counting, device ABI.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "codegen/matrix_calls.hpp"
#include "device/cpu/block.hpp"
#include "device/cpu/cpu_device.hpp"
#include "device/cpu/native.hpp"
#include "device/cpu/printf.hpp"
#include "isa/ref/float.hpp"

using warploom::codegen::Exit;
using warploom::codegen::WarpContext;

extern "C" {

// All blocks of the masked version have had a turn. Negative: go round again; else the code to return.
std::int32_t warploom_dispatch(WarpContext* c, std::int32_t blocks, std::int32_t spins) {
  bool runnable = false;
  for (std::int32_t b = 0; b < blocks && !runnable; ++b) runnable = c->pending[b] != 0;
  if (runnable) {
    if (spins == 0) return -1;
    // Lanes in a spin loop may wait for another warp: let it run every few rounds.
    return ++c->spins % 4 != 0 ? -1 : static_cast<std::int32_t>(Exit::yield);
  }
  if (c->live == 0) return static_cast<std::int32_t>(Exit::done);
  // Lanes that wait for a warp-level meeting which cannot happen any more go on alone, as on hardware before sm_70.
  for (std::int32_t b = 0; b < blocks; ++b)
    if (c->sync_pending[b] != 0) {
      c->pending[b] = c->sync_pending[b];
      c->sync_pending[b] = 0;
      c->force_sync = 1;
      return -1;
    }
  return static_cast<std::int32_t>(Exit::barrier);
}

// A warp of the block version that cannot go on in it.
std::int32_t warploom_run_part(WarpContext* c, std::int32_t reason) {
  return static_cast<warploom::device::BlockState*>(c->block)->run_part(*c, reason);
}

void warploom_match(const std::uint64_t* values, const std::uint32_t* members, std::uint32_t active, std::uint32_t all,
                    std::uint32_t* out, std::uint32_t* agree) {
  *agree = 0;
  for (std::uint32_t l = 0; l < 32; ++l) {
    out[l] = 0;
    if (((active >> l) & 1U) == 0) continue;
    const std::uint32_t group = members[l] & active;
    std::uint32_t same = 0;
    for (std::uint32_t o = 0; o < 32; ++o)
      if (((group >> o) & 1U) != 0 && values[o] == values[l]) same |= 1U << o;
    if (all == 0) {
      out[l] = same;
    } else if (same == group) {
      out[l] = group;
      *agree |= 1U << l;
    }
  }
}

void warploom_redux(const std::uint64_t* values, const std::uint32_t* members, std::uint32_t active, std::uint32_t kind,
                    std::uint32_t flags, std::uint32_t* out) {
  using namespace warploom;
  if ((flags & ptx::kReduxFloat) != 0) {
    const isa::ref::MinMax how{.max = kind == 2, .nan = (flags & ptx::kReduxNan) != 0};
    const std::uint32_t kept = (flags & ptx::kReduxAbs) != 0 ? 0x7fffffff : 0xffffffff;
    for (std::uint32_t l = 0; l < 32; ++l) {
      out[l] = 0;
      bool first = true;
      for (std::uint32_t group = members[l] & active; group != 0; group &= group - 1) {
        const std::uint64_t x = values[std::countr_zero(group)] & kept;
        out[l] = static_cast<std::uint32_t>(isa::ref::min_max(isa::ref::kF32, how, first ? x : out[l], x));
        first = false;
      }
    }
    return;
  }
  const bool is_signed = (flags & ptx::kReduxSigned) != 0;
  for (std::uint32_t l = 0; l < 32; ++l) {
    out[l] = 0;
    const std::uint32_t group = members[l] & active;
    bool first = true;
    std::uint32_t r = 0;
    for (std::uint32_t o = 0; o < 32; ++o) {
      if (((group >> o) & 1U) == 0) continue;
      const auto x = static_cast<std::uint32_t>(values[o]);
      const auto less = [&](std::uint32_t a, std::uint32_t b) {
        return is_signed ? static_cast<std::int32_t>(a) < static_cast<std::int32_t>(b) : a < b;
      };
      if (first) {
        r = x;
        first = false;
        continue;
      }
      switch (kind) {
        case 0: r += x; break;
        case 1: r = less(x, r) ? x : r; break;
        case 2: r = less(r, x) ? x : r; break;
        case 3: r &= x; break;
        case 4: r |= x; break;
        default: r ^= x;
      }
    }
    out[l] = r;
  }
}

std::uint64_t warploom_globaltimer() {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000ULL + static_cast<std::uint64_t>(t.tv_nsec);
}

constexpr std::uint64_t kManyMisses = 128;

// Counts one access that has no closed form: into requests, sectors, ideal sectors, wavefronts, ideal wavefronts,
// lanes. `what` is the space, and the kind of access in its second byte.
void warploom_count(WarpContext* c, std::uint64_t* addresses, std::uint32_t mask, std::uint32_t bytes,
                    std::uint32_t what, std::uint64_t* to) {
  using namespace warploom;
  if (mask == 0) return;
  auto space = static_cast<isa::Space>(what & 0xFF);
  auto* block = static_cast<device::BlockState*>(c->block);
  if (space == isa::Space::generic) {
    // A site's alternatives follow it: shared, then local.
    std::uint32_t masks[3] = {};
    for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
      const int l = std::countr_zero(rest);
      masks[block->in_shared(addresses[l]) ? 1 : block->in_local(addresses[l]) ? 2 : 0] |= 1U << l;
    }
    constexpr isa::Space kSpaces[3] = {isa::Space::global, isa::Space::shared, isa::Space::local};
    for (std::size_t k = 0; k < 3; ++k) {
      std::uint64_t copy[32];
      std::memcpy(copy, addresses, sizeof copy);
      warploom_count(c, copy, masks[k], bytes, (what & ~0xFFU) | static_cast<std::uint32_t>(kSpaces[k]),
                     to + k * codegen::CounterLayout::kStep);
    }
    return;
  }
  const std::uint64_t first = addresses[std::countr_zero(mask)];
  if (space == isa::Space::local) {
    // The rules count from each lane's own base.
    const std::uint32_t stride = block->grid().code->plan().f().local_bytes;
    const auto base = reinterpret_cast<std::uint64_t>(c->local);
    for (std::uint32_t l = 0; l < 32; ++l) addresses[l] -= base + std::uint64_t{l} * stride;
  }
  const bool shared = space == isa::Space::shared;
  // Remembering does not pay where patterns never come again.
  std::uint64_t& misses = to[codegen::kSiteCounters + codegen::kMemoWords];
  const bool fixed_space = space != isa::Space::local;
  device::PatternMemo* memo = nullptr;
  const auto add_remembered = [&] {
    to[0] += 1;
    to[shared ? 3 : 1] += memo->amount[first % 32];
    to[shared ? 4 : 2] += memo->ideal;
    to[5] += static_cast<std::uint64_t>(std::popcount(mask));
  };
  const auto take_memo = [&](std::uint32_t lanes) {
    memo->mask = lanes;
    memo->what = what;
    memo->bytes = bytes;
    std::memset(memo->amount, 0, sizeof memo->amount);
  };
  if (bytes >= 4 && fixed_space && std::has_single_bit(mask)) {
    // One lane costs the same wherever it is in the warp; its memo has no lanes.
    memo = &block->pattern_memo(what + std::uint64_t{bytes} * 37);
    if (memo->mask != 0 || memo->what != what || memo->bytes != bytes)
      take_memo(0);
    else if (memo->amount[first % 32] != 0)
      return add_remembered();
  } else if (bytes >= 4 && fixed_space && misses < kManyMisses) {
    for (std::uint32_t rest = ~mask; rest != 0; rest &= rest - 1) addresses[std::countr_zero(rest)] = first;
    std::uint32_t distance[32];
    std::uint64_t far = 0;
    for (std::uint32_t l = 0; l < 32; ++l) {
      const std::uint64_t d = addresses[l] - first;
      far |= d + (1ULL << 31);
      distance[l] = static_cast<std::uint32_t>(d);
    }
    // Lanes too far apart for a distance are counted each time.
    if (far >> 32 != 0) {
      misses = kManyMisses;
    } else {
      // Sums and sums of sums: all distances count, each with its place.
      std::uint32_t sum[8] = {}, sums[8] = {};
      for (std::uint32_t l = 0; l < 32; l += 8)
        for (std::uint32_t k = 0; k < 8; ++k) {
          sum[k] += distance[l + k];
          sums[k] += sum[k];
        }
      std::uint64_t hash = mask ^ reinterpret_cast<std::uint64_t>(to);
      for (std::uint32_t k = 0; k < 8; ++k)
        hash +=
            (sum[k] | static_cast<std::uint64_t>(sums[k]) << 32) * (0x9E3779B97F4A7C15ULL + 0x2545F4914F6CDD1EULL * k);
      hash *= 0x9E3779B97F4A7C15ULL;
      memo = &block->pattern_memo(hash >> 40);
      std::uint32_t different = (mask ^ memo->mask) | (what ^ memo->what) | (bytes ^ memo->bytes);
      for (std::uint32_t l = 0; l < 32; ++l) different |= distance[l] ^ memo->distance[l];
      if (different == 0 && memo->amount[first % 32] != 0) {
        misses = 0;
        return add_remembered();
      }
      if (different != 0) {
        std::memcpy(memo->distance, distance, sizeof distance);
        take_memo(mask);
        ++misses;
      }
    }
  }
  observe::AccessCounts counts;
  observe::count_access(space, static_cast<observe::AccessKind>(what >> 8), addresses, mask, bytes, counts);
  to[0] += counts.requests;
  to[1] += counts.sectors;
  to[2] += counts.ideal_sectors;
  to[3] += counts.wavefronts;
  to[4] += counts.ideal_wavefronts;
  to[5] += counts.active_lanes;
  if (memo != nullptr) {
    memo->amount[first % 32] = static_cast<std::uint8_t>(shared ? counts.wavefronts : counts.sectors);
    memo->ideal = static_cast<std::uint8_t>(shared ? counts.ideal_wavefronts : counts.ideal_sectors);
  }
}

// The same in global or shared memory, for a count that the caller remembers; see emit_count_memo.cpp.
std::uint64_t warploom_count_memo(const std::uint64_t* addresses, std::uint32_t bytes, std::uint32_t what,
                                  std::uint64_t* memo, std::uint64_t factor0, std::uint64_t factor1, std::uint32_t mask,
                                  std::uint64_t phase) {
  using namespace warploom;
  if (mask == 0) return 0;
  observe::AccessCounts counts;
  observe::count_access(static_cast<isa::Space>(what & 0xFF), static_cast<observe::AccessKind>(what >> 8), addresses,
                        mask, bytes, counts);
  const std::uint64_t cost = (counts.sectors + counts.wavefronts) | (counts.ideal_sectors + counts.ideal_wavefronts)
                                                                        << 8;
  auto* table = reinterpret_cast<std::byte*>(memo + codegen::kMemoKeys);
  if (memo[0] != factor0 || memo[1] != factor1 || memo[2] != mask) {
    memo[0] = factor0;
    memo[1] = factor1;
    memo[2] = mask;
    std::memset(table, 0, 64);
  }
  const auto entry = static_cast<std::uint16_t>(cost);
  std::memcpy(table + 2 * phase, &entry, sizeof entry);
  return cost;
}

std::uint32_t warploom_sectors(const std::uint64_t* addresses, std::uint32_t bytes) {
  return warploom::observe::count_sectors(addresses, 0xFFFFFFFF, bytes);
}

void warploom_trap(WarpContext* c, std::uint32_t mask, std::int32_t block, std::int32_t index) {
  using warploom::ErrorId;
  using Reason = warploom::ir::Inst::Reason;
  auto* b = static_cast<warploom::device::BlockState*>(c->block);
  const auto& inst =
      b->grid().code->plan().f().blocks[static_cast<std::size_t>(block)].insts[static_cast<std::size_t>(index)];
  const auto fail = [&](ErrorId id, std::string what, std::string remedy) {
    b->fail_at(c->warp, mask, id, std::move(what), std::move(remedy), block, static_cast<std::size_t>(index));
  };
  switch (inst.reason) {
    case Reason::stack_overflow:
      fail(ErrorId::stack_overflow,
           fmt::format("calls that are not inlined and alloca need more than the {} bytes of a thread's stack",
                       b->grid().code->plan().f().stack_bytes),
           "end the recursion earlier, or turn it into a loop with memory of its own");
      break;
    case Reason::no_function:
      fail(ErrorId::device_trap, "an indirect call to an address that is no function of its prototype",
           "call the address of a function with the parameters that the prototype declares");
      break;
    default: fail(ErrorId::device_trap, "the kernel executed trap", "find the condition that leads there");
  }
}

// An instruction for all 32 lanes, met by those of `mask`.
void warploom_partial_warp(WarpContext* c, std::uint32_t mask, std::int32_t block, std::int32_t index) {
  static_cast<warploom::device::BlockState*>(c->block)->fail_at(
      c->warp, mask, warploom::ErrorId::partial_warp,
      fmt::format("an instruction for the whole warp is executed by {} of its 32 threads", std::popcount(mask)),
      "let all threads of the warp take the same way to it, and none of them end before", block,
      static_cast<std::size_t>(index));
}

// `known` addresses are given: one, by which all active lanes are off alike, or all 32.
void warploom_misaligned(WarpContext* c, const std::uint64_t* addresses, std::uint32_t mask, std::uint32_t known,
                         std::uint32_t bytes, std::int32_t block, std::int32_t index) {
  std::uint32_t bad = mask;
  for (std::uint32_t rest = known == 1 ? 0 : mask; rest != 0; rest &= rest - 1)
    if (addresses[std::countr_zero(rest)] % bytes == 0) bad &= ~(rest & -rest);
  const std::uint64_t at = known == 1 || bad == 0 ? addresses[0] : addresses[std::countr_zero(bad)];
  static_cast<warploom::device::BlockState*>(c->block)->fail_at(
      c->warp, bad, warploom::ErrorId::misaligned_address,
      fmt::format("access of {} bytes at {:#x}, which is no multiple of {}", bytes, at, bytes),
      "align the pointer to the size of the access", block, static_cast<std::size_t>(index));
}

void warploom_assertfail(WarpContext* c, std::uint32_t lane, std::int32_t block, std::int32_t index,
                         const std::uint64_t* message, const std::uint64_t* file, const std::uint32_t* line,
                         const std::uint64_t* function) {
  const auto text = [](const std::uint64_t* p) {
    const char* s = *reinterpret_cast<const char* const*>(p);
    return s == nullptr ? "" : s;
  };
  auto* b = static_cast<warploom::device::BlockState*>(c->block);
  b->fail_at(c->warp, 1U << lane, warploom::ErrorId::device_assert,
             fmt::format("{}:{}: {}: assertion `{}` failed", text(file), *line, text(function), text(message)),
             "the condition is false for this thread", block, static_cast<std::size_t>(index));
}

void warploom_arrive(WarpContext* c, std::int32_t id, std::int32_t threads, std::uint32_t mask) {
  static_cast<warploom::device::BlockState*>(c->block)->arrive(id, threads, mask);
}

void warploom_vprintf(WarpContext*, std::uint32_t* result, const std::uint64_t* format,
                      const std::uint64_t* arguments) {
  *result = static_cast<std::uint32_t>(warploom::device::device_printf(reinterpret_cast<const char*>(*format),
                                                                       reinterpret_cast<const std::byte*>(*arguments)));
}

void warploom_malloc(WarpContext* c, std::uint64_t* result, const std::uint64_t* bytes) {
  auto* b = static_cast<warploom::device::BlockState*>(c->block);
  auto memory = b->grid().device->memory().allocate(*bytes, "device malloc");
  *result = memory ? reinterpret_cast<std::uint64_t>(*memory) : 0;
}

void warploom_free(WarpContext* c, const std::uint64_t* address) {
  if (*address == 0) return;
  auto* b = static_cast<warploom::device::BlockState*>(c->block);
  auto ok = b->grid().device->memory().release(reinterpret_cast<void*>(*address));
  if (!ok) b->fail_at(c->warp, 1, warploom::ErrorId::invalid_value, ok.error().what, ok.error().remedy, 0, 0);
}

std::uint32_t warploom_texture(WarpContext* c, std::uint64_t op, const std::uint64_t* objects,
                               const std::uint32_t* words, std::uint32_t* results, std::uint32_t mask,
                               std::int32_t block, std::int32_t index, std::uint64_t* counters);

std::uint32_t warploom_check(WarpContext* c, const std::uint64_t* addresses, std::uint32_t mask, std::uint32_t bytes,
                             std::uint32_t site);

}  // extern "C"

namespace warploom::device {

std::span<const codegen::HostSymbol> host_symbols() {
#define WL_SYMBOL(f)                \
  {                                 \
    #f, reinterpret_cast<void*>(&f) \
  }
  static const std::vector<codegen::HostSymbol> symbols = {
      WL_SYMBOL(warploom_dispatch),
      WL_SYMBOL(warploom_run_part),
      WL_SYMBOL(warploom_match),
      WL_SYMBOL(warploom_redux),
      WL_SYMBOL(warploom_globaltimer),
      WL_SYMBOL(warploom_count),
      WL_SYMBOL(warploom_sectors),
      WL_SYMBOL(warploom_count_memo),
      WL_SYMBOL(warploom_trap),
      WL_SYMBOL(warploom_misaligned),
      WL_SYMBOL(warploom_partial_warp),
      WL_SYMBOL(warploom_matrix_multiply),
      WL_SYMBOL(warploom_matrix_spread),
      WL_SYMBOL(warploom_matrix_collect),
      WL_SYMBOL(warploom_assertfail),
      WL_SYMBOL(warploom_arrive),
      WL_SYMBOL(warploom_vprintf),
      WL_SYMBOL(warploom_malloc),
      WL_SYMBOL(warploom_free),
      WL_SYMBOL(warploom_check),
      WL_SYMBOL(warploom_texture),
      {"memcpy", reinterpret_cast<void*>(static_cast<void* (*)(void*, const void*, std::size_t)>(&std::memcpy))},
      {"memset", reinterpret_cast<void*>(static_cast<void* (*)(void*, int, std::size_t)>(&std::memset))},
  };
#undef WL_SYMBOL
  static const std::vector<codegen::HostSymbol> all = [] {
    std::vector<codegen::HostSymbol> out = symbols;
    out.insert(out.end(), native_symbols().begin(), native_symbols().end());
    return out;
  }();
  return all;
}

}  // namespace warploom::device

// Copies and reductions of memory by one instruction: done at once, in lane order.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "device/cpu/cpu_device.hpp"
#include "device/cpu/native.hpp"
#include "isa/ref/format.hpp"

using warploom::codegen::BulkOp;
using warploom::codegen::WarpContext;
using warploom::device::NativeRun;

namespace warploom::device {
namespace {

using isa::Type;
namespace ref = isa::ref;

constexpr std::uint32_t kBulkAlign = 16;

// Reductions by the scalar references; what is there is the first operand.
std::uint64_t combine(BulkOp op, Type type, std::uint64_t old, std::uint64_t x) {
  if (isa::is_float(type)) {
    const ref::Format f = ref::format_of(type);
    if (op == BulkOp::add) return ref::add(f, ref::Round::rn, old, x);
    return ref::min_max(f, {.max = op == BulkOp::max}, old, x);
  }
  const unsigned bits = isa::bits(type);
  const std::uint64_t ones = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
  const auto less = [&](std::uint64_t a, std::uint64_t b) {
    if (!isa::is_signed(type)) return a < b;
    const unsigned shift = 64 - bits;
    return static_cast<std::int64_t>(a << shift) < static_cast<std::int64_t>(b << shift);
  };
  switch (op) {
    case BulkOp::add: return (old + x) & ones;
    case BulkOp::min: return less(x, old) ? x : old;
    case BulkOp::max: return less(old, x) ? x : old;
    case BulkOp::inc: return old >= x ? 0 : old + 1;
    case BulkOp::dec: return old == 0 || old > x ? x : old - 1;
    case BulkOp::and_: return old & x;
    case BulkOp::or_: return old | x;
    default: return old ^ x;
  }
}

// Another thread of the host may change global memory meanwhile.
template <typename T>
void reduce_cell(BulkOp op, Type type, T* to, T x, bool is_global) {
  if (!is_global) {
    *to = static_cast<T>(combine(op, type, *to, x));
    return;
  }
  T old = __atomic_load_n(to, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(to, &old, static_cast<T>(combine(op, type, old, x)), false, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED)) {
  }
}

template <typename T>
void reduce_range(BulkOp op, Type type, std::uint64_t to, std::uint64_t from, std::uint64_t bytes, bool is_global) {
  for (std::uint64_t at = 0; at < bytes; at += sizeof(T)) {
    T x;
    std::memcpy(&x, reinterpret_cast<const void*>(from + at), sizeof x);
    reduce_cell(op, type, reinterpret_cast<T*>(to + at), x, is_global);
  }
}

void reduce(std::uint64_t what, std::uint64_t to, std::uint64_t from, std::uint64_t bytes, bool is_global) {
  const auto op = static_cast<BulkOp>(what >> 8 & 0xFF);
  const auto type = static_cast<Type>(what >> 16 & 0xFF);
  switch (isa::bits(type)) {
    case 16: return reduce_range<std::uint16_t>(op, type, to, from, bytes, is_global);
    case 32: return reduce_range<std::uint32_t>(op, type, to, from, bytes, is_global);
    default: return reduce_range<std::uint64_t>(op, type, to, from, bytes, is_global);
  }
}

// Whether one side of a bulk copy may be touched.
bool side_ok(NativeRun& run, unsigned lane, bool is_shared, bool second, std::uint64_t address, std::uint64_t bytes) {
  if (is_shared) return run.shared_ok(lane, address, bytes, kBulkAlign, second ? "the target" : "the source");
  return run.aligned(lane, address, kBulkAlign) && run.checked(lane, second, address, bytes);
}

// Rows: target, source, bytes, mbarrier, mask.
template <typename Move>
bool bulk(NativeRun& run, unsigned l, std::uint64_t what, const Move& move) {
  const std::uint64_t to = run.at(0, l), from = run.at(1, l), bytes = run.at(2, l) & 0xFFFFFFFF;
  const bool from_shared = (what & codegen::kBulkFromShared) != 0, to_shared = (what & codegen::kBulkToShared) != 0;
  if (bytes % kBulkAlign != 0)
    return run.fail(l, ErrorId::misaligned_address,
                    fmt::format("a bulk copy of {} bytes, which is no multiple of 16", bytes),
                    "copy a multiple of 16 bytes");
  if (!side_ok(run, l, from_shared, false, from, bytes)) return false;
  run.count_bulk(false, from, bytes);
  const auto one = [&](std::uint64_t target, std::uint64_t mbarrier) {
    if (!side_ok(run, l, to_shared, true, target, bytes)) return false;
    run.count_bulk(true, target, bytes);
    if (bytes != 0) move(target, from, bytes);
    return !to_shared || run.complete(l, mbarrier, bytes);
  };
  if ((what & codegen::kBulkMulticast) == 0) return one(to, run.at(3, l));
  // To the same place in each block of the mask, and to its mbarrier.
  BlockState& block = run.block();
  const auto window = reinterpret_cast<std::uint64_t>(run.context().shared);
  for (std::uint64_t rest = run.at(4, l) & 0xFFFF; rest != 0; rest &= rest - 1) {
    const auto rank = static_cast<std::uint32_t>(std::countr_zero(rest));
    if (rank >= block.cluster_blocks())
      return run.fail(l, ErrorId::illegal_address,
                      fmt::format("a copy to rank {} in a cluster of {} blocks", rank, block.cluster_blocks()),
                      "set bits of the mask for blocks of the cluster only");
    const auto there = [&](std::uint64_t address) { return window + block.offset_in_cluster(address - window, rank); };
    if (!one(there(to), there(run.at(3, l)))) return false;
  }
  return true;
}

}  // namespace
}  // namespace warploom::device

extern "C" {

// cp.async with a source size (row 2), or with a predicate that leaves the source out: the rest becomes zeros.
std::int32_t warploom_copy(WarpContext* c, std::uint64_t* rows, std::uint32_t mask, std::uint64_t what,
                           std::uint64_t place) {
  using namespace warploom;
  using namespace warploom::device;
  NativeRun run(c, rows, mask, place);
  const auto bytes = static_cast<std::uint32_t>(what & 0xFF);
  const bool ignores = (what & 0x100) != 0;
  std::uint32_t reads = 0;
  const std::int32_t good = run.for_lanes([&](unsigned l) {
    const std::uint64_t to = run.at(0, l), from = run.at(1, l);
    std::uint64_t n = run.at(2, l) & 0xFFFFFFFF;
    if (ignores) n = (n & 1) != 0 ? 0 : bytes;
    if (n > bytes)
      return run.fail(l, ErrorId::invalid_value, fmt::format("a copy of {} bytes from a source of {}", bytes, n),
                      "the source has as many bytes as the copy, or fewer");
    if (!run.shared_ok(l, to, bytes, bytes, "the target")) return false;
    if (n != 0 && !run.aligned(l, from, bytes)) return false;
    if (!run.checked(l, false, from, n)) return false;
    auto* target = reinterpret_cast<std::byte*>(to);
    std::memcpy(target, reinterpret_cast<const void*>(from), n);
    std::memset(target + n, 0, bytes - n);
    if (n != 0) reads |= 1U << l;
    return true;
  });
  if (good == 0) return 0;
  run.count(false, run.row(1), reads);
  run.count(true, run.row(0), mask);
  return 1;
}

std::int32_t warploom_bulk_copy(WarpContext* c, std::uint64_t* rows, std::uint32_t mask, std::uint64_t what,
                                std::uint64_t place) {
  using namespace warploom;
  using namespace warploom::device;
  NativeRun run(c, rows, mask, place);
  return run.for_lanes([&](unsigned l) {
    return bulk(run, l, what, [&](std::uint64_t to, std::uint64_t from, std::uint64_t bytes) {
      if ((what & codegen::kBulkBytes) == 0) {
        std::memmove(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
        return;
      }
      for (std::uint64_t i = 0; i < bytes; ++i)
        if ((run.at(4, l) >> (i % 16) & 1) != 0)
          *reinterpret_cast<std::byte*>(to + i) = *reinterpret_cast<const std::byte*>(from + i);
    });
  });
}

std::int32_t warploom_bulk_reduce(WarpContext* c, std::uint64_t* rows, std::uint32_t mask, std::uint64_t what,
                                  std::uint64_t place) {
  using namespace warploom;
  using namespace warploom::device;
  NativeRun run(c, rows, mask, place);
  const bool is_global = (what & codegen::kBulkToShared) == 0;
  return run.for_lanes([&](unsigned l) {
    return bulk(run, l, what, [&](std::uint64_t to, std::uint64_t from, std::uint64_t bytes) {
      reduce(what, to, from, bytes, is_global);
    });
  });
}

// st.async; rows: target, mbarrier, elements.
std::int32_t warploom_store_remote(WarpContext* c, std::uint64_t* rows, std::uint32_t mask, std::uint64_t what,
                                   std::uint64_t place) {
  using namespace warploom;
  using namespace warploom::device;
  NativeRun run(c, rows, mask, place);
  const std::uint64_t each = what & 0xF, count = what >> 4 & 0xF, bytes = each * count;
  run.count(false, run.row(0), mask);
  return run.for_lanes([&](unsigned l) {
    const std::uint64_t to = run.at(0, l);
    if (!run.shared_ok(l, to, bytes, static_cast<std::uint32_t>(bytes), "the target")) return false;
    for (std::uint64_t e = 0; e < count; ++e)
      std::memcpy(reinterpret_cast<std::byte*>(to + e * each), &run.at(2 + e, l), each);
    return run.complete(l, run.at(1, l), bytes);
  });
}

// red.async; rows: target, mbarrier, operand.
std::int32_t warploom_reduce_remote(WarpContext* c, std::uint64_t* rows, std::uint32_t mask, std::uint64_t what,
                                    std::uint64_t place) {
  using namespace warploom;
  using namespace warploom::device;
  NativeRun run(c, rows, mask, place);
  const std::uint64_t bytes = isa::bytes(static_cast<isa::Type>(what >> 16 & 0xFF));
  run.count(false, run.row(0), mask);
  return run.for_lanes([&](unsigned l) {
    const std::uint64_t to = run.at(0, l);
    if (!run.shared_ok(l, to, bytes, static_cast<std::uint32_t>(bytes), "the target")) return false;
    reduce(what, to, reinterpret_cast<std::uint64_t>(&run.at(2, l)), bytes, false);
    return run.complete(l, run.at(1, l), bytes);
  });
}

// st.bulk; rows: target, bytes.
std::int32_t warploom_store_zeros(WarpContext* c, std::uint64_t* rows, std::uint32_t mask, std::uint64_t,
                                  std::uint64_t place) {
  using namespace warploom;
  using namespace warploom::device;
  NativeRun run(c, rows, mask, place);
  return run.for_lanes([&](unsigned l) {
    const std::uint64_t to = run.at(0, l), bytes = run.at(1, l);
    if (!run.shared_ok(l, to, bytes, 8, "the target")) return false;
    run.count_bulk(false, to, bytes);
    std::memset(reinterpret_cast<void*>(to), 0, bytes);
    return true;
  });
}

std::int32_t warploom_mbarrier(WarpContext*, std::uint64_t*, std::uint32_t, std::uint64_t, std::uint64_t);
std::int32_t warploom_mapa(WarpContext*, std::uint64_t*, std::uint32_t, std::uint64_t, std::uint64_t);
std::int32_t warploom_getctarank(WarpContext*, std::uint64_t*, std::uint32_t, std::uint64_t, std::uint64_t);
std::int32_t warploom_isspacep(WarpContext*, std::uint64_t*, std::uint32_t, std::uint64_t, std::uint64_t);
std::int32_t warploom_cluster_arrive(WarpContext*, std::uint64_t*, std::uint32_t, std::uint64_t, std::uint64_t);
std::uint32_t warploom_cluster_ready(WarpContext*);

}  // extern "C"

namespace warploom::device {

std::span<const codegen::HostSymbol> native_symbols() {
#define WL_SYMBOL(f)                \
  {                                 \
    #f, reinterpret_cast<void*>(&f) \
  }
  static const std::vector<codegen::HostSymbol> symbols = {
      WL_SYMBOL(warploom_mbarrier),    WL_SYMBOL(warploom_mapa),           WL_SYMBOL(warploom_getctarank),
      WL_SYMBOL(warploom_isspacep),    WL_SYMBOL(warploom_copy),           WL_SYMBOL(warploom_bulk_copy),
      WL_SYMBOL(warploom_bulk_reduce), WL_SYMBOL(warploom_store_remote),   WL_SYMBOL(warploom_reduce_remote),
      WL_SYMBOL(warploom_store_zeros), WL_SYMBOL(warploom_cluster_arrive), WL_SYMBOL(warploom_cluster_ready),
  };
#undef WL_SYMBOL
  return symbols;
}

}  // namespace warploom::device

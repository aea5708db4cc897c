// Atomic operations, lane after lane in lane order, as in compiled kernels.
#include <bit>

#include "interp/memory.hpp"

namespace warploom::interp {
namespace {

// A subnormal f32 as a zero.
std::uint32_t flushed(std::uint32_t bits, bool flush) {
  return flush && (bits & 0x7f800000) == 0 ? bits & 0x80000000 : bits;
}

// `flush`: sums of f32 see subnormal numbers as zeros, as in global memory.
template <typename T>
T change(Atomic op, T old, T x, bool flush) {
  using S = std::make_signed_t<T>;
  if constexpr (sizeof(T) == 4) {
    if (op == Atomic::fadd) {
      const float sum = std::bit_cast<float>(flushed(old, flush)) + std::bit_cast<float>(flushed(x, flush));
      return sum != sum ? T{0x7fffffff} : flushed(std::bit_cast<T>(sum), flush);
    }
  }
  const auto floats = [&](auto f) {
    using F = decltype(f);
    const F a = std::bit_cast<F>(old), b = std::bit_cast<F>(x);
    if (op == Atomic::fadd) return std::bit_cast<T>(static_cast<F>(a + b));
    // The number, if only one is.
    const bool first = op == Atomic::fmin ? a < b : a > b;
    return first || b != b ? old : x;
  };
  switch (op) {
    case Atomic::add: return static_cast<T>(old + x);
    case Atomic::min: return static_cast<S>(x) < static_cast<S>(old) ? x : old;
    case Atomic::max: return static_cast<S>(old) < static_cast<S>(x) ? x : old;
    case Atomic::umin: return x < old ? x : old;
    case Atomic::umax: return old < x ? x : old;
    case Atomic::and_: return old & x;
    case Atomic::or_: return old | x;
    case Atomic::xor_: return old ^ x;
    case Atomic::inc: return old >= x ? T{0} : static_cast<T>(old + 1);
    case Atomic::dec: return old == 0 || old > x ? x : static_cast<T>(old - 1);
    case Atomic::fadd:
    case Atomic::fmin:
    case Atomic::fmax:
      if constexpr (sizeof(T) == 4) return floats(float{});
      if constexpr (sizeof(T) == 8) return floats(double{});
      return x;
    default: return x;
  }
}

template <typename T>
T operate(Atomic op, std::uint64_t at, T x, T swap, bool is_shared, bool flush) {
  auto* cell = reinterpret_cast<T*>(at);
  if (is_shared) {
    // A block lives on one thread of the host.
    const T old = *cell;
    *cell = op == Atomic::cas ? (old == x ? swap : old) : change(op, old, x, false);
    return old;
  }
  if (op == Atomic::cas) {
    __atomic_compare_exchange_n(cell, &x, swap, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return x;
  }
  if (op == Atomic::add) return __atomic_fetch_add(cell, x, __ATOMIC_SEQ_CST);
  if (op == Atomic::exch) return __atomic_exchange_n(cell, x, __ATOMIC_SEQ_CST);
  T old = __atomic_load_n(cell, __ATOMIC_RELAXED);
  while (
      !__atomic_compare_exchange_n(cell, &old, change(op, old, x, flush), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
  }
  return old;
}

template <typename T, Atomic kOp>
void atomic(State* st, const Step* s) {
  st->current = s;
  alignas(64) std::uint64_t a[32];
  find_addresses(st, s, s->ref[1], a);
  // The whole access is aligned, of which this may be one element.
  if (s->width == 0 && !check_alignment(st, s, a, static_cast<unsigned>(sizeof(T)))) return;
  const T* x = lanes_of<T>(st, s->ref[2]);
  const T* swap = kOp == Atomic::cas ? lanes_of<T>(st, s->ref[3]) : x;
  T* to = s->ref[0] == kNoRef ? nullptr : lanes_of<T>(st, s->ref[0]);
  const bool is_shared = (s->what & kShared) != 0;
  for (std::uint32_t rest = st->lanes; rest != 0; rest &= rest - 1) {
    const int l = __builtin_ctz(rest);
    // A generic address may be one of shared memory.
    const bool flush = a[l] - reinterpret_cast<std::uint64_t>(st->ctx->shared) >= st->ctx->shared_bytes;
    const T old = operate<T>(kOp, a[l], x[l], swap[l], is_shared, flush);
    if (to != nullptr) to[l] = old;
  }
}

template <Atomic kOp>
Run sized(unsigned bits) {
  constexpr bool floats = kOp == Atomic::fadd || kOp == Atomic::fmin || kOp == Atomic::fmax;
  switch (bits) {
    case 16: return floats ? nullptr : atomic<std::uint16_t, kOp>;
    case 32: return atomic<std::uint32_t, kOp>;
    case 64: return atomic<std::uint64_t, kOp>;
    default: return nullptr;
  }
}

}  // namespace

Run atomic_handler(Atomic op, unsigned bits) {
  switch (op) {
    case Atomic::add: return sized<Atomic::add>(bits);
    case Atomic::min: return sized<Atomic::min>(bits);
    case Atomic::max: return sized<Atomic::max>(bits);
    case Atomic::umin: return sized<Atomic::umin>(bits);
    case Atomic::umax: return sized<Atomic::umax>(bits);
    case Atomic::and_: return sized<Atomic::and_>(bits);
    case Atomic::or_: return sized<Atomic::or_>(bits);
    case Atomic::xor_: return sized<Atomic::xor_>(bits);
    case Atomic::exch: return sized<Atomic::exch>(bits);
    case Atomic::inc: return sized<Atomic::inc>(bits);
    case Atomic::dec: return sized<Atomic::dec>(bits);
    case Atomic::cas: return sized<Atomic::cas>(bits);
    case Atomic::fadd: return sized<Atomic::fadd>(bits);
    case Atomic::fmin: return sized<Atomic::fmin>(bits);
    case Atomic::fmax: return sized<Atomic::fmax>(bits);
  }
  return nullptr;
}

}  // namespace warploom::interp

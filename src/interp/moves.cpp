// Copies, width changes, packing, special registers.
#include "interp/moves.hpp"

#include <cstring>
#include <ctime>

#include "interp/lanes.hpp"

namespace warploom::interp {
namespace {

template <typename T>
WARPLOOM_WIDE void copy(State* st, const Step* s) {
  std::memcpy(lanes_of<T>(st, s->ref[0]), lanes_of<T>(st, s->ref[1]), 32 * sizeof(T));
}
void copy_pred(State* st, const Step* s) {
  *lanes_of<std::uint32_t>(st, s->ref[0]) = *lanes_of<std::uint32_t>(st, s->ref[1]);
}
void not_pred(State* st, const Step* s) {
  *lanes_of<std::uint32_t>(st, s->ref[0]) = ~*lanes_of<std::uint32_t>(st, s->ref[1]);
}

template <typename From, typename To>
WARPLOOM_WIDE void resize(State* st, const Step* s) {
  const From* __restrict from = lanes_of<From>(st, s->ref[1]);
  To* __restrict to = lanes_of<To>(st, s->ref[0]);
  for (unsigned l = 0; l < 32; ++l) to[l] = static_cast<To>(from[l]);
}
template <typename To>
WARPLOOM_WIDE void from_pred(State* st, const Step* s) {
  const std::uint32_t bits = *lanes_of<std::uint32_t>(st, s->ref[1]);
  To* to = lanes_of<To>(st, s->ref[0]);
  for (unsigned l = 0; l < 32; ++l) to[l] = static_cast<To>((bits >> l) & 1);
}
template <typename From>
WARPLOOM_WIDE void to_pred(State* st, const Step* s) {
  const From* from = lanes_of<From>(st, s->ref[1]);
  std::uint32_t bits = 0;
  for (unsigned l = 0; l < 32; ++l) bits |= static_cast<std::uint32_t>(from[l] & 1) << l;
  *lanes_of<std::uint32_t>(st, s->ref[0]) = bits;
}

template <typename From>
Run resize_to(unsigned to) {
  switch (to) {
    case 1: return to_pred<From>;
    case 8: return resize<From, std::uint8_t>;
    case 16: return resize<From, std::uint16_t>;
    case 32: return resize<From, std::uint32_t>;
    case 64: return resize<From, std::uint64_t>;
    default: return nullptr;
  }
}

template <typename T>
WARPLOOM_WIDE void unpack(State* st, const Step* s) {
  const unsigned n = s->width;
  const T* from = lanes_of<T>(st, s->ref[n]);
  for (unsigned e = 0; e < n; ++e) {
    T* to = lanes_of<T>(st, s->ref[e]);
    for (unsigned l = 0; l < 32; ++l) to[l] = from[l * n + e];
  }
}
template <typename T>
WARPLOOM_WIDE void pack(State* st, const Step* s) {
  const unsigned n = s->width;
  T* to = lanes_of<T>(st, s->ref[0]);
  for (unsigned e = 0; e < n; ++e) {
    const T* from = lanes_of<T>(st, s->ref[1 + e]);
    for (unsigned l = 0; l < 32; ++l) to[l * n + e] = from[l];
  }
}

template <typename T>
WARPLOOM_WIDE void splat(State* st, Ref ref, T value) {
  T* to = lanes_of<T>(st, ref);
  for (unsigned l = 0; l < 32; ++l) to[l] = value;
}

template <typename T>
void field(State* st, const Step* s) {
  T x;
  std::memcpy(&x, reinterpret_cast<const std::byte*>(st->ctx) + s->imm, sizeof x);
  splat(st, s->ref[0], x);
}
WARPLOOM_WIDE void field_lanes(State* st, const Step* s) {
  std::memcpy(lanes_of<std::uint32_t>(st, s->ref[0]), reinterpret_cast<const std::byte*>(st->ctx) + s->imm, 128);
}
void field_pred(State* st, const Step* s) {
  std::uint32_t x;
  std::memcpy(&x, reinterpret_cast<const std::byte*>(st->ctx) + s->imm, sizeof x);
  *lanes_of<std::uint32_t>(st, s->ref[0]) = x != 0 ? ~0U : 0;
}

std::uint64_t cycles() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  std::uint64_t t;
  asm volatile("mrs %0, cntvct_el0" : "=r"(t));
  return t;
#else
  return static_cast<std::uint64_t>(std::clock());
#endif
}
void clock_register(State* st, const Step* s) { splat(st, s->ref[0], cycles() >> s->imm); }
void timer_register(State* st, const Step* s) { splat(st, s->ref[0], st->program->natives.globaltimer() >> s->imm); }

WARPLOOM_WIDE void window(State* st, const Step* s) {
  const auto base = reinterpret_cast<std::uint64_t>(st->ctx->local);
  const std::uint64_t* from = lanes_of<std::uint64_t>(st, s->ref[1]);
  std::uint64_t* to = lanes_of<std::uint64_t>(st, s->ref[0]);
  const std::uint64_t stride = st->program->local_bytes;
  for (unsigned l = 0; l < 32; ++l) {
    const std::uint64_t at = base + l * stride;
    to[l] = s->what == 0 ? from[l] + at : from[l] - at;
  }
}

}  // namespace

Run copy_handler(unsigned bits) {
  switch (bits) {
    case 1: return copy_pred;
    case 8: return copy<std::uint8_t>;
    case 16: return copy<std::uint16_t>;
    case 32: return copy<std::uint32_t>;
    case 64: return copy<std::uint64_t>;
    default: return nullptr;
  }
}

Run resize_handler(unsigned from, bool is_signed, unsigned to) {
  switch (from) {
    case 1:
      switch (to) {
        case 8: return from_pred<std::uint8_t>;
        case 16: return from_pred<std::uint16_t>;
        case 32: return from_pred<std::uint32_t>;
        case 64: return from_pred<std::uint64_t>;
        default: return nullptr;
      }
    case 8: return is_signed ? resize_to<std::int8_t>(to) : resize_to<std::uint8_t>(to);
    case 16: return is_signed ? resize_to<std::int16_t>(to) : resize_to<std::uint16_t>(to);
    case 32: return is_signed ? resize_to<std::int32_t>(to) : resize_to<std::uint32_t>(to);
    case 64: return is_signed ? resize_to<std::int64_t>(to) : resize_to<std::uint64_t>(to);
    default: return nullptr;
  }
}

Run not_handler() { return not_pred; }

Run unpack_handler(unsigned piece) {
  switch (piece) {
    case 8: return unpack<std::uint8_t>;
    case 16: return unpack<std::uint16_t>;
    case 32: return unpack<std::uint32_t>;
    default: return nullptr;
  }
}

Run pack_handler(unsigned piece) {
  switch (piece) {
    case 8: return pack<std::uint8_t>;
    case 16: return pack<std::uint16_t>;
    case 32: return pack<std::uint32_t>;
    default: return nullptr;
  }
}

Run field_handler(unsigned bits) { return bits == 64 ? field<std::uint64_t> : field<std::uint32_t>; }
Run field_lanes_handler() { return field_lanes; }
Run field_pred_handler() { return field_pred; }
Run clock_handler() { return clock_register; }
Run timer_handler() { return timer_register; }
Run window_handler() { return window; }

void blend(State* st, const Step* to, const Step* from, std::uint32_t lanes) {
  for (unsigned r = 0; r < to->results; ++r) {
    if (to->ref[r] == kNoRef) continue;
    std::byte* d = lanes_of<std::byte>(st, to->ref[r]);
    const std::byte* x = lanes_of<std::byte>(st, from->ref[r]);
    const unsigned bytes = to->bytes[r];
    if (bytes == 0) {
      std::uint32_t old = 0, now = 0;
      std::memcpy(&old, d, 4);
      std::memcpy(&now, x, 4);
      old = (old & ~lanes) | (now & lanes);
      std::memcpy(d, &old, 4);
      continue;
    }
    const auto each = [&](auto type) {
      using T = decltype(type);
      auto* to_lanes = reinterpret_cast<T*>(d);
      const auto* from_lanes = reinterpret_cast<const T*>(x);
      for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
        const int l = __builtin_ctz(rest);
        to_lanes[l] = from_lanes[l];
      }
    };
    switch (bytes) {
      case 1: each(std::uint8_t{}); break;
      case 2: each(std::uint16_t{}); break;
      case 4: each(std::uint32_t{}); break;
      default: each(std::uint64_t{});
    }
  }
}

void run_guarded(State* st, const Step* s) {
  std::uint32_t guard = *lanes_of<std::uint32_t>(st, s->guard);
  if (s->guard_negated) guard = ~guard;
  const std::uint32_t lanes = st->mask & guard;
  if (lanes == 0) return;
  const Step* inner = &st->program->aside[static_cast<std::size_t>(s->blended)];
  st->lanes = lanes;
  inner->run(st, inner);
  st->lanes = st->mask;
  blend(st, s, inner, lanes);
}

}  // namespace warploom::interp

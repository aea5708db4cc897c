// Loads and stores of 32 lanes: the addresses decide at run time whether one vector does, one value for all, or lane by
// lane.
#if defined(__SANITIZE_THREAD__)
#pragma GCC diagnostic ignored "-Wtsan"  // fences order memory of kernels, which the sanitizer does not watch
#endif

#include "interp/memory.hpp"

#include <bit>
#include <cstring>

#include "interp/lanes.hpp"

namespace warploom::interp {
namespace {

constexpr std::uint32_t kAll = 0xFFFFFFFF;

WARPLOOM_WIDE inline void addresses(State* st, const Step* s, Ref ref, std::uint64_t* out) {
  std::uint64_t base = s->imm;
  if ((s->what & kShared) != 0) base += reinterpret_cast<std::uint64_t>(st->ctx->shared);
  if ((s->what & kParam) != 0) base += reinterpret_cast<std::uint64_t>(st->ctx->params);
  if ((s->what & kAddress64) != 0) {
    const std::uint64_t* a = lanes_of<std::uint64_t>(st, ref);
    for (unsigned l = 0; l < 32; ++l) out[l] = a[l] + base;
  } else if ((s->what & kAddress32) != 0) {
    const std::int32_t* a = lanes_of<std::int32_t>(st, ref);
    for (unsigned l = 0; l < 32; ++l) out[l] = static_cast<std::uint64_t>(static_cast<std::int64_t>(a[l])) + base;
  } else {
    for (unsigned l = 0; l < 32; ++l) out[l] = base;
  }
  if ((s->what & kLocal) != 0) {
    const auto local = reinterpret_cast<std::uint64_t>(st->ctx->local);
    const std::uint64_t stride = st->program->local_bytes;
    for (unsigned l = 0; l < 32; ++l) out[l] += local + l * stride;
  }
}

// The distance from lane to lane when it is the same for all, else a number that nothing has.
constexpr std::uint64_t kNoStride = 0x8000000000000001ULL;
WARPLOOM_WIDE inline std::uint64_t stride_of(const std::uint64_t* a) {
  const std::uint64_t stride = a[1] - a[0], first = a[0];
  std::uint64_t different = 0;
  std::uint64_t expected[8];
  for (unsigned l = 0; l < 8; ++l) expected[l] = first + stride * l;
  for (unsigned g = 0; g < 4; ++g)
    for (unsigned l = 0; l < 8; ++l) different |= a[8 * g + l] ^ (expected[l] + stride * 8 * g);
  return different == 0 ? stride : kNoStride;
}

WARPLOOM_WIDE inline bool aligned(State* st, const Step* s, const std::uint64_t* a, unsigned bytes) {
  if (bytes < 2 || (s->what & kParam) != 0) return true;
  std::uint64_t low = 0;
  if (st->lanes == kAll)
    for (unsigned l = 0; l < 32; ++l) low |= a[l];
  else
    for (std::uint32_t rest = st->lanes; rest != 0; rest &= rest - 1) low |= a[__builtin_ctz(rest)];
  if ((low & (bytes - 1)) == 0) return true;
  st->program->natives.misaligned(st->ctx, a, st->lanes, 32, bytes, s->block, static_cast<std::int32_t>(s->index));
  st->stopped = true;
  return false;
}

template <typename T, bool kOrdered>
inline T read(std::uint64_t at) {
  if constexpr (kOrdered) return *reinterpret_cast<const volatile T*>(at);
  return *reinterpret_cast<const T*>(at);
}
template <typename T, bool kOrdered>
inline void write(std::uint64_t at, T x) {
  if constexpr (kOrdered)
    *reinterpret_cast<volatile T*>(at) = x;
  else
    *reinterpret_cast<T*>(at) = x;
}

template <typename T, bool kOrdered>
WARPLOOM_WIDE void load(State* st, const Step* s) {
  st->current = s;
  alignas(64) std::uint64_t a[32];
  const unsigned width = s->width;
  addresses(st, s, s->ref[width], a);
  if (!aligned(st, s, a, width * sizeof(T))) return;
  if (st->lanes == kAll && !kOrdered) {
    const std::uint64_t stride = stride_of(a);
    if (stride == 0) {
      for (unsigned e = 0; e < width; ++e) {
        const T x = read<T, false>(a[0] + e * sizeof(T));
        if (s->ref[e] == kNoRef) continue;
        T* to = lanes_of<T>(st, s->ref[e]);
        for (unsigned l = 0; l < 32; ++l) to[l] = x;
      }
      return;
    }
    if (stride == sizeof(T) * width) {
      const T* from = reinterpret_cast<const T*>(a[0]);
      if (width == 1) {
        if (s->ref[0] == kNoRef)
          (void)*reinterpret_cast<const volatile T*>(from);
        else
          std::memcpy(lanes_of<T>(st, s->ref[0]), from, 32 * sizeof(T));
        return;
      }
      for (unsigned e = 0; e < width; ++e) {
        if (s->ref[e] == kNoRef) continue;
        T* to = lanes_of<T>(st, s->ref[e]);
        for (unsigned l = 0; l < 32; ++l) to[l] = from[l * width + e];
      }
      return;
    }
    for (unsigned e = 0; e < width; ++e) {
      if (s->ref[e] == kNoRef) continue;
      T* to = lanes_of<T>(st, s->ref[e]);
      for (unsigned l = 0; l < 32; ++l) to[l] = read<T, false>(a[l] + e * sizeof(T));
    }
    return;
  }
  for (unsigned e = 0; e < width; ++e) {
    T* to = s->ref[e] == kNoRef ? nullptr : lanes_of<T>(st, s->ref[e]);
    for (std::uint32_t rest = st->lanes; rest != 0; rest &= rest - 1) {
      const int l = __builtin_ctz(rest);
      const T x = read<T, kOrdered>(a[l] + e * sizeof(T));
      if (to != nullptr) to[l] = x;
    }
  }
  if (kOrdered && (s->what & kAcquire) != 0) __atomic_thread_fence(__ATOMIC_ACQUIRE);
}

// Lanes that are not active get the value too: who asks sees to them.
template <typename T>
WARPLOOM_WIDE void load_fixed(State* st, const Step* s) {
  st->current = s;
  std::uint64_t at = s->imm;
  if ((s->what & kShared) != 0) at += reinterpret_cast<std::uint64_t>(st->ctx->shared);
  if ((s->what & kParam) != 0) at += reinterpret_cast<std::uint64_t>(st->ctx->params);
  const unsigned width = s->width;
  if ((s->what & kParam) == 0 && (at & (width * sizeof(T) - 1)) != 0) {
    alignas(64) std::uint64_t a[32];
    for (std::uint64_t& x : a) x = at;
    aligned(st, s, a, width * sizeof(T));
    return;
  }
  for (unsigned e = 0; e < width; ++e) {
    T x;
    std::memcpy(&x, reinterpret_cast<const void*>(at + e * sizeof(T)), sizeof x);
    if (s->ref[e] == kNoRef) continue;
    T* to = lanes_of<T>(st, s->ref[e]);
    for (unsigned l = 0; l < 32; ++l) to[l] = x;
  }
}

template <typename T, bool kOrdered>
WARPLOOM_WIDE void store(State* st, const Step* s) {
  st->current = s;
  alignas(64) std::uint64_t a[32];
  const unsigned width = s->width;
  addresses(st, s, s->ref[width], a);
  if (!aligned(st, s, a, width * sizeof(T))) return;
  if (kOrdered && (s->what & kRelease) != 0) __atomic_thread_fence(__ATOMIC_RELEASE);
  if (st->lanes == kAll && !kOrdered && stride_of(a) == sizeof(T) * width) {
    T* to = reinterpret_cast<T*>(a[0]);
    if (width == 1) {
      std::memcpy(to, lanes_of<T>(st, s->ref[0]), 32 * sizeof(T));
      return;
    }
    for (unsigned e = 0; e < width; ++e) {
      const T* from = lanes_of<T>(st, s->ref[e]);
      for (unsigned l = 0; l < 32; ++l) to[l * width + e] = from[l];
    }
    return;
  }
  for (unsigned e = 0; e < width; ++e) {
    const T* from = lanes_of<T>(st, s->ref[e]);
    for (std::uint32_t rest = st->lanes; rest != 0; rest &= rest - 1) {
      const int l = __builtin_ctz(rest);
      write<T, kOrdered>(a[l] + e * sizeof(T), from[l]);
    }
  }
}

template <template <typename> typename H>
Run by_size(unsigned bits) {
  switch (bits) {
    case 8: return H<std::uint8_t>::run;
    case 16: return H<std::uint16_t>::run;
    case 32: return H<std::uint32_t>::run;
    case 64: return H<std::uint64_t>::run;
    default: return nullptr;
  }
}
template <typename T>
struct Load {
  static constexpr Run run = load<T, false>;
};
template <typename T>
struct OrderedLoad {
  static constexpr Run run = load<T, true>;
};
template <typename T>
struct FixedLoad {
  static constexpr Run run = load_fixed<T>;
};
template <typename T>
struct Store {
  static constexpr Run run = store<T, false>;
};
template <typename T>
struct OrderedStore {
  static constexpr Run run = store<T, true>;
};

void fence(State*, const Step* s) {
  if (s->what == 0)
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
  else
    __atomic_thread_fence(__ATOMIC_ACQ_REL);
}

}  // namespace

Run load_handler(unsigned bits, bool ordered) { return ordered ? by_size<OrderedLoad>(bits) : by_size<Load>(bits); }
Run load_fixed_handler(unsigned bits) { return by_size<FixedLoad>(bits); }
Run store_handler(unsigned bits, bool ordered) { return ordered ? by_size<OrderedStore>(bits) : by_size<Store>(bits); }
Run fence_handler() { return fence; }

void find_addresses(State* st, const Step* s, Ref ref, std::uint64_t* out) { addresses(st, s, ref, out); }
bool check_alignment(State* st, const Step* s, const std::uint64_t* a, unsigned bytes) {
  return aligned(st, s, a, bytes);
}

}  // namespace warploom::interp

// float16 attention by the matrix units of sm_90 in many shapes, for sweep_attention.py, which reads the names:
// attention_GROUPS_KEYS_STAGES_TURNS_BLOCKS_PRODUCER_FIRST_ORDERED_HELD_LAZY_POLY.

#include "warpgroup.cuh"

#define INLINE __attribute__((always_inline))

constexpr int kWidth = 64;

// How scores become powers of two: 1 / sqrt(64), times log2(e).
constexpr float kScale = 0.125f * 1.4426950408889634f;

__device__ __forceinline__ float power(float x) {
  float out;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(out) : "f"(x));
  return out;
}

// The same by additions and products, within 1e-4: the multiplexed unit has a quarter of an SM's lanes for a cycle's
// work of the others. Numbers below -125 count as -125.
__device__ __forceinline__ float power_by_products(float x) {
  constexpr float kRound = 12582912.0f;  // 1.5 * 2^23: what is added to it keeps no fraction
  x = fmaxf(x, -125.0f);
  const float whole = x + kRound, part = x - (whole - kRound);  // part in [-1/2, 1/2]
  const float near = fmaf(fmaf(fmaf(0.05517166f, part, 0.24261112f), part, 0.69326099f), part, 0.99992807f);
  return __int_as_float(__float_as_int(near) + (__float_as_int(whole) << 23));
}

// Two floats as halves, the first one in the lower bits.
__device__ __forceinline__ unsigned halves(float low, float high) {
  unsigned out;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(out) : "f"(high), "f"(low));
  return out;
}

__device__ __forceinline__ void make_barrier(unsigned at, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(arrivals) : "memory");
}

__device__ __forceinline__ void arrive(unsigned at) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at) : "memory");
}

__device__ __forceinline__ void wait_for(unsigned at, unsigned parity) {
  asm volatile(
      "{\n.reg .pred done;\n"
      "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n}" ::"r"(at),
      "r"(parity)
      : "memory");
}

// What follows is not moved before a number is known: ptxas puts waits for products as early as it may. Sleeps at one
// NaN.
__device__ __forceinline__ void stay_behind(float number) {
  asm volatile("{\n.reg .pred never;\nsetp.eq.u32 never, %0, 0x7FC0ABCD;\n@never nanosleep.u32 1;\n}" ::"r"(
                   __float_as_int(number))
               : "memory");
}

// What generic accesses wrote becomes visible to the matrix units.
__device__ __forceinline__ void show_to_matrix_units() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// Rows of 64 halves in shared memory: 16 bytes are swapped with others of their row by the row's place among eight,
// which is the matrix units' 128-byte swizzle. THREADS threads bring ROWS of them; rows beyond the last are zeros.
template <int ROWS, int THREADS>
__device__ __forceinline__ void fetch_rows(const unsigned short* from, int first, int length, unsigned to, int t) {
  static_assert(THREADS % 64 == 0);
  to += t / 8 * 128 + (t % 8 ^ t / 8 % 8) * 16;
#pragma unroll
  for (int i = 0; i * THREADS < ROWS * 8; ++i) {
    const int row = first + i * (THREADS / 8) + t / 8;
    if ((i + 1) * THREADS > ROWS * 8 && i * (THREADS / 8) + t / 8 >= ROWS) break;
    const int bytes = row < length ? 16 : 0;
    const unsigned short* const at = from + (bytes != 0 ? row : 0) * kWidth + t % 8 * 8;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to + i * THREADS * 16), "l"(at), "r"(bytes)
                 : "memory");
  }
}

// out[h] = softmax(q[h] k[h]^T / 8) v[h], all (heads, length, 64), the grid (length / (64 GROUPS) rounded up, heads).
// GROUPS warpgroups have 64 queries each; tiles of KEYS keys go through rings of STAGES * TURNS places. With PRODUCER
// one more warpgroup brings them (1: who reads them makes them visible to the matrix units; 2: who brings them), else
// all threads do, and meet once in TURNS tiles. The next tile's scores are asked for FIRST, and weighed while this
// one's values are added up; or else afterwards. ORDERED: groups ask one after another. HELD: queries stay in
// registers. LAZY: results shrink only when a score grew by more than 2^8. POLY: of so many powers one is made of
// products (0: none).
template <int GROUPS, int KEYS, int STAGES, int TURNS, int PRODUCER, bool FIRST, bool ORDERED, bool HELD, bool LAZY,
          int POLY>
__device__ __forceinline__ void attention(const unsigned short* __restrict__ q, const unsigned short* __restrict__ k,
                                          const unsigned short* __restrict__ v, unsigned short* __restrict__ out,
                                          int length) {
  constexpr int kTile = KEYS * 128, kConsumers = GROUPS * 128;
  constexpr unsigned kPlaces = STAGES * TURNS;
  extern __shared__ __align__(1024) unsigned char shared[];
  const unsigned ks = (unsigned)__cvta_generic_to_shared(shared), vs = ks + kPlaces * kTile, qs = vs + kPlaces * kTile;
  const unsigned barriers = qs + (HELD ? 0 : GROUPS * 64 * 128);
  const auto full_k = [&](int stage) INLINE { return barriers + stage * 8; };
  const auto full_v = [&](int stage) INLINE { return barriers + (STAGES + stage) * 8; };
  const auto free_k = [&](int stage) INLINE { return barriers + (2 * STAGES + stage) * 8; };
  const auto free_v = [&](int stage) INLINE { return barriers + (3 * STAGES + stage) * 8; };
  const int t = threadIdx.x, lane = t % 32, pair = lane % 4 * 2;
  const int tiles = (length + KEYS - 1) / KEYS;
  const size_t head = (size_t)blockIdx.y * length * kWidth;
  q += head, k += head, v += head, out += head;

  if constexpr (PRODUCER != 0) {
    static_assert(TURNS == 1);
    if (t == 0)
      for (int stage = 0; stage < STAGES; ++stage) {
        make_barrier(full_k(stage), 128);
        make_barrier(full_v(stage), 128);
        make_barrier(free_k(stage), GROUPS * 4);
        make_barrier(free_v(stage), GROUPS * 4);
      }
    __syncthreads();
    if (t >= kConsumers) {
      asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(GROUPS == 2 ? 40 : 24));
      // In the order in which they are used: keys 0, keys 1, values 0, keys 2, values 1 and so on.
      const auto bring = [&](int part) INLINE {
        const bool is_key = part == 0 || part % 2 != 0;
        const int tile = is_key ? (part + 1) / 2 : part / 2 - 1, stage = tile % STAGES;
        if (tile >= tiles) return;
        if (tile >= STAGES) wait_for(is_key ? free_k(stage) : free_v(stage), (tile / STAGES - 1) & 1);
        fetch_rows<KEYS, 128>(is_key ? k : v, tile * KEYS, length, (is_key ? ks : vs) + stage * kTile, t - kConsumers);
        if (PRODUCER == 1)
          asm volatile(
              "cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(is_key ? full_k(stage) : full_v(stage))
              : "memory");
      };
      const auto show = [&](int part) INLINE {
        const bool is_key = part == 0 || part % 2 != 0;
        const int tile = is_key ? (part + 1) / 2 : part / 2 - 1, stage = tile % STAGES;
        show_to_matrix_units();
        if (tile < tiles) arrive(is_key ? full_k(stage) : full_v(stage));
      };
      constexpr int kBehind = PRODUCER == 2 ? 2 : 0;
#pragma unroll 1
      for (int part = 0; part <= 2 * tiles + kBehind; ++part) {
        bring(part);
        if constexpr (PRODUCER == 2) {
          asm volatile("cp.async.commit_group;\ncp.async.wait_group %0;" ::"n"(kBehind) : "memory");
          if (part >= kBehind) show(part - kBehind);
        }
      }
      asm volatile("cp.async.wait_all;" ::: "memory");
      return;
    }
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(GROUPS == 2 ? 232 : GROUPS == 3 ? 160 : 112));
  }

  const int group = __shfl_sync(0xFFFFFFFF, t / 128, 0);
  const int first = (blockIdx.x * GROUPS + group) * 64, row = first + t % 128 / 32 * 16 + lane / 4;
  // A group of copies is what TURNS tiles' turns need: their values, and the keys of the tiles that follow them.
  const auto fetch = [&](int tile, unsigned values_place, unsigned keys_place) INLINE {
#pragma unroll
    for (int i = 0; i < TURNS; ++i) {
      fetch_rows<KEYS, kConsumers>(k, (tile + i + 1) * KEYS, length, ks + (keys_place + i) % kPlaces * kTile, t);
      fetch_rows<KEYS, kConsumers>(v, (tile + i) * KEYS, length, vs + (values_place + i) * kTile, t);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  unsigned query[HELD ? 16 : 1];
  if constexpr (HELD) {
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      const int at = row + i % 2 * 8, element = i / 4 * 16 + pair + i % 4 / 2 * 8;
      query[i] = at < length ? *(const unsigned*)(q + (size_t)at * kWidth + element) : 0;
    }
  } else {
    fetch_rows<64, 128>(q, first, length, qs + group * 64 * 128, t % 128);
    if constexpr (PRODUCER != 0) {
      asm volatile("cp.async.wait_all;" ::: "memory");
      show_to_matrix_units();
      asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory");
    }
  }
  if constexpr (PRODUCER == 0) {
    fetch_rows<KEYS, kConsumers>(k, 0, length, ks, t);
    asm volatile("cp.async.commit_group;" ::: "memory");
#pragma unroll
    for (int i = 0; i + 1 < STAGES; ++i) fetch(i * TURNS, i * TURNS, i * TURNS + 1);
  }

  float score[KEYS / 2], result[32] = {}, largest[2] = {-INFINITY, -INFINITY}, total[2] = {};
  unsigned weight[KEYS / 4];
  const unsigned keys_at = describe(ks), values_at = describe(vs, 1024), queries_at = describe(qs + group * 64 * 128);
  const auto ask_for_scores = [&](unsigned place) INLINE {
    if constexpr (HELD)
      Scores<KEYS>::of_registers(score, query, keys_at + place * (kTile >> 4));
    else
      Scores<KEYS>::of_shared(score, queries_at, keys_at + place * (kTile >> 4));
  };
  const auto ask_for_values = [&](unsigned place) INLINE {
    before_products();
#pragma unroll
    for (int i = 0; i < KEYS / 16; ++i)
      add_values(result, &weight[i * 4], values_at + place * (kTile >> 4) + i * (16 * 128 >> 4));
    after_products();
  };
  const auto wait_keys = [&](int stage, unsigned parity) INLINE {
    if constexpr (PRODUCER != 0) {
      wait_for(full_k(stage), parity);
      if (PRODUCER == 1) show_to_matrix_units();
    }
  };
  const auto wait_values = [&](int stage, unsigned parity) INLINE {
    if constexpr (PRODUCER != 0) {
      wait_for(full_v(stage), parity);
      if (PRODUCER == 1) show_to_matrix_units();
    }
  };
  const auto leave = [&](unsigned barrier) INLINE {
    if constexpr (PRODUCER != 0)
      if (lane == 0) arrive(barrier);
  };

  // Turns scores into weights, in place; gives what earlier results shrink by.
  float shrink[2];
  const auto weigh = [&](int start, bool beginning) INLINE -> bool {
    if (start + KEYS > length) {
#pragma unroll
      for (int i = 0; i < KEYS / 2; ++i)
        if (start + i / 4 * 8 + pair + i % 2 >= length) score[i] = -INFINITY;
    }
    float grown[2];
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      float a = fmaxf(score[2 * r], score[2 * r + 1]), b = fmaxf(score[2 * r + 4], score[2 * r + 5]);
#pragma unroll
      for (int i = 8; i < KEYS / 2; i += 8) {
        a = fmaxf(a, fmaxf(score[i + 2 * r], score[i + 2 * r + 1]));
        b = fmaxf(b, fmaxf(score[i + 2 * r + 4], score[i + 2 * r + 5]));
      }
      grown[r] = fmaxf(a, b);
    }
#pragma unroll
    for (int step = 1; step <= 2; step *= 2)
#pragma unroll
      for (int r = 0; r < 2; ++r) grown[r] = fmaxf(grown[r], __shfl_xor_sync(0xFFFFFFFF, grown[r], step));
    bool shrinks = true;
    for (int r = 0; r < 2; ++r) grown[r] = fmaxf(grown[r] * kScale, largest[r]);
    if constexpr (LAZY) {
      // Weights up to 2^8 are as exact in float16.
      shrinks = beginning || __any_sync(0xFFFFFFFF, fmaxf(grown[0] - largest[0], grown[1] - largest[1]) > 8);
      if (!shrinks) grown[0] = largest[0], grown[1] = largest[1];
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
      if (shrinks) shrink[r] = power(largest[r] - grown[r]);
      largest[r] = grown[r];
      float sum[2] = {};
#pragma unroll
      for (int i = 0; i < KEYS / 2; i += 4)
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          float& s = score[i + 2 * r + j];
          s = fmaf(s, kScale, -grown[r]);
          s = POLY > 0 && (i / 2 + j) % (POLY > 0 ? POLY : 1) == 0 ? power_by_products(s) : power(s);
          sum[j] += s;
        }
      if (shrinks) total[r] *= shrink[r];
      total[r] += sum[0] + sum[1];
    }
    return shrinks;
  };
  const auto take_weights = [&]() INLINE {
#pragma unroll
    for (int i = 0; i < KEYS / 4; ++i) weight[i] = halves(score[2 * i], score[2 * i + 1]);
  };
  const auto shrink_results = [&]() INLINE {
#pragma unroll
    for (int i = 0; i < 32; ++i) result[i] *= shrink[i / 2 % 2];
  };
  // The group of copies that the next turns need has arrived, and nobody reads the one before any more.
  const auto meet = [&](int tile, unsigned place) INLINE {
    if constexpr (PRODUCER == 0) {
      asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
      show_to_matrix_units();
      __syncthreads();
      const unsigned free = place == 0 ? kPlaces - TURNS : place - TURNS;
      fetch(tile + (STAGES - 1) * TURNS, free, free + 1);
    }
  };

  if constexpr (PRODUCER == 0) {
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 1) : "memory");
    show_to_matrix_units();
    __syncthreads();
  }
  wait_keys(0, 0);
  ask_for_scores(0);
  wait_products<0>();
  pin(score);
  leave(free_k(0));
  weigh(0, true);
  take_weights();
  unsigned now = 0, next = 1;  // places in the rings
  unsigned now_parity = 0, next_parity = 0;
  const auto turn = [&](int tile) INLINE {
    bool shrinks;
    if constexpr (ORDERED)
      if (group != 0 || tile != 0) asm volatile("bar.sync %0, 256;" ::"r"(8 + group) : "memory");
    const auto asked = [&]() INLINE {
      if constexpr (ORDERED)
        if (group + 1 != GROUPS || tile + 2 != tiles)
          asm volatile("bar.arrive %0, 256;" ::"r"(8 + (group + 1 == GROUPS ? 0 : group + 1)) : "memory");
    };
    if constexpr (FIRST) {
      wait_keys(next, next_parity);
      ask_for_scores(next);
      wait_values(now, now_parity);
      ask_for_values(now);
      asked();
      wait_products<1>();
      pin(score);
      leave(free_k(next));
      shrinks = weigh((tile + 1) * KEYS, false);
      stay_behind(total[0] + total[1]);
      wait_products<0>();
      pin(result);
      leave(free_v(now));
    } else {
      wait_values(now, now_parity);
      ask_for_values(now);
      wait_keys(next, next_parity);
      ask_for_scores(next);
      asked();
      wait_products<0>();
      pin(score);
      pin(result);
      leave(free_v(now));
      leave(free_k(next));
      shrinks = weigh((tile + 1) * KEYS, false);
    }
    if (shrinks) shrink_results();
    take_weights();
    now = next, now_parity = next_parity;
    if (++next == kPlaces) next = 0, next_parity ^= 1;
  };
#pragma unroll 1
  for (int tile = 0; tile + 1 < tiles; ++tile) {
    if (tile % TURNS == 0) meet(tile, now);
    turn(tile);
  }
  if ((tiles - 1) % TURNS == 0) meet(tiles - 1, now);
  wait_values(now, now_parity);
  ask_for_values(now);
  wait_products<0>();
  pin(result);
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    float sum = total[r];
    for (int step = 2; step > 0; step /= 2) sum += __shfl_xor_sync(0xFFFFFFFF, sum, step);
    if (row + r * 8 >= length) continue;
    float scale;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(scale) : "f"(sum));
#pragma unroll
    for (int i = 0; i < 8; ++i)
      *(unsigned*)(out + (size_t)(row + r * 8) * kWidth + i * 8 + pair) =
          halves(result[i * 4 + 2 * r] * scale, result[i * 4 + 2 * r + 1] * scale);
  }
}

#define NAME(G, K, S, T, B, P, F, O, H, L, E) attention_##G##_##K##_##S##_##T##_##B##_##P##_##F##_##O##_##H##_##L##_##E
#define VARIANT(GROUPS, KEYS, STAGES, TURNS, BLOCKS, PRODUCER, FIRST, ORDERED, HELD, LAZY, POLY)              \
  extern "C" __global__ void __launch_bounds__((GROUPS + (PRODUCER != 0)) * 128, BLOCKS)                      \
      NAME(GROUPS, KEYS, STAGES, TURNS, BLOCKS, PRODUCER, FIRST, ORDERED, HELD, LAZY, POLY)(                  \
          const unsigned short* __restrict__ q, const unsigned short* __restrict__ k,                         \
          const unsigned short* __restrict__ v, unsigned short* __restrict__ out, int length) {               \
    attention<GROUPS, KEYS, STAGES, TURNS, PRODUCER, FIRST, ORDERED, HELD, LAZY, POLY>(q, k, v, out, length); \
  }
#ifdef BEST_ALONE
VARIANT(4, 64, 4, 1, 1, 2, 1, 1, 0, 1, 0)
#else
// Four groups of 64 queries in a block.
VARIANT(4, 64, 2, 1, 1, 0, 1, 0, 0, 0, 0)
VARIANT(4, 64, 2, 1, 1, 0, 1, 0, 0, 1, 0)
VARIANT(4, 64, 2, 2, 1, 0, 1, 0, 0, 1, 0)
VARIANT(4, 64, 2, 2, 1, 0, 1, 1, 0, 1, 0)
VARIANT(4, 64, 2, 2, 1, 0, 1, 1, 0, 1, 8)
VARIANT(4, 64, 2, 2, 1, 0, 0, 0, 0, 1, 0)
VARIANT(4, 64, 2, 2, 1, 0, 1, 0, 1, 1, 0)
VARIANT(4, 64, 2, 4, 1, 0, 1, 0, 0, 1, 0)
VARIANT(4, 64, 3, 1, 1, 0, 1, 0, 0, 1, 0)
VARIANT(4, 80, 2, 1, 1, 0, 1, 0, 0, 1, 0)
VARIANT(4, 64, 4, 1, 1, 1, 1, 0, 0, 1, 0)
VARIANT(4, 64, 4, 1, 1, 2, 1, 0, 0, 1, 0)
VARIANT(4, 64, 4, 1, 1, 2, 1, 1, 0, 1, 0)
VARIANT(4, 64, 4, 1, 1, 2, 1, 1, 0, 1, 4)
VARIANT(4, 64, 4, 1, 1, 2, 1, 1, 0, 1, 8)
VARIANT(4, 64, 4, 1, 1, 1, 1, 1, 0, 1, 0)
VARIANT(4, 64, 4, 1, 1, 1, 1, 1, 0, 1, 8)
VARIANT(4, 64, 3, 1, 1, 2, 1, 1, 0, 1, 0)
VARIANT(4, 64, 6, 1, 1, 2, 1, 1, 0, 1, 0)
VARIANT(4, 64, 4, 1, 1, 2, 0, 1, 0, 1, 0)
// Two blocks of two groups.
VARIANT(2, 64, 2, 1, 2, 0, 1, 0, 0, 1, 0)
VARIANT(2, 64, 3, 1, 2, 0, 1, 0, 0, 1, 0)
VARIANT(2, 64, 2, 2, 2, 0, 1, 0, 0, 1, 0)
VARIANT(2, 64, 2, 2, 2, 0, 1, 1, 0, 1, 0)
VARIANT(2, 64, 2, 2, 2, 0, 0, 0, 0, 1, 0)
VARIANT(2, 64, 2, 2, 2, 0, 1, 0, 0, 1, 4)
VARIANT(2, 80, 2, 1, 2, 0, 1, 0, 0, 1, 0)
// A few groups with many registers.
VARIANT(2, 128, 2, 1, 1, 1, 1, 1, 0, 1, 0)
VARIANT(2, 128, 3, 1, 1, 2, 1, 1, 0, 1, 0)
VARIANT(2, 192, 2, 1, 1, 2, 1, 1, 0, 1, 0)
VARIANT(3, 128, 3, 1, 1, 2, 1, 1, 0, 1, 0)
VARIANT(3, 128, 2, 1, 1, 0, 1, 1, 0, 1, 0)
#endif

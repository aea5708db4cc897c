// Peak loops: sums, copies and additions of arrays larger than the caches, and independent fused multiply-adds.
// Compiled for this machine.
#include "limits.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <sys/mman.h>
#include <vector>
#ifdef __AVX__
#include <immintrin.h>
#endif

#include "loops.hpp"
#include "measure.hpp"

namespace warploom::bench {
namespace {

#ifdef __AVX512F__
constexpr int kLanes = 16;
#else
constexpr int kLanes = 8;
#endif
typedef float Lanes __attribute__((vector_size(kLanes * sizeof(float))));  // NOLINT(modernize-use-using)

constexpr int kCount = 1 << 25;
constexpr int kSteps = 1 << 20, kChains = 12;

struct Free {
  void operator()(float* memory) const { std::free(memory); }
};
using Floats = std::unique_ptr<float, Free>;

// In huge pages, as device arrays are.
Floats floats() {
  constexpr std::size_t bytes = sizeof(float) * kCount, page = std::size_t{1} << 21;
  Floats memory(static_cast<float*>(std::aligned_alloc(page, bytes)));
  if (!memory) throw std::bad_alloc();
  madvise(memory.get(), bytes, MADV_HUGEPAGE);
  std::fill(memory.get(), memory.get() + kCount, 1.0f);
  return memory;
}

volatile float sink;

void read(const float* a) {
  constexpr int chunk = 1 << 13;
  float total = 0;
#pragma omp parallel for reduction(+ : total)
  for (int first = 0; first < kCount; first += chunk) {
    Lanes sums[8] = {};
    for (int i = first; i < first + chunk; i += 8 * kLanes) {
      Lanes loaded[8];
      std::memcpy(loaded, a + i, sizeof(loaded));
      for (int k = 0; k < 8; ++k) sums[k] += loaded[k];
    }
    for (const Lanes& sum : sums)
      for (int lane = 0; lane < kLanes; ++lane) total += sum[lane];
  }
  sink = total;
}

void copy(const float* __restrict a, float* __restrict c) {
#pragma omp parallel for
  for (int i = 0; i < kCount; ++i) c[i] = 1.5f * a[i];
}

void add(const float* __restrict a, const float* __restrict b, float* __restrict c) {
#pragma omp parallel for
  for (int i = 0; i < kCount; ++i) c[i] = a[i] + b[i];
}

#ifdef __AVX__
void copy_past_caches(const float* a, float* c) {
#pragma omp parallel for
  for (int i = 0; i < kCount; i += 8) _mm256_stream_ps(c + i, _mm256_load_ps(a + i));
  _mm_sfence();
}

void add_past_caches(const float* a, const float* b, float* c) {
#pragma omp parallel for
  for (int i = 0; i < kCount; i += 8)
    _mm256_stream_ps(c + i, _mm256_add_ps(_mm256_load_ps(a + i), _mm256_load_ps(b + i)));
  _mm_sfence();
}
#endif

void multiply_add(int threads) {
#pragma omp parallel for
  for (int thread = 0; thread < threads; ++thread) {
    Lanes sums[kChains];
    for (int chain = 0; chain < kChains; ++chain) sums[chain] = Lanes{} + static_cast<float>(chain);
    Lanes factor = Lanes{} + 0.999f, term = Lanes{} + 0.5f;
    for (int step = 0; step < kSteps; ++step) {
      asm volatile("" : "+v"(factor), "+v"(term));
#pragma GCC unroll 16
      for (Lanes& sum : sums) sum = sum * factor + term;
    }
    for (const Lanes& sum : sums)
      for (int lane = 0; lane < kLanes; ++lane) sink = sum[lane];
  }
}

}  // namespace

Limits measure_limits(unsigned threads) {
  loops::set_threads(static_cast<int>(threads));
  const Floats a = floats(), b = floats(), c = floats();
  std::vector<Variant> variants;
  const auto loop = [&](std::function<void()> run) { variants.push_back({"", std::move(run)}); };
  loop([&] { read(a.get()); });
  loop([&] { multiply_add(static_cast<int>(threads)); });
  loop([&] { copy(a.get(), c.get()); });
  loop([&] { add(a.get(), b.get(), c.get()); });
#ifdef __AVX__
  loop([&] { copy_past_caches(a.get(), c.get()); });
  loop([&] { add_past_caches(a.get(), b.get(), c.get()); });
#endif
  take_turns(variants, {.seconds = 2, .least = 5, .most = 15});
  // The better of a loop and, where there is one, its version past the caches.
  const auto rate = [&](double work, std::size_t loop, std::size_t other) {
    double best = 1e30;
    for (const std::size_t i : {loop, other < variants.size() ? other : loop}) {
      const std::vector<double>& times = threads == 1 ? variants[i].cpu : variants[i].wall;
      best = std::min(best, *std::min_element(times.begin(), times.end()));
    }
    return work / best;
  };
  return {.read = rate(4.0 * kCount, 0, 0),
          .copy = rate(8.0 * kCount, 2, 4),
          .add = rate(12.0 * kCount, 3, 5),
          .fma = rate(static_cast<double>(threads) * kSteps * kChains * kLanes, 1, 1)};
}

}  // namespace warploom::bench

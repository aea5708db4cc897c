// Products of matrix fragments in vectors, a row of the result at a time. What is rare goes to the references:
// infinities, NaNs, sparse factors, directed rounding and mma.m8n8k4 of f16.
#include "codegen/matrix_product.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "isa/ref/warp_matrix.hpp"

#if defined(__x86_64__)
#define WARPLOOM_MATRIX_WIDE __attribute__((target("avx2,fma,bmi,bmi2,lzcnt,popcnt")))
#else
#define WARPLOOM_MATRIX_WIDE
#endif
// Its body is compiled for whoever inlines it.
#define WARPLOOM_MATRIX_PART __attribute__((always_inline)) inline

namespace warploom::codegen {

namespace {

using isa::MatrixForm;
using isa::Type;
using Matrix = MatrixForm::Matrix;
using i32 = std::int32_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

// Where elements of the dense matrices lie in registers, counted in elements; made once for each form.
struct Tables {
  MatrixForm form;
  bool plain = false;  // the vectors below can do it
  std::vector<u16> a;  // row by row
  std::vector<u16> b;  // row by row: an element of each column in turn
  std::vector<u16> c, d;
};

std::vector<u16> places_of(const MatrixForm& f, Matrix which) {
  const unsigned bits = isa::bits(f.type(which)), each = bits < 32 ? 32 / bits : 1;
  const auto places = isa::fragment_places(f, which);
  std::vector<u16> out(std::size_t{f.rows(which)} * f.columns(which));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t e = i / 32, lane = i % 32;
    out[places[i]] = static_cast<u16>((e / each * 32 + lane) * each + e % each);
  }
  return out;
}

const Tables& tables_of(u64 packed) {
  struct Known {
    std::atomic<u64> form{0};
    std::atomic<const Tables*> tables{nullptr};
  };
  static std::array<Known, 256> quick;
  Known& slot = quick[packed * 0x9e3779b97f4a7c15ULL >> 56];
  if (const Tables* t = slot.tables.load(std::memory_order_acquire);
      t != nullptr && slot.form.load(std::memory_order_relaxed) == packed)
    return *t;
  static std::mutex mutex;
  static std::unordered_map<u64, std::unique_ptr<const Tables>> all;
  const std::lock_guard lock(mutex);
  auto& entry = all[packed];
  if (entry == nullptr) {
    auto t = std::make_unique<Tables>();
    t->form = MatrixForm::unpack(packed);
    const MatrixForm& f = t->form;
    t->plain = !f.sparse && !f.quads() && f.rounding == 0;
    if (t->plain) {
      t->a = places_of(f, Matrix::a), t->b = places_of(f, Matrix::b);
      t->c = places_of(f, Matrix::c), t->d = places_of(f, Matrix::d);
    }
    entry = std::move(t);
  }
  // A slot belongs to the first form that takes it.
  u64 none = 0;
  if (slot.form.compare_exchange_strong(none, packed)) slot.tables.store(entry.get(), std::memory_order_release);
  return *entry;
}

constexpr unsigned kMostFactors = 32 * 16, kMostResults = 256;
constexpr i32 kNothing = -30000;  // exponent of a zero

// Signed significands, and exponents of their leading bits; subnormal numbers are not normalised. `value` is the
// number itself, and the exponents of those that are no zero lie in [least, most].
struct Factors {
  alignas(64) i32 size[kMostFactors];
  alignas(64) i32 exponent[kMostFactors];
  alignas(64) float value[kMostFactors];
  i32 least = 0, most = 0;
};

// Eight of a row at a time.
constexpr unsigned kWidth = 8;
// NOLINTBEGIN(modernize-use-using): an alias drops the attributes
typedef i32 Ints __attribute__((vector_size(4 * kWidth), aligned(4), may_alias));
typedef u32 Bits __attribute__((vector_size(4 * kWidth), aligned(4), may_alias));
typedef float Reals __attribute__((vector_size(4 * kWidth), aligned(4), may_alias));
typedef i32 HalfInts __attribute__((vector_size(2 * kWidth), aligned(4), may_alias));
typedef float HalfReals __attribute__((vector_size(2 * kWidth), aligned(4), may_alias));
typedef std::int64_t HalfLongs __attribute__((vector_size(4 * kWidth), aligned(8), may_alias));
typedef double HalfDoubles __attribute__((vector_size(4 * kWidth), aligned(8), may_alias));
// NOLINTEND(modernize-use-using)

template <class T>
WARPLOOM_MATRIX_PART void gather(const std::vector<u16>& places, const void* registers, T* out) {
  const auto* from = static_cast<const T*>(registers);
  for (std::size_t i = 0; i < places.size(); ++i) out[i] = from[places[i]];
}

// False if one is infinite or no number.
WARPLOOM_MATRIX_PART bool split(const u32* raw, std::size_t n, unsigned exponent_bits, unsigned fraction,
                                Factors& out) {
  const u32 top = (1U << exponent_bits) - 1, mask = (1U << fraction) - 1;
  const i32 bias = static_cast<i32>(top >> 1);
  Ints special = {}, least = Ints{} + (1 << 20), most = Ints{} + kNothing;
  for (std::size_t i = 0; i < n; i += kWidth) {
    const Bits x = *reinterpret_cast<const Bits*>(raw + i), e = x >> fraction & top, m = x & mask;
    special |= e == top;
    const Ints whole = reinterpret_cast<Ints>(e == 0 ? m : m | (mask + 1)), zero = whole == 0;
    const Ints sign = -reinterpret_cast<Ints>(x >> (fraction + exponent_bits) & 1);
    const Ints size = (whole ^ sign) - sign;
    const Ints exponent = reinterpret_cast<Ints>(e == 0 ? Bits{} + 1 : e) - bias;
    const Ints low = zero ? Ints{} + (1 << 20) : exponent, high = zero ? Ints{} + kNothing : exponent;
    least = low < least ? low : least, most = high > most ? high : most;
    *reinterpret_cast<Ints*>(out.size + i) = size;
    *reinterpret_cast<Ints*>(out.exponent + i) = high;
    const Reals power = reinterpret_cast<Reals>((exponent - static_cast<i32>(fraction) + 127) << 23);
    *reinterpret_cast<Reals*>(out.value + i) = exponent_bits == 8 ? reinterpret_cast<Reals>(x << (23 - fraction))
                                                                  : __builtin_convertvector(size, Reals) * power;
  }
  out.least = least[0], out.most = most[0];
  i32 any = 0;
  for (unsigned j = 0; j < kWidth; ++j)
    out.least = std::min(out.least, least[j]), out.most = std::max(out.most, most[j]), any |= special[j];
  return any == 0;
}

WARPLOOM_MATRIX_PART double power_of_two(i32 e) { return std::bit_cast<double>(static_cast<u64>(e + 1023) << 52); }

// Rounds to the nearest f16; a zero is positive.
WARPLOOM_MATRIX_PART u32 to_half(double v) {
  const u64 bits = std::bit_cast<u64>(v), size = bits & ~(u64{1} << 63);
  u32 out = 0;
  if (size < std::bit_cast<u64>(0x1p-14)) {
    out = static_cast<u32>(std::nearbyint(std::bit_cast<double>(size) * 0x1p24));
  } else {
    const u64 rounded = size + ((u64{1} << 41) - 1) + (size >> 42 & 1);
    out = static_cast<u32>(std::min<u64>((rounded >> 42) - (u64{1023 - 15} << 10), 0x7c00));
  }
  return out == 0 ? 0 : out | static_cast<u32>(bits >> 63) << 15;
}

// Cuts off to an f32; a zero is positive.
WARPLOOM_MATRIX_PART float to_float(double v) {
  const double size = std::fabs(v);
  if (size < 0x1p-126) return static_cast<float>(std::trunc(v * 0x1p149) * 0x1p-149) + 0.0F;
  return static_cast<float>(std::bit_cast<double>(std::bit_cast<u64>(v) & ~u64{0x1fffffff}));
}

// Products `first` to `last` of one row and eight columns are added to sums of size and exponent, as float_dot() does;
// gives the sums exactly.
WARPLOOM_MATRIX_PART void add_group(const i32* a_size, const i32* a_exponent, const Factors& b, const unsigned* order,
                                    unsigned count, unsigned columns, unsigned column, int product_shift,
                                    const i32* c_size, const i32* c_exponent, double* out) {
  alignas(32) i32 top[kWidth], sum[kWidth], more[kWidth] = {};
  for (unsigned j = 0; j < kWidth; ++j) top[j] = c_exponent[j];
  for (unsigned k = 0; k < count; ++k) {
    const i32 e = a_exponent[order[k]];
    const i32* be = b.exponent + std::size_t{order[k]} * columns + column;
    for (unsigned j = 0; j < kWidth; ++j) top[j] = std::max(top[j], e + be[j]);
  }
  for (unsigned j = 0; j < kWidth; ++j) {
    const i32 sign = c_size[j] >> 31, size = (c_size[j] ^ sign) - sign;
    const u32 down = static_cast<u32>(std::min(top[j] - c_exponent[j], 31));
    sum[j] = (static_cast<i32>(static_cast<u32>(size) << 2 >> down) ^ sign) - sign;
  }
  // Sixteen products of 27 bits and an accumulator would not fit into 32: every other one is added aside.
  const auto add = [&](unsigned k, i32* to) __attribute__((always_inline)) {
    const i32 e = a_exponent[order[k]], s = a_size[order[k]];
    const std::size_t at = std::size_t{order[k]} * columns + column;
    const i32 *be = b.exponent + at, *bs = b.size + at;
    for (unsigned j = 0; j < kWidth; ++j) {
      const i32 product = s * bs[j], sign = product >> 31, size = (product ^ sign) - sign;
      const u32 down = static_cast<u32>(std::min(top[j] - (e + be[j]), 31));
      to[j] += (static_cast<i32>(static_cast<u32>(size) << product_shift >> down) ^ sign) - sign;
    }
  };
  for (unsigned k = 0; k < count; ++k) add(k, k % 2 == 0 ? sum : more);
  for (unsigned j = 0; j < kWidth; ++j) {
    const i32 last = std::max(top[j], -900) - isa::ref::kDotBits;
    out[j] = (static_cast<double>(sum[j]) + static_cast<double>(more[j])) * power_of_two(last);
  }
}

// The same where products are exact as f32: add_group() cuts each off at a place that the largest of them sets, which
// for a number is a conversion to an integer. Exponents of products lie in [-100, 120]. `b_value` and `b_exponent` are
// rows of `columns`.
WARPLOOM_MATRIX_PART void add_numbers(const float* a_value, const i32* a_exponent, const float* b_value,
                                      const i32* b_exponent, unsigned count, unsigned columns, const i32* c_size,
                                      const i32* c_exponent, double* out) {
  const Ints c_top = *reinterpret_cast<const Ints*>(c_exponent);
  Ints top = c_top;
  for (unsigned k = 0; k < count; ++k, b_exponent += columns) {
    const Ints e = *reinterpret_cast<const Ints*>(b_exponent) + a_exponent[k];
    top = e > top ? e : top;
  }
  const Ints places = isa::ref::kDotBits + 127 - top;
  const Reals scale = reinterpret_cast<Reals>((places > 254 ? Ints{} + 254 : places) << 23);
  Ints sum = *reinterpret_cast<const Ints*>(c_size), more = {};
  const Ints sign = sum >> 31, far = top - c_top, down = far > 31 ? Ints{} + 31 : far;
  sum = ((((sum ^ sign) - sign) << 2 >> down) ^ sign) - sign;
  for (unsigned k = 0; k < count; k += 2, b_value += std::size_t{2} * columns) {
    const Reals even = *reinterpret_cast<const Reals*>(b_value) * a_value[k];
    const Reals odd = *reinterpret_cast<const Reals*>(b_value + columns) * a_value[k + 1];
    sum += __builtin_convertvector(even * scale, Ints);
    more += __builtin_convertvector(odd * scale, Ints);
  }
  alignas(32) i32 sums[kWidth], others[kWidth], tops[kWidth];
  *reinterpret_cast<Ints*>(sums) = sum, *reinterpret_cast<Ints*>(others) = more, *reinterpret_cast<Ints*>(tops) = top;
  for (unsigned j = 0; j < kWidth; j += kWidth / 2) {
    const auto half = [&](const i32* from) { return *reinterpret_cast<const HalfInts*>(from + j); };
    const HalfInts most = half(tops), last = (most > -900 ? most : HalfInts{} - 900) - isa::ref::kDotBits;
    const HalfLongs power = __builtin_convertvector(last + 1023, HalfLongs) << 52;
    *reinterpret_cast<HalfDoubles*>(out + j) =
        (__builtin_convertvector(half(sums), HalfDoubles) + __builtin_convertvector(half(others), HalfDoubles)) *
        reinterpret_cast<HalfDoubles>(power);
  }
}

// Sums of floating-point products; false when the references must do it.
WARPLOOM_MATRIX_PART bool multiply_floats(const Tables& t, void* d, const void* a, const void* b, const void* c) {
  const MatrixForm& f = t.form;
  const unsigned m = f.m, n = f.n, k = f.k;
  alignas(64) u32 raw[kMostFactors];
  Factors fa, fb;
  bool plain = true;
  int fraction = 10;
  const auto factors = [&](Type type, const std::vector<u16>& places, const void* registers,
                           Factors& out) __attribute__((always_inline)) {
    const auto* halves = static_cast<const u16*>(registers);
    const auto* words = static_cast<const u32*>(registers);
    const auto* bytes = static_cast<const std::uint8_t*>(registers);
    const std::size_t count = places.size();
    switch (type) {
      case Type::tf32:
        for (std::size_t i = 0; i < count; ++i) raw[i] = words[places[i]] >> 13;
        plain &= split(raw, count, 8, 10, out);
        break;
      case Type::bf16:
        fraction = 7;
        for (std::size_t i = 0; i < count; ++i) raw[i] = halves[places[i]];
        plain &= split(raw, count, 8, 7, out);
        break;
      case Type::f16:
        for (std::size_t i = 0; i < count; ++i) raw[i] = halves[places[i]];
        plain &= split(raw, count, 5, 10, out);
        break;
      default: {
        // The f16 of each e4m3 and e5m2.
        static const auto widened = [] {
          std::array<std::array<u16, 256>, 2> table{};
          for (unsigned i = 0; i < 256; ++i) {
            table[0][i] = static_cast<u16>(isa::ref::from_e4m3(isa::ref::kF16, static_cast<std::uint8_t>(i)));
            table[1][i] = static_cast<u16>(isa::ref::from_e5m2(isa::ref::kF16, static_cast<std::uint8_t>(i)));
          }
          return table;
        }();
        const auto& wide = widened[type == Type::e5m2 ? 1 : 0];
        for (std::size_t i = 0; i < count; ++i) raw[i] = wide[bytes[places[i]]];
        plain &= split(raw, count, 5, 10, out);
      }
    }
  };
  factors(f.a, t.a, a, fa);
  factors(f.b, t.b, b, fb);
  if (!plain) return false;
  const bool bytes = isa::bits(f.a) == 8, half_in = f.c == Type::f16, half_out = f.d == Type::f16;
  // The accumulator as it is, and what the sums begin with: of bytes, zeros.
  alignas(64) u32 old[kMostResults], results[kMostResults];
  alignas(64) i32 c_size[kMostResults], c_exponent[kMostResults];
  alignas(64) float c_float[kMostResults];
  const std::size_t count = t.c.size();
  u32 special = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (half_in) {
      const u32 x = static_cast<const u16*>(c)[t.c[i]], e = x >> 10 & 31;
      special |= static_cast<u32>(e == 31);
      const auto size = static_cast<float>(e == 0 ? x & 1023 : (x & 1023) | 1024);
      const float v = size * static_cast<float>(power_of_two(static_cast<i32>(std::max(e, 1U)) - 25));
      c_float[i] = (x & 0x8000) != 0 ? -v : v;
      // In an f16 sum a subnormal accumulator keeps its exponent; elsewhere it has become an f32.
      old[i] = half_out ? static_cast<u32>(x) : 0;
    } else {
      const u32 x = static_cast<const u32*>(c)[t.c[i]];
      special |= static_cast<u32>((x >> 23 & 255) == 255);
      c_float[i] = std::bit_cast<float>(x);
    }
  }
  if (special != 0) return false;
  for (std::size_t i = 0; i < count; ++i) {
    const u32 x = std::bit_cast<u32>(c_float[i]), e = x >> 23 & 255, low = x & 0x7fffff;
    const auto size = static_cast<i32>(e == 0 ? low : low | 0x800000);
    const i32 sign = -static_cast<i32>(x >> 31);
    c_size[i] = (size ^ sign) - sign;
    c_exponent[i] = size == 0 ? kNothing : static_cast<i32>(std::max(e, 1U)) - 127;
  }
  if (half_in && half_out && !bytes)
    for (std::size_t i = 0; i < count; ++i)
      if ((old[i] >> 10 & 31) == 0 && c_size[i] != 0) {
        // 24 bits that begin at the exponent of the least normal f16.
        const i32 size = static_cast<i32>(old[i] & 1023) << 13;
        c_size[i] = (old[i] & 0x8000) != 0 ? -size : size;
        c_exponent[i] = -14;
      }
  const bool exact = !bytes && fa.most + fb.most <= 120 && fa.least + fb.least >= -100;
  const int product_shift = isa::ref::kDotBits - 2 * fraction;
  unsigned order[64];
  unsigned group = f.a != Type::tf32 ? 16 : f.warp ? 4 : 8;
  for (unsigned i = 0; i < k; ++i) order[i] = i;
  if (bytes) {
    unsigned at = 0;
    for (const unsigned half : {0U, 2U})
      for (unsigned i = 0; i < k; ++i)
        if (i % 4 / 2 * 2 == half) order[at++] = i;
    group = k / 2;
  }
  constexpr std::array<i32, 8> kZeros{},
      kNone = {kNothing, kNothing, kNothing, kNothing, kNothing, kNothing, kNothing, kNothing};
  for (unsigned row = 0; row < m; ++row)
    for (unsigned column = 0; column < n; column += 8) {
      const std::size_t at = std::size_t{row} * n + column;
      alignas(64) i32 size[8], exponent[8];
      alignas(64) double sums[8] = {};
      const i32 *from_size = bytes ? kZeros.data() : c_size + at,
                *from_exponent = bytes ? kNone.data() : c_exponent + at;
      for (unsigned first = 0; first < k; first += group) {
        const unsigned last = std::min(first + group, k);
        const std::size_t begin = std::size_t{row} * k;
        const float* values = fb.value + std::size_t{first} * n + column;
        const i32* exponents = fb.exponent + std::size_t{first} * n + column;
        const auto add = [&](unsigned wide, unsigned long_) __attribute__((always_inline)) {
          add_numbers(fa.value + begin + first, fa.exponent + begin + first, values, exponents, long_, wide, from_size,
                      from_exponent, sums);
        };
        if (exact && n == 8 && last - first == 16)
          add(8, 16);
        else if (exact && n == 16 && last - first == 16)
          add(16, 16);
        else if (exact)
          add(n, last - first);
        else
          add_group(fa.size + begin, fa.exponent + begin, fb, order + first, last - first, n, column, product_shift,
                    from_size, from_exponent, sums);
        if (last == k) break;
        for (unsigned j = 0; j < 8; ++j) {
          // An f16 sum of bytes is rounded to f16 in between.
          float v = to_float(sums[j]);
          if (bytes && half_out) {
            const u32 h = to_half(sums[j]), e = h >> 10 & 31;
            if (e == 31) return false;
            const i32 part = static_cast<i32>(e == 0 ? h & 1023 : (h & 1023) | 1024) << 13;
            size[j] = (h & 0x8000) != 0 ? -part : part;
            exponent[j] = part == 0 ? kNothing : static_cast<i32>(std::max(e, 1U)) - 15;
            continue;
          }
          const u32 x = std::bit_cast<u32>(v), e = x >> 23 & 255, low = x & 0x7fffff;
          if (e == 255) return false;
          const auto part = static_cast<i32>(e == 0 ? low : low | 0x800000);
          size[j] = (x >> 31) != 0 ? -part : part;
          exponent[j] = part == 0 ? kNothing : static_cast<i32>(std::max(e, 1U)) - 127;
        }
        from_size = size, from_exponent = exponent;
      }
      // An f32 is cut off; not so below its normal numbers, where a zero is positive.
      if (!half_out) {
        HalfLongs small = {};
        alignas(32) float cut[8];
        for (unsigned j = 0; j < 8; j += 4) {
          const HalfLongs words = *reinterpret_cast<const HalfLongs*>(sums + j);
          small |= (words & std::int64_t{0x7fffffffffffffff}) < std::bit_cast<std::int64_t>(0x1p-126);
          *reinterpret_cast<HalfReals*>(cut + j) =
              __builtin_convertvector(reinterpret_cast<HalfDoubles>(words & ~std::int64_t{0x1fffffff}), HalfReals);
        }
        if ((small[0] | small[1] | small[2] | small[3]) == 0) {
          for (unsigned j = 0; j < 8; ++j)
            results[at + j] = std::bit_cast<u32>(bytes ? cut[j] + c_float[at + j] : cut[j]);
          continue;
        }
      }
      for (unsigned j = 0; j < 8; ++j) {
        if (half_out && bytes) {
          const u32 h = to_half(sums[j]);
          if ((h >> 10 & 31) == 31) return false;
          const double part = static_cast<double>((h >> 10 & 31) == 0 ? h & 1023 : (h & 1023) | 1024) *
                              power_of_two(static_cast<i32>(std::max(h >> 10 & 31, 1U)) - 25);
          results[at + j] = to_half(((h & 0x8000) != 0 ? -part : part) + static_cast<double>(c_float[at + j]));
        } else if (half_out) {
          results[at + j] = to_half(half_in ? sums[j] : static_cast<double>(to_float(sums[j])));
          if (!half_in && results[at + j] == 0 && sums[j] < 0 && to_float(sums[j]) != 0) results[at + j] = 0x8000;
        } else {
          const float v = to_float(sums[j]);
          results[at + j] = std::bit_cast<u32>(bytes ? v + c_float[at + j] : v);
        }
      }
    }
  if (half_out)
    for (std::size_t i = 0; i < count; ++i) static_cast<u16*>(d)[t.d[i]] = static_cast<u16>(results[i]);
  else
    for (std::size_t i = 0; i < count; ++i) static_cast<u32*>(d)[t.d[i]] = results[i];
  return true;
}

WARPLOOM_MATRIX_PART void multiply_integers(const Tables& t, void* d, const void* a, const void* b, const void* c) {
  const MatrixForm& f = t.form;
  alignas(64) i32 x[16 * 256], y[256 * 32];
  const auto factors = [](Type type, const std::vector<u16>& places, const void* registers,
                          i32* out) __attribute__((always_inline)) {
    const auto* bytes = static_cast<const std::uint8_t*>(registers);
    for (std::size_t i = 0; i < places.size(); ++i) {
      const unsigned bits = isa::bits(type);
      const i32 raw = bits == 8 ? bytes[places[i]] : bytes[places[i] / 2] >> 4 * (places[i] % 2) & 15;
      const bool negative = (type == Type::s8 || type == Type::s4) && (raw >> (bits - 1) & 1) != 0;
      out[i] = negative ? raw - (1 << bits) : raw;
    }
  };
  factors(f.a, t.a, a, x);
  factors(f.b, t.b, b, y);
  const auto* old = static_cast<const i32*>(c);
  auto* out = static_cast<i32*>(d);
  for (unsigned row = 0; row < f.m; ++row)
    for (unsigned column = 0; column < f.n; column += 8) {
      alignas(32) i32 sum[8] = {};
      for (unsigned i = 0; i < f.k; ++i)
        for (unsigned j = 0; j < 8; ++j) sum[j] += x[row * f.k + i] * y[i * f.n + column + j];
      for (unsigned j = 0; j < 8; ++j) {
        const std::size_t at = std::size_t{row} * f.n + column + j;
        const std::int64_t total = std::int64_t{old[t.c[at]]} + sum[j];
        out[t.d[at]] = static_cast<i32>(f.satfinite ? std::clamp<std::int64_t>(total, INT32_MIN, INT32_MAX) : total);
      }
    }
}

WARPLOOM_MATRIX_PART bool multiply_doubles(const Tables& t, void* d, const void* a, const void* b, const void* c) {
  const MatrixForm& f = t.form;
  alignas(64) double x[16 * 16], y[16 * 8], sums[16 * 8];
  gather(t.a, a, x);
  gather(t.b, b, y);
  gather(t.c, c, sums);
  // Which of several NaNs is handed on is for the references.
  bool plain = true;
  for (std::size_t i = 0; i < t.a.size(); ++i) plain &= std::isfinite(x[i]);
  for (std::size_t i = 0; i < t.b.size(); ++i) plain &= std::isfinite(y[i]);
  for (std::size_t i = 0; i < t.c.size(); ++i) plain &= std::isfinite(sums[i]);
  if (!plain) return false;
  auto* out = static_cast<double*>(d);
  for (unsigned row = 0; row < f.m; ++row) {
    double* sum = sums + std::size_t{row} * 8;
    for (unsigned i = 0; i < f.k; ++i)
      for (unsigned j = 0; j < 8; ++j) sum[j] = std::fma(x[row * f.k + i], y[i * 8 + j], sum[j]);
    for (unsigned j = 0; j < 8; ++j)
      if (std::isnan(sum[j])) return false;
  }
  for (std::size_t i = 0; i < t.d.size(); ++i) out[t.d[i]] = sums[i];
  return true;
}

WARPLOOM_MATRIX_PART bool multiply_plain(const Tables& t, void* d, const void* a, const void* b, const void* c) {
  if (!t.plain) return false;
  switch (t.form.a) {
    case Type::b1: return false;
    case Type::f64: return multiply_doubles(t, d, a, b, c);
    case Type::u8:
    case Type::s8:
    case Type::u4:
    case Type::s4: multiply_integers(t, d, a, b, c); return true;
    default: return multiply_floats(t, d, a, b, c);
  }
}

WARPLOOM_MATRIX_WIDE bool multiply_wide(const Tables& t, void* d, const void* a, const void* b, const void* c) {
  return multiply_plain(t, d, a, b, c);
}

bool multiply_narrow(const Tables& t, void* d, const void* a, const void* b, const void* c) {
  return multiply_plain(t, d, a, b, c);
}

bool has_wide() {
#if defined(__x86_64__)
  static const bool has =
      __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 && __builtin_cpu_supports("bmi2") != 0;
  return has;
#else
  return false;
#endif
}

}  // namespace

void multiply_fragments(std::uint64_t form, void* d, const void* a, const void* b, const void* c,
                        const std::uint32_t* metadata) {
  const Tables& t = tables_of(form);
  if (has_wide() ? multiply_wide(t, d, a, b, c) : multiply_narrow(t, d, a, b, c)) return;
  isa::ref::multiply(t.form, d, a, b, c, metadata);
}

}  // namespace warploom::codegen

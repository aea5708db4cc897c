// Matrix products of a warp, nvcuda::wmma (CUDA C++ Programming Guide, "Warp Matrix Functions").
#pragma once
#include "cuda_bf16.h"
#include "cuda_fp16.h"

namespace nvcuda {
namespace wmma {

struct row_major;
struct col_major;
struct matrix_a;
struct matrix_b;
struct accumulator;
enum layout_t { mem_row_major, mem_col_major };
namespace precision {
struct tf32;
}
// Factors of 4 bits and of one: row_major a, col_major b.
namespace experimental {
namespace precision {
struct u4;
struct s4;
struct b1;
}  // namespace precision
enum bmmaBitOp { bmmaBitOpXOR = 1, bmmaBitOpAND = 2 };
enum bmmaAccumulateOp { bmmaAccumulateOpPOPC = 1 };
}  // namespace experimental

namespace details {
template <class T>
struct stored {
  using type = T;
};
template <>
struct stored<precision::tf32> {
  using type = float;
};
template <>
struct stored<experimental::precision::u4> {
  using type = unsigned int;
};
template <>
struct stored<experimental::precision::s4> {
  using type = int;
};
template <>
struct stored<experimental::precision::b1> {
  using type = unsigned int;
};
// How many elements stand in one that is stored.
template <class T>
inline constexpr int packed = 1;
template <>
inline constexpr int packed<experimental::precision::u4> = 8;
template <>
inline constexpr int packed<experimental::precision::s4> = 8;
template <>
inline constexpr int packed<experimental::precision::b1> = 32;
template <class T>
inline constexpr bool is_half = false;
template <>
inline constexpr bool is_half<__half> = true;
// Elements of one thread: each once, but f16 factors twice as often as they need be or more.
template <class Use, int m, int n, int k, class T>
inline constexpr int elements = m * n / 32;
template <int m, int n, int k, class T>
inline constexpr int elements<matrix_a, m, n, k, T> = is_half<T> ? 16 : m * k / 32;
template <int m, int n, int k, class T>
inline constexpr int elements<matrix_b, m, n, k, T> = is_half<T> ? 16 : k * n / 32;
}  // namespace details

// Which element of the matrix x[i] is depends on the architecture.
template <class Use, int m, int n, int k, class T, class Layout = void>
struct fragment {
  using element_type = T;
  using storage_element_type = typename details::stored<T>::type;
  static constexpr int num_elements = details::elements<Use, m, n, k, T>;
  static constexpr int num_storage_elements = num_elements / details::packed<T>;
  alignas(4) alignas(storage_element_type) storage_element_type x[num_storage_elements];
};

template <class Use, int m, int n, int k, class T, class Layout>
WL_DEVICE void fill_fragment(fragment<Use, m, n, k, T, Layout>& f, const typename details::stored<T>::type& value) {
  for (int i = 0; i < f.num_storage_elements; ++i) f.x[i] = value;
}

// Rounds to the precision of tf32.
WL_DEVICE float __float_to_tf32(float v) {
  unsigned int r;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(v));
  return __builtin_bit_cast(float, r);
}

namespace details {
// A register of a fragment, whatever its elements are.
typedef unsigned int __attribute__((may_alias)) word;
template <int count, class Fragment>
WL_DEVICE auto words(Fragment& f) -> word (&)[count] {
  static_assert(sizeof(f.x) == 4 * count, "registers of a fragment");
  return reinterpret_cast<word(&)[count]>(f.x);
}
template <int count, class Fragment>
WL_DEVICE auto const_words(const Fragment& f) -> const word (&)[count] {
  static_assert(sizeof(f.x) == 4 * count, "registers of a fragment");
  return reinterpret_cast<const word(&)[count]>(f.x);
}
}  // namespace details

#define WL_OUT1(r) "=r"(r[0])
#define WL_OUT2(r) WL_OUT1(r), "=r"(r[1])
#define WL_OUT4(r) WL_OUT2(r), "=r"(r[2]), "=r"(r[3])
#define WL_OUT8(r) WL_OUT4(r), "=r"(r[4]), "=r"(r[5]), "=r"(r[6]), "=r"(r[7])
#define WL_IN1(r) "r"(r[0])
#define WL_IN2(r) WL_IN1(r), "r"(r[1])
#define WL_IN4(r) WL_IN2(r), "r"(r[2]), "r"(r[3])
#define WL_IN8(r) WL_IN4(r), "r"(r[4]), "r"(r[5]), "r"(r[6]), "r"(r[7])
#define WL_LIST1 "{%0}, [%1], %2;"
#define WL_LIST2 "{%0, %1}, [%2], %3;"
#define WL_LIST4 "{%0, %1, %2, %3}, [%4], %5;"
#define WL_LIST8 "{%0, %1, %2, %3, %4, %5, %6, %7}, [%8], %9;"
#define WL_STORE2 " [%0], {%2, %3}, %1;"
#define WL_STORE4 " [%0], {%2, %3, %4, %5}, %1;"
#define WL_STORE8 " [%0], {%2, %3, %4, %5, %6, %7, %8, %9}, %1;"

// load_matrix_sync of a factor.
#define WL_LOAD_FACTOR(use, letter, m, n, k, T, type, words_, layout, memory)                                    \
  WL_DEVICE void load_matrix_sync(fragment<matrix_##use, m, n, k, T, layout##_major>& f, const memory* p,        \
                                  unsigned int stride) {                                                         \
    auto& r = details::words<words_>(f);                                                                         \
    asm volatile("wmma.load." letter ".sync.aligned." #layout ".m" #m "n" #n "k" #k "." type " " WL_LIST##words_ \
                 : WL_OUT##words_(r)                                                                             \
                 : "l"(p), "r"(stride)                                                                           \
                 : "memory");                                                                                    \
  }
// load_matrix_sync and store_matrix_sync of an accumulator.
#define WL_MOVE_ACCUMULATOR(m, n, k, T, type, words_)                                                     \
  WL_DEVICE void load_matrix_sync(fragment<accumulator, m, n, k, T>& f, const T* p, unsigned int stride,  \
                                  layout_t layout) {                                                      \
    auto& r = details::words<words_>(f);                                                                  \
    if (layout == mem_row_major)                                                                          \
      asm volatile("wmma.load.c.sync.aligned.row.m" #m "n" #n "k" #k "." type " " WL_LIST##words_         \
                   : WL_OUT##words_(r)                                                                    \
                   : "l"(p), "r"(stride)                                                                  \
                   : "memory");                                                                           \
    else                                                                                                  \
      asm volatile("wmma.load.c.sync.aligned.col.m" #m "n" #n "k" #k "." type " " WL_LIST##words_         \
                   : WL_OUT##words_(r)                                                                    \
                   : "l"(p), "r"(stride)                                                                  \
                   : "memory");                                                                           \
  }                                                                                                       \
  WL_DEVICE void store_matrix_sync(T* p, const fragment<accumulator, m, n, k, T>& f, unsigned int stride, \
                                   layout_t layout) {                                                     \
    auto& r = details::const_words<words_>(f);                                                            \
    if (layout == mem_row_major)                                                                          \
      asm volatile("wmma.store.d.sync.aligned.row.m" #m "n" #n "k" #k "." type WL_STORE##words_           \
                   :                                                                                      \
                   : "l"(p), "r"(stride), WL_IN##words_(r)                                                \
                   : "memory");                                                                           \
    else                                                                                                  \
      asm volatile("wmma.store.d.sync.aligned.col.m" #m "n" #n "k" #k "." type WL_STORE##words_           \
                   :                                                                                      \
                   : "l"(p), "r"(stride), WL_IN##words_(r)                                                \
                   : "memory");                                                                           \
  }

// mma_sync. `list` names d, a, b and c by number.
#define WL_PRODUCT(la, lb, m, n, k, D, T, C, types, nd, na, nb, nc, list, option)                                    \
  WL_DEVICE void mma_sync(fragment<accumulator, m, n, k, D>& d, const fragment<matrix_a, m, n, k, T, la##_major>& a, \
                          const fragment<matrix_b, m, n, k, T, lb##_major>& b,                                       \
                          const fragment<accumulator, m, n, k, C>& c) {                                              \
    auto& rd = details::words<nd>(d);                                                                                \
    auto& ra = details::const_words<na>(a);                                                                          \
    auto& rb = details::const_words<nb>(b);                                                                          \
    auto& rc = details::const_words<nc>(c);                                                                          \
    asm volatile("wmma.mma.sync.aligned." #la "." #lb ".m" #m "n" #n "k" #k types option " " list                    \
                 : WL_OUT##nd(rd)                                                                                    \
                 : WL_IN##na(ra), WL_IN##nb(rb), WL_IN##nc(rc));                                                     \
  }
#define WL_PRODUCTS(m, n, k, D, T, C, types, nd, na, nb, nc, list)        \
  WL_PRODUCT(row, row, m, n, k, D, T, C, types, nd, na, nb, nc, list, "") \
  WL_PRODUCT(row, col, m, n, k, D, T, C, types, nd, na, nb, nc, list, "") \
  WL_PRODUCT(col, row, m, n, k, D, T, C, types, nd, na, nb, nc, list, "") \
  WL_PRODUCT(col, col, m, n, k, D, T, C, types, nd, na, nb, nc, list, "")

#define WL_REGS_0_3 "{%0, %1, %2, %3}"
#define WL_REGS_0_7 "{%0, %1, %2, %3, %4, %5, %6, %7}"
#define WL_REGS_4_11 "{%4, %5, %6, %7, %8, %9, %10, %11}"
#define WL_REGS_8_15 "{%8, %9, %10, %11, %12, %13, %14, %15}"
#define WL_REGS_12_19 "{%12, %13, %14, %15, %16, %17, %18, %19}"
#define WL_REGS_16_23 "{%16, %17, %18, %19, %20, %21, %22, %23}"
#define WL_REGS_20_23 "{%20, %21, %22, %23}"
#define WL_REGS_20_27 "{%20, %21, %22, %23, %24, %25, %26, %27}"
#define WL_REGS_24_27 "{%24, %25, %26, %27}"
#define WL_REGS_24_31 "{%24, %25, %26, %27, %28, %29, %30, %31}"

#define WL_HALF_SHAPE(m, n, k)                                                         \
  WL_LOAD_FACTOR(a, "a", m, n, k, __half, "f16", 8, row, __half)                       \
  WL_LOAD_FACTOR(a, "a", m, n, k, __half, "f16", 8, col, __half)                       \
  WL_LOAD_FACTOR(b, "b", m, n, k, __half, "f16", 8, row, __half)                       \
  WL_LOAD_FACTOR(b, "b", m, n, k, __half, "f16", 8, col, __half)                       \
  WL_MOVE_ACCUMULATOR(m, n, k, __half, "f16", 4)                                       \
  WL_MOVE_ACCUMULATOR(m, n, k, float, "f32", 8)                                        \
  WL_PRODUCTS(m, n, k, __half, __half, __half, ".f16.f16", 4, 8, 8, 4,                 \
              WL_REGS_0_3 ", " WL_REGS_4_11 ", " WL_REGS_12_19 ", " WL_REGS_20_23 ";") \
  WL_PRODUCTS(m, n, k, __half, __half, float, ".f16.f32", 4, 8, 8, 8,                  \
              WL_REGS_0_3 ", " WL_REGS_4_11 ", " WL_REGS_12_19 ", " WL_REGS_20_27 ";") \
  WL_PRODUCTS(m, n, k, float, __half, __half, ".f32.f16", 8, 8, 8, 4,                  \
              WL_REGS_0_7 ", " WL_REGS_8_15 ", " WL_REGS_16_23 ", " WL_REGS_24_27 ";") \
  WL_PRODUCTS(m, n, k, float, __half, float, ".f32.f32", 8, 8, 8, 8,                   \
              WL_REGS_0_7 ", " WL_REGS_8_15 ", " WL_REGS_16_23 ", " WL_REGS_24_31 ";")
WL_HALF_SHAPE(16, 16, 16)
WL_HALF_SHAPE(32, 8, 16)
WL_HALF_SHAPE(8, 32, 16)

// Factors of other types, with the registers that each shape needs.
#define WL_OTHER_SHAPE(m, n, k, T, memory, type, C, types, na, nb, list) \
  WL_LOAD_FACTOR(a, "a", m, n, k, T, type, na, row, memory)              \
  WL_LOAD_FACTOR(a, "a", m, n, k, T, type, na, col, memory)              \
  WL_LOAD_FACTOR(b, "b", m, n, k, T, type, nb, row, memory)              \
  WL_LOAD_FACTOR(b, "b", m, n, k, T, type, nb, col, memory)              \
  WL_PRODUCTS(m, n, k, C, T, C, types, 8, na, nb, 8, WL_REGS_0_7 ", " list)
#define WL_LIST_4_4 "{%8, %9, %10, %11}, {%12, %13, %14, %15}, {%16, %17, %18, %19, %20, %21, %22, %23};"
#define WL_LIST_8_2 WL_REGS_8_15 ", {%16, %17}, {%18, %19, %20, %21, %22, %23, %24, %25};"
#define WL_LIST_2_8 "{%8, %9}, {%10, %11, %12, %13, %14, %15, %16, %17}, {%18, %19, %20, %21, %22, %23, %24, %25};"
#define WL_LIST_2_2 "{%8, %9}, {%10, %11}, {%12, %13, %14, %15, %16, %17, %18, %19};"
#define WL_LIST_4_1 "{%8, %9, %10, %11}, {%12}, {%13, %14, %15, %16, %17, %18, %19, %20};"
#define WL_LIST_1_4 "{%8}, {%9, %10, %11, %12}, {%13, %14, %15, %16, %17, %18, %19, %20};"

WL_OTHER_SHAPE(16, 16, 16, __nv_bfloat16, __nv_bfloat16, "bf16", float, ".f32.bf16.bf16.f32", 4, 4, WL_LIST_4_4)
WL_OTHER_SHAPE(32, 8, 16, __nv_bfloat16, __nv_bfloat16, "bf16", float, ".f32.bf16.bf16.f32", 8, 2, WL_LIST_8_2)
WL_OTHER_SHAPE(8, 32, 16, __nv_bfloat16, __nv_bfloat16, "bf16", float, ".f32.bf16.bf16.f32", 2, 8, WL_LIST_2_8)
WL_MOVE_ACCUMULATOR(16, 16, 8, float, "f32", 8)
WL_OTHER_SHAPE(16, 16, 8, precision::tf32, float, "tf32", float, ".f32.tf32.tf32.f32", 4, 4, WL_LIST_4_4)
WL_MOVE_ACCUMULATOR(16, 16, 16, int, "s32", 8)
WL_MOVE_ACCUMULATOR(32, 8, 16, int, "s32", 8)
WL_MOVE_ACCUMULATOR(8, 32, 16, int, "s32", 8)
WL_OTHER_SHAPE(16, 16, 16, signed char, signed char, "s8", int, ".s32.s8.s8.s32", 2, 2, WL_LIST_2_2)
WL_OTHER_SHAPE(32, 8, 16, signed char, signed char, "s8", int, ".s32.s8.s8.s32", 4, 1, WL_LIST_4_1)
WL_OTHER_SHAPE(8, 32, 16, signed char, signed char, "s8", int, ".s32.s8.s8.s32", 1, 4, WL_LIST_1_4)
WL_OTHER_SHAPE(16, 16, 16, unsigned char, unsigned char, "u8", int, ".s32.u8.u8.s32", 2, 2, WL_LIST_2_2)
WL_OTHER_SHAPE(32, 8, 16, unsigned char, unsigned char, "u8", int, ".s32.u8.u8.s32", 4, 1, WL_LIST_4_1)
WL_OTHER_SHAPE(8, 32, 16, unsigned char, unsigned char, "u8", int, ".s32.u8.u8.s32", 1, 4, WL_LIST_1_4)

WL_MOVE_ACCUMULATOR(8, 8, 32, int, "s32", 2)
WL_MOVE_ACCUMULATOR(8, 8, 128, int, "s32", 2)
#define WL_NARROW_FACTORS(k, T, type)                          \
  WL_LOAD_FACTOR(a, "a", 8, 8, k, T, type, 1, row, void)       \
  WL_LOAD_FACTOR(b, "b", 8, 8, k, T, type, 1, col, void)
#define WL_LIST_NARROW "{%0, %1}, {%2}, {%3}, {%4, %5};"
WL_NARROW_FACTORS(32, experimental::precision::s4, "s4")
WL_NARROW_FACTORS(32, experimental::precision::u4, "u4")
WL_NARROW_FACTORS(128, experimental::precision::b1, "b1")
WL_PRODUCT(row, col, 8, 8, 32, int, experimental::precision::s4, int, ".s32.s4.s4.s32", 2, 1, 1, 2, WL_LIST_NARROW, "")
WL_PRODUCT(row, col, 8, 8, 32, int, experimental::precision::u4, int, ".s32.u4.u4.s32", 2, 1, 1, 2, WL_LIST_NARROW, "")

// Counts the bits that a and b have apart, or in common.
WL_DEVICE void bmma_sync(fragment<accumulator, 8, 8, 128, int>& d,
                         const fragment<matrix_a, 8, 8, 128, experimental::precision::b1, row_major>& a,
                         const fragment<matrix_b, 8, 8, 128, experimental::precision::b1, col_major>& b,
                         const fragment<accumulator, 8, 8, 128, int>& c,
                         experimental::bmmaBitOp op = experimental::bmmaBitOpXOR,
                         experimental::bmmaAccumulateOp = experimental::bmmaAccumulateOpPOPC) {
  if (op == experimental::bmmaBitOpXOR)
    asm volatile("wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 " WL_LIST_NARROW
                 : "=r"(d.x[0]), "=r"(d.x[1])
                 : "r"(a.x[0]), "r"(b.x[0]), "r"(c.x[0]), "r"(c.x[1]));
  else
    asm volatile("wmma.mma.and.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 " WL_LIST_NARROW
                 : "=r"(d.x[0]), "=r"(d.x[1])
                 : "r"(a.x[0]), "r"(b.x[0]), "r"(c.x[0]), "r"(c.x[1]));
}

// double: one register for a factor, two for an accumulator.
#define WL_DOUBLE_FACTOR(use, letter, layout)                                                                \
  WL_DEVICE void load_matrix_sync(fragment<matrix_##use, 8, 8, 4, double, layout##_major>& f, const double* p, \
                                  unsigned int stride) {                                                     \
    asm volatile("wmma.load." letter ".sync.aligned." #layout ".m8n8k4.f64 {%0}, [%1], %2;"                  \
                 : "=d"(f.x[0])                                                                              \
                 : "l"(p), "r"(stride)                                                                       \
                 : "memory");                                                                                \
  }
WL_DOUBLE_FACTOR(a, "a", row)
WL_DOUBLE_FACTOR(a, "a", col)
WL_DOUBLE_FACTOR(b, "b", row)
WL_DOUBLE_FACTOR(b, "b", col)
WL_DEVICE void load_matrix_sync(fragment<accumulator, 8, 8, 4, double>& f, const double* p, unsigned int stride,
                                layout_t layout) {
  if (layout == mem_row_major)
    asm volatile("wmma.load.c.sync.aligned.row.m8n8k4.f64 {%0, %1}, [%2], %3;"
                 : "=d"(f.x[0]), "=d"(f.x[1])
                 : "l"(p), "r"(stride)
                 : "memory");
  else
    asm volatile("wmma.load.c.sync.aligned.col.m8n8k4.f64 {%0, %1}, [%2], %3;"
                 : "=d"(f.x[0]), "=d"(f.x[1])
                 : "l"(p), "r"(stride)
                 : "memory");
}
WL_DEVICE void store_matrix_sync(double* p, const fragment<accumulator, 8, 8, 4, double>& f, unsigned int stride,
                                 layout_t layout) {
  if (layout == mem_row_major)
    asm volatile("wmma.store.d.sync.aligned.row.m8n8k4.f64 [%0], {%2, %3}, %1;"
                 :
                 : "l"(p), "r"(stride), "d"(f.x[0]), "d"(f.x[1])
                 : "memory");
  else
    asm volatile("wmma.store.d.sync.aligned.col.m8n8k4.f64 [%0], {%2, %3}, %1;"
                 :
                 : "l"(p), "r"(stride), "d"(f.x[0]), "d"(f.x[1])
                 : "memory");
}
#define WL_DOUBLE_PRODUCT(la, lb)                                                                     \
  WL_DEVICE void mma_sync(fragment<accumulator, 8, 8, 4, double>& d,                                  \
                          const fragment<matrix_a, 8, 8, 4, double, la##_major>& a,                   \
                          const fragment<matrix_b, 8, 8, 4, double, lb##_major>& b,                   \
                          const fragment<accumulator, 8, 8, 4, double>& c) {                          \
    asm volatile("wmma.mma.sync.aligned." #la "." #lb ".m8n8k4.f64.f64.f64.f64 " WL_LIST_NARROW       \
                 : "=d"(d.x[0]), "=d"(d.x[1])                                                         \
                 : "d"(a.x[0]), "d"(b.x[0]), "d"(c.x[0]), "d"(c.x[1]));                               \
  }
WL_DOUBLE_PRODUCT(row, row)
WL_DOUBLE_PRODUCT(row, col)
WL_DOUBLE_PRODUCT(col, row)
WL_DOUBLE_PRODUCT(col, col)

}  // namespace wmma
}  // namespace nvcuda

// Reference semantics of mma and wmma.mma: whole fragments, one element of the result at a time.
#pragma once

#include <cstring>
#include <vector>

#include "isa/matrix.hpp"
#include "isa/ref/matrix.hpp"

namespace warploom::isa::ref {

constexpr Format factor_format(Type t) {
  switch (t) {
    case Type::f16: return kF16;
    case Type::bf16: return kBf16;
    case Type::tf32: return kTf32;
    case Type::f64: return kF64;
    default: return kF32;
  }
}

// One element of a floating-point product, as an H200 makes it.
inline std::uint64_t dot(const MatrixForm& f, std::vector<std::uint64_t>& x, std::vector<std::uint64_t>& y,
                         std::uint64_t c) {
  const Format fa = factor_format(f.a), fc = factor_format(f.c), fd = factor_format(f.d);
  if (f.quads()) return quad_dot(fc, fd, x, y, c);
  if (isa::bits(f.a) == 8) {
    for (auto [type, values] : {std::pair{f.a, &x}, std::pair{f.b, &y}})
      for (std::uint64_t& v : *values)
        v = type == Type::e4m3 ? from_e4m3(kF16, std::uint8_t(v)) : from_e5m2(kF16, std::uint8_t(v));
    return byte_dot(fd, x, y, c);
  }
  const unsigned group = f.a != Type::tf32 ? 16 : f.warp ? 4 : 8;
  if (fc == fd) return float_dot(fa, fc, fd, group, x, y, c);
  // Accumulators of two types: all is done in f32.
  return convert(kF32, fd, Round::rn, float_dot(fa, kF32, kF32, group, x, y, convert(fc, kF32, Round::rn, c)));
}

// The matrix that a fragment holds, row by row, each element's bits in the low end of a number. Registers lie as
// vectors of 32 lanes, 8 bytes to a lane for f64 and 4 for all else.
inline std::vector<std::uint64_t> read_fragment(const MatrixForm& f, MatrixForm::Matrix which, const void* registers) {
  const unsigned bits = isa::bits(f.type(which)), each = bits == 64 ? 1 : 32 / bits;
  const auto places = fragment_places(f, which);
  std::vector<std::uint64_t> out(std::size_t{f.rows(which)} * f.columns(which) * (f.quads() ? 4 : 1));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t e = i / 32, lane = i % 32;
    std::uint64_t x = 0;
    if (bits == 64) {
      std::memcpy(&x, static_cast<const char*>(registers) + i * 8, 8);
    } else {
      std::uint32_t word = 0;
      std::memcpy(&word, static_cast<const char*>(registers) + (e / each * 32 + lane) * 4, 4);
      x = word >> (e % each * bits) & (bits == 32 ? ~0U : (1U << bits) - 1);
    }
    out[places[i]] = x;
  }
  return out;
}

inline void write_fragment(const MatrixForm& f, const std::vector<std::uint64_t>& matrix, void* registers) {
  const unsigned bits = isa::bits(f.d), each = bits == 64 ? 1 : 32 / bits;
  const auto places = fragment_places(f, MatrixForm::Matrix::d);
  std::memset(registers, 0, std::size_t{f.words(MatrixForm::Matrix::d)} * 128);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::size_t e = i / 32, lane = i % 32;
    char* at = static_cast<char*>(registers) + (bits == 64 ? i * 8 : (e / each * 32 + lane) * 4);
    if (bits == 64) {
      std::memcpy(at, &matrix[places[i]], 8);
    } else {
      std::uint32_t word = 0;
      std::memcpy(&word, at, 4);
      word |= static_cast<std::uint32_t>(matrix[places[i]]) << (e % each * bits);
      std::memcpy(at, &word, 4);
    }
  }
}

// Which lane and bit hold the four bits of metadata that choose two elements (of 1:2: one) of a row's chunk.
struct MetadataPlace {
  unsigned lane, bit;
};
inline MetadataPlace metadata_place(const MatrixForm& f, unsigned row, unsigned chunk) {
  const unsigned chunks = f.k / (f.a == Type::tf32 ? 2U : isa::bits(f.a) == 4 ? 8U : 4U);
  const unsigned group = row % 8 * 4, low = row / 8;
  if (isa::bits(f.a) >= 16) {
    if (chunks == 4) return {group + f.selector, 16 * low + 4 * chunk};
    return {group + 2 * f.selector + chunk / 4, 16 * low + chunk % 4 * 4};
  }
  if (chunks == 8) return {group + 2 * f.selector + low, 4 * chunk};
  return {group + low + chunk / 8 * 2, chunk % 8 * 4};
}

// d = a * b + c.
inline void multiply(const MatrixForm& f, void* d, const void* a, const void* b, const void* c,
                     const std::uint32_t* metadata) {
  using Matrix = MatrixForm::Matrix;
  const auto ma = read_fragment(f, Matrix::a, a), mb = read_fragment(f, Matrix::b, b),
             mc = read_fragment(f, Matrix::c, c);
  std::vector<std::uint64_t> out(mc.size());
  const unsigned quads = f.quads() ? 4 : 1, columns = f.columns(Matrix::a);
  std::vector<std::uint64_t> x(columns), y(columns);
  std::vector<std::int32_t> ix(columns), iy(columns);
  std::vector<std::uint32_t> wx(columns), wy(columns);
  const auto integer = [](Type t, std::uint64_t v) {
    const unsigned unused = 32 - isa::bits(t);
    const bool negative = t == Type::s8 || t == Type::s4;
    return negative ? static_cast<std::int32_t>(static_cast<std::uint32_t>(v) << unused) >> unused
                    : static_cast<std::int32_t>(v);
  };
  for (unsigned q = 0; q < quads; ++q)
    for (unsigned row = 0; row < f.m; ++row)
      for (unsigned column = 0; column < f.n; ++column) {
        for (unsigned i = 0; i < columns; ++i) {
          unsigned k = i;
          if (f.sparse) {
            // Pairs of int4 are chosen together.
            const unsigned unit = isa::bits(f.a) == 4 ? 2 : 1, slot = i / unit, of_chunk = f.a == Type::tf32 ? 1 : 2;
            const unsigned chunk = slot / of_chunk;
            const MetadataPlace m = metadata_place(f, row, chunk);
            const unsigned bits = metadata[m.lane] >> m.bit & 15;
            const unsigned choice = of_chunk == 1 ? (bits == 14 ? 1 : 0) : bits >> 2 * (slot % 2) & 3;
            k = chunk * (of_chunk == 1 ? 2 : 4 * unit) + choice * unit + i % unit;
          }
          x[i] = ma[(q * f.m + row) * columns + i];
          y[i] = mb[(q * f.k + k) * f.n + column];
        }
        const std::size_t at = (q * f.m + row) * f.n + column;
        std::uint64_t& r = out[at];
        if (f.d == Type::f64) {
          constexpr Round kModes[] = {Round::rn, Round::rz, Round::rm, Round::rp};
          r = double_dot(kModes[f.rounding], x, y, mc[at]);
        } else if (f.d == Type::s32) {
          for (unsigned i = 0; i < columns; ++i) {
            ix[i] = integer(f.a, x[i]), iy[i] = integer(f.b, y[i]);
            wx[i] = static_cast<std::uint32_t>(x[i]), wy[i] = static_cast<std::uint32_t>(y[i]);
          }
          const auto sum = static_cast<std::uint32_t>(mc[at]);
          r = f.a == Type::b1 ? bit_dot(f.bits == MatrixForm::Bits::exclusive_or, wx, wy, sum)
                              : integer_dot(ix, iy, sum, f.satfinite);
        } else {
          if (f.a == Type::tf32)
            for (unsigned i = 0; i < columns; ++i) x[i] >>= 13, y[i] >>= 13;
          r = dot(f, x, y, mc[at]);
        }
      }
  write_fragment(f, out, d);
}

}  // namespace warploom::isa::ref

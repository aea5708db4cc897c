// What a matrix instruction works on: its matrices' sizes and types, and how their elements lie in the lanes'
// registers.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "isa/isa.hpp"

namespace warploom::isa {

// wmma, mma, ldmatrix, stmatrix and movmatrix (PTX ISA sections 9.7.14.4 and 9.7.14.5).
struct MatrixForm {
  enum class Kind : std::uint8_t { multiply, load, store, load_rows, store_rows, transpose };
  enum class Bits : std::uint8_t { none, exclusive_or, and_ };  // products of single bits
  enum class Matrix : std::uint8_t { a, b, c, d };              // which one a wmma.load or .store moves

  Kind kind = Kind::multiply;
  bool warp = false;  // wmma: registers of f16 factors are twice as many
  std::uint16_t m = 0, n = 0, k = 0;
  Type d = Type::none, a = Type::none, b = Type::none, c = Type::none;  // of a load or store all the same
  bool a_column = false, b_column = false;                              // column-major; of a load or store a_column
  bool satfinite = false, sparse = false;
  Bits bits = Bits::none;
  std::uint8_t rounding = 0;  // of f64: rn, rz, rm, rp
  std::uint8_t selector = 0;  // of a sparse product: which lanes hold the metadata
  Matrix matrix = Matrix::d;
  std::uint8_t count = 0;   // ldmatrix, stmatrix: x1, x2, x4
  bool transposed = false;  // the same

  bool operator==(const MatrixForm&) const = default;

  [[nodiscard]] bool loads() const { return kind == Kind::load || kind == Kind::load_rows; }
  [[nodiscard]] bool touches_memory() const { return loads() || kind == Kind::store || kind == Kind::store_rows; }
  // mma.m8n8k4 of f16: four products at once, each by eight lanes.
  [[nodiscard]] bool quads() const { return kind == Kind::multiply && !warp && m == 8 && n == 8 && a == Type::f16; }
  [[nodiscard]] unsigned rows(Matrix which) const { return which == Matrix::b ? k : m; }
  // Of the matrix as it is stored: a sparse one has half of its columns.
  [[nodiscard]] unsigned columns(Matrix which) const { return which == Matrix::a ? (sparse ? k / 2U : k) : n; }
  [[nodiscard]] Type type(Matrix which) const {
    return which == Matrix::a ? a : which == Matrix::b ? b : which == Matrix::c ? c : d;
  }
  // Words of 32 bits in each lane; an f64 takes two.
  [[nodiscard]] unsigned words(Matrix which) const;

  // All of it in one number, and back.
  [[nodiscard]] std::uint64_t pack() const;
  static MatrixForm unpack(std::uint64_t packed);
};

// nullopt for other operations.
std::optional<MatrixForm> matrix_form(Op op, const ModSet& mods, const Type* types, unsigned type_count);
// Registers of operand `index` of such an instruction; 1 for a scalar.
unsigned matrix_registers(const MatrixForm& form, std::size_t index);

// Where the elements of a matrix lie. Element e of lane l, counted in registers from the lowest bits on, stands at
// place[e * 32 + l] of the matrix in row-major order. Quads: of four matrices, one after the other. Of elements that
// stand more than once, products read the first.
std::vector<std::uint16_t> fragment_places(const MatrixForm& form, MatrixForm::Matrix which);

}  // namespace warploom::isa

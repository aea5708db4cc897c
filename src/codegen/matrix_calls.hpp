// Native functions that emitted code calls for matrix instructions, each for a whole warp. No LLVM here.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "isa/matrix.hpp"

// `form` is MatrixForm::pack(). Registers lie as vectors of 32 lanes, one after the other, 8 bytes to a lane for f64
// and 4 for all else. Rows are what the instruction touches in memory, each as long as form_rows() says, without gaps.
extern "C" {
// d = a * b + c. `metadata` is one register, read for sparse products only.
void warploom_matrix_multiply(std::uint64_t form, void* d, const void* a, const void* b, const void* c,
                              const std::uint32_t* metadata);
// Rows to registers: wmma.load, ldmatrix.
void warploom_matrix_spread(std::uint64_t form, const void* rows, void* registers);
// Registers to rows: wmma.store, stmatrix.
void warploom_matrix_collect(std::uint64_t form, const void* registers, void* rows);
// movmatrix: one register to another.
void warploom_matrix_transpose(const std::uint32_t* from, std::uint32_t* to);
}

namespace warploom::codegen {

// The rows (or columns, of a column-major matrix) that a load or store moves.
struct MatrixRows {
  unsigned count = 0, bytes = 0;
};
MatrixRows matrix_rows(const isa::MatrixForm& form);

// One access by a warp that a GPU makes of a wmma.load or wmma.store: lane l touches `bytes` in row row[l], offset[l]
// bytes behind the row's beginning.
struct MatrixRequest {
  unsigned lanes = 32, bytes = 0;
  std::array<std::uint16_t, 32> row{}, offset{};
};
// As ptxas 13.0 compiles it for sm_80 and later: factors of up to 16 bits in shared memory go by ldmatrix, four blocks
// of 8 rows and 16 bytes at a time; elsewhere, and for results of 16 bits, each such block is an access of 4 bytes by
// all lanes. Bytes across the rows are read one by one; larger elements as they lie in the registers, neighbours
// together.
std::vector<MatrixRequest> matrix_requests(const isa::MatrixForm& form, bool in_shared);

}  // namespace warploom::codegen

// Recorded cases of the matrix instructions: every form, its operands, and kernels that run it on 32-lane fragments.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace warploom::test {

// Operands come in eight classes of 32 cases, from everyday values to infinities and subnormal ones.
inline constexpr unsigned kMatrixClasses = 8, kCasesInClass = 32, kMatrixCases = kMatrixClasses * kCasesInClass;
// Memory images of a load: image p has all bits of element i set where bit p of i is.
inline constexpr unsigned kLoadImages = 16, kImageBytes = 8192;

struct MatrixCase {
  enum class Kind : std::uint8_t { multiply, load, store, ldmatrix, stmatrix, movmatrix };
  Kind kind = Kind::multiply;
  std::string mnemonic;         // with all its modifiers
  std::string target, version;  // least that has it
  // Element types of the operands' values; words of 32 bits that each lane holds. A load's memory is `a`.
  std::string a, b, c, d;
  unsigned a_words = 0, b_words = 0, c_words = 0, d_words = 0;
  int selector = -1;    // of a sparse product: which lanes hold the metadata
  unsigned stride = 0;  // of a load or store in memory, in elements

  // As the recorder calls it.
  [[nodiscard]] std::string name() const { return selector < 0 ? mnemonic : mnemonic + " " + std::to_string(selector); }
  // Which pool the metadata come from.
  [[nodiscard]] std::string metadata() const { return a == "tf32" ? "half" : "pair"; }
};

[[nodiscard]] std::vector<MatrixCase> matrix_cases();
// A module with one entry, `k`. Parameters: addresses of a (or memory), b, c, metadata, d. Block i runs case i.
[[nodiscard]] std::string matrix_kernel(const MatrixCase& c);
// Words that a lane has in a pool of values of that type.
[[nodiscard]] unsigned pool_words(std::string_view type);
// All cases' values: word w of lane l of case i is the element (32 * i + l) * pool_words + w. `which` is one of
// "abce"; the types of "e" are "pair" and "half", metadata of one 2:4 or 1:2 choice in each nibble.
[[nodiscard]] std::vector<std::uint32_t> matrix_pool(std::string_view type, char which);
// Memory images for loads of elements of that many bits.
[[nodiscard]] std::vector<std::uint8_t> load_images(unsigned bits);
[[nodiscard]] unsigned element_bits(std::string_view type);

// CRC-32 of words, lowest byte first.
[[nodiscard]] std::uint32_t digest(std::span<const std::uint32_t> words);
// What an H200 gave: by name, the digests of the eight eighths of the results.
[[nodiscard]] std::map<std::string, std::vector<std::uint32_t>> recorded_matrices(const std::string& file);

}  // namespace warploom::test

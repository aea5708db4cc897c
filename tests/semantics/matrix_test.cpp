// Products of matrix fragments, by the references and by the functions that kernels call, against an H200's results.
#include <gtest/gtest.h>

#include <map>

#include "codegen/matrix_calls.hpp"
#include "isa/ref/warp_matrix.hpp"
#include "matrix_cases.hpp"
#include "ptx/decode.hpp"

namespace warploom::test {
namespace {

isa::MatrixForm form_of(const MatrixCase& c) {
  ptx::Decoded decoded;
  ptx::Complaint why;
  EXPECT_TRUE(ptx::decode(c.mnemonic, decoded, why)) << c.mnemonic << ": " << why.what;
  const auto form = isa::matrix_form(decoded.row->op, decoded.mods, decoded.types, decoded.type_count);
  EXPECT_TRUE(form) << c.mnemonic;
  isa::MatrixForm f = form.value_or(isa::MatrixForm{});
  if (c.selector >= 0) f.selector = static_cast<std::uint8_t>(c.selector);
  return f;
}

// Registers as vectors of 32 lanes, of one case of a pool.
std::vector<std::uint32_t> registers(const std::vector<std::uint32_t>& pool, const std::string& type, unsigned words,
                                     unsigned number) {
  std::vector<std::uint32_t> out(std::size_t{32} * words);
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned w = 0; w < words; ++w) {
      const std::uint32_t x = pool[(std::size_t{32} * number + lane) * pool_words(type) + w];
      out[type == "f64" ? (w / 2 * 32 + lane) * 2 + w % 2 : w * 32 + lane] = x;
    }
  return out;
}

// And back to lane by lane, as the recorder stores them.
void append_lanes(const std::vector<std::uint32_t>& registers, const std::string& type, unsigned words,
                  std::vector<std::uint32_t>& out) {
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned w = 0; w < words; ++w)
      out.push_back(registers[type == "f64" ? (w / 2 * 32 + lane) * 2 + w % 2 : w * 32 + lane]);
}

using Multiply = void (*)(const isa::MatrixForm&, void*, const void*, const void*, const void*, const std::uint32_t*);

void native(const isa::MatrixForm& f, void* d, const void* a, const void* b, const void* c, const std::uint32_t* e) {
  warploom_matrix_multiply(f.pack(), d, a, b, c, e);
}

// Every recorded product, by `multiply`.
void compare(Multiply multiply) {
  const auto recorded = recorded_matrices(WARPLOOM_MATRIX_RECORD);
  ASSERT_GT(recorded.size(), 350u);
  std::map<std::string, std::vector<std::uint32_t>> pools;
  const auto pool = [&](const std::string& type, char which) -> const std::vector<std::uint32_t>& {
    auto& p = pools[which + type];
    if (p.empty()) p = matrix_pool(type, which);
    return p;
  };
  int compared = 0;
  for (const MatrixCase& c : matrix_cases()) {
    const auto expected = recorded.find(c.name());
    if (c.kind != MatrixCase::Kind::multiply || expected == recorded.end()) continue;
    const isa::MatrixForm f = form_of(c);
    ++compared;
    for (unsigned cls = 0; cls < kMatrixClasses; ++cls) {
      std::vector<std::uint32_t> results;
      for (unsigned i = cls * kCasesInClass; i < (cls + 1) * kCasesInClass; ++i) {
        const auto a = registers(pool(c.a, 'a'), c.a, c.a_words, i), b = registers(pool(c.b, 'b'), c.b, c.b_words, i),
                   m = registers(pool(c.c, 'c'), c.c, c.c_words, i);
        std::vector<std::uint32_t> e(32), d(std::size_t{32} * c.d_words);
        if (c.selector >= 0) e = registers(pool(c.metadata(), 'e'), "pair", 1, i);
        multiply(f, d.data(), a.data(), b.data(), m.data(), e.data());
        append_lanes(d, c.d, c.d_words, results);
      }
      EXPECT_EQ(digest(results), expected->second[cls]) << c.name() << ", class " << cls;
    }
  }
  EXPECT_GT(compared, 200);
}

TEST(MatrixProducts, ReferencesGiveTheBitsOfAnH200) { compare(isa::ref::multiply); }

TEST(MatrixProducts, NativeFunctionsGiveTheBitsOfAnH200) { compare(native); }

TEST(MatrixForms, EachFitsIntoANumber) {
  for (const MatrixCase& c : matrix_cases()) {
    const isa::MatrixForm f = form_of(c);
    EXPECT_EQ(isa::MatrixForm::unpack(f.pack()), f) << c.name();
    if (c.kind == MatrixCase::Kind::multiply) {
      EXPECT_EQ(f.words(isa::MatrixForm::Matrix::a), c.a_words) << c.name();
      EXPECT_EQ(f.words(isa::MatrixForm::Matrix::d), c.d_words) << c.name();
    }
  }
}

// Each element of a matrix has a place in some lane, and no lane has more than its share.
TEST(MatrixForms, FragmentsHoldWholeMatrices) {
  using Matrix = isa::MatrixForm::Matrix;
  for (const MatrixCase& c : matrix_cases()) {
    if (c.kind != MatrixCase::Kind::multiply) continue;
    const isa::MatrixForm f = form_of(c);
    for (const Matrix which : {Matrix::a, Matrix::b, Matrix::c, Matrix::d}) {
      const auto places = isa::fragment_places(f, which);
      std::map<std::uint16_t, int> seen;
      for (const std::uint16_t p : places) ++seen[p];
      const std::size_t elements = std::size_t{f.rows(which)} * f.columns(which) * (f.quads() ? 4 : 1);
      EXPECT_EQ(seen.size(), elements) << c.name();
      EXPECT_EQ(places.size() % elements, 0u) << c.name();
      for (const auto& [place, times] : seen) EXPECT_EQ(times, static_cast<int>(places.size() / elements)) << c.name();
    }
  }
}

}  // namespace
}  // namespace warploom::test

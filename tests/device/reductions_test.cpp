// Reductions by vectors and by bulk copies: the bits that a GPU leaves for odd operands (kernels/reductions.txt).
#include <fstream>
#include <sstream>

#include "ptx_test.hpp"

namespace {

using namespace warploom;
using namespace device_test;

struct Case {
  std::string kind, op, vec, type;
  std::vector<std::uint32_t> words;
};

std::vector<Case> read_cases() {
  std::ifstream in(std::string(WARPLOOM_TEST_DATA) + "/reductions.txt");
  std::vector<Case> cases;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    Case c;
    std::string name = line.substr(0, line.find(' '));
    for (char& x : name) x = x == '.' ? ' ' : x;
    std::istringstream parts(name);
    parts >> c.kind >> c.op;
    if (c.kind == "red") parts >> c.vec;
    parts >> c.type;
    std::istringstream words(line.substr(line.find('|') + 1));
    for (std::string w; words >> w;) c.words.push_back(static_cast<std::uint32_t>(std::stoul(w, nullptr, 16)));
    cases.push_back(std::move(c));
  }
  return cases;
}

std::vector<std::uint32_t> values_of(const Case& c) {
  if (c.type == "f32")
    return {0x3F800000, 0x7FC00000, 0xFFC12345, 0x00000001, 0x80000000, 0x00000000, 0x7F7FFFFF, 0xFF800000};
  if (c.type == "u32") return {0, 1, 5, 0xFFFFFFFF};
  if (c.type == "f16x2" || c.type == "bf16x2") return {0x3C007E00, 0x8000FC00, 0x00010000, 0xFE017BFF};
  return {0x3C00, 0x7E00, 0xFE01, 0x0001, 0x8000, 0x0000, 0x7BFF, 0xFC00};
}

class Reductions : public PtxTest {};
PTX_TEST_MODES(Reductions);

TEST_P(Reductions, EqualTheHardware) {
  const std::vector<Case> cases = read_cases();
  ASSERT_GT(cases.size(), 20u);
  for (const Case& c : cases) {
    const std::vector<std::uint32_t> values = values_of(c);
    const bool is_half = c.type == "f16" || c.type == "bf16";
    const unsigned bytes = is_half ? 2 : 4;
    const std::string bits = is_half ? "b16" : "b32", reg = is_half ? "%h" : "%r";
    std::string body = ".shared .align 16 .b8 x[256];\nsetp.ne.u32 %p7, %r2, 0;\n@%p7 bra OVER;\n";
    const std::string extra = (c.op == "add" || c.kind == "red") && c.type != "f32" && c.type != "u32" ? ".noftz" : "";
    std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
    for (const std::uint32_t a : values)
      for (const std::uint32_t b : values) pairs.emplace_back(a, b);
    const std::size_t width = c.vec.empty() ? 1 : c.vec == "v2" ? 2 : 4;
    for (std::size_t k = 0; k < pairs.size(); k += width) {
      std::string operands;
      for (std::size_t e = 0; e < width; ++e) {
        const std::string at = std::to_string((k + e) * bytes), r = reg + std::to_string(is_half ? 1 + e : 10 + e);
        body += "mov." + bits + " " + r + ", " + std::to_string(pairs[k + e].first) + ";\nst.global." + bits +
                " [%rd1+" + at + "], " + r + ";\nmov." + bits + " " + r + ", " + std::to_string(pairs[k + e].second) +
                ";\n";
        if (c.kind == "bulk") body += "st.shared." + bits + " [x+" + at + "], " + r + ";\n";
        operands += (e == 0 ? "" : ", ") + r;
      }
      if (c.kind == "red")
        body += "red.relaxed.gpu.global." + c.op + extra + "." + c.vec + "." + c.type + " [%rd1+" +
                std::to_string(k * bytes) + "], {" + operands + "};\n";
    }
    if (c.kind == "bulk")
      body += "mov.u32 %r20, x;\ncp.reduce.async.bulk.global.shared::cta.bulk_group." + c.op + extra + "." + c.type +
              " [%rd1], [%r20], " + std::to_string(pairs.size() * bytes) +
              ";\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n";
    EXPECT_EQ(run(module_of(body + "OVER:\n"), {1, 32}, c.words.size()), c.words)
        << c.kind << " " << c.op << " " << c.vec << " " << c.type;
  }
}

// The same additions one by one: global memory flushes subnormal numbers, shared memory keeps them.
TEST_P(Reductions, SubnormalSumsDependOnTheSpace) {
  const std::string body =
      ".shared .align 4 .u32 x;\nsetp.ne.u32 %p7, %r2, 0;\n@%p7 bra OVER;\n"
      "st.shared.u32 [x], 3;\nst.global.u32 [%rd1], 3;\nst.global.u32 [%rd1+4], 0x80000003;\n"
      "mov.b32 %f1, 4;\natom.shared.add.f32 %f2, [x], %f1;\natom.global.add.f32 %f3, [%rd1], %f1;\n"
      "mov.b32 %f4, 0x80000004;\nred.global.add.f32 [%rd1+4], %f4;\n"
      "ld.shared.u32 %r10, [x];\nst.global.u32 [%rd1+8], %r10;\nmov.b32 %r11, %f3;\nst.global.u32 [%rd1+12], %r11;\n"
      "OVER:\n";
  EXPECT_EQ(run(module_of(body), {1, 32}, 4), (std::vector<std::uint32_t>{0, 0x80000000, 7, 3}));
}

}  // namespace

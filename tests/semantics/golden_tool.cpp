// Writes every exact case as a PTX kernel with its operands, and turns a GPU's answers into golden digests.
//   semantics_golden write DIR   cases.ptx, operands.bin and cases.tsv for record.py
//   semantics_golden read DIR    compares results.bin with the references and prints the digests
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "golden.hpp"

namespace warploom::semantics {
namespace {

// Register class of an operand.
std::string register_type(Type t) {
  switch (isa::bits(t)) {
    case 1: return "pred";
    case 16: return "b16";
    case 8:
    case 32: return "b32";
    default: return "b64";
  }
}
// 8-bit integers live in 32-bit registers, which every conversion takes.
std::string load(const std::string& to, Type t) {
  switch (isa::bits(t)) {
    case 1: return fmt::format("  setp.ne.u64 {}, %rd9, 0;\n", to);
    case 16: return fmt::format("  cvt.u16.u64 {}, %rd9;\n", to);
    case 8:
    case 32: return fmt::format("  cvt.u32.u64 {}, %rd9;\n", to);
    default: return fmt::format("  mov.b64 {}, %rd9;\n", to);
  }
}
std::string store(const std::string& from, Type t) {
  switch (isa::bits(t)) {
    case 1: return fmt::format("  selp.u64 %rd9, 1, 0, {};\n", from);
    case 8: return fmt::format("  cvt.u64.u32 %rd9, {};\n  and.b64 %rd9, %rd9, 255;\n", from);
    case 16: return fmt::format("  cvt.u64.u16 %rd9, {};\n", from);
    case 32: return fmt::format("  cvt.u64.u32 %rd9, {};\n", from);
    default: return fmt::format("  mov.b64 %rd9, {};\n", from);
  }
}

// How many differences of a case are printed.
std::size_t limit() {
  const char* value = std::getenv("SEMANTICS_LIMIT");
  return value == nullptr ? 4 : std::strtoul(value, nullptr, 10);
}

// The carry flag travels in a predicate in the cases; here instructions around the one at hand set and read it.
std::string body(const Case& c) {
  const std::string op = c.text.substr(0, c.text.find('.'));
  const bool reads = op == "addc" || op == "subc" || op == "madc";
  const bool borrow = op == "sub" || op == "subc";
  const bool writes = c.text.find(".cc.") != std::string::npos;
  std::string text, operands;
  std::size_t sources = c.in.size();
  if (reads) {
    --sources;
    text += fmt::format("  selp.u32 %t, 1, 0, %a{};\n", sources);
    text += borrow ? "  sub.cc.u32 %t, 0, %t;\n" : "  add.cc.u32 %t, %t, 0xffffffff;\n";
  }
  operands = "%d0";
  if (c.pair) operands += "|%d1";
  for (std::size_t i = 0; i < sources; ++i) operands += fmt::format(", %a{}", i);
  if (c.has_immediate) operands += fmt::format(", {}", c.immediate);
  if (op[0] == 'v' && c.text.find(".add") == std::string::npos && sources == 2) operands += ", 0";
  text += fmt::format("  {} {};\n", c.text, operands);
  if (writes) {
    text += borrow ? "  subc.u32 %t, 0, 0;\n" : "  addc.u32 %t, 0, 0;\n";
    text += "  setp.ne.u32 %d1, %t, 0;\n";
  }
  return text;
}

std::string kernel(const GoldenCase& g, std::size_t index) {
  const Case& c = g.c;
  std::string registers, loads, stores;
  for (std::size_t i = 0; i < c.in.size(); ++i) {
    const std::string name = fmt::format("%a{}", i);
    registers += fmt::format("  .reg .{} {};\n", register_type(c.in[i]), name);
    loads += fmt::format("  ld.global.u64 %rd9, [%rd1+{}];\n", 8 * kGoldenSets * i) + load(name, c.in[i]);
  }
  for (std::size_t i = 0; i < c.out.size(); ++i) {
    const std::string name = fmt::format("%d{}", i);
    registers += fmt::format("  .reg .{} {};\n", register_type(c.out[i]), name);
    stores += store(name, c.out[i]) + fmt::format("  st.global.u64 [%rd2+{}], %rd9;\n", 8 * kGoldenSets * i);
  }
  return fmt::format(
      ".visible .entry k{}(.param .u64 in, .param .u64 out)\n{{\n  .reg .b64 %rd<10>;\n  .reg .b32 %r, %t;\n{}"
      "  ld.param.u64 %rd1, [in];\n  ld.param.u64 %rd2, [out];\n  mov.u32 %r, %tid.x;\n"
      "  mad.wide.u32 %rd1, %r, 8, %rd1;\n  mad.wide.u32 %rd2, %r, 8, %rd2;\n{}{}{}  ret;\n}}\n\n",
      index, registers, loads, body(c), stores);
}

int write(const std::string& folder) {
  const auto cases = golden_cases();
  std::ofstream ptx(folder + "/cases.ptx"), list(folder + "/cases.tsv");
  std::ofstream data(folder + "/operands.bin", std::ios::binary);
  ptx << ".version 8.3\n.target sm_90a\n.address_size 64\n\n";
  for (std::size_t i = 0; i < cases.size(); ++i) {
    ptx << kernel(cases[i], i);
    list << i << '\t' << cases[i].c.text << '\t' << cases[i].c.in.size() << '\t' << cases[i].c.out.size() << '\n';
    for (std::size_t k = 0; k < cases[i].c.in.size(); ++k) {
      for (const auto& set : cases[i].sets) data.write(reinterpret_cast<const char*>(&set[k]), 8);
    }
  }
  return 0;
}

// results.bin holds, for each case that ran (cases.ran, one index a line), the results like the operands.
int read(const std::string& folder) {
  const auto cases = golden_cases();
  std::ifstream ran(folder + "/cases.ran"), data(folder + "/results.bin", std::ios::binary);
  std::size_t index = 0, wrong_cases = 0;
  while (ran >> index) {
    const GoldenCase& g = cases.at(index);
    std::vector<std::vector<u64>> results(kGoldenSets, std::vector<u64>(g.c.out.size()));
    for (std::size_t k = 0; k < g.c.out.size(); ++k) {
      for (auto& set : results) data.read(reinterpret_cast<char*>(&set[k]), 8);
    }
    std::size_t wrong = 0;
    for (std::size_t n = 0; n < kGoldenSets; ++n) {
      u64 want[2] = {};
      if (g.c.ref) g.c.ref(g.sets[n].data(), want);
      for (std::size_t k = 0; k < g.c.out.size(); ++k) {
        const u64 got = results[n][k];
        const bool good = g.c.near
                              ? g.c.near(g.sets[n].data(), got)
                              : got == want[k] || (g.c.any_nan && std::getenv("SEMANTICS_STRICT") == nullptr &&
                                                   is_nan_bits(g.c.out[k], got) && is_nan_bits(g.c.out[k], want[k]));
        if (good || ++wrong > limit()) continue;
        std::string values;
        for (const u64 v : g.sets[n]) values += fmt::format(" {:x}", v);
        fmt::print(stderr, "{}{}: result {} is {:x}, reference {:x}\n", g.c.text, values, k, got, want[k]);
      }
    }
    if (wrong != 0) {
      ++wrong_cases;
      fmt::print(stderr, "{}: {} of {} differ\n", g.c.text, wrong, kGoldenSets);
    }
    if (g.c.ref) fmt::print("{}\t{:016x}\n", golden_name(g), golden_digest(g, results));
  }
  fmt::print(stderr, "{} cases differ\n", wrong_cases);
  return 0;
}

}  // namespace
}  // namespace warploom::semantics

int main(int argc, char** argv) {
  if (argc == 3 && std::strcmp(argv[1], "write") == 0) return warploom::semantics::write(argv[2]);
  if (argc == 3 && std::strcmp(argv[1], "read") == 0) return warploom::semantics::read(argv[2]);
  std::fputs("usage: semantics_golden write|read DIR\n", stderr);
  return 2;
}

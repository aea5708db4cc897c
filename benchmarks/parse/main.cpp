// Benchmark: how long the largest modules of real programs take to load, to parse whole, and to scan.
//
// The largest module of the census of PTX has 12.6 MB, 165 553 instructions and 350 kernels. Expected of one core, in
// processor time: loading, which finds declarations and the extents of bodies, 0.1 s; the first launch of a kernel
// waits for its own body, 1 ms; all bodies 0.25 s; the IR of all kernels, as `warploom scan` builds it, 0.6 s.
#include <fmt/format.h>

#include <cstdio>
#include <ctime>
#include <string>

#include "ir/ir.hpp"
#include "ptx/module.hpp"

namespace {

// Processor time: everything here is one thread, and a busy machine measures the same.
struct Clock {
  static std::clock_t now() { return std::clock(); }
};

double milliseconds_since(std::clock_t begin) {
  return static_cast<double>(Clock::now() - begin) * 1e3 / CLOCKS_PER_SEC;
}

// Kernels with what nvcc writes: line information with inlining, vectors, predicates, labels, warp instructions.
std::string large_module(int kernels, int groups) {
  std::string out = ".version 8.0\n.target sm_80\n.address_size 64\n.file 1 \"kernels.cu\"\n.file 2 \"library.h\"\n";
  for (int k = 0; k < kernels; ++k) {
    out += fmt::format(
        ".visible .entry _Z6kernelILi{}EEvPfS0_i(\n\t.param .u64 p0,\n\t.param .u64 p1,\n\t.param .u32 p2\n)\n{{\n"
        "\t.reg .pred %p<20>;\n\t.reg .f32 %f<300>;\n\t.reg .b32 %r<300>;\n\t.reg .b64 %rd<100>;\n"
        "\t.shared .align 16 .b8 tile[4096];\n\tld.param.u64 %rd0, [p0];\n\tmov.u32 %r0, %tid.x;\n",
        k);
    for (int i = 0; i < groups; ++i) {
      const int a = i % 290, p = i % 19;
      out += fmt::format(
          "\t.loc\t2 {0} 9, function_name $L__info_string0, inlined_at 1 {0} 3\n"
          "\tld.global.v4.f32 \t{{%f{1}, %f{2}, %f{3}, %f{4}}}, [%rd0+{5}];\n"
          "\tfma.rn.ftz.f32 \t%f{4}, %f{1}, %f{2}, %f{3};\n"
          "\t.loc\t1 {0} 5\n"
          "\tadd.s32 \t%r{2}, %r{1}, {0};\n"
          "\tsetp.lt.s32 \t%p{6}, %r{2}, 0;\n"
          "\t@%p{6} bra \t$L__BB{7}_{0};\n"
          "\tst.shared.v2.f32 \t[tile+{8}], {{%f{1}, %f{2}}};\n"
          "$L__BB{7}_{0}:\n"
          "\tshfl.sync.bfly.b32 \t%r{3}|%p{9}, %r{2}, {10}, 31, -1;\n"
          "\tmul.wide.s32 \t%rd{11}, %r{1}, 4;\n"
          "\tcvt.rn.f32.s32 \t%f{3}, %r{2};\n",
          i, a, a + 1, a + 2, a + 3, i * 16, p, k, i % 256 * 16, (p + 1) % 19, 1 << i % 5, 1 + i % 99);
    }
    out += "\tret;\n}\n";
  }
  // Comments and names make the rest of the size.
  out += ".section .debug_str\n{\n$L__info_string0:\n.b8 95,90,51,0\n}\n";
  return out;
}

}  // namespace

int main() {
  using namespace warploom;
  constexpr int kKernels = 350, kGroups = 55;
  std::string text = large_module(kKernels, kGroups);
  // Data of kernels stands beside their code.
  text += ".global .align 1 .b8 table[1000000] = {7";
  for (int i = 1; i < 1000000; ++i) text += ", 7";
  text += "};\n";
  const double megabytes = static_cast<double>(text.size()) / 1e6;

  auto begin = Clock::now();
  auto module = ptx::parse(std::move(text), "large.ptx");
  const double load = milliseconds_since(begin);
  if (!module) {
    std::fprintf(stderr, "%s\n", module.error().to_string().c_str());
    return 1;
  }
  begin = Clock::now();
  if (!ptx::parse_body(**module, (*module)->functions.front())) return 1;
  const double one = milliseconds_since(begin);

  std::size_t instructions = 0;
  begin = Clock::now();
  for (const ptx::Function& f : (*module)->functions) {
    auto body = ptx::parse_body(**module, f);
    if (!body) {
      std::fprintf(stderr, "%s\n", body.error().to_string().c_str());
      return 1;
    }
    instructions += (*body)->instrs.size();
  }
  const double all = milliseconds_since(begin);
  begin = Clock::now();
  for (const ptx::Function& f : (*module)->functions)
    if (auto built = ir::build(*module, f); !built) {
      std::fprintf(stderr, "%s\n", built.error().to_string().c_str());
      return 1;
    }
  const double built = milliseconds_since(begin);

  fmt::print("PTX of {:.1f} MB, {} kernels, {} instructions        expected\n", megabytes, kKernels, instructions);
  fmt::print("load the module          {:9.1f} ms                          100\n", load);
  fmt::print("parse one kernel         {:9.1f} ms                            1\n", one);
  fmt::print("parse all kernels        {:9.1f} ms  {:6.2f} us/instruction    250\n", all,
             all * 1e3 / static_cast<double>(instructions));
  fmt::print("build the IR of all      {:9.1f} ms  {:6.2f} us/instruction    600\n", built,
             built * 1e3 / static_cast<double>(instructions));
  return 0;
}

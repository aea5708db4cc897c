// PTX of the kernels that run one matrix instruction on recorded operands.
#include <string>

#include "matrix_cases.hpp"

namespace warploom::test {

namespace {

using Kind = MatrixCase::Kind;

// Declares registers, loads them word by word; 64-bit registers for f64.
std::string fetch(char name, const std::string& type, unsigned words, const std::string& parameter) {
  if (words == 0) return "";
  const bool is64 = type == "f64";
  const unsigned step = is64 ? 2 : 1;
  const std::string reg = is64            ? ".f64"
                          : type == "f32" ? ".f32"
                                          : ".b32",
                    load = is64            ? "f64"
                           : type == "f32" ? "f32"
                                           : "b32";
  std::string out = "  .reg " + reg + " %" + name + "<" + std::to_string(words / step) + ">;\n";
  out += "  ld.param.u64 %p, [" + parameter + "];\n  mad.wide.u32 %p, %i, " + std::to_string(4 * pool_words(type)) +
         ", %p;\n";
  for (unsigned w = 0; w < words; w += step)
    out += "  ld.global." + load + " %" + name + std::to_string(w / step) + ", [%p+" + std::to_string(4 * w) + "];\n";
  return out;
}

std::string vector(char name, const std::string& type, unsigned words) {
  const unsigned n = words / (type == "f64" ? 2 : 1);
  std::string out = "{";
  for (unsigned i = 0; i < n; ++i) out += (i == 0 ? "%" : ", %") + std::string(1, name) + std::to_string(i);
  return out + "}";
}

std::string results(const std::string& type, unsigned words) {
  const bool is64 = type == "f64";
  const unsigned step = is64 ? 2 : 1;
  const std::string kind = is64 ? "f64" : type == "f32" ? "f32" : "b32";
  std::string out = "  ld.param.u64 %p, [pd];\n  mad.wide.u32 %p, %i, " + std::to_string(4 * words) + ", %p;\n";
  for (unsigned w = 0; w < words; w += step)
    out += "  st.global." + kind + " [%p+" + std::to_string(4 * w) + "], %d" + std::to_string(w / step) + ";\n";
  return out;
}

std::string declare(const std::string& type, unsigned words) {
  const bool is64 = type == "f64";
  return "  .reg " +
         std::string(is64            ? ".f64"
                     : type == "f32" ? ".f32"
                                     : ".b32") +
         " %d<" + std::to_string(words / (is64 ? 2 : 1)) + ">;\n";
}

// Copies 4 KiB between shared memory and the global memory at %p.
std::string copy_shared(bool in) {
  std::string out =
      "  shl.b32 %o, %t, 2;\n  mov.u32 %x, tile;\n  add.u32 %x, %x, %o;\n  cvt.u64.u32 %q, %o;\n"
      "  add.u64 %p, %p, %q;\n";
  for (unsigned i = 0; i < 4096; i += 128) {
    const std::string global = "[%p+" + std::to_string(i) + "]", shared = "[%x+" + std::to_string(i) + "]";
    out += in ? "  ld.global.b32 %v, " + global + ";\n  st.shared.b32 " + shared + ", %v;\n"
              : "  ld.shared.b32 %v, " + shared + ";\n  st.global.b32 " + global + ", %v;\n";
  }
  return out;
}

std::string body(const MatrixCase& c) {
  switch (c.kind) {
    case Kind::multiply: {
      std::string out = fetch('a', c.a, c.a_words, "pa") + fetch('b', c.b, c.b_words, "pb") +
                        fetch('c', c.c, c.c_words, "pc") + declare(c.d, c.d_words);
      if (c.selector >= 0) out += fetch('e', "pair", 1, "pe");
      out += "  " + c.mnemonic + " " + vector('d', c.d, c.d_words) + ", " + vector('a', c.a, c.a_words) + ", " +
             vector('b', c.b, c.b_words) + ", " + vector('c', c.c, c.c_words);
      if (c.selector >= 0) out += ", %e0, " + std::to_string(c.selector);
      return out + ";\n" + results(c.d, c.d_words);
    }
    case Kind::load: {
      const std::string stride = std::to_string(c.stride);
      return declare(c.a, c.d_words) + "  ld.param.u64 %p, [pa];\n  mad.wide.u32 %p, %s, 8192, %p;\n  " + c.mnemonic +
             " " + vector('d', c.a, c.d_words) + ", [%p], " + stride + ";\n" + results(c.a, c.d_words);
    }
    case Kind::store:
      return fetch('c', c.c, c.c_words, "pc") + "  ld.param.u64 %p, [pd];\n  mad.wide.u32 %p, %s, 8192, %p;\n  " +
             c.mnemonic + " [%p], " + vector('c', c.c, c.c_words) + ", " + std::to_string(c.stride) + ";\n";
    case Kind::ldmatrix:
      // Rows at random places, which may repeat.
      return declare("s32", c.d_words) +
             "  ld.param.u64 %p, [pa];\n  and.b32 %v, %s, 63;\n  mad.wide.u32 %p, %v, 4096, %p;\n" + copy_shared(true) +
             "  bar.sync 0;\n" + fetch('a', "s32", 1, "pa") +
             "  and.b32 %a0, %a0, 0xff0;\n  mov.u32 %x, tile;\n  add.u32 %x, %x, %a0;\n  " + c.mnemonic + " " +
             vector('d', "s32", c.d_words) + ", [%x];\n" + results("s32", c.d_words);
    case Kind::stmatrix:
      // Rows in an order of their own, none twice.
      return fetch('c', "s32", c.c_words, "pc") + "  ld.param.u64 %p, [pa];\n" + copy_shared(true) +
             "  bar.sync 0;\n  mad.lo.u32 %x, %t, 5, %s;\n  and.b32 %x, %x, 31;\n  shl.b32 %x, %x, 7;\n"
             "  mov.u32 %o, tile;\n  add.u32 %x, %x, %o;\n  " +
             c.mnemonic + " [%x], " + vector('c', "s32", c.c_words) +
             ";\n  bar.sync 0;\n  ld.param.u64 %p, [pd];\n  mad.wide.u32 %p, %s, 8192, %p;\n" + copy_shared(false);
    case Kind::movmatrix:
      return fetch('c', "s32", 1, "pc") + declare("s32", 1) + "  " + c.mnemonic + " %d0, %c0;\n" + results("s32", 1);
  }
  return "";
}

}  // namespace

std::string matrix_kernel(const MatrixCase& c) {
  return ".version " + c.version + "\n.target " + c.target +
         "\n.address_size 64\n.visible .entry k(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pe, "
         ".param .u64 pd)\n{\n  .reg .b64 %p, %q;\n  .reg .b32 %i, %s, %t, %o, %x, %v;\n"
         "  .shared .align 16 .b8 tile[4096];\n"
         "  mov.u32 %s, %ctaid.x;\n  mov.u32 %t, %tid.x;\n  mad.lo.u32 %i, %s, 32, %t;\n" +
         body(c) + "  ret;\n}\n";
}

}  // namespace warploom::test

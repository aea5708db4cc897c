// Prints random kernels as CUDA C++.
#include "random_ast.hpp"

namespace random_kernels {

namespace {

struct Printer {
  std::string text;
  int indent = 1;
  int fresh = 0;

  static std::string num(u32 v) { return std::to_string(v) + "u"; }

  std::string e(const ExprPtr& p) const {
    const Expr& x = *p;
    const auto k = [&](std::size_t i) { return e(x.k[i]); };
    const auto bin = [&](const char* op) { return "(" + k(0) + " " + op + " " + k(1) + ")"; };
    const auto call = [&](const char* f) { return std::string(f) + "(" + k(0) + ", " + k(1) + ")"; };
    switch (x.op) {
      case Ex::constant: return num(x.imm);
      case Ex::var: return "v" + std::to_string(x.imm);
      case Ex::uvar: return "u" + std::to_string(x.imm);
      case Ex::counter: return "c" + std::to_string(x.imm);
      case Ex::tx: return "threadIdx.x";
      case Ex::ty: return "threadIdx.y";
      case Ex::tz: return "threadIdx.z";
      case Ex::lin: return "lin";
      case Ex::lane: return "(lin & 31u)";
      case Ex::bx: return "blockIdx.x";
      case Ex::nx: return "blockDim.x";
      case Ex::ny: return "blockDim.y";
      case Ex::p0: return "p0";
      case Ex::p1: return "p1";
      case Ex::add:
      case Ex::wadd: return bin("+");
      case Ex::sub:
      case Ex::wsub: return bin("-");
      case Ex::mul:
      case Ex::wmul: return bin("*");
      case Ex::mulhi: return call("__umulhi");
      case Ex::band: return bin("&");
      case Ex::bor: return bin("|");
      case Ex::bxor: return bin("^");
      case Ex::shl: return "(" + k(0) + " << (" + k(1) + " & 31u))";
      case Ex::shr: return "(" + k(0) + " >> (" + k(1) + " & 31u))";
      case Ex::sar: return "(unsigned)((int)" + k(0) + " >> (" + k(1) + " & 31u))";
      case Ex::div: return "(" + k(0) + " / (" + k(1) + " | 1u))";
      case Ex::rem: return "(" + k(0) + " % (" + k(1) + " | 1u))";
      case Ex::sdiv: return "(unsigned)((int)" + k(0) + " / 7)";
      case Ex::minu: return call("umin_");
      case Ex::maxu: return call("umax_");
      case Ex::mins: return call("smin_");
      case Ex::maxs: return call("smax_");
      case Ex::neg: return "(0u - " + k(0) + ")";
      case Ex::bnot: return "(~" + k(0) + ")";
      case Ex::popc: return "(unsigned)__popc(" + k(0) + ")";
      case Ex::clz: return "(unsigned)__clz(" + k(0) + ")";
      case Ex::sext8: return "(unsigned)(int)(signed char)" + k(0);
      case Ex::sext16: return "(unsigned)(int)(short)" + k(0);
      case Ex::call: return "mix_(" + k(0) + ", " + k(1) + ")";
      case Ex::permute: return "__byte_perm(" + k(0) + ", " + k(1) + ", " + k(2) + " & 0x7777u)";
      case Ex::funnel: return "__funnelshift_l(" + k(0) + ", " + k(1) + ", " + k(2) + ")";
      case Ex::select: return "(" + k(0) + " ? " + k(1) + " : " + k(2) + ")";
      case Ex::load: return "in[" + k(0) + " & 255u]";
      case Ex::load_guard_u: return "guard_u(in, " + k(0) + ")";
      case Ex::load_guard_s: return "guard_s(in, (int)" + k(0) + ")";
      case Ex::load_byte: return "guard_b(in, " + k(0) + ")";
      case Ex::load_short: return "guard_h(in, (int)" + k(0) + ")";
      case Ex::load_vec: return "reinterpret_cast<const uint4*>(in)[" + k(0) + " & 63u]." + "xyzw"[x.imm];
      case Ex::load_local: return "la[" + k(0) + " & 7u]";
      case Ex::load_scratch: return "scratch[gt * 4u + (" + k(0) + " & 3u)]";
      case Ex::load_wide: return "guard_w(in, " + k(0) + ")";
      case Ex::lo: return "(unsigned)" + k(0);
      case Ex::hi: return "(unsigned)(" + k(0) + " >> 32)";
      case Ex::lt: return bin("<");
      case Ex::lts: return "((int)" + k(0) + " < (int)" + k(1) + ")";
      case Ex::eq: return bin("==");
      case Ex::bit: return "((" + k(0) + " >> " + num(x.imm) + ") & 1u)";
      case Ex::land: return bin("&&");
      case Ex::lor: return bin("||");
      case Ex::lnot: return "(!" + k(0) + ")";
      case Ex::wvar: return "w" + std::to_string(x.imm);
      case Ex::zext: return "(u64)" + k(0);
      case Ex::sext: return "(u64)(long long)(int)" + k(0);
      case Ex::wideu: return "((u64)" + k(0) + " * (u64)" + k(1) + ")";
      case Ex::wides: return "(u64)((long long)(int)" + k(0) + " * (long long)(int)" + k(1) + ")";
      case Ex::wshl: return "(" + k(0) + " << " + num(x.imm) + ")";
      case Ex::wshr: return "(" + k(0) + " >> " + num(x.imm) + ")";
    }
    return "";
  }
  void line(const std::string& s) { text += std::string(static_cast<std::size_t>(indent) * 2, ' ') + s + "\n"; }
  void block(const Body& b) {
    ++indent;
    for (const auto& s : b) statement(*s);
    --indent;
  }
  void statement(const Stmt& s) {
    const std::string v = "v" + std::to_string(s.var);
    const std::string c = "c" + std::to_string(s.var);
    switch (s.op) {
      case St::assign: return line(v + " = " + e(s.e[0]) + ";");
      case St::uassign: return line("u" + std::to_string(s.var) + " = " + e(s.e[0]) + ";");
      case St::wassign: return line("w" + std::to_string(s.var) + " = " + e(s.e[0]) + ";");
      case St::branch:
        line("if (" + e(s.e[0]) + ") {");
        block(s.bodies[0]);
        if (!s.bodies[1].empty()) {
          line("} else {");
          block(s.bodies[1]);
        }
        return line("}");
      case St::switch_:
        line("switch (" + e(s.e[0]) + " % " + num(s.imm) + ") {");
        for (std::size_t i = 0; i < s.bodies.size(); ++i) {
          line(i + 1 == s.bodies.size() ? "default:" : "case " + num(static_cast<u32>(i)) + ":");
          block(s.bodies[i]);
          if (i != 1) line("  break;");
        }
        return line("}");
      case St::loop:
        line("for (" + c + " = " + e(s.e[0]) + " & 7u; " + c + " < (" + e(s.e[1]) + " & 7u) && n" + c + " < 8u; " + c +
             " += " + num(s.imm) + ", ++n" + c + ") {");
        block(s.bodies[0]);
        return line("}"), line("n" + c + " = 0;");
      case St::loop_down:
        line("for (" + c + " = (" + e(s.e[0]) + " & 15u) + " + num(s.imm) + "; (int)" + c + " > (int)(" + e(s.e[1]) +
             " & 3u) && n" + c + " < 8u; " + c + " -= " + num(s.imm) + ", ++n" + c + ") {");
        block(s.bodies[0]);
        return line("}"), line("n" + c + " = 0;");
      case St::dowhile:
        line(c + " = 0;");
        line("do {");
        line("  ++" + c + ";");
        block(s.bodies[0]);
        line("} while (" + c + " < (" + e(s.e[1]) + " & 7u));");
        return;
      case St::brk: return line("if (" + e(s.e[0]) + ") break;");
      case St::cont: return line("if (" + e(s.e[0]) + ") continue;");
      case St::ret: return line("if (" + e(s.e[0]) + ") return;");
      case St::store_scratch: return line("scratch[gt * 4u + (" + e(s.e[0]) + " & 3u)] = " + e(s.e[1]) + ";");
      case St::store_vec:
        return line("reinterpret_cast<uint2*>(scratch)[gt * 2u + (" + e(s.e[0]) + " & 1u)] = make_uint2(" + e(s.e[1]) +
                    ", v1);");
      case St::store_local: return line("la[" + e(s.e[0]) + " & 7u] = " + e(s.e[1]) + ";");
      case St::add_sum: {
        static const char* const f[] = {"atomicAdd", "atomicXor", "atomicMax"};
        return line(std::string(f[s.imm]) + "(&sum[" + std::to_string(s.imm * 2) + "u + (" + e(s.e[0]) + " & 1u)], " +
                    e(s.e[1]) + ");");
      }
      case St::exchange:
        line("sh[lin] = " + e(s.e[0]) + ";");
        line("__syncthreads();");
        line(v + " = sh[(" + e(s.e[1]) + ") % nt];");
        return line("__syncthreads();");
      case St::exchange_bytes:
        line("shb[lin] = (unsigned char)(" + e(s.e[0]) + ");");
        line("__syncthreads();");
        line(v + " = shb[(" + e(s.e[1]) + ") % nt];");
        return line("__syncthreads();");
      case St::shfl: {
        static const char* const f[] = {"__shfl_sync", "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync"};
        return line(v + " = " + f[s.imm] + "(0xffffffffu, " + e(s.e[0]) + ", " + e(s.e[1]) + " & 31u, " +
                    std::to_string(32u >> s.imm2) + ");");
      }
      case St::ballot: return line(v + " = __ballot_sync(wm, " + e(s.e[0]) + ");");
      case St::masked: {
        const std::string t = "t" + std::to_string(fresh++);
        line("bool " + t + " = " + e(s.e[0]) + ";");
        line("unsigned m" + t + " = __ballot_sync(wm, " + t + ");");
        line("if (" + t + ") {");
        line("  " + v + " = __shfl_sync(m" + t + ", " + e(s.e[1]) + ", __ffs(m" + t + ") - 1);");
        if (s.imm) line("  " + v + " += __ballot_sync(m" + t + ", " + e(s.e[2]) + ");");
        return line("}");
      }
      case St::walk: {
        const std::string q = "q" + std::to_string(fresh++);
        line("for (long long " + q + " = " + e(s.e[0]) + " & 255u, s" + q + " = " + e(s.e[1]) + " & 63u; " + q +
             " > 200 - s" + q + "; " + q + " -= " + std::to_string(s.imm) + ") " + v + " = " + v + " * 3u + in[" + q +
             "];");
        return;
      }
      case St::sync_warp: return line("__syncwarp(wm);");
    }
  }
};

}  // namespace

std::string cuda_prelude() {
  return R"(typedef unsigned long long u64;
static __device__ __noinline__ unsigned mix_(unsigned a, unsigned b) {
  if ((a ^ b) & 1u) return a * 3u + b;
  unsigned s = b;
  for (unsigned i = 0; i < (a & 3u); ++i) s = s * 5u + (a >> i);
  return s;
}
static __device__ unsigned umin_(unsigned a, unsigned b) { return a < b ? a : b; }
static __device__ unsigned umax_(unsigned a, unsigned b) { return a > b ? a : b; }
static __device__ unsigned smin_(int a, int b) { return a < b ? a : b; }
static __device__ unsigned smax_(int a, int b) { return a > b ? a : b; }
static __device__ unsigned guard_u(const unsigned* in, unsigned i) { return i < 256u ? in[i] : 77u; }
static __device__ unsigned guard_s(const unsigned* in, int i) { return i >= -128 && i < 128 ? (in + 128)[i] : 78u; }
static __device__ unsigned guard_b(const unsigned* in, unsigned i) {
  return i < 1024u ? reinterpret_cast<const unsigned char*>(in)[i] : 79u;
}
static __device__ unsigned guard_h(const unsigned* in, int i) {
  return i >= -256 && i < 256 ? (unsigned)(int)(reinterpret_cast<const short*>(in) + 256)[i] : 80u;
}
static __device__ unsigned guard_w(const unsigned* in, u64 i) { return i < 256u ? in[i] : 81u; }
)";
}

std::string cuda_text(const Kernel& kernel) {
  Printer p;
  p.text =
      "extern \"C\" __global__ void " + kernel.name +
      "(const unsigned* __restrict__ in, unsigned* out, unsigned* scratch, unsigned* sum, unsigned p0, unsigned p1) {\n"
      "  __shared__ unsigned sh[1024];\n"
      "  __shared__ unsigned char shb[1024];\n"
      "  const unsigned lin = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);\n"
      "  const unsigned nt = blockDim.x * blockDim.y * blockDim.z;\n"
      "  const unsigned gt = blockIdx.x * nt + lin;\n"
      "  const unsigned wm = (lin | 31u) < nt ? 0xffffffffu : (1u << (nt & 31u)) - 1u;\n"
      "  unsigned la[8];\n"
      "  for (unsigned i = 0; i < 8; ++i) la[i] = i * 17u + lin;\n"
      "  for (unsigned i = lin; i < 1024u; i += nt) sh[i] = 0, shb[i] = 0;\n"
      "  __syncthreads();\n";
  for (int i = 0; i < kernel.counters; ++i)
    p.line("unsigned c" + std::to_string(i) + " = 0, nc" + std::to_string(i) + " = 0;");
  std::size_t i = 0;
  for (int j = 0; j < uniform_vars; ++j)
    p.line("unsigned u" + std::to_string(j) + " = " + p.e(kernel.first[i++]) + ";");
  for (int j = 0; j < vars; ++j) p.line("unsigned v" + std::to_string(j) + " = " + p.e(kernel.first[i++]) + ";");
  for (int j = 0; j < wide_vars; ++j) p.line("u64 w" + std::to_string(j) + " = " + p.e(kernel.first[i++]) + ";");
  p.indent = 0;
  p.block(kernel.body);
  p.indent = 1;
  p.line("const unsigned total = gridDim.x * nt;");
  u32 at = 0;
  const auto put = [&](const std::string& x) {
    p.line("out[" +
           (kernel.transposed ? std::to_string(at) + "u * total + gt"
                              : "gt * " + std::to_string(results) + "u + " + std::to_string(at)) +
           "] = " + x + ";");
    ++at;
  };
  for (int j = 0; j < vars; ++j) put("v" + std::to_string(j));
  for (int j = 0; j < uniform_vars; ++j) put("u" + std::to_string(j));
  for (int j = 0; j < wide_vars; ++j) {
    put("(unsigned)w" + std::to_string(j));
    put("(unsigned)(w" + std::to_string(j) + " >> 32)");
  }
  return p.text + "}\n";
}

}  // namespace random_kernels

// Says what random kernels compute: all threads of a block go through a statement together.
#include <algorithm>
#include <bit>

#include "random_ast.hpp"

namespace random_kernels {

namespace {

u32 mix(u32 a, u32 b) {
  if (((a ^ b) & 1) != 0) return a * 3 + b;
  u32 sum = b;
  for (u32 i = 0; i < (a & 3); ++i) sum = sum * 5 + (a >> i);
  return sum;
}
u32 permute(u32 a, u32 b, u32 selector) {
  u32 r = 0;
  for (u32 i = 0; i < 4; ++i)
    r |= static_cast<u32>((u64{b} << 32 | a) >> (8 * (selector >> (4 * i) & 7)) & 0xff) << (8 * i);
  return r;
}

using Lanes = std::vector<char>;

struct Machine {
  const Kernel& kernel;
  Memory& memory;
  u32 block_index = 0;
  Block block{};
  u32 p0 = 0, p1 = 0;
  u32 n = 0;
  std::vector<std::vector<u32>> v, u, c, la;
  std::vector<std::vector<u64>> w;
  std::vector<u32> sh;
  std::vector<unsigned char> shb;
  Lanes gone;
  struct Frame {
    Lanes broken, continued;
  };
  std::vector<Frame> frames;

  u32 tx(u32 t) const { return t % block.x; }
  u32 gt(u32 t) const { return block_index * n + t; }

  bool b(const ExprPtr& p, u32 t) { return eval(p, t) != 0; }
  u32 e(const ExprPtr& p, u32 t) { return static_cast<u32>(eval(p, t)); }
  u64 eval(const ExprPtr& p, u32 t) {
    const Expr& x = *p;
    const auto k = [&](std::size_t i) { return e(x.k[i], t); };
    const auto s = [&](std::size_t i) { return static_cast<i32>(e(x.k[i], t)); };
    const auto wk = [&](std::size_t i) { return eval(x.k[i], t); };
    switch (x.op) {
      case Ex::constant: return x.imm;
      case Ex::var: return v[t][x.imm];
      case Ex::uvar: return u[t][x.imm];
      case Ex::counter: return c[t][x.imm];
      case Ex::tx: return tx(t);
      case Ex::ty: return t / block.x % block.y;
      case Ex::tz: return t / block.x / block.y;
      case Ex::lin: return t;
      case Ex::lane: return t & 31;
      case Ex::bx: return block_index;
      case Ex::nx: return block.x;
      case Ex::ny: return block.y;
      case Ex::p0: return p0;
      case Ex::p1: return p1;
      case Ex::add: return k(0) + k(1);
      case Ex::sub: return k(0) - k(1);
      case Ex::mul: return k(0) * k(1);
      case Ex::mulhi: return (u64{k(0)} * k(1)) >> 32;
      case Ex::band: return k(0) & k(1);
      case Ex::bor: return k(0) | k(1);
      case Ex::bxor: return k(0) ^ k(1);
      case Ex::shl: return k(0) << (k(1) & 31);
      case Ex::shr: return k(0) >> (k(1) & 31);
      case Ex::sar: return static_cast<u32>(s(0) >> (k(1) & 31));
      case Ex::div: return k(0) / (k(1) | 1);
      case Ex::rem: return k(0) % (k(1) | 1);
      case Ex::sdiv: return static_cast<u32>(s(0) / 7);
      case Ex::minu: return std::min(k(0), k(1));
      case Ex::maxu: return std::max(k(0), k(1));
      case Ex::mins: return static_cast<u32>(std::min(s(0), s(1)));
      case Ex::maxs: return static_cast<u32>(std::max(s(0), s(1)));
      case Ex::neg: return 0u - k(0);
      case Ex::bnot: return ~k(0);
      case Ex::popc: return static_cast<u32>(std::popcount(k(0)));
      case Ex::clz: return static_cast<u32>(std::countl_zero(k(0)));
      case Ex::sext8: return static_cast<u32>(i32{static_cast<signed char>(k(0))});
      case Ex::sext16: return static_cast<u32>(i32{static_cast<std::int16_t>(k(0))});
      case Ex::call: return mix(k(0), k(1));
      case Ex::permute: return permute(k(0), k(1), k(2));
      case Ex::funnel: {
        const u32 low = k(0), high = k(1), amount = k(2) & 31;
        return static_cast<u32>((u64{high} << 32 | low) << amount >> 32);
      }
      case Ex::select: return wk(0) != 0 ? k(1) : k(2);
      case Ex::load: return memory.in[k(0) & 255];
      case Ex::load_guard_u: {
        const u32 i = k(0);
        return i < in_words ? memory.in[i] : 77;
      }
      case Ex::load_guard_s: {
        const i32 i = s(0);
        return i >= -128 && i < 128 ? memory.in[static_cast<u32>(i + 128)] : 78;
      }
      case Ex::load_byte: {
        const u32 i = k(0);
        return i < 1024 ? (memory.in[i / 4] >> (i % 4 * 8)) & 255 : 79;
      }
      case Ex::load_short: {
        const i32 i = s(0);
        if (i < -256 || i >= 256) return 80;
        const u32 j = static_cast<u32>(i + 256);
        return static_cast<u32>(i32{static_cast<std::int16_t>(memory.in[j / 2] >> (j % 2 * 16))});
      }
      case Ex::load_vec: return memory.in[(k(0) & 63) * 4 + x.imm];
      case Ex::load_local: return la[t][k(0) & 7];
      case Ex::load_scratch: return memory.scratch[gt(t) * 4 + (k(0) & 3)];
      case Ex::load_wide: {
        const u64 i = wk(0);
        return i < in_words ? memory.in[i] : 81;
      }
      case Ex::lo: return static_cast<u32>(wk(0));
      case Ex::hi: return wk(0) >> 32;
      case Ex::lt: return k(0) < k(1);
      case Ex::lts: return s(0) < s(1);
      case Ex::eq: return k(0) == k(1);
      case Ex::bit: return (k(0) >> x.imm) & 1;
      case Ex::land: return wk(0) != 0 && wk(1) != 0;
      case Ex::lor: return wk(0) != 0 || wk(1) != 0;
      case Ex::lnot: return wk(0) == 0;
      case Ex::wvar: return w[t][x.imm];
      case Ex::zext: return k(0);
      case Ex::sext: return static_cast<u64>(i64{s(0)});
      case Ex::wadd: return wk(0) + wk(1);
      case Ex::wsub: return wk(0) - wk(1);
      case Ex::wmul: return wk(0) * wk(1);
      case Ex::wideu: return u64{k(0)} * k(1);
      case Ex::wides: return static_cast<u64>(i64{s(0)} * i64{s(1)});
      case Ex::wshl: return wk(0) << x.imm;
      case Ex::wshr: return wk(0) >> x.imm;
    }
    return 0;
  }

  bool here(const Lanes& m, u32 t) const {
    return m[t] && !gone[t] && (frames.empty() || (!frames.back().broken[t] && !frames.back().continued[t]));
  }
  Lanes active(const Lanes& m) const {
    Lanes a(n);
    for (u32 t = 0; t < n; ++t) a[t] = here(m, t);
    return a;
  }
  static bool any(const Lanes& m) { return std::find(m.begin(), m.end(), 1) != m.end(); }
  void run(const Body& body, const Lanes& m) {
    for (const auto& s : body) {
      const Lanes a = active(m);
      if (any(a)) exec(*s, a);
    }
  }
  void loop(const Stmt& s, const Lanes& m) {
    Lanes in = m;
    const auto var = static_cast<std::size_t>(s.var);
    for (u32 t = 0; t < n; ++t)
      if (in[t]) {
        c[t][var] = s.op == St::loop ? e(s.e[0], t) & 7 : s.op == St::loop_down ? (e(s.e[0], t) & 15) + s.imm : 0;
      }
    frames.push_back({Lanes(n), Lanes(n)});
    for (u32 trip = 0; any(in); ++trip) {
      for (u32 t = 0; t < n; ++t) {
        if (!in[t]) continue;
        if (s.op == St::loop) in[t] = c[t][var] < (e(s.e[1], t) & 7) && trip < 8;
        if (s.op == St::loop_down) in[t] = static_cast<i32>(c[t][var]) > static_cast<i32>(e(s.e[1], t) & 3) && trip < 8;
        if (s.op == St::dowhile) ++c[t][var];
      }
      run(s.bodies[0], in);
      Frame& f = frames.back();
      for (u32 t = 0; t < n; ++t) {
        f.continued[t] = 0;
        in[t] = in[t] && !f.broken[t] && !gone[t];
        if (!in[t]) continue;
        if (s.op == St::loop) c[t][var] += s.imm;
        if (s.op == St::loop_down) c[t][var] -= s.imm;
        if (s.op == St::dowhile) in[t] = c[t][var] < (e(s.e[1], t) & 7);
      }
    }
    frames.pop_back();
  }
  void exec(const Stmt& s, const Lanes& m) {
    const auto var = static_cast<std::size_t>(s.var);
    const auto each = [&](auto f) {
      for (u32 t = 0; t < n; ++t)
        if (m[t]) f(t);
    };
    switch (s.op) {
      case St::assign: return each([&](u32 t) { v[t][var] = e(s.e[0], t); });
      case St::uassign: return each([&](u32 t) { u[t][var] = e(s.e[0], t); });
      case St::wassign: return each([&](u32 t) { w[t][var] = eval(s.e[0], t); });
      case St::branch: {
        Lanes yes(n), no(n);
        each([&](u32 t) { (b(s.e[0], t) ? yes : no)[t] = 1; });
        run(s.bodies[0], yes);
        return run(s.bodies[1], no);
      }
      case St::switch_: {
        std::vector<Lanes> go(s.bodies.size(), Lanes(n));
        each([&](u32 t) { go[std::min<std::size_t>(e(s.e[0], t) % s.imm, s.bodies.size() - 1)][t] = 1; });
        for (std::size_t i = 0; i < s.bodies.size(); ++i) {
          run(s.bodies[i], go[i]);
          if (i == 1 && i + 1 < s.bodies.size())
            for (u32 t = 0; t < n; ++t) go[2][t] = go[2][t] || go[1][t];
        }
        return;
      }
      case St::loop:
      case St::loop_down:
      case St::dowhile: return loop(s, m);
      case St::brk: return each([&](u32 t) { frames.back().broken[t] = b(s.e[0], t); });
      case St::cont: return each([&](u32 t) { frames.back().continued[t] = b(s.e[0], t); });
      case St::ret: return each([&](u32 t) { gone[t] = b(s.e[0], t); });
      case St::store_scratch:
        return each([&](u32 t) { memory.scratch[gt(t) * 4 + (e(s.e[0], t) & 3)] = e(s.e[1], t); });
      case St::store_vec:
        return each([&](u32 t) {
          const u32 at = gt(t) * 4 + (e(s.e[0], t) & 1) * 2;
          const u32 value = e(s.e[1], t);
          memory.scratch[at] = value;
          memory.scratch[at + 1] = v[t][1];
        });
      case St::store_local: return each([&](u32 t) { la[t][e(s.e[0], t) & 7] = e(s.e[1], t); });
      case St::add_sum:
        return each([&](u32 t) {
          u32& sum = memory.sum[s.imm * 2 + (e(s.e[0], t) & 1)];
          const u32 x = e(s.e[1], t);
          sum = s.imm == 0 ? sum + x : s.imm == 1 ? sum ^ x : std::max(sum, x);
        });
      case St::exchange: {
        each([&](u32 t) { sh[t] = e(s.e[0], t); });
        return each([&](u32 t) { v[t][var] = sh[e(s.e[1], t) % n]; });
      }
      case St::exchange_bytes: {
        each([&](u32 t) { shb[t] = static_cast<unsigned char>(e(s.e[0], t)); });
        return each([&](u32 t) { v[t][var] = shb[e(s.e[1], t) % n]; });
      }
      case St::shfl: {
        std::vector<u32> x(n), l(n);
        each([&](u32 t) { x[t] = e(s.e[0], t), l[t] = e(s.e[1], t) & 31; });
        const u32 width = 32u >> s.imm2;
        return each([&](u32 t) {
          const u32 lane = t & 31, base = lane & ~(width - 1), at = lane & (width - 1);
          u32 from = lane;
          if (s.imm == 0) from = base + (l[t] & (width - 1));
          if (s.imm == 1) from = at >= l[t] ? lane - l[t] : lane;
          if (s.imm == 2) from = at + l[t] < width ? lane + l[t] : lane;
          if (s.imm == 3) from = (lane ^ l[t]) < base + width ? lane ^ l[t] : lane;
          v[t][var] = x[(t & ~31u) + from];
        });
      }
      case St::ballot: return ballot(m, m, s.e[0], [&](u32 t, u32 bits) { v[t][var] = bits; });
      case St::masked: {
        Lanes in(n);
        std::vector<u32> members(n);
        ballot(m, m, s.e[0], [&](u32 t, u32 bits) { members[t] = bits; });
        each([&](u32 t) { in[t] = (members[t] >> (t & 31)) & 1; });
        std::vector<u32> x(n);
        for (u32 t = 0; t < n; ++t)
          if (in[t]) x[t] = e(s.e[1], t);
        for (u32 t = 0; t < n; ++t)
          if (in[t]) v[t][var] = x[(t & ~31u) + static_cast<u32>(std::countr_zero(members[t]))];
        if (s.imm) ballot(in, in, s.e[2], [&](u32 t, u32 bits) { v[t][var] += bits; });
        return;
      }
      case St::walk:
        return each([&](u32 t) {
          const i64 low = 200 - i64{e(s.e[1], t) & 63};
          for (i64 q = e(s.e[0], t) & 255; q > low; q -= s.imm)
            v[t][var] = v[t][var] * 3 + memory.in[static_cast<std::size_t>(q)];
        });
      case St::sync_warp: return;
    }
  }
  template <class F>
  void ballot(const Lanes& m, const Lanes& to, const ExprPtr& p, F f) {
    std::vector<u32> bits(n / 32 + 1);
    for (u32 t = 0; t < n; ++t)
      if (m[t] && b(p, t)) bits[t / 32] |= 1u << (t & 31);
    for (u32 t = 0; t < n; ++t)
      if (to[t]) f(t, bits[t / 32]);
  }

  void run_block() {
    n = block.count();
    v.assign(n, std::vector<u32>(vars));
    u.assign(n, std::vector<u32>(uniform_vars));
    w.assign(n, std::vector<u64>(wide_vars));
    c.assign(n, std::vector<u32>(static_cast<std::size_t>(kernel.counters)));
    la.assign(n, std::vector<u32>(8));
    sh.assign(1024, 0);
    shb.assign(1024, 0);
    gone.assign(n, 0);
    for (u32 t = 0; t < n; ++t)
      for (u32 i = 0; i < 8; ++i) la[t][i] = i * 17 + t;
    for (u32 t = 0; t < n; ++t) {
      std::size_t i = 0;
      for (u32 j = 0; j < uniform_vars; ++j) u[t][j] = e(kernel.first[i++], t);
      for (u32 j = 0; j < vars; ++j) v[t][j] = e(kernel.first[i++], t);
      for (u32 j = 0; j < wide_vars; ++j) w[t][j] = eval(kernel.first[i++], t);
    }
    run(kernel.body, Lanes(n, 1));
    const u32 total = static_cast<u32>(memory.out.size()) / results;
    for (u32 t = 0; t < n; ++t) {
      if (gone[t]) continue;
      u32 i = 0;
      const auto put = [&](u32 x) {
        memory.out[kernel.transposed ? i * total + gt(t) : gt(t) * results + i] = x;
        ++i;
      };
      for (u32 x : v[t]) put(x);
      for (u32 x : u[t]) put(x);
      for (u64 x : w[t]) put(static_cast<u32>(x)), put(static_cast<u32>(x >> 32));
    }
  }
};

}  // namespace

void interpret(const Kernel& kernel, std::uint32_t grid, Block block, std::uint32_t p0, std::uint32_t p1,
               Memory& memory) {
  for (u32 i = 0; i < grid; ++i) {
    Machine m{kernel, memory, i, block, p0, p1, 0, {}, {}, {}, {}, {}, {}, {}, {}, {}};
    m.run_block();
  }
}

}  // namespace random_kernels

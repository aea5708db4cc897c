// Makes random kernels.
#include <iterator>

#include "random_ast.hpp"

namespace random_kernels {

namespace {

struct Generator {
  u64 state;
  bool whole_warps;
  Kernel out;
  bool returned = false;
  std::vector<int> open_counters;
  int budget = 40;

  u32 next() {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    u64 x = state;
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdull;
    return static_cast<u32>(x >> 32);
  }
  u32 below(u32 n) { return next() % n; }
  bool chance(u32 percent) { return below(100) < percent; }

  static ExprPtr make(Ex op, std::vector<ExprPtr> k = {}, u32 imm = 0) {
    return std::make_shared<Expr>(Expr{op, imm, std::move(k)});
  }

  ExprPtr constant() {
    static const u32 known[] = {0,          1,          2,          3,          4,       5,         7,   8,
                                15,         16,         31,         32,         33,      64,        255, 0x7fffffff,
                                0x80000000, 0xffffffff, 0xfffffffe, 0xffffffc0, 0x10001, 0x40000000};
    return make(Ex::constant, {}, chance(90) ? known[below(std::size(known))] : next());
  }
  ExprPtr leaf(bool uni) {
    if (uni) {
      switch (below(6)) {
        case 0: return make(Ex::uvar, {}, below(uniform_vars));
        case 1: return make(Ex::bx);
        case 2: return make(chance(50) ? Ex::nx : Ex::ny);
        case 3: return make(chance(50) ? Ex::p0 : Ex::p1);
        default: return constant();
      }
    }
    switch (below(12)) {
      case 0:
      case 1:
      case 2: return make(Ex::var, {}, below(vars));
      case 3: return out.counters > 0 ? make(Ex::counter, {}, below(static_cast<u32>(out.counters))) : make(Ex::tx);
      case 4:
      case 5: return make(Ex::tx);
      case 6: return make(chance(70) ? Ex::ty : Ex::tz);
      case 7: return make(chance(50) ? Ex::lin : Ex::lane);
      case 8: return leaf(true);
      default: return constant();
    }
  }
  ExprPtr load(int d) {
    switch (below(8)) {
      case 0: return make(Ex::load, {expr(d)});
      case 1: return make(Ex::load_guard_u, {affine(d)});
      case 2: return make(Ex::load_guard_s, {affine(d)});
      case 3: return make(Ex::load_byte, {affine(d)});
      case 4: return make(Ex::load_short, {affine(d)});
      case 5: return make(Ex::load_vec, {expr(d)}, below(4));
      case 6: return make(chance(60) ? Ex::load_local : Ex::load_scratch, {expr(d)});
      default: return make(Ex::load_wide, {wide(d)});
    }
  }
  // Sums that stay linear in the thread index for longer.
  ExprPtr affine(int d) {
    if (d <= 0 || chance(15)) return leaf(chance(30));
    switch (below(7)) {
      case 0:
      case 1: return make(Ex::add, {affine(d - 1), affine(d - 1)});
      case 2: return make(Ex::sub, {affine(d - 1), affine(d - 1)});
      case 3: return make(Ex::mul, {affine(d - 1), leaf(true)});
      case 4: return make(Ex::shl, {affine(d - 1), make(Ex::constant, {}, 1 + below(4))});
      case 5: return make(chance(50) ? Ex::band : Ex::shr, {affine(d - 1), constant()});
      default: return leaf(false);
    }
  }
  ExprPtr expr(int d, bool uni = false) {
    if (d <= 0 || chance(12)) return leaf(uni);
    if (!uni && chance(14)) return load(d - 1);
    if (!uni && chance(4)) return make(Ex::call, {expr(d - 1), expr(d - 1)});
    if (chance(4))
      return make(chance(50) ? Ex::permute : Ex::funnel, {expr(d - 1, uni), expr(d - 1, uni), expr(1, uni)});
    if (!uni && chance(25)) return affine(d);
    static const Ex binary[] = {Ex::add,  Ex::add,  Ex::add,  Ex::sub,  Ex::sub, Ex::mul, Ex::mulhi,
                                Ex::band, Ex::bor,  Ex::bxor, Ex::shl,  Ex::shr, Ex::sar, Ex::div,
                                Ex::rem,  Ex::minu, Ex::maxu, Ex::mins, Ex::maxs};
    static const Ex unary[] = {Ex::neg, Ex::bnot, Ex::popc, Ex::clz, Ex::sext8, Ex::sext16, Ex::sdiv};
    const u32 r = below(100);
    if (r < 65) return make(binary[below(std::size(binary))], {expr(d - 1, uni), expr(d - 1, uni)});
    if (r < 80) return make(unary[below(std::size(unary))], {expr(d - 1, uni)});
    if (r < 90 || uni) return make(Ex::select, {cond(d - 1, uni), expr(d - 1, uni), expr(d - 1, uni)});
    return make(chance(50) ? Ex::lo : Ex::hi, {wide(d - 1)});
  }
  ExprPtr wide(int d) {
    if (d <= 0 || chance(15)) return make(Ex::wvar, {}, below(wide_vars));
    switch (below(9)) {
      case 0: return make(Ex::zext, {affine(d)});
      case 1: return make(Ex::sext, {affine(d)});
      case 2: return make(Ex::wadd, {wide(d - 1), wide(d - 1)});
      case 3: return make(Ex::wsub, {wide(d - 1), wide(d - 1)});
      case 4: return make(Ex::wmul, {wide(d - 1), wide(d - 1)});
      case 5: return make(Ex::wideu, {affine(d - 1), expr(d - 1)});
      case 6: return make(Ex::wides, {affine(d - 1), affine(d - 1)});
      case 7: return make(Ex::wshl, {wide(d - 1)}, 1 + below(40));
      default: return make(Ex::wshr, {wide(d - 1)}, 1 + below(40));
    }
  }
  ExprPtr cond(int d, bool uni = false) {
    switch (below(d > 0 ? 9 : 5)) {
      case 0:
      case 1: return make(Ex::lt, {expr(d, uni), expr(d, uni)});
      case 2: return make(Ex::lts, {expr(d, uni), expr(d, uni)});
      case 3: return make(Ex::eq, {expr(d, uni), expr(d, uni)});
      case 4: return make(Ex::bit, {expr(d, uni)}, below(6));
      case 5:
      case 6: return make(Ex::land, {cond(d - 1, uni), cond(d - 1, uni)});
      case 7: return make(Ex::lor, {cond(d - 1, uni), cond(d - 1, uni)});
      default: return make(Ex::lnot, {cond(d - 1, uni)});
    }
  }
  // Conditions that cut a block at a thread index.
  ExprPtr split() {
    if (chance(35)) return make(Ex::lt, {make(chance(60) ? Ex::tx : chance(50) ? Ex::lin : Ex::ty), leaf(true)});
    return cond(2);
  }

  using Ptr = std::shared_ptr<Stmt>;
  static Ptr stmt(St op, std::vector<ExprPtr> e = {}, int var = 0, u32 imm = 0, u32 imm2 = 0) {
    return std::make_shared<Stmt>(Stmt{op, var, imm, imm2, std::move(e), {}});
  }
  int any_var() { return static_cast<int>(below(vars)); }

  // `uni`: all threads of the block that still live are here. `loop`: 0 none, 1 break and continue are fine, 2 not.
  Body body(int depth, bool uni, int loop, u32 length) {
    Body b;
    for (u32 i = 0; i < length && budget > 0; ++i) b.push_back(statement(depth, uni, loop));
    return b;
  }
  Ptr statement(int depth, bool uni, int loop) {
    --budget;
    for (;;) {
      const u32 r = below(100);
      if (r < 30) return stmt(St::assign, {chance(25) ? expr(2, true) : expr(3)}, any_var());
      if (r < 34) return stmt(St::wassign, {wide(3)}, static_cast<int>(below(wide_vars)));
      if (r < 38) {
        if (!uni) continue;
        return stmt(St::uassign, {expr(2, true)}, static_cast<int>(below(uniform_vars)));
      }
      if (r < 41) return stmt(St::store_scratch, {expr(2), expr(2)});
      if (r < 42) return stmt(St::store_vec, {expr(2), expr(2)});
      if (r < 45) return stmt(St::store_local, {expr(2), expr(3)});
      if (r < 47) return stmt(St::add_sum, {expr(2), expr(2)}, 0, below(3));
      if (r < 52) {
        if (!uni) continue;
        return stmt(chance(70) ? St::exchange : St::exchange_bytes, {expr(2), chance(60) ? affine(2) : expr(2)},
                    any_var());
      }
      if (r < 56) {
        if (!uni || returned || !whole_warps) continue;
        return stmt(St::shfl, {expr(2), expr(1, chance(60))}, any_var(), below(4), below(4));
      }
      if (r < 58) {
        if (!uni || returned) continue;
        return stmt(St::ballot, {cond(2)}, any_var());
      }
      if (r < 60) {
        if (!uni || returned) continue;
        return stmt(St::masked, {split(), expr(2), cond(1)}, any_var(), below(2));
      }
      if (r < 62) {
        if (depth <= 0) continue;
        return stmt(St::walk, {expr(1, chance(50)), expr(1, chance(50))}, any_var(), 1 + below(5));
      }
      if (r < 66) {
        if (loop != 1) continue;
        return stmt(chance(50) ? St::brk : St::cont, {split()});
      }
      if (r < 67) {
        if (!chance(40)) continue;
        returned = true;
        return stmt(St::ret, {make(Ex::land, {split(), cond(1)})});
      }
      if (depth <= 0) continue;
      if (r < 82) {
        const bool same = uni && chance(30);
        Ptr s = stmt(St::branch, {same ? cond(2, true) : split()});
        s->bodies.push_back(body(depth - 1, same, loop == 1 ? 1 : loop, 1 + below(4)));
        s->bodies.push_back(chance(60) ? body(depth - 1, same, loop, 1 + below(4)) : Body{});
        return s;
      }
      if (r < 86) {
        Ptr s = stmt(St::switch_, {expr(2)}, 0, 3 + below(5));
        const u32 n = 2 + below(4);
        for (u32 i = 0; i < n; ++i) s->bodies.push_back(body(depth - 1, false, loop == 1 ? 2 : loop, 1 + below(2)));
        return s;
      }
      const bool same = uni && chance(45);
      const int c = out.counters++;
      Ptr s = stmt(chance(50)   ? St::loop
                   : chance(50) ? St::loop_down
                                : St::dowhile,
                   {expr(1, same || chance(40)), same ? expr(1, true) : expr(2)}, c, 1 + below(3), 3 + below(5));
      s->bodies.push_back(body(depth - 1, same, same ? 2 : 1, 1 + below(5)));
      return s;
    }
  }
};

}  // namespace

Kernel generate(std::uint64_t seed, bool whole_warps, int statements) {
  Generator g{seed * 0x9e3779b97f4a7c15ull + 99, whole_warps, {}, false, {}, statements};
  g.out.name = "k" + std::to_string(seed);
  g.out.transposed = g.chance(50);
  // No variable has a value yet.
  for (int i = 0; i < uniform_vars; ++i) g.out.first.push_back(Generator::make(i == 0 ? Ex::p0 : Ex::bx));
  for (int i = 0; i < vars; ++i) {
    const ExprPtr index = Generator::make(g.chance(50) ? Ex::tx : Ex::lin);
    g.out.first.push_back(i == 0   ? Generator::make(Ex::load, {Generator::make(Ex::lin)})
                          : i == 1 ? Generator::make(Ex::mul, {index, g.constant()})
                          : i == 2 ? Generator::make(Ex::sub, {index, g.constant()})
                          : i == 3 ? Generator::make(Ex::ty)
                                   : g.constant());
  }
  for (int i = 0; i < wide_vars; ++i)
    g.out.first.push_back(
        Generator::make(i == 0 ? Ex::zext : Ex::sext, {g.out.first[static_cast<std::size_t>(uniform_vars + 1 + i)]}));
  g.out.body = g.body(4, true, 0, 9);
  return g.out;
}

}  // namespace random_kernels

// Values, operands and pure instructions of the interpreter's decoder.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>

#include "codegen/block_registers.hpp"
#include "codegen/texture_op.hpp"
#include "interp/decoder.hpp"
#include "interp/memory.hpp"
#include "interp/moves.hpp"
#include "interp/warp.hpp"
#include "ir/cfg.hpp"
#include "ir/webs.hpp"

namespace warploom::interp {

using ir::BlockId;
using ir::Inst;
using ir::ValueId;
using isa::Mod;
using isa::Op;
using isa::Type;
using ptx::Operand;

namespace {

std::size_t idx(std::int32_t i) { return static_cast<std::size_t>(i); }

// Frames begin with the constants; refs into a frame have the lowest bit set.
constexpr std::uint32_t kMostConstants = 1U << 22;

std::uint32_t lane_bytes(unsigned bits) { return bits == 1 ? 64 : std::max(64U, bits / 8 * 32); }

unsigned storage_bits(Type t) { return t == Type::pred ? 1 : isa::bits(t); }

Type bits_type(unsigned bits) {
  switch (bits) {
    case 1: return Type::pred;
    case 8: return Type::b8;
    case 16: return Type::b16;
    case 32: return Type::b32;
    default: return Type::b64;
  }
}

}  // namespace

Decoder::Decoder(std::shared_ptr<const codegen::KernelPlan> plan, std::span<const codegen::HostSymbol> symbols,
                 const codegen::GlobalResolver& globals)
    : plan_(std::move(plan)), symbols_(symbols), globals_(globals), out_(std::make_shared<Program>()) {}

// --- places

Ref Decoder::allocate(unsigned bits) {
  const std::uint32_t bytes = lane_bytes(bits);
  auto& list = free_[bytes];
  if (!list.empty()) {
    const Ref r = list.back();
    list.pop_back();
    return r;
  }
  const Ref r = (kMostConstants + scratch_) | 1U;
  scratch_ += bytes;
  most_scratch_ = std::max(most_scratch_, scratch_);
  return r;
}

void Decoder::release(Ref ref, unsigned bits) { free_[lane_bytes(bits)].push_back(ref); }

Ref Decoder::temporary(unsigned bits) {
  const Ref r = allocate(bits);
  temporaries_.emplace_back(r, bits);
  return r;
}

Ref Decoder::constant_lanes(unsigned bits, const std::array<std::uint64_t, 32>& lanes) {
  const std::size_t at = out_->constants.size();
  if (at + lane_bytes(bits) > kMostConstants) {
    fail();
    return 1;
  }
  out_->constants.resize(at + lane_bytes(bits));
  std::byte* to = out_->constants.data() + at;
  if (bits == 1) {
    std::uint32_t mask = 0;
    for (unsigned l = 0; l < 32; ++l) mask |= static_cast<std::uint32_t>(lanes[l] & 1) << l;
    std::memcpy(to, &mask, 4);
  } else {
    for (unsigned l = 0; l < 32; ++l) std::memcpy(to + l * (bits / 8), &lanes[l], bits / 8);
  }
  return static_cast<Ref>(at) | 1U;
}

Ref Decoder::constant(unsigned bits, std::uint64_t v) {
  const auto [it, is_new] = constants_.try_emplace({bits, v}, kNoRef);
  if (is_new) {
    std::array<std::uint64_t, 32> lanes{};
    lanes.fill(v);
    it->second = constant_lanes(bits, lanes);
  }
  return it->second;
}

Ref Decoder::value(ValueId v) {
  if (plan_->crosses[idx(v)]) return plan_->wide_slots[idx(v)].offset;
  if (place_[idx(v)] == kNoRef) place_[idx(v)] = allocate(storage_bits(storage(v)));
  return place_[idx(v)];
}

// Places of values that live in this block only are free after their last use.
void Decoder::find_last_uses(BlockId b) {
  const auto& insts = f().blocks[idx(b)].insts;
  for (std::size_t i = 0; i < insts.size(); ++i) {
    const auto note = [&](ValueId v) { last_use_[idx(v)] = i; };
    ir::for_each_use(insts[i], note);
    ir::for_each_def(insts[i], note);
  }
}

// --- steps

Step Decoder::make(Run handler) {
  Step s;
  if (handler == nullptr) fail();
  s.run = handler;
  for (Ref& r : s.ref) r = kNoRef;
  s.block = block_;
  s.index = static_cast<std::uint32_t>(index_);
  return s;
}

void Decoder::add_plain(Step step) { out_->steps.push_back(step); }

Decoder::Result Decoder::result(ValueId v, Type type) {
  Result r{v, type, kNoRef, false};
  const unsigned bits = storage_bits(type), kept = storage_bits(storage(v));
  r.through = bits != kept;
  r.ref = r.through ? temporary(bits) : value(v);
  return r;
}

Decoder::Result Decoder::result(const Operand& o, Type type) {
  if (o.kind == Operand::Kind::reg && o.reg >= 0) return result(o.reg, type);
  return {-1, type, temporary(storage_bits(type)), false};
}

void Decoder::add(const Inst& inst, Step step, std::span<const Result> results) {
  if (results.size() > std::size(step.bytes)) return fail();
  step.results = static_cast<std::uint8_t>(results.size());
  bool crosses = false;
  for (std::size_t r = 0; r < results.size(); ++r) {
    step.ref[r] = results[r].ref;
    step.bytes[r] = results[r].type == Type::pred ? 0 : static_cast<std::uint8_t>(isa::bytes(results[r].type));
    if (results[r].value >= 0 && !results[r].through) crosses = crosses || plan_->crosses[idx(results[r].value)];
  }
  bool into_value = false;
  for (const Result& r : results) into_value = into_value || (r.value >= 0 && !r.through);
  // What goes to a temporary alone may be computed for all lanes, unless it looks at which are active.
  if (inst.p.guard >= 0 || crosses) {
    Step inner = step;
    for (std::size_t r = 0; r < results.size(); ++r) inner.ref[r] = temporary(storage_bits(results[r].type));
    step.blended = static_cast<std::int32_t>(out_->aside.size());
    out_->aside.push_back(inner);
    if (inst.p.guard >= 0) {
      step.guard = value(inst.p.guard);
      step.guard_negated = inst.p.guard_negated;
      step.run = run_guarded;
    } else {
      step.masked = true;
    }
  }
  add_plain(step);
  resize_after(inst, results);
}

void Decoder::resize_after(const Inst& inst, std::span<const Result> results) {
  for (const Result& r : results) {
    if (!r.through) continue;
    Step s = make(resize_handler(storage_bits(r.type), isa::is_signed(r.type), storage_bits(storage(r.value))));
    s.ref[1] = r.ref;
    const Result to{r.value, storage(r.value), value(r.value), false};
    add(inst, s, {&to, 1});
  }
}

void Decoder::add_active(const Inst& inst, Step step) {
  if (inst.p.guard >= 0) {
    step.results = 0;
    Step outer = step;
    outer.blended = static_cast<std::int32_t>(out_->aside.size());
    out_->aside.push_back(step);
    outer.guard = value(inst.p.guard);
    outer.guard_negated = inst.p.guard_negated;
    outer.run = run_guarded;
    add_plain(outer);
    return;
  }
  add_plain(step);
}

// --- operands

bool Decoder::symbol_address(std::int32_t variable, std::uint64_t offset, std::uint64_t& out) {
  const ir::Variable& v = f().variables[idx(variable)];
  switch (v.place) {
    case ir::Variable::Place::global: {
      void* at = globals_(v.name);
      if (at == nullptr) return false;
      out = reinterpret_cast<std::uint64_t>(at) + offset;
      return true;
    }
    case ir::Variable::Place::dynamic_shared: out = f().dynamic_shared_offset() + offset; return true;
    default: out = v.offset + offset; return true;
  }
}

namespace {

std::uint64_t immediate_bits(const Operand& o, Type type) {
  if (type == Type::pred) return o.imm != 0 ? 1 : 0;
  if (o.kind == Operand::Kind::imm_f64 && type == Type::f32) {
    double d = 0;
    std::memcpy(&d, &o.imm, sizeof d);
    const auto x = static_cast<float>(d);
    std::uint32_t bits = 0;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
  }
  const unsigned bits = isa::bits(type);
  return bits == 64 ? o.imm : o.imm & ((std::uint64_t{1} << bits) - 1);
}

}  // namespace

Ref Decoder::source(const Inst& inst, const Operand& o, std::int32_t variable, Type type) {
  const unsigned bits = storage_bits(type);
  if (bits != 1 && bits != 8 && bits != 16 && bits != 32 && bits != 64) {
    fail();
    return 1;
  }
  const auto negate = [&](Ref r) {
    if (!o.negated) return r;
    if (bits != 1) {
      fail();
      return r;
    }
    Step s = make(not_handler());
    s.ref[0] = temporary(1);
    s.ref[1] = r;
    add_plain(s);
    return s.ref[0];
  };
  switch (o.kind) {
    case Operand::Kind::reg: {
      const Type from = storage(o.reg);
      Ref r = value(o.reg);
      if (plan_->needs_nan_bits(inst, o.reg, type)) {
        Step s = make(find_handler(kCanonicalKey));
        s.ref[0] = temporary(32);
        s.ref[1] = r;
        add_plain(s);
        r = s.ref[0];
      }
      if (storage_bits(from) != bits) {
        Step s = make(resize_handler(storage_bits(from), isa::is_signed(from), bits));
        s.ref[0] = temporary(bits);
        s.ref[1] = r;
        add_plain(s);
        r = s.ref[0];
      }
      return negate(r);
    }
    case Operand::Kind::imm:
    case Operand::Kind::imm_f32:
    case Operand::Kind::imm_f64: {
      std::uint64_t v = immediate_bits(o, type);
      if (o.negated) v = bits == 1 ? v ^ 1 : ~v;
      return constant(bits, v);
    }
    case Operand::Kind::symbol: {
      std::uint64_t at = 0;
      if (variable < 0 || !symbol_address(variable, o.imm, at)) {
        fail();
        return 1;
      }
      return constant(bits, bits == 64 ? at : at & ((std::uint64_t{1} << bits) - 1));
    }
    case Operand::Kind::sreg: return special(o.symbol, type);
    case Operand::Kind::vector: {
      const auto n = static_cast<unsigned>(o.elements.size());
      const unsigned piece = bits / n;
      Step s = make(pack_handler(piece));
      s.width = static_cast<std::uint8_t>(n);
      if (n + 1 > kMaxRefs) {
        fail();
        return 1;
      }
      for (unsigned e = 0; e < n; ++e) s.ref[1 + e] = source(inst, o.elements[e], -1, bits_type(piece));
      s.ref[0] = temporary(bits);
      add_plain(s);
      return s.ref[0];
    }
    default: fail(); return 1;
  }
}

Ref Decoder::source(const Inst& inst, std::size_t k, Type type) {
  return source(inst, inst.p.operands[k], k < inst.variable.size() ? inst.variable[k] : -1, type);
}

Ref Decoder::special(const std::string& name, Type type) {
  const unsigned bits = storage_bits(type);
  const auto as = [&](Ref r, unsigned from) {
    if (from == bits) return r;
    Step s = make(resize_handler(from, false, bits));
    s.ref[0] = temporary(bits);
    s.ref[1] = r;
    add_plain(s);
    return s.ref[0];
  };
  const auto axis = [&]() -> std::size_t { return name.back() == 'y' ? 1 : name.back() == 'z' ? 2 : 0; };
  const auto field = [&](std::size_t at, unsigned from = 32) {
    Step s = make(field_handler(from));
    s.imm = at;
    s.ref[0] = temporary(from);
    add_plain(s);
    return as(s.ref[0], from);
  };
  const auto lanes = [&](auto f_) {
    std::array<std::uint64_t, 32> x{};
    for (std::uint32_t l = 0; l < 32; ++l) x[l] = static_cast<std::uint32_t>(f_(l));
    return as(constant_lanes(32, x), 32);
  };
  const auto time = [&](Run handler, unsigned shift) {
    Step s = make(handler);
    s.imm = shift;
    s.ref[0] = temporary(64);
    add_plain(s);
    return as(s.ref[0], 64);
  };
  if (name == "%tid" || name.starts_with("%tid.")) {
    Step s = make(field_lanes_handler());
    s.imm = offsetof(WarpContext, tid) + axis() * sizeof(WarpContext::tid[0]);
    s.ref[0] = temporary(32);
    add_plain(s);
    return as(s.ref[0], 32);
  }
  if (name == "%laneid") return lanes([](std::uint32_t l) { return l; });
  if (name == "%lanemask_eq") return lanes([](std::uint32_t l) { return 1U << l; });
  if (name == "%lanemask_lt") return lanes([](std::uint32_t l) { return (1U << l) - 1; });
  if (name == "%lanemask_le") return lanes([](std::uint32_t l) { return (2U << l) - 1; });
  if (name == "%lanemask_gt") return lanes([](std::uint32_t l) { return ~((2U << l) - 1); });
  if (name == "%lanemask_ge") return lanes([](std::uint32_t l) { return ~((1U << l) - 1); });
  if (name.starts_with("%ntid")) return field(offsetof(WarpContext, ntid) + axis() * 4);
  if (name.starts_with("%nctaid")) return field(offsetof(WarpContext, nctaid) + axis() * 4);
  if (name.starts_with("%ctaid")) return field(offsetof(WarpContext, ctaid) + axis() * 4);
  if (name == "%warpid") return field(offsetof(WarpContext, warp));
  if (name == "%smid") return field(offsetof(WarpContext, smid));
  if (name == "%dynamic_smem_size") return field(offsetof(WarpContext, dynamic_shared_bytes));
  if (name == "%gridid") return field(offsetof(WarpContext, grid_id), 64);
  if (name == ir::kBarrierPopc) return field(offsetof(WarpContext, barrier_popc));
  if (name == ir::kBarrierAnd || name == ir::kBarrierOr) {
    Step s = make(field_pred_handler());
    s.imm = name == ir::kBarrierAnd ? offsetof(WarpContext, barrier_and) : offsetof(WarpContext, barrier_or);
    s.ref[0] = temporary(1);
    add_plain(s);
    return as(s.ref[0], 1);
  }
  const auto number = [&](std::uint32_t x) { return constant(bits, x); };
  if (name == "WARP_SZ") return number(32);
  if (name == "%clock64" || name == "%clock") return time(clock_handler(), 0);
  if (name == "%clock_hi") return time(clock_handler(), 32);
  if (name.starts_with("%globaltimer")) return time(timer_handler(), name == "%globaltimer_hi" ? 32 : 0);
  if (name == ir::kClusterReady) {
    Step s = make(cluster_ready_handler());
    s.ref[0] = temporary(1);
    add_plain(s);
    return as(s.ref[0], 1);
  }
  if (const auto at = codegen::block_register(name)) {
    if (name != "%is_explicit_cluster") return field(*at);
    Step s = make(field_pred_handler());
    s.imm = *at;
    s.ref[0] = temporary(1);
    add_plain(s);
    return as(s.ref[0], 1);
  }
  return number(0);
}

// --- pure instructions

void Decoder::pure(const Inst& inst) {
  const ptx::Instr& p = inst.p;
  Step s = make(find_handler(handler_key(p)));
  if (failed_) return;
  std::vector<Result> results;
  std::vector<Ref> sources;
  for (std::size_t k = 0; k < p.operands.size(); ++k) {
    const Type t = ptx::operand_type(p, k);
    if (ir::is_result(p, k) && !ir::is_source(p, k)) continue;
    if (p.operands[k].kind == Operand::Kind::vector && !ir::is_result(p, k)) {
      for (const Operand& element : p.operands[k].elements) sources.push_back(source(inst, element, -1, t));
    } else {
      sources.push_back(p.op == Op::lop3 && k == 4 ? 1 : source(inst, k, t));
    }
  }
  if (p.op == Op::addc || p.op == Op::subc || p.op == Op::madc) sources.push_back(carry_);
  for (std::size_t k = 0; k < p.operands.size(); ++k) {
    if (!ir::is_result(p, k)) continue;
    if (p.operands[k].kind == Operand::Kind::vector) return fail();
    results.push_back(result(p.operands[k], ptx::operand_type(p, k)));
    if (p.operands[k].pair >= 0)
      results.push_back(result(p.operands[k].pair, Type::pred));
    else if (p.operands[k].pair == -2)
      results.push_back({-1, Type::pred, temporary(1), false});
  }
  if (p.has(Mod::cc)) results.push_back({-1, Type::pred, carry_, false});
  if (results.size() + sources.size() > kMaxRefs) return fail();
  for (std::size_t k = 0; k < sources.size(); ++k) s.ref[results.size() + k] = sources[k];
  add(inst, s, results);
}

void Decoder::move(const Inst& inst) {
  const ptx::Instr& p = inst.p;
  const Type type = ptx::operand_type(p, 0);
  const Operand& d = p.operands[0];
  if (d.kind == Operand::Kind::sink) return;
  const Ref from = source(inst, 1, type);
  if (failed_) return;
  if (d.kind != Operand::Kind::vector) {
    const Result r = result(d, type);
    Step s = make(copy_handler(storage_bits(type)));
    s.ref[1] = from;
    add(inst, s, {&r, 1});
    return;
  }
  const auto n = static_cast<unsigned>(d.elements.size());
  const unsigned piece = isa::bits(type) / n;
  Step s = make(unpack_handler(piece));
  s.width = static_cast<std::uint8_t>(n);
  if (n + 1 > kMaxRefs) return fail();
  std::vector<Result> results;
  for (const Operand& e : d.elements) results.push_back(result(e, bits_type(piece)));
  s.ref[n] = from;
  add(inst, s, results);
}

void Decoder::convert_address(const Inst& inst) {
  const ptx::Instr& p = inst.p;
  const bool to = p.has(Mod::to);
  const bool is_shared = ptx::space_of(p) == isa::Space::shared;
  const bool is_local = p.has(Mod::local), is_param = p.has(Mod::param);
  Ref from = source(inst, 1, p.type());
  if (failed_) return;
  if (storage_bits(p.type()) != 64) {
    Step s = make(resize_handler(storage_bits(p.type()), false, 64));
    s.ref[0] = temporary(64);
    s.ref[1] = from;
    add_plain(s);
    from = s.ref[0];
  }
  const Result r = result(p.operands[0], Type::b64);
  if (!is_shared && !is_local && !is_param) {
    Step s = make(copy_handler(64));
    s.ref[1] = from;
    add(inst, s, {&r, 1});
    return;
  }
  if (is_local) {
    Step s = make(window_handler());
    s.what = to ? 1 : 0;
    s.ref[1] = from;
    add(inst, s, {&r, 1});
    return;
  }
  Step base = make(field_handler(64));
  base.imm = is_shared ? offsetof(WarpContext, shared) : offsetof(WarpContext, params);
  base.ref[0] = temporary(64);
  add_plain(base);
  // The handler of an addition of the same width.
  ptx::Instr sum;
  sum.op = to ? Op::sub : Op::add;
  sum.types[sum.type_count++] = Type::u64;
  sum.operands.resize(3);
  Step s = make(find_handler(handler_key(sum)));
  s.ref[1] = from;
  s.ref[2] = base.ref[0];
  add(inst, s, {&r, 1});
}

void Decoder::instruction(const Inst& inst) {
  const ptx::Instr& p = inst.p;
  if (ptx::flow_of(p) == isa::Flow::native) return native(inst);
  const isa::Row& row = isa::row(p.op);
  if (codegen::is_texture(p)) return texture(inst);
  switch (row.flow) {
    case isa::Flow::pure:
      if (p.op == Op::mov) return move(inst);
      if (p.op == Op::cvta) return convert_address(inst);
      if (p.op == Op::createpolicy) {
        const Result r = result(p.operands[0], Type::b64);
        Step s = make(copy_handler(64));
        s.ref[1] = constant(64, 0);
        return add(inst, s, {&r, 1});
      }
      return pure(inst);
    case isa::Flow::load: return load(inst);
    case isa::Flow::store: return store(inst);
    case isa::Flow::atomic: return atomic(inst);
    case isa::Flow::fence: {
      Step s = make(fence_handler());
      s.what = p.has(Mod::cta) ? 1 : 0;
      return add_plain(s);
    }
    case isa::Flow::call:
    case isa::Flow::trap:
    case isa::Flow::hint:
    case isa::Flow::clock: return call(inst);
    case isa::Flow::warp_sync: return warp(inst);
    case isa::Flow::barrier:
      if (p.has(Mod::warp)) return warp(inst);
      if (p.has(Mod::arrive)) return call(inst);
      return fail();
    default: return fail();
  }
}

// --- blocks

void Decoder::terminator(BlockId b) {
  const ir::Block& block = f().blocks[idx(b)];
  BlockCode& code = out_->blocks[idx(b)];
  code.succs = block.succs;
  using End = BlockCode::End;
  if (block.ends) {
    code.ends = End::exit;
    return;
  }
  const ptx::Instr* last = block.insts.empty() ? nullptr : &block.insts.back().p;
  if (block.ends_with_barrier) {
    const Inst& inst = block.insts.back();
    code.ends = End::barrier;
    code.reduces = last->has(Mod::red);
    code.counted = last->operands.size() == (code.reduces ? 3U : 2U);
    code.operand[0] = last->operands.empty() ? constant(32, 0) : source(inst, 0, Type::u32);
    if (code.counted) code.operand[1] = source(inst, 1, Type::u32);
    if (code.reduces) code.operand[2] = source(inst, last->operands.size() - 1, Type::pred);
    return;
  }
  const bool branches = last != nullptr && (last->op == Op::bra || last->op == Op::brx) && block.succs.size() > 1;
  if (!branches) return;
  const Inst& inst = block.insts.back();
  code.has_guard = last->guard >= 0;
  if (code.has_guard) {
    code.guard = value(last->guard);
    code.guard_negated = last->guard_negated;
  }
  if (last->op == Op::bra) {
    code.ends = End::branch;
  } else {
    code.ends = End::table;
    code.operand[0] = source(inst, 0, Type::u32);
  }
}

void Decoder::block(BlockId b) {
  block_ = b;
  scratch_ = 64;  // the carry flag
  free_.clear();
  temporaries_.clear();
  find_last_uses(b);
  const ir::Block& block = f().blocks[idx(b)];
  BlockCode& code = out_->blocks[idx(b)];
  code.begin = static_cast<std::uint32_t>(out_->steps.size());
  if (block.starts_with_sync) {
    // Needed before the block runs, so it must stand somewhere already.
    code.starts_with_sync = true;
    const Operand& o = block.insts.front().p.operands.back();
    if (o.kind == Operand::Kind::imm)
      code.members = constant(32, o.imm & 0xFFFFFFFF);
    else if (o.kind == Operand::Kind::reg && storage(o.reg) == Type::b32 && plan_->crosses[idx(o.reg)])
      code.members = value(o.reg);
    else
      return fail();
  }
  const auto end_instruction = [&](const Inst& inst, std::size_t i) {
    for (const auto& [r, bits] : temporaries_) release(r, bits);
    temporaries_.clear();
    const auto free_dead = [&](ValueId v) {
      if (plan_->crosses[idx(v)] || last_use_[idx(v)] != i || place_[idx(v)] == kNoRef) return;
      release(place_[idx(v)], storage_bits(storage(v)));
      place_[idx(v)] = kNoRef;
    };
    ir::for_each_use(inst, free_dead);
    ir::for_each_def(inst, free_dead);
  };
  for (std::size_t i = 0; i < block.insts.size() && !failed_; ++i) {
    const Inst& inst = block.insts[i];
    const Op op = inst.p.op;
    index_ = i;
    if (op == Op::bra || op == Op::brx || op == Op::exit || op == Op::ret || ir::is_block_barrier(inst.p)) continue;
    instruction(inst);
    end_instruction(inst, i);
  }
  if (!failed_) terminator(b);
  code.end = static_cast<std::uint32_t>(out_->steps.size());
  std::fill(place_.begin(), place_.end(), kNoRef);
}

std::shared_ptr<const Program> Decoder::run() {
  if (!has_handlers() || plan_->counting || plan_->checking) return nullptr;
  static std::atomic<std::uint64_t> last_id{0};
  out_->id = ++last_id;
  out_->plan = plan_;
  out_->local_bytes = f().local_bytes;
  const auto native = [&](const char* name, auto& to) {
    for (const codegen::HostSymbol& s : symbols_)
      if (s.name == name) to = reinterpret_cast<std::remove_reference_t<decltype(to)>>(s.address);
    if (to == nullptr) fail();
  };
  native("warploom_dispatch", out_->natives.dispatch);
  native("warploom_match", out_->natives.match);
  native("warploom_redux", out_->natives.redux);
  native("warploom_globaltimer", out_->natives.globaltimer);
  native("warploom_trap", out_->natives.trap);
  native("warploom_misaligned", out_->natives.misaligned);
  native("warploom_partial_warp", out_->natives.partial);
  native("warploom_assertfail", out_->natives.assertfail);
  native("warploom_arrive", out_->natives.arrive);
  native("warploom_cluster_ready", out_->natives.cluster_ready);
  native("warploom_texture", out_->natives.texture);
  const std::size_t values = f().values.size();
  for (std::size_t v = 0; v < values; ++v)
    if (plan_->crosses[v] && isa::bits(plan_->storage[v]) > 64) fail();
  place_.assign(values, kNoRef);
  last_use_.assign(values, 0);
  out_->blocks.resize(f().blocks.size());
  carry_ = kMostConstants | 1U;
  for (std::size_t b = 0; b < f().blocks.size() && !failed_; ++b) {
    const ir::Block& block_of = f().blocks[b];
    BlockCode& code = out_->blocks[b];
    block(static_cast<BlockId>(b));
    code.spin_loop = block_of.spin_loop;
    code.heads_loop = block_of.loop_last >= 0;
    code.returns_to_uniform = plan_->returns_to_uniform[b];
    code.continues = b + 1 < f().blocks.size() && plan_->continues[b + 1];
    for (std::size_t h = b + 1; h-- > 0;)
      if (f().blocks[h].loop_last == static_cast<BlockId>(b)) code.loops_ending.push_back(static_cast<BlockId>(h));
  }
  if (failed_) return nullptr;
  // Places in the frame were counted from the most that constants may take.
  const auto constants = static_cast<std::uint32_t>((out_->constants.size() + 63) / 64 * 64);
  out_->constants.resize(constants);
  const auto move_down = [&](Ref& r) {
    if (r != kNoRef && (r & 1) != 0 && r >= kMostConstants) r -= kMostConstants - constants;
  };
  const auto relocate = [&](Step& s) {
    for (Ref& r : s.ref) move_down(r);
    move_down(s.guard);
  };
  for (Step& s : out_->steps) relocate(s);
  for (Step& s : out_->aside) relocate(s);
  for (TextureStep& t : out_->textures) {
    move_down(t.object);
    for (Ref& r : t.words) move_down(r);
  }
  for (BlockCode& b : out_->blocks) {
    for (Ref& r : b.operand) move_down(r);
    move_down(b.guard);
    move_down(b.members);
  }
  for (MatrixStep& m : out_->matrices) {
    for (std::vector<Ref>* registers : {&m.d, &m.a, &m.b, &m.c})
      for (Ref& r : *registers) move_down(r);
    for (Ref* r : {&m.metadata, &m.address, &m.stride}) move_down(*r);
  }
  out_->frame_bytes = constants + most_scratch_ + 64;
  for (std::size_t v = 0; v < values; ++v)
    if (f().is_live_in(0, static_cast<ValueId>(v))) out_->zero_at_entry.push_back(static_cast<ValueId>(v));
  return out_;
}

std::shared_ptr<const Program> decode(std::shared_ptr<const codegen::KernelPlan> plan,
                                      std::span<const codegen::HostSymbol> symbols,
                                      const codegen::GlobalResolver& globals) {
  return Decoder(std::move(plan), symbols, globals).run();
}

}  // namespace warploom::interp

// Computes the plan of a kernel.
#include "codegen/kernel_plan.hpp"

#include <algorithm>

#include "codegen/native.hpp"
#include "codegen/texture_op.hpp"
#include "ir/cfg.hpp"
#include "ir/webs.hpp"
#include "isa/matrix.hpp"
#include "passes/block_uniform.hpp"

namespace warploom::codegen {

using ir::BlockId;
using ir::Inst;
using ir::ValueId;
using isa::Type;

namespace {

std::size_t idx(std::int32_t i) { return static_cast<std::size_t>(i); }

// Whether an atomic's value operand is the integer 1 of 32 bits.
bool is_constant_one(const ptx::Instr& p) {
  const ptx::Operand& value = p.operands.back();
  const bool whole = p.type() == Type::u32 || p.type() == Type::s32;
  return whole && value.kind == ptx::Operand::Kind::imm && value.imm == 1;
}

// Untyped registers that only ever hold floats are kept as floats, which saves casts in loops.
Type storage_of(const ir::Value& v, int float_defs, int other_defs) {
  switch (isa::bits(v.type)) {
    case 1: return Type::pred;
    case 8: return Type::b8;
    case 16: return Type::b16;
    case 32: return float_defs > 0 && other_defs == 0 ? Type::f32 : Type::b32;
    case 64: return float_defs > 0 && other_defs == 0 ? Type::f64 : Type::b64;
    default: return Type::b128;
  }
}

// The source location of an instruction as the user wrote it.
void fill_site(const ir::Function& f, const Inst& inst, observe::Site& site) {
  site.ptx_line = inst.p.line;
  if (inst.source < 0) return;
  const ir::Source& s = f.sources[idx(inst.source)];
  site.source = s.loc;
  site.inlined_at = s.inlined_at;
}

// Whether the branch that ends a block may part lanes. A guard that only lets lanes exit does not count: as a rule all
// lanes of a warp are within bounds.
bool parts_lanes(const ir::Function& f, const passes::Shapes& shapes, std::size_t b) {
  const ir::Block& block = f.blocks[b];
  if (block.succs.size() < 2 || block.insts.empty()) return false;
  if (block.loop_depth == 0)
    for (const BlockId next : block.succs)
      if (f.blocks[idx(next)].ends && f.blocks[idx(next)].insts.size() <= 1) return false;
  bool varying = false;
  ir::for_each_use(block.insts.back(), [&](ValueId v) { varying = varying || !shapes.of[idx(v)].uniform(); });
  return varying;
}

// The block version repeats code that several barriers lead to; more than this is not worth its compile time.
constexpr std::size_t kMaxRegionInsts = 400;

// More instructions than these are left to the masked version.
constexpr std::size_t kMaxArmInsts = 64;
constexpr std::size_t kMaxArmBlocks = 8;

Arms find_arms(const ir::Function& f, const passes::Shapes& shapes, BlockId b, BlockId join) {
  const ir::Block& from = f.blocks[idx(b)];
  if (from.succs.size() != 2 || from.insts.empty() || join <= b || idx(join) >= f.blocks.size()) return {};
  const ptx::Instr& p = from.insts.back().p;
  if (p.op != isa::Op::bra || p.guard < 0 || shapes.of[idx(p.guard)].uniform()) return {};
  Arms arms;
  arms.join = join;
  std::vector<BlockId> todo = from.succs;
  std::size_t insts = 0;
  while (!todo.empty()) {
    const BlockId x = todo.back();
    todo.pop_back();
    if (x == join || std::find(arms.blocks.begin(), arms.blocks.end(), x) != arms.blocks.end()) continue;
    const ir::Block& block = f.blocks[idx(x)];
    if (x <= b || x > join || block.ends || block.ends_with_barrier || block.starts_with_sync || block.loop_last >= 0 ||
        block.spin_loop || block.succs.size() > 2)
      return {};
    for (const Inst& i : block.insts) {
      const isa::Flow flow = isa::row(i.p.op).flow;
      if (flow == isa::Flow::call || flow == isa::Flow::trap || i.p.op == isa::Op::brx ||
          (flow == isa::Flow::barrier && !i.p.has(isa::Mod::warp)))
        return {};
    }
    insts += block.insts.size();
    arms.blocks.push_back(x);
    if (insts > kMaxArmInsts || arms.blocks.size() > kMaxArmBlocks) return {};
    for (BlockId s : block.succs) {
      if (s <= x) return {};
      todo.push_back(s);
    }
  }
  std::sort(arms.blocks.begin(), arms.blocks.end());
  return arms;
}

bool varies(const KernelPlan& plan, ValueId v) { return v >= 0 && !plan.prepared.shapes[v].uniform(); }

// More than this is too much to save and restore in each iteration.
constexpr std::uint32_t kMaxLockstepBytes = 512;

// So many lines lie in the first cache when the next warp comes, even if they all compete for one set of it, as lines
// do that are a power of two apart.
constexpr std::uint32_t kTurn = 8;

std::vector<std::uint32_t> find_lockstep(const KernelPlan& plan) {
  const ir::Function& f = plan.f();
  std::vector<std::uint32_t> out(f.blocks.size(), 0);
  for (std::size_t h = 0; h < f.blocks.size(); ++h) {
    const BlockId last = f.blocks[h].loop_last;
    if (last < 0) continue;
    bool far = false, simple = true, alike = true;
    std::uint32_t strided = 0;
    for (std::size_t b = h; b <= idx(last); ++b) {
      const ir::Block& block = f.blocks[b];
      simple = simple && (b == h || block.loop_last < 0) && !block.ends_with_barrier && !block.starts_with_sync;
      for (std::size_t i = 0; i < block.insts.size(); ++i) {
        far = far || plan.streams.far_load[b][i];
        if (plan.streams.strided_load[b][i] && varies(plan, block.insts[i].p.operands[1].reg)) ++strided;
      }
      if (block.succs.size() > 1)
        ir::for_each_use(block.insts.back(), [&](ValueId v) { alike = alike && plan.block_uniform[idx(v)]; });
    }
    std::uint32_t bytes = 0;
    for (std::size_t v = 0; v < f.values.size(); ++v)
      if (f.is_live_in(static_cast<BlockId>(h), static_cast<ValueId>(v)) && !plan.block_uniform[v])
        bytes += plan.slots[v].bytes;
    if (!simple || bytes > kMaxLockstepBytes || plan.group_loops[h].exit >= 0) continue;
    out[h] = far ? 1 : strided > 0 && alike ? std::max(kTurn / strided, 1U) : 0;
  }
  return out;
}

std::vector<Region> find_regions(const KernelPlan& plan) {
  const ir::Function& f = plan.f();
  std::vector<Region> regions;
  std::vector<BlockId> entries{0};
  std::size_t insts = 0, once = 0;
  for (const ir::Block& b : f.blocks) once += b.insts.size();
  for (std::size_t r = 0; r < entries.size(); ++r) {
    Region region;
    region.entry = entries[r];
    region.blocks.assign(f.blocks.size(), false);
    region.defs.assign(f.live_in[0].size(), 0);
    std::vector<BlockId> todo{region.entry};
    region.blocks[idx(region.entry)] = true;
    while (!todo.empty()) {
      const BlockId at = todo.back();
      const ir::Block& b = f.blocks[idx(at)];
      todo.pop_back();
      insts += b.insts.size();
      for (const Inst& i : b.insts)
        ir::for_each_def(i, [&](ValueId v) { region.defs[idx(v) / 64] |= std::uint64_t{1} << (idx(v) % 64); });
      for (BlockId s : b.succs) {
        if (plan.ends_region(at, s)) {
          if (std::find(region.exits.begin(), region.exits.end(), s) == region.exits.end()) region.exits.push_back(s);
          if (std::find(entries.begin(), entries.end(), s) == entries.end()) entries.push_back(s);
        } else if (!region.blocks[idx(s)]) {
          region.blocks[idx(s)] = true;
          todo.push_back(s);
        }
      }
    }
    regions.push_back(std::move(region));
    if (insts > 2 * once + kMaxRegionInsts) return {};
  }
  return regions;
}

// May the instruction's results hold the host's NaN? Loads and copies keep bits; some arithmetic makes PTX's own NaN.
bool leaves_nan(const Inst& i, const std::vector<char>& computed) {
  if (isa::row(i.p.op).flow != isa::Flow::pure) return false;
  switch (i.p.op) {
    case isa::Op::mov:
    case isa::Op::selp: {
      bool any = false, all = true;
      ir::for_each_use(i, [&](ValueId v) {
        if (i.p.op == isa::Op::selp && !i.p.operands.empty() && v == i.p.operands.back().reg) return;
        any = any || computed[idx(v)];
        all = all && computed[idx(v)];
      });
      return any && all;
    }
    case isa::Op::cvt:
    case isa::Op::copysign:
    case isa::Op::slct:
    case isa::Op::min:
    case isa::Op::max:
    case isa::Op::div:
    case isa::Op::rcp: return false;
    default: return isa::is_float(i.p.type());
  }
}

}  // namespace

bool KernelPlan::needs_nan_bits(const Inst& inst, ValueId value, Type type) const {
  if (storage[idx(value)] != Type::f32 || !computed_nan[idx(value)]) return false;
  if (type != Type::f32 || isa::row(inst.p.op).flow != isa::Flow::pure) return true;
  switch (inst.p.op) {
    case isa::Op::copysign:
    case isa::Op::slct: return true;
    case isa::Op::cvt: return inst.p.type() == Type::tf32;
    case isa::Op::min:
    case isa::Op::max: return inst.p.has(isa::Mod::xorsign_abs);
    case isa::Op::selp: return inst.p.operands[0].reg < 0 || !computed_nan[idx(inst.p.operands[0].reg)];
    default: return false;
  }
}

std::uint32_t slot_size(Type storage, bool wide) {
  if (!wide) return 8;
  if (storage == Type::pred) return 8;
  return isa::bytes(storage) * 32;
}

std::shared_ptr<KernelPlan> make_plan(const ir::Function& function, const passes::BlockShape& block, bool counting,
                                      bool checking) {
  auto plan = std::make_shared<KernelPlan>();
  plan->prepared = passes::prepare(function, block);
  plan->block = block;
  plan->counting = counting;
  plan->checking = checking;
  const ir::Function& f = plan->f();
  const std::size_t values = f.values.size(), blocks = f.blocks.size();

  std::vector<int> float_defs(values, 0), other_defs(values, 0);
  for (const ir::Block& b : f.blocks)
    for (const Inst& i : b.insts)
      for (std::size_t k = 0; k < i.p.operands.size(); ++k) {
        if (!ir::is_result(i.p, k)) continue;
        const Type t = ptx::operand_type(i.p, k);
        const auto count = [&](std::int32_t reg) {
          if (reg >= 0)
            ++(isa::is_float(t) && isa::bits(t) == isa::bits(f.values[idx(reg)].type) ? float_defs
                                                                                      : other_defs)[idx(reg)];
        };
        count(i.p.operands[k].reg);
        for (const ptx::Operand& e : i.p.operands[k].elements) count(e.reg);
      }
  for (std::size_t v = 0; v < values; ++v)
    plan->storage.push_back(storage_of(f.values[v], float_defs[v], other_defs[v]));

  plan->computed_nan.assign(values, false);
  for (bool changed = true; changed;) {
    changed = false;
    for (const ir::Block& b : f.blocks)
      for (const Inst& i : b.insts) {
        if (!leaves_nan(i, plan->computed_nan)) continue;
        ir::for_each_def(i, [&](ValueId v) {
          if (plan->computed_nan[idx(v)] || isa::bits(f.values[idx(v)].type) == 1) return;
          plan->computed_nan[idx(v)] = true;
          changed = true;
        });
      }
  }

  plan->crosses.assign(values, false);
  for (const auto& live : f.live_in)
    for (std::size_t v = 0; v < values; ++v)
      if ((live[v / 64] >> (v % 64)) & 1U) plan->crosses[v] = true;

  plan->slots.resize(values);
  plan->wide_slots.resize(values);
  const auto place = [](Slot& slot, std::uint32_t bytes, std::uint32_t& end) {
    const std::uint32_t align = bytes >= 64 ? 64 : 8;
    end = (end + align - 1) / align * align;
    slot = {end, bytes};
    end += bytes;
  };
  for (std::size_t v = 0; v < values; ++v) {
    if (!plan->crosses[v]) continue;
    place(plan->slots[v], slot_size(plan->storage[v], plan->prepared.shapes.of[v].varying()), plan->slot_bytes);
    place(plan->wide_slots[v], slot_size(plan->storage[v], true), plan->wide_slot_bytes);
  }

  plan->returns_to_uniform.assign(blocks, false);
  plan->continues.assign(blocks, false);
  const std::vector<BlockId> ipdom = ir::post_dominators(f);
  for (std::size_t b = 0; b < blocks; ++b) {
    const ir::Block& block_ = f.blocks[b];
    if (block_.spin_loop) plan->spins = true;
    if (parts_lanes(f, plan->prepared.shapes, b)) plan->parts = true;
    if (block_.ends_with_barrier) plan->returns_to_uniform[idx(block_.succs[0])] = true;
    if (block_.succs.size() > 1 && ipdom[b] < static_cast<BlockId>(blocks))
      plan->returns_to_uniform[idx(ipdom[b])] = true;
    if (b > 0 && block_.preds.size() == 1 && block_.preds[0] == static_cast<BlockId>(b - 1)) {
      const ir::Block& before = f.blocks[b - 1];
      plan->continues[b] =
          before.succs.size() == 1 && !before.ends_with_barrier && !block_.starts_with_sync && block_.loop_last < 0;
    }
  }
  // At the end of a loop lanes that go round come first.
  for (std::size_t b = 0; b < blocks; ++b)
    if (f.blocks[b].loop_last >= 0 && idx(f.blocks[b].loop_last) + 1 < blocks)
      plan->continues[idx(f.blocks[b].loop_last) + 1] = false;
  for (std::size_t b = 0; b < blocks; ++b)
    plan->arms.push_back(find_arms(f, plan->prepared.shapes, static_cast<BlockId>(b), ipdom[b]));
  plan->streams = passes::find_memory_streams(f);
  // Probes count for whole warps.
  plan->group_loops.resize(blocks);
  if (!counting && !checking) plan->group_loops = passes::find_group_loops(f, plan->prepared.shapes);
  plan->continues_wide = plan->continues;
  for (const auto& [b, index] : plan->prepared.shapes.widenings) plan->continues_wide[idx(b)] = false;
  // A block that simply goes on is no place to change versions: its masks are never stored.
  for (std::size_t b = 0; b < blocks; ++b)
    if (plan->continues[b]) plan->returns_to_uniform[b] = false;
  for (std::size_t h = 0; h < blocks; ++h)
    if (plan->group_loops[h].exit >= 0)
      for (std::size_t b = h + 1; b <= idx(f.blocks[h].loop_last); ++b) plan->returns_to_uniform[b] = false;

  plan->plain_barriers = f.barriers != 0;
  for (const ir::Block& b : f.blocks)
    for (const Inst& i : b.insts) {
      const bool arrives = isa::row(i.p.op).flow == isa::Flow::barrier && i.p.has(isa::Mod::arrive) &&
                           ptx::flow_of(i.p) != isa::Flow::native;
      if (!ir::is_block_barrier(i.p) && !arrives) continue;
      const auto& o = i.p.operands;
      if (arrives || i.p.has(isa::Mod::red) || o.size() != 1 || o[0].kind != ptx::Operand::Kind::imm || o[0].imm != 0)
        plan->plain_barriers = false;
    }

  plan->lockstep.assign(blocks, false);
  if (!plan->spins && !checking && (f.barriers == 0 || plan->plain_barriers)) {
    plan->block_uniform = passes::find_block_uniform(f, plan->prepared.shapes);
    plan->lockstep = find_lockstep(*plan);
    plan->regions = find_regions(*plan);
  }
  if (plan->has_block_version()) {
    plan->block_slots.resize(values);
    for (std::size_t v = 0; v < values; ++v)
      if (plan->crosses[v] && plan->block_uniform[v])
        place(plan->block_slots[v], slot_size(plan->storage[v], false), plan->block_slot_bytes);
  }

  auto& function_blocks = plan->prepared.function->blocks;
  for (std::size_t b = 0; b < blocks; ++b)
    for (std::size_t i = 0; i < function_blocks[b].insts.size(); ++i) {
      Inst& inst = function_blocks[b].insts[i];
      const isa::Flow flow = ptx::flow_of(inst.p);
      observe::Site site;
      const auto place_site = [&] {
        fill_site(f, inst, site);
        site.async = inst.async || flow == isa::Flow::native;
        site.id = static_cast<std::uint32_t>(plan->sites.size());
        const auto id = static_cast<std::int32_t>(site.id);
        const bool generic =
            flow != isa::Flow::native && site.kind == observe::Site::Kind::access && site.space == isa::Space::generic;
        if (generic) site.space = isa::Space::global;
        plan->sites.push_back(site);
        for (const isa::Space other : {isa::Space::shared, isa::Space::local}) {
          if (!generic) break;
          site.space = other;
          site.alternative = true;
          ++site.id;
          plan->sites.push_back(site);
        }
        return id;
      };
      if (flow == isa::Flow::native) {
        site.kind = observe::Site::Kind::access;
        const NativeCall call = native_call(inst.p);
        for (std::size_t k = 0; k < call.accesses.size(); ++k) {
          site.space = call.accesses[k].space;
          site.access = call.accesses[k].kind;
          site.bytes = call.accesses[k].bytes;
          (k == 0 ? inst.site : inst.second_site) = place_site();
        }
        continue;
      }
      if (flow == isa::Flow::load || flow == isa::Flow::store || flow == isa::Flow::atomic) {
        site.kind = observe::Site::Kind::access;
        // Textures and surfaces lie in global memory.
        site.texture = is_texture(inst.p);
        site.space = site.texture ? isa::Space::global : ptx::space_of(inst.p);
        if (site.space == isa::Space::param) continue;
        site.access = flow == isa::Flow::load    ? observe::AccessKind::load
                      : flow == isa::Flow::store ? observe::AccessKind::store
                                                 : observe::AccessKind::atomic;
        if (inst.p.op == isa::Op::red || inst.p.op == isa::Op::sured) site.access = observe::AccessKind::reduction;
        // nvcc writes reductions as atomics whose result nobody reads.
        if (inst.p.op == isa::Op::atom) {
          const ptx::Operand& d = inst.p.operands[0];
          if (d.kind == ptx::Operand::Kind::sink || (d.reg >= 0 && !plan->prepared.function->is_read(d.reg)))
            site.access = observe::AccessKind::reduction;
        }
        if (site.access == observe::AccessKind::reduction && inst.p.has(isa::Mod::add) && is_constant_one(inst.p))
          site.access = observe::AccessKind::increment;
        site.bytes = isa::bytes(inst.p.type()) * ptx::vector_width(inst.p);
      } else if (const auto matrix = isa::matrix_form(inst.p.op, inst.p.mods, inst.p.types, inst.p.type_count);
                 matrix && matrix->touches_memory()) {
        site.kind = observe::Site::Kind::access;
        site.space = ptx::space_of(inst.p);
        site.access = matrix->loads() ? observe::AccessKind::load : observe::AccessKind::store;
        site.bytes = 4 * matrix->words(matrix->matrix);
      } else if (inst.p.op == isa::Op::bra && inst.p.guard >= 0) {
        site.kind = observe::Site::Kind::branch;
      } else if (ir::is_block_barrier(inst.p)) {
        site.kind = observe::Site::Kind::barrier;
      } else {
        continue;
      }
      inst.site = place_site();
    }
  return plan;
}

}  // namespace warploom::codegen

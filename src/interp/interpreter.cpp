// Runs decoded kernels: blocks in order under a mask, as the masked and conservative versions do.
#include <algorithm>
#include <bit>
#include <cstring>

#include "interp/program.hpp"

namespace warploom::interp {

using ir::BlockId;

namespace {

constexpr std::uint32_t kAll = 0xFFFFFFFF;

std::size_t idx(std::int32_t i) { return static_cast<std::size_t>(i); }

std::uint32_t bits_at(const State& st, Ref ref) { return *lanes_of<std::uint32_t>(&st, ref); }

}  // namespace

void Interpreter::bind(const Program& program) {
  program_ = &program;
  state_.program = &program;
  // Another program may have had the same address.
  if (bound_ == program.id) return;
  bound_ = program.id;
  if (storage_.size() < program.frame_bytes + 64) storage_.resize(program.frame_bytes + 64);
  const auto at = (reinterpret_cast<std::uintptr_t>(storage_.data()) + 63) / 64 * 64;
  state_.base[1] = reinterpret_cast<std::byte*>(at);
  std::copy(program.constants.begin(), program.constants.end(), state_.base[1]);
  std::memset(state_.base[1] + program.constants.size(), 0, program.frame_bytes - program.constants.size());
}

void Interpreter::start(WarpContext& c) const {
  for (const ir::ValueId v : program_->zero_at_entry) {
    const codegen::Slot& s = program_->plan->wide_slots[idx(v)];
    std::memset(c.wide_slots + s.offset, 0, s.bytes);
  }
}

bool Interpreter::locate(codegen::CodePlace& place) const {
  if (state_.current == nullptr) return false;
  place = {state_.current->block, state_.current->index};
  return true;
}

void Interpreter::run_block(const BlockCode& block) {
  State* st = &state_;
  const Step* s = program_->steps.data() + block.begin;
  const Step* end = program_->steps.data() + block.end;
  st->lanes = st->mask;
  if (st->mask == kAll) {
    for (; s != end; ++s) {
      s->run(st, s);
      if (st->stopped) return;
    }
    return;
  }
  for (; s != end; ++s) {
    if (s->masked) {
      const Step* inner = &program_->aside[static_cast<std::size_t>(s->blended)];
      inner->run(st, inner);
      blend(st, s, inner, st->mask);
    } else {
      s->run(st, s);
    }
    if (st->stopped) return;
  }
}

Exit Interpreter::run(WarpContext& c, const Ways& ways) {
  State& st = state_;
  const Program& program = *program_;
  const auto blocks = static_cast<BlockId>(program.blocks.size());
  st.ctx = &c;
  st.base[0] = c.wide_slots;
  st.stopped = false;
  st.current = nullptr;
  const auto leave = [&](Exit exit) {
    st.current = nullptr;
    return exit;
  };

  left_a_loop_ = false;
  std::uint32_t rounds = 0;
  const auto better_code = [&] { return ways.code->ready(program.plan->main_mode()) != nullptr; };
  const auto goes_conservative = [&] {
    ways.code->request(codegen::Mode::conservative);
    if (ways.code->ready(codegen::Mode::conservative) == nullptr) return false;
    c.entry = codegen::kEntryResume;
    return true;
  };
  BlockId b = 0;
  // From block b on in order; a loop that still has lanes comes before what follows it.
  const auto after = [&](BlockId done) -> BlockId {
    for (const BlockId h : program.blocks[idx(done)].loops_ending)
      if (!program.blocks[idx(h)].spin_loop && c.pending[h] != 0) return h;
    return done + 1;
  };
  for (;;) {
    if (b == blocks) {
      const std::int32_t next = program.natives.dispatch(&c, blocks, program.plan->spins ? 1 : 0);
      if (next >= 0) {
        c.entry = codegen::kEntryResume;
        return leave(static_cast<Exit>(next));
      }
      b = 0;
      continue;
    }
    std::uint32_t mask = c.pending[b];
    if (mask == 0) {
      b = after(b);
      continue;
    }
    c.pending[b] = 0;
    const BlockCode* block = &program.blocks[idx(b)];
    if (block->starts_with_sync) {
      // Lanes that came earlier wait here for the rest of their member mask.
      const std::uint32_t all = mask | c.sync_pending[b];
      const std::uint32_t* members = lanes_of<std::uint32_t>(&st, block->members);
      std::uint32_t need = 0;
      for (std::uint32_t rest = all; rest != 0; rest &= rest - 1) need |= members[std::countr_zero(rest)];
      need &= c.live;
      if ((need & ~all) != 0 && c.force_sync == 0) {
        c.sync_pending[b] = all;
        b = after(b);
        continue;
      }
      c.sync_pending[b] = 0;
      c.force_sync = 0;
      mask = all;
    }

    for (;;) {
      block = &program.blocks[idx(b)];
      if (mask == kAll && block->returns_to_uniform && ways.uniform &&
          ways.code->ready(codegen::Mode::uniform) != nullptr && convert_to_uniform(*program.plan, c, b)) {
        c.entry = b;
        return leave(Exit::to_uniform);
      }
      st.mask = mask;
      run_block(*block);
      if (st.stopped) return leave(Exit::error);
      if (block->continues) {
        mask |= c.pending[b + 1];
        c.pending[b + 1] = 0;
        ++b;
        continue;
      }
      // One successor for all, and nobody waits elsewhere: on at once.
      BlockId to = -1;
      switch (block->ends) {
        case BlockCode::End::exit: c.live &= ~mask; break;
        case BlockCode::End::barrier: {
          const auto lane = std::countr_zero(mask);
          c.barrier_id = static_cast<std::int32_t>(lanes_of<std::uint32_t>(&st, block->operand[0])[lane]);
          c.barrier_threads =
              block->counted ? static_cast<std::int32_t>(lanes_of<std::uint32_t>(&st, block->operand[1])[lane]) : 0;
          if (block->reduces) c.barrier_true |= bits_at(st, block->operand[2]) & mask;
          c.at_barrier |= mask;
          c.barrier_pending[block->succs[0]] |= mask;
          break;
        }
        case BlockCode::End::jump:
          to = block->succs[0];
          c.pending[to] |= mask;
          break;
        case BlockCode::End::branch: {
          std::uint32_t taken = bits_at(st, block->guard);
          if (block->guard_negated) taken = ~taken;
          taken &= mask;
          const std::uint32_t fall = mask & ~taken;
          if (taken != 0) c.pending[block->succs[0]] |= taken;
          if (fall != 0) c.pending[block->succs[1]] |= fall;
          if (fall == 0) to = block->succs[0];
          if (taken == 0) to = block->succs[1];
          break;
        }
        case BlockCode::End::table: {
          const std::uint32_t* index = lanes_of<std::uint32_t>(&st, block->operand[0]);
          std::uint32_t rest = mask;
          std::size_t targets = block->succs.size();
          if (block->has_guard) {
            --targets;
            std::uint32_t guard = bits_at(st, block->guard);
            if (block->guard_negated) guard = ~guard;
            c.pending[block->succs.back()] |= rest & ~guard;
            rest &= guard;
          }
          // PTX does not say what an index without a target does: it takes the last one.
          for (; rest != 0; rest &= rest - 1) {
            const auto lane = std::countr_zero(rest);
            const std::size_t k = std::min<std::size_t>(index[lane], targets - 1);
            c.pending[block->succs[k]] |= 1U << lane;
          }
          break;
        }
      }
      const BlockCode* next = to < 0 ? nullptr : &program.blocks[idx(to)];
      if (next == nullptr || mask != c.live || next->starts_with_sync || (to <= b && next->spin_loop)) {
        const BlockId from = b;
        b = after(b);
        if (b <= from && ways.leaves_loops && ++rounds % ways.rounds == 0 && better_code() && goes_conservative())
          return leave(Exit::to_conservative);
        break;
      }
      if (to <= b && ways.leaves_loops && ++rounds % ways.rounds == 0 && better_code()) {
        if (mask != kAll || !next->heads_loop) {
          if (goes_conservative()) return leave(Exit::to_conservative);
        } else if (ways.loop_code(ways.owner)->ready(codegen::Mode::uniform) != nullptr &&
                   convert_to_uniform(*program.plan, c, to)) {
          left_a_loop_ = true;
          c.pending[to] = 0;
          c.entry = to;
          return leave(Exit::to_uniform);
        }
      }
      c.pending[to] = 0;
      b = to;
    }
  }
}

bool convert_to_uniform(const codegen::KernelPlan& plan, WarpContext& c, BlockId b) {
  const ir::Function& f = plan.f();
  const auto scalar_of = [&](std::size_t v, unsigned lane) {
    std::uint64_t x = 0;
    const unsigned bytes = isa::bytes(plan.storage[v]);
    std::memcpy(&x, c.wide_slots + plan.wide_slots[v].offset + lane * bytes, bytes);
    return x;
  };
  for (std::size_t v = 0; v < f.values.size(); ++v) {
    if (!plan.crosses[v] || !f.is_live_in(b, static_cast<ir::ValueId>(v))) continue;
    const ir::Shape& s = plan.prepared.shapes.of[v];
    const std::byte* from = c.wide_slots + plan.wide_slots[v].offset;
    std::byte* to = c.slots + plan.slots[v].offset;
    if (s.varying()) {
      std::memcpy(to, from, plan.wide_slots[v].bytes);
      continue;
    }
    if (plan.storage[v] == isa::Type::pred) {
      std::uint32_t mask = 0;
      std::memcpy(&mask, from, 4);
      if (mask != 0 && mask != kAll) return false;
      mask &= 1;
      std::memcpy(to, &mask, 4);
      continue;
    }
    const unsigned bytes = isa::bytes(plan.storage[v]);
    const std::uint64_t ones = bytes == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * bytes)) - 1;
    const auto pattern = [&](unsigned lane) {
      std::uint64_t sum = 0;
      for (const ir::Term& t : s.terms) {
        std::uint64_t factor = 1;
        if (t.mult >= 0) {
          factor = scalar_of(static_cast<std::size_t>(t.mult), 0);
          if (t.widen == 1 && isa::bits(plan.storage[static_cast<std::size_t>(t.mult)]) == 32)
            factor = static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(factor)));
        }
        sum += factor * static_cast<std::uint64_t>(t.pattern[lane]);
      }
      return sum;
    };
    const std::uint64_t base = (scalar_of(v, 0) - pattern(0)) & ones;
    for (unsigned l = 1; l < 32; ++l)
      if (((base + pattern(l)) & ones) != scalar_of(v, l)) return false;
    std::memcpy(to, &base, bytes);
  }
  return true;
}

}  // namespace warploom::interp

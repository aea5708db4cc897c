// Matrix instructions in the interpreter: the native functions that compiled code calls, around loads and stores of
// rows.
#include <algorithm>
#include <array>
#include <cstring>

#include "codegen/matrix_calls.hpp"
#include "interp/decoder.hpp"
#include "interp/memory.hpp"

namespace warploom::interp {

using isa::MatrixForm;
using isa::Type;
using Kind = MatrixForm::Kind;
using Matrix = MatrixForm::Matrix;

namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr unsigned kChunk = 16;  // rows are multiples of it, but for some of .b8

// Fragments of one instruction.
struct Fragments {
  alignas(64) std::byte d[4096], a[4096], b[4096], c[4096];
};

void take(State* st, const std::vector<Ref>& from, bool is64, std::byte* to) {
  const std::size_t bytes = is64 ? 256 : 128;
  for (const Ref r : from) {
    std::memcpy(to, lanes_of<std::byte>(st, r), bytes);
    to += bytes;
  }
}

void give(State* st, const std::byte* from, bool is64, const std::vector<Ref>& to) {
  const std::size_t bytes = is64 ? 256 : 128;
  for (const Ref r : to) {
    std::memcpy(lanes_of<std::byte>(st, r), from, bytes);
    from += bytes;
  }
}

// Rows at their addresses to or from a dense buffer.
void move_rows(bool loads, const u64* rows, unsigned count, unsigned bytes, std::byte* dense) {
  for (unsigned r = 0; r < count; ++r)
    for (unsigned at = 0; at < bytes; at += sizeof(u64)) {
      auto* memory = reinterpret_cast<u64*>(rows[r] + at);
      auto* kept = reinterpret_cast<u64*>(dense + static_cast<std::size_t>(r) * bytes + at);
      if (loads)
        *kept = *memory;
      else
        *memory = *kept;
    }
}

void access(State* st, const Step* s, const MatrixStep& m, Fragments& f) {
  st->current = s;
  const MatrixForm& form = m.form;
  const codegen::MatrixRows rows = codegen::matrix_rows(form);
  alignas(64) std::array<u64, 32> lanes;
  find_addresses(st, s, m.address, lanes.data());
  std::array<u64, 128> at{};
  u64 odd = 0;
  if (form.kind == Kind::load || form.kind == Kind::store) {
    u64 stride = rows.bytes;
    if (m.stride != kNoRef) stride = u64{lanes_of<u32>(st, m.stride)[0]} * isa::bits(form.d) / 8;
    for (unsigned r = 0; r < rows.count; ++r) at[r] = lanes[0] + r * stride;
  } else {
    std::copy_n(lanes.begin(), rows.count, at.begin());
  }
  const unsigned chunk = std::min(kChunk, rows.bytes);
  for (unsigned r = 0; r < rows.count; ++r)
    if (at[r] % chunk != 0 && odd == 0) odd = at[r];
  if (odd != 0) {
    st->program->natives.misaligned(st->ctx, &odd, st->lanes, 1, chunk, s->block, static_cast<std::int32_t>(s->index));
    st->stopped = true;
    return;
  }
  const bool is64 = form.d == Type::f64;
  if (form.loads()) {
    move_rows(true, at.data(), rows.count, rows.bytes, f.a);
    warploom_matrix_spread(m.packed, f.a, f.d);
    give(st, f.d, is64, m.d);
  } else {
    take(st, m.c, is64, f.c);
    warploom_matrix_collect(m.packed, f.c, f.a);
    move_rows(false, at.data(), rows.count, rows.bytes, f.a);
  }
}

void run_matrix(State* st, const Step* s) {
  const MatrixStep& m = st->program->matrices[s->matrix];
  if (st->lanes != 0xFFFFFFFF) {
    st->program->natives.partial(st->ctx, st->lanes, s->block, static_cast<std::int32_t>(s->index));
    st->stopped = true;
    return;
  }
  Fragments f;
  if (m.form.touches_memory()) return access(st, s, m, f);
  const bool is64 = m.form.d == Type::f64;
  take(st, m.a, is64, f.a);
  if (m.form.kind == Kind::transpose) {
    warploom_matrix_transpose(reinterpret_cast<const u32*>(f.a), reinterpret_cast<u32*>(f.d));
  } else {
    take(st, m.b, is64, f.b);
    take(st, m.c, is64, f.c);
    const u32* metadata = m.metadata == kNoRef ? nullptr : lanes_of<u32>(st, m.metadata);
    warploom_matrix_multiply(m.packed, f.d, f.a, f.b, f.c, metadata);
  }
  give(st, f.d, is64, m.d);
}

}  // namespace

void Decoder::matrix(const ir::Inst& inst) {
  const ptx::Instr& p = inst.p;
  auto form = isa::matrix_form(p.op, p.mods, p.types, p.type_count);
  if (!form) return fail();
  MatrixStep m;
  std::vector<Result> results;
  const auto sources = [&](std::size_t k, Type t, std::vector<Ref>& out) {
    for (const ptx::Operand* o : ptx::elements_of(p.operands[k]))
      out.push_back(source(inst, *o, -1, t == Type::f64 ? Type::b64 : Type::b32));
  };
  Step s = make(run_matrix);
  const auto memory = [&](std::size_t k) {
    Address a;
    if (!address(inst, k, ptx::space_of(p), a)) return;
    s.what = a.what;
    s.imm = a.imm;
    m.address = a.ref;
    if (p.operands.size() > 2) m.stride = source(inst, 2, Type::b32);
  };
  std::size_t to = 0;
  switch (form->kind) {
    case Kind::multiply:
      sources(1, form->a, m.a);
      sources(2, form->b, m.b);
      sources(3, form->c, m.c);
      if (form->sparse) {
        m.metadata = source(inst, 4, Type::b32);
        form->selector = static_cast<std::uint8_t>(p.operands[5].imm & 3);
      }
      break;
    case Kind::transpose: sources(1, Type::b32, m.a); break;
    case Kind::load:
    case Kind::load_rows: memory(1); break;
    case Kind::store:
    case Kind::store_rows:
      memory(0);
      sources(1, form->d, m.c);
      to = p.operands.size();
      break;
  }
  if (to == 0)
    for (const ptx::Operand* o : ptx::elements_of(p.operands[0])) {
      results.push_back(result(*o, form->d == Type::f64 ? Type::b64 : Type::b32));
      m.d.push_back(results.back().ref);
    }
  if (failed_) return;
  m.form = *form;
  m.packed = form->pack();
  s.matrix = static_cast<std::uint32_t>(out_->matrices.size());
  out_->matrices.push_back(std::move(m));
  add_active(inst, s);
  resize_after(inst, results);
}

}  // namespace warploom::interp

// Parameter scratch of inlined calls, and local variables that are only accessed in fixed pieces, become values.
#include <algorithm>
#include <map>

#include "ir/flatten.hpp"
#include "ir/synthetic.hpp"

namespace warploom::ir {
namespace {

struct Piece {
  std::uint32_t bytes = 0;
  ValueId value = -1;
};

struct Candidate {
  bool possible = true;
  bool touched = false;
  std::map<std::uint64_t, Piece> pieces;  // by offset
};

// Position of the address operand of a plain load or store, -1 for other instructions.
int address_position(const ptx::Instr& p) {
  if (p.op == isa::Op::ld) return 1;
  if (p.op == isa::Op::st) return 0;
  return -1;
}

// There is no move of 8 bits: a conversion from or to the register's own width.
void move_byte(const Function& f, ptx::Instr& p, const ptx::Operand& reg, bool is_store) {
  const bool is_signed = isa::is_signed(p.types[0]) && !is_store;
  const unsigned bits =
      reg.kind == ptx::Operand::Kind::reg ? isa::bits(f.values[static_cast<std::size_t>(reg.reg)].type) : 32;
  using isa::Type;
  const Type wide = bits == 8    ? (is_signed ? Type::s8 : Type::u8)
                    : bits == 16 ? (is_signed ? Type::s16 : Type::u16)
                    : bits == 64 ? (is_signed ? Type::s64 : Type::u64)
                                 : (is_signed ? Type::s32 : Type::u32);
  const Type byte = is_signed ? Type::s8 : Type::u8;
  p.op = isa::Op::cvt;
  p.types[0] = is_store ? byte : wide;
  p.types[1] = is_store ? wide : byte;
  p.type_count = 2;
}

}  // namespace

void promote_call_scratch(Function& f, FlatCode& code) {
  std::map<std::int32_t, Candidate> candidates;
  for (std::size_t i = 0; i < f.variables.size(); ++i)
    if (f.variables[i].place == Variable::Place::local) candidates[static_cast<std::int32_t>(i)];

  for (const FlatInst& flat : code.insts) {
    const ptx::Instr& p = flat.inst.p;
    const int at = address_position(p);
    for (std::size_t k = 0; k < flat.inst.variable.size(); ++k) {
      auto it = candidates.find(flat.inst.variable[k]);
      if (it == candidates.end()) continue;
      Candidate& c = it->second;
      if (static_cast<int>(k) != at || p.operands[k].kind != ptx::Operand::Kind::address || p.operands[k].reg >= 0) {
        c.possible = false;
        continue;
      }
      c.touched = true;
      const std::uint32_t bytes = isa::bytes(p.type());
      for (unsigned v = 0; v < ptx::vector_width(p); ++v) {
        const std::uint64_t offset = p.operands[k].imm + v * bytes;
        Piece& piece = c.pieces[offset];
        if (piece.bytes != 0 && piece.bytes != bytes) c.possible = false;
        piece.bytes = bytes;
        if (offset + bytes > f.variables[static_cast<std::size_t>(it->first)].bytes) c.possible = false;
      }
    }
  }
  for (auto& [id, c] : candidates) {
    std::uint64_t end = 0;
    for (auto& [offset, piece] : c.pieces) {
      if (offset < end || piece.bytes > 8) c.possible = false;
      end = offset + piece.bytes;
    }
    if (c.pieces.size() > 64) c.possible = false;
    if (!c.possible) continue;
    for (auto& [offset, piece] : c.pieces) {
      static constexpr isa::Type kTypes[] = {isa::Type::b8, isa::Type::b16, isa::Type::b32, isa::Type::b64};
      piece.value = static_cast<ValueId>(f.values.size());
      const auto log2 = static_cast<std::size_t>(__builtin_ctz(piece.bytes));
      f.values.push_back(
          {kTypes[log2], f.variables[static_cast<std::size_t>(id)].name + "+" + std::to_string(offset), 0, false});
    }
  }

  FlatCode out;
  std::vector<std::uint32_t> moved(code.insts.size() + 1);
  for (std::size_t i = 0; i < code.insts.size(); ++i) {
    moved[i] = static_cast<std::uint32_t>(out.insts.size());
    FlatInst& flat = code.insts[i];
    const int at = address_position(flat.inst.p);
    const std::int32_t variable = at < 0 ? -1 : flat.inst.variable[static_cast<std::size_t>(at)];
    auto it = candidates.find(variable);
    if (it == candidates.end() || !it->second.possible) {
      out.insts.push_back(std::move(flat));
      continue;
    }
    const ptx::Instr& p = flat.inst.p;
    const ptx::Operand& other = p.operands[at == 0 ? 1 : 0];
    const unsigned width = ptx::vector_width(p);
    for (unsigned v = 0; v < width; ++v) {
      FlatInst move;
      move.inst.source = flat.inst.source;
      move.inst.p.op = isa::Op::mov;
      move.inst.p.line = p.line;
      move.inst.p.guard = p.guard;
      move.inst.p.guard_negated = p.guard_negated;
      move.inst.p.types[0] = p.type();
      move.inst.p.type_count = 1;
      ptx::Operand piece;
      piece.reg = it->second.pieces.at(p.operands[static_cast<std::size_t>(at)].imm + v * isa::bytes(p.type())).value;
      const ptx::Operand& reg = other.kind == ptx::Operand::Kind::vector ? other.elements[v] : other;
      if (reg.kind == ptx::Operand::Kind::sink) continue;
      if (at == 0)
        move.inst.p.operands = {piece, reg};
      else
        move.inst.p.operands = {reg, piece};
      move.inst.variable = {-1, -1};
      if (isa::bits(p.type()) == 8) move_byte(f, move.inst.p, reg, at == 0);
      set_form(move.inst.p);
      out.insts.push_back(std::move(move));
    }
  }
  moved[code.insts.size()] = static_cast<std::uint32_t>(out.insts.size());
  for (std::uint32_t label : code.labels) out.labels.push_back(moved[label]);
  code = std::move(out);

  // What is left decides the thread's local memory.
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < f.variables.size(); ++i) {
    Variable& v = f.variables[i];
    if (v.place != Variable::Place::local) continue;
    const Candidate& c = candidates[static_cast<std::int32_t>(i)];
    if (c.possible) {
      v.bytes = 0;
      v.offset = 0;
    } else {
      bytes = (bytes + 15) / 16 * 16;
      v.offset = bytes;
      bytes += v.bytes;
    }
  }
  f.local_bytes = static_cast<std::uint32_t>((bytes + 15) / 16 * 16);
}

}  // namespace warploom::ir

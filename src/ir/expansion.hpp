// Instructions that are sequences of others.
#pragma once

#include <initializer_list>

#include "ir/flatten.hpp"
#include "ir/synthetic.hpp"

namespace warploom::ir {

// Appends to `code` the instructions that stand for `flat`; false for one that stands for itself. Those are packed f32,
// f32 with half operands, minima of three, moves of vectors, and video instructions on parts of registers.
bool expand_compound(Function& function, const FlatInst& flat, FlatCode& code);

// What expansions are made of; each instruction has the guard and the place of the one it stands for.
class Expansion {
 public:
  Expansion(Function& f, const FlatInst& flat, FlatCode& code) : f_(f), flat_(flat), p_(flat.inst.p), code_(code) {}

 protected:
  using Operand = ptx::Operand;
  Operand temporary(isa::Type type = isa::Type::b32);
  static Operand number(std::uint64_t v);
  void add(ptx::Instr q);
  void add(isa::Op op, std::initializer_list<isa::Type> types, std::vector<Operand> operands, isa::ModSet mods = {});
  void add(isa::Op op, std::initializer_list<isa::Type> types, std::vector<Operand> operands,
           std::initializer_list<isa::Mod> mods);

  Function& f_;
  const FlatInst& flat_;
  const ptx::Instr& p_;
  FlatCode& code_;
};

bool expand_video(Function& function, const FlatInst& flat, FlatCode& code);

}  // namespace warploom::ir

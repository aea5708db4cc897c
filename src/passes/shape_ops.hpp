// Transfer functions of the shape analysis: the shape of a result from the shapes of its operands.
#pragma once

#include "passes/shapes.hpp"

namespace warploom::passes {

struct OperandShapes {
  const ir::Function& f;
  const BlockShape& block;
  bool linear;
  const Shapes& shapes;

  [[nodiscard]] ir::Shape operand(const ir::Inst& inst, std::size_t k) const;
  // Shape of result number `which` of the instruction, its guard left aside.
  [[nodiscard]] ir::Shape result(const ir::Inst& inst, std::size_t which) const;

 private:
  [[nodiscard]] ir::Shape pure(const ir::Inst& inst) const;
  [[nodiscard]] ir::Shape load(const ir::Inst& inst) const;
  [[nodiscard]] ir::Shape product(const ir::Inst& inst, std::size_t a, std::size_t b, std::uint8_t widen) const;
};

// Does the instruction give the same result each time, whatever lane or iteration, if its sources do?
bool keeps_invariance(const ir::Function& f, const ir::Inst& inst);

}  // namespace warploom::passes

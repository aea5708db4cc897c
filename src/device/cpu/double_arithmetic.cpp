// Counts of f64 instructions by source line, with the constants among their operands.
#include "device/cpu/double_arithmetic.hpp"

#include <bit>
#include <map>
#include <tuple>

namespace warploom::device {
namespace {

bool is_arithmetic(const ptx::Instr& p) {
  switch (p.op) {
    case isa::Op::ld:
    case isa::Op::st:
    case isa::Op::mov:
    case isa::Op::cvt:
    case isa::Op::selp:
    case isa::Op::setp:
    case isa::Op::atom:
    case isa::Op::red: return false;
    default: return p.type_count > 0 && p.type() == isa::Type::f64;
  }
}

}  // namespace

void add_double_arithmetic(const ir::Function& function, observe::KernelFacts& facts) {
  std::map<std::tuple<std::string, std::uint32_t>, observe::DoubleArithmetic> places;
  for (const ir::Block& block : function.blocks) {
    for (const ir::Inst& inst : block.insts) {
      const ptx::Instr& p = inst.p;
      ++facts.instructions;
      if (p.op == isa::Op::cvt && p.type_count > 1 && p.type(0) == isa::Type::f64 && p.type(1) == isa::Type::f32)
        facts.widens_floats = true;
      if (!is_arithmetic(p)) continue;
      SourceLoc source;
      if (inst.source >= 0) source = function.sources[static_cast<std::size_t>(inst.source)].loc;
      if (!source.known()) source.line = p.line;
      observe::DoubleArithmetic& place = places[{source.file, source.line}];
      place.source = source;
      ++place.instructions;
      for (const ptx::Operand& operand : p.operands)
        if (operand.kind == ptx::Operand::Kind::imm_f64 && !place.literal)
          place.literal = std::bit_cast<double>(operand.imm);
    }
  }
  for (auto& [key, place] : places) facts.double_arithmetic.push_back(std::move(place));
}

}  // namespace warploom::device

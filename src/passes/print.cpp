// Shapes as text, beside the instructions that define the values.
#include <fmt/format.h>

#include "passes/shapes.hpp"

namespace warploom::passes {
namespace {

// The pattern of lanes 0 to 31, shortened where it goes on evenly.
std::string pattern(const std::array<std::int64_t, 32>& lanes) {
  const std::int64_t step = lanes[1] - lanes[0];
  bool even = true;
  for (std::size_t i = 1; i < lanes.size(); ++i) even = even && lanes[i] - lanes[i - 1] == step;
  if (even) return fmt::format("{}, {}, ... {}", lanes[0], lanes[1], lanes[31]);
  return fmt::format("{}", fmt::join(lanes, ", "));
}

std::string describe(const ir::Function& f, const ir::Shape& shape) {
  switch (shape.kind) {
    case ir::Shape::Kind::unknown: return "never set";
    case ir::Shape::Kind::uniform: return "uniform";
    case ir::Shape::Kind::varying: return "varying";
    case ir::Shape::Kind::linear: break;
  }
  std::string out = "base";
  for (const ir::Term& term : shape.terms) {
    const std::string factor = term.mult < 0 ? "" : f.values[static_cast<std::size_t>(term.mult)].name + " * ";
    out += fmt::format(" + {}({})", factor, pattern(term.pattern));
  }
  return out;
}

}  // namespace

std::string print(const ir::Function& f, const Shapes& shapes) {
  return ir::print(f, [&](const ir::Inst& inst) {
    std::string out;
    ir::for_each_def(inst, [&](ir::ValueId v) {
      if (static_cast<std::size_t>(v) < shapes.of.size())
        out += fmt::format("{}{}: {}", out.empty() ? "" : "; ", f.values[static_cast<std::size_t>(v)].name,
                           describe(f, shapes[v]));
    });
    return out;
  });
}

}  // namespace warploom::passes

// Rule: float32 data is computed on in double precision, mostly because of one literal.
#include <fmt/format.h>

#include <algorithm>

#include "observe/explain/rules.hpp"

namespace warploom::observe::explain {

void rule_double_precision(const RuleInput& in, std::vector<Finding>& out) {
  const KernelFacts& facts = in.kernel.facts;
  // A kernel on float64 data means it.
  if (!facts.widens_floats || facts.double_arithmetic.empty() || facts.instructions == 0) return;
  std::uint32_t total = 0;
  for (const DoubleArithmetic& place : facts.double_arithmetic) total += place.instructions;
  const auto first = std::find_if(facts.double_arithmetic.begin(), facts.double_arithmetic.end(),
                                  [](const DoubleArithmetic& place) { return place.literal.has_value(); });
  const DoubleArithmetic& place = first == facts.double_arithmetic.end() ? facts.double_arithmetic.front() : *first;
  const std::string cause = place.literal ? fmt::format(" from the literal {}", *place.literal) : std::string();
  // As often as the average instruction; a GPU issues double precision at half the rate or less.
  const double share = static_cast<double>(total) / facts.instructions;
  out.push_back(
      {"double_precision",
       fmt::format("Double-precision arithmetic{} on float32 data ({} of {} instructions of the PTX are f64): "
                   "write the constant in single precision, np.float32(...) in Python or 1.0f in C++, or "
                   "compile Python with typing=\"narrow\".",
                   cause, total, facts.instructions),
       place.source, share * static_cast<double>(in.kernel.warp_instructions) * kCyclesPerInstruction,
       Basis::estimated});
}

}  // namespace warploom::observe::explain

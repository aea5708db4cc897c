// The passes, in order, one line each with the reason for its place.
#include "passes/pipeline.hpp"

#include "ir/cfg.hpp"
#include "ir/webs.hpp"
#include "passes/spin_loops.hpp"
#include "passes/split_checks.hpp"

namespace warploom::passes {

Prepared prepare(const ir::Function& function, const BlockShape& block, const PassLog& log) {
  Prepared out;
  out.function = std::make_shared<ir::Function>(function);
  ir::Function& f = *out.function;
  const auto ran = [&](const char* pass) {
    if (log) log(pass, f, out.shapes);
  };
  find_spin_loops(f);  // before shapes: what a spin loop computes is never uniform
  ran("spin_loops");
  out.shapes = analyse_shapes(f, block, true);  // shapes decide which widenings need a check
  ran("shapes");
  split_checks(f, out.shapes);  // a check that fails leaves at a block boundary
  ran("split_checks");
  ir::compute_liveness(f);                             // again: blocks have been split
  out.conservative = analyse_shapes(f, block, false);  // last: on the final blocks
  close_liveness(f, out.shapes);                       // factors of live patterns are live too
  ran("liveness");
  return out;
}

}  // namespace warploom::passes

// From PTX bodies to IR: flatten, promote, blocks, webs, liveness.
#include "ir/cfg.hpp"
#include "ir/webs.hpp"

namespace warploom::ir {

namespace {

void each_register(const ptx::Operand& o, const std::function<void(ValueId)>& f) {
  if (o.kind != ptx::Operand::Kind::label && o.reg >= 0) f(o.reg);
  for (const ptx::Operand& e : o.elements) each_register(e, f);
}

}  // namespace

void for_each_use(const Inst& inst, const std::function<void(ValueId)>& f) {
  const ptx::Instr& p = inst.p;
  if (p.guard >= 0) f(p.guard);
  for (std::size_t k = 0; k < p.operands.size(); ++k) {
    const ptx::Operand& o = p.operands[k];
    if (o.kind == ptx::Operand::Kind::address || is_source(p, k)) each_register(o, f);
  }
}

void for_each_def(const Inst& inst, const std::function<void(ValueId)>& f) {
  const ptx::Instr& p = inst.p;
  for (std::size_t k = 0; k < p.operands.size(); ++k) {
    const ptx::Operand& o = p.operands[k];
    if (o.kind == ptx::Operand::Kind::address || !is_result(p, k)) continue;
    each_register(o, f);
    if (o.pair >= 0) f(o.pair);
  }
}

Result<std::shared_ptr<Function>> build(std::shared_ptr<const ptx::Module> module, const ptx::Function& kernel,
                                        const BuildLog& log) {
  auto f = std::make_shared<Function>();
  f->name = kernel.name;
  f->module = std::move(module);
  f->entry = &kernel;
  auto code = flatten(*f);
  if (!code) return std::move(code.error());
  promote_call_scratch(*f, *code);
  make_blocks(*f, std::move(*code));
  if (log) log("blocks", *f);
  split_webs(*f);
  compute_liveness(*f);
  if (log) log("webs", *f);
  return f;
}

}  // namespace warploom::ir

// Forms of added instructions, from the instruction table.
#include "ir/synthetic.hpp"

#include <algorithm>

namespace warploom::ir {

void set_form(ptx::Instr& instr) {
  for (const isa::Form& form : isa::row(instr.op).forms) {
    if (form.types.size() != instr.type_count || form.operands.size() != instr.operands.size()) continue;
    bool fits = true;
    for (std::size_t i = 0; i < form.types.size(); ++i)
      fits = fits && std::find(form.types[i].begin(), form.types[i].end(), instr.types[i]) != form.types[i].end();
    if (!fits) continue;
    instr.form = &form;
    return;
  }
  WL_INTERNAL("ir", false, "no form for an added instruction");
}

}  // namespace warploom::ir

// Strongly connected components of the call graph.
#include "ir/call_graph.hpp"

#include <algorithm>
#include <map>
#include <vector>

namespace warploom::ir {
namespace {

using ptx::Operand;

// Tarjan's algorithm; call chains are short enough to recurse on.
class Search {
 public:
  Search(const ptx::Module& module, const BodyOf& body_of) : module_(module), body_of_(body_of) {}

  Result<void> visit(const ptx::Function& fn) {
    Node& node = nodes_[&fn];
    node.index = node.low = ++last_;
    node.on_stack = true;
    stack_.push_back(&fn);
    auto body = body_of_(fn);
    if (!body) return std::move(body.error());
    for (const ptx::Instr& p : (*body)->instrs) {
      if (p.op == isa::Op::alloca || p.op == isa::Op::stacksave || p.op == isa::Op::stackrestore) out.allocates = true;
      if (p.op != isa::Op::call) continue;
      for (const ptx::Function* callee : callees(p, **body)) {
        if (callee == &fn) out.recursive.insert(&fn);
        const auto it = nodes_.find(callee);
        if (it == nodes_.end()) {
          WL_TRY(visit(*callee));
          node.low = std::min(node.low, nodes_[callee].low);
        } else if (it->second.on_stack) {
          node.low = std::min(node.low, it->second.index);
        }
      }
    }
    if (node.low != node.index) return {};
    const bool several = stack_.back() != &fn;
    const ptx::Function* top = nullptr;
    do {
      top = stack_.back();
      stack_.pop_back();
      nodes_[top].on_stack = false;
      if (several) out.recursive.insert(top);
    } while (top != &fn);
    return {};
  }

  CallGraph out;

 private:
  struct Node {
    int index = 0, low = 0;
    bool on_stack = false;
  };

  std::vector<const ptx::Function*> callees(const ptx::Instr& p, const ptx::Body& body) const {
    std::vector<const ptx::Function*> found;
    const Operand* callee = nullptr;
    const Operand* prototype = nullptr;
    for (const Operand& o : p.operands) {
      if (o.kind == Operand::Kind::list) continue;
      (callee == nullptr ? callee : prototype) = &o;
    }
    if (callee == nullptr) return found;
    if (callee->kind != Operand::Kind::reg) {
      const ptx::Function* fn = called_function(module_, callee->symbol);
      if (fn != nullptr && fn->has_body) found.push_back(fn);
      return found;
    }
    const auto it = prototype == nullptr ? body.prototypes.end() : body.prototypes.find(prototype->symbol);
    if (it == body.prototypes.end()) return found;
    for (const ptx::Function& fn : module_.functions)
      if (!fn.is_entry && fn.has_body && matches(fn, it->second)) found.push_back(&fn);
    return found;
  }

  const ptx::Module& module_;
  const BodyOf& body_of_;
  std::map<const ptx::Function*, Node> nodes_;
  std::vector<const ptx::Function*> stack_;
  int last_ = 0;
};

}  // namespace

Result<CallGraph> find_calls(const ptx::Module& module, const ptx::Function& entry, const BodyOf& body_of) {
  Search search(module, body_of);
  WL_TRY(search.visit(entry));
  return std::move(search.out);
}

const ptx::Function* called_function(const ptx::Module& module, const std::string& name) {
  const ptx::Function* fn = module.find_function(name);
  // A chain of aliases has an end; a circle is cut off.
  for (std::size_t k = 0; k < module.functions.size() && fn != nullptr && !fn->has_body && !fn->alias_of.empty(); ++k)
    fn = module.find_function(fn->alias_of);
  return fn;
}

bool matches(const ptx::Function& function, const ptx::Prototype& prototype) {
  const auto same = [](const std::vector<ptx::Param>& a, const std::vector<ptx::Param>& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i)
      if (a[i].bytes != b[i].bytes) return false;
    return true;
  };
  return same(function.params, prototype.params) && same(function.returns, prototype.returns);
}

}  // namespace warploom::ir

// Strongly connected components of the call graph, and what inlining would come to.
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
    // References into a map stay good.
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
        ++nodes_[&fn].calls[callee];
        if (callee == &fn) out.outlined.insert(&fn);
        const auto it = nodes_.find(callee);
        if (it == nodes_.end()) {
          WL_TRY(visit(*callee));
          node.low = std::min(node.low, nodes_[callee].low);
        } else if (it->second.on_stack) {
          node.low = std::min(node.low, it->second.index);
        }
      }
    }
    node.own = (*body)->instrs.size();
    if (node.low != node.index) return {};
    const bool several = stack_.back() != &fn;
    const ptx::Function* top = nullptr;
    do {
      top = stack_.back();
      stack_.pop_back();
      nodes_[top].on_stack = false;
      callees_first_.push_back(top);
      if (several) out.outlined.insert(top);
    } while (top != &fn);
    return {};
  }

  // Leaves functions out of line until the code is small enough, those first that save the most.
  void limit() {
    double bodies = 0;
    for (const ptx::Function* fn : callees_first_) bodies += static_cast<double>(nodes_[fn].own);
    const double most = std::max(kMostInlined, kMostCopies * bodies);
    for (std::size_t turn = 0; turn < callees_first_.size(); ++turn) {
      measure();
      double total = 0, best = 0;
      const ptx::Function* choice = nullptr;
      for (const ptx::Function* fn : callees_first_) {
        const Node& node = nodes_[fn];
        const bool alone = fn->is_entry || out.outlined.contains(fn);
        if (alone) total += node.size;
        if (alone) continue;
        const double saved = (node.copies - 1) * (node.size - kCallCost);
        if (saved > best) best = saved, choice = fn;
      }
      if (total <= most || choice == nullptr) return;
      out.outlined.insert(choice);
    }
  }

  CallGraph out;

 private:
  // Instructions that a call of a function out of line takes, about.
  static constexpr double kCallCost = 40;

  struct Node {
    int index = 0, low = 0;
    bool on_stack = false;
    std::size_t own = 0;  // instructions of the body
    std::map<const ptx::Function*, unsigned> calls;
    double size = 0, copies = 0;  // with what is inlined; how often it would be inlined
  };

  void measure() {
    for (const ptx::Function* fn : callees_first_) {
      Node& node = nodes_[fn];
      node.copies = fn->is_entry ? 1 : 0;
      node.size = static_cast<double>(node.own);
      for (const auto& [callee, count] : node.calls)
        node.size += count * (out.outlined.contains(callee) ? kCallCost : nodes_[callee].size);
    }
    for (auto it = callees_first_.rbegin(); it != callees_first_.rend(); ++it) {
      const Node& node = nodes_[*it];
      // What stands alone is there once.
      const double copies = out.outlined.contains(*it) ? 1 : node.copies;
      for (const auto& [callee, count] : node.calls) nodes_[callee].copies += copies * count;
    }
  }

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
  std::vector<const ptx::Function*> stack_, callees_first_;
  int last_ = 0;
};

}  // namespace

Result<CallGraph> find_calls(const ptx::Module& module, const ptx::Function& entry, const BodyOf& body_of) {
  Search search(module, body_of);
  WL_TRY(search.visit(entry));
  search.limit();
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

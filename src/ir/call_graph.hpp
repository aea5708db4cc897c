// Which functions of a kernel call themselves, directly or through others.
#pragma once

#include <functional>
#include <memory>
#include <set>

#include "ir/ir.hpp"

namespace warploom::ir {

struct CallGraph {
  std::set<const ptx::Function*> recursive;
  bool allocates = false;  // some body moves the stack pointer
};

using BodyOf = std::function<Result<std::shared_ptr<ptx::Body>>(const ptx::Function&)>;

// Of everything that can be reached from `entry`. Indirect calls may reach all functions that match their prototype.
Result<CallGraph> find_calls(const ptx::Module& module, const ptx::Function& entry, const BodyOf& body_of);

// The function of a name, behind its aliases; nullptr when there is none.
const ptx::Function* called_function(const ptx::Module& module, const std::string& name);
// Whether an indirect call with a prototype may reach a function.
bool matches(const ptx::Function& function, const ptx::Prototype& prototype);

}  // namespace warploom::ir

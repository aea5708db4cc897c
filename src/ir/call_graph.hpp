// Which functions of a kernel are not inlined: those that call themselves, and those whose copies would be too much
// code.
#pragma once

#include <functional>
#include <memory>
#include <set>

#include "ir/ir.hpp"

namespace warploom::ir {

struct CallGraph {
  // Those that call themselves, directly or through others; and, of kernels that inlining would multiply,
  // those that save the most when they stand in the kernel once.
  std::set<const ptx::Function*> outlined;
  bool allocates = false;  // some body moves the stack pointer
};

// Instructions that the code of a kernel may come to, with its calls inlined, whatever its functions have; and how many
// times those of its functions it may come to. Kernels of optimising compilers stay below: what they call are slow
// paths.
inline constexpr double kMostInlined = 4000, kMostCopies = 3;

using BodyOf = std::function<Result<std::shared_ptr<ptx::Body>>(const ptx::Function&)>;

// Of everything that can be reached from `entry`. Indirect calls may reach all functions that match their prototype.
Result<CallGraph> find_calls(const ptx::Module& module, const ptx::Function& entry, const BodyOf& body_of);

// The function of a name, behind its aliases; nullptr when there is none.
const ptx::Function* called_function(const ptx::Module& module, const std::string& name);
// Whether an indirect call with a prototype may reach a function.
bool matches(const ptx::Function& function, const ptx::Prototype& prototype);

}  // namespace warploom::ir

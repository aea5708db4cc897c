// From a kernel plan to a relocatable object: LLVM passes and code emission.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "codegen/counters.hpp"
#include "codegen/kernel_plan.hpp"

namespace llvm {
class Module;
class TargetMachine;
}  // namespace llvm

namespace warploom::codegen {

// The function of every object.
inline constexpr const char* kEntrySymbol = "warploom_kernel";
// Begins the symbols of module variables.
inline constexpr const char* kVariablePrefix = "wlg.";

// Seconds that the phases of a compilation took, by the clock of its thread.
struct CompilePhases {
  double emit = 0, passes = 0, code = 0;
};

// One version of a kernel before it is linked; nothing in it depends on the process.
struct CompiledVersion {
  std::string object;                      // ELF
  std::vector<StaticCount> static_counts;  // by site: fixed counts per execution of its block by a full warp
  std::vector<std::pair<ir::BlockId, std::size_t>> debug_lines;  // line n of the object is the element n - 1
  CompilePhases phases;
};

// Safe from several threads. `cancelled` is asked between LLVM's passes; a compilation that gives up ends with an error
// that nobody should see. Other errors: instructions without a lowering.
Result<CompiledVersion> compile(const KernelPlan& plan, Mode mode, const std::function<bool()>& cancelled);

// Runs a pipeline of function passes, in LLVM's notation, on every function of the module, and leaves out those that
// are left when `cancelled`, if given, says so.
void run_function_passes(llvm::Module& module, llvm::TargetMachine& machine, const char* pipeline,
                         const std::function<bool()>& cancelled = {});

// The host's processor: triple, name and features.
const std::string& target_of_host();

Diag jit_error(const std::string& kernel, const std::string& what);

}  // namespace warploom::codegen

// Compilation: what all functions of one kernel share: the LLVM module, options, frozen objects, debug information.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/llvm.hpp"
#include "frontend/python/compiler.hpp"
#include "frontend/python/types.hpp"

namespace warploom::frontend::python {

struct Frame;
struct Value;

// Metadata of the branch by which a negative index wraps around.
inline constexpr const char* wrap_mark = "warploom.wrap";

// A function defined inside the one that is compiled.
struct Closure {
  const Node* node = nullptr;
  Frame* frame = nullptr;
  std::vector<std::shared_ptr<Value>> defaults;
};

// A function that is called instead of expanded: recursive ones.
struct RealFunction {
  llvm::Function* function = nullptr;
  const Type* return_type = nullptr;  // null while it is not known
  bool in_progress = false;
};

class Compilation {
 public:
  Compilation(World& world_object, const Options& options_used);

  World& world;
  const Options& options;
  llvm::LLVMContext context;
  // Atomics order the threads of the device, as CUDA's do, not the whole system.
  llvm::SyncScope::ID device_scope = context.getOrInsertSyncScopeID("device");
  std::unique_ptr<llvm::Module> module;
  Compiled result;

  std::vector<Closure> closures;
  std::map<std::string, RealFunction> functions;
  std::map<std::string, llvm::GlobalVariable*> constants;
  llvm::AllocaInst* dynamic_offset = nullptr;  // bytes of dynamic shared memory that cuda.shared.dynamic gave out
  unsigned frames = 0;                         // numbered, so that the slots of two expansions differ

  llvm::Type* llvm_type(const Type* type);
  // As it lies in memory: bool is a byte.
  llvm::Type* memory_type(const Type* type);
  llvm::FunctionCallee device_library(const std::string& name, llvm::FunctionType* type);
  llvm::GlobalVariable* string_constant(const std::string& text);
  // The record that raise and assert write; made at the first use.
  llvm::GlobalVariable* error_record();
  std::uint32_t exception_code(RaisedException exception);
  void warn(const std::string& category, const std::string& message) { result.warnings.push_back({category, message}); }

  llvm::DISubprogram* subprogram(const FunctionAst& function);
  // One of its own for each function that is emitted: two must not share one.
  llvm::DISubprogram* new_subprogram(const FunctionAst& function);

  // Runs the pass pipeline and prints PTX into result.ptx. A second entry for arrays that overlap gets the other name.
  void emit_ptx(llvm::Function* entry, const std::string& overlapping_name);

 private:
  llvm::DIFile* file(const std::string& path);
  llvm::DIBuilder debug_;
  llvm::DICompileUnit* unit_ = nullptr;
  std::map<std::string, llvm::DIFile*> files_;
  std::map<const FunctionAst*, llvm::DISubprogram*> subprograms_;
};

}  // namespace warploom::frontend::python

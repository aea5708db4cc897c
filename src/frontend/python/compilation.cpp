// The LLVM module of one compilation: types, debug information, the device library, passes and PTX.
#define WARPLOOM_LLVM_NVPTX
#include "frontend/python/compilation.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <mutex>

#include "base/diag.hpp"
#include "frontend/python/aliasing.hpp"
#include "frontend/python/device_library.hpp"
#include "frontend/python/evaluator.hpp"
#include "frontend/python/llvm.hpp"
#include "frontend/python/load_passes.hpp"
#include "frontend/python/recursion.hpp"

namespace warploom::frontend::python {

Compilation::Compilation(World& world_object, const Options& options_used)
    : world(world_object),
      options(options_used),
      module(std::make_unique<llvm::Module>("kernel", context)),
      debug_(*module) {
  module->setTargetTriple(llvm::Triple("nvptx64-nvidia-cuda"));
}

llvm::Type* Compilation::llvm_type(const Type* type) {
  switch (type->kind) {
    case TypeKind::boolean: return llvm::Type::getInt1Ty(context);
    case TypeKind::integer: return llvm::Type::getIntNTy(context, type->bits);
    case TypeKind::floating:
      if (type->bfloat) return llvm::Type::getBFloatTy(context);
      if (type->bits == 16) return llvm::Type::getHalfTy(context);
      return type->bits == 32 ? llvm::Type::getFloatTy(context) : llvm::Type::getDoubleTy(context);
    case TypeKind::complex: {
      llvm::Type* part = llvm_type(float_type(type->bits));
      return llvm::StructType::get(context, {part, part});
    }
    case TypeKind::array: {
      std::vector<llvm::Type*> members{llvm::PointerType::get(context, 0)};
      members.resize(1 + 2 * type->ndim, llvm::Type::getInt64Ty(context));
      return llvm::StructType::get(context, members);
    }
    case TypeKind::record:
    case TypeKind::charseq:
    case TypeKind::nested:
    case TypeKind::pointer: return llvm::PointerType::get(context, 0);
    case TypeKind::datetime:
    case TypeKind::timedelta: return llvm::Type::getInt64Ty(context);
    case TypeKind::enumeration: return llvm_type(type->element);
    case TypeKind::optional:
      return llvm::StructType::get(
          context, llvm::ArrayRef<llvm::Type*>{llvm::Type::getInt1Ty(context), llvm_type(type->element)});
    case TypeKind::vector: return llvm::FixedVectorType::get(llvm_type(type->element), type->ndim);
    case TypeKind::range: {
      llvm::Type* part = llvm_type(type->element);
      return llvm::StructType::get(context, {part, part, part});
    }
    case TypeKind::tuple:
    case TypeKind::slice:
    case TypeKind::iterator: {
      std::vector<llvm::Type*> members;
      members.reserve(type->items.size());
      for (const Type* item : type->items) members.push_back(llvm_type(item));
      return llvm::StructType::get(context, members);
    }
    case TypeKind::method:
      if (type->name == "type") return llvm::StructType::get(context);
      return llvm::StructType::get(context, llvm::ArrayRef<llvm::Type*>{llvm_type(type->element)});
    default: return llvm::StructType::get(context);
  }
}

llvm::Type* Compilation::memory_type(const Type* type) {
  return type->is(TypeKind::boolean) ? llvm::Type::getInt8Ty(context) : llvm_type(type);
}

llvm::FunctionCallee Compilation::device_library(const std::string& name, llvm::FunctionType* type) {
  llvm::FunctionCallee callee = module->getOrInsertFunction(name, type);
  if (auto* function = llvm::dyn_cast<llvm::Function>(callee.getCallee())) function->setDoesNotThrow();
  return callee;
}

llvm::GlobalVariable* Compilation::string_constant(const std::string& text) {
  llvm::GlobalVariable*& global = constants["text:" + text];
  if (!global) {
    llvm::Constant* data = llvm::ConstantDataArray::getString(context, text, true);
    global = new llvm::GlobalVariable(*module, data->getType(), true, llvm::GlobalValue::InternalLinkage, data, "text",
                                      nullptr, llvm::GlobalValue::NotThreadLocal, 4);
  }
  return global;
}

llvm::GlobalVariable* Compilation::error_record() {
  result.has_error_record = true;
  llvm::GlobalVariable*& global = constants["error"];
  if (!global) {
    llvm::Type* type = llvm::ArrayType::get(llvm::Type::getInt8Ty(context), 32);
    global = new llvm::GlobalVariable(*module, type, false, llvm::GlobalValue::ExternalLinkage,
                                      llvm::Constant::getNullValue(type), "warploom_error", nullptr,
                                      llvm::GlobalValue::NotThreadLocal, 1);
    global->setAlignment(llvm::Align(8));
  }
  return global;
}

std::uint32_t Compilation::exception_code(RaisedException exception) {
  auto& list = result.exceptions;
  for (std::size_t i = 0; i < list.size(); ++i)
    if (list[i].class_name == exception.class_name && list[i].class_object == exception.class_object &&
        list[i].arguments == exception.arguments && list[i].line == exception.line && list[i].file == exception.file)
      return static_cast<std::uint32_t>(i + 1);
  list.push_back(std::move(exception));
  return static_cast<std::uint32_t>(list.size());
}

llvm::DIFile* Compilation::file(const std::string& path) {
  llvm::DIFile*& found = files_[path];
  if (!found) {
    const std::filesystem::path whole(path);
    found = debug_.createFile(whole.filename().string(), whole.parent_path().string());
  }
  return found;
}

llvm::DISubprogram* Compilation::subprogram(const FunctionAst& function) {
  llvm::DISubprogram*& found = subprograms_[&function];
  if (!found) found = new_subprogram(function);
  return found;
}

llvm::DISubprogram* Compilation::new_subprogram(const FunctionAst& function) {
  llvm::DIFile* in = file(function.file);
  if (!unit_) {
    unit_ = debug_.createCompileUnit(
        llvm::DISourceLanguageName(llvm::dwarf::DW_LANG_Python), in, "warploom", options.optimize, "", 0, "",
        options.debug ? llvm::DICompileUnit::FullDebug : llvm::DICompileUnit::DebugDirectivesOnly);
    module->addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
    module->addModuleFlag(llvm::Module::Warning, "Dwarf Version", 2);
  }
  llvm::DISubroutineType* type = debug_.createSubroutineType(debug_.getOrCreateTypeArray({}));
  const auto line = static_cast<unsigned>(std::max(1, function.loc.line));
  return debug_.createFunction(in, function.name, {}, in, line, type, line, llvm::DINode::FlagZero,
                               llvm::DISubprogram::SPFlagDefinition | llvm::DISubprogram::SPFlagOptimized);
}

namespace {

std::unique_ptr<llvm::TargetMachine> make_target(unsigned major, unsigned minor, const std::string& suffix,
                                                 bool optimize) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
  std::string error;
  const llvm::Triple triple("nvptx64-nvidia-cuda");
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  WL_INTERNAL("python frontend", target != nullptr, "LLVM lacks the NVPTX target");
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  // Any other target takes LLVM's choice, the oldest PTX that knows it: an older one would end the process.
  const char* version = major == 9 && minor == 0 ? "+ptx80" : major < 8 || (major == 8 && minor == 0) ? "+ptx70" : "";
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, fmt::format("sm_{}{}{}", major, minor, suffix), version, options, std::nullopt, std::nullopt,
      optimize ? llvm::CodeGenOptLevel::Default : llvm::CodeGenOptLevel::None));
}

// The wrap-around of an index is a branch for the CPU device, which sees a plain pattern over the lanes behind it. For
// a GPU, LLVM may make a select of it, which stops neither loads from being moved together nor loops from being
// unrolled.
void choose_wraps(llvm::Function& function, bool gpu) {
  for (llvm::BasicBlock& block : function) {
    auto* branch = llvm::dyn_cast<llvm::BranchInst>(block.getTerminator());
    if (!branch || !branch->getMetadata(wrap_mark)) continue;
    branch->setMetadata(wrap_mark, nullptr);
    if (gpu) branch->setMetadata(llvm::LLVMContext::MD_prof, nullptr);
  }
}

}  // namespace

void Compilation::emit_ptx(llvm::Function* entry, const std::string& overlapping_name) {
  debug_.finalize();
  const auto target = make_target(options.cc_major, options.cc_minor, options.cc_suffix, options.optimize);
  module->setDataLayout(target->createDataLayout());
  for (llvm::Function& one : *module)
    if (!one.isDeclaration()) lower_recursion(*this, one);
  link_device_library(*module);
  // Shared arrays that the code declares stay, also when one thread alone would not need them: a block's shared
  // memory is what its kernel says.
  for (llvm::GlobalVariable& global : module->globals()) {
    global.removeDeadConstantUsers();
    if (global.getAddressSpace() == 3 && global.hasInternalLinkage() && !global.use_empty())
      llvm::appendToCompilerUsed(*module, {&global});
  }
  // The older mark of a kernel, by which readers of the IR know it.
  if (entry->getCallingConv() == llvm::CallingConv::PTX_Kernel) {
    llvm::Metadata* mark[] = {
        llvm::ConstantAsMetadata::get(entry), llvm::MDString::get(context, "kernel"),
        llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), 1))};
    module->getOrInsertNamedMetadata("nvvm.annotations")->addOperand(llvm::MDNode::get(context, mark));
  }
  // Everything but the entry is private; what nothing uses goes.
  for (llvm::Function& one : *module)
    if (!one.isDeclaration() && &one != entry && !one.hasLocalLinkage())
      one.setLinkage(llvm::GlobalValue::InternalLinkage);
  if (options.fast_math)  // denormal numbers are flushed to zero in single precision
    for (llvm::Function& one : *module)
      if (!one.isDeclaration()) one.addFnAttr("denormal-fp-math-f32", "preserve-sign,preserve-sign");
  std::string broken;
  llvm::raw_string_ostream broken_stream(broken);
  if (llvm::verifyModule(*module, &broken_stream)) {
    // A fault of this compiler, not of the kernel; the process that asked goes on.
    throw CompileError{{"LoweringError",
                        fmt::format("internal error of the Python compiler in {}(): please report this kernel.\n{}",
                                    result.entry, broken),
                        {},
                        0,
                        0}};
  }
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager function_analyses;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(target.get());
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(function_analyses);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, function_analyses, graphs, modules);
  if (options.optimize && !options.device && !options.debug) {
    // Which array an access goes through shows once variables are values.
    llvm::FunctionPassManager first;
    first.addPass(llvm::SROAPass(llvm::SROAOptions::PreserveCFG));
    first.addPass(llvm::EarlyCSEPass());
    first.run(*entry, function_analyses);
    choose_wraps(*entry, options.gpu);
    Accesses accesses(*this, *entry);
    const bool two = options.disjoint && accesses.gain_from_disjoint();
    if (two) {
      llvm::ValueToValueMapTy map;
      llvm::Function* other = llvm::CloneFunction(entry, map);
      other->setName(overlapping_name);
      result.overlapping = overlapping_name;
      Accesses(*this, *other).mark(false);
    }
    accesses.mark(two);
    result.arrays = accesses.arrays();
    modules.clear();
    function_analyses.clear();
  }
  llvm::ModulePassManager passes = options.optimize ? builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3)
                                                    : builder.buildO0DefaultPipeline(llvm::OptimizationLevel::O0);
  if (options.optimize) {
    // Where an array's alignment shows only once its address space does, neighbouring loads still become one.
    llvm::FunctionPassManager last;
    last.addPass(llvm::InferAddressSpacesPass());
    last.addPass(llvm::InferAlignmentPass());
    if (options.gpu && !options.device) {
      last.addPass(llvm::LoopSimplifyPass());
      last.addPass(UnrollStrides());
      last.addPass(llvm::SimplifyCFGPass());
      last.addPass(llvm::EarlyCSEPass());
      last.addPass(GatherLoads());
    }
    passes.addPass(llvm::createModuleToFunctionPassAdaptor(std::move(last)));
  }
  passes.run(*module, modules);
  {
    llvm::raw_string_ostream stream(result.llvm);
    module->print(stream, nullptr);
  }
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream out(text);
  llvm::legacy::PassManager emit;
  const bool failed = target->addPassesToEmitFile(emit, out, nullptr, llvm::CodeGenFileType::AssemblyFile);
  WL_INTERNAL("python frontend", !failed, "LLVM cannot print PTX");
  emit.run(*module);
  result.ptx = text.str().str();
}

}  // namespace warploom::frontend::python

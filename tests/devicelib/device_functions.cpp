// Kernels around the device math functions, as LLVM IR text that is linked lazily with the library's bitcode.
#include "device_functions.hpp"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <llvm-c/Target.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Linker/Linker.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Target/TargetMachine.h>
#pragma GCC diagnostic pop

#include <fmt/format.h>

#include <stdexcept>

#include "frontend/python/devicelib/devicelib.hpp"

namespace warploom::test {
namespace {

using frontend::DeviceArgument;
using frontend::DeviceFunction;
using frontend::DeviceType;

const char* ir_type(DeviceType type) {
  switch (type) {
    case DeviceType::none: return "void";
    case DeviceType::int8: return "i8";
    case DeviceType::int16: return "i16";
    case DeviceType::int32: return "i32";
    case DeviceType::int64: return "i64";
    case DeviceType::float32: return "float";
    case DeviceType::float64: return "double";
  }
  throw std::logic_error("unknown type");
}

std::string kernel_text(const DeviceFunction& function) {
  std::string declared, called, loads, stores;
  int inputs = 0, outputs = function.result == DeviceType::none ? 0 : 1, number = 0;
  const auto address = [&](const char* array, int slot, const std::string& name) {
    return fmt::format(
        "  %{2}.s = mul i64 %n64, {1}\n  %{2}.i = add i64 %{2}.s, %i64\n"
        "  %{2} = getelementptr [8 x i8], ptr addrspace(1) %{0}, i64 %{2}.i\n",
        array, slot, name);
  };
  for (const DeviceArgument& argument : function.arguments) {
    const std::string name = fmt::format("a{}", number++);
    const char* type = ir_type(argument.type);
    if (argument.passing == DeviceArgument::Passing::out) {
      loads += fmt::format("  %{} = alloca {}\n", name, type);
      stores += address("out", outputs++, name + "p");
      stores += fmt::format("  %{0}v = load {1}, ptr %{0}\n  store {1} %{0}v, ptr addrspace(1) %{0}p\n", name, type);
      type = "ptr";
    } else {
      loads += address("in", inputs++, name + "p");
      if (argument.passing == DeviceArgument::Passing::in) {
        loads += fmt::format("  %{0} = addrspacecast ptr addrspace(1) %{0}p to ptr\n", name);
        type = "ptr";
      } else {
        loads += fmt::format("  %{0} = load {1}, ptr addrspace(1) %{0}p\n", name, type);
      }
    }
    declared += fmt::format("{}{}", declared.empty() ? "" : ", ", type);
    called += fmt::format("{}{} %{}", called.empty() ? "" : ", ", type, name);
  }
  const char* result = ir_type(function.result);
  const bool value = function.result != DeviceType::none;
  if (value) stores += address("out", 0, "rp") + fmt::format("  store {} %r, ptr addrspace(1) %rp\n", result);
  return fmt::format(
      "declare {0} @{1}({2})\n"
      "define ptx_kernel void @k_{3}(ptr addrspace(1) %in, ptr addrspace(1) %out, i32 %n) {{\n"
      "  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
      "  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()\n"
      "  %d = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()\n"
      "  %bd = mul i32 %b, %d\n  %i = add i32 %bd, %t\n  %ok = icmp ult i32 %i, %n\n"
      "  %i64 = zext i32 %i to i64\n  %n64 = zext i32 %n to i64\n"
      "  br i1 %ok, label %body, label %end\n"
      "body:\n{4}  {5}call {0} @{1}({6})\n{7}  br label %end\nend:\n  ret void\n}}\n",
      result, function.symbol, declared, function.name, loads, value ? "%r = " : "", called, stores);
}

std::unique_ptr<llvm::TargetMachine> make_target() {
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  std::string error;
  const llvm::Triple triple("nvptx64-nvidia-cuda");
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (target == nullptr) throw std::runtime_error(error);
  return std::unique_ptr<llvm::TargetMachine>(
      target->createTargetMachine(triple, "sm_90", "+ptx80", {}, std::nullopt, std::nullopt));
}

void optimise(llvm::Module& module, llvm::TargetMachine& target) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graphs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&target);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graphs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graphs, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, modules);
}

}  // namespace

std::string kernels_for(const std::vector<std::string>& names) {
  std::string text = "target triple = \"nvptx64-nvidia-cuda\"\n";
  for (const char* sreg : {"tid", "ctaid", "ntid"})
    text += fmt::format("declare i32 @llvm.nvvm.read.ptx.sreg.{}.x()\n", sreg);
  for (const std::string& name : names) {
    const DeviceFunction* function = frontend::find_devicelib_function(name);
    if (function == nullptr) throw std::runtime_error("libdevice.sig lacks " + name);
    text += kernel_text(*function);
  }
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  const std::unique_ptr<llvm::Module> module = llvm::parseAssemblyString(text, problem, context);
  if (!module) throw std::runtime_error(problem.getMessage().str() + "\n" + text);
  const std::unique_ptr<llvm::TargetMachine> target = make_target();
  module->setDataLayout(target->createDataLayout());

  const auto bytes = frontend::devicelib_bitcode();
  const llvm::MemoryBufferRef buffer({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, "devicelib");
  auto library = llvm::cantFail(llvm::getLazyBitcodeModule(buffer, context));
  library->setDataLayout(module->getDataLayout());
  if (llvm::Linker::linkModules(*module, std::move(library), llvm::Linker::LinkOnlyNeeded))
    throw std::runtime_error("the device library does not link");
  for (llvm::Function& function : *module)
    if (!function.isDeclaration() && !function.getName().starts_with("k_"))
      function.setLinkage(llvm::GlobalValue::InternalLinkage);
  optimise(*module, *target);
  llvm::SmallString<0> ptx;
  llvm::raw_svector_ostream out(ptx);
  llvm::legacy::PassManager emit;
  if (target->addPassesToEmitFile(emit, out, nullptr, llvm::CodeGenFileType::AssemblyFile))
    throw std::runtime_error("LLVM cannot print PTX");
  emit.run(*module);
  return ptx.str().str();
}

DeviceFunctions::DeviceFunctions(const std::vector<std::string>& names)
    : device_(Device::open("cpu", {.threads = 2})), module_(device_.load_ptx(kernels_for(names), "devicelib")) {}

Slots DeviceFunctions::call(const std::string& name, const Slots& inputs, std::size_t count) const {
  const DeviceArray<std::uint64_t> in(device_, inputs);
  DeviceArray<std::uint64_t> out(device_, Slots(count * 3));
  const auto blocks = static_cast<unsigned>((count + 127) / 128);
  module_.kernel("k_" + name).launch({blocks, 128}, in, out, static_cast<std::uint32_t>(count));
  return out.to_vector();
}

}  // namespace warploom::test

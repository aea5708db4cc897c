// LLVM passes and code emission.
#include "codegen/compile.hpp"

#include <ctime>

#include "codegen/emitter.hpp"
#include "codegen/jit.hpp"
#include "backend/llvm_jit.hpp"

namespace warploom::codegen {

Diag jit_error(const std::string& kernel, const std::string& what) {
  Diag d;
  d.id = ErrorId::jit_failed;
  d.what = "code generation failed: " + what;
  d.where = "kernel " + kernel;
  d.remedy = "this is a fault of Warploom; please report the kernel";
  return d;
}

void run_function_passes(llvm::Module& module, llvm::TargetMachine& machine, const char* pipeline,
                         const std::function<bool()>& cancelled) {
  llvm::LoopAnalysisManager lam;
  llvm::FunctionAnalysisManager fam;
  llvm::CGSCCAnalysisManager cgam;
  llvm::ModuleAnalysisManager mam;
  llvm::PassInstrumentationCallbacks callbacks;
  if (cancelled)
    callbacks.registerShouldRunOptionalPassCallback([&](llvm::StringRef, llvm::Any) { return !cancelled(); });
  llvm::PassBuilder pb(&machine, llvm::PipelineTuningOptions(), std::nullopt, &callbacks);
  pb.registerModuleAnalyses(mam);
  pb.registerCGSCCAnalyses(cgam);
  pb.registerFunctionAnalyses(fam);
  pb.registerLoopAnalyses(lam);
  pb.crossRegisterProxies(lam, fam, cgam, mam);
  llvm::FunctionPassManager fpm;
  if (auto err = pb.parsePassPipeline(fpm, pipeline)) WL_INTERNAL("jit", false, llvm::toString(std::move(err)));
  for (llvm::Function& f : module)
    if (!f.isDeclaration()) fpm.run(f, fam);
}

namespace {

llvm::orc::JITTargetMachineBuilder machine_builder() {
  static const bool initialised = [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    return true;
  }();
  (void)initialised;
  auto builder = llvm::orc::JITTargetMachineBuilder::detectHost();
  WL_INTERNAL("jit", static_cast<bool>(builder), "the host cannot be detected");
  builder->setCodeGenOptLevel(llvm::CodeGenOptLevel::Default);
  builder->getOptions().AllowFPOpFusion = llvm::FPOpFusion::Strict;
  return *builder;
}

// Of this thread: making one takes as long as compiling a small kernel.
llvm::TargetMachine& machine_of_thread() {
  thread_local const std::unique_ptr<llvm::TargetMachine> machine = [] {
    static const auto& builder = *new llvm::orc::JITTargetMachineBuilder(machine_builder());  // outlives all threads
    auto made = llvm::orc::JITTargetMachineBuilder(builder).createTargetMachine();
    WL_INTERNAL("jit", static_cast<bool>(made), "no target machine for this host");
    return std::move(*made);
  }();
  return *machine;
}

// What TargetMachine::addPassesToEmitMC adds, without passes that take time and give nothing: there are no variables
// for a debugger to find, and processors that run out of order need no second scheduling.
bool add_code_passes(llvm::legacy::PassManager& pm, llvm::TargetMachine& machine, llvm::raw_pwrite_stream& out,
                     llvm::CodeGenFileType kind) {
  auto* information = new llvm::MachineModuleInfoWrapperPass(&machine);  // the manager owns its passes
  llvm::TargetPassConfig* config = machine.createPassConfig(pm);
  config->setDisableVerify(true);
  config->disablePass(&llvm::LiveDebugValuesID);
  config->disablePass(&llvm::PostRASchedulerID);
  pm.add(config);
  pm.add(information);
  if (config->addISelPasses()) return false;
  config->addMachinePasses();
  config->setInitialized();
  if (machine.addAsmPrinter(pm, out, nullptr, kind, information->getMMI().getContext())) return false;
  pm.add(llvm::createFreeMachineFunctionPass());
  return true;
}

TargetTraits traits_of_host() {
  TargetTraits t;
  const auto features = llvm::sys::getHostCPUFeatures();
  const auto has = [&](const char* name) {
    auto it = features.find(name);
    return it != features.end() && it->second;
  };
  if (has("avx512f") && has("avx512vl") && has("avx512bw") && has("avx512dq")) {
    t.vector_bytes = 64;
    t.masked_stores = t.gathers = true;
  } else if (!has("avx2")) {
    t.vector_bytes = 16;
  }
  return t;
}

void optimise(llvm::Module& module, llvm::TargetMachine& machine, const std::function<bool()>& cancelled) {
  // What pays for straight SIMD code; the loop and SLP vectorisers have nothing to find here.
  run_function_passes(module, machine,
                      "sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,loop-simplify,lcssa,"
                      "loop-mssa(licm),simplifycfg,early-cse<memssa>,instcombine<no-verify-fixpoint>,dce",
                      cancelled);
}

// Lets machine passes be left out once a compilation is cancelled, all but those that code cannot be made without.
// Instruction selection is none to leave out half of: without optimisation it is another one.
class Gate final : public llvm::OptPassGate {
 public:
  explicit Gate(const std::function<bool()>& cancelled) : cancelled_(cancelled) {}
  [[nodiscard]] bool isEnabled() const override { return true; }
  [[nodiscard]] bool shouldRunPass(llvm::StringRef pass, llvm::StringRef /*where*/) const override {
    return pass.ends_with("Instruction Selection") || !cancelled_();
  }

 private:
  const std::function<bool()>& cancelled_;
};

struct Emitted {
  std::unique_ptr<std::string> error = std::make_unique<std::string>();  // the first that LLVM reported
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
};

// LLVM's own handler would end the process.
void note_error(const llvm::DiagnosticInfo* info, void* error) {
  auto& first = *static_cast<std::string*>(error);
  if (info->getSeverity() != llvm::DS_Error || !first.empty()) return;
  llvm::raw_string_ostream stream(first);
  llvm::DiagnosticPrinterRawOStream printer(stream);
  info->print(printer);
}

Result<Emitted> emit(const KernelPlan& plan, Mode mode, llvm::TargetMachine& machine, const std::string& name,
                     Findings& findings) {
  Emitted out;
  out.context = std::make_unique<llvm::LLVMContext>();
  out.context->setDiagnosticHandlerCallBack(&note_error, out.error.get());
  out.module = std::make_unique<llvm::Module>(name, *out.context);
  out.module->setDataLayout(machine.createDataLayout());
  out.module->setTargetTriple(machine.getTargetTriple());
  out.module->addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  static const TargetTraits traits = traits_of_host();
  findings.static_counts.resize(plan.sites.size());
  Emitter emitter(plan, mode, *out.module, traits, name, findings);
  WL_TRY(emitter.run());
  for (llvm::Function& f : *out.module) {
    if (f.isDeclaration()) continue;
    f.addFnAttr("target-cpu", machine.getTargetCPU());
    f.addFnAttr("target-features", machine.getTargetFeatureString());
  }
  std::string message;
  llvm::raw_string_ostream stream(message);
  if (llvm::verifyModule(*out.module, &stream)) return jit_error(plan.f().name, "invalid LLVM IR: " + message);
  return out;
}

// Object or assembly of what was emitted.
Result<std::string> generate(const Emitted& emitted, llvm::TargetMachine& machine, llvm::CodeGenFileType kind,
                             const std::string& kernel) {
  llvm::SmallString<0> out;
  llvm::raw_svector_ostream stream(out);
  llvm::legacy::PassManager pm;
  if (!add_code_passes(pm, machine, stream, kind))
    return jit_error(
        kernel, kind == llvm::CodeGenFileType::ObjectFile ? "no object code for this host" : "no assembly printer");
  pm.run(*emitted.module);
  if (!emitted.error->empty()) return jit_error(kernel, *emitted.error);
  return out.str().str();
}

class PhaseClock {
 public:
  // Seconds of this thread since the last lap.
  double lap() {
    const double before = last_;
    last_ = now();
    return last_ - before;
  }

 private:
  static double now() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
  }
  double last_ = now();
};

Diag cancelled_error(const KernelPlan& plan) { return jit_error(plan.f().name, "cancelled"); }

}  // namespace

const std::string& target_of_host() {
  static const std::string& text = *new std::string([] {
    const llvm::orc::JITTargetMachineBuilder builder = machine_builder();
    return builder.getTargetTriple().str() + " " + builder.getCPU() + " " + builder.getFeatures().getString();
  }());
  return text;
}

Result<CompiledVersion> compile(const KernelPlan& plan, Mode mode, const std::function<bool()>& cancelled) {
  CompiledVersion out;
  PhaseClock clock;
  llvm::TargetMachine& machine = machine_of_thread();
  Findings findings;
  auto emitted = emit(plan, mode, machine, kEntrySymbol, findings);
  if (!emitted) return std::move(emitted.error());
  out.phases.emit = clock.lap();
  if (cancelled()) return cancelled_error(plan);
  optimise(*emitted->module, machine, cancelled);
  out.phases.passes = clock.lap();
  if (cancelled()) return cancelled_error(plan);
  Gate gate(cancelled);
  emitted->context->setOptPassGate(gate);
  auto object = generate(*emitted, machine, llvm::CodeGenFileType::ObjectFile, plan.f().name);
  if (cancelled()) return cancelled_error(plan);
  if (!object) return std::move(object.error());
  out.object = std::move(*object);
  out.phases.code = clock.lap();
  out.static_counts = std::move(findings.static_counts);
  out.debug_lines = std::move(findings.debug_lines);
  return out;
}

Result<Dump> dump(const std::shared_ptr<KernelPlan>& plan, Mode mode) {
  llvm::TargetMachine& machine = machine_of_thread();
  Findings findings;
  auto emitted = emit(*plan, mode, machine, kEntrySymbol, findings);
  if (!emitted) return std::move(emitted.error());
  Dump out;
  const auto text = [&] {
    std::string s;
    llvm::raw_string_ostream stream(s);
    emitted->module->print(stream, nullptr);
    return s;
  };
  out.llvm = text();
  optimise(*emitted->module, machine, {});
  out.optimised = text();
  auto assembly = generate(*emitted, machine, llvm::CodeGenFileType::AssemblyFile, plan->f().name);
  if (!assembly) return std::move(assembly.error());
  out.assembly = std::move(*assembly);
  return out;
}

}  // namespace warploom::codegen

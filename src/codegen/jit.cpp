// LLVM passes, code emission and linking (ORC).
#define WARPLOOM_LLVM_JIT
#include "codegen/jit.hpp"

#include <chrono>
#include <set>

#include "codegen/emitter.hpp"
#include "backend/llvm.hpp"

namespace warploom::codegen {
namespace {

Diag jit_error(const std::string& kernel, const std::string& what) {
  Diag d;
  d.id = ErrorId::jit_failed;
  d.what = "code generation failed: " + what;
  d.where = "kernel " + kernel;
  d.remedy = "this is a fault of Warploom; please report the kernel";
  return d;
}

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

std::unique_ptr<llvm::TargetMachine> make_machine() {
  auto machine = machine_builder().createTargetMachine();
  WL_INTERNAL("jit", static_cast<bool>(machine), "no target machine for this host");
  return std::move(*machine);
}

// One ORC session for the process; kernels have a dylib each.
llvm::orc::LLJIT& session() {
  static llvm::orc::LLJIT* jit = [] {
    auto created = llvm::orc::LLJITBuilder().setJITTargetMachineBuilder(machine_builder()).create();
    WL_INTERNAL("jit", static_cast<bool>(created), "ORC does not start");
    return created->release();  // lives as long as the process: workers may still run its code at exit
  }();
  return *jit;
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

void optimise(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::LoopAnalysisManager lam;
  llvm::FunctionAnalysisManager fam;
  llvm::CGSCCAnalysisManager cgam;
  llvm::ModuleAnalysisManager mam;
  llvm::PassBuilder pb(&machine);
  pb.registerModuleAnalyses(mam);
  pb.registerCGSCCAnalyses(cgam);
  pb.registerFunctionAnalyses(fam);
  pb.registerLoopAnalyses(lam);
  pb.crossRegisterProxies(lam, fam, cgam, mam);
  llvm::FunctionPassManager fpm;
  // What pays for straight SIMD code; the loop and SLP vectorisers have nothing to find here.
  const char* pipeline =
      "sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-fixpoint>,loop-simplify,lcssa,"
      "loop-mssa(licm),simplifycfg,early-cse<memssa>,instcombine<no-verify-fixpoint>,dce";
  if (auto err = pb.parsePassPipeline(fpm, pipeline)) WL_INTERNAL("jit", false, llvm::toString(std::move(err)));
  for (llvm::Function& f : module)
    if (!f.isDeclaration()) fpm.run(f, fam);
}

struct Emitted {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;
};

Result<Emitted> emit(const KernelPlan& plan, Mode mode, llvm::TargetMachine& machine, const std::string& name,
                     std::vector<StaticCount>& counts) {
  Emitted out;
  out.context = std::make_unique<llvm::LLVMContext>();
  out.module = std::make_unique<llvm::Module>(name, *out.context);
  out.module->setDataLayout(machine.createDataLayout());
  out.module->setTargetTriple(machine.getTargetTriple());
  out.module->addModuleFlag(llvm::Module::Warning, "Debug Info Version", llvm::DEBUG_METADATA_VERSION);
  static const TargetTraits traits = traits_of_host();
  Emitter emitter(plan, mode, *out.module, traits, name, counts);
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

}  // namespace

struct KernelCode::Impl {
  llvm::orc::JITDylib* dylib = nullptr;
  struct Version {
    std::unique_ptr<llvm::MemoryBuffer> object;
    std::uint64_t address = 0, size = 0;
    std::string name;
    std::vector<std::pair<ir::BlockId, std::size_t>> lines;
  };
  std::array<Version, 3> versions;
  std::set<std::string> defined;
};

namespace {
std::atomic<std::uint64_t> next_id{1};
}

KernelCode::KernelCode(std::shared_ptr<KernelPlan> plan, std::span<const HostSymbol> symbols, GlobalResolver globals)
    : impl_(std::make_unique<Impl>()),
      plan_(std::move(plan)),
      symbols_(symbols),
      globals_(std::move(globals)),
      static_counts_(plan_->sites.size()),
      id_(next_id++) {}

KernelCode::~KernelCode() {
  if (impl_->dylib != nullptr) llvm::consumeError(session().getExecutionSession().removeJITDylib(*impl_->dylib));
}

Result<CodeEntry> KernelCode::entry(Mode mode) {
  const auto m = static_cast<std::size_t>(mode);
  if (CodeEntry e = ready(mode)) return e;
  const std::lock_guard lock(mutex_);
  if (CodeEntry e = ready(mode)) return e;
  const auto start = std::chrono::steady_clock::now();
  auto machine = make_machine();
  static std::atomic<unsigned> serial{0};
  static constexpr const char* kModes[] = {"uniform", "masked", "conservative"};
  const std::string name = "wl_" + plan_->f().name + "_" + kModes[m] + "_" + std::to_string(serial++);
  plan_->debug_lines.clear();
  std::vector<StaticCount> unused(static_counts_.size());
  auto emitted = emit(*plan_, mode, *machine, name, mode == Mode::uniform ? static_counts_ : unused);
  if (!emitted) return std::move(emitted.error());
  optimise(*emitted->module, *machine);

  std::vector<std::string> needed;
  for (const llvm::GlobalVariable& g : emitted->module->globals())
    if (g.isDeclaration()) needed.push_back(g.getName().str());
  auto object = llvm::orc::SimpleCompiler(*machine)(*emitted->module);
  if (!object) return jit_error(plan_->f().name, llvm::toString(object.takeError()));

  auto& jit = session();
  if (impl_->dylib == nullptr) {
    auto created = jit.createJITDylib(name);
    if (!created) return jit_error(plan_->f().name, llvm::toString(created.takeError()));
    impl_->dylib = &*created;
    llvm::orc::SymbolMap map;
    const auto define = [&](const std::string& symbol, void* address) {
      map[jit.mangleAndIntern(symbol)] = {llvm::orc::ExecutorAddr::fromPtr(address), llvm::JITSymbolFlags::Exported};
    };
    for (const HostSymbol& s : symbols_) define(s.name, s.address);
    for (const HostFn& fn : host_functions()) define(fn.name, fn.address);
    if (auto err = impl_->dylib->define(llvm::orc::absoluteSymbols(std::move(map))))
      return jit_error(plan_->f().name, llvm::toString(std::move(err)));
  }
  for (const std::string& symbol : needed) {
    if (!symbol.starts_with("wlg.")) continue;
    void* address = globals_(symbol.substr(4));
    if (address == nullptr) {
      Diag d;
      d.id = ErrorId::unresolved_symbol;
      d.what = "variable '" + symbol.substr(4) + "' is declared but not defined";
      d.where = "kernel " + plan_->f().name;
      d.remedy = "link the module that defines it";
      return d;
    }
    // Another version of the kernel may have defined it already.
    if (!impl_->defined.insert(symbol).second) continue;
    llvm::orc::SymbolMap variable;
    variable[jit.mangleAndIntern(symbol)] = {llvm::orc::ExecutorAddr::fromPtr(address), llvm::JITSymbolFlags::Exported};
    if (auto err = impl_->dylib->define(llvm::orc::absoluteSymbols(std::move(variable))))
      return jit_error(plan_->f().name, llvm::toString(std::move(err)));
  }

  Impl::Version& version = impl_->versions[m];
  version.object = llvm::MemoryBuffer::getMemBufferCopy((*object)->getBuffer(), name);
  version.name = name;
  version.lines = plan_->debug_lines;
  if (auto err = jit.addObjectFile(*impl_->dylib, std::move(*object)))
    return jit_error(plan_->f().name, llvm::toString(std::move(err)));
  auto found = jit.lookup(*impl_->dylib, name);
  if (!found) return jit_error(plan_->f().name, llvm::toString(found.takeError()));
  version.address = found->getValue();
  const auto code = found->toPtr<CodeEntry>();
  compile_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  entries_[m].store(code, std::memory_order_release);
  return code;
}

bool KernelCode::locate(const void* pc, CodePlace& place) const {
  const auto at = reinterpret_cast<std::uint64_t>(pc);
  for (const Impl::Version& v : impl_->versions) {
    if (v.address == 0 || at < v.address) continue;
    auto object = llvm::object::ObjectFile::createObjectFile(v.object->getMemBufferRef());
    if (!object) {
      llvm::consumeError(object.takeError());
      continue;
    }
    for (const llvm::object::SymbolRef& symbol : (*object)->symbols()) {
      auto name = symbol.getName();
      if (!name || *name != v.name) {
        if (!name) llvm::consumeError(name.takeError());
        continue;
      }
      auto address = symbol.getAddress();
      auto section = symbol.getSection();
      if (!address || !section) continue;
      const std::uint64_t size = llvm::object::ELFSymbolRef(symbol).getSize();
      if (at >= v.address + size) continue;
      auto dwarf = llvm::DWARFContext::create(**object);
      const llvm::object::SectionedAddress where{*address + (at - v.address), (*section)->getIndex()};
      auto line = dwarf->getLineInfoForAddress(where);
      if (!line || line->Line == 0 || line->Line > v.lines.size()) return false;
      const auto& [block, index] = v.lines[line->Line - 1];
      place = {block, index};
      return true;
    }
  }
  return false;
}

Result<Dump> dump(const std::shared_ptr<KernelPlan>& plan, Mode mode) {
  auto machine = make_machine();
  std::vector<StaticCount> counts(plan->sites.size());
  plan->debug_lines.clear();
  auto emitted = emit(*plan, mode, *machine, "wl_dump", counts);
  if (!emitted) return std::move(emitted.error());
  Dump out;
  const auto text = [&] {
    std::string s;
    llvm::raw_string_ostream stream(s);
    emitted->module->print(stream, nullptr);
    return s;
  };
  out.llvm = text();
  optimise(*emitted->module, *machine);
  out.optimised = text();
  llvm::SmallString<0> assembly;
  llvm::raw_svector_ostream stream(assembly);
  llvm::legacy::PassManager pm;
  if (machine->addPassesToEmitFile(pm, stream, nullptr, llvm::CodeGenFileType::AssemblyFile))
    return jit_error(plan->f().name, "no assembly printer");
  pm.run(*emitted->module);
  out.assembly = assembly.str().str();
  return out;
}

}  // namespace warploom::codegen

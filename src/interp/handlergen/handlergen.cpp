// Writes the interpreter's handlers of pure instructions as an object file: each form of the table, emitted once for 32
// lanes by the very lowering that compiled kernels use.
#include <cstdio>
#include <map>

#include "backend/llvm_jit.hpp"
#include "codegen/compile.hpp"
#include "codegen/ops.hpp"
#include "interp/handlers.hpp"
#include "ir/webs.hpp"

namespace {

using namespace warploom;
using interp::kMaxRefs;

constexpr unsigned kChunk = 8;

class Generator {
 public:
  explicit Generator(llvm::TargetMachine& machine) : machine_(machine), module_("handlers", context_), b_(context_) {
    module_.setDataLayout(machine.createDataLayout());
    module_.setTargetTriple(machine.getTargetTriple());
    module_.setPICLevel(llvm::PICLevel::BigPIC);
    signature_ = llvm::FunctionType::get(b_.getVoidTy(), {b_.getPtrTy(), b_.getPtrTy()}, false);
  }

  void canonical() {
    begin();
    loop(8, [&](llvm::Value* at, unsigned lanes) {
      codegen::OpEnv env{b_, lanes};
      store(1, 0, isa::Type::f32, at, lanes, codegen::canonical_nan(env, load(1, isa::Type::f32, at, lanes)));
      return true;
    });
    finish(interp::kCanonicalKey);
  }

  // False when nothing lowers the instruction.
  bool instruction(const ptx::Instr& p) {
    const std::uint64_t key = interp::handler_key(p);
    if (table_.contains(key)) return true;
    begin();
    std::vector<isa::Type> results, sources;
    std::vector<std::int32_t> immediates;
    for (std::size_t k = 0; k < p.operands.size(); ++k) {
      const isa::Type t = ptx::operand_type(p, k);
      if (ir::is_result(p, k)) {
        results.push_back(t);
        if (p.operands[k].pair != -1) results.push_back(isa::Type::pred);
        if (!ir::is_source(p, k)) continue;
      }
      if (p.operands[k].kind == ptx::Operand::Kind::vector) {
        sources.insert(sources.end(), p.operands[k].elements.size(), t);
        immediates.insert(immediates.end(), p.operands[k].elements.size(), -1);
        continue;
      }
      sources.push_back(t);
      immediates.push_back(p.op == isa::Op::lop3 && k == 4 ? static_cast<std::int32_t>(p.operands[k].imm) : -1);
    }
    const bool carry_in = p.op == isa::Op::addc || p.op == isa::Op::subc || p.op == isa::Op::madc;
    if (carry_in) {
      sources.push_back(isa::Type::pred);
      immediates.push_back(-1);
    }
    if (p.has(isa::Mod::cc)) results.push_back(isa::Type::pred);
    const auto fits = [](isa::Type t) { return t != isa::Type::none && isa::bits(t) != 4 && isa::bits(t) <= 64; };
    bool good = results.size() + sources.size() <= kMaxRefs && !results.empty();
    for (const isa::Type t : results) good = good && fits(t);
    for (const isa::Type t : sources) good = good && fits(t);
    good = good && loop(simple(p.op) ? 32 : kChunk, [&](llvm::Value* at, unsigned lanes) {
             codegen::OpEnv env{b_, lanes};
             std::vector<llvm::Value*> in, out;
             for (std::size_t k = 0; k < sources.size(); ++k)
               in.push_back(immediates[k] >= 0 ? llvm::ConstantInt::get(env.wide(b_.getInt32Ty()),
                                                                        static_cast<std::uint64_t>(immediates[k]))
                                               : load(results.size() + k, sources[k], at, lanes));
             if (!codegen::emit_pure(env, p, in, out) || out.size() != results.size()) return false;
             for (std::size_t k = 0; k < results.size(); ++k) store(results.size(), k, results[k], at, lanes, out[k]);
             return true;
           });
    if (!good) {
      fn_->eraseFromParent();
      return false;
    }
    finish(key);
    return true;
  }

  std::size_t count() const { return table_.size(); }

  void write(const char* path) {
    define_host_calls();
    llvm::Type* entry = llvm::StructType::get(b_.getInt64Ty(), b_.getPtrTy());
    std::vector<llvm::Constant*> entries;
    for (const auto& [key, fn] : table_)
      entries.push_back(llvm::ConstantStruct::get(llvm::cast<llvm::StructType>(entry), {b_.getInt64(key), fn}));
    auto* type = llvm::ArrayType::get(entry, entries.size());
    new llvm::GlobalVariable(module_, type, true, llvm::GlobalValue::ExternalLinkage,
                             llvm::ConstantArray::get(type, entries), "warploom_handlers");
    new llvm::GlobalVariable(module_, b_.getInt64Ty(), true, llvm::GlobalValue::ExternalLinkage,
                             b_.getInt64(entries.size()), "warploom_handler_count");
    for (llvm::GlobalVariable& g : module_.globals()) g.setVisibility(llvm::GlobalValue::HiddenVisibility);
    std::string message;
    llvm::raw_string_ostream stream(message);
    if (llvm::verifyModule(module_, &stream)) {
      std::fprintf(stderr, "handlergen: %s\n", message.c_str());
      std::exit(1);
    }
    codegen::run_function_passes(module_, machine_, "early-cse,instcombine<no-verify-fixpoint>,dce");
    std::error_code error;
    llvm::raw_fd_ostream file(path, error);
    llvm::legacy::PassManager passes;
    if (error || machine_.addPassesToEmitFile(passes, file, nullptr, llvm::CodeGenFileType::ObjectFile)) {
      std::fprintf(stderr, "handlergen: cannot write %s\n", path);
      std::exit(1);
    }
    passes.run(module_);
  }

 private:
  // Worth straight code: one or two machine instructions for a vector.
  static bool simple(isa::Op op) {
    using isa::Op;
    switch (op) {
      case Op::add:
      case Op::sub:
      case Op::mul:
      case Op::mad:
      case Op::fma:
      case Op::and_:
      case Op::or_:
      case Op::xor_:
      case Op::shl:
      case Op::shr:
      case Op::setp:
      case Op::selp: return true;
      default: return false;
    }
  }

  void begin() {
    fn_ =
        llvm::Function::Create(signature_, llvm::Function::InternalLinkage, "h" + llvm::Twine(table_.size()), module_);
    fn_->addFnAttr(llvm::Attribute::NoUnwind);
    fn_->addFnAttr("target-cpu", machine_.getTargetCPU());
    fn_->addFnAttr("target-features", machine_.getTargetFeatureString());
    fn_->addFnAttr("denormal-fp-math", "ieee,ieee");
    b_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", fn_));
    for (llvm::Value*& p : pointers_) p = nullptr;
  }

  void finish(std::uint64_t key) {
    b_.CreateRetVoid();
    table_[key] = fn_;
  }

  template <typename Body>
  bool loop(unsigned lanes, Body body) {
    if (lanes == 32) return body(b_.getInt64(0), 32);
    llvm::BasicBlock* before = b_.GetInsertBlock();
    llvm::BasicBlock* again = llvm::BasicBlock::Create(context_, "lanes", fn_);
    llvm::BasicBlock* after = llvm::BasicBlock::Create(context_, "done", fn_);
    // Pointers are made before the loop.
    for (std::size_t k = 0; k < kMaxRefs; ++k) pointer(k);
    b_.CreateBr(again);
    b_.SetInsertPoint(again);
    llvm::PHINode* lane = b_.CreatePHI(b_.getInt64Ty(), 2);
    lane->addIncoming(b_.getInt64(0), before);
    if (!body(lane, lanes)) return false;
    llvm::Value* next = b_.CreateAdd(lane, b_.getInt64(lanes));
    lane->addIncoming(next, b_.GetInsertBlock());
    b_.CreateCondBr(b_.CreateICmpULT(next, b_.getInt64(32)), again, after);
    b_.SetInsertPoint(after);
    return true;
  }

  llvm::Value* pointer(std::size_t k) {
    if (pointers_[k] != nullptr) return pointers_[k];
    llvm::Value* at =
        b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), fn_->getArg(1), offsetof(interp::Step, ref) + 4 * k);
    llvm::Value* ref = b_.CreateZExt(b_.CreateAlignedLoad(b_.getInt32Ty(), at, llvm::Align(4)), b_.getInt64Ty());
    llvm::Value* which = b_.CreateAnd(ref, 1);
    llvm::Value* base = b_.CreateLoad(b_.getPtrTy(), b_.CreateInBoundsGEP(b_.getPtrTy(), fn_->getArg(0), which));
    pointers_[k] = b_.CreateInBoundsGEP(b_.getInt8Ty(), base, b_.CreateAnd(ref, ~std::uint64_t{1}));
    return pointers_[k];
  }

  llvm::Value* lanes_at(std::size_t k, isa::Type t, llvm::Value* lane) {
    llvm::Value* offset =
        t == isa::Type::pred ? b_.CreateLShr(lane, 3) : b_.CreateMul(lane, b_.getInt64(isa::bytes(t)));
    return b_.CreateInBoundsGEP(b_.getInt8Ty(), pointer(k), offset);
  }
  static llvm::Align align_of(isa::Type t, unsigned lanes) {
    const unsigned bytes = t == isa::Type::pred ? lanes / 8 : lanes * isa::bytes(t);
    return llvm::Align(std::min(bytes, 64U));
  }

  llvm::Value* load(std::size_t k, isa::Type t, llvm::Value* lane, unsigned lanes) {
    llvm::Value* at = lanes_at(k, t, lane);
    llvm::Type* type = llvm::FixedVectorType::get(codegen::lane_type(context_, t), lanes);
    if (t != isa::Type::pred) return b_.CreateAlignedLoad(type, at, align_of(t, lanes));
    return b_.CreateBitCast(b_.CreateAlignedLoad(b_.getIntNTy(lanes), at, align_of(t, lanes)), type);
  }

  void store(std::size_t, std::size_t k, isa::Type t, llvm::Value* lane, unsigned lanes, llvm::Value* v) {
    if (t == isa::Type::pred) v = b_.CreateBitCast(v, b_.getIntNTy(lanes));
    b_.CreateAlignedStore(v, lanes_at(k, t, lane), align_of(t, lanes));
  }

  // Rare operations call native functions; the interpreter passes their addresses in an array.
  void define_host_calls() {
    std::uint64_t index = 0;
    for (const codegen::HostFn& host : codegen::host_functions()) {
      llvm::Function* fn = module_.getFunction(host.name);
      const std::uint64_t at = index++;
      if (fn == nullptr) continue;
      fn->setLinkage(llvm::Function::InternalLinkage);
      b_.SetInsertPoint(llvm::BasicBlock::Create(context_, "entry", fn));
      llvm::Constant* array = module_.getOrInsertGlobal("warploom_handler_natives", b_.getPtrTy());
      llvm::Value* callee = b_.CreateLoad(b_.getPtrTy(), b_.CreateConstGEP1_64(b_.getPtrTy(), array, at));
      std::vector<llvm::Value*> args;
      for (llvm::Argument& a : fn->args()) args.push_back(&a);
      b_.CreateCall(fn->getFunctionType(), callee, args);
      b_.CreateRetVoid();
    }
  }

  llvm::LLVMContext context_;
  llvm::TargetMachine& machine_;
  llvm::Module module_;
  llvm::IRBuilder<> b_;
  llvm::FunctionType* signature_ = nullptr;
  llvm::Function* fn_ = nullptr;
  llvm::Value* pointers_[kMaxRefs] = {};
  std::map<std::uint64_t, llvm::Function*> table_;
};

// Calls f with every instruction that a form allows, operands being registers.
template <typename F>
void for_each_instruction(const isa::Row& row, const isa::Form& form, F f) {
  std::vector<std::size_t> digits(form.groups.size() + form.types.size(), 0);
  for (;;) {
    ptx::Instr p;
    p.op = row.op;
    p.form = &form;
    bool allowed = true;
    for (std::size_t g = 0; g < form.groups.size(); ++g) {
      // The last digit of an optional group stands for none.
      if (digits[g] < form.groups[g].choices.size())
        p.mods.set(static_cast<std::size_t>(form.groups[g].choices[digits[g]]));
    }
    for (std::size_t t = 0; t < form.types.size(); ++t)
      p.types[p.type_count++] = form.types[t][digits[form.groups.size() + t]];
    bool may_pair = false, pair_due = false;
    for (const isa::OperandSpec& spec : form.operands) {
      if (spec.optional) continue;
      ptx::Operand o;
      o.kind = (spec.kinds & isa::kReg) != 0 ? ptx::Operand::Kind::reg : ptx::Operand::Kind::imm;
      o.reg = static_cast<std::int32_t>(p.operands.size());
      if (row.op == isa::Op::cvt && spec.kinds == isa::kVector) {
        o.kind = ptx::Operand::Kind::vector;
        o.elements.assign(4, ptx::Operand{});
        for (ptx::Operand& element : o.elements) element.reg = o.reg;
      }
      if (p.operands.empty()) {
        may_pair = (spec.kinds & isa::kPredPair) != 0;
        pair_due = (spec.kinds & isa::kPairDue) != 0;
      }
      p.operands.push_back(o);
    }
    // The first type of vmad says nothing.
    if (row.op == isa::Op::vmad && p.types[0] != isa::Type::u32) allowed = false;
    const unsigned tables = row.op == isa::Op::lop3 ? 256 : 1;
    for (unsigned table = 0; table < tables && allowed; ++table) {
      if (row.op == isa::Op::lop3 && p.operands.size() > 4) p.operands[4].imm = table;
      if (!pair_due) f(p);
      if (row.op == isa::Op::vmad && !p.has(isa::Mod::po)) {
        for (const std::size_t k : {std::size_t{1}, std::size_t{3}}) {
          p.operands[k].minus = true;
          f(p);
          p.operands[k].minus = false;
        }
      }
      if (may_pair && row.op != isa::Op::lop3) {
        p.operands[0].pair = 0;
        f(p);
        p.operands[0].pair = -1;
      }
    }
    std::size_t i = 0;
    for (; i < digits.size(); ++i) {
      const std::size_t radix = i < form.groups.size()
                                    ? form.groups[i].choices.size() + (form.groups[i].required ? 0 : 1)
                                    : form.types[i - form.groups.size()].size();
      if (++digits[i] < radix) break;
      digits[i] = 0;
    }
    if (i == digits.size()) return;
  }
}

}  // namespace

// handlergen FILE [TRIPLE CPU]
int main(int argc, char** argv) {
  if (argc != 2 && argc != 4) {
    std::fprintf(stderr, "usage: handlergen FILE.o [TRIPLE CPU]\n");
    return 2;
  }
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  const llvm::Triple triple(argc == 4 ? argv[2] : llvm::sys::getDefaultTargetTriple());
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (target == nullptr) {
    std::fprintf(stderr, "handlergen: %s\n", error.c_str());
    return 1;
  }
  const char* cpu = triple.getArch() == llvm::Triple::x86_64 ? "x86-64-v3" : "generic";
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;
  std::unique_ptr<llvm::TargetMachine> machine(target->createTargetMachine(
      triple, argc == 4 ? argv[3] : cpu, "", options, llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Default));
  Generator generator(*machine);
  generator.canonical();
  std::map<std::string, std::size_t> by_row;
  for (const isa::Row& row : isa::rows())
    for (const isa::Form& form : row.forms) {
      if (form.flow != isa::Flow::pure || form.emit == "unsupported" || form.emit == "compound" ||
          row.op == isa::Op::mov || row.op == isa::Op::cvta || row.op == isa::Op::createpolicy)
        continue;
      // Half of all forms, and compilers hardly make them: a comparison into a register with a predicate beside it.
      if (row.op == isa::Op::set && form.operands.size() > 3) continue;
      const std::size_t before = generator.count();
      for_each_instruction(row, form, [&](const ptx::Instr& p) { generator.instruction(p); });
      by_row[std::string(row.name)] += generator.count() - before;
    }
  if (std::getenv("HANDLERGEN_COUNT") != nullptr) {
    for (const auto& [name, n] : by_row) std::printf("%s %zu\n", name.c_str(), n);
    std::printf("all %zu\n", generator.count());
    return 0;
  }
  generator.write(argv[1]);
  return 0;
}

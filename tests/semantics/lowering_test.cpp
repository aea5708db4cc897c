// Compiles every case with one lane and with vectors of lanes, and compares with the scalar reference.
#include <gtest/gtest.h>

#include <cstring>

#include "codegen/ops.hpp"
#include "lowering.hpp"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#pragma GCC diagnostic pop

namespace warploom::semantics {
namespace {

namespace orc = llvm::orc;
using Function = void (*)(u64* const* sources, u64* const* results);

constexpr unsigned kLanes[] = {1, 8, 32};
constexpr unsigned kMost = kOperandMultiple;

// Builds the instruction that the text names; a modifier that contains a dot ("xorsign.abs") is tried first.
bool parse(const Case& c, ptx::Instr& instr) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= c.text.size();) {
    const std::size_t dot = std::min(c.text.find('.', at), c.text.size());
    parts.push_back(c.text.substr(at, dot - at));
    at = dot + 1;
  }
  const isa::Row* row = isa::find_row(parts[0]);
  if (row == nullptr) return false;
  instr.op = row->op;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    isa::Mod mod{};
    if (i + 1 < parts.size() && isa::find_mod(parts[i] + "." + parts[i + 1], mod)) {
      instr.mods.set(static_cast<std::size_t>(mod));
      ++i;
    } else if (const Type t = isa::type_from_name(parts[i]); t != Type::none) {
      instr.types[instr.type_count++] = t;
    } else if (isa::find_mod(parts[i], mod)) {
      instr.mods.set(static_cast<std::size_t>(mod));
    } else {
      return false;
    }
  }
  if (c.pair) {
    instr.operands.resize(1);
    instr.operands[0].pair = 1;
  }
  return true;
}

std::string symbol(std::size_t i, unsigned lanes) { return "case" + std::to_string(i) + "x" + std::to_string(lanes); }

// Operands stand in arrays of 64-bit words, one for each lane.
bool build(llvm::Module& module, const Case& c, const std::string& name, unsigned lanes) {
  llvm::LLVMContext& context = module.getContext();
  llvm::IRBuilder<> b(context);
  llvm::Type* pointer = b.getPtrTy();
  auto* function = llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), {pointer, pointer}, false),
                                          llvm::Function::ExternalLinkage, name, module);
  b.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", function));
  codegen::OpEnv env{b, lanes, true};
  ptx::Instr instr;
  if (!parse(c, instr)) {
    ADD_FAILURE() << c.text << ": no such instruction";
    return false;
  }
  const auto slot = [&](unsigned argument, std::size_t i) {
    return b.CreateLoad(pointer, b.CreateConstGEP1_64(pointer, function->getArg(argument), i));
  };
  llvm::Type* words = env.wide(b.getInt64Ty());
  std::vector<llvm::Value*> in, out;
  for (std::size_t i = 0; i < c.in.size(); ++i) {
    llvm::Value* v = b.CreateTrunc(b.CreateAlignedLoad(words, slot(0, i), llvm::Align(8)),
                                   env.wide(b.getIntNTy(isa::bits(c.in[i]))));
    in.push_back(b.CreateBitCast(v, env.wide(codegen::lane_type(context, c.in[i]))));
  }
  if (c.has_immediate) in.push_back(llvm::ConstantInt::get(env.wide(b.getInt32Ty()), c.immediate));
  if (!codegen::emit_pure(env, instr, in, out) || out.size() != c.out.size()) {
    ADD_FAILURE() << c.text << ": not lowered, or " << out.size() << " results";
    return false;
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    llvm::Type* want = env.wide(codegen::lane_type(context, c.out[i]));
    if (out[i]->getType() != want) {
      ADD_FAILURE() << c.text << ": result " << i << " has another type";
      return false;
    }
    llvm::Value* v = b.CreateBitCast(out[i], env.wide(b.getIntNTy(isa::bits(c.out[i]))));
    b.CreateAlignedStore(b.CreateZExt(v, words), slot(1, i), llvm::Align(8));
  }
  b.CreateRetVoid();
  return true;
}

std::unique_ptr<orc::LLJIT> compile(const std::vector<Case>& cases) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  auto host = cantFail(orc::JITTargetMachineBuilder::detectHost());
  auto jit = cantFail(orc::LLJITBuilder().setJITTargetMachineBuilder(host).create());
  orc::SymbolMap natives;
  for (const codegen::HostFn& f : codegen::host_functions()) {
    natives[jit->mangleAndIntern(f.name)] = {orc::ExecutorAddr::fromPtr(f.address), llvm::JITSymbolFlags::Exported};
  }
  cantFail(jit->getMainJITDylib().define(orc::absoluteSymbols(natives)));

  auto context = std::make_unique<llvm::LLVMContext>();
  auto module = std::make_unique<llvm::Module>("cases", *context);
  module->setDataLayout(jit->getDataLayout());
  module->setTargetTriple(jit->getTargetTriple());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    for (const unsigned lanes : kLanes) {
      if (!build(*module, cases[i], symbol(i, lanes), lanes)) return nullptr;
    }
  }
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(*module, &stream)) {
    ADD_FAILURE() << problem;
    return nullptr;
  }
  auto machine = cantFail(host.createTargetMachine());
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager calls;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder passes(machine.get());
  passes.registerModuleAnalyses(modules);
  passes.registerCGSCCAnalyses(calls);
  passes.registerFunctionAnalyses(functions);
  passes.registerLoopAnalyses(loops);
  passes.crossRegisterProxies(loops, functions, calls, modules);
  passes.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(*module, modules);
  cantFail(jit->addIRModule(orc::ThreadSafeModule(std::move(module), std::move(context))));
  return jit;
}

void check(const Case& c, Function function, unsigned lanes, const std::vector<std::vector<u64>>& sets) {
  constexpr std::size_t kSources = 6, kResults = 2;
  u64 in[kSources][kMost] = {}, out[kResults][kMost] = {};
  u64 *sources[kSources], *results[kResults];
  for (std::size_t i = 0; i < kSources; ++i) sources[i] = in[i];
  for (std::size_t i = 0; i < kResults; ++i) results[i] = out[i];
  int bad = 0;
  for (std::size_t at = 0; at < sets.size(); at += lanes) {
    for (unsigned lane = 0; lane < lanes; ++lane) {
      for (std::size_t i = 0; i < c.in.size(); ++i) in[i][lane] = sets[at + lane][i];
    }
    function(sources, results);
    for (unsigned lane = 0; lane < lanes; ++lane) {
      const std::vector<u64>& set = sets[at + lane];
      u64 want[kResults] = {};
      if (c.ref) c.ref(set.data(), want);
      for (std::size_t i = 0; i < c.out.size(); ++i) {
        const u64 got = out[i][lane];
        const bool good =
            c.near ? c.near(set.data(), got)
                   : got == want[i] || (c.any_nan && is_nan_bits(c.out[i], got) && is_nan_bits(c.out[i], want[i]));
        if (good || ++bad > 3) continue;
        std::string values;
        for (const u64 v : set) values += llvm::formatv(" {0:x}", v).str();
        ADD_FAILURE() << c.text << " with " << lanes << " lanes," << values << ": result " << i << " is " << std::hex
                      << got << ", not " << want[i];
      }
    }
  }
  if (bad > 3) ADD_FAILURE() << c.text << ": " << bad << " wrong results";
}

void run(const std::vector<Case>& cases) {
  const auto jit = compile(cases);
  ASSERT_NE(jit, nullptr);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const auto sets = operands(cases[i], 1500);
    for (const unsigned lanes : kLanes) {
      check(cases[i], cantFail(jit->lookup(symbol(i, lanes))).toPtr<Function>(), lanes, sets);
    }
  }
}

TEST(Lowering, integers) { run(integer_cases()); }
TEST(Lowering, floats) { run(float_cases()); }
TEST(Lowering, conversions) { run(convert_cases()); }
TEST(Lowering, approximations) { run(approx_cases()); }

// mov packs the first element lowest and takes a register apart the same way.
TEST(Lowering, mov_packs_and_unpacks) {
  llvm::LLVMContext context;
  llvm::IRBuilder<> b(context);
  codegen::OpEnv env{b, 1};
  ptx::Instr instr;
  instr.op = isa::Op::mov;
  instr.types[0] = Type::b64;
  std::vector<llvm::Value*> out;
  llvm::Value* parts[] = {b.getInt16(0x1111), b.getInt16(0x2222), b.getInt16(0x3333), b.getInt16(0x4444)};
  ASSERT_TRUE(codegen::emit_pure(env, instr, parts, out));
  EXPECT_EQ(llvm::cast<llvm::ConstantInt>(out.at(0))->getZExtValue(), 0x4444333322221111u);
  instr.operands.resize(2);
  instr.operands[0].kind = ptx::Operand::Kind::vector;
  instr.operands[0].elements.resize(2);
  llvm::Value* whole[] = {out[0]};
  std::vector<llvm::Value*> halves;
  ASSERT_TRUE(codegen::emit_pure(env, instr, whole, halves));
  ASSERT_EQ(halves.size(), 2u);
  EXPECT_EQ(llvm::cast<llvm::ConstantInt>(halves[0])->getZExtValue(), 0x22221111u);
  EXPECT_EQ(llvm::cast<llvm::ConstantInt>(halves[1])->getZExtValue(), 0x44443333u);
}

}  // namespace
}  // namespace warploom::semantics

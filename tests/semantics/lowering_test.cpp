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
  // In the cases the flag of a subtraction says that it borrowed.
  const bool borrows = instr.op == isa::Op::subc || (instr.op == isa::Op::sub && instr.has(isa::Mod::cc));
  if (instr.op == isa::Op::subc) in.back() = b.CreateNot(in.back());
  if (!codegen::emit_pure(env, instr, in, out) || out.size() != c.out.size()) {
    ADD_FAILURE() << c.text << ": not lowered, or " << out.size() << " results";
    return false;
  }
  if (borrows && instr.has(isa::Mod::cc)) out.back() = b.CreateNot(out.back());
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

// One instruction of a form, with operands of the types that the table gives.
struct Sample {
  ptx::Instr instr;
  std::string text;
};
void add_operands(Sample& sample) {
  for (const isa::OperandSpec& spec : sample.instr.form->operands) {
    if (spec.optional) break;
    ptx::Operand operand;
    if ((spec.kinds & isa::kPredPair) != 0 && (spec.kinds & isa::kPairDue) != 0) operand.pair = 1;
    sample.instr.operands.push_back(operand);
  }
}
// Every choice of types, and of each modifier group in turn with the others at their first choice (or absent).
std::vector<Sample> samples(const isa::Row& row, const isa::Form& form) {
  std::vector<std::vector<Type>> types = {{}};
  for (const auto& choices : form.types) {
    std::vector<std::vector<Type>> longer;
    for (const auto& prefix : types) {
      for (const Type t : choices) {
        longer.push_back(prefix);
        longer.back().push_back(t);
      }
    }
    types = std::move(longer);
  }
  std::vector<isa::ModSet> mods;
  isa::ModSet least;
  for (const isa::ModGroup& g : form.groups) {
    if (g.required) least.set(static_cast<std::size_t>(g.choices[0]));
  }
  mods.push_back(least);
  for (const isa::ModGroup& g : form.groups) {
    for (const isa::Mod m : g.choices) {
      isa::ModSet set = least;
      if (g.required) set.reset(static_cast<std::size_t>(g.choices[0]));
      mods.push_back(set.set(static_cast<std::size_t>(m)));
    }
  }
  std::vector<Sample> all;
  for (const auto& t : types) {
    for (const isa::ModSet& m : mods) {
      Sample sample;
      sample.instr.op = row.op;
      sample.instr.form = &form;
      sample.instr.mods = m;
      for (const Type x : t) sample.instr.types[sample.instr.type_count++] = x;
      sample.text = std::string(form.text) + " with";
      for (std::size_t i = 0; i < isa::kModCount; ++i) {
        if (m.test(i)) sample.text += " ." + std::string(isa::name(static_cast<isa::Mod>(i)));
      }
      for (const Type x : t) sample.text += " ." + std::string(isa::name(x));
      add_operands(sample);
      all.push_back(std::move(sample));
    }
  }
  return all;
}

// No form of a pure instruction is forgotten, and results have the types of the table.
TEST(Lowering, every_pure_form_is_lowered) {
  llvm::LLVMContext context;
  llvm::Module module("forms", context);
  llvm::IRBuilder<> b(context);
  auto* function = llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), false),
                                          llvm::Function::ExternalLinkage, "forms", module);
  b.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", function));
  codegen::OpEnv env{b, 8};
  std::size_t lowered = 0;
  for (const isa::Row& row : isa::rows()) {
    // Addresses and cache policies are the engine's.
    if (row.op == isa::Op::cvta || row.op == isa::Op::isspacep || row.op == isa::Op::createpolicy) continue;
    for (const isa::Form& form : row.forms) {
      if (form.flow != isa::Flow::pure || form.emit == "unsupported" || form.emit == "compound") continue;
      for (const Sample& s : samples(row, form)) {
        const auto type = [&](std::size_t i) { return codegen::lane_type(context, ptx::operand_type(s.instr, i)); };
        std::vector<llvm::Value*> in, out;
        std::vector<llvm::Type*> want;
        for (std::size_t i = 0; i < s.instr.operands.size(); ++i) {
          if (ptx::operand_role(s.instr, i) == isa::Role::dst) {
            want.push_back(env.wide(type(i)));
            if (s.instr.operands[i].pair == 1) want.push_back(env.wide(b.getInt1Ty()));
          } else if (form.operands[i].name == "lut") {
            in.push_back(llvm::ConstantInt::get(env.wide(type(i)), 0x1b));
          } else {
            // Only conversions of four values to one register take a vector.
            for (int n = form.operands[i].kinds == isa::kVector ? 4 : 1; n != 0; --n)
              in.push_back(b.CreateLoad(env.wide(type(i)), llvm::Constant::getNullValue(b.getPtrTy())));
          }
        }
        if (row.op == isa::Op::addc || row.op == isa::Op::subc || row.op == isa::Op::madc) {
          in.push_back(llvm::Constant::getNullValue(env.wide(b.getInt1Ty())));
        }
        if (s.instr.has(isa::Mod::cc)) want.push_back(env.wide(b.getInt1Ty()));
        ASSERT_TRUE(codegen::emit_pure(env, s.instr, in, out)) << s.text;
        // The pair of a packed comparison is made whether it is asked for or not.
        if (row.op == isa::Op::setp && out.size() > want.size()) out.resize(want.size());
        ASSERT_EQ(out.size(), want.size()) << s.text;
        for (std::size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i]->getType(), want[i]) << s.text;
        ++lowered;
      }
    }
  }
  b.CreateRetVoid();
  EXPECT_GT(lowered, 1000u);
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  EXPECT_FALSE(llvm::verifyModule(module, &stream)) << problem;
}

}  // namespace
}  // namespace warploom::semantics

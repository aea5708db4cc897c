// Native functions for operations too rare to deserve a vector lowering: the scalar references, over all lanes.
#include <string>

#include "codegen/ops_emit.hpp"
#include "isa/ref/bits.hpp"
#include "isa/ref/convert.hpp"

namespace warploom::codegen {

namespace {

namespace ref = isa::ref;
using ref::kF16;
using ref::kF32;
using ref::kF64;
using ref::Round;
using u64 = std::uint64_t;

template <auto function>
void lanes(u64* d, const u64* a, const u64* b, const u64* c, u64 n) {
  for (u64 i = 0; i < n; ++i) d[i] = function(a[i], b[i], c[i]);
}

template <Round mode>
u64 add(u64 a, u64 b, u64) {
  return ref::add(kF64, mode, a, b);
}
template <Round mode>
u64 sub(u64 a, u64 b, u64) {
  return ref::sub(kF64, mode, a, b);
}
template <Round mode>
u64 mul(u64 a, u64 b, u64) {
  return ref::mul(kF64, mode, a, b);
}
template <Round mode>
u64 fma(u64 a, u64 b, u64 c) {
  return ref::fma(kF64, mode, a, b, c);
}
template <Round mode>
u64 div(u64 a, u64 b, u64) {
  return ref::div(kF64, mode, a, b);
}
template <Round mode>
u64 sqrt(u64 a, u64, u64) {
  return ref::sqrt(kF64, mode, a);
}
u64 fns(u64 a, u64 b, u64 c) { return ref::fns(std::uint32_t(a), std::uint32_t(b), std::int32_t(std::uint32_t(c))); }

// Two f32 (a above b), or the two halves of an f16x2, to a pair of 8-bit floats; and back.
template <bool e4m3, bool relu>
u64 pair_f32(u64 a, u64 b, u64) {
  const auto one = [](u64 x) { return e4m3 ? ref::to_e4m3(kF32, x, relu) : ref::to_e5m2(kF32, x, relu); };
  return u64(one(a)) << 8 | one(b);
}
template <bool e4m3, bool relu>
u64 pair_f16(u64 a, u64, u64) {
  const auto one = [](u64 x) { return e4m3 ? ref::to_e4m3(kF16, x, relu) : ref::to_e5m2(kF16, x, relu); };
  return u64(one(a >> 16 & 0xffff)) << 8 | one(a & 0xffff);
}
template <bool e4m3, bool relu>
u64 to_f16x2(u64 a, u64, u64) {
  const auto one = [](u64 x) {
    const auto byte = std::uint8_t(x);
    const u64 r = e4m3 ? ref::from_e4m3(kF16, byte) : ref::from_e5m2(kF16, byte);
    return relu && ref::is_negative(kF16, r) && !ref::is_nan(kF16, r) ? u64(0) : r;
  };
  return one(a >> 8) << 16 | one(a);
}

// Formats of 4 and 6 bits, in fields of 4 or 8: two f32 to a pair, a pair to f16x2, four f32 (two in a word, the first
// above) with random bits to four.
template <ref::Narrow to>
constexpr unsigned kField = to.exponent + to.fraction < 4 ? 4 : 8;
template <ref::Narrow to, bool relu>
u64 narrow_pair(u64 a, u64 b, u64) {
  return u64(ref::to_narrow(to, kF32, a, relu)) << kField<to> | ref::to_narrow(to, kF32, b, relu);
}
template <ref::Narrow from, bool relu>
u64 narrow_to_f16x2(u64 a, u64, u64) {
  const auto one = [](u64 x) {
    const u64 r = ref::from_narrow(from, kF16, std::uint8_t(x));
    return relu && ref::is_negative(kF16, r) && !ref::is_nan(kF16, r) ? u64(0) : r;
  };
  return one(a >> kField<from> & ((1U << kField<from>)-1)) << 16 | one(a & ((1U << kField<from>)-1));
}
template <ref::Narrow to, bool relu>
u64 narrow_four(u64 ab, u64 ef, u64 random) {
  u64 d = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const u64 x = (i < 2 ? ab : ef) >> (i % 2 == 0 ? 32 : 0) & 0xffffffff;
    d = d << kField<to> | ref::to_narrow(to, kF32, x, relu, ref::random_of(std::uint32_t(random), kField<to> == 4, i));
  }
  return d;
}
template <ref::Format to, bool relu, bool finite>
u64 stochastic_pair(u64 a, u64 b, u64 random) {
  const int bits = to == kF16 ? 13 : 16;
  return ref::stochastic(to, {std::uint32_t(random >> 16), bits}, relu, finite, std::uint32_t(a)) << 16 |
         ref::stochastic(to, {std::uint32_t(random), bits}, relu, finite, std::uint32_t(b));
}
template <bool up, bool finite>
u64 ue8m0_f32(u64 a, u64 b, u64) {
  return u64(ref::to_ue8m0(kF32, a, up, finite)) << 8 | ref::to_ue8m0(kF32, b, up, finite);
}
template <bool up, bool finite>
u64 ue8m0_bf16(u64 a, u64, u64) {
  return u64(ref::to_ue8m0(ref::kBf16, a >> 16 & 0xffff, up, finite)) << 8 |
         ref::to_ue8m0(ref::kBf16, a & 0xffff, up, finite);
}
u64 from_ue8m0(u64 a, u64, u64) {
  return u64(ref::bf16_of_ue8m0(std::uint8_t(a >> 8))) << 16 | ref::bf16_of_ue8m0(std::uint8_t(a));
}

#define WARPLOOM_DIRECTED(op)                                                            \
  {"warploom.ref." #op ".rz.f64", reinterpret_cast<void*>(&lanes<op<Round::rz>>)},       \
      {"warploom.ref." #op ".rm.f64", reinterpret_cast<void*>(&lanes<op<Round::rm>>)}, { \
    "warploom.ref." #op ".rp.f64", reinterpret_cast<void*>(&lanes<op<Round::rp>>)        \
  }
#define WARPLOOM_FP8(op)                                                                     \
  {"warploom.ref." #op ".e4m3", reinterpret_cast<void*>(&lanes<op<true, false>>)},           \
      {"warploom.ref." #op ".e5m2", reinterpret_cast<void*>(&lanes<op<false, false>>)},      \
      {"warploom.ref." #op ".relu.e4m3", reinterpret_cast<void*>(&lanes<op<true, true>>)}, { \
    "warploom.ref." #op ".relu.e5m2", reinterpret_cast<void*>(&lanes<op<false, true>>)       \
  }

#define WARPLOOM_NARROW(op, format, name)                                                     \
  {"warploom.ref." #op "." name, reinterpret_cast<void*>(&lanes<op<ref::format, false>>)}, {  \
    "warploom.ref." #op ".relu." name, reinterpret_cast<void*>(&lanes<op<ref::format, true>>) \
  }
#define WARPLOOM_STOCHASTIC(format, name)                                                                         \
  {"warploom.ref.stochastic." name, reinterpret_cast<void*>(&lanes<stochastic_pair<ref::format, false, false>>)}, \
      {"warploom.ref.stochastic.relu." name,                                                                      \
       reinterpret_cast<void*>(&lanes<stochastic_pair<ref::format, true, false>>)},                               \
      {"warploom.ref.stochastic.finite." name,                                                                    \
       reinterpret_cast<void*>(&lanes<stochastic_pair<ref::format, false, true>>)},                               \
  {                                                                                                               \
    "warploom.ref.stochastic.relu.finite." name,                                                                  \
        reinterpret_cast<void*>(&lanes<stochastic_pair<ref::format, true, true>>)                                 \
  }
#define WARPLOOM_UE8M0(op)                                                                    \
  {"warploom.ref." #op ".rz", reinterpret_cast<void*>(&lanes<op<false, false>>)},             \
      {"warploom.ref." #op ".rp", reinterpret_cast<void*>(&lanes<op<true, false>>)},          \
      {"warploom.ref." #op ".rz.finite", reinterpret_cast<void*>(&lanes<op<false, true>>)}, { \
    "warploom.ref." #op ".rp.finite", reinterpret_cast<void*>(&lanes<op<true, true>>)         \
  }

const HostFn kFunctions[] = {
    WARPLOOM_DIRECTED(add),
    WARPLOOM_DIRECTED(sub),
    WARPLOOM_DIRECTED(mul),
    WARPLOOM_DIRECTED(fma),
    WARPLOOM_DIRECTED(div),
    WARPLOOM_DIRECTED(sqrt),
    WARPLOOM_FP8(pair_f32),
    WARPLOOM_FP8(pair_f16),
    WARPLOOM_FP8(to_f16x2),
    {"warploom.ref.fns", reinterpret_cast<void*>(&lanes<fns>)},
    WARPLOOM_NARROW(narrow_pair, kE2m1, "e2m1"),
    WARPLOOM_NARROW(narrow_pair, kE2m3, "e2m3"),
    WARPLOOM_NARROW(narrow_pair, kE3m2, "e3m2"),
    WARPLOOM_NARROW(narrow_to_f16x2, kE2m1, "e2m1"),
    WARPLOOM_NARROW(narrow_to_f16x2, kE2m3, "e2m3"),
    WARPLOOM_NARROW(narrow_to_f16x2, kE3m2, "e3m2"),
    WARPLOOM_NARROW(narrow_four, kE4m3, "e4m3"),
    WARPLOOM_NARROW(narrow_four, kNarrowE5m2, "e5m2"),
    WARPLOOM_NARROW(narrow_four, kE2m1, "e2m1"),
    WARPLOOM_NARROW(narrow_four, kE2m3, "e2m3"),
    WARPLOOM_NARROW(narrow_four, kE3m2, "e3m2"),
    WARPLOOM_STOCHASTIC(kF16, "f16x2"),
    WARPLOOM_STOCHASTIC(kBf16, "bf16x2"),
    WARPLOOM_UE8M0(ue8m0_f32),
    WARPLOOM_UE8M0(ue8m0_bf16),
    {"warploom.ref.from_ue8m0", reinterpret_cast<void*>(&lanes<from_ue8m0>)},
};

// A buffer of one 64-bit word for each lane, on the stack of the function being emitted.
Value* buffer(Emit& e) {
  llvm::Function* function = e.b.GetInsertBlock()->getParent();
  llvm::IRBuilder<> entry(&function->getEntryBlock(), function->getEntryBlock().begin());
  return entry.CreateAlloca(llvm::ArrayType::get(e.b.getInt64Ty(), e.env.lanes));
}

}  // namespace

std::span<const HostFn> host_functions() { return kFunctions; }

Value* call_host(Emit& e, std::string_view name, std::initializer_list<Value*> args, unsigned result_bits) {
  llvm::Type *pointer = e.b.getPtrTy(), *i64 = e.b.getInt64Ty();
  auto* type = llvm::FunctionType::get(e.b.getVoidTy(), {pointer, pointer, pointer, pointer, i64}, false);
  llvm::Module* module = e.b.GetInsertBlock()->getModule();
  llvm::FunctionCallee callee = module->getOrInsertFunction(llvm::StringRef(name.data(), name.size()), type);
  std::vector<Value*> actual = {buffer(e)};
  for (Value* v : args) {
    Value* p = buffer(e);
    e.b.CreateAlignedStore(e.resize(e.to_bits(v), 64), p, llvm::Align(8));
    actual.push_back(p);
  }
  while (actual.size() < 4) actual.push_back(actual.back());
  actual.push_back(e.b.getInt64(e.env.lanes));
  e.b.CreateCall(callee, actual);
  return e.resize(e.b.CreateAlignedLoad(e.ints(64), actual[0], llvm::Align(8)), result_bits);
}

}  // namespace warploom::codegen

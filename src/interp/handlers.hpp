// What generated handlers and the interpreter share: the layout of a decoded instruction, and names of handlers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ptx/module.hpp"

namespace warploom::interp {

struct State;
struct Step;
using Run = void (*)(State*, const Step*);

// Where 32 lanes of a value lie: an offset from one of two bases, chosen by the lowest bit. Lanes are aligned to 64
// bytes; predicates are one bit for each lane.
using Ref = std::uint32_t;
inline constexpr Ref kNoRef = ~0U;
inline constexpr std::size_t kMaxRefs = 10;

// One decoded instruction. Handlers read the first two members only.
struct Step {
  Run run = nullptr;
  Ref ref[kMaxRefs] = {};  // results, then sources
  Ref guard = kNoRef;
  // Lanes that may take part, besides the guard: the result lives on, or memory is touched.
  bool masked = false;
  bool guard_negated = false;
  std::uint8_t results = 0, width = 0;
  std::uint8_t bytes[8] = {};  // of a lane of each result; 0: a predicate
  std::uint16_t what = 0;      // for the handler to read
  std::uint64_t imm = 0;
  std::uint32_t matrix = 0;   // of a matrix instruction: which of Program::matrices
  std::int32_t blended = -1;  // the same instruction with results aside, to be blended under a mask
  std::int32_t block = 0;
  std::uint32_t index = 0;
};

// Generated code finds lanes at State::base[ref & 1] + (ref & ~1).
struct StateBases {
  std::byte* base[2];
};

// Names a generated handler: operation, modifiers, types, which second results and negated sources there are, and
// lop3's table.
inline std::uint64_t handler_key(const ptx::Instr& p) {
  std::uint64_t h = 0xcbf29ce484222325ULL;
  const auto add = [&](std::uint64_t x) {
    h ^= x + 0x9e3779b97f4a7c15ULL;
    h *= 0xff51afd7ed558ccdULL;
    h ^= h >> 29;
  };
  add(static_cast<std::uint64_t>(p.op));
  for (std::size_t m = 0; m < isa::kModCount; ++m)
    if (p.mods.test(m)) add(1000 + m);
  for (std::size_t t = 0; t < p.type_count; ++t) add(2000 + static_cast<std::uint64_t>(p.types[t]));
  add(p.operands.size());
  if (!p.operands.empty() && p.operands[0].pair != -1) add(3000);
  if (p.op == isa::Op::lop3 && p.operands.size() > 4) add(4000 + (p.operands[4].imm & 0xff));
  // Of vmad, whose product or addend may be negated.
  for (std::size_t k = 0; k < p.operands.size(); ++k)
    if (p.operands[k].minus) add(5000 + k);
  return h;
}
// A f32 NaN that arithmetic made becomes the one of PTX.
inline constexpr std::uint64_t kCanonicalKey = 1;

struct Handler {
  std::uint64_t key;
  Run run;
};

// nullptr when there is none. Handlers need a machine on which has_handlers() is true.
Run find_handler(std::uint64_t key);
bool has_handlers();

}  // namespace warploom::interp

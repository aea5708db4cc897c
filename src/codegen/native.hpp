// Instructions that a function of the host does for all lanes at once: which one, and with which operands.
#pragma once

#include <cstdint>
#include <vector>

#include "observe/facts.hpp"
#include "ptx/module.hpp"

namespace warploom::codegen {

struct WarpContext;

// Does one instruction for the lanes in `mask`. `rows` are 32 words for each result and then for each operand, as
// NativeCall lists them. `place`: of the instruction, block << 32 | index. Gives 0 after an error, which it has set.
using NativeFunction = std::int32_t (*)(WarpContext* c, std::uint64_t* rows, std::uint32_t mask, std::uint64_t what,
                                        std::uint64_t place);

// What NativeCall::what holds for mbarrier instructions.
enum class MbarrierOp : std::uint8_t { init, inval, arrive, expect_tx, complete_tx, test, pending_count };
inline constexpr std::uint64_t kMbarrierDrop = 0x100, kMbarrierNoComplete = 0x200, kMbarrierExpect = 0x400,
                               kMbarrierParity = 0x800, kMbarrierCopy = 0x1000;
// For bulk copies: from, to, and how the end is told; reductions have their operation above.
inline constexpr std::uint64_t kBulkFromShared = 1, kBulkToShared = 2, kBulkMulticast = 4, kBulkBytes = 8;
enum class BulkOp : std::uint8_t { add, min, max, inc, dec, and_, or_, xor_ };
constexpr std::uint64_t bulk_reduction(BulkOp op, isa::Type type) {
  return static_cast<std::uint64_t>(op) << 8 | static_cast<std::uint64_t>(type) << 16;
}

struct NativeOperand {
  enum class Kind : std::uint8_t { result, source, address, constant };
  Kind kind{};
  std::size_t index = 0;                  // of the instruction's operand
  const ptx::Operand* operand = nullptr;  // that operand or one of its elements
  isa::Type type{};
  isa::Space space{};       // of an address
  std::uint64_t value = 0;  // of a constant
};

struct NativeAccess {
  isa::Space space{};
  observe::AccessKind kind{};
  std::uint32_t bytes = 0;
};

struct NativeCall {
  const char* function = nullptr;  // symbol of a NativeFunction; nullptr: there is nothing to do
  std::uint64_t what = 0;
  std::vector<NativeOperand> operands;  // results first
  std::vector<NativeAccess> accesses;   // the site, the second site
};

// Of an instruction whose flow is `native`.
NativeCall native_call(const ptx::Instr& p);

}  // namespace warploom::codegen

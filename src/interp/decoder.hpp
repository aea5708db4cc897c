// Turns the instructions of a kernel into steps; one object for each kernel.
#pragma once

#include <array>
#include <map>

#include "interp/program.hpp"

namespace warploom::interp {

class Decoder {
 public:
  Decoder(std::shared_ptr<const codegen::KernelPlan> plan, std::span<const codegen::HostSymbol> symbols,
          const codegen::GlobalResolver& globals);
  // nullptr when something is not covered.
  std::shared_ptr<const Program> run();

 private:
  using Type = isa::Type;

  // decode.cpp: values, operands
  [[nodiscard]] const ir::Function& f() const { return plan_->f(); }
  [[nodiscard]] Type storage(ir::ValueId v) const { return plan_->storage[static_cast<std::size_t>(v)]; }
  Ref allocate(unsigned bits);  // for a value of the current block
  void release(Ref ref, unsigned bits);
  Ref temporary(unsigned bits);  // until the end of the instruction
  Ref constant(unsigned bits, std::uint64_t value);
  Ref constant_lanes(unsigned bits, const std::array<std::uint64_t, 32>& lanes);
  Ref value(ir::ValueId v);
  // Where lanes of operand `o` stand as `type`; emits what it takes. kNoRef: not covered, failed_ is set.
  Ref source(const ir::Inst& inst, const ptx::Operand& o, std::int32_t variable, Type type);
  Ref source(const ir::Inst& inst, std::size_t k, Type type);
  Ref special(const std::string& name, Type type);
  // The address that a variable stands for; false when it cannot be known.
  bool symbol_address(std::int32_t variable, std::uint64_t offset, std::uint64_t& out);
  void find_last_uses(ir::BlockId b);
  void fail() { failed_ = true; }

  // Results. A step that writes a value of another width goes through a temporary.
  struct Result {
    ir::ValueId value = -1;
    Type type{};
    Ref ref = kNoRef;      // where the step writes
    bool through = false;  // then a resize follows
  };
  Result result(ir::ValueId v, Type type);
  Result result(const ptx::Operand& o, Type type);  // a sink gives a temporary
  // Adds a step whose first refs are `results`, under the instruction's guard, and the resizes after it.
  void add(const ir::Inst& inst, Step step, std::span<const Result> results);
  // A step whose handler minds State::lanes itself.
  void add_active(const ir::Inst& inst, Step step);
  void add_plain(Step step);  // no guard, results only in temporaries
  void resize_after(const ir::Inst& inst, std::span<const Result> results);
  Step make(Run handler);

  // decode.cpp: instructions
  void instruction(const ir::Inst& inst);
  void pure(const ir::Inst& inst);
  void move(const ir::Inst& inst);
  void convert_address(const ir::Inst& inst);
  void terminator(ir::BlockId b);
  void block(ir::BlockId b);
  // decode_memory.cpp
  struct Address {
    Ref ref = kNoRef;
    std::uint64_t imm = 0;
    std::uint16_t what = 0;
    isa::Space space{};
    [[nodiscard]] bool fixed() const;
  };
  bool address(const ir::Inst& inst, std::size_t k, isa::Space space, Address& out);
  Ref address_lanes(const Address& a);  // in a temporary
  void load(const ir::Inst& inst);
  void store(const ir::Inst& inst);
  void atomic(const ir::Inst& inst);
  void warp(const ir::Inst& inst);
  void matrix(const ir::Inst& inst);
  void call(const ir::Inst& inst);
  void native(const ir::Inst& inst);     // decode_native.cpp
  Ref as_word(Ref from, unsigned bits);  // in a temporary of 64-bit lanes
  void texture(const ir::Inst& inst);    // textures.cpp

  std::shared_ptr<const codegen::KernelPlan> plan_;
  std::span<const codegen::HostSymbol> symbols_;
  const codegen::GlobalResolver& globals_;
  std::shared_ptr<Program> out_;
  bool failed_ = false;
  ir::BlockId block_ = 0;
  std::size_t index_ = 0;
  std::map<std::pair<unsigned, std::uint64_t>, Ref> constants_;
  std::vector<Ref> place_;             // by value, of the current block
  std::vector<std::size_t> last_use_;  // by value, in the current block
  std::vector<std::pair<Ref, unsigned>> temporaries_;
  std::map<unsigned, std::vector<Ref>> free_;  // by bytes
  std::uint32_t scratch_ = 0, most_scratch_ = 0;
  Ref carry_ = kNoRef;
};

}  // namespace warploom::interp

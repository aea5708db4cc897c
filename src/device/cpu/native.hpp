// What the functions for whole instructions share: operands of lanes, errors, counting, checks of a replay.
#pragma once

#include <bit>
#include <string>

#include "codegen/context.hpp"
#include "codegen/native.hpp"
#include "device/cpu/block.hpp"

namespace warploom::device {

// One execution of an instruction by a warp.
class NativeRun {
 public:
  NativeRun(codegen::WarpContext* c, std::uint64_t* rows, std::uint32_t mask, std::uint64_t place)
      : c_(*c), rows_(rows), mask_(mask), place_(place), block_(*static_cast<BlockState*>(c->block)) {}

  [[nodiscard]] std::uint64_t& at(std::size_t row, unsigned lane) { return rows_[row * 32 + lane]; }
  [[nodiscard]] std::uint64_t* row(std::size_t r) { return rows_ + r * 32; }
  [[nodiscard]] std::uint32_t mask() const { return mask_; }
  [[nodiscard]] BlockState& block() { return block_; }
  [[nodiscard]] codegen::WarpContext& context() { return c_; }
  [[nodiscard]] const ir::Inst& inst() const;

  // Calls f(lane) for the lanes that run, in order, until it gives false.
  template <typename F>
  std::int32_t for_lanes(F&& f) {
    for (std::uint32_t rest = mask_; rest != 0; rest &= rest - 1)
      if (!f(static_cast<unsigned>(std::countr_zero(rest)))) return 0;
    return 1;
  }
  // Sets the error of a lane; gives false.
  bool fail(unsigned lane, ErrorId id, std::string what, std::string remedy);
  // Is [address, address + bytes) aligned and in shared memory of the block or its cluster?
  bool shared_ok(unsigned lane, std::uint64_t address, std::uint64_t bytes, std::uint32_t align, const char* what);
  bool aligned(unsigned lane, std::uint64_t address, std::uint32_t align);
  // In a replay that looks for a fault: false when the lane's access is the one.
  bool checked(unsigned lane, bool second, std::uint64_t address, std::uint64_t bytes);

  // Counts an access by all lanes of `mask`, of so many bytes each.
  void count(bool second, std::uint64_t* addresses, std::uint32_t mask);
  // Counts what one thread's bulk copy moves.
  void count_bulk(bool second, std::uint64_t address, std::uint64_t bytes);
  // Bytes have come for an mbarrier; false after an error.
  bool complete(unsigned lane, std::uint64_t mbarrier, std::uint64_t bytes);

 private:
  [[nodiscard]] std::uint64_t* counters(bool second, const observe::Site*& site);

  codegen::WarpContext& c_;
  std::uint64_t* rows_;
  std::uint32_t mask_;
  std::uint64_t place_;
  BlockState& block_;
};

// Functions of instructions, by name.
std::span<const codegen::HostSymbol> native_symbols();

}  // namespace warploom::device

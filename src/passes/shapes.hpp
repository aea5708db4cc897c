// Which values are uniform across a warp, which are a scalar plus a lane pattern, which differ freely.
#pragma once

#include <utility>

#include "ir/ir.hpp"

namespace warploom::passes {

// The class of block shapes that code is made for. One-dimensional blocks are one class whatever their length.
struct BlockShape {
  std::uint32_t x = 0, y = 1, z = 1;  // x == 0: any one-dimensional block
  auto operator<=>(const BlockShape&) const = default;
  [[nodiscard]] static BlockShape of(const std::array<std::uint32_t, 3>& block) {
    if (block[1] == 1 && block[2] == 1) return {};
    return {block[0], block[1], block[2]};
  }
  // Shapes of %tid.x, .y, .z in any warp of the block.
  [[nodiscard]] ir::Shape tid(int axis) const;
};

struct Shapes {
  std::vector<ir::Shape> of;  // by value
  // Instructions that widen a 32-bit linear value: its pattern carries over only if no lane wraps.
  std::vector<std::pair<ir::BlockId, std::size_t>> widenings;

  [[nodiscard]] const ir::Shape& operator[](ir::ValueId v) const { return of[static_cast<std::size_t>(v)]; }
};

// With `linear` false only uniform and varying are told apart. Also sets ir::Value::invariant.
Shapes analyse_shapes(ir::Function& function, const BlockShape& block, bool linear);

// The IR with the shapes of the values that each instruction defines.
std::string print(const ir::Function& function, const Shapes& shapes);

// Shape of a special register.
ir::Shape sreg_shape(std::string_view name, const BlockShape& block, bool linear);

// Is this a conversion to more bits or a widening multiplication, and of signed numbers?
bool is_widening(const ptx::Instr& instr, bool& is_signed);
// Whether no lane of a value of type `from` can have wrapped, so that its pattern holds in more bits too.
bool widens_safely(const ir::Shape& shape, isa::Type from);

}  // namespace warploom::passes

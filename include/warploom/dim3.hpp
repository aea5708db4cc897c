// Dim3: the extent of a grid in blocks or of a block in threads (CUDA C++ Programming Guide, "Thread Hierarchy").
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace warploom {

/// Extent in x, y and z; what is left out is 1. A value outside 32 bits is clamped to 0 or to the largest value, both
/// of which every launch refuses, so that a negative size computed in `int` is an error and not a huge grid.
struct Dim3 {
  std::uint32_t x = 1;
  std::uint32_t y = 1;
  std::uint32_t z = 1;

  constexpr Dim3() = default;
  template <std::integral X, std::integral Y = int, std::integral Z = int>
  constexpr Dim3(X x_extent, Y y_extent = 1, Z z_extent = 1)  // implicit: launch({blocks, threads}, ...)
      : x(clamped(x_extent)), y(clamped(y_extent)), z(clamped(z_extent)) {}

  /// x * y * z, without overflow for any extent a device accepts.
  [[nodiscard]] constexpr std::uint64_t count() const { return std::uint64_t{x} * y * z; }

  friend constexpr bool operator==(const Dim3&, const Dim3&) = default;

 private:
  template <std::integral I>
  static constexpr std::uint32_t clamped(I value) {
    if constexpr (std::is_signed_v<I>)
      if (value < 0) return 0;
    if (static_cast<std::uint64_t>(value) > std::numeric_limits<std::uint32_t>::max())
      return std::numeric_limits<std::uint32_t>::max();
    return static_cast<std::uint32_t>(value);
  }
};

/// Blocks of `block` threads that cover `count` elements: ceil(count / block). `block` must not be 0.
[[nodiscard]] constexpr std::uint64_t blocks_for(std::uint64_t count, std::uint64_t block) {
  return count / block + (count % block != 0 ? 1 : 0);
}

}  // namespace warploom

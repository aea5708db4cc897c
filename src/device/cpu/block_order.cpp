// In which order blocks of a grid are taken: row by row, in tiles, or cluster by cluster.
#include <algorithm>

#include "device/cpu/block.hpp"

namespace warploom::device {
namespace {

constexpr std::uint32_t kTile = 16;  // blocks along a side of a tile

// Morton order of a full tile: x in the low half, y in the high half of each entry.
constexpr auto kInTile = [] {
  std::array<std::uint8_t, std::size_t{kTile} * kTile> order{};
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    std::uint32_t x = 0, y = 0;
    for (std::uint32_t bit = 0; bit < 4; ++bit) {
      x |= (i >> (2 * bit) & 1U) << bit;
      y |= (i >> (2 * bit + 1) & 1U) << bit;
    }
    order[i] = static_cast<std::uint8_t>(x | y << 4);
  }
  return order;
}();

}  // namespace

BlockOrder::BlockOrder(const std::array<std::uint32_t, 3>& grid, bool tiled)
    : x_(grid[0]), y_(grid[1]), line_(grid[1] == 1 && grid[2] == 1), tiled_(tiled && grid[0] > 1) {}

std::array<std::uint32_t, 3> BlockOrder::place(std::uint64_t number) const {
  if (clustered_) {
    const std::uint64_t size = std::uint64_t{cluster_[0]} * cluster_[1] * cluster_[2];
    const auto rank = static_cast<std::uint32_t>(number % size);
    const std::uint64_t of = number / size, x = x_ / cluster_[0], y = y_ / cluster_[1];
    return {static_cast<std::uint32_t>(of % x) * cluster_[0] + rank % cluster_[0],
            static_cast<std::uint32_t>(of / x % y) * cluster_[1] + rank / cluster_[0] % cluster_[1],
            static_cast<std::uint32_t>(of / x / y) * cluster_[2] + rank / cluster_[0] / cluster_[1]};
  }
  if (line_) return {static_cast<std::uint32_t>(number), 0, 0};
  const std::uint64_t z = number / (x_ * y_);
  std::uint64_t rest = number - z * x_ * y_;
  std::uint64_t x = 0, y = 0;
  if (!tiled_) {
    y = rest / x_;
    x = rest - y * x_;
  } else {
    // A band of rows, in it a tile, in it the block.
    y = rest / (x_ * kTile) * kTile;
    rest -= y * x_;
    const std::uint64_t height = std::min<std::uint64_t>(kTile, y_ - y);
    x = rest / (height * kTile) * kTile;
    rest -= x * height;
    const std::uint64_t width = std::min<std::uint64_t>(kTile, x_ - x);
    if (width == kTile && height == kTile) {
      x += kInTile[rest] & 15U;
      y += kInTile[rest] >> 4U;
    } else {
      y += rest / width;
      x += rest % width;
    }
  }
  return {static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y), static_cast<std::uint32_t>(z)};
}

}  // namespace warploom::device

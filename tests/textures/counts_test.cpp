// What texture lookups and surface accesses add to the counters of explain, against counts by hand.
#include <gtest/gtest.h>

#include <bit>
#include <vector>

#include "device/cpu/texture_warp.hpp"

namespace warploom::test {
namespace {

namespace ref = isa::ref;
using ref::TextureOp;

struct Counts {
  std::uint64_t requests, sectors, ideal, lanes;
  bool operator==(const Counts&) const = default;
};

class TextureCounts : public testing::Test {
 protected:
  // A plane of floats, 64 by 64.
  device::TextureSetup setup(bool linear_memory, bool surface = false) {
    device::TextureSetup s;
    s.image.geometry = linear_memory ? ref::Geometry::d1 : ref::Geometry::d2;
    s.image.format = ref::ChannelFormat::f32;
    s.image.linear_memory = linear_memory;
    ref::TextureLevel& level = s.image.levels[0];
    level.data = texels_.data();
    level.size[0] = level.size[1] = 64;
    level.pitch = 256;
    level.slice = 64 * 256;
    s.sampler.integers = true;
    s.is_surface = surface;
    return s;
  }

  template <class Place>
  Counts count(const TextureOp& op, const device::TextureSetup& s, std::uint32_t lanes, Place place) {
    std::uint32_t words[ref::kTextureWords * 32] = {}, results[4 * 32] = {};
    for (std::uint32_t l = 0; l < 32; ++l) {
      const auto [x, y] = place(static_cast<float>(l));
      const bool floats = op.has(TextureOp::kFloatCoordinates);
      words[l] = floats ? std::bit_cast<std::uint32_t>(x) : static_cast<std::uint32_t>(x);
      words[32 + l] = floats ? std::bit_cast<std::uint32_t>(y) : static_cast<std::uint32_t>(y);
    }
    std::uint64_t counters[6] = {};
    const device::TextureOutcome outcome = device::access_texture(op, s, words, results, lanes, counters);
    EXPECT_EQ(outcome.outside | outcome.misaligned, 0U);
    return {counters[0], counters[1], counters[2], counters[5]};
  }

  static TextureOp lookup(bool floats, ref::Geometry geometry) {
    TextureOp op;
    op.kind = TextureOp::Kind::tex;
    op.geometry = geometry;
    if (floats) op.flags = TextureOp::kFloatCoordinates;
    return op;
  }

 private:
  std::vector<std::byte> texels_ = std::vector<std::byte>(64 * 256 + 512);
};

struct At {
  float x, y;
};

TEST_F(TextureCounts, ARowOfAnArrayIsHalfOfItsSectors) {
  const auto s = setup(false);
  const TextureOp op = lookup(true, ref::Geometry::d2);
  // 128 bytes in sectors 16 bytes wide; the row below is in the same ones.
  EXPECT_EQ(count(op, s, ~0U, [](float l) { return At{l + 0.5F, 2.5F}; }), (Counts{1, 8, 4, 32}));
  EXPECT_EQ(count(op, s, ~0U, [](float l) { return At{l + 0.5F, l >= 16 ? 3.5F : 2.5F}; }), (Counts{1, 8, 4, 32}));
  EXPECT_EQ(count(op, s, ~0U, [](float l) { return At{0.5F, l + 0.5F}; }), (Counts{1, 16, 4, 32}));
  EXPECT_EQ(count(op, s, 0xFFU, [](float l) { return At{l + 0.5F, 2.5F}; }), (Counts{1, 2, 1, 8}));
}

TEST_F(TextureCounts, AFilterTouchesItsFourTexels) {
  auto s = setup(false);
  s.sampler.linear = true;
  const TextureOp op = lookup(true, ref::Geometry::d2);
  // Columns 0 to 32 of rows 1 and 2, which lie in two rows of sectors.
  EXPECT_EQ(count(op, s, ~0U, [](float l) { return At{l + 1.0F, 2.0F}; }).sectors, 18U);
  // In the middle of a texel there is one.
  EXPECT_EQ(count(op, s, ~0U, [](float l) { return At{l + 0.5F, 2.5F}; }).sectors, 8U);
}

TEST_F(TextureCounts, LinearMemoryAsLoadsOfIt) {
  const auto s = setup(true);
  const TextureOp op = lookup(false, ref::Geometry::d1);
  const auto start = reinterpret_cast<std::uintptr_t>(s.image.levels[0].data) % 32;
  EXPECT_EQ(count(op, s, ~0U, [](float l) { return At{l, 0}; }).sectors, start == 0 ? 4U : 5U);
  EXPECT_EQ(count(op, s, ~0U, [](float l) { return At{2 * l, 0}; }).sectors, start == 0 ? 8U : 9U);
}

TEST_F(TextureCounts, Surfaces) {
  const auto s = setup(false, true);
  TextureOp op;
  op.kind = TextureOp::Kind::suld;
  op.geometry = ref::Geometry::d2;
  op.how = static_cast<std::uint8_t>(TextureOp::Outside::zero);
  EXPECT_EQ(count(op, s, ~0U, [](float l) { return At{4 * l, 5}; }), (Counts{1, 8, 4, 32}));
  // What lies outside touches nothing.
  EXPECT_EQ(count(op, s, ~0U, [](float l) { return At{4 * l + 192, 5}; }), (Counts{1, 4, 2, 32}));
}

}  // namespace
}  // namespace warploom::test

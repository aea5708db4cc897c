// Arrays, textures and surfaces of the stand-in for the driver.
#include <algorithm>

#include "stand_in_world.hpp"

using namespace stand_in;

namespace {

// An array, and each level of a mip pyramid.
struct Texels {
  std::shared_ptr<TexelArray> array;
  unsigned level = 0;
  std::vector<std::unique_ptr<Texels>> levels;  // of a pyramid
};

TexelFormat format_of(cuda::ArrayFormat format, unsigned channels) {
  using Kind = TexelFormat::Kind;
  const auto number = static_cast<unsigned>(format);
  if (number >= 0x10) return {Kind::floating, number, channels};  // 16 and 32 say so themselves
  if (number >= 0x08) return {Kind::signed_integer, 8U << (number - 8), channels};
  return {Kind::unsigned_integer, 8U << (number - 1), channels};
}

TexelArray array_of(const cuda::ArrayShape& shape, unsigned levels) {
  return {world().device,
          format_of(shape.format, shape.channels),
          {shape.width, shape.height, shape.depth},
          {.layered = (shape.flags & 1) != 0, .cube = (shape.flags & 4) != 0, .levels = levels}};
}

Texture texture_of(const cuda::ResourceSetup& r, const cuda::SamplerSetup& s) {
  const auto filter = [](int mode) {
    return mode == 1 ? TextureOptions::Filter::linear : TextureOptions::Filter::point;
  };
  const auto format = [&] {
    if (r.kind == cuda::ResourceKind::linear) return format_of(r.of.linear.format, r.of.linear.channels);
    if (r.kind == cuda::ResourceKind::rows) return format_of(r.of.rows.format, r.of.rows.channels);
    return reinterpret_cast<const Texels*>(r.of.array)->array->format();
  }();
  TextureOptions o;
  for (std::size_t k = 0; k < 3; ++k) o.address[k] = static_cast<TextureOptions::Address>(s.address[k]);
  o.filter = filter(s.filter);
  const bool as_is = (s.flags & 1) != 0 || format.kind == TexelFormat::Kind::floating || format.bits == 32;
  o.read = as_is ? TextureOptions::Read::element : TextureOptions::Read::normalized_float;
  o.normalized_coordinates = (s.flags & 2) != 0;
  o.srgb = (s.flags & 0x10) != 0;
  o.seamless_cube = (s.flags & 0x40) != 0;
  o.mip_filter = filter(s.mip_filter);
  o.level_bias = s.level_bias;
  o.min_level = s.least_level;
  o.max_level = s.most_level;
  std::copy(std::begin(s.border), std::end(s.border), o.border_color.begin());
  if (r.kind == cuda::ResourceKind::linear) {
    const auto& linear = r.of.linear;
    return {world().device, address_of(linear.address), format, linear.bytes / format.bytes(), o};
  }
  if (r.kind == cuda::ResourceKind::rows) {
    const auto& rows = r.of.rows;
    return {world().device, address_of(rows.address), format, rows.width, rows.height, rows.pitch, o};
  }
  return Texture(*reinterpret_cast<const Texels*>(r.of.array)->array, o);
}

}  // namespace

extern "C" {

ENTRY cuArray3DCreate_v2(Texels** out, const cuda::ArrayShape* shape) {
  COUNTED;
  return answer([&] {
    *out = new Texels{std::make_shared<TexelArray>(array_of(*shape, 1)), 0, {}};
    return 0;
  });
}
ENTRY cuArrayDestroy(Texels* texels) {
  COUNTED;
  delete texels;
  return 0;
}
ENTRY cuMipmappedArrayCreate(Texels** out, const cuda::ArrayShape* shape, unsigned levels) {
  COUNTED;
  return answer([&] {
    auto made = std::make_unique<Texels>();
    made->array = std::make_shared<TexelArray>(array_of(*shape, levels));
    for (unsigned k = 0; k < levels; ++k) made->levels.push_back(std::make_unique<Texels>(Texels{made->array, k, {}}));
    *out = made.release();
    return 0;
  });
}
ENTRY cuMipmappedArrayGetLevel(Texels** out, Texels* pyramid, unsigned level) {
  COUNTED;
  if (level >= pyramid->levels.size()) return 1;
  *out = pyramid->levels[level].get();
  return 0;
}
ENTRY cuMipmappedArrayDestroy(Texels* pyramid) {
  COUNTED;
  delete pyramid;
  return 0;
}
ENTRY cuMemcpy3DAsync_v2(const cuda::BoxCopy* c, Stream* stream) {
  COUNTED;
  return answer([&] {
    constexpr int kHost = 1, kArray = 3;
    const bool to_array = c->to.kind == kArray;
    const cuda::BoxCopySide &array = to_array ? c->to : c->from, &host = to_array ? c->from : c->to;
    if (array.kind != kArray || host.kind != kHost || (c->depth > 1 && host.height != c->height)) return 1;
    const Texels& texels = *reinterpret_cast<const Texels*>(array.array);
    const std::size_t texel = texels.array->format().bytes(), rows = c->height * c->depth;
    const TexelRegion region{array.x_bytes / texel, array.y, array.z, c->width_bytes / texel, c->height, c->depth,
                             texels.level};
    auto* bytes = static_cast<std::byte*>(const_cast<void*>(host.host));
    const std::span<std::byte> memory(bytes, host.pitch * (rows - 1) + c->width_bytes);
    of(stream).synchronize();
    if (to_array)
      texels.array->copy_from(std::span<const std::byte>(memory), region, host.pitch);
    else
      texels.array->copy_to(memory, region, host.pitch);
    return 0;
  });
}
ENTRY cuTexObjectCreate(std::uint64_t* handle, const cuda::ResourceSetup* r, const cuda::SamplerSetup* s, const void*) {
  COUNTED;
  return answer([&] {
    Texture made = texture_of(*r, *s);
    *handle = made.handle();
    const std::lock_guard lock(world().mutex);
    world().textures.emplace(*handle, std::move(made));
    return 0;
  });
}
ENTRY cuTexObjectDestroy(std::uint64_t handle) {
  COUNTED;
  const std::lock_guard lock(world().mutex);
  return world().textures.erase(handle) == 1 ? 0 : 400;
}
ENTRY cuSurfObjectCreate(std::uint64_t* handle, const cuda::ResourceSetup* r) {
  COUNTED;
  return answer([&] {
    if (r->kind != cuda::ResourceKind::array) return 1;
    const Texels& texels = *reinterpret_cast<const Texels*>(r->of.array);
    Surface made(*texels.array, texels.level);
    *handle = made.handle();
    const std::lock_guard lock(world().mutex);
    world().surfaces.emplace(*handle, std::move(made));
    return 0;
  });
}
ENTRY cuSurfObjectDestroy(std::uint64_t handle) {
  COUNTED;
  const std::lock_guard lock(world().mutex);
  return world().surfaces.erase(handle) == 1 ? 0 : 400;
}

}  // extern "C"

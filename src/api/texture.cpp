// Arrays of texels, texture and surface objects.
#include "warploom/texture.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "api/state.hpp"

namespace warploom {

namespace ref = isa::ref;

namespace detail {

struct TexelsState {
  TexelsState(const TexelFormat& texels, const ref::Image& shape, Memory plain)
      : format(texels), image(shape), memory(std::move(plain)) {}
  ~TexelsState() {
    if (array == 0) return;
    const auto& owner = Access::state(memory);
    if (owner->generation != owner->device->context->generation()) return;
    owner->device->context->drain();
    owner->device->context->device().release_texels(array);
  }
  TexelsState(const TexelsState&) = delete;
  TexelsState& operator=(const TexelsState&) = delete;

  TexelFormat format;
  ref::Image image;
  Memory memory;            // the texels, or nothing but the device where it has arrays of its own
  std::uint64_t array = 0;  // of the device's
};

struct TextureState {
  TextureState(std::shared_ptr<DeviceState> owner, const device::TextureSetup& setup,
               std::shared_ptr<TexelsState> array)
      : device(std::move(owner)),
        texels(std::move(array)),
        generation(device->context->generation()),
        is_surface(setup.is_surface),
        handle(api::checked(device->context->device().create_texture(setup))) {}
  ~TextureState() {
    if (generation != device->context->generation()) return;
    device->context->drain();
    device::Device& owner = device->context->device();
    is_surface ? owner.destroy_surface(handle) : owner.destroy_texture(handle);
  }
  TextureState(const TextureState&) = delete;
  TextureState& operator=(const TextureState&) = delete;

  std::shared_ptr<DeviceState> device;
  std::shared_ptr<TexelsState> texels;
  std::uint64_t generation;
  bool is_surface;
  std::uint64_t handle;
};

}  // namespace detail

namespace {

using detail::TexelsState;

constexpr std::size_t kMostTexels = 1U << 17;  // along an axis

ref::ChannelFormat channel_format(const TexelFormat& f) {
  using Kind = TexelFormat::Kind;
  using Format = ref::ChannelFormat;
  const bool sized = f.bits == 8 || f.bits == 16 || f.bits == 32;
  if (!sized || (f.channels != 1 && f.channels != 2 && f.channels != 4) || (f.kind == Kind::floating && f.bits == 8))
    api::fail(
        ErrorId::invalid_value,
        "there are no texels of " + std::to_string(f.channels) + " channels of " + std::to_string(f.bits) + " bits",
        "use 1, 2 or 4 channels of 8, 16 or 32 bits; floating ones have 16 or 32");
  if (f.kind == Kind::floating) return f.bits == 16 ? Format::f16 : Format::f32;
  if (f.kind == Kind::unsigned_integer) return f.bits == 8 ? Format::u8 : f.bits == 16 ? Format::u16 : Format::u32;
  return f.bits == 8 ? Format::s8 : f.bits == 16 ? Format::s16 : Format::s32;
}

[[noreturn]] void bad_extent(const std::string& what) {
  api::fail(ErrorId::invalid_value, what, "see the CUDA manual on cudaMalloc3DArray for the extents that exist");
}

ref::Geometry geometry_of(const TexelExtent& e, const TexelOptions& options) {
  using Geometry = ref::Geometry;
  if (e.width == 0) bad_extent("an array of texels needs a width");
  if (std::max({e.width, e.height, e.depth}) > kMostTexels)
    bad_extent("an array of texels has at most 131072 on an axis");
  if (options.cube) {
    if (e.width != e.height) bad_extent("the faces of a cube map are squares");
    if (options.layered ? e.depth == 0 || e.depth % 6 != 0 : e.depth != 6) bad_extent("a cube map has six faces");
    return options.layered ? Geometry::acube : Geometry::cube;
  }
  if (options.layered) {
    if (e.depth == 0) bad_extent("a layered array needs a depth: the number of its layers");
    return e.height == 0 ? Geometry::a1d : Geometry::a2d;
  }
  if (e.height == 0 && e.depth != 0) bad_extent("an array with a depth needs a height");
  return e.height == 0 ? Geometry::d1 : e.depth == 0 ? Geometry::d2 : Geometry::d3;
}

ref::Sampler sampler_of(const TextureOptions& o, const ref::Image& image) {
  using Options = TextureOptions;
  const bool narrow = !ref::is_float(image.format) && ref::channel_bytes(image.format) < 4;
  if (o.read == Options::Read::normalized_float && !narrow)
    api::fail(ErrorId::invalid_value, "only 8- and 16-bit integers can be read as fractions", "use Read::element");
  const bool floats = ref::is_float(image.format) || o.read == Options::Read::normalized_float;
  if (o.filter == Options::Filter::linear && !floats)
    api::fail(ErrorId::invalid_value, "a linear filter needs texels that are read as floats",
              "use Read::normalized_float or Filter::point");
  if (o.srgb && (image.format != ref::ChannelFormat::u8 || !floats))
    api::fail(ErrorId::invalid_value, "sRGB needs unsigned 8-bit channels that are read as fractions", "leave it out");
  if (image.level_count > 1 && !o.normalized_coordinates)
    api::fail(ErrorId::invalid_value, "a texture with levels needs normalised coordinates", "ask for them");
  ref::Sampler s;
  for (std::size_t k = 0; k < 3; ++k) s.mode[k] = static_cast<ref::AddressMode>(o.address[k]);
  s.linear = o.filter == Options::Filter::linear;
  s.normalized = o.normalized_coordinates;
  s.integers = o.read == Options::Read::element;
  s.srgb = o.srgb;
  s.seamless = o.seamless_cube;
  s.mip_linear = o.mip_filter == Options::Filter::linear;
  s.bias = o.level_bias;
  s.least_level = o.min_level;
  s.most_level = o.max_level;
  std::copy(o.border_color.begin(), o.border_color.end(), s.border);
  return s;
}

std::size_t slices_of(const ref::Image& image, const ref::TextureLevel& l) {
  if (ref::is_cube(image.geometry)) return std::size_t{image.layers} * 6;
  return ref::is_layered(image.geometry) ? image.layers : l.size[2];
}

ref::Image plain_image(const Device& device, const void* memory, const TexelFormat& format, std::size_t width,
                       std::size_t height, std::size_t pitch) {
  ref::Image image;
  image.format = channel_format(format);
  image.channels = static_cast<std::uint8_t>(format.channels);
  image.geometry = height == 0 ? ref::Geometry::d1 : ref::Geometry::d2;
  image.linear_memory = true;
  const std::size_t row = width * image.texel_bytes(), rows = std::max<std::size_t>(height, 1);
  if (width == 0 || width > (1U << 28) || rows > kMostTexels || (height != 0 && pitch < row))
    api::fail(ErrorId::invalid_value, "there is no texture of that size over linear memory",
              "a texture has at least one texel, and rows lie at least their length apart");
  const auto& state = detail::Access::state(device);
  api::check_place(api::use(state), memory, height == 0 ? row : pitch * (rows - 1) + row, "the memory of a texture");
  ref::TextureLevel& level = image.levels[0];
  level.data = static_cast<std::byte*>(const_cast<void*>(memory));
  level.size[0] = static_cast<std::uint32_t>(width);
  level.size[1] = static_cast<std::uint32_t>(rows);
  level.pitch = height == 0 ? row : pitch;
  level.slice = level.pitch * rows;
  return image;
}

}  // namespace

TexelArray::TexelArray(const Device& device, const TexelFormat& format, const TexelExtent& extent,
                       const TexelOptions& options) {
  ref::Image image;
  image.format = channel_format(format);
  image.channels = static_cast<std::uint8_t>(format.channels);
  image.geometry = geometry_of(extent, options);
  const bool layered = ref::is_layered(image.geometry), cube = ref::is_cube(image.geometry);
  image.layers = !layered ? 1 : static_cast<std::uint32_t>(extent.depth / (cube ? 6 : 1));
  std::size_t largest = std::max(extent.width, extent.height);
  if (!layered && !cube) largest = std::max(largest, extent.depth);
  if (options.levels == 0 || options.levels > ref::kMaxLevels || (largest >> (options.levels - 1)) == 0)
    bad_extent("an array of that size has no " + std::to_string(options.levels) + " levels");
  image.level_count = options.levels;
  std::size_t total = 0, offsets[ref::kMaxLevels] = {};
  for (unsigned k = 0; k < options.levels; ++k) {
    ref::TextureLevel& level = image.levels[k];
    const auto halved = [&](std::size_t n) { return static_cast<std::uint32_t>(std::max<std::size_t>(n >> k, 1)); };
    level.size[0] = halved(extent.width);
    level.size[1] = halved(extent.height);
    level.size[2] = layered || cube ? 1 : halved(extent.depth);
    level.pitch = std::uint64_t{level.size[0]} * image.texel_bytes();
    level.slice = level.pitch * level.size[1];
    offsets[k] = total;
    total += (level.slice * slices_of(image, level) + 511) / 512 * 512;
  }
  const auto& owner = detail::Access::state(device);
  if (api::use(owner).device().has_texel_arrays()) {
    state_ = std::make_shared<TexelsState>(format, image, detail::Memory(device, 0, 1, nullptr, 0));
    state_->array = api::checked(owner->context->device().allocate_texels(image));
    return;
  }
  state_ = std::make_shared<TexelsState>(format, image, detail::Memory(device, total, 1, nullptr, 0));
  for (unsigned k = 0; k < options.levels; ++k)
    state_->image.levels[k].data = static_cast<std::byte*>(state_->memory.address()) + offsets[k];
}

TexelArray::TexelArray(TexelArray&&) noexcept = default;
TexelArray& TexelArray::operator=(TexelArray&&) noexcept = default;
TexelArray::~TexelArray() = default;

namespace {

const TexelsState& use_texels(const std::shared_ptr<TexelsState>& state) {
  if (!state) api::fail_moved_from("the array of texels");
  return *state;
}

}  // namespace

TexelFormat TexelArray::format() const { return use_texels(state_).format; }
unsigned TexelArray::levels() const { return use_texels(state_).image.level_count; }
TexelExtent TexelArray::extent(unsigned level) const {
  const ref::Image& image = use_texels(state_).image;
  if (level >= image.level_count)
    api::fail(ErrorId::invalid_value, "the array has no level " + std::to_string(level), "count levels from 0");
  const ref::TextureLevel& l = image.levels[level];
  TexelExtent e{l.size[0], l.size[1], slices_of(image, l)};
  if (image.geometry == ref::Geometry::d1 || image.geometry == ref::Geometry::a1d) e.height = 0;
  if (image.geometry == ref::Geometry::d1 || image.geometry == ref::Geometry::d2) e.depth = 0;
  return e;
}

void TexelArray::copy(void* host, std::size_t bytes, const TexelRegion& region, std::size_t pitch,
                      bool to_device) const {
  const ref::Image& image = use_texels(state_).image;
  const auto& memory = detail::Access::state(state_->memory);
  runtime::Context& context = api::use(memory, "the array of texels");
  if (region.level >= image.level_count)
    api::fail(ErrorId::invalid_value, "the array has no level " + std::to_string(region.level), "count levels from 0");
  const ref::TextureLevel& level = image.levels[region.level];
  const std::size_t sizes[3] = {level.size[0], level.size[1], slices_of(image, level)};
  const std::size_t starts[3] = {region.x, region.y, region.z};
  std::size_t counts[3] = {region.width, region.height, region.depth};
  for (std::size_t k = 0; k < 3; ++k) {
    if (starts[k] < sizes[k] && counts[k] == 0) counts[k] = sizes[k] - starts[k];
    if (starts[k] >= sizes[k] || counts[k] > sizes[k] - starts[k])
      api::fail(ErrorId::invalid_value, "the region of a copy is not inside the array", "see extent()");
  }
  const std::size_t texel = image.texel_bytes(), row = counts[0] * texel;
  if (pitch == 0) pitch = row;
  const std::size_t rows = counts[1] * counts[2];
  if (pitch < row || host == nullptr || bytes < row || (bytes - row) / pitch < rows - 1)
    api::fail(ErrorId::invalid_value,
              "the host memory of a copy of " + std::to_string(rows) + " rows of " + std::to_string(row) +
                  " bytes is too small",
              "pass memory for all rows, which lie at least their length apart");
  if (const std::uint64_t array = state_->array; array != 0) {
    const device::TexelCopy part{{region.x, region.y, region.z},
                                 {counts[0], counts[1], counts[2]},
                                 region.level,
                                 static_cast<std::byte*>(host),
                                 pitch,
                                 to_device};
    api::run_on(context, *memory->device, nullptr, runtime::Work([array, part, &image, &device = context.device()] {
                  return device.copy_texels(array, image, part);
                }));
    return;
  }
  std::byte* first = level.data + level.slice * region.z + level.pitch * region.y + texel * region.x;
  api::run_on(context, *memory->device, nullptr, [=, &device = context.device()]() -> Result<void> {
    auto* at_host = static_cast<std::byte*>(host);
    for (std::size_t z = 0; z < counts[2]; ++z)
      for (std::size_t y = 0; y < counts[1]; ++y, at_host += pitch) {
        std::byte* at = first + level.slice * z + level.pitch * y;
        if (auto done = to_device ? device.copy(at, at_host, row) : device.copy(at_host, at, row); !done) return done;
      }
    return {};
  });
}

// ---- Texture ----

namespace {

std::unique_ptr<detail::TextureState> make_texture(const Device& device, const ref::Image& image,
                                                   const TextureOptions& options) {
  const auto& state = detail::Access::state(device);
  api::use(state);
  return std::make_unique<detail::TextureState>(state, device::TextureSetup{image, sampler_of(options, image)},
                                                nullptr);
}

}  // namespace

Texture::Texture(const TexelArray& array, const TextureOptions& options) {
  const TexelsState& texels = use_texels(array.state_);
  const auto& memory = detail::Access::state(texels.memory);
  api::use(memory, "the array of texels");
  state_ = std::make_unique<detail::TextureState>(
      memory->device, device::TextureSetup{texels.image, sampler_of(options, texels.image), false, texels.array, 0},
      array.state_);
}

Texture::Texture(const Device& device, const void* memory, const TexelFormat& format, std::size_t texels,
                 const TextureOptions& options)
    : state_(make_texture(device, plain_image(device, memory, format, texels, 0, 0), options)) {}

Texture::Texture(const Device& device, const void* memory, const TexelFormat& format, std::size_t width,
                 std::size_t height, std::size_t pitch, const TextureOptions& options)
    : state_(make_texture(device, plain_image(device, memory, format, width, std::max<std::size_t>(height, 1), pitch),
                          options)) {}

Texture::Texture(Texture&&) noexcept = default;
Texture& Texture::operator=(Texture&&) noexcept = default;
Texture::~Texture() = default;
std::uint64_t Texture::handle() const noexcept { return state_ ? state_->handle : 0; }

// ---- Surface ----

Surface::Surface(const TexelArray& array, unsigned level) {
  const TexelsState& texels = use_texels(array.state_);
  const auto& memory = detail::Access::state(texels.memory);
  api::use(memory, "the array of texels");
  if (level >= texels.image.level_count)
    api::fail(ErrorId::invalid_value, "the array has no level " + std::to_string(level), "count levels from 0");
  device::TextureSetup setup{texels.image, {}, true, texels.array, level};
  setup.image.levels[0] = texels.image.levels[level];
  setup.image.level_count = 1;
  state_ = std::make_unique<detail::TextureState>(memory->device, setup, array.state_);
}

Surface::Surface(Surface&&) noexcept = default;
Surface& Surface::operator=(Surface&&) noexcept = default;
Surface::~Surface() = default;
std::uint64_t Surface::handle() const noexcept { return state_ ? state_->handle : 0; }

}  // namespace warploom

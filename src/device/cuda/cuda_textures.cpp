// Textures and surfaces of the CUDA device: arrays of texels, and the objects through which kernels see them.
#include <fmt/format.h>

#include "device/cuda/cuda_device.hpp"

namespace warploom::device::cuda {
namespace {

namespace ref = isa::ref;

ArrayFormat format_of(ref::ChannelFormat format) {
  using enum ArrayFormat;
  switch (format) {
    case ref::ChannelFormat::u8: return unsigned8;
    case ref::ChannelFormat::u16: return unsigned16;
    case ref::ChannelFormat::u32: return unsigned32;
    case ref::ChannelFormat::s8: return signed8;
    case ref::ChannelFormat::s16: return signed16;
    case ref::ChannelFormat::s32: return signed32;
    case ref::ChannelFormat::f16: return half;
    case ref::ChannelFormat::f32: return single;
  }
  return single;
}

// CUDA_ARRAY3D_* flags.
constexpr unsigned kLayered = 1, kSurfaces = 2, kCube = 4;

ArrayShape shape_of(const ref::Image& image) {
  const ref::TextureLevel& level = image.levels[0];
  const bool flat = image.geometry == ref::Geometry::d1 || image.geometry == ref::Geometry::a1d;
  ArrayShape shape{};
  shape.width = level.size[0];
  shape.height = flat ? 0 : level.size[1];
  if (ref::is_cube(image.geometry))
    shape.depth = std::size_t{image.layers} * 6;
  else if (ref::is_layered(image.geometry))
    shape.depth = image.layers;
  else
    shape.depth = image.geometry == ref::Geometry::d3 ? level.size[2] : 0;
  shape.format = format_of(image.format);
  shape.channels = image.channels;
  shape.flags = kSurfaces;
  if (ref::is_layered(image.geometry)) shape.flags |= kLayered;
  if (ref::is_cube(image.geometry)) shape.flags |= kCube;
  return shape;
}

SamplerSetup sampler_of(const TextureSetup& setup) {
  constexpr unsigned kIntegers = 1, kNormalized = 2, kSrgb = 0x10, kSeamless = 0x40;  // CU_TRSF_*
  const ref::Sampler& s = setup.sampler;
  SamplerSetup out{};
  for (std::size_t k = 0; k < 3; ++k) out.address[k] = static_cast<int>(s.mode[k]);
  out.filter = s.linear ? 1 : 0;
  if (s.integers && !ref::is_float(setup.image.format)) out.flags |= kIntegers;
  if (s.normalized) out.flags |= kNormalized;
  if (s.srgb) out.flags |= kSrgb;
  if (s.seamless) out.flags |= kSeamless;
  out.mip_filter = s.mip_linear ? 1 : 0;
  out.level_bias = s.bias;
  out.least_level = s.least_level;
  out.most_level = s.most_level;
  std::copy(std::begin(s.border), std::end(s.border), out.border);
  return out;
}

Diag no_texels() {
  Diag d;
  d.id = ErrorId::invalid_handle;
  d.what = "the array of texels is gone";
  d.remedy = "make it again after Device::reset()";
  return d;
}

}  // namespace

Result<CudaDevice::Texels> CudaDevice::texels_of(std::uint64_t number) const {
  const std::lock_guard lock(textures_mutex_);
  const auto it = texels_.find(number);
  if (it == texels_.end()) return no_texels();
  return it->second;
}

Result<ArrayHandle*> CudaDevice::level_of(std::uint64_t number, unsigned level) const {
  auto texels = texels_of(number);
  if (!texels) return std::move(texels.error());
  if (texels->mipmap == nullptr) return texels->array;
  ArrayHandle* array = nullptr;
  WL_TRY(checked(driver_.mipmap_level(&array, texels->mipmap, level), "a level of an array of texels"));
  return array;
}

Result<std::uint64_t> CudaDevice::allocate_texels(const ref::Image& image) {
  WL_TRY(enter());
  const ArrayShape shape = shape_of(image);
  Texels made;
  const Status status = image.level_count > 1 ? driver_.mipmap_create(&made.mipmap, &shape, image.level_count)
                                              : driver_.array_create(&made.array, &shape);
  WL_TRY(checked(status, fmt::format("an array of {} x {} x {} texels of {} bytes", shape.width, shape.height,
                                     shape.depth, image.texel_bytes())));
  const std::lock_guard lock(textures_mutex_);
  texels_[next_texels_] = made;
  return next_texels_++;
}

void CudaDevice::release_texels(std::uint64_t number) {
  Texels gone;
  {
    const std::lock_guard lock(textures_mutex_);
    const auto it = texels_.find(number);
    if (it == texels_.end()) return;
    gone = it->second;
    texels_.erase(it);
  }
  if (!enter()) return;
  if (gone.mipmap != nullptr)
    (void)driver_.mipmap_destroy(gone.mipmap);
  else
    (void)driver_.array_destroy(gone.array);
}

Result<void> CudaDevice::copy_texels(std::uint64_t number, const ref::Image& image, const TexelCopy& part) {
  WL_TRY(enter());
  auto array = level_of(number, part.level);
  if (!array) return std::move(array.error());
  constexpr int kHost = 1, kArray = 3;  // CU_MEMORYTYPE_*
  const std::size_t texel = image.texel_bytes();
  BoxCopySide host{}, device{};
  host.kind = kHost;
  host.host = part.host;
  host.pitch = part.pitch;
  host.height = part.count[1];
  device.kind = kArray;
  device.array = *array;
  device.x_bytes = part.start[0] * texel;
  device.y = part.start[1];
  device.z = part.start[2];
  const BoxCopy copy{part.to_device ? host : device, part.to_device ? device : host, part.count[0] * texel,
                     part.count[1], part.count[2]};
  CudaQueue& queue = here();
  WL_TRY(checked(driver_.copy_box(&copy, queue.handle()), "a copy of texels"));
  return finish(queue);
}

Result<std::uint64_t> CudaDevice::create_texture(const TextureSetup& setup) {
  WL_TRY(enter());
  ResourceSetup resource{};
  if (setup.texels != 0) {
    if (setup.is_surface) {
      auto array = level_of(setup.texels, setup.level);
      if (!array) return std::move(array.error());
      resource.of.array = *array;
    } else {
      auto texels = texels_of(setup.texels);
      if (!texels) return std::move(texels.error());
      resource.kind = texels->mipmap != nullptr ? ResourceKind::mipmap : ResourceKind::array;
      if (texels->mipmap != nullptr)
        resource.of.mipmap = texels->mipmap;
      else
        resource.of.array = texels->array;
    }
  } else {
    const ref::TextureLevel& level = setup.image.levels[0];
    const auto address = reinterpret_cast<DevicePointer>(level.data);
    const ArrayFormat format = format_of(setup.image.format);
    if (setup.image.geometry == ref::Geometry::d1) {
      resource.kind = ResourceKind::linear;
      resource.of.linear = {address, format, setup.image.channels,
                            std::size_t{level.size[0]} * setup.image.texel_bytes()};
    } else {
      resource.kind = ResourceKind::rows;
      resource.of.rows = {address, format, setup.image.channels, level.size[0], level.size[1], level.pitch};
    }
  }
  std::uint64_t handle = 0;
  Status status = 0;
  if (setup.is_surface) {
    status = driver_.surface_create(&handle, &resource);
  } else {
    const SamplerSetup sampler = sampler_of(setup);
    status = driver_.texture_create(&handle, &resource, &sampler, nullptr);
  }
  if (status != 0) {
    Diag d = driver_error(driver_, status,
                          setup.is_surface ? "a surface object cannot be made" : "a texture object cannot be made");
    if (setup.texels == 0)
      d.remedy = fmt::format("start the memory at a multiple of {} bytes, and rows at multiples of {}",
                             attribute(DeviceAttribute::texture_alignment),
                             attribute(DeviceAttribute::texture_pitch_alignment));
    return d;
  }
  const std::lock_guard lock(textures_mutex_);
  (setup.is_surface ? surface_objects_ : texture_objects_).insert(handle);
  return handle;
}

void CudaDevice::destroy_texture(std::uint64_t handle) {
  {
    const std::lock_guard lock(textures_mutex_);
    if (texture_objects_.erase(handle) == 0) return;
  }
  if (enter()) (void)driver_.texture_destroy(handle);
}

void CudaDevice::destroy_surface(std::uint64_t handle) {
  {
    const std::lock_guard lock(textures_mutex_);
    if (surface_objects_.erase(handle) == 0) return;
  }
  if (enter()) (void)driver_.surface_destroy(handle);
}

void CudaDevice::forget_textures() {
  std::map<std::uint64_t, Texels> arrays;
  std::set<std::uint64_t> textures, surfaces;
  {
    const std::lock_guard lock(textures_mutex_);
    arrays.swap(texels_);
    textures.swap(texture_objects_);
    surfaces.swap(surface_objects_);
  }
  if (!enter()) return;
  for (const std::uint64_t handle : textures) (void)driver_.texture_destroy(handle);
  for (const std::uint64_t handle : surfaces) (void)driver_.surface_destroy(handle);
  for (const auto& [number, texels] : arrays)
    if (texels.mipmap != nullptr)
      (void)driver_.mipmap_destroy(texels.mipmap);
    else
      (void)driver_.array_destroy(texels.array);
}

}  // namespace warploom::device::cuda

// Textures and surfaces: arrays of texels in device memory, and the objects through which kernels read and write them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

#include "warploom/array.hpp"
#include "warploom/device.hpp"
#include "warploom/export.hpp"
#include "warploom/module.hpp"

namespace warploom {
namespace detail {

struct TexelsState;
struct TextureState;

}  // namespace detail

/// What a texel is made of (cudaChannelFormatDesc): `channels` numbers (1, 2 or 4) of `bits` bits (8, 16 or 32; 16 or
/// 32 for floating).
struct TexelFormat {
  enum class Kind : std::uint8_t { unsigned_integer, signed_integer, floating };
  Kind kind = Kind::floating;
  unsigned bits = 32;
  unsigned channels = 1;

  /// Of `channels` numbers of type T, for instance TexelFormat::of<unsigned char>(4).
  template <class T>
  static constexpr TexelFormat of(unsigned channels = 1) {
    static_assert(std::is_arithmetic_v<T>, "a channel is a number");
    return {std::is_floating_point_v<T> ? Kind::floating
            : std::is_signed_v<T>       ? Kind::signed_integer
                                        : Kind::unsigned_integer,
            sizeof(T) * 8, channels};
  }
  [[nodiscard]] constexpr unsigned bytes() const { return bits / 8 * channels; }
};

/// Size in texels; 0 for an axis that is not there (cudaExtent). The depth of a layered array is the number of layers,
/// that of a cube map 6, or 6 for each of its layers.
struct TexelExtent {
  std::size_t width = 0, height = 0, depth = 0;
};

/// What kind of array (the flags of cudaMalloc3DArray).
struct TexelOptions {
  bool layered = false;
  bool cube = false;
  unsigned levels = 1;  ///< of the mip pyramid; each is half as large as the one before
};

/// A part of one level, in texels; 0: as far as the level goes.
struct TexelRegion {
  std::size_t x = 0, y = 0, z = 0;
  std::size_t width = 0, height = 0, depth = 0;
  unsigned level = 0;
};

/// Texels in device memory, row after row without gaps (cudaArray_t, cudaMipmappedArray_t). Contents unspecified at
/// first. Move only. Textures and surfaces made of it keep its memory.
///
/// Copies run on the default stream and return when they are done. Host memory holds the region's rows one after the
/// other, `pitch` bytes apart (0: without gaps). Throws invalid_value for a region outside the array and for host
/// memory that is too small.
class WARPLOOM_API TexelArray {
 public:
  /// Throws invalid_value for a format or extent that CUDA does not have, out_of_memory.
  TexelArray(const Device& device, const TexelFormat& format, const TexelExtent& extent,
             const TexelOptions& options = {});
  TexelArray(TexelArray&&) noexcept;
  TexelArray& operator=(TexelArray&&) noexcept;
  ~TexelArray();

  [[nodiscard]] TexelFormat format() const;
  [[nodiscard]] TexelExtent extent(unsigned level = 0) const;
  [[nodiscard]] unsigned levels() const;

  template <class T>
  void copy_from(std::span<const T> host, const TexelRegion& region = {}, std::size_t pitch = 0) {
    copy(const_cast<std::remove_const_t<T>*>(host.data()), host.size_bytes(), region, pitch, true);
  }
  template <class T>
  void copy_to(std::span<T> host, const TexelRegion& region = {}, std::size_t pitch = 0) const {
    copy(host.data(), host.size_bytes(), region, pitch, false);
  }

 private:
  friend struct detail::Access;
  friend class Texture;
  friend class Surface;
  void copy(void* host, std::size_t bytes, const TexelRegion& region, std::size_t pitch, bool to_device) const;
  std::shared_ptr<detail::TexelsState> state_;
};

/// How a texture is read (cudaTextureDesc).
struct TextureOptions {
  enum class Address : std::uint8_t { wrap, clamp, mirror, border };
  enum class Filter : std::uint8_t { point, linear };
  enum class Read : std::uint8_t { element, normalized_float };

  /// Outside the texture, by axis. Wrapping and mirroring need normalised coordinates, and clamp without.
  std::array<Address, 3> address = {Address::clamp, Address::clamp, Address::clamp};
  Filter filter = Filter::point;        ///< linear needs texels that are read as floats
  Read read = Read::element;            ///< 8- and 16-bit integers as they are, or as fractions in [0, 1] or [-1, 1]
  bool normalized_coordinates = false;  ///< 0 to 1 over the texture, not 0 to its size
  bool srgb = false;                    ///< 8-bit channels but the last hold sRGB
  bool seamless_cube = false;           ///< linear filters go over the edges of a cube's faces
  Filter mip_filter = Filter::point;    ///< the nearest level, or a blend of two
  float level_bias = 0, min_level = 0, max_level = 0;
  std::array<float, 4> border_color = {0, 0, 0, 0};
};

/// A texture object (cudaTextureObject_t). Pass it to a kernel as its argument, or handle() inside of something else.
/// Move only. Destroying it waits for the work queued so far; a kernel that uses it later ends with invalid_texture.
class WARPLOOM_API Texture {
 public:
  /// Of an array, whose memory it keeps. Throws invalid_value for options that the texels do not have.
  explicit Texture(const TexelArray& array, const TextureOptions& options = {});
  /// Of linear memory, fetched by integers (tex1Dfetch), or of rows `pitch` bytes apart. The memory must live longer.
  Texture(const Device& device, const void* memory, const TexelFormat& format, std::size_t texels,
          const TextureOptions& options = {});
  Texture(const Device& device, const void* memory, const TexelFormat& format, std::size_t width, std::size_t height,
          std::size_t pitch, const TextureOptions& options = {});
  Texture(Texture&&) noexcept;
  Texture& operator=(Texture&&) noexcept;
  ~Texture();

  /// What a kernel takes; 0 for a moved-from one.
  [[nodiscard]] std::uint64_t handle() const noexcept;

 private:
  std::unique_ptr<detail::TextureState> state_;
};

/// A surface object (cudaSurfaceObject_t), through which kernels read and write one level of an array. Otherwise as
/// Texture.
class WARPLOOM_API Surface {
 public:
  /// Throws invalid_value for a level that is not there.
  explicit Surface(const TexelArray& array, unsigned level = 0);
  Surface(Surface&&) noexcept;
  Surface& operator=(Surface&&) noexcept;
  ~Surface();

  [[nodiscard]] std::uint64_t handle() const noexcept;

 private:
  std::unique_ptr<detail::TextureState> state_;
};

namespace detail {

template <class Object>
struct PackedHandle {
  std::uint64_t value;
  explicit PackedHandle(const Object& object) : value(object.handle()) {}
  [[nodiscard]] Argument argument() const { return {&value, sizeof(value), nullptr}; }
};
template <>
struct Packed<Texture> : PackedHandle<Texture> {
  using PackedHandle::PackedHandle;
};
template <>
struct Packed<Surface> : PackedHandle<Surface> {
  using PackedHandle::PackedHandle;
};

}  // namespace detail
}  // namespace warploom

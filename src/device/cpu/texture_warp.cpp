// Accesses of a warp: texture lookups, surface loads, stores and reductions, queries, and what they count.
#include "device/cpu/texture_warp.hpp"

#include <algorithm>
#include <bit>
#include <optional>

#include "isa/ref/sample.hpp"
#include "isa/ref/surface.hpp"

namespace warploom::device {

namespace {

namespace ref = isa::ref;
using ref::Geometry;
using ref::Image;
using ref::TextureLevel;
using ref::TextureOp;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using Kind = TextureOp::Kind;

constexpr unsigned kLanes = 32;

const char* name_of(Geometry g) {
  constexpr const char* kNames[] = {"1d", "2d", "3d", "a1d", "a2d", "cube", "acube"};
  return kNames[static_cast<std::size_t>(g)];
}

bool fits(const TextureOp& op, const Image& image) {
  if (op.geometry == image.geometry) return true;
  // A surface of a cube map is one of layers; a layer of one is one.
  const bool surface = op.kind == Kind::suld || op.kind == Kind::sust || op.kind == Kind::sured;
  return surface && op.geometry == Geometry::a2d && ref::is_cube(image.geometry);
}

// What a warp's request touches. An array is kept by hardware in tiles whose 32-byte sectors are 16 bytes wide and two
// rows high; plain memory is not.
class Sectors {
 public:
  explicit Sectors(const Image& image) : plain_(image.linear_memory) {}

  void add(const TextureLevel& level, u32 slice, u32 row, u64 byte, u64 bytes) {
    touched_ += bytes;
    const u64 base = reinterpret_cast<u64>(level.data);
    if (plain_) {
      const u64 at = base + level.pitch * row + byte;
      for (u64 s = at / 32; s <= (at + bytes - 1) / 32; ++s) insert(s);
      return;
    }
    const u64 tile = base + level.slice * slice + level.pitch * (row / 2 * 2);
    for (u64 s = byte / 16; s <= (byte + bytes - 1) / 16; ++s) insert((tile << 16) ^ s);
  }
  [[nodiscard]] u64 count() {
    std::sort(keys_, keys_ + used_);
    return static_cast<u64>(std::unique(keys_, keys_ + used_) - keys_);
  }
  // If what was touched were packed.
  [[nodiscard]] u64 ideal() const { return (touched_ + 31) / 32; }

 private:
  void insert(u64 key) {
    if (used_ == 0 || keys_[used_ - 1] != key) keys_[used_++] = key;
  }

  // All texels of a blend of two levels in three dimensions, two sectors each.
  static constexpr unsigned kMost = kLanes * 16 * 2;
  bool plain_;
  u64 touched_ = 0;
  unsigned used_ = 0;
  u64 keys_[kMost];
};

void count(Sectors& sectors, u32 lanes, u64* counters) {
  const u64 touched = sectors.count();
  counters[0] += 1;
  counters[1] += touched;
  counters[2] += std::min(touched, std::max<u64>(1, sectors.ideal()));
  counters[5] += static_cast<u64>(std::popcount(lanes));
}

// Words of one lane.
void gather_lane(const u32* words, unsigned lane, u32* w) {
  for (unsigned k = 0; k < ref::kTextureWords; ++k) w[k] = words[k * kLanes + lane];
}

template <class Each>
void each_lane(u32 lanes, Each&& each) {
  for (; lanes != 0; lanes &= lanes - 1) each(static_cast<unsigned>(std::countr_zero(lanes)));
}

template <class T>
void reduce_at(const TextureOp& op, std::byte* at, u64 x) {
  T* cell = reinterpret_cast<T*>(at);
  T old = __atomic_load_n(cell, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(cell, &old, static_cast<T>(ref::reduce(op, old, x)), true, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED)) {
  }
}

void store_formatted(const Image& image, std::byte* at, const u32* values) {
  const unsigned step = ref::channel_bytes(image.format);
  for (unsigned c = 0; c < image.channels; ++c) {
    const u32 x = ref::channel_from_word(values[c], image.format);
    std::memcpy(at + std::size_t{c} * step, &x, step);
  }
}

TextureOutcome access_surface(const TextureOp& op, const Image& image, const u32* words, u32* results, u32 lanes,
                              u64* counters) {
  TextureOutcome outcome;
  std::optional<Sectors> sectors;
  if (counters != nullptr) sectors.emplace(image);
  const bool formatted = op.has(TextureOp::kFormatted);
  const unsigned bytes = formatted ? image.texel_bytes() : unsigned{op.bytes} * op.width;
  const TextureLevel& level = image.levels[0];
  ref::SurfacePlace places[kLanes];
  each_lane(lanes, [&](unsigned l) {
    u32 w[ref::kTextureWords];
    gather_lane(words, l, w);
    places[l] = ref::surface_place(op, image, w, bytes);
    if (places[l].kind == ref::SurfacePlace::Kind::misaligned) outcome.misaligned |= 1U << l;
    if (places[l].kind == ref::SurfacePlace::Kind::outside && op.outside() == TextureOp::Outside::trap)
      outcome.outside |= 1U << l;
  });
  if ((outcome.misaligned | outcome.outside) != 0) return outcome;
  each_lane(lanes, [&](unsigned l) {
    const ref::SurfacePlace& p = places[l];
    const bool inside = p.kind == ref::SurfacePlace::Kind::inside;
    if (inside && sectors) sectors->add(level, p.slice, p.row, p.byte, bytes);
    if (!inside && op.kind != Kind::suld) return;
    std::byte* at = p.address(level);
    u32 values[4] = {};
    if (op.kind == Kind::suld) {
      if (inside)
        for (unsigned e = 0; e < op.width; ++e)
          std::memcpy(values + std::size_t{e} * std::max(1U, op.bytes / 4U), at + std::size_t{e} * op.bytes, op.bytes);
      for (unsigned k = 0; k < 4; ++k) results[k * kLanes + l] = values[k];
      return;
    }
    for (unsigned k = 0; k < 4; ++k) values[k] = words[(ref::kTextureData + k) * kLanes + l];
    if (op.kind == Kind::sured) {
      if (op.bytes == 8)
        reduce_at<u64>(op, at, values[0] | u64{values[1]} << 32);
      else
        reduce_at<u32>(op, at, values[0]);
    } else if (formatted) {
      store_formatted(image, at, values);
    } else {
      for (unsigned e = 0; e < op.width; ++e)
        std::memcpy(at + std::size_t{e} * op.bytes, values + std::size_t{e} * std::max(1U, op.bytes / 4U), op.bytes);
    }
  });
  if (sectors) count(*sectors, lanes, counters);
  return outcome;
}

template <class Seen>
void look_up(const TextureOp& op, const TextureSetup& setup, const u32* words, u32* results, u32 lanes, Seen&& seen) {
  ref::Sampling<Seen> sampling(op, setup.image, setup.sampler, seen);
  each_lane(lanes, [&](unsigned l) {
    u32 w[ref::kTextureWords], r[4] = {};
    gather_lane(words, l, w);
    sampling.lookup(w, r);
    for (unsigned k = 0; k < 4; ++k) results[k * kLanes + l] = r[k];
  });
}

}  // namespace

std::string texture_mismatch(const TextureOp& op, const TextureSetup& setup) {
  const bool surface = op.kind == Kind::suld || op.kind == Kind::sust || op.kind == Kind::sured || op.kind == Kind::suq;
  if (surface != setup.is_surface)
    return surface ? "the handle is of a texture object, the instruction is for a surface"
                   : "the handle is of a surface object, the instruction is for a texture";
  if (op.kind == Kind::txq || op.kind == Kind::suq || fits(op, setup.image)) return {};
  return std::string("the object is a ") + name_of(setup.image.geometry) + (surface ? " surface" : " texture") +
         " and the instruction is for " + name_of(op.geometry);
}

TextureOutcome access_texture(const TextureOp& op, const TextureSetup& setup, const u32* words, u32* results, u32 lanes,
                              u64* counters) {
  switch (op.kind) {
    case Kind::txq:
    case Kind::suq:
      each_lane(lanes, [&](unsigned l) {
        const u32 level = op.has(TextureOp::kQueryLevel) ? words[ref::kTextureLevel * kLanes + l] : 0;
        results[l] = ref::query(op, setup.image, setup.sampler, level);
      });
      return {};
    case Kind::tex:
    case Kind::tld4: break;
    default: return access_surface(op, setup.image, words, results, lanes, counters);
  }
  if (counters == nullptr) {
    if (access_common_texture(op, setup, words, results, lanes)) return {};
    look_up(op, setup, words, results, lanes, [](const TextureLevel&, u32, u32, u64) {});
    return {};
  }
  Sectors sectors(setup.image);
  const unsigned bytes = setup.image.texel_bytes();
  look_up(op, setup, words, results, lanes, [&](const TextureLevel& level, u32 slice, u32 row, u64 byte) {
    sectors.add(level, slice, row, byte, bytes);
  });
  count(sectors, lanes, counters);
  return {};
}

}  // namespace warploom::device

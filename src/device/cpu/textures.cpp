// The table of texture objects, and the native function that texture and surface instructions call.
#include "device/cpu/textures.hpp"

#include <fmt/format.h>

#include <bit>

#include "device/cpu/block.hpp"
#include "device/cpu/cpu_device.hpp"
#include "device/cpu/texture_warp.hpp"

namespace warploom::device {

TextureTable::~TextureTable() {
  for (auto& chunk : chunks_) delete[] chunk.load(std::memory_order_relaxed);
}

Result<std::uint64_t> TextureTable::create(const TextureSetup& setup) {
  const std::lock_guard lock(mutex_);
  std::uint32_t place = 0;
  if (!free_.empty()) {
    place = free_.back();
    free_.pop_back();
  } else if (places_ <= kPlaceMask) {
    place = places_++;
  } else {
    Diag d;
    d.id = ErrorId::out_of_memory;
    d.what = fmt::format("there are {} texture and surface objects already", kPlaceMask);
    d.remedy = "destroy those that are no longer needed";
    return d;
  }
  auto& chunk = chunks_[place / kChunk];
  if (chunk.load(std::memory_order_relaxed) == nullptr) chunk.store(new Entry[kChunk], std::memory_order_release);
  Entry& entry = chunk.load(std::memory_order_relaxed)[place % kChunk];
  entry.setup = setup;
  const std::uint64_t handle = kMark | std::uint64_t{++entry.uses} << kPlaceBits | place;
  entry.handle.store(handle, std::memory_order_release);
  return handle;
}

void TextureTable::destroy(std::uint64_t handle) {
  const std::lock_guard lock(mutex_);
  if (find(handle) == nullptr) return;
  const auto place = static_cast<std::uint32_t>(handle & kPlaceMask);
  chunks_[place / kChunk].load(std::memory_order_relaxed)[place % kChunk].handle.store(0, std::memory_order_release);
  free_.push_back(place);
}

void TextureTable::clear() {
  const std::lock_guard lock(mutex_);
  for (std::uint32_t place = 1; place < places_; ++place) {
    Entry& entry = chunks_[place / kChunk].load(std::memory_order_relaxed)[place % kChunk];
    if (entry.handle.exchange(0, std::memory_order_release) != 0) free_.push_back(place);
  }
}

}  // namespace warploom::device

extern "C" {

// One texture or surface instruction for the lanes of `mask`; 0 when it failed and the warp must stop. `words` and
// `results` are rows of 32 lanes, see isa/ref/texture.hpp; `counters` may be null.
std::uint32_t warploom_texture(warploom::codegen::WarpContext* c, std::uint64_t op_word, const std::uint64_t* objects,
                               const std::uint32_t* words, std::uint32_t* results, std::uint32_t mask,
                               std::int32_t block, std::int32_t index, std::uint64_t* counters) {
  using namespace warploom;
  using isa::ref::TextureOp;
  const TextureOp op = TextureOp::of(op_word);
  auto* state = static_cast<device::BlockState*>(c->block);
  const auto fail = [&](std::uint32_t lanes, ErrorId id, std::string what, std::string remedy) {
    state->native_place.reset();
    state->fail_at(c->warp, lanes, id, std::move(what), std::move(remedy), block, static_cast<std::size_t>(index));
    return 0U;
  };
  state->native_place = codegen::CodePlace{block, static_cast<std::size_t>(index)};
  // As a rule all lanes use one object; others take turns.
  for (std::uint32_t rest = mask; rest != 0;) {
    const std::uint64_t handle = objects[std::countr_zero(rest)];
    std::uint32_t lanes = 0;
    for (std::uint32_t l = 0; l < 32; ++l) lanes |= (objects[l] == handle ? 1U : 0U) << l;
    lanes &= rest;
    rest &= ~lanes;
    const device::TextureSetup* setup = state->grid().device->textures().find(handle);
    if (setup == nullptr)
      return fail(lanes, ErrorId::invalid_texture,
                  fmt::format("{:#x} is no handle of a texture or surface object", handle),
                  "pass the handle of an object that exists until the kernel has ended");
    if (auto wrong = device::texture_mismatch(op, *setup); !wrong.empty())
      return fail(lanes, ErrorId::invalid_texture, std::move(wrong),
                  "use the instruction that fits the object, or make the object that fits the instruction");
    const device::TextureOutcome outcome = device::access_texture(op, *setup, words, results, lanes, counters);
    if (outcome.outside != 0)
      return fail(outcome.outside, ErrorId::surface_bounds,
                  fmt::format("a surface access of {} bytes lies outside the surface", op.bytes * op.width),
                  "stay inside, or use the boundary mode clamp or zero (the first coordinate counts bytes)");
    if (outcome.misaligned != 0)
      return fail(outcome.misaligned, ErrorId::misaligned_address,
                  fmt::format("a surface access of {} bytes is not at a multiple of that", op.bytes * op.width),
                  "the first coordinate of a surface access counts bytes: multiply the index by the element's size");
  }
  state->native_place.reset();
  return 1;
}

}  // extern "C"

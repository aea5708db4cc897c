// One texture or surface instruction for the lanes of a warp that use one object.
#pragma once

#include <cstdint>
#include <string>

#include "device/device.hpp"

namespace warploom::device {

// Why the object cannot be used by the instruction; empty when it can.
std::string texture_mismatch(const isa::ref::TextureOp& op, const TextureSetup& setup);

struct TextureOutcome {
  std::uint32_t outside = 0;     // lanes that trap
  std::uint32_t misaligned = 0;  // lanes
};

// `words` and `results` are rows of 32 lanes. `counters`, which may be null, are those of an access site.
TextureOutcome access_texture(const isa::ref::TextureOp& op, const TextureSetup& setup, const std::uint32_t* words,
                              std::uint32_t* results, std::uint32_t lanes, std::uint64_t* counters);

// The same without counters, for the lookups that texture_fast.cpp knows; false for all others.
bool access_common_texture(const isa::ref::TextureOp& op, const TextureSetup& setup, const std::uint32_t* words,
                           std::uint32_t* results, std::uint32_t lanes);

}  // namespace warploom::device

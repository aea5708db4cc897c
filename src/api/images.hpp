// The PTX that a device takes from a file with device code.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "image/image.hpp"

namespace warploom::api {

// What is loaded as one module: a text by itself, or several that are linked.
using ModuleTexts = std::vector<device::PtxText>;

// The modules of an image, the linked one last. A fatbin whose machine code has kernels and that has no PTX which a GPU
// of compute capability `sm` runs is no_ptx; one without kernels is left out.
Result<std::vector<ModuleTexts>> modules_of(const image::Image& image, std::uint32_t sm);

}  // namespace warploom::api

// Everything that <cuda_texture_types.h> gives is already in the device header.
#pragma once
#include "warploom_cuda.h"

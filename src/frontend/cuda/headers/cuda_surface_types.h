// Everything that <cuda_surface_types.h> gives is already in the device header.
#pragma once
#include "warploom_cuda.h"

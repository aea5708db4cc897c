// Everything that <cuda_profiler_api.h> gives is already in the device header.
#pragma once
#include "warploom_cuda.h"

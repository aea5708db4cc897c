// Everything that <cuda_runtime.h> gives is already in the device header.
#pragma once
#include "warploom_cuda.h"
// nvcc's runtime header brings these in, and programs count on it.
#include <math.h>
#include <stdlib.h>
#include <string.h>

// The device math library as one translation unit for clang's NVPTX target; every __nv_ function is an entry of its
// own.
#include "prelude.h"

#include "frontend/cuda/headers/warploom_cuda/math_core.h"
#include "frontend/cuda/headers/warploom_cuda/math_kernels.h"
#include "frontend/cuda/headers/warploom_cuda/math_power.h"
#include "frontend/cuda/headers/warploom_cuda/math_norm.h"
#include "frontend/cuda/headers/warploom_cuda/math_fits.h"
#include "frontend/cuda/headers/warploom_cuda/math_error.h"
#include "frontend/cuda/headers/warploom_cuda/math_gamma.h"
#include "frontend/cuda/headers/warploom_cuda/math_bessel.h"

#include "math_entries.h"
#include "complex_entries.h"
#include "intrinsic_entries.h"

// Kernels that are dear to compile: functions of the device library, and much code without a loop.
template <int count>
__device__ __forceinline__ float chain(float x, float y) {
  // Dependent and different operations, so that nothing can be shared.
#pragma unroll
  for (int i = 0; i < count; ++i) {
    x = x * (1.0f + 0.5f * i) + y;
    y = (i & 3) == 3 ? fmaxf(y, x) : y - x * (0.25f + i);
  }
  return x + y;
}

#define ELEMENTWISE(name, type, expression)                           \
  extern "C" __global__ void name(type* out, const type* in, int n) { \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;              \
    if (i >= n) return;                                               \
    const type x = in[i];                                             \
    out[i] = expression;                                              \
  }

ELEMENTWISE(sin_f32, float, sinf(x))
ELEMENTWISE(sin_f64, double, sin(x))
ELEMENTWISE(exp_f64, double, exp(x))
ELEMENTWISE(pow_f32, float, powf(x, 2.5f))
ELEMENTWISE(pow_f64, double, pow(x, 2.5))
ELEMENTWISE(lgamma_f64, double, lgamma(x))
ELEMENTWISE(erfinv_f64, double, erfinv(x))
ELEMENTWISE(straight_1000, float, chain<500>(x, 1.0f))
ELEMENTWISE(straight_4000, float, chain<2000>(x, 1.0f))

// Calls every function of the device header once, so that each is known to compile, parse and assemble.
#include <cassert>
#include <cuda_runtime.h>
#include <math_constants.h>

__global__ void float_functions(float* f, const float* g) {
  *f++ = fabsf(*g++);
  *f++ = sqrtf(*g++);
  *f++ = floorf(*g++);
  *f++ = ceilf(*g++);
  *f++ = truncf(*g++);
  *f++ = rintf(*g++);
  *f++ = expf(*g++);
  *f++ = exp10f(*g++);
  *f++ = exp2f(*g++);
  *f++ = expm1f(*g++);
  *f++ = logf(*g++);
  *f++ = log2f(*g++);
  *f++ = log10f(*g++);
  *f++ = log1pf(*g++);
  *f++ = sinf(*g++);
  *f++ = cosf(*g++);
  *f++ = tanf(*g++);
  *f++ = asinf(*g++);
  *f++ = acosf(*g++);
  *f++ = atanf(*g++);
  *f++ = sinhf(*g++);
  *f++ = coshf(*g++);
  *f++ = tanhf(*g++);
  *f++ = asinhf(*g++);
  *f++ = acoshf(*g++);
  *f++ = atanhf(*g++);
  *f++ = erff(*g++);
  *f++ = erfcf(*g++);
  *f++ = cbrtf(*g++);
  *f++ = roundf(*g++);
  *f++ = nearbyintf(*g++);
  *f++ = logbf(*g++);
  *f++ = sinpif(*g++);
  *f++ = cospif(*g++);
  *f++ = rsqrtf(*g++);
  *f++ = rcbrtf(*g++);
  *f++ = normcdff(*g++);
  *f++ = atan2f(g[0], g[1]);
  *f++ = hypotf(g[0], g[1]);
  *f++ = fmodf(g[0], g[1]);
  *f++ = remainderf(g[0], g[1]);
  *f++ = nextafterf(g[0], g[1]);
  *f++ = fdimf(g[0], g[1]);
  *f++ = copysignf(g[0], g[1]);
  *f++ = powf(g[0], g[1]);
  *f++ = fminf(g[0], g[1]);
  *f++ = fmaxf(g[0], g[1]);
  *f++ = fmaf(g[0], g[1], g[2]);
  *f++ = ldexpf(g[0], 3) + scalbnf(g[1], 4) + norm3df(g[0], g[1], g[2]);
  int e;
  *f++ = frexpf(g[3], &e) + e + ilogbf(g[4]);
  float w;
  *f++ = modff(g[5], &w) + w;
  float s, c;
  sincosf(g[6], &s, &c);
  *f++ = s + c;
  *f++ = lroundf(g[7]) + llroundf(g[8]) + lrintf(g[9]) + llrintf(g[10]);
  *f++ = isnan(g[0]) + isinf(g[1]) + isfinite(g[2]) + isnormal(g[3]) + signbit(g[4]);
  *f++ = min(g[0], g[1]) + max(g[2], 1.0f) + abs(g[3]) + CUDART_PI_F;
}

__global__ void double_functions(double* f, const double* g) {
  *f++ = fabs(*g++);
  *f++ = sqrt(*g++);
  *f++ = floor(*g++);
  *f++ = ceil(*g++);
  *f++ = trunc(*g++);
  *f++ = rint(*g++);
  *f++ = exp(*g++);
  *f++ = exp10(*g++);
  *f++ = exp2(*g++);
  *f++ = expm1(*g++);
  *f++ = log(*g++);
  *f++ = log2(*g++);
  *f++ = log10(*g++);
  *f++ = log1p(*g++);
  *f++ = sin(*g++);
  *f++ = cos(*g++);
  *f++ = tan(*g++);
  *f++ = asin(*g++);
  *f++ = acos(*g++);
  *f++ = atan(*g++);
  *f++ = sinh(*g++);
  *f++ = cosh(*g++);
  *f++ = tanh(*g++);
  *f++ = asinh(*g++);
  *f++ = acosh(*g++);
  *f++ = atanh(*g++);
  *f++ = erf(*g++);
  *f++ = erfc(*g++);
  *f++ = cbrt(*g++);
  *f++ = round(*g++);
  *f++ = nearbyint(*g++);
  *f++ = logb(*g++);
  *f++ = sinpi(*g++);
  *f++ = cospi(*g++);
  *f++ = rsqrt(*g++);
  *f++ = rcbrt(*g++);
  *f++ = normcdf(*g++);
  *f++ = atan2(g[0], g[1]);
  *f++ = hypot(g[0], g[1]);
  *f++ = fmod(g[0], g[1]);
  *f++ = remainder(g[0], g[1]);
  *f++ = nextafter(g[0], g[1]);
  *f++ = fdim(g[0], g[1]);
  *f++ = copysign(g[0], g[1]);
  *f++ = pow(g[0], g[1]);
  *f++ = fmin(g[0], g[1]);
  *f++ = fmax(g[0], g[1]);
  *f++ = fma(g[0], g[1], g[2]);
  *f++ = ldexp(g[0], 3) + scalbn(g[1], 4) + norm3d(g[0], g[1], g[2]);
  int e;
  *f++ = frexp(g[3], &e) + e + ilogb(g[4]);
  double w;
  *f++ = modf(g[5], &w) + w;
  double s, c;
  sincos(g[6], &s, &c);
  *f++ = s + c;
  *f++ = lround(g[7]) + llround(g[8]) + lrint(g[9]) + llrint(g[10]);
  *f++ = isnan(g[0]) + isinf(g[1]) + isfinite(g[2]) + isnormal(g[3]) + signbit(g[4]);
  *f++ = min(g[0], g[1]) + max(g[2], 1.0f) + abs(g[3]) + CUDART_PI;
}

__global__ void rounded_arithmetic(float* f, const float* g, double* d, long long* i) {
  *f++ = __expf(g[0]) + __exp10f(g[1]) + __logf(g[2]) + __log2f(g[3]) + __log10f(g[4]) + __powf(g[5], g[6]);
  *f++ = __sinf(g[0]) + __cosf(g[1]) + __tanf(g[2]) + __fdividef(g[3], g[4]) + __saturatef(g[5]) + __frsqrt_rn(g[6]);
  float s, c;
  __sincosf(g[0], &s, &c);
  *f++ = s + c;
  *f++ = __fadd_rn(g[0], g[1]) + __fsub_rn(g[0], g[1]) + __fmul_rn(g[0], g[1]) + __fmaf_rn(g[0], g[1], g[2]);
  *f++ = __fdiv_rn(g[0], g[1]) + __frcp_rn(g[0]) + __fsqrt_rn(g[1]);
  *d++ = __dadd_rn(d[0], d[1]) + __dsub_rn(d[0], d[1]) + __dmul_rn(d[0], d[1]) + __fma_rn(d[0], d[1], d[2]);
  *d++ = __ddiv_rn(d[0], d[1]) + __drcp_rn(d[0]) + __dsqrt_rn(d[1]);
  *i++ = __float2int_rn(g[0]) + __float2uint_rn(g[1]) + __float2ll_rn(g[2]) + __float2ull_rn(g[3]);
  *i++ = __double2int_rn(d[0]) + __double2uint_rn(d[1]) + __double2ll_rn(d[2]) + __double2ull_rn(d[3]);
  *f++ = __int2float_rn(i[0]) + __uint2float_rn(i[1]) + __ll2float_rn(i[2]) + __ull2float_rn(i[3]) +
         __double2float_rn(d[4]);
  *d++ = __ll2double_rn(i[0]) + __ull2double_rn(i[1]);
  *f++ = __fadd_rz(g[0], g[1]) + __fsub_rz(g[0], g[1]) + __fmul_rz(g[0], g[1]) + __fmaf_rz(g[0], g[1], g[2]);
  *f++ = __fdiv_rz(g[0], g[1]) + __frcp_rz(g[0]) + __fsqrt_rz(g[1]);
  *d++ = __dadd_rz(d[0], d[1]) + __dsub_rz(d[0], d[1]) + __dmul_rz(d[0], d[1]) + __fma_rz(d[0], d[1], d[2]);
  *d++ = __ddiv_rz(d[0], d[1]) + __drcp_rz(d[0]) + __dsqrt_rz(d[1]);
  *i++ = __float2int_rz(g[0]) + __float2uint_rz(g[1]) + __float2ll_rz(g[2]) + __float2ull_rz(g[3]);
  *i++ = __double2int_rz(d[0]) + __double2uint_rz(d[1]) + __double2ll_rz(d[2]) + __double2ull_rz(d[3]);
  *f++ = __int2float_rz(i[0]) + __uint2float_rz(i[1]) + __ll2float_rz(i[2]) + __ull2float_rz(i[3]) +
         __double2float_rz(d[4]);
  *d++ = __ll2double_rz(i[0]) + __ull2double_rz(i[1]);
  *f++ = __fadd_ru(g[0], g[1]) + __fsub_ru(g[0], g[1]) + __fmul_ru(g[0], g[1]) + __fmaf_ru(g[0], g[1], g[2]);
  *f++ = __fdiv_ru(g[0], g[1]) + __frcp_ru(g[0]) + __fsqrt_ru(g[1]);
  *d++ = __dadd_ru(d[0], d[1]) + __dsub_ru(d[0], d[1]) + __dmul_ru(d[0], d[1]) + __fma_ru(d[0], d[1], d[2]);
  *d++ = __ddiv_ru(d[0], d[1]) + __drcp_ru(d[0]) + __dsqrt_ru(d[1]);
  *i++ = __float2int_ru(g[0]) + __float2uint_ru(g[1]) + __float2ll_ru(g[2]) + __float2ull_ru(g[3]);
  *i++ = __double2int_ru(d[0]) + __double2uint_ru(d[1]) + __double2ll_ru(d[2]) + __double2ull_ru(d[3]);
  *f++ = __int2float_ru(i[0]) + __uint2float_ru(i[1]) + __ll2float_ru(i[2]) + __ull2float_ru(i[3]) +
         __double2float_ru(d[4]);
  *d++ = __ll2double_ru(i[0]) + __ull2double_ru(i[1]);
  *f++ = __fadd_rd(g[0], g[1]) + __fsub_rd(g[0], g[1]) + __fmul_rd(g[0], g[1]) + __fmaf_rd(g[0], g[1], g[2]);
  *f++ = __fdiv_rd(g[0], g[1]) + __frcp_rd(g[0]) + __fsqrt_rd(g[1]);
  *d++ = __dadd_rd(d[0], d[1]) + __dsub_rd(d[0], d[1]) + __dmul_rd(d[0], d[1]) + __fma_rd(d[0], d[1], d[2]);
  *d++ = __ddiv_rd(d[0], d[1]) + __drcp_rd(d[0]) + __dsqrt_rd(d[1]);
  *i++ = __float2int_rd(g[0]) + __float2uint_rd(g[1]) + __float2ll_rd(g[2]) + __float2ull_rd(g[3]);
  *i++ = __double2int_rd(d[0]) + __double2uint_rd(d[1]) + __double2ll_rd(d[2]) + __double2ull_rd(d[3]);
  *f++ = __int2float_rd(i[0]) + __uint2float_rd(i[1]) + __ll2float_rd(i[2]) + __ull2float_rd(i[3]) +
         __double2float_rd(d[4]);
  *d++ = __ll2double_rd(i[0]) + __ull2double_rd(i[1]);
  *i++ = __float_as_int(g[0]) + __float_as_uint(g[1]) + __double_as_longlong(d[0]) + __double2hiint(d[1]) +
         __double2loint(d[2]);
  *f++ = __int_as_float(i[0]) + __uint_as_float(i[1]) + __longlong_as_double(i[2]) + __hiloint2double(i[3], i[4]);
  *d++ = __int2double_rn(i[0]) + __uint2double_rn(i[1]);
}

__global__ void integer_functions(int* o, const int* a, const unsigned* u, const long long* l) {
  *o++ = __popc(u[0]) + __popcll(l[0]) + __clz(a[0]) + __clzll(l[1]) + __ffs(a[1]) + __ffsll(l[2]);
  *o++ = __brev(u[0]) + (int)__brevll(l[0]) + __byte_perm(u[1], u[2], u[3]);
  *o++ = __mul24(a[0], a[1]) + __umul24(u[0], u[1]) + __mulhi(a[2], a[3]) + __umulhi(u[2], u[3]);
  *o++ = (int)__mul64hi(l[0], l[1]) + (int)__umul64hi(l[2], l[3]) + __sad(a[0], a[1], u[0]) + __usad(u[1], u[2], u[3]);
  *o++ = __hadd(a[0], a[1]) + __rhadd(a[0], a[1]) + __uhadd(u[0], u[1]) + __urhadd(u[0], u[1]);
  *o++ =
      __dp4a(a[0], a[1], a[2]) + __dp4a(u[0], u[1], u[2]) + __dp2a_lo(a[0], a[1], a[2]) + __dp2a_hi(u[0], u[1], u[2]);
  *o++ = __funnelshift_l(u[0], u[1], u[2]) + __funnelshift_lc(u[0], u[1], u[2]) + __funnelshift_r(u[0], u[1], u[2]) +
         __funnelshift_rc(u[0], u[1], u[2]);
  *o++ = min(a[0], a[1]) + max(u[0], 3u) + min(l[0], 7ll) + max(a[0], u[1]) + abs(a[2]) + (int)llabs(l[3]);
}

__global__ void warp_functions(float* f, unsigned* u) {
  {
    int v = (int)f[0];
    v = __shfl_sync(~0u, v, 3);
    v = __shfl_up_sync(~0u, v, 1, 16);
    v = __shfl_down_sync(~0u, v, 2);
    v = __shfl_xor_sync(~0u, v, 4, 8);
    f[0] += v;
    int p;
    *u += __match_any_sync(~0u, v) + __match_all_sync(~0u, v, &p) + p;
  }
  {
    unsigned v = (unsigned)f[0];
    v = __shfl_sync(~0u, v, 3);
    v = __shfl_up_sync(~0u, v, 1, 16);
    v = __shfl_down_sync(~0u, v, 2);
    v = __shfl_xor_sync(~0u, v, 4, 8);
    f[0] += v;
    int p;
    *u += __match_any_sync(~0u, v) + __match_all_sync(~0u, v, &p) + p;
  }
  {
    long long v = (long long)f[0];
    v = __shfl_sync(~0u, v, 3);
    v = __shfl_up_sync(~0u, v, 1, 16);
    v = __shfl_down_sync(~0u, v, 2);
    v = __shfl_xor_sync(~0u, v, 4, 8);
    f[0] += v;
    int p;
    *u += __match_any_sync(~0u, v) + __match_all_sync(~0u, v, &p) + p;
  }
  {
    unsigned long long v = (unsigned long long)f[0];
    v = __shfl_sync(~0u, v, 3);
    v = __shfl_up_sync(~0u, v, 1, 16);
    v = __shfl_down_sync(~0u, v, 2);
    v = __shfl_xor_sync(~0u, v, 4, 8);
    f[0] += v;
    int p;
    *u += __match_any_sync(~0u, v) + __match_all_sync(~0u, v, &p) + p;
  }
  {
    float v = (float)f[0];
    v = __shfl_sync(~0u, v, 3);
    v = __shfl_up_sync(~0u, v, 1, 16);
    v = __shfl_down_sync(~0u, v, 2);
    v = __shfl_xor_sync(~0u, v, 4, 8);
    f[0] += v;
    int p;
    *u += __match_any_sync(~0u, v) + __match_all_sync(~0u, v, &p) + p;
  }
  {
    double v = (double)f[0];
    v = __shfl_sync(~0u, v, 3);
    v = __shfl_up_sync(~0u, v, 1, 16);
    v = __shfl_down_sync(~0u, v, 2);
    v = __shfl_xor_sync(~0u, v, 4, 8);
    f[0] += v;
    int p;
    *u += __match_any_sync(~0u, v) + __match_all_sync(~0u, v, &p) + p;
  }
  {
    long v = (long)f[0];
    v = __shfl_sync(~0u, v, 3);
    v = __shfl_up_sync(~0u, v, 1, 16);
    v = __shfl_down_sync(~0u, v, 2);
    v = __shfl_xor_sync(~0u, v, 4, 8);
    f[0] += v;
    int p;
    *u += __match_any_sync(~0u, v) + __match_all_sync(~0u, v, &p) + p;
  }
  {
    unsigned long v = (unsigned long)f[0];
    v = __shfl_sync(~0u, v, 3);
    v = __shfl_up_sync(~0u, v, 1, 16);
    v = __shfl_down_sync(~0u, v, 2);
    v = __shfl_xor_sync(~0u, v, 4, 8);
    f[0] += v;
    int p;
    *u += __match_any_sync(~0u, v) + __match_all_sync(~0u, v, &p) + p;
  }
  *u += __all_sync(~0u, f[1] > 0) + __any_sync(~0u, f[2] > 0) + __uni_sync(~0u, f[2] > 0) +
        __ballot_sync(~0u, f[3] > 0) + __activemask();
  *u += __reduce_add_sync(~0u, u[1]) + __reduce_add_sync(~0u, (int)u[1]) + __reduce_min_sync(~0u, u[2]);
  *u += __reduce_min_sync(~0u, (int)u[2]) + __reduce_max_sync(~0u, u[3]) + __reduce_max_sync(~0u, (int)u[3]);
  *u += __reduce_and_sync(~0u, u[4]) + __reduce_or_sync(~0u, u[5]) + __reduce_xor_sync(~0u, u[6]);
}

struct Cells {
  int i;
  unsigned u;
  unsigned long long q;
  float f;
  double d;
  unsigned short h;
};

__global__ void atomic_functions(Cells* g) {
  __shared__ int i[2];
  __shared__ unsigned u[2];
  __shared__ unsigned long long q[2];
  __shared__ float f[2];
  __shared__ double d[2];
  atomicAdd(i, 1);
  atomicAdd(u, 1u);
  atomicAdd(q, 1ull);
  atomicAdd(f, 1.0f);
  atomicAdd(d, 1.0);
  atomicSub(i, 1);
  atomicSub(u, 1u);
  atomicExch(i, 1);
  atomicExch(u, 1u);
  atomicExch(q, 1ull);
  atomicExch(f, 1.0f);
  atomicInc(u, 9u);
  atomicDec(u, 9u);
  atomicMin(i, 1);
  atomicMin(u, 1u);
  atomicMin(q, 1ull);
  atomicMax(i, 1);
  atomicMax(u, 1u);
  atomicMax(q, 1ull);
  atomicMin((long long*)q, 1ll);
  atomicMax((long long*)q, 1ll);
  atomicAnd(i, 1);
  atomicAnd(u, 1u);
  atomicAnd(q, 1ull);
  atomicOr(i, 1);
  atomicOr(u, 1u);
  atomicOr(q, 1ull);
  atomicXor(i, 1);
  atomicXor(u, 1u);
  atomicXor(q, 1ull);
  atomicCAS(i, 1, 2);
  atomicCAS(u, 1u, 2u);
  atomicCAS(q, 1ull, 2ull);
  g->i += atomicCAS(&g->h, (unsigned short)1, (unsigned short)2);
  atomicAdd(&g->i, 1);
  atomicAdd(&g->u, 1u);
  atomicAdd(&g->q, 1ull);
  atomicAdd(&g->f, 1.0f);
  atomicAdd(&g->d, 1.0);
  atomicSub(&g->i, 1);
  atomicSub(&g->u, 1u);
  atomicExch(&g->i, 1);
  atomicExch(&g->u, 1u);
  atomicExch(&g->q, 1ull);
  atomicExch(&g->f, 1.0f);
  atomicInc(&g->u, 9u);
  atomicDec(&g->u, 9u);
  atomicMin(&g->i, 1);
  atomicMin(&g->u, 1u);
  atomicMin(&g->q, 1ull);
  atomicMax(&g->i, 1);
  atomicMax(&g->u, 1u);
  atomicMax(&g->q, 1ull);
  atomicMin((long long*)&g->q, 1ll);
  atomicMax((long long*)&g->q, 1ll);
  atomicAnd(&g->i, 1);
  atomicAnd(&g->u, 1u);
  atomicAnd(&g->q, 1ull);
  atomicOr(&g->i, 1);
  atomicOr(&g->u, 1u);
  atomicOr(&g->q, 1ull);
  atomicXor(&g->i, 1);
  atomicXor(&g->u, 1u);
  atomicXor(&g->q, 1ull);
  atomicCAS(&g->i, 1, 2);
  atomicCAS(&g->u, 1u, 2u);
  atomicCAS(&g->q, 1ull, 2ull);
  g->i += atomicCAS(&g->h, (unsigned short)1, (unsigned short)2);
  atomicAdd_block(i, 1);
  atomicAdd_block(u, 1u);
  atomicAdd_block(q, 1ull);
  atomicAdd_block(f, 1.0f);
  atomicAdd_block(d, 1.0);
  atomicSub_block(i, 1);
  atomicSub_block(u, 1u);
  atomicExch_block(i, 1);
  atomicExch_block(u, 1u);
  atomicExch_block(q, 1ull);
  atomicExch_block(f, 1.0f);
  atomicInc_block(u, 9u);
  atomicDec_block(u, 9u);
  atomicMin_block(i, 1);
  atomicMin_block(u, 1u);
  atomicMin_block(q, 1ull);
  atomicMax_block(i, 1);
  atomicMax_block(u, 1u);
  atomicMax_block(q, 1ull);
  atomicMin_block((long long*)q, 1ll);
  atomicMax_block((long long*)q, 1ll);
  atomicAnd_block(i, 1);
  atomicAnd_block(u, 1u);
  atomicAnd_block(q, 1ull);
  atomicOr_block(i, 1);
  atomicOr_block(u, 1u);
  atomicOr_block(q, 1ull);
  atomicXor_block(i, 1);
  atomicXor_block(u, 1u);
  atomicXor_block(q, 1ull);
  atomicCAS_block(i, 1, 2);
  atomicCAS_block(u, 1u, 2u);
  atomicCAS_block(q, 1ull, 2ull);
  g->i += atomicCAS_block(&g->h, (unsigned short)1, (unsigned short)2);
  atomicAdd_block(&g->i, 1);
  atomicAdd_block(&g->u, 1u);
  atomicAdd_block(&g->q, 1ull);
  atomicAdd_block(&g->f, 1.0f);
  atomicAdd_block(&g->d, 1.0);
  atomicSub_block(&g->i, 1);
  atomicSub_block(&g->u, 1u);
  atomicExch_block(&g->i, 1);
  atomicExch_block(&g->u, 1u);
  atomicExch_block(&g->q, 1ull);
  atomicExch_block(&g->f, 1.0f);
  atomicInc_block(&g->u, 9u);
  atomicDec_block(&g->u, 9u);
  atomicMin_block(&g->i, 1);
  atomicMin_block(&g->u, 1u);
  atomicMin_block(&g->q, 1ull);
  atomicMax_block(&g->i, 1);
  atomicMax_block(&g->u, 1u);
  atomicMax_block(&g->q, 1ull);
  atomicMin_block((long long*)&g->q, 1ll);
  atomicMax_block((long long*)&g->q, 1ll);
  atomicAnd_block(&g->i, 1);
  atomicAnd_block(&g->u, 1u);
  atomicAnd_block(&g->q, 1ull);
  atomicOr_block(&g->i, 1);
  atomicOr_block(&g->u, 1u);
  atomicOr_block(&g->q, 1ull);
  atomicXor_block(&g->i, 1);
  atomicXor_block(&g->u, 1u);
  atomicXor_block(&g->q, 1ull);
  atomicCAS_block(&g->i, 1, 2);
  atomicCAS_block(&g->u, 1u, 2u);
  atomicCAS_block(&g->q, 1ull, 2ull);
  g->i += atomicCAS_block(&g->h, (unsigned short)1, (unsigned short)2);
  atomicAdd_system(i, 1);
  atomicAdd_system(u, 1u);
  atomicAdd_system(q, 1ull);
  atomicAdd_system(f, 1.0f);
  atomicAdd_system(d, 1.0);
  atomicSub_system(i, 1);
  atomicSub_system(u, 1u);
  atomicExch_system(i, 1);
  atomicExch_system(u, 1u);
  atomicExch_system(q, 1ull);
  atomicExch_system(f, 1.0f);
  atomicInc_system(u, 9u);
  atomicDec_system(u, 9u);
  atomicMin_system(i, 1);
  atomicMin_system(u, 1u);
  atomicMin_system(q, 1ull);
  atomicMax_system(i, 1);
  atomicMax_system(u, 1u);
  atomicMax_system(q, 1ull);
  atomicMin_system((long long*)q, 1ll);
  atomicMax_system((long long*)q, 1ll);
  atomicAnd_system(i, 1);
  atomicAnd_system(u, 1u);
  atomicAnd_system(q, 1ull);
  atomicOr_system(i, 1);
  atomicOr_system(u, 1u);
  atomicOr_system(q, 1ull);
  atomicXor_system(i, 1);
  atomicXor_system(u, 1u);
  atomicXor_system(q, 1ull);
  atomicCAS_system(i, 1, 2);
  atomicCAS_system(u, 1u, 2u);
  atomicCAS_system(q, 1ull, 2ull);
  g->i += atomicCAS_system(&g->h, (unsigned short)1, (unsigned short)2);
  atomicAdd_system(&g->i, 1);
  atomicAdd_system(&g->u, 1u);
  atomicAdd_system(&g->q, 1ull);
  atomicAdd_system(&g->f, 1.0f);
  atomicAdd_system(&g->d, 1.0);
  atomicSub_system(&g->i, 1);
  atomicSub_system(&g->u, 1u);
  atomicExch_system(&g->i, 1);
  atomicExch_system(&g->u, 1u);
  atomicExch_system(&g->q, 1ull);
  atomicExch_system(&g->f, 1.0f);
  atomicInc_system(&g->u, 9u);
  atomicDec_system(&g->u, 9u);
  atomicMin_system(&g->i, 1);
  atomicMin_system(&g->u, 1u);
  atomicMin_system(&g->q, 1ull);
  atomicMax_system(&g->i, 1);
  atomicMax_system(&g->u, 1u);
  atomicMax_system(&g->q, 1ull);
  atomicMin_system((long long*)&g->q, 1ll);
  atomicMax_system((long long*)&g->q, 1ll);
  atomicAnd_system(&g->i, 1);
  atomicAnd_system(&g->u, 1u);
  atomicAnd_system(&g->q, 1ull);
  atomicOr_system(&g->i, 1);
  atomicOr_system(&g->u, 1u);
  atomicOr_system(&g->q, 1ull);
  atomicXor_system(&g->i, 1);
  atomicXor_system(&g->u, 1u);
  atomicXor_system(&g->q, 1ull);
  atomicCAS_system(&g->i, 1, 2);
  atomicCAS_system(&g->u, 1u, 2u);
  atomicCAS_system(&g->q, 1ull, 2ull);
  g->i += atomicCAS_system(&g->h, (unsigned short)1, (unsigned short)2);
}

__global__ void synchronisation(int* p) {
  __syncthreads();
  *p += __syncthreads_count(*p) + __syncthreads_and(*p) + __syncthreads_or(*p);
  __syncwarp();
  __syncwarp(0xffff);
  __threadfence();
  __threadfence_block();
  __threadfence_system();
  *p += clock() + (int)clock64();
  __nanosleep(10);
  if (*p == 12345) __trap();
  assert(*p != 54321);
  printf("%d %f %s\n", *p, 1.5f, "text");
}

__global__ void memory_functions(float* f, double* d, int* i, char* c, float2* v, int4* v4) {
  *f += __isGlobal(f) + __isShared(f) + __isConstant(f) + __isLocal(f);
  *f += __ldg(f) + __ldg(d) + __ldg(i) + __ldg(c) + __ldg(v).x + __ldg(v4).w + __ldg((const long long*)d) +
        __ldg((const unsigned char*)c);
  *f += __ldca(f) + __ldca(d) + __ldca(i) + __ldca(c) + __ldca(v).x + __ldca(v4).w + __ldca((const long long*)d) +
        __ldca((const unsigned char*)c);
  *f += __ldcg(f) + __ldcg(d) + __ldcg(i) + __ldcg(c) + __ldcg(v).x + __ldcg(v4).w + __ldcg((const long long*)d) +
        __ldcg((const unsigned char*)c);
  *f += __ldcs(f) + __ldcs(d) + __ldcs(i) + __ldcs(c) + __ldcs(v).x + __ldcs(v4).w + __ldcs((const long long*)d) +
        __ldcs((const unsigned char*)c);
  *f += __ldlu(f) + __ldlu(d) + __ldlu(i) + __ldlu(c) + __ldlu(v).x + __ldlu(v4).w + __ldlu((const long long*)d) +
        __ldlu((const unsigned char*)c);
  *f += __ldcv(f) + __ldcv(d) + __ldcv(i) + __ldcv(c) + __ldcv(v).x + __ldcv(v4).w + __ldcv((const long long*)d) +
        __ldcv((const unsigned char*)c);
  __stwb(f, 1.0f);
  __stwb(d, 2.0);
  __stwb(i, 3);
  __stwb(c, (char)4);
  __stwb(v, make_float2(1, 2));
  __stwb(v4, make_int4(1, 2, 3, 4));
  __stcg(f, 1.0f);
  __stcg(d, 2.0);
  __stcg(i, 3);
  __stcg(c, (char)4);
  __stcg(v, make_float2(1, 2));
  __stcg(v4, make_int4(1, 2, 3, 4));
  __stcs(f, 1.0f);
  __stcs(d, 2.0);
  __stcs(i, 3);
  __stcs(c, (char)4);
  __stcs(v, make_float2(1, 2));
  __stcs(v4, make_int4(1, 2, 3, 4));
  __stwt(f, 1.0f);
  __stwt(d, 2.0);
  __stwt(i, 3);
  __stwt(c, (char)4);
  __stwt(v, make_float2(1, 2));
  __stwt(v4, make_int4(1, 2, 3, 4));
  memcpy(c, f, 12);
  memset(i, 0, 64);
  memmove(d, d + 1, 16);
  void* m = malloc(16);
  free(m);
}

__global__ void vector_types(float* a) {
  a[0] += make_char1(1).x + make_char2(1, 2).y + make_char3(1, 2, 3).z + make_char4(1, 2, 3, 4).w;
  a[0] += make_uchar1(1).x + make_uchar2(1, 2).y + make_uchar3(1, 2, 3).z + make_uchar4(1, 2, 3, 4).w;
  a[0] += make_short1(1).x + make_short2(1, 2).y + make_short3(1, 2, 3).z + make_short4(1, 2, 3, 4).w;
  a[0] += make_ushort1(1).x + make_ushort2(1, 2).y + make_ushort3(1, 2, 3).z + make_ushort4(1, 2, 3, 4).w;
  a[0] += make_int1(1).x + make_int2(1, 2).y + make_int3(1, 2, 3).z + make_int4(1, 2, 3, 4).w;
  a[0] += make_uint1(1).x + make_uint2(1, 2).y + make_uint3(1, 2, 3).z + make_uint4(1, 2, 3, 4).w;
  a[0] += make_long1(1).x + make_long2(1, 2).y + make_long3(1, 2, 3).z + make_long4(1, 2, 3, 4).w;
  a[0] += make_ulong1(1).x + make_ulong2(1, 2).y + make_ulong3(1, 2, 3).z + make_ulong4(1, 2, 3, 4).w;
  a[0] += make_longlong1(1).x + make_longlong2(1, 2).y + make_longlong3(1, 2, 3).z + make_longlong4(1, 2, 3, 4).w;
  a[0] += make_ulonglong1(1).x + make_ulonglong2(1, 2).y + make_ulonglong3(1, 2, 3).z + make_ulonglong4(1, 2, 3, 4).w;
  a[0] += make_float1(1).x + make_float2(1, 2).y + make_float3(1, 2, 3).z + make_float4(1, 2, 3, 4).w;
  a[0] += make_double1(1).x + make_double2(1, 2).y + make_double3(1, 2, 3).z + make_double4(1, 2, 3, 4).w;
  dim3 block = blockDim;
  uint3 thread = threadIdx;
  a[1] = block.x + thread.y + gridDim.z + blockIdx.x + warpSize;
}

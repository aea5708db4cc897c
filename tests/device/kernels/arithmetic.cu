// Integer intrinsics and math functions on one element for each thread.
__global__ void integers(const unsigned* a, const unsigned* b, unsigned* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned x = a[i], y = b[i];
  unsigned* o = out + i * 18;
  o[0] = __popc(x);
  o[1] = __clz(x);
  o[2] = __ffs(x);
  o[3] = __brev(x);
  o[4] = __byte_perm(x, y, 0x5214);
  o[5] = __mulhi((int)x, (int)y);
  o[6] = __umulhi(x, y);
  o[7] = __umul24(x, y);
  o[8] = __dp4a((int)x, (int)y, 5);
  o[9] = __funnelshift_l(x, y, y);
  o[10] = __funnelshift_r(x, y, x);
  o[11] = min((int)x, (int)y);
  o[12] = max(x, y);
  o[13] = __usad(x, y, 3u);
  o[14] = x / (y | 1);
  o[15] = (int)x % (int)((y >> 4) | 1);
  o[16] = (unsigned)(((unsigned long long)x * y) >> 20);
  o[17] = __uhadd(x, y);
}

__global__ void floats(const float* a, const float* b, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = a[i], y = b[i];
  float* o = out + i * 16;
  o[0] = expf(x);
  o[1] = logf(y);
  o[2] = sinf(x * 10);
  o[3] = cosf(x * 10);
  o[4] = powf(y, x);
  o[5] = tanhf(x);
  o[6] = atan2f(x, y);
  o[7] = erff(x);
  o[8] = cbrtf(x);
  o[9] = sqrtf(y);
  o[10] = x / y;
  o[11] = fmodf(x * 100, y);
  o[12] = rintf(x * 3);
  o[13] = fmaxf(x, y);
  o[14] = log1pf(y);
  o[15] = ldexpf(x, i % 40 - 20);
}

__global__ void doubles(const double* a, const double* b, double* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double x = a[i], y = b[i];
  double* o = out + i * 10;
  o[0] = exp(x);
  o[1] = log(y);
  o[2] = sin(x * 10);
  o[3] = pow(y, x);
  o[4] = tanh(x);
  o[5] = atan2(x, y);
  o[6] = erfc(x);
  o[7] = cbrt(x);
  o[8] = sqrt(y) / x;
  o[9] = fma(x, y, 1.0);
}

__global__ void special(const double* a, const double* b, double* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double x = a[i], y = b[i];
  double* o = out + i * 8;
  o[0] = lgamma(y);
  o[1] = tgamma(y);
  o[2] = j0(x);
  o[3] = erfcx(x);
  o[4] = normcdf(x);
  o[5] = rhypot(x, y);
  o[6] = erf(erfinv(x * 0.2));
  o[7] = norm4d(x, y, x, y);
}

// Rounding modes are part of the instruction.
__global__ void rounding(float a, float b, float* out) {
  out[0] = __fadd_rn(a, b);
  out[1] = __fadd_rz(a, b);
  out[2] = __fadd_ru(a, b);
  out[3] = __fadd_rd(a, b);
  out[4] = __fdiv_rn(a, 3.0f);
  out[5] = __fdiv_rz(a, 3.0f);
  out[6] = __fdiv_ru(a, 3.0f);
  out[7] = __fdiv_rd(a, 3.0f);
  out[8] = __float2int_rn(2.5f + a * 0) + 10 * __float2int_rz(2.9f + a * 0) + 100 * __float2int_ru(2.1f + a * 0) +
           1000 * __float2int_rd(2.9f + a * 0);
}

// What the float and double functions share: polynomials, powers of two, argument reduction of the circular functions.
#pragma once

WL_DEVICE float wl_fma(float a, float b, float c) { return __nvvm_fma_rn_f(a, b, c); }
WL_DEVICE double wl_fma(double a, double b, double c) { return __nvvm_fma_rn_d(a, b, c); }

// c0 + c1 x + c2 x^2 + ..., by Horner's rule. The coefficients of the functions below are Chebyshev fits over the
// reduced interval, computed to 60 digits and rounded.
template <class T>
WL_DEVICE T wl_poly(T, T c0) {
  return c0;
}
template <class T, class... C>
WL_DEVICE T wl_poly(T x, T c0, C... rest) {
  return wl_fma(x, wl_poly(x, rest...), c0);
}

WL_DEVICE float wl_nan(float) { return __builtin_nanf(""); }
WL_DEVICE double wl_nan(double) { return __builtin_nan(""); }
WL_DEVICE float wl_inf(float) { return __builtin_inff(); }
WL_DEVICE double wl_inf(double) { return __builtin_inf(); }
WL_DEVICE float wl_abs(float x) { return __builtin_fabsf(x); }
WL_DEVICE double wl_abs(double x) { return __builtin_fabs(x); }
WL_DEVICE float wl_sqrt(float x) { return __nvvm_sqrt_rn_f(x); }
WL_DEVICE double wl_sqrt(double x) { return __nvvm_sqrt_rn_d(x); }
WL_DEVICE float wl_div(float a, float b) { return __nvvm_div_rn_f(a, b); }
WL_DEVICE double wl_div(double a, double b) { return __nvvm_div_rn_d(a, b); }
WL_DEVICE float wl_sign(float x, float s) { return __builtin_copysignf(x, s); }
WL_DEVICE double wl_sign(double x, double s) { return __builtin_copysign(x, s); }
template <class T>
WL_DEVICE bool wl_is_nan(T x) {
  return x != x;
}

// 2^n for n in the range of normal numbers.
WL_DEVICE float wl_pow2(float, int n) { return __builtin_bit_cast(float, (static_cast<unsigned>(n) + 127u) << 23); }
WL_DEVICE double wl_pow2(double, int n) {
  return __builtin_bit_cast(double, (static_cast<unsigned long long>(n) + 1023u) << 52);
}

// x 2^n. Two factors are exact and the last one rounds, so the result is rounded once.
WL_DEVICE float wl_scale(float x, int n) {
  if (n > 127) {
    x *= 0x1p127f;
    n = n > 381 ? 254 : n - 127;
    if (n > 127) {
      x *= 0x1p127f;
      n -= 127;
    }
  } else if (n < -126) {
    // 24 bits more than the step, so that only the last product can be subnormal.
    x *= 0x1p-102f;
    n = n < -330 ? -228 : n + 102;
    if (n < -126) {
      x *= 0x1p-102f;
      n += 102;
    }
  }
  return x * wl_pow2(x, n);
}
WL_DEVICE double wl_scale(double x, int n) {
  if (n > 1023) {
    x *= 0x1p1023;
    n = n > 3069 ? 2046 : n - 1023;
    if (n > 1023) {
      x *= 0x1p1023;
      n -= 1023;
    }
  } else if (n < -1022) {
    x *= 0x1p-969;
    n = n < -2960 ? -1991 : n + 969;
    if (n < -1022) {
      x *= 0x1p-969;
      n += 969;
    }
  }
  return x * wl_pow2(x, n);
}

// x = quadrant pi/2 + r + tail.
struct wl_reduced_f {
  float r;
  int quadrant;
  float tail;
};
struct wl_reduced_d {
  double r;
  int quadrant;
  double tail;
};

WL_DEVICE_TABLE unsigned long long wl_two_over_pi[19] = {
    0xa2f9836e4e441529ull, 0xfc2757d1f534ddc0ull, 0xdb6295993c439041ull, 0xfe5163abdebbc561ull, 0xb7246e3a424dd2e0ull,
    0x06492eea09d1921cull, 0xfe1deb1cb129a73eull, 0xe88235f52ebb4484ull, 0xe99c7026b45f7e41ull, 0x3991d639835339f4ull,
    0x9c845f8bbdf9283bull, 0x1ff897ffde05980full, 0xef2f118b5a0a6d1full, 0x6d367ecf27cb09b7ull, 0x4f463f669e5fea2dull,
    0x7527bac7ebe5f17bull, 0x3d0739f78a5292eaull, 0x6bfb5fb11f8d5d08ull, 0x56033046fc7b6babull};

// Payne and Hanek's reduction for a large |x|: x = m 2^e, and only the 192 bits of 2/pi matter that m 2^e moves
// between 2^2 and 2^-190.
WL_DEVICE_CALL double wl_reduce_large(double x, int* quadrant) {
  const unsigned long long bits = __builtin_bit_cast(unsigned long long, x);
  const int exponent = static_cast<int>((bits >> 52) & 0x7ff);
  const unsigned long long m = (bits & 0xfffffffffffffull) | 0x10000000000000ull;
  const int first = exponent - 1075 - 2 + 64;  // bit of 2/pi where the window starts, counted from one zero word
  const int word = first >> 6, shift = first & 63;
  unsigned long long w[3];
  for (int i = 0; i < 3; ++i) {
    const int at = word + i - 1;
    const unsigned long long hi = at >= 0 && at < 19 ? wl_two_over_pi[at] : 0;
    const unsigned long long lo = at + 1 >= 0 && at + 1 < 19 ? wl_two_over_pi[at + 1] : 0;
    w[i] = shift == 0 ? hi : (hi << shift) | (lo >> (64 - shift));
  }
  // The low 192 bits of m times the window.
  const unsigned long long p2 = m * w[2];
  const unsigned long long c2 = __nvvm_mulhi_ull(m, w[2]);
  const unsigned long long p1 = m * w[1] + c2;
  const unsigned long long c1 = __nvvm_mulhi_ull(m, w[1]) + (p1 < c2 ? 1 : 0);
  unsigned long long hi = m * w[0] + c1, mid = p1;
  int q = static_cast<int>(hi >> 62);
  hi = (hi << 2) | (mid >> 62);
  mid = (mid << 2) | (p2 >> 62);
  const bool negative = (hi >> 63) != 0;
  if (negative) {
    ++q;
    hi = ~hi;
    mid = ~mid;
  }
  const int zeros = hi == 0 ? 64 : __builtin_clzll(hi);
  const unsigned long long top = zeros == 0 ? hi : zeros == 64 ? mid : (hi << zeros) | (mid >> (64 - zeros));
  // The 64 bits as two doubles, times pi/2 as two doubles: one rounding that counts.
  const double t = static_cast<double>(top & ~0x7ffull), t_lo = static_cast<double>(top & 0x7ffull);
  const double p = t * 0x1.921fb54442d18p+0;
  const double p_lo =
      wl_fma(t, 0x1.921fb54442d18p+0, -p) + wl_fma(t, 0x1.1a62633145c07p-54, t_lo * 0x1.921fb54442d18p+0);
  double r = (p + p_lo) * wl_pow2(1.0, -64 - zeros);
  if (negative) r = -r;
  if (x < 0) {
    r = -r;
    q = -q;
  }
  *quadrant = q & 3;
  return r;
}

// x - quadrant pi/2 with |r| <= pi/4 (a little more by rounding). Three parts of pi/2 with fma are exact enough
// while the multiple of pi/2 has few bits; infinities and NaN give NaN.
WL_DEVICE wl_reduced_d wl_reduce(double x) {
  if (wl_abs(x) <= 1.0e9) {
    const double j = __builtin_rint(x * 0x1.45f306dc9c883p-1);
    double r = wl_fma(j, -0x1.921fb54442d18p+0, x);
    r = wl_fma(j, -0x1.1a62633145c07p-54, r);
    r = wl_fma(j, 0x1.f1976b7ed8fbcp-110, r);
    const double p = __nvvm_mul_rn_d(j, 0x1.921fb54442d18p+0);
    const double p_lo = wl_fma(j, 0x1.921fb54442d18p+0, -p);
    const double tail = wl_fma(j, -0x1.1a62633145c07p-54, ((x - p) - r) - p_lo);
    return {r, static_cast<int>(j) & 3, tail};
  }
  if (!(wl_abs(x) < wl_inf(1.0))) return {x - x, 0, 0.0};
  wl_reduced_d large;
  large.tail = 0.0;
  large.r = wl_reduce_large(x, &large.quadrant);
  return large;
}
WL_DEVICE wl_reduced_f wl_reduce(float x) {
  if (wl_abs(x) <= 1.0e5f) {
    const float j = __builtin_rintf(x * 0.636619772f);
    float r = wl_fma(j, -1.5707963705e+00f, x);
    r = wl_fma(j, 4.3711388287e-08f, r);
    r = wl_fma(j, 1.7151245100e-15f, r);
    return {r, static_cast<int>(j) & 3, 0.0f};
  }
  if (!(wl_abs(x) < wl_inf(1.0f))) return {x - x, 0, 0.0f};
  wl_reduced_f large;
  large.tail = 0.0f;
  large.r = static_cast<float>(wl_reduce_large(x, &large.quadrant));
  return large;
}

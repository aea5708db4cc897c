// pow, roots, remainders, and the functions that take a number apart.
#pragma once

// Products and sums here must round where they stand: the intrinsics keep clang from contracting them.
WL_DEVICE double wl_mul_rn(double a, double b) { return __nvvm_mul_rn_d(a, b); }
WL_DEVICE double wl_add_rn(double a, double b) { return __nvvm_add_rn_d(a, b); }

struct wl_double2 {
  double hi, lo;
};
// log(x) to about 2^-65 relative, for a positive normal or subnormal x.
WL_DEVICE wl_double2 wl_log_pair(double x) {
  using L = wl_limits<double>;
  const wl_split<double> m = wl_log_split(x);
  // s = f / (2 + f) as a pair.
  const double den = wl_add_rn(m.f, 2.0);
  const double den_lo = wl_add_rn(m.f, -wl_add_rn(den, -2.0));
  const double s = wl_div(m.f, den);
  const double s_lo = wl_div(wl_fma(-s, den_lo, wl_fma(-s, den, m.f)), den);
  // 2 s (1 + z/3 + z^2/5 + ...): the term in z as a pair, the rest in double.
  const double z = wl_mul_rn(s, s);
  const double z_lo = wl_fma(s, s, -z) + 2.0 * s * s_lo;
  constexpr double third = 0x1.5555555555555p-2, third_lo = 0x1.5555555555555p-56;
  const double t = wl_mul_rn(z, third);
  const double t_lo = wl_fma(z, third, -t) + wl_fma(z, third_lo, z_lo * third);
  const double tail =
      z * z * 0.5 *
      wl_poly(z, 4.00000000000008793e-01, 2.85714285708036142e-01, 2.22222223917139167e-01, 1.81817956401329056e-01,
              1.53862397028146580e-01, 1.32687731386568863e-01, 1.30866261478401025e-01);
  const double u = wl_add_rn(t, tail);
  const double u_lo = wl_add_rn(wl_add_rn(t, -u), tail) + t_lo;
  // 2 s (1 + u)
  const double s2 = 2.0 * s;
  const double p = wl_mul_rn(s2, u);
  const double p_lo = wl_fma(s2, u, -p) + wl_fma(s2, u_lo, 2.0 * s_lo * (1.0 + u));
  const double q = wl_add_rn(s2, p);
  const double q_lo = wl_add_rn(wl_add_rn(s2, -q), p) + p_lo;
  // plus e ln2
  const double e_hi = wl_mul_rn(m.e, L::ln2_hi);
  const double e_lo = wl_fma(m.e, L::ln2_hi, -e_hi) + m.e * L::ln2_lo;
  const double sum = wl_add_rn(e_hi, q);
  const double back = wl_add_rn(sum, -e_hi);
  const double sum_lo = wl_add_rn(wl_add_rn(e_hi, -wl_add_rn(sum, -back)), wl_add_rn(q, -back)) + (e_lo + q_lo);
  const double hi = wl_add_rn(sum, sum_lo);
  return {hi, wl_add_rn(wl_add_rn(sum, -hi), sum_lo)};
}

template <class T>
WL_DEVICE bool wl_is_integer_value(T y) {
  return wl_rint(y) == y;
}
template <class T>
WL_DEVICE bool wl_is_odd(T y) {
  const T half = y * T(0.5);
  return wl_is_integer_value(y) && !wl_is_integer_value(half) && wl_abs(y) < wl_inf(y);
}
// C's special cases (C17 F.10.4.4) around the magnitude |x|^y.
template <class T>
WL_DEVICE T wl_pow_special(T x, T y, T magnitude) {
  const bool odd = wl_is_odd(y);
  if (x == T(1) || y == T(0)) return T(1);
  if (wl_is_nan(x) || wl_is_nan(y)) return x + y;
  const T a = wl_abs(x);
  if (wl_abs(y) == wl_inf(y)) return a == T(1) ? T(1) : (a > T(1)) == (y > T(0)) ? wl_inf(x) : T(0);
  if (a == T(0) || a == wl_inf(a)) {
    const T v = (a == T(0)) == (y > T(0)) ? T(0) : wl_inf(x);
    return odd ? wl_sign(v, x) : v;
  }
  if (x < T(0)) return !wl_is_integer_value(y) ? wl_nan(x) : odd ? -magnitude : magnitude;
  return magnitude;
}
WL_DEVICE double wl_pow(double x, double y) {
  const double a = wl_abs(x);
  const wl_double2 l = wl_log_pair(a > 0 && a < wl_inf(a) ? a : 1.0);
  // Beyond this y the result is 0, 1 or infinity, and the product must stay finite.
  const double c = y > 1e19 ? 1e19 : y < -1e19 ? -1e19 : y;
  const double p = wl_mul_rn(c, l.hi);
  const double p_lo = wl_fma(c, l.hi, -p) + c * l.lo;
  return wl_pow_special(x, y, wl_exp(p, wl_abs(p) < 800 ? p_lo : 0.0));
}
// log2 in double has 29 bits more than float needs; the product keeps 21 of them at the largest exponent.
WL_DEVICE float wl_pow(float x, float y) {
  const float a = wl_abs(x);
  const double p = static_cast<double>(y) * wl_log(static_cast<double>(a > 0 && a < wl_inf(a) ? a : 1.0f));
  const double c = p > 200.0 ? 200.0 : p < -200.0 ? -200.0 : p;
  return wl_pow_special(x, y, static_cast<float>(wl_exp(c)));
}

WL_DEVICE float wl_cbrt(float x) {
  const double a = wl_abs(x);
  // A third of the exponent, then Newton in double; one rounding at the end.
  const unsigned long long bits = __builtin_bit_cast(unsigned long long, a);
  double r = __builtin_bit_cast(double, bits / 3 + 0x2a9f7893782da1ceull);
  for (int i = 0; i < 2; ++i) {
    const double cube = r * r * r;
    r = r * wl_div(cube + 2.0 * a, 2.0 * cube + a);
  }
  const float v = static_cast<float>(r);
  return x == 0.0f || !(wl_abs(x) < wl_inf(x)) ? x : wl_sign(v, x);
}
WL_DEVICE double wl_cbrt(double x) {
  // Away from both ends, so that cubes stay normal.
  const bool small = wl_abs(x) < 0x1p-1000, large = wl_abs(x) > 0x1p1000;
  const double a = small ? wl_abs(x) * 0x1p54 : large ? wl_abs(x) * 0x1p-54 : wl_abs(x);
  const unsigned long long bits = __builtin_bit_cast(unsigned long long, a);
  double r = __builtin_bit_cast(double, bits / 3 + 0x2a9f7893782da1ceull);
  for (int i = 0; i < 2; ++i) {
    const double cube = r * r * r;
    r = wl_mul_rn(r, wl_div(cube + 2.0 * a, 2.0 * cube + a));
  }
  // A Newton step with the residual r^3 - a in double-double.
  const double sq = wl_mul_rn(r, r);
  const double sq_lo = wl_fma(r, r, -sq);
  const double residual = wl_fma(r, sq_lo, wl_fma(r, sq, -a));
  r = r - wl_div(residual, 3.0 * sq);
  r *= small ? 0x1p-18 : large ? 0x1p18 : 1.0;
  return x == 0.0 || !(wl_abs(x) < wl_inf(x)) ? x : wl_sign(r, x);
}

WL_DEVICE float wl_hypot(float x, float y) {
  const double a = x, b = y;
  const float v = static_cast<float>(wl_sqrt(wl_fma(a, a, b * b)));
  return wl_abs(x) == wl_inf(x) || wl_abs(y) == wl_inf(y) ? wl_inf(x) : v;
}
WL_DEVICE double wl_hypot(double x, double y) {
  double a = wl_abs(x), b = wl_abs(y);
  if (a == wl_inf(a) || b == wl_inf(b)) return wl_inf(a);
  if (a < b) {
    const double t = a;
    a = b;
    b = t;
  }
  double scale = 1.0;
  if (a > 0x1p510)
    a *= 0x1p-600, b *= 0x1p-600, scale = 0x1p600;
  else if (a < 0x1p-450)
    a *= 0x1p600, b *= 0x1p600, scale = 0x1p-600;
  const double h = wl_sqrt(wl_fma(a, a, b * b));
  // One correction by the residual h^2 - a^2 - b^2, formed without losing its bits.
  const double hh = wl_mul_rn(h, h), aa = wl_mul_rn(a, a);
  const double residual = wl_add_rn(wl_fma(-b, b, wl_add_rn(hh, -aa)), wl_fma(h, h, -hh) - wl_fma(a, a, -aa));
  const double v = h == 0.0 ? h : h - wl_div(residual, 2.0 * h);
  return v * scale;
}

// The bits of |x| as mantissa and exponent of its last place; x is finite and not zero.
template <class T>
struct wl_bits;
template <>
struct wl_bits<float> {
  using type = unsigned int;
  static constexpr int mantissa = 23, step = 40;
};
template <>
struct wl_bits<double> {
  using type = unsigned long long;
  static constexpr int mantissa = 52, step = 11;
};
template <class T>
WL_DEVICE unsigned long long wl_decompose(T x, int* exponent) {
  using B = wl_bits<T>;
  using U = typename B::type;
  const U bits = __builtin_bit_cast(U, wl_abs(x));
  const int e = static_cast<int>(bits >> B::mantissa);
  const unsigned long long m = bits & ((U(1) << B::mantissa) - 1);
  *exponent = e == 0 ? 1 : e;
  return e == 0 ? m : m | (1ull << B::mantissa);
}
// Exact: long division in steps that fit 64 bits.
template <class T>
WL_DEVICE T wl_fmod(T x, T y) {
  using B = wl_bits<T>;
  using U = typename B::type;
  if (y == T(0) || !(wl_abs(x) < wl_inf(x)) || wl_is_nan(y)) return wl_is_nan(x) || wl_is_nan(y) ? x + y : wl_nan(x);
  if (wl_abs(x) < wl_abs(y)) return x;
  int ex = 0, ey = 0;
  unsigned long long r = wl_decompose(x, &ex);
  const unsigned long long m = wl_decompose(y, &ey);
  r %= m;
  for (int d = ex - ey; d > 0 && r != 0;) {
    const int k = d < B::step ? d : B::step;
    r = (r << k) % m;
    d -= k;
  }
  if (r == 0) return wl_sign(T(0), x);
  // Back to a number: bring the leading bit to its place, or stay subnormal.
  int shift = __builtin_clzll(r) - (63 - B::mantissa);
  if (shift >= ey) shift = ey - 1;
  r <<= shift;
  const int e = (r >> B::mantissa) != 0 ? ey - shift : 0;
  const U bits = (static_cast<U>(e) << B::mantissa) | static_cast<U>(r & ((1ull << B::mantissa) - 1));
  return wl_sign(__builtin_bit_cast(T, bits), x);
}
template <class T>
WL_DEVICE T wl_remainder(T x, T y) {
  if (y == T(0) || !(wl_abs(x) < wl_inf(x)) || wl_is_nan(y)) return wl_is_nan(x) || wl_is_nan(y) ? x + y : wl_nan(x);
  const T b = wl_abs(y);
  // r in [0, 2b); 2b may overflow only when x is already smaller.
  T r = b + b < wl_inf(b) ? wl_fmod(wl_abs(x), b + b) : wl_abs(x);
  if (b < T(2) * wl_limits<T>::tiny) {
    if (r + r > b) {
      r -= b;
      if (r + r >= b) r -= b;
    }
  } else {
    const T half = T(0.5) * b;
    if (r > half) {
      r -= b;
      if (r >= half) r -= b;
    }
  }
  return wl_abs(r) == T(0) ? wl_sign(T(0), x) : __builtin_signbit(x) ? -r : r;
}

template <class T>
WL_DEVICE T wl_frexp(T x, int* exponent) {
  using B = wl_bits<T>;
  using U = typename B::type;
  *exponent = 0;
  if (x == T(0) || !(wl_abs(x) < wl_inf(x))) return x;
  const bool subnormal = wl_abs(x) < wl_limits<T>::tiny;
  const T n = subnormal ? x * wl_limits<T>::up : x;
  const U bits = __builtin_bit_cast(U, wl_abs(n));
  constexpr int bias = sizeof(T) == 4 ? 126 : 1022;
  *exponent = static_cast<int>(bits >> B::mantissa) - bias - (subnormal ? wl_limits<T>::up_bits : 0);
  const U half = (bits & ((U(1) << B::mantissa) - 1)) | (static_cast<U>(bias) << B::mantissa);
  return wl_sign(__builtin_bit_cast(T, half), x);
}
template <class T>
WL_DEVICE int wl_ilogb(T x) {
  if (x == T(0)) return -__INT_MAX__ - 1;
  if (!(wl_abs(x) < wl_inf(x))) return wl_is_nan(x) ? -__INT_MAX__ - 1 : __INT_MAX__;
  int e = 0;
  wl_frexp(x, &e);
  return e - 1;
}
template <class T>
WL_DEVICE T wl_logb(T x) {
  if (x == T(0)) return -wl_inf(x);
  if (!(wl_abs(x) < wl_inf(x))) return x * x;
  return T(wl_ilogb(x));
}
template <class T>
WL_DEVICE T wl_trunc(T x) {
  if constexpr (sizeof(T) == 4)
    return __builtin_truncf(x);
  else
    return __builtin_trunc(x);
}
template <class T>
WL_DEVICE T wl_modf(T x, T* whole) {
  const T t = wl_trunc(x);
  *whole = t;
  return wl_abs(x) == wl_inf(x) ? wl_sign(T(0), x) : wl_sign(x - t, x);
}
template <class T>
WL_DEVICE T wl_round(T x) {
  const T t = wl_trunc(x);
  return wl_abs(x - t) >= T(0.5) ? t + wl_sign(T(1), x) : t;
}
template <class T>
WL_DEVICE T wl_fdim(T x, T y) {
  return wl_is_nan(x) || wl_is_nan(y) ? x + y : x > y ? x - y : T(0);
}
template <class T>
WL_DEVICE T wl_nextafter(T x, T y) {
  using U = typename wl_bits<T>::type;
  if (wl_is_nan(x) || wl_is_nan(y)) return x + y;
  if (x == y) return y;
  if (x == T(0)) return wl_sign(__builtin_bit_cast(T, U(1)), y);
  const U bits = __builtin_bit_cast(U, x);
  return __builtin_bit_cast(T, (x < y) == (x > T(0)) ? bits + 1 : bits - 1);
}

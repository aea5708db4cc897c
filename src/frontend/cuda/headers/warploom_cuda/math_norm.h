// Lengths of vectors and their reciprocals, integer powers, roots and the quotient of a remainder.
#pragma once

// A sum of squares as a pair, with all terms scaled by the same power of two so that nothing over- or underflows.
struct wl_square_sum {
  double hi = 0.0, lo = 0.0;
};
WL_DEVICE void wl_add_square(wl_square_sum* sum, double x) {
  const double p = wl_mul_rn(x, x);
  const double p_lo = wl_fma(x, x, -p);
  const double s = wl_add_rn(sum->hi, p);
  const double back = wl_add_rn(s, -sum->hi);
  sum->lo += wl_add_rn(wl_add_rn(sum->hi, -wl_add_rn(s, -back)), wl_add_rn(p, -back)) + p_lo;
  sum->hi = s;
}
// The factor that brings `largest`, which is not negative, to about one; its exponent is within [-1000, 1000].
WL_DEVICE int wl_norm_exponent(double largest) {
  const int e = static_cast<int>(__builtin_bit_cast(unsigned long long, largest) >> 52) - 1023;
  return e < -1000 ? -1000 : e > 1000 ? 1000 : e;
}
// 1 / sqrt(hi + lo).
WL_DEVICE double wl_rsqrt_pair(wl_square_sum s) {
  const double y = wl_div(1.0, wl_sqrt(s.hi));
  const double p = wl_mul_rn(s.hi, y);
  const double p_lo = wl_fma(s.hi, y, -p);
  const double error = wl_fma(-p, y, 1.0) - wl_fma(p_lo, y, s.lo * y * y);
  return wl_fma(0.5 * error, y, y);
}
WL_DEVICE double wl_sqrt_pair(wl_square_sum s) {
  const double h = wl_sqrt(s.hi);
  return s.hi == 0.0 ? 0.0 : h + wl_div(wl_fma(-h, h, s.hi) + s.lo, h + h);
}
template <bool reciprocal>
WL_DEVICE double wl_norm_finish(wl_square_sum s, int exponent, double largest, bool nan) {
  if (largest == wl_inf(largest)) return reciprocal ? 0.0 : largest;
  if (nan) return wl_nan(largest);
  if (largest == 0.0) return reciprocal ? wl_inf(largest) : 0.0;
  return reciprocal ? wl_scale(wl_rsqrt_pair(s), -exponent) : wl_scale(wl_sqrt_pair(s), exponent);
}
WL_DEVICE double wl_larger(double a, double b) { return __builtin_fmax(a, b); }  // the number when the other is NaN
template <bool reciprocal>
WL_DEVICE double wl_norm4(double x, double y, double z, double w) {
  const double a = wl_abs(x), b = wl_abs(y), c = wl_abs(z), d = wl_abs(w);
  const double largest = wl_larger(wl_larger(a, b), wl_larger(c, d));
  const int e = wl_norm_exponent(largest);
  const double scale = wl_pow2(1.0, -e);
  wl_square_sum s;
  wl_add_square(&s, a * scale);
  wl_add_square(&s, b * scale);
  wl_add_square(&s, c * scale);
  wl_add_square(&s, d * scale);
  return wl_norm_finish<reciprocal>(s, e, largest, wl_is_nan(a + b + c + d));
}
// Float squares and their sums fit double, so double arithmetic rounds once where it counts.
template <bool reciprocal>
WL_DEVICE float wl_norm4(float x, float y, float z, float w) {
  const double a = x, b = y, c = z, d = w;
  const double h = wl_sqrt(wl_fma(a, a, wl_fma(b, b, wl_fma(c, c, d * d))));
  const bool infinite = wl_larger(wl_larger(wl_abs(a), wl_abs(b)), wl_larger(wl_abs(c), wl_abs(d))) == wl_inf(a);
  if (infinite) return reciprocal ? 0.0f : wl_inf(x);
  return static_cast<float>(reciprocal ? wl_div(1.0, h) : h);
}
template <class T>
WL_DEVICE T wl_rhypot(T x, T y) {
  return wl_norm4<true>(x, y, T(0), T(0));
}
// Any number of elements, in two passes.
template <bool reciprocal, class T>
WL_DEVICE T wl_norm(int n, const T* x) {
  double largest = 0.0;
  bool nan = false;
  for (int i = 0; i < n; ++i) {
    const double a = wl_abs(static_cast<double>(x[i]));
    nan |= wl_is_nan(a);
    largest = wl_larger(largest, a);
  }
  const int e = wl_norm_exponent(largest);
  const double scale = wl_pow2(1.0, -e);
  wl_square_sum s;
  for (int i = 0; i < n; ++i) wl_add_square(&s, static_cast<double>(x[i]) * scale);
  return static_cast<T>(wl_norm_finish<reciprocal>(s, e, largest, nan));
}

WL_DEVICE double wl_rsqrt(double x) { return wl_div(1.0, wl_sqrt(x)); }
// 1/sqrt(x) rounded to nearest: a Newton step leaves the double value too exact to be rounded to the wrong float.
WL_DEVICE float wl_rsqrt_rn(float x) {
  const double a = x;
  const double y = wl_div(1.0, wl_sqrt(a));
  const double error = wl_fma(-a * y, y, 1.0);
  return static_cast<float>(x > 0.0f && x < wl_inf(x) ? wl_fma(0.5 * error, y, y) : y);
}
template <class T>
WL_DEVICE T wl_rcbrt(T x) {
  return wl_div(T(1), wl_cbrt(x));
}

// x^n by squaring, with the rounding errors of the products carried along.
WL_DEVICE double wl_powi(double x, int n) {
  unsigned int k = n < 0 ? 0u - static_cast<unsigned int>(n) : static_cast<unsigned int>(n);
  double value = 1.0, value_lo = 0.0, base = wl_abs(x), base_lo = 0.0;
  for (;;) {
    if (k & 1u) {
      const double p = wl_mul_rn(value, base);
      value_lo = wl_fma(value, base, -p) + wl_fma(value, base_lo, value_lo * base);
      value = p;
    }
    k >>= 1;
    if (k == 0u) break;
    const double s = wl_mul_rn(base, base);
    base_lo = wl_fma(base, base, -s) + 2.0 * base * base_lo;
    base = s;
  }
  // Near the ends of the range the errors carried are wrong, and so is the reciprocal.
  const bool inside = value > 0x1p-900 && value < 0x1p900;
  if (!inside) return wl_pow(x, static_cast<double>(n));
  const double r = wl_div(1.0, value);
  const double inverse = wl_fma(r, wl_fma(-value, r, 1.0) - value_lo * r, r);
  const double magnitude = n < 0 ? inverse : value + value_lo;
  return x < 0.0 && (n & 1) != 0 ? -magnitude : magnitude;
}
// In double, whose range holds every power that float can round to.
WL_DEVICE float wl_powi(float x, int n) {
  unsigned int k = n < 0 ? 0u - static_cast<unsigned int>(n) : static_cast<unsigned int>(n);
  double value = 1.0, base = x;
  for (;;) {
    if (k & 1u) value *= base;
    k >>= 1;
    if (k == 0u) break;
    base *= base;
  }
  return static_cast<float>(n < 0 ? wl_div(1.0, value) : value);
}

template <class T>
WL_DEVICE void wl_sincospi(T x, T* sine, T* cosine) {
  *sine = wl_sinpi(x, 0);
  *cosine = wl_sinpi(x, 1);
}

// The remainder and the low three bits of the quotient, with the quotient's sign.
template <class T>
WL_DEVICE T wl_remquo(T x, T y, int* quotient) {
  *quotient = 0;
  const T a = wl_abs(x), b = wl_abs(y);
  if (b == T(0) || !(a < wl_inf(a)) || wl_is_nan(y)) return wl_is_nan(x) || wl_is_nan(y) ? x + y : wl_nan(x);
  // What is left modulo 8b has the same low bits of the quotient; b must stay finite.
  constexpr T largest = sizeof(T) == 4 ? T(0x1.fffffep124f) : T(0x1.fffffffffffffp1020);
  T r = b <= largest ? wl_fmod(a, T(8) * b) : a;
  int q = 0;
  for (int bit = 4; bit > 0; bit >>= 1) {
    const T step = static_cast<T>(bit) * b;
    if (r >= step) {
      r -= step;
      q += bit;
    }
  }
  // r in [0, b): to the nearest, and to the even quotient at a tie.
  const T rest = b - r;
  if (r > rest || (r == rest && (q & 1) != 0)) {
    r -= b;
    ++q;
  }
  q &= 7;
  *quotient = __builtin_signbit(x) != __builtin_signbit(y) ? -q : q;
  return r == T(0) ? wl_sign(T(0), x) : __builtin_signbit(x) ? -r : r;
}

// The error functions' inverses, the scaled error function and the normal distribution.
#pragma once

// e^(x^2) erfc(x) for x >= 0.
WL_DEVICE double wl_erfcx_positive(double x) {
  const double near = wl_div(wl_erfcx_kernel(x), wl_fma(2.0, x, 1.0));
  // From 28 on: 1/(sqrt(pi) x) (1 - 1/(2x^2) + 3/(4x^4) - 15/(8x^6) + ...).
  const double r = wl_div(1.0, x);
  const double z = r * r;
  const double far =
      r * 0x1.20dd750429b6dp-1 * wl_poly(z, 1.0, -0.5, 0.75, -1.875, 6.5625, -29.53125, 162.421875, -1055.7421875);
  return x < 0.5 ? wl_exp(x * x) * (1.0 - wl_fma(x, wl_erf_kernel(x * x), x)) : x < 28.0 ? near : far;
}
WL_DEVICE double wl_erfcx(double x) {
  const double value = wl_erfcx_positive(wl_abs(x));
  // 2 e^(x^2) - erfcx(-x), with what the rounding of x^2 lost.
  const double s = wl_mul_rn(x, x);
  const double low = s < 800.0 ? wl_fma(x, x, -s) : 0.0;
  return x < 0.0 ? 2.0 * wl_exp(s, low) - value : value;
}
WL_DEVICE float wl_erfcx(float x) { return static_cast<float>(wl_erfcx(static_cast<double>(x))); }

// erfc(a + low) for a >= 0.
WL_DEVICE double wl_erfc_wide(double a, double low) {
  const double s = wl_mul_rn(a, a);
  const double rest = wl_fma(a, a, -s) + 2.0 * a * low;
  return wl_exp(-s, -rest) * wl_erfcx_positive(a);
}
WL_DEVICE double wl_normcdf(double x) {
  // -x / sqrt(2) as a pair: the tail magnifies its error by x^2.
  constexpr double root = 0x1.6a09e667f3bcdp-1, root_lo = -0x1.bdd3413b26456p-55;
  const double c = x < -40.0 ? -40.0 : x > 40.0 ? 40.0 : x;
  const double a = wl_mul_rn(-c, root);
  const double low = wl_fma(-c, root, -a) - c * root_lo;
  const double tail = 0.5 * (x < 0.0 ? wl_erfc_wide(a, low) : wl_erfc_wide(-a, -low));
  const double value = x < 0.0 ? tail : 1.0 - tail;
  return wl_is_nan(x) ? x : value;
}
WL_DEVICE float wl_normcdf(float x) { return static_cast<float>(wl_normcdf(static_cast<double>(x))); }

// erfinv(x) for |x| < 1, from w = -log(1 - x^2).
WL_DEVICE double wl_erfinv_from(double x, double w) {
  if (w < 6.25) return x * wl_fit_erfinv_low(w - 3.125);
  const double s = wl_sqrt(w);
  if (s < 4.0) return x * wl_fit_erfinv_middle(s - 3.25);
  if (s < 7.0) return x * wl_fit_erfinv_high(s - 5.5);
  return x * s * wl_fit_erfinv_tail(wl_div(1.0, s) - 0.09);
}
WL_DEVICE double wl_erfinv(double x) {
  const double a = wl_abs(x);
  if (!(a < 1.0)) return a == 1.0 ? wl_sign(wl_inf(x), x) : wl_nan(x);
  // (1 - x)(1 + x) keeps the bits that 1 - x^2 loses near one.
  const double w = a < 0.5 ? -wl_log1p(-a * a) : -wl_log((1.0 - a) * (1.0 + a));
  return wl_erfinv_from(x, w);
}
WL_DEVICE double wl_erfcinv(double y) {
  if (!(y > 0.0 && y < 2.0)) return y == 0.0 ? wl_inf(y) : y == 2.0 ? -wl_inf(y) : wl_nan(y);
  const double x = 1.0 - y;
  const double w = wl_abs(x) < 0.5 ? -wl_log1p(-x * x) : -wl_log(y * (2.0 - y));
  return wl_erfinv_from(x, w);
}
WL_DEVICE double wl_normcdfinv(double p) { return -0x1.6a09e667f3bcdp+0 * wl_erfcinv(p + p); }
WL_DEVICE float wl_erfinv(float x) { return static_cast<float>(wl_erfinv(static_cast<double>(x))); }
WL_DEVICE float wl_erfcinv(float x) { return static_cast<float>(wl_erfcinv(static_cast<double>(x))); }
WL_DEVICE float wl_normcdfinv(float x) { return static_cast<float>(wl_normcdfinv(static_cast<double>(x))); }

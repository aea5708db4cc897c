// Complex functions in double precision: branch cuts and special values as C99's Annex G has them; the inverse
// functions after W. Kahan, "Branch Cuts for Complex Elementary Functions", 1987. Single precision calls these too.
#pragma once

struct WlComplex {
  double re, im;
};

WL_DEVICE bool wl_c_is_inf(double x) { return wl_abs(x) == wl_inf(x); }
WL_DEVICE bool wl_c_is_finite(double x) { return wl_abs(x) < wl_inf(x); }
WL_DEVICE WlComplex wl_c_nans() { return {wl_nan(1.0), wl_nan(1.0)}; }
// z·(-i) and z·i
WL_DEVICE WlComplex wl_c_back(WlComplex z) { return {z.im, -z.re}; }
WL_DEVICE WlComplex wl_c_turn(WlComplex z) { return {-z.im, z.re}; }
// scale·(cos y + i sin y), where scale may be infinite and y is finite
WL_DEVICE WlComplex wl_c_around(double scale, double y) {
  double s, c;
  wl_sincos(y, &s, &c);
  return {scale * c, y == 0 ? y : scale * s};
}

WL_DEVICE_CALL WlComplex wl_c_exp(WlComplex z) {
  if (!wl_c_is_finite(z.im)) {
    if (!wl_c_is_inf(z.re)) return wl_c_nans();
    return z.re > 0 ? WlComplex{z.re, wl_nan(1.0)} : WlComplex{0, 0};
  }
  if (z.re != z.re) return {z.re, z.im == 0 ? z.im : z.re};
  // Two steps where exp alone overflows and the cosine may bring it back.
  if (z.re > 708 && z.re < 1500) {
    const WlComplex part = wl_c_around(wl_exp(z.re - 700), z.im);
    const double rest = wl_exp(700.0);
    return {part.re * rest, part.im * rest};
  }
  return wl_c_around(wl_exp(z.re), z.im);
}

WL_DEVICE_CALL WlComplex wl_c_sinh(WlComplex z) {
  if (!wl_c_is_finite(z.im)) {
    if (z.re == 0 || wl_c_is_inf(z.re)) return {wl_abs(z.re), wl_nan(1.0)};
    return wl_c_nans();
  }
  if (z.im == 0) return {wl_sinh(z.re), z.im};
  if (z.re != z.re) return wl_c_nans();
  if (wl_abs(z.re) > 708) {
    const WlComplex part = wl_c_exp({wl_abs(z.re), z.im});
    return {wl_sign(1.0, z.re) * part.re * 0.5, part.im * 0.5};
  }
  double s, c;
  wl_sincos(z.im, &s, &c);
  return {wl_sinh(z.re) * c, wl_cosh(z.re) * s};
}

WL_DEVICE_CALL WlComplex wl_c_cosh(WlComplex z) {
  if (!wl_c_is_finite(z.im)) {
    if (z.re == 0) return {wl_nan(1.0), 0};
    if (wl_c_is_inf(z.re)) return {wl_abs(z.re), wl_nan(1.0)};
    return wl_c_nans();
  }
  if (z.im == 0) return {wl_cosh(z.re), z.re != z.re ? 0 : wl_sign(1.0, z.re) * z.im};
  if (z.re != z.re) return wl_c_nans();
  if (wl_abs(z.re) > 708) {
    const WlComplex part = wl_c_exp({wl_abs(z.re), z.im});
    return {part.re * 0.5, wl_sign(1.0, z.re) * part.im * 0.5};
  }
  double s, c;
  wl_sincos(z.im, &s, &c);
  return {wl_cosh(z.re) * c, wl_sinh(z.re) * s};
}

WL_DEVICE_CALL WlComplex wl_c_tanh(WlComplex z) {
  if (!wl_c_is_finite(z.im)) {
    if (wl_c_is_inf(z.re)) return {wl_sign(1.0, z.re), wl_sign(0.0, z.im)};
    return wl_c_nans();
  }
  if (z.re != z.re) return {z.re, z.im == 0 ? z.im : z.re};
  if (wl_abs(z.re) > 22) {
    double s, c;
    wl_sincos(z.im, &s, &c);
    return {wl_sign(1.0, z.re), 4 * s * c * wl_exp(-2 * wl_abs(z.re))};
  }
  const double along = wl_tanh(z.re), across = wl_tan(z.im), wide = wl_cosh(z.re);
  const double both = along * across, d = 1 + both * both;
  return {along * (1 + across * across) / d, across / d / (wide * wide)};
}

WL_DEVICE_CALL WlComplex wl_c_sqrt(WlComplex z) {
  const double zero = wl_sign(0.0, z.im), inf = wl_inf(1.0);
  if (wl_c_is_inf(z.im)) return {inf, z.im};
  if (z.re != z.re) return wl_c_nans();
  if (wl_c_is_inf(z.re)) {
    if (z.re > 0) return {z.re, z.im != z.im ? z.im : zero};
    return z.im != z.im ? WlComplex{z.im, inf} : WlComplex{0, wl_sign(inf, z.im)};
  }
  if (z.im != z.im) return wl_c_nans();
  if (z.re == 0 && z.im == 0) return {0, z.im};
  double x = wl_abs(z.re), y = wl_abs(z.im), back = 2;
  if (x < 0x1p-1000 && y < 0x1p-1000) {
    x *= 0x1p+200;
    y *= 0x1p+200;
    back = 0x1p-99;
  }
  const double s = wl_sqrt(x * 0.125 + wl_hypot(x * 0.125, y * 0.125));
  const double d = s == 0 ? 0 : y * 0.125 / s;
  // s is half of the large part, d of the small one: (x + |z|)/2 = (2s)².
  const double large = back * s, small = back * d;
  return z.re >= 0 ? WlComplex{large, wl_sign(small, z.im)} : WlComplex{small, wl_sign(large, z.im)};
}

WL_DEVICE_CALL WlComplex wl_c_log(WlComplex z) {
  const double angle = wl_atan2(z.im, z.re);
  double x = wl_abs(z.re), y = wl_abs(z.im);
  if (x < y) {
    const double swap = x;
    x = y;
    y = swap;
  }
  if (!wl_c_is_finite(x) || !wl_c_is_finite(y)) return {wl_log(wl_hypot(x, y)), angle};
  constexpr double ln2 = 0.693147180559945309417232121458;
  if (x > 0x1p+1022) return {wl_log(wl_hypot(x * 0.5, y * 0.5)) + ln2, angle};
  if (x < 0x1p-1022) return {x == 0 ? -wl_inf(1.0) : wl_log(wl_hypot(x * 0x1p+53, y * 0x1p+53)) - 53 * ln2, angle};
  const double size = wl_hypot(x, y);
  // Close to the unit circle the size alone has too few digits.
  if (size >= 0.71 && size <= 1.73) return {wl_log1p((x - 1) * (x + 1) + y * y) * 0.5, angle};
  return {wl_log(size), angle};
}

WL_DEVICE bool wl_c_large(WlComplex z) { return wl_abs(z.re) > 0x1p+510 || wl_abs(z.im) > 0x1p+510; }
constexpr double kWlPi = 3.14159265358979323846264338328;

WL_DEVICE_CALL WlComplex wl_c_acos(WlComplex z) {
  if (wl_c_is_inf(z.re) || wl_c_is_inf(z.im))
    return {wl_atan2(wl_abs(z.im), z.re), z.im != z.im ? wl_inf(1.0) : -wl_sign(wl_inf(1.0), z.im)};
  if (z.re != z.re || z.im != z.im) return {z.re == 0 ? kWlPi / 2 : wl_nan(1.0), wl_nan(1.0)};
  if (wl_c_large(z)) {
    const double size = wl_c_log({wl_abs(z.re) * 0.5, wl_abs(z.im) * 0.5}).re + 1.386294361119890618834464242916;
    return {wl_atan2(wl_abs(z.im), z.re), wl_sign(size, -z.im)};
  }
  const WlComplex a = wl_c_sqrt({1 - z.re, -z.im}), b = wl_c_sqrt({1 + z.re, z.im});
  return {2 * wl_atan2(a.re, b.re), wl_asinh(b.re * a.im - b.im * a.re)};
}

WL_DEVICE_CALL WlComplex wl_c_acosh(WlComplex z) {
  if (wl_c_is_inf(z.re) || wl_c_is_inf(z.im)) return {wl_inf(1.0), wl_atan2(z.im, z.re)};
  if (z.re != z.re || z.im != z.im) return wl_c_nans();
  if (wl_c_large(z)) {
    const double size = wl_c_log({wl_abs(z.re) * 0.5, wl_abs(z.im) * 0.5}).re + 1.386294361119890618834464242916;
    return {size, wl_atan2(z.im, z.re)};
  }
  const WlComplex a = wl_c_sqrt({z.re - 1, z.im}), b = wl_c_sqrt({z.re + 1, z.im});
  return {wl_asinh(a.re * b.re + a.im * b.im), 2 * wl_atan2(a.im, b.re)};
}

WL_DEVICE_CALL WlComplex wl_c_asinh(WlComplex z) {
  if (wl_c_is_inf(z.re) || wl_c_is_inf(z.im))
    return {z.re != z.re ? wl_inf(1.0) : wl_sign(wl_inf(1.0), z.re), wl_atan2(z.im, wl_abs(z.re))};
  if (z.re != z.re || z.im != z.im) return {wl_nan(1.0), z.im == 0 ? z.im : wl_nan(1.0)};
  if (wl_c_large(z)) {
    const double size = wl_c_log({wl_abs(z.re) * 0.5, wl_abs(z.im) * 0.5}).re + 1.386294361119890618834464242916;
    return {wl_sign(size, z.re), wl_atan2(z.im, wl_abs(z.re))};
  }
  const WlComplex a = wl_c_sqrt({1 + z.im, -z.re}), b = wl_c_sqrt({1 - z.im, z.re});
  return {wl_asinh(a.re * b.im - b.re * a.im), wl_atan2(z.im, a.re * b.re - a.im * b.im)};
}

WL_DEVICE_CALL WlComplex wl_c_atanh(WlComplex z) {
  if (wl_c_is_inf(z.re) || wl_c_is_inf(z.im))
    return {z.re != z.re ? 0 : wl_sign(0.0, z.re), z.im != z.im ? z.im : wl_sign(kWlPi / 2, z.im)};
  if (z.re != z.re || z.im != z.im) return {z.re == 0 ? z.re : wl_nan(1.0), wl_nan(1.0)};
  const double x = wl_abs(z.re), y = wl_abs(z.im);
  WlComplex found;
  if (wl_c_large(z)) {
    // re(1/z), scaled so that the square does not overflow.
    const double half = wl_hypot(x * 0.5, y * 0.5);
    found = {x * 0.25 / half / half, kWlPi / 2};
  } else if (x == 1 && y < 0x1p-510) {
    found = y == 0 ? WlComplex{wl_inf(1.0), 0}
                   : WlComplex{-wl_log(wl_sqrt(y) / wl_sqrt(wl_hypot(y, 2.0))), wl_atan2(2.0, -y) * 0.5};
  } else {
    found = {wl_log1p(4 * x / ((1 - x) * (1 - x) + y * y)) * 0.25, wl_atan2(2 * y, (1 - x) * (1 + x) - y * y) * 0.5};
  }
  return {wl_sign(found.re, z.re), wl_sign(found.im, z.im)};
}

WL_DEVICE WlComplex wl_c_rect(double r, double angle) {
  if (angle == 0) return {r, wl_sign(1.0, r) * angle};
  if (!wl_c_is_finite(angle)) {
    if (r == 0) return {0, 0};
    return {wl_c_is_inf(r) ? wl_abs(r) : wl_nan(1.0), wl_nan(1.0)};
  }
  double s, c;
  wl_sincos(angle, &s, &c);
  return {r * c, r * s};
}

WL_DEVICE WlComplex wl_c_divide(WlComplex a, WlComplex b) {
  if (wl_abs(b.re) >= wl_abs(b.im)) {
    const double ratio = b.im / b.re, d = b.re + b.im * ratio;
    return {(a.re + a.im * ratio) / d, (a.im - a.re * ratio) / d};
  }
  const double ratio = b.re / b.im, d = b.re * ratio + b.im;
  return {(a.re * ratio + a.im) / d, (a.im * ratio - a.re) / d};
}

WL_DEVICE_CALL WlComplex wl_c_pow(WlComplex a, WlComplex b) {
  if (b.re == 0 && b.im == 0) return {1, 0};
  if (a.re == 0 && a.im == 0) return b.re > 0 ? WlComplex{0, 0} : wl_c_nans();
  if (b.im == 0 && b.re == 1) return a;
  if (b.im == 0 && b.re == 2) return {a.re * a.re - a.im * a.im, 2 * a.re * a.im};
  const double size = wl_hypot(a.re, a.im), angle = wl_atan2(a.im, a.re);
  double length = wl_pow(size, b.re), turn = angle * b.re;
  if (b.im != 0) {
    length = length / wl_exp(angle * b.im);
    turn += b.im * wl_log(size);
  }
  return wl_c_around(length, turn);
}

#define WL_COMPLEX(name, expression)                                                      \
  WL_ENTRY_LONG void __nv_c##name(double re, double im, double* out_re, double* out_im) { \
    const WlComplex z{re, im};                                                            \
    const WlComplex w = expression;                                                       \
    *out_re = w.re;                                                                       \
    *out_im = w.im;                                                                       \
  }
WL_COMPLEX(exp, wl_c_exp(z))
WL_COMPLEX(log, wl_c_log(z))
WL_COMPLEX(sqrt, wl_c_sqrt(z))
WL_COMPLEX(sinh, wl_c_sinh(z))
WL_COMPLEX(cosh, wl_c_cosh(z))
WL_COMPLEX(tanh, wl_c_tanh(z))
WL_COMPLEX(asinh, wl_c_asinh(z))
WL_COMPLEX(acosh, wl_c_acosh(z))
WL_COMPLEX(atanh, wl_c_atanh(z))
WL_COMPLEX(acos, wl_c_acos(z))
WL_COMPLEX(sin, wl_c_back(wl_c_sinh(wl_c_turn(z))))
WL_COMPLEX(cos, wl_c_cosh(wl_c_turn(z)))
WL_COMPLEX(tan, wl_c_back(wl_c_tanh(wl_c_turn(z))))
WL_COMPLEX(asin, wl_c_back(wl_c_asinh(wl_c_turn(z))))
WL_COMPLEX(atan, wl_c_back(wl_c_atanh(wl_c_turn(z))))
WL_COMPLEX(rect, wl_c_rect(z.re, z.im))
#undef WL_COMPLEX
#define WL_COMPLEX(name, expression)                                                                      \
  WL_ENTRY_LONG void __nv_c##name(double re, double im, double other_re, double other_im, double* out_re, \
                                  double* out_im) {                                                       \
    const WlComplex a{re, im}, b{other_re, other_im};                                                     \
    const WlComplex w = expression;                                                                       \
    *out_re = w.re;                                                                                       \
    *out_im = w.im;                                                                                       \
  }
WL_COMPLEX(pow, wl_c_pow(a, b))
WL_COMPLEX(div, wl_c_divide(a, b))
#undef WL_COMPLEX

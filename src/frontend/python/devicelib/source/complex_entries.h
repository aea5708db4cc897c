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

// e^x is big·scale; the factors are multiplied last, so that the sine or cosine may bring back what alone overflows.
struct WlScale {
  double rest, big;
};
WL_DEVICE WlScale wl_c_split(double x) {
  const bool large = x > 700 && x < 1500;
  return {large ? x - 700 : x, large ? 0x1.d945df4f8ec8ep+1009 : 1.0};  // e^700
}

WL_DEVICE WlComplex wl_c_exp(WlComplex z) {
  const WlScale split = wl_c_split(z.re);
  const double size = wl_exp(split.rest);
  double s, c;
  wl_sincos(z.im, &s, &c);
  const bool regular = wl_c_is_finite(z.im) || !wl_c_is_inf(z.re);
  const double infinite = z.re > 0 ? z.re : 0;
  return {regular ? size * c * split.big : infinite,
          z.im == 0 ? z.im : (regular || z.re > 0 ? size * s * split.big : 0)};
}

// The parts of sinh and cosh: sinh|x|, cosh x, both without `big`, and sin y, cos y.
struct WlHyperbolic {
  double sinh, cosh, sin, cos, big;
};
WL_DEVICE WlHyperbolic wl_c_hyperbolic(WlComplex z) {
  const WlScale split = wl_c_split(wl_abs(z.re));
  WlHyperbolic h{wl_sinh(split.rest), wl_cosh(split.rest), 0, 0, split.big};
  wl_sincos(z.im, &h.sin, &h.cos);
  const double half = (h.sinh + h.cosh) * 0.5;
  if (split.big != 1) h.sinh = h.cosh = half;
  return h;
}

WL_DEVICE WlComplex wl_c_sinh(WlComplex z) {
  const WlHyperbolic h = wl_c_hyperbolic(z);
  const bool keeps = !wl_c_is_finite(z.im) && (z.re == 0 || wl_c_is_inf(z.re));
  return {keeps ? wl_abs(z.re) : wl_sign(h.sinh, z.re) * h.cos * h.big, z.im == 0 ? z.im : h.cosh * h.sin * h.big};
}

WL_DEVICE WlComplex wl_c_cosh(WlComplex z) {
  const WlHyperbolic h = wl_c_hyperbolic(z);
  const bool keeps = !wl_c_is_finite(z.im) && wl_c_is_inf(z.re), zero = !wl_c_is_finite(z.im) && z.re == 0;
  const double straight = z.re != z.re ? 0 : wl_sign(1.0, z.re) * z.im;
  return {keeps ? wl_abs(z.re) : h.cosh * h.cos * h.big,
          z.im == 0 ? straight : (zero ? 0 : wl_sign(h.sinh, z.re) * h.sin * h.big)};
}

WL_DEVICE WlComplex wl_c_tanh(WlComplex z) {
  const double along = wl_tanh(z.re), across = wl_tan(z.im), narrow = 1 / wl_cosh(z.re);
  const double both = along * across, d = 1 + both * both;
  const bool limit = wl_c_is_inf(z.re);
  return {limit ? along : along * (1 + across * across) / d, limit ? wl_sign(0.0, wl_c_is_finite(z.im) ? across : z.im)
                                                                   : (z.im == 0 ? z.im : across / d * narrow * narrow)};
}

// Of finite numbers that are not tiny.
WL_DEVICE WlComplex wl_c_plain_sqrt(WlComplex z) {
  const double x = wl_abs(z.re) * 0.125, y = wl_abs(z.im) * 0.125;
  // s is half of the large part, d of the small one: (8x + |z|)/2 = (2s)².
  const double s = wl_sqrt(x + wl_hypot(x, y));
  const double large = 2 * s, small = s == 0 ? 0 : 2 * (y / s);
  return {z.re >= 0 ? large : small, wl_sign(z.re >= 0 ? small : large, z.im)};
}

WL_DEVICE WlComplex wl_c_sqrt(WlComplex z) {
  const double zero = wl_sign(0.0, z.im), inf = wl_inf(1.0);
  if (wl_c_is_inf(z.im)) return {inf, z.im};
  if (z.re != z.re) return wl_c_nans();
  if (wl_c_is_inf(z.re)) {
    if (z.re > 0) return {z.re, z.im != z.im ? z.im : zero};
    return z.im != z.im ? WlComplex{z.im, inf} : WlComplex{0, wl_sign(inf, z.im)};
  }
  if (z.im != z.im) return wl_c_nans();
  const bool tiny = wl_abs(z.re) < 0x1p-1000 && wl_abs(z.im) < 0x1p-1000;
  const double up = tiny ? 0x1p+200 : 1, back = tiny ? 0x1p-100 : 1;
  const WlComplex root = wl_c_plain_sqrt({z.re * up, z.im * up});
  return {root.re * back, root.im * back};
}

constexpr double kWlLn2 = 0.693147180559945309417232121458;

WL_DEVICE WlComplex wl_c_log(WlComplex z) {
  const double a = wl_abs(z.re), b = wl_abs(z.im);
  const double x = a < b ? b : a, y = a < b ? a : b;
  const bool large = x > 0x1p+1022, tiny = x < 0x1p-1022;
  const double scale = large ? 0.5 : (tiny ? 0x1p+53 : 1), shift = large ? kWlLn2 : (tiny ? -53 * kWlLn2 : 0);
  const double size = wl_hypot(x * scale, y * scale);
  // Close to the unit circle the size alone has too few digits.
  const bool near = size >= 0.71 && size <= 1.73 && shift == 0;
  const double precise = wl_log1p((x - 1) * (x + 1) + y * y) * 0.5, plain = wl_log(size) + shift;
  return {near ? precise : plain, wl_atan2(z.im, z.re)};
}

WL_DEVICE bool wl_c_large(WlComplex z) { return wl_abs(z.re) > 0x1p+510 || wl_abs(z.im) > 0x1p+510; }
constexpr double kWlPi = 3.14159265358979323846264338328;

WL_DEVICE WlComplex wl_c_acos(WlComplex z) {
  if (wl_c_is_inf(z.re) || wl_c_is_inf(z.im))
    return {wl_atan2(wl_abs(z.im), z.re), z.im != z.im ? wl_inf(1.0) : -wl_sign(wl_inf(1.0), z.im)};
  if (z.re != z.re || z.im != z.im) return {z.re == 0 ? kWlPi / 2 : wl_nan(1.0), wl_nan(1.0)};
  if (wl_c_large(z)) {
    const double size = wl_log(wl_hypot(z.re * 0.25, z.im * 0.25)) + 3 * kWlLn2;  // log 2|z|
    return {wl_atan2(wl_abs(z.im), z.re), wl_sign(size, -z.im)};
  }
  const WlComplex a = wl_c_plain_sqrt({1 - z.re, -z.im}), b = wl_c_plain_sqrt({1 + z.re, z.im});
  return {2 * wl_atan2(a.re, b.re), wl_asinh(b.re * a.im - b.im * a.re)};
}

WL_DEVICE WlComplex wl_c_acosh(WlComplex z) {
  if (wl_c_is_inf(z.re) || wl_c_is_inf(z.im)) return {wl_inf(1.0), wl_atan2(z.im, z.re)};
  if (z.re != z.re || z.im != z.im) return wl_c_nans();
  if (wl_c_large(z)) {
    const double size = wl_log(wl_hypot(z.re * 0.25, z.im * 0.25)) + 3 * kWlLn2;  // log 2|z|
    return {size, wl_atan2(z.im, z.re)};
  }
  const WlComplex a = wl_c_plain_sqrt({z.re - 1, z.im}), b = wl_c_plain_sqrt({z.re + 1, z.im});
  return {wl_asinh(a.re * b.re + a.im * b.im), 2 * wl_atan2(a.im, b.re)};
}

WL_DEVICE WlComplex wl_c_asinh(WlComplex z) {
  if (wl_c_is_inf(z.re) || wl_c_is_inf(z.im))
    return {z.re != z.re ? wl_inf(1.0) : wl_sign(wl_inf(1.0), z.re), wl_atan2(z.im, wl_abs(z.re))};
  if (z.re != z.re || z.im != z.im) return {wl_nan(1.0), z.im == 0 ? z.im : wl_nan(1.0)};
  if (wl_c_large(z)) {
    const double size = wl_log(wl_hypot(z.re * 0.25, z.im * 0.25)) + 3 * kWlLn2;  // log 2|z|
    return {wl_sign(size, z.re), wl_atan2(z.im, wl_abs(z.re))};
  }
  const WlComplex a = wl_c_plain_sqrt({1 + z.im, -z.re}), b = wl_c_plain_sqrt({1 - z.im, z.re});
  return {wl_asinh(a.re * b.im - b.re * a.im), wl_atan2(z.im, a.re * b.re - a.im * b.im)};
}

WL_DEVICE WlComplex wl_c_atanh(WlComplex z) {
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

WL_DEVICE WlComplex wl_c_pow(WlComplex a, WlComplex b) {
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
  double s, c;
  wl_sincos(turn, &s, &c);
  return {length * c, length * s};
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

// Bessel functions of the first and second kind, and modified ones of orders 0 and 1.
#pragma once

constexpr double wl_two_over_pi_d = 0x1.45f306dc9c883p-1;

// x - zero for a zero given as a pair.
WL_DEVICE double wl_from_zero(double x, double zero, double zero_lo) { return (x - zero) - zero_lo; }

// Hankel's form for x >= 8 and order 0 or 1: sqrt(2/(pi x)) (P cos - Q sin) is the first kind and sqrt(2/(pi x))
// (P sin + Q cos) the second, of the phase x - pi/4 or x - 3 pi/4, which is formed from x's sine and cosine.
struct wl_hankel_parts {
  double s, c, scale, r;
};
WL_DEVICE wl_hankel_parts wl_hankel(double x) {
  wl_hankel_parts h;
  wl_sincos(x, &h.s, &h.c);
  h.scale = wl_div(0x1.20dd750429b6dp-1, wl_sqrt(x));  // 1 / sqrt(pi x)
  h.r = wl_div(8.0, x);
  return h;
}
WL_DEVICE double wl_hankel_0(wl_hankel_parts h, bool second) {
  const double z = h.r * h.r;
  const double sum = h.c + h.s, difference = h.s - h.c;
  const double p = wl_fit_hankel_p0(z) * (second ? difference : sum);
  return h.scale * wl_fma(h.r * wl_fit_hankel_q0(z), second ? sum : -difference, p);
}
WL_DEVICE double wl_hankel_1(wl_hankel_parts h, bool second) {
  const double z = h.r * h.r;
  const double sum = h.c + h.s, difference = h.s - h.c;
  const double p = wl_fit_hankel_p1(z) * (second ? -sum : difference);
  return h.scale * wl_fma(h.r * wl_fit_hankel_q1(z), second ? difference : sum, p);
}

// Below 8: each interval's polynomial, times the distance from the zero in or near it.
WL_DEVICE double wl_j0_near(double x) {
  if (x < 2.0) return wl_fit_j0_0_2(x * x);
  if (x < 4.0) return wl_from_zero(x, wl_zero_j0_1, wl_zero_j0_1_lo) * wl_fit_j0_2_4(x - 3.0);
  if (x < 7.0) return wl_from_zero(x, wl_zero_j0_2, wl_zero_j0_2_lo) * wl_fit_j0_4_7(x - 5.5);
  return wl_fit_j0_7_8(x - 7.5);
}
WL_DEVICE double wl_j1_near(double x) {
  if (x < 2.0) return x * wl_fit_j1_0_2(x * x);
  if (x < 5.5) return wl_from_zero(x, wl_zero_j1_1, wl_zero_j1_1_lo) * wl_fit_j1_2_5p5(x - 3.75);
  return wl_from_zero(x, wl_zero_j1_2, wl_zero_j1_2_lo) * wl_fit_j1_5p5_8(x - 6.75);
}
WL_DEVICE double wl_y0_near(double x) {
  if (x < 0.5) return wl_fma(wl_two_over_pi_d * wl_log(x), wl_fit_j0_0_2(x * x), wl_fit_y0_0_half(x * x));
  if (x < 1.0) return wl_from_zero(x, wl_zero_y0_1, wl_zero_y0_1_lo) * wl_fit_y0_0p5_1(x - 0.75);
  if (x < 2.5) return wl_from_zero(x, wl_zero_y0_1, wl_zero_y0_1_lo) * wl_fit_y0_1_2p5(x - 1.75);
  if (x < 5.5) return wl_from_zero(x, wl_zero_y0_2, wl_zero_y0_2_lo) * wl_fit_y0_2p5_5p5(x - 4.0);
  return wl_from_zero(x, wl_zero_y0_3, wl_zero_y0_3_lo) * wl_fit_y0_5p5_8(x - 6.75);
}
WL_DEVICE double wl_y1_near(double x) {
  if (x < 0.5) {
    const double j = x * wl_fit_j1_0_2(x * x);
    const double near = wl_fma(wl_two_over_pi_d * wl_log(x), j, x * wl_fit_y1_0_half(x * x));
    return near - wl_div(wl_two_over_pi_d, x);
  }
  if (x < 1.0) return wl_fit_y1_0p5_1(x - 0.75);
  if (x < 2.0) return wl_from_zero(x, wl_zero_y1_1, wl_zero_y1_1_lo) * wl_fit_y1_1_2(x - 1.5);
  if (x < 3.75) return wl_from_zero(x, wl_zero_y1_1, wl_zero_y1_1_lo) * wl_fit_y1_2_3p75(x - 2.875);
  if (x < 7.0) return wl_from_zero(x, wl_zero_y1_2, wl_zero_y1_2_lo) * wl_fit_y1_3p75_7(x - 5.375);
  return wl_fit_y1_7_8(x - 7.5);
}

WL_DEVICE double wl_j0(double x) {
  const double a = wl_abs(x);
  if (a < 8.0) return wl_j0_near(a);
  return a == wl_inf(a) ? 0.0 : wl_hankel_0(wl_hankel(a), false);
}
WL_DEVICE double wl_j1(double x) {
  const double a = wl_abs(x);
  const double value = a < 8.0 ? wl_j1_near(a) : a == wl_inf(a) ? 0.0 : wl_hankel_1(wl_hankel(a), false);
  return x < 0.0 ? -value : x == 0.0 ? x : value;
}
// The second kind where its argument is not a positive finite number.
WL_DEVICE double wl_y_special(double x) { return x == 0.0 ? -wl_inf(x) : x > 0.0 ? 0.0 : wl_nan(x); }
WL_DEVICE double wl_y0(double x) {
  if (!(x > 0.0 && x < wl_inf(x))) return wl_y_special(x);
  return x < 8.0 ? wl_y0_near(x) : wl_hankel_0(wl_hankel(x), true);
}
WL_DEVICE double wl_y1(double x) {
  if (!(x > 0.0 && x < wl_inf(x))) return wl_y_special(x);
  return x < 8.0 ? wl_y1_near(x) : wl_hankel_1(wl_hankel(x), true);
}

// Orders n: the recurrence upwards where it is stable, else Miller's algorithm downwards, scaled by the sum rule
// J0 + 2 J2 + 2 J4 + ... = 1.
WL_DEVICE double wl_jn_down(int n, double a) {
  // Start far enough above n that the terms left out vanish.
  int m = n + static_cast<int>(wl_sqrt(60.0 * static_cast<double>(n))) + 16;
  m += m & 1;
  const double r = wl_div(2.0, a);
  double above = 0.0, now = 0x1p-1000, sum = 0.0, wanted = 0.0;
  for (int k = m; k > 0; --k) {
    const double below = wl_fma(static_cast<double>(k) * r, now, -above);
    above = now;
    now = below;
    if (wl_abs(now) > 0x1p600) {
      now *= 0x1p-900;
      above *= 0x1p-900;
      sum *= 0x1p-900;
      wanted *= 0x1p-900;
    }
    if (k - 1 == n) wanted = now;
    if ((k & 1) != 0) sum += k == 1 ? now : now + now;  // `now` has order k - 1
  }
  return wl_div(wanted, sum);
}
// (x/2)^n / n!, for x so small that the next term is below the last place.
WL_DEVICE double wl_jn_tiny(int n, double a) {
  double value = 1.0;
  for (int k = 1; k <= n && value != 0.0; ++k) value *= wl_div(0.5 * a, static_cast<double>(k));
  return value;
}
WL_DEVICE double wl_jn(int n, double x) {
  const double a = wl_abs(x);
  if (n < 0 || wl_is_nan(x)) return wl_nan(x);
  double value = 0.0;
  if (a == 0.0 || a == wl_inf(a)) {
    value = n == 0 && a == 0.0 ? 1.0 : 0.0;
  } else if (n <= 1 || a > static_cast<double>(n)) {
    double before = 0.0, now = 0.0;
    if (a < 8.0) {
      before = wl_j0_near(a);
      now = wl_j1_near(a);
    } else {
      const wl_hankel_parts h = wl_hankel(a);
      before = wl_hankel_0(h, false);
      now = wl_hankel_1(h, false);
    }
    const double r = wl_div(2.0, a);
    for (int k = 1; k < n; ++k) {
      const double next = wl_fma(static_cast<double>(k) * r, now, -before);
      before = now;
      now = next;
    }
    value = n == 0 ? before : now;
  } else {
    value = a < 0x1p-20 ? wl_jn_tiny(n, a) : wl_jn_down(n, a);
  }
  return x < 0.0 && (n & 1) != 0 ? -value : value;
}
WL_DEVICE double wl_yn(int n, double x) {
  if (n < 0) return wl_nan(x);
  if (!(x > 0.0 && x < wl_inf(x))) return wl_y_special(x);
  double before = 0.0, now = 0.0;
  if (x < 8.0) {
    before = wl_y0_near(x);
    now = wl_y1_near(x);
  } else {
    const wl_hankel_parts h = wl_hankel(x);
    before = wl_hankel_0(h, true);
    now = wl_hankel_1(h, true);
  }
  const double r = wl_div(2.0, x);
  for (int k = 1; k < n && now > -wl_inf(x); ++k) {
    const double next = wl_fma(static_cast<double>(k) * r, now, -before);
    before = now;
    now = next;
  }
  return n == 0 ? before : now;
}

WL_DEVICE double wl_i0(double x) {
  const double a = wl_abs(x);
  const double c = a < 8.0 ? a : 8.0;
  const double low = wl_fit_i0_low(c * c * 0x1p-6);
  if (a < 8.0) return low;
  if (a > 720.0) return wl_inf(a);
  return wl_exp(a - 5.0) * wl_div(wl_fit_i0_high(wl_div(8.0, a) - 0.5), wl_sqrt(a));
}
WL_DEVICE double wl_i1(double x) {
  const double a = wl_abs(x);
  const double c = a < 8.0 ? a : 8.0;
  const double low = x * wl_fit_i1_low(c * c * 0x1p-6);
  if (a < 8.0) return low;
  if (a > 720.0) return wl_sign(wl_inf(a), x);
  return wl_sign(wl_exp(a - 5.0) * wl_div(wl_fit_i1_high(wl_div(8.0, a) - 0.5), wl_sqrt(a)), x);
}

#define WL_FLOAT_FROM_DOUBLE(name) \
  WL_DEVICE float name(float x) { return static_cast<float>(name(static_cast<double>(x))); }
WL_FLOAT_FROM_DOUBLE(wl_j0)
WL_FLOAT_FROM_DOUBLE(wl_j1)
WL_FLOAT_FROM_DOUBLE(wl_y0)
WL_FLOAT_FROM_DOUBLE(wl_y1)
WL_FLOAT_FROM_DOUBLE(wl_i0)
WL_FLOAT_FROM_DOUBLE(wl_i1)
#undef WL_FLOAT_FROM_DOUBLE
WL_DEVICE float wl_jn(int n, float x) { return static_cast<float>(wl_jn(n, static_cast<double>(x))); }
WL_DEVICE float wl_yn(int n, float x) { return static_cast<float>(wl_yn(n, static_cast<double>(x))); }

// Bessel functions of the first and second kind, and modified ones of orders 0 and 1.
#pragma once

constexpr double wl_two_over_pi_d = 0x1.45f306dc9c883p-1;

// x - zero for a zero given as a pair.
WL_DEVICE double wl_from_zero(double x, double zero, double zero_lo) { return (x - zero) - zero_lo; }

struct wl_hankel_parts {
  double cosine, sine;  // P cos - Q sin and P sin + Q cos times sqrt(2/(pi x)): the first and the second kind
};
// Hankel's form for x >= 8 and order 0 or 1: the phase x - pi/4 or x - 3 pi/4 by the sum of sine and cosine.
WL_DEVICE wl_hankel_parts wl_hankel(double x, bool first_order) {
  const double r = wl_div(8.0, x);
  const double z = r * r;
  const double p = first_order ? wl_fit_hankel_p1(z) : wl_fit_hankel_p0(z);
  const double q = r * (first_order ? wl_fit_hankel_q1(z) : wl_fit_hankel_q0(z));
  double s = 0.0, c = 0.0;
  wl_sincos(x, &s, &c);
  const double cosine = first_order ? s - c : c + s, sine = first_order ? -s - c : s - c;
  const double scale = wl_div(0x1.20dd750429b6dp-1, wl_sqrt(x));  // 1 / sqrt(pi x)
  return {scale * wl_fma(p, cosine, -(q * sine)), scale * wl_fma(p, sine, q * cosine)};
}

WL_DEVICE double wl_j0(double x) {
  const double a = wl_abs(x);
  if (a < 2.0) return wl_fit_j0_0_2(a * a);
  if (a < 4.0) return wl_from_zero(a, wl_zero_j0_1, wl_zero_j0_1_lo) * wl_fit_j0_2_4(a - 3.0);
  if (a < 7.0) return wl_from_zero(a, wl_zero_j0_2, wl_zero_j0_2_lo) * wl_fit_j0_4_7(a - 5.5);
  if (a < 8.0) return wl_fit_j0_7_8(a - 7.5);
  if (a == wl_inf(a)) return 0.0;
  return wl_hankel(a, false).cosine;
}
WL_DEVICE double wl_j1(double x) {
  const double a = wl_abs(x);
  if (a < 2.0) return x * wl_fit_j1_0_2(a * a);
  double value = 0.0;
  if (a < 5.5)
    value = wl_from_zero(a, wl_zero_j1_1, wl_zero_j1_1_lo) * wl_fit_j1_2_5p5(a - 3.75);
  else if (a < 8.0)
    value = wl_from_zero(a, wl_zero_j1_2, wl_zero_j1_2_lo) * wl_fit_j1_5p5_8(a - 6.75);
  else if (a != wl_inf(a))
    value = wl_hankel(a, true).cosine;
  return x < 0.0 ? -value : value;
}
WL_DEVICE double wl_y0(double x) {
  if (!(x > 0.0)) return x == 0.0 ? -wl_inf(x) : wl_nan(x);
  if (x < 0.5) return wl_fma(wl_two_over_pi_d * wl_log(x), wl_fit_j0_0_2(x * x), wl_fit_y0_0_half(x * x));
  if (x < 1.0) return wl_from_zero(x, wl_zero_y0_1, wl_zero_y0_1_lo) * wl_fit_y0_0p5_1(x - 0.75);
  if (x < 2.5) return wl_from_zero(x, wl_zero_y0_1, wl_zero_y0_1_lo) * wl_fit_y0_1_2p5(x - 1.75);
  if (x < 5.5) return wl_from_zero(x, wl_zero_y0_2, wl_zero_y0_2_lo) * wl_fit_y0_2p5_5p5(x - 4.0);
  if (x < 8.0) return wl_from_zero(x, wl_zero_y0_3, wl_zero_y0_3_lo) * wl_fit_y0_5p5_8(x - 6.75);
  if (x == wl_inf(x)) return 0.0;
  return wl_hankel(x, false).sine;
}
WL_DEVICE double wl_y1(double x) {
  if (!(x > 0.0)) return x == 0.0 ? -wl_inf(x) : wl_nan(x);
  if (x < 0.5) {
    const double j = x * wl_fit_j1_0_2(x * x);
    const double near = wl_fma(wl_two_over_pi_d * wl_log(x), j, x * wl_fit_y1_0_half(x * x));
    return near - wl_div(wl_two_over_pi_d, x);
  }
  if (x < 1.0) return wl_fit_y1_0p5_1(x - 0.75);
  if (x < 2.0) return wl_from_zero(x, wl_zero_y1_1, wl_zero_y1_1_lo) * wl_fit_y1_1_2(x - 1.5);
  if (x < 3.75) return wl_from_zero(x, wl_zero_y1_1, wl_zero_y1_1_lo) * wl_fit_y1_2_3p75(x - 2.875);
  if (x < 7.0) return wl_from_zero(x, wl_zero_y1_2, wl_zero_y1_2_lo) * wl_fit_y1_3p75_7(x - 5.375);
  if (x < 8.0) return wl_fit_y1_7_8(x - 7.5);
  if (x == wl_inf(x)) return 0.0;
  return wl_hankel(x, true).sine;
}

// Orders n: the recurrence upwards where it is stable, else Miller's algorithm downwards, scaled by the sum rule
// J0 + 2 J2 + 2 J4 + ... = 1.
WL_DEVICE double wl_jn(int n, double x) {
  if (n < 0) return wl_nan(x);
  if (n == 0) return wl_j0(x);
  if (n == 1 || wl_is_nan(x)) return wl_j1(x);
  const double a = wl_abs(x);
  const bool negative = x < 0.0 && (n & 1) != 0;
  double value = 0.0;
  if (a == 0.0 || a == wl_inf(a)) {
    value = 0.0;
  } else if (a > static_cast<double>(n)) {
    double before = wl_j0(a), now = wl_j1(a);
    const double r = wl_div(2.0, a);
    for (int k = 1; k < n; ++k) {
      const double next = wl_fma(static_cast<double>(k) * r, now, -before);
      before = now;
      now = next;
    }
    value = now;
  } else if (a < 0x1p-20) {
    // (x/2)^n / n!; the next term is below the last place.
    value = 1.0;
    const double half = 0.5 * a;
    for (int k = 1; k <= n && value != 0.0; ++k) value *= wl_div(half, static_cast<double>(k));
  } else {
    // Start far enough above n that the terms left out vanish.
    const double order = static_cast<double>(n);
    int m = n + static_cast<int>(wl_sqrt(60.0 * order)) + 16;
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
    value = wl_div(wanted, sum);
  }
  return negative ? -value : value;
}
WL_DEVICE double wl_yn(int n, double x) {
  if (n < 0 || !(x >= 0.0)) return wl_nan(x);
  if (n == 0) return wl_y0(x);
  if (n == 1 || x == 0.0 || x == wl_inf(x)) return wl_y1(x);
  double before = wl_y0(x), now = wl_y1(x);
  const double r = wl_div(2.0, x);
  for (int k = 1; k < n && now > -wl_inf(x); ++k) {
    const double next = wl_fma(static_cast<double>(k) * r, now, -before);
    before = now;
    now = next;
  }
  return now;
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

// The gamma function and its logarithm.
#pragma once

// a + b and what rounding lost, whichever is larger.
WL_DEVICE wl_double2 wl_two_sum(double a, double b) {
  const double s = wl_add_rn(a, b);
  const double back = wl_add_rn(s, -a);
  return {s, wl_add_rn(wl_add_rn(a, -wl_add_rn(s, -back)), wl_add_rn(b, -back))};
}
WL_DEVICE wl_double2 wl_mul_pair(wl_double2 a, wl_double2 b) {
  const double p = wl_mul_rn(a.hi, b.hi);
  return {p, wl_fma(a.hi, b.hi, -p) + wl_fma(a.hi, b.lo, a.lo * b.hi)};
}
WL_DEVICE wl_double2 wl_add_to_pair(wl_double2 a, double b) {
  const wl_double2 s = wl_two_sum(a.hi, b);
  return {s.hi, s.lo + a.lo};
}
// sqrt(2 pi) / (x (x+1) ... (x+7)). The factors in pairs, x (x+7), (x+1) (x+6), ..., are q and a constant.
WL_DEVICE double wl_gamma_shift(double x) {
  const wl_double2 q = wl_two_sum(wl_mul_rn(x, x), wl_mul_rn(7.0, x));
  const double q_lo = q.lo + (wl_fma(x, x, -wl_mul_rn(x, x)) + wl_fma(7.0, x, -wl_mul_rn(7.0, x)));
  const wl_double2 exact = {q.hi, q_lo};
  const wl_double2 first = wl_mul_pair(exact, wl_add_to_pair(exact, 6.0));
  const wl_double2 second = wl_mul_pair(wl_add_to_pair(exact, 10.0), wl_add_to_pair(exact, 12.0));
  const wl_double2 p = wl_mul_pair(first, second);
  const double quotient = wl_div(0x1.40d931ff62706p+1, p.hi);
  return wl_fma(-quotient, wl_div(p.lo, p.hi), quotient);
}

struct wl_gamma_parts {
  double factor;  // gamma(x) = factor e^(power + power_lo)
  double power, power_lo;
};
// Stirling's form sqrt(2 pi) w^(w-1/2) e^(-w + tail) for 0 < x < 200: w = x from 8 on, else x + 8, whose gamma is that
// of x times x (x+1) ... (x+7).
WL_DEVICE wl_gamma_parts wl_gamma_split(double x) {
  const bool shifted = x < 8.0;
  const wl_double2 w = wl_two_sum(x, shifted ? 8.0 : 0.0);
  const wl_double2 l = wl_log_pair(w.hi);
  const double r = wl_div(1.0, w.hi);
  const double y = w.hi - 0.5;
  const double p = wl_mul_rn(y, l.hi);
  const double p_lo = wl_fma(y, l.hi, -p) + y * l.lo;
  const wl_double2 e = wl_two_sum(p, -w.hi);
  const double tail = wl_fma(r, wl_fit_stirling(r * r), w.lo * wl_fma(-0.5, r, l.hi));
  wl_gamma_parts parts;
  parts.factor = shifted ? wl_gamma_shift(x) : 0x1.40d931ff62706p+1;
  parts.power = e.hi;
  parts.power_lo = e.lo + (p_lo + tail);
  return parts;
}
WL_DEVICE double wl_tgamma(double x) {
  const double a = wl_abs(x);
  if (!(a < wl_inf(a))) return x > 0.0 ? x : wl_nan(x);
  if (a < 0x1p-54) return wl_div(1.0, x);
  if (x > 171.7) return wl_inf(x);
  const bool whole = wl_rint(x) == x;
  if (x < 0.0 && whole) return wl_nan(x);
  const wl_gamma_parts g = wl_gamma_split(a < 190.0 ? a : 190.0);
  if (x > 0.0) {
    const double value = wl_exp(g.power, g.power_lo) * g.factor;
    // Factorials are exact in double up to 22!, and integers are what gamma is called with most.
    return whole && x < 24.0 ? wl_rint(value) : value;
  }
  if (a > 185.0) return wl_sinpi(x, 0) > 0.0 ? 0.0 : -0.0;
  // gamma(x) gamma(-x) = -pi / (x sin(pi x)), with e^44 set aside so that no factor becomes subnormal.
  const wl_double2 power = wl_two_sum(44.0, -g.power);
  const double scaled = wl_exp(power.hi, power.lo - g.power_lo);
  const double sine = wl_sinpi(a, 0);
  return wl_div(-0x1.921fb54442d18p+1 * 0x1.6f741de1748ecp-64, a * sine * g.factor) * scaled;
}
WL_DEVICE float wl_tgamma(float x) {
  // Past 2^23 every value is an integer; gamma is infinite above and a signed zero or a pole below.
  return static_cast<float>(wl_tgamma(static_cast<double>(x)));
}

// lgamma(x) for x > 0.
WL_DEVICE double wl_lgamma_positive(double x) {
  if (x < 8.0) {
    if (x < 0.5) return x * wl_fit_lgamma_near_1(x) - wl_log(x);
    if (x < 1.5) return wl_fma(x - 1.0, wl_fit_lgamma_near_1(x - 1.0), 0.0);  // +0 at one
    double product = 1.0;
    while (x >= 2.5) {
      x -= 1.0;
      product *= x;
    }
    const double value = (x - 2.0) * wl_fit_lgamma_near_2(x - 2.0);
    return product == 1.0 ? value : value + wl_log(product);
  }
  if (!(x < 1e306)) return wl_inf(x);
  const double r = x < 0x1p60 ? wl_div(1.0, x) : 0.0;
  const double tail = r * wl_fit_stirling(r * r);
  // (x - 1/2) (log x - 1) + (log(2 pi) - 1) / 2.
  return wl_fma(x - 0.5, wl_log(x) - 1.0, 0x1.acfe390c97d69p-2 + tail);
}
WL_DEVICE double wl_lgamma(double x) {
  const double a = wl_abs(x);
  if (!(a < wl_inf(a))) return a * a;
  if (a < 0x1p-60) return -wl_log(a);
  if (x < 0.0 && wl_rint(x) == x) return wl_inf(x);
  // Above -2.5 by steps of one into (0, 1), which loses less than the reflection below.
  double z = x, product = 1.0;
  if (x > -2.5) {
    while (z < 0.0) {
      product *= z;
      z += 1.0;
    }
  }
  const double value = wl_lgamma_positive(wl_abs(z));
  if (z > 0.0) return product == 1.0 ? value : value - wl_log(wl_abs(product));
  // lgamma(x) = log(pi / |x sin(pi x)|) - lgamma(-x)
  return wl_log(wl_div(0x1.921fb54442d18p+1, a * wl_abs(wl_sinpi(a, 0)))) - value;
}
WL_DEVICE float wl_lgamma(float x) { return static_cast<float>(wl_lgamma(static_cast<double>(x))); }

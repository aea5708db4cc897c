// The gamma function and its logarithm.
#pragma once

constexpr double wl_lanczos_g = 6.024680040776729583740234375 - 0.5;

struct wl_gamma_parts {
  double sum;  // gamma(x) = sum e^(power + power_lo)
  double power, power_lo;
};
// Lanczos' form of gamma for 0 < x < 200: sum t^(x-1/2) e^-t, t = x + g - 1/2.
WL_DEVICE wl_gamma_parts wl_gamma_split(double x) {
  const double t = wl_add_rn(x, wl_lanczos_g);
  const double back = wl_add_rn(t, -x);
  const double t_lo = wl_add_rn(wl_add_rn(x, -wl_add_rn(t, -back)), wl_add_rn(wl_lanczos_g, -back));
  const wl_double2 l = wl_log_pair(t);
  const double y = x - 0.5;
  const double y_lo = (x - (y + 0.5));
  const double p = wl_mul_rn(y, l.hi);
  const double p_lo = wl_fma(y, l.hi, -p) + wl_fma(y, l.lo, y_lo * l.hi);
  // p - t, and the effect of t's rounding on t^y e^-t.
  const double e = wl_add_rn(p, -t);
  const double e_back = wl_add_rn(e, -p);
  const double e_lo = wl_add_rn(wl_add_rn(p, -wl_add_rn(e, -e_back)), -wl_add_rn(t, e_back));
  wl_gamma_parts parts;
  parts.sum = wl_div(wl_fit_lanczos_top(x), wl_fit_lanczos_bottom(x));
  parts.power = e;
  parts.power_lo = e_lo + p_lo + t_lo * (wl_div(y, t) - 1.0);
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
    const double value = wl_exp(g.power, g.power_lo) * g.sum;
    // Factorials are exact in double up to 22!, and integers are what gamma is called with most.
    return whole && x < 24.0 ? wl_rint(value) : value;
  }
  if (a > 185.0) return wl_sinpi(x, 0) > 0.0 ? 0.0 : -0.0;
  // gamma(x) gamma(-x) = -pi / (x sin(pi x)), with e^44 set aside so that no factor becomes subnormal.
  const double power = wl_add_rn(44.0, -g.power);
  const double back = wl_add_rn(power, -44.0);
  const double power_lo = wl_add_rn(wl_add_rn(44.0, -wl_add_rn(power, -back)), -wl_add_rn(g.power, back)) - g.power_lo;
  const double scaled = wl_exp(power, power_lo);
  const double sine = wl_sinpi(a, 0);
  return wl_div(-0x1.921fb54442d18p+1 * 0x1.6f741de1748ecp-64, a * sine * g.sum) * scaled;
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
  const double value = wl_lgamma_positive(a);
  if (x > 0.0) return value;
  if (wl_rint(x) == x) return wl_inf(x);
  // lgamma(x) = log(pi / |x sin(pi x)|) - lgamma(-x)
  return wl_log(wl_div(0x1.921fb54442d18p+1, a * wl_abs(wl_sinpi(a, 0)))) - value;
}
WL_DEVICE float wl_lgamma(float x) { return static_cast<float>(wl_lgamma(static_cast<double>(x))); }

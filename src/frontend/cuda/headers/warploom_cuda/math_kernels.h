// The reduced-interval kernels in float and double, and the functions that follow from them in either type.
#pragma once

// (e^r - 1 - r) / r^2 for |r| <= ln(2)/2.
WL_DEVICE float wl_exp_kernel(float r) {
  return wl_poly(r, 0.5f, 1.666657329e-01f, 4.166654870e-02f, 8.363774046e-03f, 1.392692677e-03f);
}
WL_DEVICE double wl_exp_kernel(double r) {
  return wl_poly(r, 0.5, 1.66666666666666713e-01, 4.16666666666666713e-02, 8.33333333332554431e-03,
                 1.38888888888833275e-03, 1.98412698768643558e-04, 2.48015873270071872e-05, 2.75572528335169111e-06,
                 2.75572718102198004e-07, 2.51062747335732955e-08, 2.09154422977801163e-09);
}
// With s = f/(2+f): (log(1+f) - 2s) / s as a function of z = s^2, for 1+f in [sqrt(1/2), sqrt(2)].
WL_DEVICE float wl_log_kernel(float z) { return z * wl_poly(z, 6.666668653e-01f, 3.998878002e-01f, 2.957994938e-01f); }
WL_DEVICE double wl_log_kernel(double z) {
  return z * wl_poly(z, 6.66666666666666630e-01, 4.00000000000008793e-01, 2.85714285708036142e-01,
                     2.22222223917139167e-01, 1.81817956401329056e-01, 1.53862397028146580e-01, 1.32687731386568863e-01,
                     1.30866261478401025e-01);
}
WL_DEVICE float wl_sin_kernel(float r) {
  const float z = r * r;
  return wl_fma(r * z, wl_poly(z, -1.666666418e-01f, 8.332736790e-03f, -1.958537323e-04f), r);
}
WL_DEVICE double wl_sin_kernel(double r) {
  const double z = r * r;
  return wl_fma(
      r * z,
      wl_poly(z, -1.66666666666666657e-01, 8.33333333333333148e-03, -1.98412698412648214e-04, 2.75573192191507828e-06,
              -2.50521061673357054e-08, 1.60585213499549863e-10, -7.58609478967262055e-13),
      r);
}
WL_DEVICE float wl_cos_kernel(float r) {
  const float z = r * r;
  return wl_poly(z, 1.0f, -0.5f, 4.166666418e-02f, -1.388829085e-03f, 2.454541936e-05f);
}
WL_DEVICE double wl_cos_kernel(double r) {
  const double z = r * r;
  return wl_poly(z, 1.0, -0.5, 4.16666666666666644e-02, -1.38888888888888873e-03, 2.48015873015845097e-05,
                 -2.75573192212980886e-07, 2.08767557548795943e-09, -1.14704551782169058e-11, 4.74553701731925826e-14);
}
// (tan(r) - r) / (r z), z = r^2, |r| <= pi/4.
WL_DEVICE float wl_tan_kernel(float z) {
  return wl_poly(z, 3.333333433e-01f, 1.333322972e-01f, 5.399476364e-02f, 2.161878534e-02f, 9.970354848e-03f,
                 1.172220800e-03f, 3.850906389e-03f);
}
WL_DEVICE double wl_tan_kernel(double z) {
  return wl_poly(z, 3.33333333333333315e-01, 1.33333333333329918e-01, 5.39682539686670779e-02, 2.18694885165589235e-02,
                 8.86323601536750764e-03, 3.59212081713262878e-03, 1.45590419027359988e-03, 5.89566886944213847e-04,
                 2.41262754745831461e-04, 8.98784329321471452e-05, 5.58070707303604346e-05, -1.13220496955146451e-05,
                 3.67994091369714448e-05, -1.84682168637014046e-05, 8.52012651695928939e-06);
}
// (tanh(x) - x) / (x z), z = x^2 <= 0.31.
WL_DEVICE float wl_tanh_kernel(float z) {
  return wl_poly(z, -3.333333433e-01f, 1.333332360e-01f, -5.396436527e-02f, 2.181497589e-02f, -8.511812426e-03f,
                 2.505385084e-03f);
}
WL_DEVICE double wl_tanh_kernel(double z) {
  return wl_poly(z, -3.33333333333333315e-01, 1.33333333333333054e-01, -5.39682539682117615e-02,
                 2.18694885336032131e-02, -8.86323545001783432e-03, 3.59212655719869057e-03, -1.45581695534807926e-03,
                 5.89891494848674347e-04, -2.38415752693670453e-04, 9.44056800021793904e-05, -3.35108632590410627e-05,
                 7.74387732554265875e-06);
}
// (asin(x) - x) / (x z), z = x^2 <= 1/4.
WL_DEVICE float wl_asin_kernel(float z) {
  return wl_poly(z, 1.666667312e-01f, 7.498855144e-02f, 4.500138015e-02f, 2.655454166e-02f, 3.808502480e-02f);
}
WL_DEVICE double wl_asin_kernel(double z) {
  return wl_poly(z, 1.66666666666666657e-01, 7.50000000000011768e-02, 4.46428571425518950e-02, 3.03819444755323402e-02,
                 2.23721574435072207e-02, 1.73528165403254962e-02, 1.39637800122035700e-02, 1.15664596121216687e-02,
                 9.62184297010028160e-03, 9.31956079476744560e-03, 3.04487990945567734e-03, 1.95545133361233782e-02,
                 -1.92416717467430408e-02, 2.96120112649551209e-02);
}
// (atan(t) - t) / (t z), z = t^2, |t| <= tan(pi/8).
WL_DEVICE float wl_atan_kernel(float z) {
  return wl_poly(z, -3.333333135e-01f, 1.999953985e-01f, -1.426394582e-01f, 1.074363142e-01f, -6.451597065e-02f);
}
WL_DEVICE double wl_atan_kernel(double z) {
  return wl_poly(z, -3.33333333333333315e-01, 1.99999999999998040e-01, -1.42857142856597480e-01,
                 1.11111111051477640e-01, -9.09090875311859420e-02, 7.69229636397995159e-02, -6.66642468724649995e-02,
                 5.87892671575672571e-02, -5.23043746425168737e-02, 4.55151656359031043e-02, -3.45685906686069022e-02,
                 1.62835723564825896e-02);
}
// erf(x)/x - 1, z = x^2 <= 1.
WL_DEVICE float wl_erf_kernel(float z) {
  return wl_poly(z, 1.283791661e-01f, -3.761262596e-01f, 1.128359437e-01f, -2.685421146e-02f, 5.189087242e-03f,
                 -8.016864303e-04f, 7.875874871e-05f);
}
WL_DEVICE double wl_erf_kernel(double z) {
  return wl_poly(z, 1.28379167095512586e-01, -3.76126389031837538e-01, 1.12837916709551261e-01,
                 -2.68661706451312175e-02, 5.22397762544167359e-03, -8.54832702340300099e-04, 1.20553329788794834e-04,
                 -1.49256502369675009e-05, 1.64621107820186358e-06, -1.63657686488320709e-07, 1.48060271461287516e-08,
                 -1.22777344867955241e-09, 9.32372351815302713e-11, -6.19673642878769967e-12, 2.80671281956112640e-13);
}
// (1 + 2x) exp(x^2) erfc(x) as a function of q = (x-k)/(x+k), for x from 1/2 to where erfc underflows.
WL_DEVICE float wl_erfcx_kernel(float x) {
  const float q = wl_div(x - 3.0f, x + 3.0f);
  return wl_poly(q, 1.253008008e+00f, -1.356210560e-01f, -4.756221548e-02f, 1.296427697e-01f, -1.192752942e-01f,
                 6.833600998e-02f, -2.375526167e-02f, 2.400878118e-03f, 1.822348917e-03f, -5.449524615e-04f);
}
WL_DEVICE double wl_erfcx_kernel(double x) {
  const double q = wl_div(x - 4.0, x + 4.0);
  return wl_poly(q, 1.23299511862555256e+00, -1.39621116840562526e-01, 1.53796521026190267e-02, 6.80970542546947971e-02,
                 -1.01039066036253747e-01, 9.37328349982875092e-02, -6.63303658136071284e-02, 3.71675155381889291e-02,
                 -1.61977340382659200e-02, 5.03196997561381355e-03, -7.57773448676280804e-04, -1.99256713450407156e-04,
                 1.50622495122647846e-04, -2.43989838091345534e-05, -1.12247322473501008e-05, 5.70864280440481453e-06,
                 2.99557906855670769e-07, -8.22559563206072030e-07, 6.70245283372897121e-08, 1.05680251358209586e-07,
                 -1.22240483031523883e-08, -1.04767186746683711e-08);
}

// Constants that differ by type: the first is the rounded value, the second what rounding lost.
template <class T>
struct wl_limits;
template <>
struct wl_limits<float> {
  static constexpr float ln2_hi = 6.9314718246e-01f, ln2_lo = -1.9046542121e-09f, log2e = 1.44269504f,
                         log2e_lo = 1.925963034e-08f;
  static constexpr float ln2_short = 0x1.62ep-1f, ln2_rest = 0x1.0bfbe8p-15f;  // n ln2_short is exact
  static constexpr float log10_2_short = 0x1.344p-2f, log10_2_rest = 0x1.3509f8p-18f, log10e = 0.43429448f,
                         log10e_lo = -1.010304995e-08f;
  static constexpr float log2_10 = 3.321928024e+00f;
  static constexpr float log10_2_hi = 3.0103000998e-01f, log10_2_lo = -1.4320989e-08f, ln10_hi = 2.3025851250e+00f,
                         ln10_lo = -3.1975436e-08f;
  static constexpr float pi_hi = 3.1415927410e+00f, pi_lo = -8.7422776573e-08f;
  static constexpr float exp_max = 88.8f, exp_min = -104.0f;
  static constexpr int digits = 24;
  static constexpr float small = 0x1p-13f, tiny = 0x1p-126f, up = 0x1p24f;
  static constexpr int up_bits = 24;
};
template <>
struct wl_limits<double> {
  static constexpr double ln2_hi = 0x1.62e42fefa39efp-1, ln2_lo = 0x1.abc9e3b39803fp-56, log2e = 0x1.71547652b82fep+0,
                          log2e_lo = 0x1.777d0ffda0d24p-56;
  static constexpr double ln2_short = 0x1.62e42feep-1, ln2_rest = 0x1.a39ef35793c76p-33;
  static constexpr double log10_2_short = 0x1.34413508p-2, log10_2_rest = 0x1.f79fef311f12bp-34,
                          log10e = 0x1.bcb7b1526e50ep-2, log10e_lo = 0x1.95355baaafad3p-57;
  static constexpr double log2_10 = 3.321928094887362;
  static constexpr double log10_2_hi = 0x1.34413509f79ffp-2, log10_2_lo = -0x1.9dc1da994fd21p-59,
                          ln10_hi = 0x1.26bb1bbb55516p+1, ln10_lo = -0x1.f48ad494ea3e9p-53;
  static constexpr double pi_hi = 0x1.921fb54442d18p+1, pi_lo = 0x1.1a62633145c07p-53;
  static constexpr double exp_max = 709.8, exp_min = -745.2;
  static constexpr int digits = 53;
  static constexpr double small = 0x1p-27, tiny = 0x1p-1022, up = 0x1p53;
  static constexpr int up_bits = 53;
};

template <class T>
WL_DEVICE T wl_rint(T x) {
  if constexpr (sizeof(T) == 4)
    return __builtin_rintf(x);
  else
    return __builtin_rint(x);
}

// (1 + p) 2^n with n too large for one factor when the result over- or underflows.
template <class T>
WL_DEVICE T wl_exp_assemble(T r, int n) {
  const T p = wl_fma(r * r, wl_exp_kernel(r), r) + T(1);
  const int half = n >> 1;
  return p * wl_pow2(r, half) * wl_pow2(r, n - half);
}
// e^(x + low) 2^shift; low is small against x.
template <class T>
WL_DEVICE T wl_exp(T x, T low = T(0), int shift = 0) {
  using L = wl_limits<T>;
  const T n = wl_rint(x * L::log2e);
  T r = wl_fma(n, -L::ln2_hi, x);
  r = wl_fma(n, -L::ln2_lo, r) + low;
  const T value = wl_exp_assemble(r, static_cast<int>(static_cast<unsigned>(static_cast<int>(n)) + shift));
  // The bounds leave room for a shift by one; beyond them the exponent's arithmetic would wrap.
  return x > L::exp_max + T(1) ? wl_inf(x) : x < L::exp_min - T(1) ? T(0) : value;
}
template <class T>
WL_DEVICE T wl_exp2(T x) {
  const T clamped = x > T(2100) ? T(2100) : x < T(-2100) ? T(-2100) : x;
  const T n = wl_rint(clamped);
  const T d = clamped - n;
  // d ln2 in two parts keeps the last bit.
  const T hi = d * wl_limits<T>::ln2_hi;
  const T lo = wl_fma(d, wl_limits<T>::ln2_hi, -hi) + d * wl_limits<T>::ln2_lo;
  const T p = wl_fma(hi * hi, wl_exp_kernel(hi), lo) + hi;
  const int k = static_cast<int>(n);
  // Three factors cover [-2100, 2100] in double; float saturates long before.
  if constexpr (sizeof(T) == 4) {
    const int c = k > 130 ? 130 : k < -160 ? -160 : k, half = c >> 1;
    return (p + T(1)) * wl_pow2(x, half) * wl_pow2(x, c - half);
  } else {
    const int c = k > 1030 ? 1030 : k < -1080 ? -1080 : k, half = c >> 1;
    return (p + T(1)) * wl_pow2(x, half) * wl_pow2(x, c - half);
  }
}
template <class T>
WL_DEVICE T wl_exp10(T x) {
  using L = wl_limits<T>;
  const T c = x > T(400) ? T(400) : x < T(-400) ? T(-400) : x;
  const T n = wl_rint(c * L::log2_10);
  T d = wl_fma(n, -L::log10_2_hi, c);
  d = wl_fma(n, -L::log10_2_lo, d);
  const T hi = d * L::ln10_hi;
  const T lo = wl_fma(d, L::ln10_hi, -hi) + d * L::ln10_lo;
  const T p = wl_fma(hi * hi, wl_exp_kernel(hi), lo) + hi + T(1);
  const int most = sizeof(T) == 4 ? 130 : 1030, least = sizeof(T) == 4 ? -160 : -1080;
  int k = static_cast<int>(n);
  k = k > most ? most : k < least ? least : k;
  const int half = k >> 1;
  return p * wl_pow2(x, half) * wl_pow2(x, k - half);
}
template <class T>
WL_DEVICE T wl_expm1(T x) {
  using L = wl_limits<T>;
  if (x > L::exp_max) return wl_exp(x);
  const T c = x < T(-50) ? T(-50) : x;
  const T n = wl_rint(c * L::log2e);
  // n ln2 in two parts, the first subtraction exact, and what the second one loses.
  const T rough = wl_fma(n, -L::ln2_short, c);
  const T r = wl_fma(n, -L::ln2_rest, rough);
  const T low = wl_fma(r * r, wl_exp_kernel(r), wl_fma(n, -L::ln2_rest, rough - r));
  if (wl_is_nan(n)) return n;
  const int k = static_cast<int>(n);
  if (k == 0) return x == T(0) ? x : r + low;
  // 2^k reaches past the largest exponent only when the result nearly overflows: halve all and double at the end.
  const T scale = wl_pow2(x, k - 1), base = scale - T(0.5);
  const T sum = wl_fma(scale, r, base);
  return T(2) * (sum + wl_fma(scale, low, wl_fma(scale, r, base - sum)));
}

template <class T>
struct wl_split {
  T f;  // mantissa - 1, mantissa in [sqrt(1/2), sqrt(2)]
  T e;
};
// x is positive and finite.
WL_DEVICE wl_split<float> wl_log_split(float x) {
  int e = 0;
  if (x < 0x1p-126f) {
    x *= 0x1p24f;
    e = -24;
  }
  const int bits = __builtin_bit_cast(int, x);
  const int k = (bits - 0x3f3504f3) >> 23;
  return {__builtin_bit_cast(float, bits - (k << 23)) - 1.0f, static_cast<float>(e + k)};
}
WL_DEVICE wl_split<double> wl_log_split(double x) {
  int e = 0;
  if (x < 0x1p-1022) {
    x *= 0x1p53;
    e = -53;
  }
  const long long bits = __builtin_bit_cast(long long, x);
  const long long k = (bits - 0x3fe6a09e667f3bcdll) >> 52;
  return {__builtin_bit_cast(double, bits - (k << 52)) - 1.0, static_cast<double>(e + static_cast<int>(k))};
}
// log(1+f) + e ln2 + c, with the large terms added last.
template <class T>
WL_DEVICE T wl_log_assemble(T f, T e, T c) {
  using L = wl_limits<T>;
  const T s = wl_div(f, f + T(2));
  const T half = T(0.5) * f * f;
  const T r = wl_log_kernel(s * s);
  return wl_fma(e, L::ln2_short, f - (half - (s * (half + r) + wl_fma(e, L::ln2_rest, c))));
}
template <class T>
WL_DEVICE T wl_log_special(T x, T value) {
  return x > T(0) ? (x < wl_inf(x) ? value : x) : x == T(0) ? -wl_inf(x) : wl_nan(x);
}
template <class T>
WL_DEVICE T wl_log(T x) {
  const wl_split<T> m = wl_log_split(x);
  return wl_log_special(x, wl_log_assemble(m.f, m.e, T(0)));
}
// log(1+f) scale + whole, where scale is given as a pair: f - f^2/2 as a pair and the rest of the series; whole is zero
// or larger than the product.
template <class T>
WL_DEVICE T wl_log_scaled(T f, T whole, T scale, T scale_lo, T rest) {
  const T s = wl_div(f, f + T(2));
  const T half = T(0.5) * f * f;
  const T hi = wl_fma(T(-0.5) * f, f, f);
  const T lo = wl_fma(T(-0.5) * f, f, f - hi) + s * (half + wl_log_kernel(s * s));
  const T sum = wl_fma(hi, scale, whole);
  return sum + (wl_fma(hi, scale, whole - sum) + wl_fma(lo, scale, wl_fma(hi, scale_lo, rest)));
}
template <class T>
WL_DEVICE T wl_log2(T x) {
  using L = wl_limits<T>;
  const wl_split<T> m = wl_log_split(x);
  return wl_log_special(x, wl_log_scaled(m.f, m.e, L::log2e, L::log2e_lo, T(0)));
}
template <class T>
WL_DEVICE T wl_log10(T x) {
  using L = wl_limits<T>;
  const wl_split<T> m = wl_log_split(x);
  return wl_log_special(x, wl_log_scaled(m.f, m.e * L::log10_2_short, L::log10e, L::log10e_lo, m.e * L::log10_2_rest));
}
template <class T>
WL_DEVICE T wl_log1p(T x) {
  if (x <= T(-1) || !(x < wl_inf(x))) return x == T(-1) ? -wl_inf(x) : x > T(0) || wl_is_nan(x) ? x : wl_nan(x);
  if (wl_abs(x) < T(0.29)) return x == T(0) ? x : wl_log_assemble(x, T(0), T(0));
  // u loses a part of 1 + x; c is its effect on the logarithm.
  const T u = T(1) + x;
  const T lost = u >= T(2) ? T(1) - (u - x) : x - (u - T(1));
  const wl_split<T> m = wl_log_split(u);
  return wl_log_assemble(m.f, m.e, wl_div(lost, u));
}

template <class T>
WL_DEVICE T wl_sinh(T x) {
  const T a = wl_abs(x);
  if (!(a < T(21))) return wl_sign(wl_exp(a, T(0), -1), x);
  const T t = wl_expm1(a);
  return wl_sign(T(0.5) * (t + wl_div(t, t + T(1))), x);
}
template <class T>
WL_DEVICE T wl_cosh(T x) {
  const T a = wl_abs(x);
  const T e = wl_exp(a, T(0), -1);
  return a > T(20) || wl_is_nan(x) ? e : e + wl_div(T(0.25), e);
}
template <class T>
WL_DEVICE T wl_tanh(T x) {
  const T a = wl_abs(x);
  const T c = a < T(22) ? a : T(22);
  const T z = c * c;
  const T near = wl_fma(c * z, wl_tanh_kernel(z), c);
  const T far = T(1) - wl_div(T(2), wl_exp(c + c) + T(1));
  return wl_is_nan(x) ? x : wl_sign(c < T(0.55) ? near : far, x);
}
template <class T>
WL_DEVICE T wl_asinh(T x) {
  const T a = wl_abs(x);
  if (!(a < T(1) / wl_limits<T>::small)) return wl_sign(wl_log(a) + wl_limits<T>::ln2_hi, x);
  const T z = a * a;
  return wl_sign(wl_log1p(a + wl_div(z, T(1) + wl_sqrt(z + T(1)))), x);
}
template <class T>
WL_DEVICE T wl_acosh(T x) {
  if (x < T(1)) return wl_nan(x);
  if (!(x < T(1) / wl_limits<T>::small)) return wl_log(x) + wl_limits<T>::ln2_hi;
  const T t = x - T(1);
  return wl_log1p(t + wl_sqrt(wl_fma(t, t, t + t)));
}
template <class T>
WL_DEVICE T wl_atanh(T x) {
  const T a = wl_abs(x);
  return wl_sign(T(0.5) * wl_log1p(wl_div(a + a, T(1) - a)), x);
}

template <class T>
WL_DEVICE T wl_asin(T x) {
  const T a = wl_abs(x);
  if (a <= T(0.5)) return wl_fma(x * (x * x), wl_asin_kernel(x * x), x);
  // asin(a) = pi/2 - 2 asin(sqrt((1-a)/2)); outside [-1, 1] the root gives NaN.
  const T z = T(0.5) * (T(1) - a);
  const T s = wl_sqrt(z);
  // What the root lost, doubled: the subtraction from pi/2 would show it.
  const T lost = s > T(0) ? wl_div(wl_fma(-s, s, z), s) : s;
  const T r = wl_fma(T(2) * s * z, wl_asin_kernel(z), lost);
  return wl_sign(T(0.5) * wl_limits<T>::pi_hi - (T(2) * s + (r - T(0.5) * wl_limits<T>::pi_lo)), x);
}
template <class T>
WL_DEVICE T wl_acos(T x) {
  using L = wl_limits<T>;
  const T a = wl_abs(x);
  if (a <= T(0.5)) {
    const T z = x * x;
    return T(0.5) * L::pi_hi - (x - (T(0.5) * L::pi_lo - x * (z * wl_asin_kernel(z))));
  }
  const T z = T(0.5) * (T(1) - a);
  const T s = wl_sqrt(z);
  const T r = T(2) * wl_fma(s * z, wl_asin_kernel(z), s);
  return x > T(0) ? r : L::pi_hi - (r - L::pi_lo);
}
// atan(y/x) for y, x >= 0, in [0, pi/2], without forming a quotient above 1.
template <class T>
WL_DEVICE T wl_atan_ratio(T y, T x) {
  using L = wl_limits<T>;
  const bool steep = y > x;
  const T a = steep ? x : y, b = steep ? y : x;
  const bool middle = a > T(0.41421356237309503) * b;
  const T t = middle ? wl_div(a - b, a + b) : wl_div(a, b);
  const T z = t * t;
  const T p = wl_fma(t * z, wl_atan_kernel(z), t);
  // Multiples of pi/4 in two parts: pi/4 + p, p, pi/2 - p, pi/4 - p.
  if (!middle) return steep ? T(0.5) * L::pi_hi - (p - T(0.5) * L::pi_lo) : p;
  return T(0.25) * L::pi_hi + ((steep ? -p : p) + T(0.25) * L::pi_lo);
}
template <class T>
WL_DEVICE T wl_atan(T x) {
  const T a = wl_abs(x);
  const T value = a < wl_inf(x) ? wl_atan_ratio(a, T(1)) : T(0.5) * wl_limits<T>::pi_hi;
  return wl_is_nan(x) ? x : wl_sign(value, x);
}
template <class T>
WL_DEVICE T wl_atan2(T y, T x) {
  using L = wl_limits<T>;
  if (wl_is_nan(x) || wl_is_nan(y)) return x + y;
  T a = wl_abs(y), b = wl_abs(x);
  if (a == wl_inf(a) && b == a)
    a = b = T(1);
  else if (a == wl_inf(a))
    a = T(1), b = T(0);
  else if (b == wl_inf(b))
    a = T(0), b = T(1);
  else if (a == T(0) && b == T(0))
    b = T(1);
  // a + b must not overflow.
  if (a > T(1) / L::tiny * T(0.125) || b > T(1) / L::tiny * T(0.125)) a *= T(0.25), b *= T(0.25);
  const T r = wl_atan_ratio(a, b);
  const T value = __builtin_signbit(x) ? L::pi_hi - (r - L::pi_lo) : r;
  return wl_sign(value, y);
}

template <class T>
WL_DEVICE T wl_sin(T x) {
  const auto m = wl_reduce(x);
  const T v = (m.quadrant & 1) ? wl_cos_kernel(m.r) : wl_sin_kernel(m.r);
  return x == T(0) ? x : (m.quadrant & 2) ? -v : v;
}
template <class T>
WL_DEVICE T wl_cos(T x) {
  const auto m = wl_reduce(x);
  const T v = (m.quadrant & 1) ? wl_sin_kernel(m.r) : wl_cos_kernel(m.r);
  return ((m.quadrant + 1) & 2) ? -v : v;
}
template <class T>
WL_DEVICE void wl_sincos(T x, T* sine, T* cosine) {
  const auto m = wl_reduce(x);
  const T s = wl_sin_kernel(m.r), c = wl_cos_kernel(m.r);
  const T a = (m.quadrant & 1) ? c : s, b = (m.quadrant & 1) ? s : c;
  *sine = x == T(0) ? x : (m.quadrant & 2) ? -a : a;
  *cosine = ((m.quadrant + 1) & 2) ? -b : b;
}
template <class T>
WL_DEVICE T wl_tan(T x) {
  const auto m = wl_reduce(x);
  const T z = m.r * m.r;
  const T p = m.r * z * wl_tan_kernel(z);
  const T rough = m.r + p;
  const T t = m.r + wl_fma(m.tail, wl_fma(rough, rough, T(1)), p);
  const bool odd = (m.quadrant & 1) != 0;
  return x == T(0) ? x : wl_div(odd ? T(-1) : t, odd ? t : T(1));
}
// sin(pi x) and cos(pi x): the reduction is exact, first to [-1, 1]. Zeros are signed as IEEE 754 has it: a sine's as
// its argument, a cosine's positive.
template <class T>
WL_DEVICE T wl_sinpi(T x, int quarter) {
  const T y = wl_fma(T(-2), wl_rint(x * T(0.5)), x);
  const T j = wl_rint(y + y);
  const T d = wl_fma(j, T(-0.5), y);
  const T r = wl_fma(d, wl_limits<T>::pi_hi, d * wl_limits<T>::pi_lo);
  const int q = (static_cast<int>(j) + quarter) & 3;
  const T v = (q & 1) ? wl_cos_kernel(r) : wl_sin_kernel(r);
  const T value = (q & 2) ? -v : v;
  return !(wl_abs(x) < wl_inf(x)) ? wl_nan(x) : value != T(0) ? value : quarter == 0 ? wl_sign(value, x) : T(0);
}

template <class T>
WL_DEVICE T wl_erfc_tail(T a) {
  // exp(-a^2) with the low part of the square.
  const T s = a * a;
  const T low = wl_fma(a, a, -s);
  return wl_div(wl_exp(-s, -low) * wl_erfcx_kernel(a), wl_fma(T(2), a, T(1)));
}
template <class T>
WL_DEVICE T wl_erf(T x) {
  const T a = wl_abs(x);
  if (a < T(1)) return wl_fma(x, wl_erf_kernel(x * x), x);
  const T c = a < T(6) ? a : T(6);
  return wl_is_nan(x) ? x : wl_sign(T(1) - wl_erfc_tail(c), x);
}
template <class T>
WL_DEVICE T wl_erfc(T x) {
  if (wl_abs(x) < T(0.5)) return T(1) - wl_fma(x, wl_erf_kernel(x * x), x);
  const T a = wl_abs(x);
  const T c = a < T(28) ? a : T(28);
  const T t = wl_erfc_tail(c);
  return wl_is_nan(x) ? x : x > T(0) ? t : T(2) - t;
}

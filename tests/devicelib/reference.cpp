// Exact values by MPFR: its own functions where it has them, series and Newton's method where not.
#include "reference.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace warploom::test {
namespace {

using Unary = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_rnd_t);
using Binary = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);

Reference unary(Unary f) {
  return [f](mpfr_ptr r, const double* x) {
    Exact a(53);
    mpfr_set_d(a, x[0], MPFR_RNDN);
    f(r, a, MPFR_RNDN);
  };
}
Reference binary(Binary f) {
  return [f](mpfr_ptr r, const double* x) {
    Exact a(53), b(53);
    mpfr_set_d(a, x[0], MPFR_RNDN);
    mpfr_set_d(b, x[1], MPFR_RNDN);
    f(r, a, b, MPFR_RNDN);
  };
}

int lgamma_of(mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t rounding) {
  int sign = 0;
  return mpfr_lgamma(r, &sign, x, rounding);
}
int tgamma_of(mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t rounding) {
  // Far below every representable value MPFR would work for ever.
  if (mpfr_cmp_d(x, -400) < 0 && !mpfr_integer_p(x) && !mpfr_inf_p(x)) {
    Exact whole(60);
    mpfr_floor(whole, x);
    const bool even = mpfr_get_si(whole, MPFR_RNDN) % 2 == 0;
    return mpfr_set_zero(r, even ? 1 : -1), 0;
  }
  return mpfr_gamma(r, x, rounding);
}
// Of a zero, an infinity with its sign, as CUDA and IEEE 754 have it.
int rsqrt_of(mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t rounding) {
  if (mpfr_zero_p(x)) return mpfr_set_inf(r, mpfr_signbit(x) ? -1 : 1), 0;
  return mpfr_rec_sqrt(r, x, rounding);
}
// Of an infinity, a zero with its sign.
int j1_of(mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t rounding) {
  if (mpfr_inf_p(x)) return mpfr_set_zero(r, mpfr_sgn(x)), 0;
  return mpfr_j1(r, x, rounding);
}
int rcbrt_of(mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t rounding) {
  mpfr_cbrt(r, x, rounding);
  return mpfr_ui_div(r, 1, r, rounding);
}
int logb_of(mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t rounding) {
  if (mpfr_zero_p(x)) return mpfr_set_inf(r, -1), 0;
  if (mpfr_inf_p(x)) return mpfr_set_inf(r, 1), 0;
  if (mpfr_nan_p(x)) return mpfr_set_nan(r), 0;
  return mpfr_set_si(r, mpfr_get_exp(x) - 1, rounding);
}
int round_of(mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t) { return mpfr_round(r, x); }
int rint_of(mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t) { return mpfr_rint(r, x, MPFR_RNDN); }
int trunc_of(mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t) { return mpfr_trunc(r, x); }
int floor_of(mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t) { return mpfr_floor(r, x); }
int ceil_of(mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t) { return mpfr_ceil(r, x); }

int erfcx_of(mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t rounding) {
  if (mpfr_cmp_d(x, 1e4) > 0) {  // 1 / (sqrt(pi) x) (1 - 1/(2 x^2) + 3/(4 x^4))
    Exact root(300), square(300);
    mpfr_const_pi(root, rounding);
    mpfr_sqrt(root, root, rounding);
    mpfr_mul(root, root, x, rounding);
    mpfr_sqr(square, x, rounding);
    mpfr_ui_div(r, 1, root, rounding);
    mpfr_ui_div(square, 1, square, rounding);
    Exact fourth(300);
    mpfr_sqr(fourth, square, rounding);
    mpfr_mul_d(fourth, fourth, 0.75, rounding);
    mpfr_div_ui(square, square, 2, rounding);
    mpfr_ui_sub(square, 1, square, rounding);
    mpfr_add(square, square, fourth, rounding);
    return mpfr_mul(r, r, square, rounding);
  }
  if (mpfr_cmp_d(x, -30) < 0) return mpfr_set_inf(r, 1), 0;
  Exact square(300), tail(300);
  mpfr_sqr(square, x, rounding);
  mpfr_exp(square, square, rounding);
  mpfr_erfc(tail, x, rounding);
  return mpfr_mul(r, square, tail, rounding);
}
int normcdf_of(mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t rounding) {
  if (mpfr_nan_p(x)) return mpfr_set_nan(r), 0;
  if (mpfr_cmp_d(x, -60) < 0) return mpfr_set_zero(r, 1), 0;
  if (mpfr_cmp_d(x, 60) > 0) return mpfr_set_ui(r, 1, rounding);
  Exact a(300);
  mpfr_sqrt_ui(a, 2, rounding);
  mpfr_div(a, x, a, rounding);
  mpfr_neg(a, a, rounding);
  mpfr_erfc(r, a, rounding);
  return mpfr_div_ui(r, r, 2, rounding);
}

// v with erfc(v) = y, or erf(v) = y, by Newton's method from a double.
void invert(mpfr_ptr v, mpfr_srcptr y, bool complement, double start) {
  Exact f(400), slope(400), step(400), root(400), at(400);
  mpfr_set_d(at, start, MPFR_RNDN);
  mpfr_const_pi(root, MPFR_RNDN);
  mpfr_sqrt(root, root, MPFR_RNDN);
  for (int i = 0; i < 40; ++i) {
    complement ? mpfr_erfc(f, at, MPFR_RNDN) : mpfr_erf(f, at, MPFR_RNDN);
    // In logarithms, so that far tails converge.
    mpfr_sqr(slope, at, MPFR_RNDN);
    mpfr_exp(slope, slope, MPFR_RNDN);
    mpfr_mul(slope, slope, root, MPFR_RNDN);
    mpfr_div_ui(slope, slope, 2, MPFR_RNDN);
    if (complement) {
      mpfr_div(step, f, y, MPFR_RNDN);
      mpfr_log(step, step, MPFR_RNDN);
      mpfr_mul(step, step, f, MPFR_RNDN);
    } else {
      mpfr_sub(step, y, f, MPFR_RNDN);
    }
    mpfr_mul(step, step, slope, MPFR_RNDN);
    mpfr_add(at, at, step, MPFR_RNDN);
    if (mpfr_zero_p(step.get()) || mpfr_get_exp(step.get()) < mpfr_get_exp(at.get()) - 200) break;
  }
  mpfr_set(v, at, MPFR_RNDN);
}
int erfcinv_of(mpfr_ptr r, mpfr_srcptr y, mpfr_rnd_t) {
  if (!(mpfr_cmp_d(y, 0) > 0 && mpfr_cmp_d(y, 2) < 0) || mpfr_nan_p(y)) {
    if (mpfr_zero_p(y)) return mpfr_set_inf(r, 1), 0;
    if (!mpfr_nan_p(y) && mpfr_cmp_d(y, 2) == 0) return mpfr_set_inf(r, -1), 0;
    return mpfr_set_nan(r), 0;
  }
  if (mpfr_cmp_d(y, 1) == 0) return mpfr_set_zero(r, 1), 0;
  Exact rest(400);
  if (mpfr_cmp_d(y, 1) > 0) {  // erfcinv(y) = -erfcinv(2 - y)
    mpfr_ui_sub(rest, 2, y, MPFR_RNDN);
  } else {
    mpfr_set(rest, y, MPFR_RNDN);
  }
  if (mpfr_cmp_d(rest, 0.5) > 0) {
    Exact x(400);
    mpfr_ui_sub(x, 1, rest, MPFR_RNDN);
    invert(r, x, false, 0.886 * mpfr_get_d(x.get(), MPFR_RNDN));
  } else {
    Exact l(100);
    mpfr_log(l, rest, MPFR_RNDN);
    invert(r, rest, true, std::sqrt(-mpfr_get_d(l.get(), MPFR_RNDN)) * 0.9);
  }
  if (mpfr_cmp_d(y, 1) > 0) mpfr_neg(r, r, MPFR_RNDN);
  return 0;
}
int erfinv_of(mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t rounding) {
  if (mpfr_nan_p(x) || mpfr_cmpabs_ui(x, 1) > 0) return mpfr_set_nan(r), 0;
  if (mpfr_zero_p(x)) return mpfr_set(r, x, rounding);
  if (mpfr_cmpabs_ui(x, 1) == 0) return mpfr_set_inf(r, mpfr_sgn(x)), 0;
  if (mpfr_get_exp(x) < -100) {  // the cubic term is far below
    Exact root(300);
    mpfr_const_pi(root, rounding);
    mpfr_sqrt(root, root, rounding);
    mpfr_div_ui(root, root, 2, rounding);
    return mpfr_mul(r, x, root, rounding);
  }
  Exact y(1200);
  mpfr_ui_sub(y, 1, x, rounding);
  return erfcinv_of(r, y, rounding);
}
int normcdfinv_of(mpfr_ptr r, mpfr_srcptr p, mpfr_rnd_t rounding) {
  Exact y(64), root(300);
  mpfr_mul_ui(y, p, 2, rounding);
  erfcinv_of(r, y, rounding);
  mpfr_sqrt_ui(root, 2, rounding);
  mpfr_mul(r, r, root, rounding);
  return mpfr_neg(r, r, rounding);
}

// The modified Bessel functions by their power series.
template <int order>
int bessel_i(mpfr_ptr r, mpfr_srcptr x, mpfr_rnd_t rounding) {
  if (mpfr_nan_p(x)) return mpfr_set_nan(r), 0;
  if (mpfr_cmpabs_ui(x, 800) > 0) return mpfr_set_inf(r, order == 0 ? 1 : mpfr_sgn(x)), 0;
  if (mpfr_zero_p(x)) return order == 0 ? mpfr_set_ui(r, 1, rounding) : mpfr_set(r, x, rounding);
  Exact term(250), square(250), sum(250);
  if (order == 0)
    mpfr_set_ui(term, 1, rounding);
  else
    mpfr_div_ui(term, x, 2, rounding);
  mpfr_sqr(square, x, rounding);
  mpfr_div_ui(square, square, 4, rounding);
  mpfr_set(sum, term, rounding);
  for (unsigned long k = 1; mpfr_get_exp(term.get()) > mpfr_get_exp(sum.get()) - 230 || k < 3; ++k) {
    mpfr_mul(term, term, square, rounding);
    mpfr_div_ui(term, term, k, rounding);
    mpfr_div_ui(term, term, k + order, rounding);
    mpfr_add(sum, sum, term, rounding);
  }
  return mpfr_set(r, sum, rounding);
}

Reference norm(int count, bool reciprocal) {
  return [count, reciprocal](mpfr_ptr r, const double* x) {
    bool nan = false;
    for (int i = 0; i < count; ++i) {
      if (std::isinf(x[i])) {
        reciprocal ? mpfr_set_zero(r, 1) : mpfr_set_inf(r, 1);
        return;
      }
      nan |= std::isnan(x[i]);
    }
    if (nan) return mpfr_set_nan(r);
    Exact sum(4400), a(4400);
    mpfr_set_zero(sum, 1);
    for (int i = 0; i < count; ++i) {
      mpfr_set_d(a, x[i], MPFR_RNDN);
      mpfr_sqr(a, a, MPFR_RNDN);
      mpfr_add(sum, sum, a, MPFR_RNDN);
    }
    Exact narrow(400);
    mpfr_set(narrow, sum, MPFR_RNDN);
    reciprocal ? mpfr_rec_sqrt(r, narrow, MPFR_RNDN) : mpfr_sqrt(r, narrow, MPFR_RNDN);
  };
}

// Steps between representable numbers, through zero.
template <class T, class I>
double steps_between(T a, T b) {
  using U = std::make_unsigned_t<I>;
  const auto order = [](T x) {
    const I i = std::bit_cast<I>(x);
    return static_cast<U>(i < 0 ? std::numeric_limits<I>::min() - i : i);
  };
  const U difference = order(a) - order(b);
  return static_cast<double>(std::min(difference, U(0) - difference));
}

template <class T, class I>
Error error_in(T got, T rounded, mpfr_srcptr exact) {
  constexpr double wrong = 1e9;
  if (std::isnan(got) || std::isnan(rounded))
    return std::isnan(got) && std::isnan(rounded) ? Error{} : Error{wrong, wrong, wrong};
  if (got == 0 && rounded == 0)
    return std::signbit(got) == std::signbit(rounded) ? Error{} : Error{wrong, wrong, wrong};
  Error error;
  error.steps = got == rounded ? 0 : steps_between<T, I>(got, rounded);
  if (mpfr_inf_p(exact)) return got == rounded ? error : Error{wrong, wrong, wrong};
  if (std::isinf(got)) return rounded == got ? error : Error{error.steps, error.steps, wrong};
  Exact difference(400);
  mpfr_set_d(difference, static_cast<double>(got), MPFR_RNDN);
  mpfr_sub(difference, difference, exact, MPFR_RNDN);
  error.absolute = std::fabs(mpfr_get_d(difference.get(), MPFR_RNDN));
  using Limits = std::numeric_limits<T>;
  const long least = Limits::min_exponent - Limits::digits;
  const long last = mpfr_zero_p(exact) ? least : std::max<long>(mpfr_get_exp(exact) - Limits::digits, least);
  mpfr_div_2si(difference, difference, last, MPFR_RNDN);
  error.ulp = std::fabs(mpfr_get_d(difference.get(), MPFR_RNDN));
  return error;
}

}  // namespace

Error error_of(double got, mpfr_srcptr exact) {
  return error_in<double, std::int64_t>(got, mpfr_get_d(exact, MPFR_RNDN), exact);
}
Error error_of(float got, mpfr_srcptr exact) {
  return error_in<float, std::int32_t>(got, mpfr_get_flt(exact, MPFR_RNDN), exact);
}

const std::vector<MathCase>& math_cases() {
  static const std::vector<MathCase> cases = {
      {"rsqrt", 1, unary(rsqrt_of), {{0, 10}}},
      {"sqrt", 1, unary(mpfr_sqrt), {{0, 10}}},
      {"cbrt", 1, unary(mpfr_cbrt), {{-10, 10}}},
      {"rcbrt", 1, unary(rcbrt_of), {{-10, 10}}},
      {"hypot", 2, norm(2, false), {{-4, 4}, {-1e160, 1e160}}, 4},
      {"rhypot", 2, norm(2, true), {{-4, 4}, {-1e160, 1e160}}, 4},
      {"norm3d", 3, norm(3, false), {{-4, 4}, {-1e160, 1e160}}, 4},
      {"rnorm3d", 3, norm(3, true), {{-4, 4}, {-1e160, 1e160}}, 4},
      {"norm4d", 4, norm(4, false), {{-4, 4}, {-1e160, 1e160}}, 4},
      {"rnorm4d", 4, norm(4, true), {{-4, 4}, {-1e160, 1e160}}, 4},
      {"exp", 1, unary(mpfr_exp), {{-750, 720}, {-104, 89}, {-1, 1}}},
      {"exp2", 1, unary(mpfr_exp2), {{-1080, 1030}, {-150, 129}, {-1, 1}}},
      {"exp10", 1, unary(mpfr_exp10), {{-330, 310}, {-46, 39}, {-1, 1}}},
      {"expm1", 1, unary(mpfr_expm1), {{-40, 720}, {-20, 89}, {-1, 1}}},
      {"log", 1, unary(mpfr_log), {{0, 3}, {0.9, 1.1}, {0, 1e6}}},
      {"log2", 1, unary(mpfr_log2), {{0, 3}, {0.9, 1.1}, {0, 1e6}}},
      {"log10", 1, unary(mpfr_log10), {{0, 3}, {0.9, 1.1}, {0, 1e6}}},
      {"log1p", 1, unary(mpfr_log1p), {{-1, 2}, {-0.5, 0.5}, {0, 1e6}}},
      {"sin", 1, unary(mpfr_sin), {{-3.2, 3.2}, {-100, 100}, {-1e6, 1e6}}, 2},
      {"cos", 1, unary(mpfr_cos), {{-3.2, 3.2}, {-100, 100}, {-1e6, 1e6}}, 2},
      {"tan", 1, unary(mpfr_tan), {{-3.2, 3.2}, {-100, 100}, {-1e6, 1e6}}, 2},
      {"sinpi", 1, unary(mpfr_sinpi), {{-2, 2}, {-100, 100}, {-1e6, 1e6}}, 2},
      {"cospi", 1, unary(mpfr_cospi), {{-2, 2}, {-100, 100}, {-1e6, 1e6}}, 2},
      {"asin", 1, unary(mpfr_asin), {{-1, 1}, {0.999, 1}}},
      {"acos", 1, unary(mpfr_acos), {{-1, 1}, {0.999, 1}}},
      {"atan", 1, unary(mpfr_atan), {{-10, 10}, {-0.5, 0.5}}},
      {"atan2", 2, binary(mpfr_atan2), {{-4, 4}, {-0.1, 0.1}}, 2},
      {"sinh", 1, unary(mpfr_sinh), {{-720, 720}, {-90, 90}, {-2, 2}}},
      {"cosh", 1, unary(mpfr_cosh), {{-720, 720}, {-90, 90}, {-2, 2}}},
      {"tanh", 1, unary(mpfr_tanh), {{-20, 20}, {-2, 2}, {-0.5, 0.5}}},
      {"asinh", 1, unary(mpfr_asinh), {{-10, 10}, {-0.5, 0.5}, {-1e9, 1e9}}},
      {"acosh", 1, unary(mpfr_acosh), {{1, 10}, {1, 1.01}, {1, 1e9}}},
      {"atanh", 1, unary(mpfr_atanh), {{-1, 1}, {-0.2, 0.2}}},
      {"pow", 2, binary(mpfr_pow), {{0, 40}, {0.9, 1.1}, {-300, 300}}, 4},
      {"erf", 1, unary(mpfr_erf), {{-6, 6}, {-1, 1}}, 2},
      {"erfc", 1, unary(mpfr_erfc), {{-6, 28}, {-1, 1}, {0, 11}}, 4},
      {"erfinv", 1, unary(erfinv_of), {{-1, 1}, {0.99, 1}}, 40},
      {"erfcinv", 1, unary(erfcinv_of), {{0, 2}, {0, 1e-3}}, 40},
      {"erfcx", 1, unary(erfcx_of), {{-27, 40}, {-10, 10}, {-1, 1}}, 8},
      {"normcdf", 1, unary(normcdf_of), {{-39, 9}, {-14, 5}, {-1, 1}}, 8},
      {"normcdfinv", 1, unary(normcdfinv_of), {{0, 1}, {0, 1e-3}}, 40},
      {"lgamma", 1, unary(lgamma_of), {{0, 10}, {-2.2637, 0}, {0.9, 1.1}, {1.9, 2.1}, {-60, 200}}, 20},
      {"tgamma", 1, unary(tgamma_of), {{-5, 10}, {0, 172}, {-185, 0}, {0, 36}}, 20},
      {"logb", 1, unary(logb_of), {{-10, 10}}},
      {"j0", 1, unary(mpfr_j0), {{-8, 8}, {0, 100}, {0, 4}}, 20},
      {"j1", 1, unary(j1_of), {{-8, 8}, {0, 100}, {0, 4}}, 20},
      {"y0", 1, unary(mpfr_y0), {{0, 8}, {0, 100}, {0, 2}}, 20},
      {"y1", 1, unary(mpfr_y1), {{0, 8}, {0, 100}, {0, 3}}, 20},
      {"cyl_bessel_i0", 1, unary(bessel_i<0>), {{-10, 10}, {-720, 720}, {-90, 90}}, 50},
      {"cyl_bessel_i1", 1, unary(bessel_i<1>), {{-10, 10}, {-720, 720}, {-90, 90}}, 50},
      {"fmod", 2, binary(mpfr_fmod), {{-40, 40}, {-1e6, 1e6}}, 4},
      {"remainder", 2, binary(mpfr_remainder), {{-40, 40}, {-1e6, 1e6}}, 4},
      {"fdim", 2, binary(mpfr_dim), {{-40, 40}}, 4},
      {"trunc", 1, unary(trunc_of), {{-10, 10}, {-1e17, 1e17}}},
      {"round", 1, unary(round_of), {{-10, 10}, {-1e17, 1e17}}},
      {"rint", 1, unary(rint_of), {{-10, 10}, {-1e17, 1e17}}},
      {"nearbyint", 1, unary(rint_of), {{-10, 10}, {-1e17, 1e17}}},
      {"ceil", 1, unary(ceil_of), {{-10, 10}, {-1e17, 1e17}}},
      {"floor", 1, unary(floor_of), {{-10, 10}, {-1e17, 1e17}}},
  };
  return cases;
}

}  // namespace warploom::test

// Samples and error measure of the approximate instructions.
#include "approx_forms.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "isa/ref/convert.hpp"
#include "isa/ref/format.hpp"

namespace warploom::semantics {
namespace {

namespace ref = isa::ref;
using ref::Format;
using u32 = std::uint32_t;

double value(Type t, u64 v) {
  return t == Type::f64 ? std::bit_cast<double>(v)
                        : std::bit_cast<double>(ref::convert(ref::format_of(t), ref::kF64, ref::Round::rn, v));
}
std::string op_of(const ApproxForm& form) { return form.text.substr(0, form.text.find('.')); }

ApproxForm form(const std::string& text, const std::string& section, Type t, Bound kind, double bound,
                const std::string& stated, const std::string& where, double limit = 0, unsigned sources = 1) {
  const bool ftz = text.find(".ftz") != std::string::npos;
  return {text, t, sources, ftz, kind, bound, stated, section, where, limit};
}

}  // namespace

// Sections and bounds as in version 9.4 of the manual.
const std::vector<ApproxForm>& approx_forms() {
  static const std::vector<ApproxForm> forms = [] {
    constexpr double kPi = 3.141592653589793;
    constexpr auto kRelative = Bound::relative, kAbsolute = Bound::absolute, kUlp = Bound::ulp, kNone = Bound::none;
    const double b20 = std::exp2(-20.5), b14 = std::exp2(-14.7), b22 = std::exp2(-22.9);
    std::vector<ApproxForm> all;
    for (const std::string z : {"", ".ftz"}) {
      const std::string f = z + ".f32";
      all.push_back(form("rcp.approx" + f, "9.7.3.13", Type::f32, kUlp, 1, "1", "all"));
      all.push_back(form("sqrt.approx" + f, "9.7.3.15", Type::f32, kRelative, 0x1p-23, "2^-23", "positive finite"));
      all.push_back(form("rsqrt.approx" + f, "9.7.3.16", Type::f32, kRelative, b22, "2^-22.9", "positive finite"));
      for (const std::string op : {"sin", "cos"}) {
        const std::string section = op == "sin" ? "9.7.3.18" : "9.7.3.19", text = op + ".approx" + f;
        all.push_back(form(text, section, Type::f32, kAbsolute, b20, "2^-20.5", "[-2pi, 2pi]", 2 * kPi));
        all.push_back(form(text, section, Type::f32, kAbsolute, b14, "2^-14.7", "[-100pi, 100pi]", 100 * kPi));
      }
      all.push_back(form("lg2.approx" + f, "9.7.3.20", Type::f32, kAbsolute, 0x1p-22, "2^-22", "(0.5, 2)", 2));
      all.push_back(
          form("lg2.approx" + f, "9.7.3.20", Type::f32, kRelative, 0x1p-22, "2^-22", "other positive finite"));
      all.push_back(form("ex2.approx" + f, "9.7.3.21", Type::f32, kUlp, 2, "2", "all"));
      all.push_back(form("div.approx" + f, "9.7.3.8", Type::f32, kUlp, 2, "2", "divisor in [2^-126, 2^126]", 0, 2));
      all.push_back(form("div.full" + f, "9.7.3.8", Type::f32, kUlp, 2, "2", "all", 0, 2));
    }
    all.push_back(form("tanh.approx.f32", "9.7.3.22", Type::f32, kRelative, 0x1p-11, "2^-11", "all"));
    all.push_back(form("ex2.approx.f16", "9.7.4.10", Type::f16, kRelative, std::exp2(-9.9), "2^-9.9", "all"));
    all.push_back(form("ex2.approx.ftz.bf16", "9.7.4.10", Type::bf16, kRelative, 0x1p-7, "2^-7", "all"));
    all.push_back(form("tanh.approx.f16", "9.7.4.9", Type::f16, kAbsolute, std::exp2(-10.987), "2^-10.987", "all"));
    all.push_back(form("tanh.approx.bf16", "9.7.4.9", Type::bf16, kAbsolute, 0x1p-8, "2^-8", "all"));
    all.push_back(form("rcp.approx.ftz.f64", "9.7.3.14", Type::f64, kNone, 0, "none", "all"));
    all.push_back(form("rsqrt.approx.f64", "9.7.3.16", Type::f64, kNone, 0, "none", "positive finite"));
    all.push_back(form("rsqrt.approx.ftz.f64", "9.7.3.17", Type::f64, kNone, 0, "none", "positive finite"));
    return all;
  }();
  return forms;
}

double ApproxForm::exact(double x, double y) const {
  const std::string op = op_of(*this);
  if (op == "div") return x / y;
  if (op == "rcp") return 1 / x;
  if (op == "sqrt") return std::sqrt(x);
  if (op == "rsqrt") return 1 / std::sqrt(x);
  if (op == "sin") return std::sin(x);
  if (op == "cos") return std::cos(x);
  if (op == "lg2") return std::log2(x);
  if (op == "ex2") return std::exp2(x);
  return std::tanh(x);
}

bool ApproxForm::within(double x, double y) const {
  const std::string op = op_of(*this);
  if (op == "sin" || op == "cos") return std::fabs(x) <= limit;
  if (op == "lg2") return limit == 0 ? !(x > 0.5 && x < 2) : x > 0.5 && x < 2;
  if (op == "div" && text.find("full") == std::string::npos) return std::fabs(y) >= 0x1p-126 && std::fabs(y) <= 0x1p126;
  return true;
}

std::size_t approx_count(const ApproxForm& form) { return isa::bits(form.type) == 16 ? 65536 : kApproxSamples; }

std::vector<u64> approx_corners(const ApproxForm& form) {
  if (isa::bits(form.type) == 16) return {};
  std::vector<u64> corners;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const bool wide = form.type == Type::f64;
  for (const double magnitude : {0.0, wide ? 0x1p-1074 : 0x1p-149, wide ? 0x1p-1023 : 0x1p-127,
                                 wide ? 0x1p-1022 : 0x1p-126, 1.0, 0x1p126, 0x1p127, kInfinity}) {
    for (const double v : {magnitude, -magnitude})
      corners.push_back(wide ? std::bit_cast<u64>(v) : std::bit_cast<u32>(float(v)));
  }
  corners.push_back(wide ? 0x7ff8000000000000 : 0x7fc00000);
  return corners;
}

std::vector<u64> approx_arguments(const ApproxForm& form) {
  std::vector<u64> words;
  const std::size_t count = approx_count(form);
  if (isa::bits(form.type) == 16) {
    for (u64 v = 0; v < count; ++v) words.push_back(v);
    return words;
  }
  std::mt19937_64 random(form.text.size());
  const std::string op = op_of(form);
  const bool far = op == "lg2" && form.limit == 0;
  const double range = op == "ex2" ? 150 : op == "tanh" ? 10 : form.limit != 0 ? form.limit : 6.28;
  const std::vector<u64> corners = approx_corners(form);
  for (unsigned k = 0; k < form.sources; ++k) {
    for (std::size_t i = 0; i < count; ++i) {
      u64 v = random();
      if (i < (form.sources == 1 ? corners.size() : corners.size() * corners.size())) {
        words.push_back(corners[k == 0 ? i % corners.size() : i / corners.size()]);
        continue;
      }
      if (form.type == Type::f32) {
        v &= 0xffffffff;
        const double part = double(v) / 0x1p32;
        // A third over all bit patterns, a third where the function varies, a third near 1.
        if (i % 3 == 1) v = std::bit_cast<u32>(float((op == "lg2" ? part : 2 * part - 1) * range));
        if (i % 3 == 2) v = (v & 0x7fffff) | (126 + (v >> 23 & 3)) << 23;
        // Outside of (0.5, 2): all magnitudes, and those beside the ends.
        if (far && i % 3 == 1) v &= 0x7fffffff;
        if (far && i % 3 == 2) v = (v & 0x7fffff) | ((v & 0x800000) != 0 ? 128 : 125) << 23;
      } else if (i % 2 == 1) {
        v = (v & 0xfffffffffffff) | (1022 + (v >> 52 & 3)) << 52;
      }
      words.push_back(v);
    }
  }
  return words;
}

std::string approx_kernel(const ApproxForm& form, std::size_t index) {
  const unsigned bits = isa::bits(form.type);
  std::string sources;
  std::string text = fmt::format(
      ".visible .entry approx{}(.param .u64 in, .param .u64 out)\n{{\n  .reg .b64 %rd<8>;\n  .reg .b32 %r<8>;\n"
      "  .reg .b{} %a<2>, %d;\n  ld.param.u64 %rd1, [in];\n  ld.param.u64 %rd2, [out];\n  mov.u32 %r1, %tid.x;\n"
      "  mov.u32 %r2, %ctaid.x;\n  mov.u32 %r3, %ntid.x;\n  mad.lo.u32 %r1, %r2, %r3, %r1;\n"
      "  mad.wide.u32 %rd1, %r1, 8, %rd1;\n  mad.wide.u32 %rd2, %r1, 8, %rd2;\n",
      index, bits);
  for (unsigned k = 0; k < form.sources; ++k) {
    text += fmt::format("  ld.global.b64 %rd3, [%rd1+{}];\n", 8 * approx_count(form) * k);
    text +=
        bits == 64 ? fmt::format("  mov.b64 %a{}, %rd3;\n", k) : fmt::format("  cvt.u{}.u64 %a{}, %rd3;\n", bits, k);
    sources += fmt::format(", %a{}", k);
  }
  text += fmt::format("  {} %d{};\n", form.text, sources);
  text += bits == 64 ? "  mov.b64 %rd3, %d;\n" : fmt::format("  cvt.u64.u{} %rd3, %d;\n", bits);
  return text + "  st.global.b64 [%rd2], %rd3;\n  ret;\n}\n\n";
}

ApproxError approx_error(const ApproxForm& form, const std::vector<u64>& arguments, const u64* results) {
  ApproxError error;
  const Format f = ref::format_of(form.type);
  const std::size_t count = approx_count(form);
  for (std::size_t i = 0; i < count; ++i) {
    u64 a = arguments[i], b = form.sources > 1 ? arguments[count + i] : 0;
    if (form.ftz) a = ref::flush(f, a), b = ref::flush(f, b);
    const double x = value(form.type, a), y = value(form.type, b), got = value(form.type, results[i]);
    if (!form.within(x, y)) continue;
    const double exact = form.exact(x, y);
    // The exact result, rounded, says whether a NaN, an infinity or a zero is due.
    u64 rounded = ref::convert(ref::kF64, f, ref::Round::rn, std::bit_cast<u64>(exact));
    if (form.type == Type::f64) rounded = std::bit_cast<u64>(exact);
    if (form.ftz) rounded = ref::flush(f, rounded);
    const double near = value(form.type, rounded);
    const double tiny = value(form.type, f.hidden());
    const bool small = std::fabs(near) <= tiny && std::fabs(got) <= tiny;  // flushed or subnormal
    if (std::isnan(near) != std::isnan(got) ||
        (std::isinf(near) != std::isinf(got) && std::fabs(exact) < 3e38 && form.type == Type::f32) ||
        ((near == 0) != (got == 0) && !small && form.kind != Bound::absolute)) {
      if (error.special++ == 0) error.special_x = arguments[i], error.special_y = b, error.special_got = results[i];
      continue;
    }
    if (std::isnan(near) || std::isinf(near) || std::isinf(got)) continue;
    double distance = std::fabs(got - exact);
    if (form.kind == Bound::ulp) {
      if (small) continue;
      int exponent = 0;
      std::frexp(exact, &exponent);
      distance /= std::ldexp(1.0, std::max(exponent - 1, 1 - f.bias()) - f.fraction);
    } else if (form.kind != Bound::absolute) {
      if (small || exact == 0) continue;
      distance /= std::fabs(exact);
    }
    if (distance > error.worst) error.worst = distance, error.x = arguments[i], error.y = b, error.got = results[i];
  }
  return error;
}

}  // namespace warploom::semantics

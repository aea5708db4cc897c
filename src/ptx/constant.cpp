// Reads constant expressions by precedence climbing.
#include "ptx/constant.hpp"

#include <bit>
#include <charconv>
#include <cmath>
#include <string>

#include "isa/types.hpp"

namespace warploom::ptx {
namespace {

constexpr int kDeepest = 64;

struct Reader {
  Cursor& cursor;
  const char*& why;
  int depth = 0;

  bool fail(const char* text) {
    why = text;
    return false;
  }

  static unsigned digit_value(char c) {
    if (is_digit(c)) return static_cast<unsigned>(c - '0');
    if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
    if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A') + 10;
    return 99;
  }

  bool digits(unsigned base, Constant& out) {
    std::uint64_t value = 0;
    std::size_t count = 0;
    bool overflow = false;
    for (; digit_value(cursor.raw()) < base; ++count) {
      overflow |= value > (~0ull - digit_value(cursor.raw())) / base;
      value = value * base + digit_value(cursor.raw());
      cursor.advance(1);
    }
    if (count == 0) return fail("digits are due");
    if (overflow) return fail("integer does not fit into 64 bits");
    out.is_unsigned = value > 0x7fffffffffffffffull;
    if (cursor.raw() == 'U' || cursor.raw() == 'u') {
      cursor.advance(1);
      out.is_unsigned = true;
    }
    if (in_word(cursor.raw())) return fail("not a number");
    out.kind = Constant::Kind::integer;
    out.bits = value;
    return true;
  }

  bool hex_float(std::size_t count, Constant& out) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (digit_value(cursor.raw(i)) > 15)
        return fail(count == 8 ? "0f is followed by 8 hexadecimal digits" : "0d is followed by 16 hexadecimal digits");
      value = value << 4 | digit_value(cursor.raw(i));
    }
    if (in_word(cursor.raw(count))) return fail("floating-point constant has too many digits");
    cursor.advance(count);
    out = {count == 8 ? Constant::Kind::f32 : Constant::Kind::f64, false, value};
    return true;
  }

  bool number(Constant& out) {
    if (cursor.raw() == '0') {
      switch (cursor.raw(1)) {
        case 'x':
        case 'X': cursor.advance(2); return digits(16, out);
        case 'b':
        case 'B': cursor.advance(2); return digits(2, out);
        case 'f':
        case 'F': cursor.advance(2); return hex_float(8, out);
        case 'd':
        case 'D': cursor.advance(2); return hex_float(16, out);
        default: break;
      }
    }
    std::size_t i = 0;
    while (is_digit(cursor.raw(i))) ++i;
    const bool exponent = (cursor.raw(i) == 'e' || cursor.raw(i) == 'E') &&
                          (is_digit(cursor.raw(i + 1)) || cursor.raw(i + 1) == '-' || cursor.raw(i + 1) == '+');
    if (cursor.raw(i) == '.' || exponent) {
      double value = 0;
      const std::string_view rest = cursor.rest();
      const auto result = std::from_chars(rest.data(), rest.data() + rest.size(), value);
      if (result.ec == std::errc::invalid_argument) return fail("not a number");
      if (result.ec == std::errc::result_out_of_range) return fail("floating-point constant is out of range");
      cursor.advance(static_cast<std::size_t>(result.ptr - rest.data()));
      if (in_word(cursor.raw())) return fail("not a number");
      out = {Constant::Kind::f64, false, std::bit_cast<std::uint64_t>(value)};
      return true;
    }
    if (cursor.raw() == '0' && is_digit(cursor.raw(1))) return digits(8, out);
    return digits(10, out);
  }

  // (.s64) and (.u64) convert; any other parenthesis groups.
  bool parenthesis(Constant& out) {
    if (cursor.peek() == '.') {
      const isa::Type type = isa::type_from_name(cursor.dotted());
      if (!isa::is_signed(type) && !isa::is_unsigned(type)) return fail("a cast in a constant is .s64 or .u64");
      if (!cursor.accept(')')) return fail("')' is due");
      if (!unary(out)) return false;
      out.is_unsigned = isa::is_unsigned(type);
      return true;
    }
    if (!ternary(out)) return false;
    return cursor.accept(')') || fail("')' is due");
  }

  bool unary(Constant& out) {
    if (++depth > kDeepest) return fail("constant expression is nested too deeply");
    const bool ok = unary_inner(out);
    --depth;
    return ok;
  }

  bool unary_inner(Constant& out) {
    switch (cursor.peek()) {
      case '(': cursor.advance(1); return parenthesis(out);
      case '+': cursor.advance(1); return unary(out);
      case '-':
        cursor.advance(1);
        if (!unary(out)) return false;
        if (out.kind == Constant::Kind::f32)
          out.bits ^= 0x80000000u;
        else if (out.kind == Constant::Kind::f64)
          out.bits ^= 1ull << 63;
        else
          out.bits = 0 - out.bits;
        return true;
      case '~':
      case '!': {
        const bool logical = cursor.raw() == '!';
        cursor.advance(1);
        if (!unary(out)) return false;
        if (out.kind != Constant::Kind::integer) return fail("this operator needs an integer");
        out.bits = logical ? out.bits == 0 : ~out.bits;
        return true;
      }
      default: return is_digit(cursor.raw()) ? number(out) : fail("a constant is due");
    }
  }

  // Binary operator standing here, with its precedence; 0 when there is none.
  int binary(std::string_view& spelling) {
    static constexpr struct {
      std::string_view text;
      int precedence;
    } kOps[] = {{"<<", 8}, {">>", 8}, {"<=", 7}, {">=", 7}, {"==", 6}, {"!=", 6}, {"&&", 2}, {"||", 1}, {"*", 10},
                {"/", 10}, {"%", 10}, {"+", 9},  {"-", 9},  {"<", 7},  {">", 7},  {"&", 5},  {"^", 4},  {"|", 3}};
    switch (cursor.peek()) {
      case '\0':
      case ',':
      case ';':
      case ')':
      case ']':
      case '}': return 0;  // what nearly always stands behind a constant
      default: break;
    }
    for (const auto& op : kOps) {
      if (!cursor.rest().starts_with(op.text)) continue;
      // "%r1" is a register, not a remainder.
      if (op.text == "%" && starts_word(cursor.raw(1))) return 0;
      spelling = op.text;
      return op.precedence;
    }
    return 0;
  }

  bool apply(std::string_view op, Constant& a, const Constant& b) {
    if (a.kind != Constant::Kind::integer || b.kind != Constant::Kind::integer) return apply_float(op, a, b);
    const bool u = a.is_unsigned || b.is_unsigned;
    const std::uint64_t x = a.bits, y = b.bits;
    const auto sx = static_cast<std::int64_t>(x), sy = static_cast<std::int64_t>(y);
    std::uint64_t r = 0;
    bool comparison = true;
    if (op == "<")
      r = u ? x < y : sx < sy;
    else if (op == ">")
      r = u ? x > y : sx > sy;
    else if (op == "<=")
      r = u ? x <= y : sx <= sy;
    else if (op == ">=")
      r = u ? x >= y : sx >= sy;
    else if (op == "==")
      r = x == y;
    else if (op == "!=")
      r = x != y;
    else if (op == "&&")
      r = x != 0 && y != 0;
    else if (op == "||")
      r = x != 0 || y != 0;
    else
      comparison = false;
    if (!comparison) {
      if (op == "+")
        r = x + y;
      else if (op == "-")
        r = x - y;
      else if (op == "*")
        r = x * y;
      else if (op == "&")
        r = x & y;
      else if (op == "|")
        r = x | y;
      else if (op == "^")
        r = x ^ y;
      else if (op == "<<")
        r = y > 63 ? 0 : x << y;
      else if (op == ">>")
        r = a.is_unsigned ? (y > 63 ? 0 : x >> y) : static_cast<std::uint64_t>(sx >> (y > 63 ? 63 : y));
      else if (y == 0)
        return fail("division by zero in a constant");
      else if (!u && sy == -1)
        r = op == "/" ? 0 - x : 0;
      else if (op == "/")
        r = u ? x / y : static_cast<std::uint64_t>(sx / sy);
      else
        r = u ? x % y : static_cast<std::uint64_t>(sx % sy);
    }
    a.bits = r;
    a.is_unsigned = !comparison && u;
    return true;
  }

  bool apply_float(std::string_view op, Constant& a, const Constant& b) {
    const auto x = std::bit_cast<double>(as_f64_bits(a)), y = std::bit_cast<double>(as_f64_bits(b));
    double r = 0;
    if (op == "+")
      r = x + y;
    else if (op == "-")
      r = x - y;
    else if (op == "*")
      r = x * y;
    else if (op == "/")
      r = x / y;
    else
      return fail("this operator needs integers");
    a = {Constant::Kind::f64, false, std::bit_cast<std::uint64_t>(r)};
    return true;
  }

  bool climb(int lowest, Constant& out) {
    if (!unary(out)) return false;
    std::string_view op;
    for (int precedence = binary(op); precedence >= lowest && precedence != 0; precedence = binary(op)) {
      cursor.advance(op.size());
      Constant right;
      if (++depth > kDeepest) return fail("constant expression is nested too deeply");
      if (!climb(precedence + 1, right) || !apply(op, out, right)) return false;
      --depth;
    }
    return true;
  }

  bool ternary(Constant& out) {
    if (!climb(1, out)) return false;
    if (!cursor.accept('?')) return true;
    if (out.kind != Constant::Kind::integer) return fail("a condition is an integer");
    Constant yes, no;
    if (++depth > kDeepest) return fail("constant expression is nested too deeply");
    if (!ternary(yes)) return false;
    if (!cursor.accept(':')) return fail("':' is due");
    if (!ternary(no)) return false;
    --depth;
    out = out.bits != 0 ? yes : no;
    return true;
  }
};

}  // namespace

bool read_constant(Cursor& cursor, Constant& out, const char*& why) { return Reader{cursor, why}.ternary(out); }

std::uint64_t as_f64_bits(const Constant& c) {
  switch (c.kind) {
    case Constant::Kind::f64: return c.bits;
    case Constant::Kind::f32: {
      const auto bits = static_cast<std::uint32_t>(c.bits);
      return std::bit_cast<std::uint64_t>(static_cast<double>(std::bit_cast<float>(bits)));
    }
    case Constant::Kind::integer:
      return std::bit_cast<std::uint64_t>(c.is_unsigned ? static_cast<double>(c.bits)
                                                        : static_cast<double>(static_cast<std::int64_t>(c.bits)));
  }
  return 0;
}

std::uint32_t as_f32_bits(const Constant& c) {
  if (c.kind == Constant::Kind::f32) return static_cast<std::uint32_t>(c.bits);
  return std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(as_f64_bits(c))));
}

}  // namespace warploom::ptx

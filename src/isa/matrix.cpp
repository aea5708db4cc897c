// Reads the modifiers of matrix instructions, and lays out their fragments.
#include "isa/matrix.hpp"

#include <charconv>

namespace warploom::isa {

using Kind = MatrixForm::Kind;
using Matrix = MatrixForm::Matrix;

namespace {

bool has(const ModSet& mods, Mod m) { return mods.test(static_cast<std::size_t>(m)); }

// "m16n8k16", "m16n8".
bool read_shape(std::string_view name, MatrixForm& form) {
  std::uint16_t sizes[3] = {};
  const char* at = name.data();
  const char* end = at + name.size();
  for (std::size_t i = 0; i < 3 && at != end; ++i) {
    if (*at != "mnk"[i]) return false;
    const auto [next, error] = std::from_chars(at + 1, end, sizes[i]);
    if (error != std::errc()) return false;
    at = next;
  }
  if (at != end || sizes[1] == 0) return false;
  form.m = sizes[0], form.n = sizes[1], form.k = sizes[2];
  return true;
}

unsigned log2(unsigned x) {
  unsigned n = 0;
  while (x > 1) x /= 2, ++n;
  return n;
}

// Fields of the packed number, lowest first.
template <class Form, class Visit>
void visit_fields(Form& f, Visit visit) {
  visit(f.kind, 3);
  visit(f.warp, 1);
  visit(f.m, 7);
  visit(f.n, 7);
  visit(f.k, 10);
  visit(f.rounding, 2);
  visit(f.selector, 2);
  visit(f.a_column, 1);
  visit(f.b_column, 1);
  visit(f.satfinite, 1);
  visit(f.sparse, 1);
  visit(f.bits, 2);
  visit(f.matrix, 2);
}
// In 24 bits: the types of products are few.
constexpr Type kTypes[] = {Type::none, Type::b1,   Type::u4,  Type::s4,  Type::u8,   Type::s8,   Type::s32, Type::f16,
                           Type::bf16, Type::tf32, Type::f32, Type::f64, Type::e4m3, Type::e5m2, Type::b8,  Type::b16};

std::uint64_t index_of(Type t) {
  for (std::uint64_t i = 0; i < std::size(kTypes); ++i)
    if (kTypes[i] == t) return i;
  return 0;
}

}  // namespace

unsigned MatrixForm::words(Matrix which) const {
  if (kind == Kind::load_rows || kind == Kind::store_rows) return count * (m == 16 && n == 16 ? 2U : 1U);
  if (kind == Kind::transpose) return 1;
  const Type t = type(which);
  if (warp && t == Type::f16 && (which == Matrix::a || which == Matrix::b)) return 8;
  return (quads() ? 4 : 1) * rows(which) * columns(which) * isa::bits(t) / 1024;
}

std::uint64_t MatrixForm::pack() const {
  std::uint64_t out = 0;
  unsigned at = 0;
  visit_fields(*this, [&](auto x, unsigned width) {
    out |= static_cast<std::uint64_t>(x) << at;
    at += width;
  });
  for (const Type t : {d, a, b, c}) {
    out |= index_of(t) << at;
    at += 4;
  }
  out |= static_cast<std::uint64_t>(log2(count)) << at;
  out |= static_cast<std::uint64_t>(transposed) << (at + 2);
  return out;
}

MatrixForm MatrixForm::unpack(std::uint64_t packed) {
  MatrixForm f;
  visit_fields(f, [&]<class T>(T& x, unsigned width) {
    x = static_cast<T>(packed & ((std::uint64_t{1} << width) - 1));
    packed >>= width;
  });
  for (Type* t : {&f.d, &f.a, &f.b, &f.c}) {
    *t = kTypes[packed & 15];
    packed >>= 4;
  }
  f.count = f.kind == Kind::load_rows || f.kind == Kind::store_rows ? static_cast<std::uint8_t>(1U << (packed & 3)) : 0;
  f.transposed = (packed >> 2 & 1) != 0;
  return f;
}

std::optional<MatrixForm> matrix_form(Op op, const ModSet& mods, const Type* types, unsigned type_count) {
  MatrixForm f;
  switch (op) {
    case Op::wmma:
      f.warp = true;
      f.kind = has(mods, Mod::load) ? Kind::load : has(mods, Mod::store) ? Kind::store : Kind::multiply;
      break;
    case Op::mma: break;
    case Op::ldmatrix: f.kind = Kind::load_rows; break;
    case Op::stmatrix: f.kind = Kind::store_rows; break;
    case Op::movmatrix: f.kind = Kind::transpose; break;
    default: return {};
  }
  for (std::size_t i = 0; i < kModCount; ++i)
    if (mods.test(i) && read_shape(name(static_cast<Mod>(i)), f)) break;
  if (f.m == 0) return {};
  f.satfinite = has(mods, Mod::satfinite);
  f.sparse = has(mods, Mod::sp) || has(mods, Mod::sp__ordered_metadata);
  f.bits = has(mods, Mod::xor_popc)   ? MatrixForm::Bits::exclusive_or
           : has(mods, Mod::and_popc) ? MatrixForm::Bits::and_
                                      : MatrixForm::Bits::none;
  f.rounding = has(mods, Mod::rz) ? 1 : has(mods, Mod::rm) ? 2 : has(mods, Mod::rp) ? 3 : 0;
  f.transposed = has(mods, Mod::trans);
  switch (f.kind) {
    case Kind::multiply:
      if (f.a == Type::none && type_count == 2) {
        f.d = types[0], f.c = types[1], f.a = f.b = Type::f16;
      } else if (type_count == 4) {
        f.d = types[0], f.a = types[1], f.b = types[2], f.c = types[3];
      } else {
        return {};
      }
      f.a_column = has(mods, Mod::col_row) || has(mods, Mod::col_col);
      f.b_column = has(mods, Mod::row_col) || has(mods, Mod::col_col);
      return f;
    case Kind::load:
    case Kind::store:
      f.matrix = has(mods, Mod::a)   ? Matrix::a
                 : has(mods, Mod::b) ? Matrix::b
                 : has(mods, Mod::c) ? Matrix::c
                                     : Matrix::d;
      f.a_column = has(mods, Mod::col);
      break;
    case Kind::load_rows:
    case Kind::store_rows: f.count = has(mods, Mod::x4) ? 4 : has(mods, Mod::x2) ? 2 : 1; break;
    case Kind::transpose: break;
  }
  f.d = f.a = f.b = f.c = type_count == 0 ? Type::b16 : types[0];
  return f;
}

unsigned matrix_registers(const MatrixForm& form, std::size_t index) {
  const auto of = [&](Matrix which) {
    const unsigned words = form.words(which);
    return form.type(which) == Type::f64 ? words / 2 : words;
  };
  switch (form.kind) {
    case Kind::multiply:
      switch (index) {
        case 0: return of(Matrix::d);
        case 1: return of(Matrix::a);
        case 2: return of(Matrix::b);
        case 3: return of(Matrix::c);
        default: return 1;
      }
    case Kind::load: return index == 0 ? of(form.matrix) : 1;
    case Kind::store: return index == 1 ? of(form.matrix) : 1;
    case Kind::load_rows: return index == 0 ? form.words(Matrix::d) : 1;
    case Kind::store_rows: return index == 1 ? form.words(Matrix::d) : 1;
    case Kind::transpose: return 1;
  }
  return 1;
}

namespace {

struct Place {
  unsigned row = 0, column = 0;
};

// mma.m8n8k4 of f16: lanes 4q to 4q + 3 and 16 more make product q.
Place quad_place(const MatrixForm& f, Matrix which, unsigned lane, unsigned e) {
  const unsigned low = lane % 4, high = lane < 16 ? 0 : 4;
  switch (which) {
    case Matrix::a: return f.a_column ? Place{e + high, low} : Place{low + high, e};
    case Matrix::b: return f.b_column ? Place{e, low + high} : Place{low, e + high};
    default:
      if (f.type(which) == Type::f16) return {low + high, e};
      return {(lane & 1) + (e & 2) + high, (e & 4) + (lane & 2) + (e & 1)};
  }
}

// mma, and wmma on sm_80 and later, which is made of it: groups of four lanes share a row of A, C and D, and a column
// of B. Blocks of 16 rows of A, or of 8 columns of B and C, follow each other.
Place mma_place(const MatrixForm& f, Matrix which, unsigned lane, unsigned e) {
  const unsigned group = lane / 4, member = lane % 4, width = isa::bits(f.type(which));
  if (f.m == 8 && f.n == 32) {
    // The transpose of m32n8k16.
    MatrixForm turned = f;
    turned.m = f.n, turned.n = f.m;
    turned.a = f.b, turned.b = f.a;
    const Place p = mma_place(turned, which == Matrix::a ? Matrix::b : which == Matrix::b ? Matrix::a : which, lane, e);
    return {p.column, p.row};
  }
  if (which == Matrix::c || which == Matrix::d) {
    // Two neighbours of a row in each lane, then eight rows further down.
    const unsigned down = f.m / 8U;
    return {group + e / 2 % down * 8, member * 2 + e % 2 + e / 2 / down * 8};
  }
  // What 32 bits hold lies side by side along k; an f64 stands alone.
  const unsigned together = width >= 32 ? 1 : 32 / width;
  const unsigned k = f.sparse && which == Matrix::a ? f.k / 2U : f.k, parts = k / (4 * together);
  const unsigned part = e / together, inside = member * together + e % together;
  if (which == Matrix::b) return {part % parts * 4 * together + inside, group + part / parts * 8};
  if (f.m == 8) return {group, part * 4 * together + inside};
  return {group + part % 2 * 8 + part / (2 * parts) * 16, part / 2 % parts * 4 * together + inside};
}

}  // namespace

std::vector<std::uint16_t> fragment_places(const MatrixForm& form, Matrix which) {
  const unsigned width = isa::bits(form.type(which));
  const unsigned elements = form.words(which) * 32 / width, columns = form.columns(which);
  // wmma repeats f16 factors until all registers are full.
  const unsigned once = form.rows(which) * columns * (form.quads() ? 4 : 1) / 32;
  std::vector<std::uint16_t> out(std::size_t{32} * elements);
  for (unsigned e = 0; e < elements; ++e)
    for (unsigned lane = 0; lane < 32; ++lane) {
      const Place p = form.quads() ? quad_place(form, which, lane, e) : mma_place(form, which, lane, e % once);
      unsigned at = p.row * columns + p.column;
      if (form.quads()) at += lane % 16 / 4 * form.rows(which) * columns;
      out[e * 32 + lane] = static_cast<std::uint16_t>(at);
    }
  return out;
}

}  // namespace warploom::isa

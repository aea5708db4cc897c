// The list of matrix instructions that the recorder runs, with their operands; see matrix_cases.hpp.
#include "matrix_cases.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>

namespace warploom::test {

namespace {

unsigned bits_of(std::string_view type) {
  if (type == "b1") return 1;
  if (type == "u4" || type == "s4") return 4;
  if (type == "u8" || type == "s8" || type == "e4m3" || type == "e5m2") return 8;
  if (type == "f16" || type == "bf16") return 16;
  if (type == "f64") return 64;
  return 32;
}

struct Dims {
  const char* name;
  unsigned m, n, k;
};

const char* satfinite(bool on) { return on ? ".satfinite" : ""; }

class List {
 public:
  std::vector<MatrixCase> cases;

  void dense(Dims s, const char* layouts, const std::string& d, const std::string& a, const std::string& b,
             const std::string& c, const std::string& before, const std::string& after, const char* target,
             const char* version) {
    MatrixCase x;
    x.mnemonic = "mma.sync.aligned." + std::string(s.name) + "." + layouts + before + "." + d + "." + a + "." + b +
                 "." + c + after;
    x.target = target, x.version = version;
    x.a = a, x.b = b, x.c = c, x.d = d;
    const unsigned copies = std::string_view(s.name) == "m8n8k4" && a == "f16" ? 4 : 1;
    x.a_words = copies * s.m * s.k * bits_of(a) / 1024;
    x.b_words = copies * s.n * s.k * bits_of(b) / 1024;
    x.c_words = copies * s.m * s.n * bits_of(c) / 1024;
    x.d_words = copies * s.m * s.n * bits_of(d) / 1024;
    cases.push_back(x);
  }

  void sparse(Dims s, int selectors, const std::string& d, const std::string& a, const std::string& b,
              const std::string& c, const std::string& after, const char* target, const char* version) {
    for (const bool ordered : {false, true})
      for (int f = 0; f < selectors; ++f) {
        if (f > 0 && f + 1 < selectors && ordered) continue;
        MatrixCase x;
        x.mnemonic = std::string(ordered ? "mma.sp::ordered_metadata" : "mma.sp") + ".sync.aligned." + s.name +
                     ".row.col" + "." + d + "." + a + "." + b + "." + c + after;
        x.target = target, x.version = ordered && std::string_view(version) < "8.5" ? "8.5" : version;
        x.a = a, x.b = b, x.c = c, x.d = d;
        x.a_words = s.m * s.k * bits_of(a) / 2048;
        x.b_words = s.n * s.k * bits_of(b) / 1024;
        x.c_words = s.m * s.n * bits_of(c) / 1024;
        x.d_words = s.m * s.n * bits_of(d) / 1024;
        x.selector = f;
        cases.push_back(x);
      }
  }

  // Registers of a fragment of wmma: those of f16 factors are twice as many as their elements need.
  static unsigned wmma_words(Dims s, char which, const std::string& type) {
    if (type == "f16" && (which == 'a' || which == 'b')) return 8;
    const unsigned elements = which == 'a' ? s.m * s.k : which == 'b' ? s.n * s.k : s.m * s.n;
    return elements * bits_of(type) / 1024;
  }

  void warp(Dims s, const std::string& layouts, const std::string& types, const std::string& d, const std::string& a,
            const std::string& c, const std::string& op, const std::string& rounding, const std::string& after,
            const char* version) {
    MatrixCase x;
    x.mnemonic = "wmma.mma" + op + ".sync.aligned." + layouts + "." + s.name + rounding + types + after;
    x.target = "sm_80", x.version = std::string_view(version) < "7.1" ? "7.1" : version;
    x.a = x.b = a, x.c = c, x.d = d;
    x.a_words = wmma_words(s, 'a', a), x.b_words = wmma_words(s, 'b', a);
    x.c_words = wmma_words(s, 'c', c), x.d_words = wmma_words(s, 'd', d);
    cases.push_back(x);
  }

  void transfer(Dims s, char which, const std::string& layout, const std::string& type) {
    MatrixCase x;
    x.kind = which == 'd' ? MatrixCase::Kind::store : MatrixCase::Kind::load;
    x.mnemonic = std::string(which == 'd' ? "wmma.store.d" : "wmma.load.") +
                 (which == 'd' ? "" : std::string(1, which)) + ".sync.aligned." + layout + "." + s.name + ".global." +
                 type;
    x.target = "sm_80", x.version = "7.1";
    const unsigned rows = which == 'b' ? s.k : s.m, columns = which == 'a' ? s.k : s.n;
    x.stride = (layout == "row" ? columns : rows) + std::max(256 / bits_of(type), 1U);
    (which == 'd' ? x.c : x.a) = type;
    (which == 'd' ? x.c_words : x.d_words) = wmma_words(s, which, type);
    cases.push_back(x);
  }

  void rows(const std::string& mnemonic, MatrixCase::Kind kind, unsigned words, const char* target,
            const char* version) {
    MatrixCase x;
    x.kind = kind;
    x.mnemonic = mnemonic, x.target = target, x.version = version;
    x.a = x.c = "s32";
    (kind == MatrixCase::Kind::stmatrix ? x.c_words : x.d_words) = words;
    if (kind == MatrixCase::Kind::movmatrix) x.c_words = 1;
    cases.push_back(x);
  }
};

constexpr std::array kLayouts = {"row.row", "row.col", "col.row", "col.col"};

void add_dense(List& l) {
  for (const char* layouts : kLayouts) {
    l.dense({"m8n8k4", 8, 8, 4}, layouts, "f16", "f16", "f16", "f16", "", "", "sm_70", "6.4");
    l.dense({"m8n8k4", 8, 8, 4}, layouts, "f32", "f16", "f16", "f16", "", "", "sm_70", "6.4");
    l.dense({"m8n8k4", 8, 8, 4}, layouts, "f32", "f16", "f16", "f32", "", "", "sm_70", "6.4");
  }
  for (const Dims s : {Dims{"m16n8k8", 16, 8, 8}, Dims{"m16n8k16", 16, 8, 16}}) {
    l.dense(s, "row.col", "f16", "f16", "f16", "f16", "", "", "sm_80", "7.0");
    l.dense(s, "row.col", "f32", "f16", "f16", "f32", "", "", "sm_80", "7.0");
    l.dense(s, "row.col", "f32", "bf16", "bf16", "f32", "", "", "sm_80", "7.0");
  }
  for (const Dims s : {Dims{"m16n8k4", 16, 8, 4}, Dims{"m16n8k8", 16, 8, 8}})
    l.dense(s, "row.col", "f32", "tf32", "tf32", "f32", "", "", "sm_80", "7.0");
  for (const Dims s : {Dims{"m16n8k16", 16, 8, 16}, Dims{"m16n8k32", 16, 8, 32}})
    for (const char* d : {"f32", "f16"})
      for (const char* a : {"e4m3", "e5m2"})
        for (const char* b : {"e4m3", "e5m2"}) {
          const bool first = s.k == 32 && std::string_view(d) == "f32";
          l.dense(s, "row.col", d, a, b, d, "", "", "sm_89", first ? "8.4" : "8.7");
        }
  l.dense({"m8n8k4", 8, 8, 4}, "row.col", "f64", "f64", "f64", "f64", "", "", "sm_80", "7.0");
  for (const char* rounding : {".rz", ".rm", ".rp"})
    l.dense({"m8n8k4", 8, 8, 4}, "row.col", "f64", "f64", "f64", "f64", rounding, "", "sm_80", "7.0");
  for (const Dims s : {Dims{"m16n8k4", 16, 8, 4}, Dims{"m16n8k8", 16, 8, 8}, Dims{"m16n8k16", 16, 8, 16}})
    l.dense(s, "row.col", "f64", "f64", "f64", "f64", "", "", "sm_90", "7.8");
  for (const Dims s : {Dims{"m8n8k16", 8, 8, 16}, Dims{"m16n8k16", 16, 8, 16}, Dims{"m16n8k32", 16, 8, 32}})
    for (const bool sat : {false, true})
      for (const char* a : {"u8", "s8"})
        for (const char* b : {"u8", "s8"})
          l.dense(s, "row.col", "s32", a, b, "s32", satfinite(sat), "", "sm_80", "7.0");
  for (const Dims s : {Dims{"m8n8k32", 8, 8, 32}, Dims{"m16n8k32", 16, 8, 32}, Dims{"m16n8k64", 16, 8, 64}})
    for (const bool sat : {false, true})
      for (const char* a : {"u4", "s4"})
        for (const char* b : {"u4", "s4"})
          l.dense(s, "row.col", "s32", a, b, "s32", satfinite(sat), "", "sm_80", "7.0");
  for (const Dims s : {Dims{"m8n8k128", 8, 8, 128}, Dims{"m16n8k128", 16, 8, 128}, Dims{"m16n8k256", 16, 8, 256}})
    for (const char* op : {".xor.popc", ".and.popc"})
      l.dense(s, "row.col", "s32", "b1", "b1", "s32", "", op, "sm_80", "7.1");
}

void add_sparse(List& l) {
  const Dims k16{"m16n8k16", 16, 8, 16}, k32{"m16n8k32", 16, 8, 32}, k64{"m16n8k64", 16, 8, 64};
  for (const char* d : {"f16", "f32"}) {
    l.sparse(k16, 4, d, "f16", "f16", d, "", "sm_80", "7.1");
    l.sparse(k32, 2, d, "f16", "f16", d, "", "sm_80", "7.1");
  }
  l.sparse(k16, 4, "f32", "bf16", "bf16", "f32", "", "sm_80", "7.1");
  l.sparse(k32, 2, "f32", "bf16", "bf16", "f32", "", "sm_80", "7.1");
  l.sparse({"m16n8k8", 16, 8, 8}, 4, "f32", "tf32", "tf32", "f32", "", "sm_80", "7.1");
  l.sparse(k16, 2, "f32", "tf32", "tf32", "f32", "", "sm_80", "7.1");
  for (const char* d : {"f32", "f16"})
    for (const char* a : {"e4m3", "e5m2"})
      for (const char* b : {"e4m3", "e5m2"})
        l.sparse(k64, 1, d, a, b, d, "", "sm_89", std::string_view(d) == "f32" ? "8.4" : "8.7");
  for (const bool sat : {false, true}) {
    for (const char* a : {"u8", "s8"})
      for (const char* b : {"u8", "s8"}) {
        l.sparse(k32, 2, "s32", a, b, "s32", satfinite(sat), "sm_80", "7.1");
        l.sparse(k64, 1, "s32", a, b, "s32", satfinite(sat), "sm_80", "7.1");
      }
    for (const char* a : {"u4", "s4"})
      for (const char* b : {"u4", "s4"}) {
        l.sparse(k64, 2, "s32", a, b, "s32", satfinite(sat), "sm_80", "7.1");
        l.sparse({"m16n8k128", 16, 8, 128}, 1, "s32", a, b, "s32", satfinite(sat), "sm_80", "7.1");
      }
  }
}

constexpr std::array kWide = {Dims{"m16n16k16", 16, 16, 16}, Dims{"m32n8k16", 32, 8, 16}, Dims{"m8n32k16", 8, 32, 16}};
constexpr Dims kTf32{"m16n16k8", 16, 16, 8}, kF64{"m8n8k4", 8, 8, 4}, kInt4{"m8n8k32", 8, 8, 32},
    kBits{"m8n8k128", 8, 8, 128};

void add_wmma(List& l) {
  for (const Dims s : kWide)
    for (const char* layouts : kLayouts) {
      for (const char* d : {"f16", "f32"})
        for (const char* c : {"f16", "f32"})
          l.warp(s, layouts, std::string(".") + d + "." + c, d, "f16", c, "", "", "", "6.3");
      l.warp(s, layouts, ".f32.bf16.bf16.f32", "f32", "bf16", "f32", "", "", "", "7.0");
      for (const bool sat : {false, true})
        for (const char* a : {"u8", "s8"})
          l.warp(s, layouts, std::string(".s32.") + a + "." + a + ".s32", "s32", a, "s32", "", "", satfinite(sat),
                 "6.3");
    }
  for (const char* layouts : kLayouts) {
    l.warp(kTf32, layouts, ".f32.tf32.tf32.f32", "f32", "tf32", "f32", "", "", "", "7.0");
    for (const char* rounding : {"", ".rn", ".rz", ".rm", ".rp"})
      l.warp(kF64, layouts, ".f64.f64.f64.f64", "f64", "f64", "f64", "", rounding, "", "7.0");
  }
  for (const bool sat : {false, true})
    for (const char* a : {"u4", "s4"})
      l.warp(kInt4, "row.col", std::string(".s32.") + a + "." + a + ".s32", "s32", a, "s32", "", "", satfinite(sat),
             "6.3");
  for (const char* op : {".xor.popc", ".and.popc"})
    l.warp(kBits, "row.col", ".s32.b1.b1.s32", "s32", "b1", "s32", op, "", "", "7.1");
}

void add_transfers(List& l) {
  for (const Dims s : kWide)
    for (const char* layout : {"row", "col"}) {
      for (const char which : {'a', 'b'})
        for (const char* type : {"f16", "bf16", "u8", "s8"}) l.transfer(s, which, layout, type);
      for (const char which : {'c', 'd'})
        for (const char* type : {"f16", "f32", "s32"}) l.transfer(s, which, layout, type);
    }
  for (const char* layout : {"row", "col"}) {
    for (const char which : {'a', 'b'}) {
      l.transfer(kTf32, which, layout, "tf32");
      l.transfer(kF64, which, layout, "f64");
    }
    for (const char which : {'c', 'd'}) {
      l.transfer(kTf32, which, layout, "f32");
      l.transfer(kF64, which, layout, "f64");
      l.transfer(kInt4, which, layout, "s32");
      l.transfer(kBits, which, layout, "s32");
    }
  }
  for (const char which : {'a', 'b'}) {
    const char* layout = which == 'a' ? "row" : "col";
    for (const char* type : {"u4", "s4"}) l.transfer(kInt4, which, layout, type);
    l.transfer(kBits, which, layout, "b1");
  }
  using Kind = MatrixCase::Kind;
  for (const unsigned n : {1U, 2U, 4U})
    for (const char* trans : {"", ".trans"}) {
      const std::string rest = ".x" + std::to_string(n) + trans + ".shared.b16";
      l.rows("ldmatrix.sync.aligned.m8n8" + rest, Kind::ldmatrix, n, "sm_75", "6.5");
      l.rows("stmatrix.sync.aligned.m8n8" + rest, Kind::stmatrix, n, "sm_90", "7.8");
    }
  l.rows("movmatrix.sync.aligned.m8n8.trans.b16", Kind::movmatrix, 1, "sm_75", "7.8");
}

std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

struct Format {
  unsigned exponent, mantissa;
  unsigned spare = 0;  // low bits that hardware ignores
};

// A floating-point value of a class; `r` is random.
std::uint64_t draw(const Format& f, unsigned cls, bool accumulator, std::uint64_t r) {
  const std::uint64_t top = (std::uint64_t{1} << f.exponent) - 1, bias = top >> 1;
  const std::uint64_t mask = (std::uint64_t{1} << f.mantissa) - 1;
  const std::uint64_t sign = r & 1, mantissa = mix(r) & mask;
  const std::uint64_t pick = r >> 1 & 0xff, spread = r >> 9 & 0xffff;
  std::uint64_t exponent = bias, fraction = mantissa, negative = sign;
  switch (cls) {
    case 0: exponent = bias - 4 + spread % (accumulator ? 12 : 8); break;
    case 1:
      exponent = spread % top;
      if (accumulator && pick < 128 && bias > 40) exponent = bias - 40 + spread % 80;
      break;
    case 2: exponent = spread % (top + 1); break;
    case 3: {
      static constexpr std::array kFractions = {0, 0, 1, -1, 2};
      const std::array<std::uint64_t, 8> exponents = {0, 0, 1, bias, bias + 1, top - 1, top, bias - 1};
      exponent = exponents[pick % 8];
      if (exponent == top && pick >= 32) exponent = bias;
      fraction = static_cast<std::uint64_t>(kFractions[spread % 5]) & mask;
      break;
    }
    case 4:
      if (pick < 176) return sign << (f.exponent + f.mantissa);
      exponent = bias - 7 + spread % 14;
      break;
    case 5:
      exponent = bias + (accumulator ? 2 + spread % 3 : spread % 2);
      negative = accumulator ? 1 : 0;
      break;
    case 6:
      if (bias > 40 && pick < 224) {
        // Products about the least normal number of f32 or f64.
        const std::uint64_t half = bias == 127 ? 63 : 511, around = f.mantissa > 23 ? 56 : 28;
        exponent = accumulator ? spread % around : bias - half - around / 2 + spread % around;
      } else {
        exponent = spread % 3;
      }
      break;
    default:
      exponent = bias - 12 + spread % 24;
      if (f.exponent == 4) exponent = spread % 15;
      fraction = pick < 64 ? 1 : pick < 128 ? mask : pick < 192 ? std::uint64_t{1} << (spread % f.mantissa) : 0;
      fraction &= mask;
      break;
  }
  return (negative << f.exponent | exponent) << f.mantissa | fraction;
}

}  // namespace

std::vector<MatrixCase> matrix_cases() {
  List l;
  add_dense(l);
  add_sparse(l);
  add_wmma(l);
  add_transfers(l);
  return l.cases;
}

unsigned pool_words(std::string_view type) { return type == "f64" ? 16 : type == "pair" || type == "half" ? 1 : 8; }

std::vector<std::uint32_t> matrix_pool(std::string_view type, char which) {
  const unsigned words = pool_words(type);
  std::vector<std::uint32_t> out(std::size_t{32} * kMatrixCases * words);
  std::uint64_t seed = static_cast<std::uint64_t>(which) << 56;
  for (const char c : type) seed = mix(seed ^ static_cast<std::uint64_t>(c));
  Format f{0, 0};
  if (type == "f16") f = {5, 10};
  if (type == "bf16") f = {8, 7};
  if (type == "tf32") f = {8, 10, 13};
  if (type == "e4m3") f = {4, 3};
  if (type == "e5m2") f = {5, 2};
  if (type == "f32") f = {8, 23};
  if (type == "f64") f = {11, 52};
  const unsigned bits = bits_of(type);
  for (std::size_t i = 0; i < out.size();) {
    const std::size_t index = i / words / 32;
    const auto cls = static_cast<unsigned>(index / kCasesInClass);
    if (which == 'e') {
      static constexpr std::array<std::uint32_t, 6> kPairs = {4, 8, 9, 12, 13, 14};
      for (unsigned n = 0; n < 8; ++n) {
        const std::uint64_t r = mix(seed + i * 8 + n);
        out[i] |= (type == "half" ? (r % 2 != 0 ? 14U : 4U) : kPairs[r % 6]) << 4 * n;
      }
      ++i;
      continue;
    }
    if (f.exponent == 0) {
      // Integers; the accumulators of odd classes are near the ends of their range, factors of class 5 extreme.
      const std::uint64_t r = mix(seed + i);
      auto x = static_cast<std::uint32_t>(r);
      if (which == 'c' && cls % 2 == 1) x = ((r >> 32 & 1) != 0 ? 0x7fffffffU : 0x80000000U) ^ (x & 0xffff);
      if (which != 'c' && cls == 5) x = (r & 1) != 0 ? 0x7f807f80U : (r & 2) != 0 ? 0x80808080U : 0xffffffffU;
      out[i++] = x;
      continue;
    }
    if (bits == 64) {
      const std::uint64_t x = draw(f, cls, which == 'c', mix(seed + i));
      out[i] = static_cast<std::uint32_t>(x), out[i + 1] = static_cast<std::uint32_t>(x >> 32);
      i += 2;
      continue;
    }
    for (unsigned e = 0; e < 32; e += bits) {
      const std::uint64_t r = mix(seed + i * 8 + e / 4);
      std::uint64_t x = draw(f, cls, which == 'c', r) << f.spare;
      if (f.spare != 0 && cls % 2 == 1) x |= mix(r + 1) & ((1U << f.spare) - 1);
      out[i] |= static_cast<std::uint32_t>(x) << e;
    }
    ++i;
  }
  return out;
}

std::vector<std::uint8_t> load_images(unsigned bits) {
  std::vector<std::uint8_t> out(std::size_t{kLoadImages} * kImageBytes);
  for (std::size_t p = 0; p < kLoadImages; ++p)
    for (std::size_t byte = 0; byte < kImageBytes; ++byte)
      for (unsigned bit = 0; bit < 8; ++bit)
        if ((((byte * 8 + bit) / bits) >> p & 1) != 0)
          out[p * kImageBytes + byte] |= static_cast<std::uint8_t>(1U << bit);
  return out;
}

unsigned element_bits(std::string_view type) { return bits_of(type); }

std::uint32_t digest(std::span<const std::uint32_t> words) {
  static const auto table = [] {
    std::array<std::uint32_t, 256> t{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      t[i] = i;
      for (int k = 0; k < 8; ++k) t[i] = t[i] >> 1 ^ ((t[i] & 1) != 0 ? 0xedb88320U : 0);
    }
    return t;
  }();
  std::uint32_t crc = 0xffffffff;
  for (const std::uint32_t word : words)
    for (unsigned shift = 0; shift < 32; shift += 8) crc = crc >> 8 ^ table[(crc ^ word >> shift) & 0xff];
  return ~crc;
}

std::map<std::string, std::vector<std::uint32_t>> recorded_matrices(const std::string& file) {
  std::map<std::string, std::vector<std::uint32_t>> out;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const auto tab = line.find('\t');
    if (line.empty() || line[0] == '#' || tab == std::string::npos) continue;
    std::istringstream digests(line.substr(tab + 1));
    auto& all = out[line.substr(0, tab)];
    for (std::string word; digests >> word;) all.push_back(static_cast<std::uint32_t>(std::stoul(word, nullptr, 16)));
  }
  return out;
}

}  // namespace warploom::test

// Matrix instructions over whole warps: fragments to matrices and back, and the products between.
#include "codegen/matrix_calls.hpp"

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "codegen/matrix_product.hpp"

namespace warploom::codegen {

using isa::MatrixForm;
using Kind = MatrixForm::Kind;
using Matrix = MatrixForm::Matrix;

MatrixRows matrix_rows(const MatrixForm& f) {
  if (f.kind == Kind::load_rows || f.kind == Kind::store_rows) return {f.count * (f.m == 16 ? 16U : 8U), 16};
  const unsigned rows = f.rows(f.matrix), columns = f.columns(f.matrix), bits = isa::bits(f.type(f.matrix));
  return f.a_column ? MatrixRows{columns, rows * bits / 8} : MatrixRows{rows, columns * bits / 8};
}

namespace {

// Where element e of a lane lies: its row among MatrixRows, and the bits before it there.
struct Spot {
  unsigned row, bit;
};
class Spots {
 public:
  explicit Spots(const MatrixForm& f)
      : places_(isa::fragment_places(f, f.matrix)),
        rows_(f.rows(f.matrix)),
        columns_(f.columns(f.matrix)),
        bits_(isa::bits(f.type(f.matrix))),
        by_column_(f.a_column) {}
  [[nodiscard]] std::size_t elements() const { return places_.size() / 32; }
  [[nodiscard]] Spot of(std::size_t element, unsigned lane) const {
    const unsigned place = places_[element * 32 + lane], row = place / columns_, column = place % columns_;
    return by_column_ ? Spot{column, row * bits_} : Spot{row, column * bits_};
  }
  // Elements e to e + count - 1 stand one behind the other, in every lane, where an access to all of them may begin.
  [[nodiscard]] bool adjoin(std::size_t e, std::size_t count) const {
    for (unsigned lane = 0; lane < 32; ++lane) {
      const Spot first = of(e, lane);
      if (first.bit % (bits_ * count) != 0) return false;
      for (std::size_t k = 1; k < count; ++k) {
        const Spot next = of(e + k, lane);
        if (next.row != first.row || next.bit != first.bit + k * bits_) return false;
      }
    }
    return true;
  }

 private:
  std::vector<std::uint16_t> places_;
  unsigned rows_, columns_, bits_;
  bool by_column_;
};

}  // namespace

std::vector<MatrixRequest> matrix_requests(const MatrixForm& f, bool in_shared) {
  const MatrixRows rows = matrix_rows(f);
  const Spots spots(f);
  const unsigned bits = isa::bits(f.type(f.matrix));
  const bool factor = f.matrix == Matrix::a || f.matrix == Matrix::b;
  std::vector<MatrixRequest> all;
  if (bits == 16 || (bits < 16 && spots.adjoin(0, 32 / bits))) {
    const unsigned columns = rows.bytes / 16, blocks = rows.count / 8 * columns;
    for (unsigned block = 0; block < blocks; ++block) {
      const bool whole_rows = factor && in_shared;
      if (!whole_rows || block % 4 == 0) all.push_back({whole_rows ? 0U : 32U, whole_rows ? 16U : 4U, {}, {}});
      MatrixRequest& r = all.back();
      const unsigned first = whole_rows ? r.lanes : 0, count = whole_rows ? 8 : 32;
      for (unsigned l = 0; l < count; ++l) {
        r.row[first + l] = static_cast<std::uint16_t>(block / columns * 8 + (whole_rows ? l : l / 4));
        r.offset[first + l] = static_cast<std::uint16_t>(block % columns * 16 + (whole_rows ? 0 : l % 4 * 4));
      }
      if (whole_rows) r.lanes += 8;
    }
    return all;
  }
  for (std::size_t e = 0; e < spots.elements();) {
    const std::size_t count = bits >= 32 && e + 1 < spots.elements() && spots.adjoin(e, 2) ? 2 : 1;
    MatrixRequest r{32, static_cast<unsigned>(count) * bits / 8, {}, {}};
    for (unsigned l = 0; l < 32; ++l) {
      r.row[l] = static_cast<std::uint16_t>(spots.of(e, l).row);
      r.offset[l] = static_cast<std::uint16_t>(spots.of(e, l).bit / 8);
    }
    all.push_back(r);
    e += count;
  }
  return all;
}

namespace {

// Calls move(element in the rows, element in the registers) for what a load or store moves, `unit` bytes each.
template <class Move>
void each_moved(const MatrixForm& f, Move move) {
  if (f.kind == Kind::load_rows || f.kind == Kind::store_rows) {
    const unsigned words = f.words(Matrix::d);
    if (f.m == 8) {
      for (unsigned w = 0; w < words; ++w)
        for (unsigned lane = 0; lane < 32; ++lane)
          for (unsigned half = 0; half < 2; ++half) {
            const unsigned row = lane / 4, column = lane % 4 * 2 + half;
            move(64 * w + (f.transposed ? 8 * column + row : 8 * row + column), 64 * w + 2 * lane + half);
          }
      return;
    }
    // Transposed bytes: registers hold columns of 16.
    for (unsigned w = 0; w < words; ++w)
      for (unsigned lane = 0; lane < 32; ++lane)
        for (unsigned byte = 0; byte < 4; ++byte) {
          const unsigned per_matrix = f.n == 16 ? 2 : 1, matrix = w / per_matrix, part = w % per_matrix;
          const unsigned column = lane / 4 + 8 * part, row = lane % 4 * 4 + byte;
          move(f.n == 16 ? 256 * matrix + 16 * row + column : 128 * matrix + 8 * row + column,
               128 * w + 4 * lane + byte);
        }
    return;
  }
  const unsigned bits = isa::bits(f.type(f.matrix)), rows = f.rows(f.matrix), columns = f.columns(f.matrix);
  const auto places = isa::fragment_places(f, f.matrix);
  // Less than a byte: the words of a lane are whole in memory too.
  const unsigned step = bits < 8 ? 32 / bits : 1, each = bits < 32 ? 32 / bits : 1;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const std::size_t e = i / 32, lane = i % 32;
    if (e % step != 0) continue;
    const unsigned row = places[i] / columns, column = places[i] % columns;
    const std::size_t memory = f.a_column ? column * rows + row : places[i];
    if (bits < 8)
      move(static_cast<unsigned>(memory / step), static_cast<unsigned>(e / step * 32 + lane));
    else
      move(static_cast<unsigned>(memory), static_cast<unsigned>((e / each * 32 + lane) * each + e % each));
  }
}

unsigned unit_bytes(const MatrixForm& f) {
  const unsigned bits = isa::bits(f.type(f.matrix));
  if (f.kind == Kind::load_rows || f.kind == Kind::store_rows) return f.m == 8 ? 2 : 1;
  return bits < 8 ? 4 : bits / 8;
}

// Tables of the forms that have been met. They stay until the process ends.
struct Moves {
  unsigned unit = 0;
  std::vector<std::pair<std::uint16_t, std::uint16_t>> pairs;  // in the rows, in the registers
};

const Moves& moves_of(std::uint64_t packed) {
  struct Known {
    std::atomic<std::uint64_t> form{0};
    std::atomic<const Moves*> moves{nullptr};
  };
  static std::array<Known, 256> quick;
  Known& slot = quick[packed * 0x9e3779b97f4a7c15ULL >> 56];
  if (const Moves* m = slot.moves.load(std::memory_order_acquire);
      m != nullptr && slot.form.load(std::memory_order_relaxed) == packed)
    return *m;
  static std::mutex mutex;
  static std::unordered_map<std::uint64_t, std::unique_ptr<const Moves>> all;
  const std::lock_guard lock(mutex);
  auto& entry = all[packed];
  if (entry == nullptr) {
    auto fresh = std::make_unique<Moves>();
    const MatrixForm f = MatrixForm::unpack(packed);
    fresh->unit = unit_bytes(f);
    each_moved(f, [&](unsigned in_rows, unsigned in_registers) {
      fresh->pairs.emplace_back(static_cast<std::uint16_t>(in_rows), static_cast<std::uint16_t>(in_registers));
    });
    entry = std::move(fresh);
  }
  // A slot belongs to the first form that takes it.
  std::uint64_t none = 0;
  if (slot.form.compare_exchange_strong(none, packed)) slot.moves.store(entry.get(), std::memory_order_release);
  return *entry;
}

template <class Unit>
void spread(const Moves& m, const void* rows, void* registers) {
  const auto* from = static_cast<const Unit*>(rows);
  auto* to = static_cast<Unit*>(registers);
  for (const auto& [in_rows, in_registers] : m.pairs) to[in_registers] = from[in_rows];
}
template <class Unit>
void collect(const Moves& m, const void* registers, void* rows) {
  const auto* from = static_cast<const Unit*>(registers);
  auto* to = static_cast<Unit*>(rows);
  for (const auto& [in_rows, in_registers] : m.pairs) to[in_rows] = from[in_registers];
}

}  // namespace
}  // namespace warploom::codegen

extern "C" {

using namespace warploom::codegen;

void warploom_matrix_multiply(std::uint64_t form, void* d, const void* a, const void* b, const void* c,
                              const std::uint32_t* metadata) {
  multiply_fragments(form, d, a, b, c, metadata);
}

void warploom_matrix_spread(std::uint64_t form, const void* rows, void* registers) {
  const Moves& m = moves_of(form);
  switch (m.unit) {
    case 1: return spread<std::uint8_t>(m, rows, registers);
    case 2: return spread<std::uint16_t>(m, rows, registers);
    case 4: return spread<std::uint32_t>(m, rows, registers);
    default: return spread<std::uint64_t>(m, rows, registers);
  }
}

void warploom_matrix_collect(std::uint64_t form, const void* registers, void* rows) {
  const Moves& m = moves_of(form);
  switch (m.unit) {
    case 1: return collect<std::uint8_t>(m, registers, rows);
    case 2: return collect<std::uint16_t>(m, registers, rows);
    case 4: return collect<std::uint32_t>(m, registers, rows);
    default: return collect<std::uint64_t>(m, registers, rows);
  }
}

void warploom_matrix_transpose(const std::uint32_t* from, std::uint32_t* to) {
  const auto half = [](const std::uint32_t* words, unsigned row, unsigned column) {
    return words[4 * row + column / 2] >> 16 * (column % 2) & 0xffff;
  };
  std::uint32_t out[32];
  for (unsigned lane = 0; lane < 32; ++lane)
    out[lane] = half(from, lane % 4 * 2, lane / 4) | half(from, lane % 4 * 2 + 1, lane / 4) << 16;
  std::memcpy(to, out, sizeof out);
}

}  // extern "C"

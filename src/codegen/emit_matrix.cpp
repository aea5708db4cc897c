// Matrix instructions of a warp: products are native functions over whole fragments; memory is read and written here,
// so that faults lead back to the instruction (PTX ISA sections 9.7.14.4 and 9.7.14.5).
#include <algorithm>
#include <cstddef>

#include "codegen/emitter.hpp"
#include "codegen/matrix_calls.hpp"
#include "isa/matrix.hpp"

namespace warploom::codegen {

using ir::Inst;
using isa::MatrixForm;
using isa::Type;
using Kind = MatrixForm::Kind;
using Matrix = MatrixForm::Matrix;

namespace {

// Room for the fragments of one instruction, the largest being those of mma.m16n8k16.f64.
constexpr std::uint64_t kScratchBytes = 8192;
constexpr unsigned kChunk = 16;  // bytes of a row that are counted as one lane's access; those of .b8 may be shorter

constexpr std::uint32_t lanes_below(unsigned n) { return n >= 32 ? 0xFFFFFFFF : (1U << n) - 1; }

// Of an 8 x 8 matrix of 16 bits in the registers of 32 lanes, two elements to a lane.
std::vector<int> transposition() {
  std::vector<int> out;
  for (int row = 0; row < 8; ++row)
    for (int column = 0; column < 8; ++column) out.push_back(8 * column + row);
  return out;
}

}  // namespace

llvm::Value* Emitter::matrix_scratch(std::uint64_t offset) {
  if (matrix_scratch_ == nullptr) {
    matrix_scratch_ = entry_alloca(llvm::ArrayType::get(b_.getInt8Ty(), kScratchBytes), "fragments");
    matrix_scratch_->setAlignment(llvm::Align(64));
  }
  return b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), matrix_scratch_, offset);
}

// Registers of a fragment into the scratch; gives where they begin.
llvm::Value* Emitter::put_fragment(const Inst& inst, std::size_t k, std::uint64_t& end) {
  const bool is64 = inst.p.operands[k].kind != ptx::Operand::Kind::imm && matrix_type(inst, k) == Type::f64;
  const std::uint64_t start = end;
  for (const ptx::Operand* o : ptx::elements_of(inst.p.operands[k])) {
    b_.CreateAlignedStore(operand(inst, *o, -1, is64 ? Type::b64 : Type::b32, true), matrix_scratch(end),
                          llvm::Align(64));
    end += is64 ? 256 : 128;
  }
  return matrix_scratch(start);
}

Type Emitter::matrix_type(const Inst& inst, std::size_t k) {
  const auto f = isa::matrix_form(inst.p.op, inst.p.mods, inst.p.types, inst.p.type_count);
  if (f->kind != Kind::multiply) return f->d;
  return k == 0 ? f->d : k == 1 ? f->a : k == 2 ? f->b : k == 3 ? f->c : Type::b32;
}

void Emitter::take_fragment(const Inst& inst, std::size_t k, std::uint64_t at) {
  const bool is64 = matrix_type(inst, k) == Type::f64;
  llvm::Type* type = wide(is64 ? b_.getInt64Ty() : b_.getInt32Ty());
  for (const ptx::Operand* o : ptx::elements_of(inst.p.operands[k])) {
    if (o->kind == ptx::Operand::Kind::reg)
      write(inst, o->reg, b_.CreateAlignedLoad(type, matrix_scratch(at), llvm::Align(64)),
            is64 ? Type::b64 : Type::b32);
    at += is64 ? 256 : 128;
  }
}

// All 32 lanes must be here, or the launch ends.
void Emitter::demand_whole_warp(const Lanes& lanes) {
  if (lanes.mask == nullptr) return;
  llvm::BasicBlock* part = new_block("part_of_warp");
  llvm::BasicBlock* whole = new_block("whole_warp");
  b_.CreateCondBr(b_.CreateICmpEQ(lanes.mask, b_.getInt32(0xFFFFFFFF)), whole, part);
  b_.SetInsertPoint(part);
  call_host("warploom_partial_warp", b_.getVoidTy(),
            {ctx_, lanes.mask, b_.getInt32(static_cast<std::uint32_t>(block_)),
             b_.getInt32(static_cast<std::uint32_t>(index_))});
  leave(Exit::error);
  b_.SetInsertPoint(whole);
}

// Tells the checker and the counters of an access of `bytes` by each of `lanes`.
void Emitter::probe_rows(const Inst& inst, Value* addresses, isa::Space space, std::uint32_t lanes, unsigned bytes) {
  if (inst.site < 0 || (!plan_.checking && !plan_.counting)) return;
  Address a;
  a.shape.kind = ir::Shape::Kind::varying;
  a.wide = addresses;
  a.space = space;
  Lanes who;
  who.mask = b_.getInt32(lanes);
  who.bits = to_lane_bits(who.mask);
  if (plan_.checking) check_access(inst, a, who, bytes);
  if (!plan_.counting) return;
  const CounterLayout layout{plan_.f().blocks.size(), plan_.sites.size()};
  count_by_address(inst, a, who, bytes, layout.site(static_cast<std::size_t>(inst.site)));
}

// wmma.load and wmma.store: rows (or columns) a stride apart, through the scratch.
void Emitter::emit_fragment_access(const Inst& inst, const MatrixForm& form) {
  const bool loads = form.kind == Kind::load;
  const std::size_t at = loads ? 1 : 0;
  const MatrixRows rows = matrix_rows(form);
  const auto scalar = [&](Value* v) {
    return v->getType()->isVectorTy() ? b_.CreateExtractElement(v, std::uint64_t{0}) : v;
  };
  const Address a = address(inst, at, ptx::space_of(inst.p));
  Value* base = a.shape.uniform() ? a.base : scalar(address_lanes(a));
  Value* stride = b_.getInt64(rows.bytes);
  if (inst.p.operands.size() > 2) {
    const bool same = operand_is_uniform(inst.p.operands[2]);
    Value* elements = b_.CreateZExt(scalar(operand(inst, 2, Type::u32, !same)), b_.getInt64Ty());
    stride = b_.CreateLShr(b_.CreateMul(elements, b_.getInt64(isa::bits(form.d))), 3);
  }
  const unsigned chunk = std::min(kChunk, rows.bytes), in_row = rows.bytes / chunk;
  const auto is_odd = [&](Value* x) {
    return b_.CreateICmpNE(b_.CreateAnd(x, b_.getInt64(chunk - 1)), b_.getInt64(0));
  };
  stop_if_misaligned(is_odd(b_.CreateOr(base, stride)), b_.getInt32(0xFFFFFFFF), 1, chunk, [&] {
    return spill(b_.CreateSelect(is_odd(base), base, b_.CreateAdd(base, stride)), "misplaced");
  });
  // The checker looks at the rows, the counters at what a GPU would do.
  Address reached;
  reached.shape.kind = ir::Shape::Kind::varying;
  reached.space = a.space;
  Lanes who;
  const auto reach = [&](const std::vector<std::uint64_t>& row, const std::vector<std::uint64_t>& within, unsigned n) {
    Value* offsets = b_.CreateMul(splat(stride), llvm::ConstantDataVector::get(context_, row));
    reached.wide = b_.CreateAdd(splat(base), b_.CreateAdd(offsets, llvm::ConstantDataVector::get(context_, within)));
    who.mask = b_.getInt32(lanes_below(n));
    who.bits = to_lane_bits(who.mask);
  };
  for (unsigned first = 0; plan_.checking && inst.site >= 0 && first < rows.count * in_row; first += 32) {
    const unsigned lanes = std::min(32U, rows.count * in_row - first);
    std::vector<std::uint64_t> row(32), within(32);
    for (unsigned l = 0; l < 32; ++l) {
      const unsigned number = first + std::min(l, lanes - 1);
      row[l] = number / in_row, within[l] = std::uint64_t{number} % in_row * chunk;
    }
    reach(row, within, lanes);
    check_access(inst, reached, who, chunk);
  }
  if (plan_.counting && inst.site >= 0) {
    const CounterLayout layout{plan_.f().blocks.size(), plan_.sites.size()};
    for (const MatrixRequest& r : matrix_requests(form, a.space == isa::Space::shared)) {
      reach({r.row.begin(), r.row.end()}, {r.offset.begin(), r.offset.end()}, r.lanes);
      count_by_address(inst, reached, who, r.bytes, layout.site(static_cast<std::size_t>(inst.site)));
    }
  }
  constexpr std::uint64_t kRegisters = kScratchBytes / 2;
  std::uint64_t end = kRegisters;
  const llvm::Align align(chunk);
  Value* packed = b_.getInt64(form.pack());
  if (!loads) {
    put_fragment(inst, 1, end);
    call_host("warploom_matrix_collect", b_.getVoidTy(), {packed, matrix_scratch(kRegisters), matrix_scratch(0)});
  }
  for (unsigned r = 0; r < rows.count; ++r) {
    Value* place = pointer(b_.CreateAdd(base, b_.CreateMul(stride, b_.getInt64(r))));
    Value* kept = matrix_scratch(std::uint64_t{r} * rows.bytes);
    b_.CreateMemCpy(loads ? kept : place, align, loads ? place : kept, align, rows.bytes);
  }
  if (!loads) return;
  call_host("warploom_matrix_spread", b_.getVoidTy(), {packed, matrix_scratch(0), matrix_scratch(kRegisters)});
  take_fragment(inst, 0, kRegisters);
}

// ldmatrix and stmatrix: rows of 16 bytes at the lanes' addresses.
void Emitter::emit_row_access(const Inst& inst, const MatrixForm& form) {
  const bool loads = form.kind == Kind::load_rows;
  const MatrixRows rows = matrix_rows(form);
  isa::Space space = ptx::space_of(inst.p);
  const Address a = address(inst, loads ? 1 : 0, space);
  space = a.space;
  Value* addresses = address_lanes(a);
  const std::uint32_t used = lanes_below(rows.count);
  Value* odd = b_.CreateAnd(addresses, splat(b_.getInt64(kChunk - 1)));
  Value* bad = b_.CreateAnd(to_mask(b_.CreateICmpNE(odd, splat(b_.getInt64(0)))), b_.getInt32(used));
  stop_if_misaligned(b_.CreateICmpNE(bad, b_.getInt32(0)), b_.getInt32(used), 32, kChunk,
                     [&] { return spill(addresses, "misplaced"); });
  probe_rows(inst, addresses, space, used, kChunk);
  const auto place = [&](unsigned r) { return pointer(b_.CreateExtractElement(addresses, std::uint64_t{r})); };
  const llvm::Align align(kChunk);
  llvm::Type* row = llvm::FixedVectorType::get(b_.getInt32Ty(), 4);
  llvm::Type* halves = llvm::FixedVectorType::get(b_.getInt16Ty(), 64);
  const auto turned = [&](Value* words) {
    if (!form.transposed) return words;
    Value* x = b_.CreateShuffleVector(b_.CreateBitCast(words, halves), transposition());
    return b_.CreateBitCast(x, wide(b_.getInt32Ty()));
  };
  const auto registers = ptx::elements_of(inst.p.operands[loads ? 0 : 1]);
  if (form.m == 8) {
    std::vector<std::pair<ir::ValueId, Value*>> results;
    for (unsigned i = 0; i < form.count; ++i) {
      if (loads) {
        std::vector<Value*> parts;
        for (unsigned r = 0; r < 8; ++r) parts.push_back(b_.CreateAlignedLoad(row, place(8 * i + r), align));
        Value* words = turned(concatenate(std::move(parts)));
        if (registers[i]->kind == ptx::Operand::Kind::reg) results.emplace_back(registers[i]->reg, words);
        continue;
      }
      Value* words = turned(operand(inst, *registers[i], -1, Type::b32, true));
      for (unsigned r = 0; r < 8; ++r) {
        const int first = static_cast<int>(4 * r);
        b_.CreateAlignedStore(b_.CreateShuffleVector(words, {first, first + 1, first + 2, first + 3}), place(8 * i + r),
                              align);
      }
    }
    for (const auto& [reg, words] : results) write(inst, reg, words, Type::b32);
    return;
  }
  constexpr std::uint64_t kRegisters = kScratchBytes / 2;
  std::uint64_t end = kRegisters;
  Value* packed = b_.getInt64(form.pack());
  if (!loads) {
    put_fragment(inst, 1, end);
    call_host("warploom_matrix_collect", b_.getVoidTy(), {packed, matrix_scratch(kRegisters), matrix_scratch(0)});
  }
  for (unsigned r = 0; r < rows.count; ++r) {
    Value* kept = matrix_scratch(std::uint64_t{kChunk} * r);
    if (loads)
      b_.CreateAlignedStore(b_.CreateAlignedLoad(row, place(r), align), kept, align);
    else
      b_.CreateAlignedStore(b_.CreateAlignedLoad(row, kept, align), place(r), align);
  }
  if (!loads) return;
  call_host("warploom_matrix_spread", b_.getVoidTy(), {packed, matrix_scratch(0), matrix_scratch(kRegisters)});
  take_fragment(inst, 0, kRegisters);
}

Result<void> Emitter::emit_matrix(const Inst& inst) {
  auto form = isa::matrix_form(inst.p.op, inst.p.mods, inst.p.types, inst.p.type_count);
  if (!form) return unsupported(inst, "");
  with_guard(inst, [&](const Lanes& lanes) {
    demand_whole_warp(lanes);
    switch (form->kind) {
      case Kind::load:
      case Kind::store: emit_fragment_access(inst, *form); return;
      case Kind::load_rows:
      case Kind::store_rows: emit_row_access(inst, *form); return;
      case Kind::transpose: {
        llvm::Type* halves = llvm::FixedVectorType::get(b_.getInt16Ty(), 64);
        Value* x = b_.CreateBitCast(operand(inst, 1, Type::b32, true), halves);
        x = b_.CreateBitCast(b_.CreateShuffleVector(x, transposition()), wide(b_.getInt32Ty()));
        write(inst, inst.p.operands[0].reg, x, Type::b32);
        return;
      }
      case Kind::multiply: break;
    }
    std::uint64_t end = 0;
    Value* a = put_fragment(inst, 1, end);
    Value* b = put_fragment(inst, 2, end);
    Value* c = put_fragment(inst, 3, end);
    Value* metadata = matrix_scratch(0);
    if (form->sparse) {
      metadata = put_fragment(inst, 4, end);
      form->selector = static_cast<std::uint8_t>(inst.p.operands[5].imm & 3);
    }
    call_host("warploom_matrix_multiply", b_.getVoidTy(),
              {b_.getInt64(form->pack()), matrix_scratch(end), a, b, c, metadata});
    take_fragment(inst, 0, end);
  });
  return {};
}

}  // namespace warploom::codegen

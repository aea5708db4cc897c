// Values in the save area: what is saved and restored where a version is left and entered, and what stays there.
#include <cstddef>

#include "codegen/emitter.hpp"

namespace warploom::codegen {

using ir::BlockId;
using ir::ValueId;

namespace {

std::size_t idx(std::int32_t i) { return static_cast<std::size_t>(i); }

// Above this the values of the masked version stay in the save area. Lessons and benchmarks have up to 1610, but for
// attention with more than 36000.
constexpr std::size_t kMostMerges = 4096;

}  // namespace

Emitter::LiveSet Emitter::everything() const {
  const auto& live_in = plan_.f().live_in;
  LiveSet all(live_in[0].size(), 0);
  for (const auto& live : live_in)
    for (std::size_t w = 0; w < all.size(); ++w) all[w] |= live[w];
  return all;
}

llvm::Value* Emitter::save_area() {
  const bool conservative = mode_ == Mode::conservative;
  return field(conservative ? offsetof(WarpContext, wide_slots) : offsetof(WarpContext, slots), b_.getPtrTy(), true);
}

llvm::Value* Emitter::load_saved(Value* area, ValueId v) {
  const Slot& s = mode_ == Mode::conservative ? plan_.wide_slots[idx(v)] : plan_.slots[idx(v)];
  Value* at = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), area, s.offset);
  const bool is_wide = shape(v).varying(), is_pred = plan_.storage[idx(v)] == isa::Type::pred;
  // In the conservative area a uniform value stands in every lane.
  llvm::Type* type = is_pred ? b_.getInt32Ty() : is_wide ? wide(storage_type(v)) : storage_type(v);
  llvm::LoadInst* load = b_.CreateAlignedLoad(type, at, llvm::Align(s.bytes >= 64 ? 64 : 4));
  if (stays_saved(v)) load->setMetadata(llvm::LLVMContext::MD_alias_scope, saved_scope_);
  // Else a blend of what is loaded becomes a masked store, which the next load must wait for.
  if (!is_pred) return is_wide && stays_saved(v) ? b_.CreateFreeze(load) : load;
  return is_wide ? to_lane_bits(load) : b_.CreateTrunc(load, b_.getInt1Ty());
}

void Emitter::store_saved(Value* area, ValueId v, Value* value) {
  const Slot& s = mode_ == Mode::conservative ? plan_.wide_slots[idx(v)] : plan_.slots[idx(v)];
  Value* at = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), area, s.offset);
  if (plan_.storage[idx(v)] == isa::Type::pred)
    value = value->getType()->isVectorTy() ? to_mask(value) : b_.CreateZExt(value, b_.getInt32Ty());
  llvm::StoreInst* store = b_.CreateAlignedStore(value, at, llvm::Align(s.bytes >= 64 ? 64 : 4));
  if (stays_saved(v)) store->setMetadata(llvm::LLVMContext::MD_alias_scope, saved_scope_);
}

void Emitter::save(const LiveSet& live) {
  Value* area = save_area();
  for (std::size_t v = 0; v < plan_.f().values.size(); ++v) {
    const auto id = static_cast<ValueId>(v);
    if (((live[v / 64] >> (v % 64)) & 1U) == 0 || stays_saved(id)) continue;
    store_saved(area, id, mode_ == Mode::conservative || shape(id).varying() ? load_wide(id) : load_base(id));
  }
}

void Emitter::restore(const LiveSet& live) {
  Value* area = save_area();
  for (std::size_t v = 0; v < plan_.f().values.size(); ++v) {
    const auto id = static_cast<ValueId>(v);
    if (((live[v / 64] >> (v % 64)) & 1U) == 0 || stays_saved(id)) continue;
    b_.CreateStore(load_saved(area, id), slot(id));
  }
}

// Of a kernel with many values and blocks LLVM would take most of its time to merge the values at each block of the
// masked version and to store them all at each of its ways out.
bool Emitter::has_many_merges() const {
  std::size_t places = 0, values = 0;
  for (std::size_t b = 0; b < plan_.f().blocks.size(); ++b)
    if (!continues(static_cast<BlockId>(b))) places += plan_.f().blocks[b].starts_with_sync ? 2 : 1;
  for (std::size_t v = 0; v < plan_.crosses.size(); ++v)
    if (plan_.crosses[v] && shape(static_cast<ValueId>(v)).varying()) ++values;
  return places * values > kMostMerges;
}

// What the kernel reads before it writes it is zero.
void Emitter::clear_saved() {
  for (std::size_t v = 0; v < plan_.f().values.size(); ++v) {
    const auto id = static_cast<ValueId>(v);
    if (stays_saved(id) && plan_.f().is_live_in(0, id))
      store_saved(saved_area_, id, llvm::Constant::getNullValue(variable_type(id)));
  }
}

llvm::Value* Emitter::load_value(ValueId v) {
  if (stays_saved(v) && body_start_ == nullptr) return load_saved(saved_area_, v);
  return b_.CreateLoad(variable_type(v), slot(v));
}

void Emitter::store_value(ValueId v, Value* value) {
  if (stays_saved(v) && body_start_ == nullptr) {
    store_saved(saved_area_, v, value);
    return;
  }
  b_.CreateStore(value, slot(v));
  if (stays_saved(v)) written_[idx(v)] = true;
}

// Values that stay in the save area are variables for the length of one block: loaded at its start, stored at its end.
void Emitter::open_body() {
  if (saved_area_ == nullptr) return;
  body_start_ = b_.CreateIntrinsic(b_.getVoidTy(), llvm::Intrinsic::donothing, {});
  written_.assign(plan_.f().values.size(), false);
}

void Emitter::close_body() {
  if (saved_area_ == nullptr) return;
  for (std::size_t v = 0; v < values_.size(); ++v) {
    const auto id = static_cast<ValueId>(v);
    if (!stays_saved(id) || values_[v] == nullptr) continue;
    if (written_[v]) store_saved(saved_area_, id, load_value(id));
    values_[v] = nullptr;
  }
  body_start_->eraseFromParent();
  body_start_ = nullptr;
}

}  // namespace warploom::codegen

// Operands of the instructions that functions of the host do.
#include "codegen/native.hpp"

namespace warploom::codegen {
namespace {

using isa::Mod;
using isa::Op;
using isa::Space;
using isa::Type;
using Kind = NativeOperand::Kind;

class Describe {
 public:
  explicit Describe(const ptx::Instr& p) : p_(p) {}

  NativeCall run() {
    switch (p_.op) {
      case Op::cp: copy(); break;
      case Op::mbarrier: mbarrier(); break;
      case Op::mapa:
      case Op::getctarank:
        call_.function = p_.op == Op::mapa ? "warploom_mapa" : "warploom_getctarank";
        call_.what = p_.has(Mod::shared__cluster) ? 0 : 1;
        result(0);
        // The name of a variable gives its place in the window.
        if (p_.operands[1].kind == ptx::Operand::Kind::symbol) call_.what |= 2;
        source(1, p_.type());
        if (p_.op == Op::mapa) source(2, Type::u32);
        break;
      case Op::isspacep:
        call_.function = "warploom_isspacep";
        call_.what = static_cast<std::uint64_t>(ptx::space_of(p_));
        result(0);
        source(1, Type::u64);
        break;
      case Op::barrier: call_.function = "warploom_cluster_arrive"; break;
      case Op::st:
      case Op::red: remote(); break;
      default: break;
    }
    return std::move(call_);
  }

 private:
  void result(std::size_t k) {
    const ptx::Operand& o = p_.operands[k];
    call_.operands.push_back({Kind::result, k, &o, ptx::operand_type(p_, k), {}, 0});
  }
  void source(std::size_t k, Type type) { call_.operands.push_back({Kind::source, k, &p_.operands[k], type, {}, 0}); }
  void address(std::size_t k, Space space) {
    call_.operands.push_back({Kind::address, k, &p_.operands[k], Type::u64, space, 0});
  }
  void constant(std::uint64_t value) { call_.operands.push_back({Kind::constant, 0, nullptr, Type::u64, {}, value}); }
  void traffic(Space space, observe::AccessKind kind, std::uint32_t bytes) {
    call_.accesses.push_back({space, kind, bytes});
  }

  [[nodiscard]] BulkOp bulk_op() const {
    return p_.has(Mod::add)    ? BulkOp::add
           : p_.has(Mod::min)  ? BulkOp::min
           : p_.has(Mod::max)  ? BulkOp::max
           : p_.has(Mod::inc)  ? BulkOp::inc
           : p_.has(Mod::dec)  ? BulkOp::dec
           : p_.has(Mod::and_) ? BulkOp::and_
           : p_.has(Mod::or_)  ? BulkOp::or_
                               : BulkOp::xor_;
  }

  void copy() {
    if (p_.has(Mod::mbarrier)) {
      call_.function = "warploom_mbarrier";
      call_.what = static_cast<std::uint64_t>(MbarrierOp::arrive) | kMbarrierCopy |
                   (p_.has(Mod::noinc) ? 0 : kMbarrierNoComplete);
      address(0, ptx::space_of(p_));
      constant(1);
      return;
    }
    if (p_.has(Mod::commit_group) || p_.has(Mod::wait_group) || p_.has(Mod::wait_all) || p_.has(Mod::prefetch)) return;
    if (!p_.has(Mod::bulk)) return partial_copy();
    const bool in = p_.has(Mod::shared__cluster_global) || p_.has(Mod::shared__cta_global);
    const bool peer = p_.has(Mod::shared__cluster_shared__cta);
    call_.function = p_.has(Mod::reduce) ? "warploom_bulk_reduce" : "warploom_bulk_copy";
    call_.what = (in || peer ? kBulkToShared : 0) | (in ? 0 : kBulkFromShared) |
                 (p_.has(Mod::multicast__cluster) ? kBulkMulticast : 0) | (p_.has(Mod::cp_mask) ? kBulkBytes : 0);
    address(0, in || peer ? Space::shared : Space::global);
    address(1, in ? Space::global : Space::shared);
    source(2, Type::u32);
    if (in || peer)
      address(3, Space::shared);
    else
      constant(0);
    const std::size_t last = p_.operands.size() - 1;
    if (p_.has(Mod::multicast__cluster))
      source(4, Type::u16);
    else if (p_.has(Mod::cp_mask))
      source(last, Type::u16);
    else
      constant(0);
    traffic(in ? Space::global : Space::shared, observe::AccessKind::load, 16);
    if (p_.has(Mod::reduce)) call_.what |= bulk_reduction(bulk_op(), p_.type());
    traffic(in || peer ? Space::shared : Space::global,
            p_.has(Mod::reduce) ? observe::AccessKind::reduction : observe::AccessKind::store, 16);
  }

  // Of a source that may be short or left out; other copies are loads and stores in the IR.
  void partial_copy() {
    call_.function = "warploom_copy";
    const auto bytes = static_cast<std::uint32_t>(p_.operands[2].imm);
    call_.what = bytes;
    address(0, Space::shared);
    address(1, Space::global);
    const Type type = ptx::operand_type(p_, 3);
    if (type == Type::pred) call_.what |= 0x100;
    source(3, type);
    traffic(Space::global, observe::AccessKind::load, bytes);
    traffic(Space::shared, observe::AccessKind::store, bytes);
  }

  void mbarrier() {
    call_.function = "warploom_mbarrier";
    const Space space = ptx::space_of(p_);
    const auto op = [&](MbarrierOp o) { call_.what |= static_cast<std::uint64_t>(o); };
    if (p_.has(Mod::pending_count)) {
      op(MbarrierOp::pending_count);
      result(0);
      source(1, Type::b64);
      return;
    }
    if (p_.has(Mod::test_wait) || p_.has(Mod::try_wait)) {
      op(MbarrierOp::test);
      if (p_.has(Mod::parity)) call_.what |= kMbarrierParity;
      result(0);
      address(1, space);
      source(2, p_.has(Mod::parity) ? Type::u32 : Type::b64);
      return;
    }
    if (p_.has(Mod::arrive) || p_.has(Mod::arrive_drop)) {
      op(MbarrierOp::arrive);
      if (p_.has(Mod::arrive_drop)) call_.what |= kMbarrierDrop;
      if (p_.has(Mod::noComplete)) call_.what |= kMbarrierNoComplete;
      if (p_.has(Mod::expect_tx)) call_.what |= kMbarrierExpect;
      const std::size_t at = p_.operands[0].kind == ptx::Operand::Kind::address ? 0 : 1;
      if (at == 1 && p_.operands[0].kind == ptx::Operand::Kind::reg) result(0);
      address(at, space);
      if (p_.operands.size() > at + 1)
        source(at + 1, Type::u32);
      else
        constant(1);
      return;
    }
    op(p_.has(Mod::init)        ? MbarrierOp::init
       : p_.has(Mod::inval)     ? MbarrierOp::inval
       : p_.has(Mod::expect_tx) ? MbarrierOp::expect_tx
                                : MbarrierOp::complete_tx);
    address(0, space);
    if (p_.operands.size() > 1)
      source(1, Type::u32);
    else
      constant(0);
  }

  // Stores and reductions that tell an mbarrier of the bytes they have written; st.bulk, which writes zeros.
  void remote() {
    address(0, Space::shared);
    if (p_.has(Mod::bulk)) {
      call_.function = "warploom_store_zeros";
      source(1, Type::u64);
      traffic(Space::shared, observe::AccessKind::store, 16);
      return;
    }
    const bool reduces = p_.op == Op::red;
    call_.function = reduces ? "warploom_reduce_remote" : "warploom_store_remote";
    address(2, Space::shared);
    const auto elements = ptx::elements_of(p_.operands[1]);
    const Type type = p_.type();
    for (const ptx::Operand* e : elements) call_.operands.push_back({Kind::source, 1, e, type, {}, 0});
    const auto bytes = static_cast<std::uint32_t>(isa::bytes(type));
    call_.what = bytes | elements.size() << 4;
    if (reduces) call_.what = bulk_reduction(bulk_op(), type);
    traffic(Space::shared, reduces ? observe::AccessKind::reduction : observe::AccessKind::store,
            static_cast<std::uint32_t>(bytes * elements.size()));
  }

  const ptx::Instr& p_;
  NativeCall call_;
};

}  // namespace

NativeCall native_call(const ptx::Instr& p) { return Describe(p).run(); }

}  // namespace warploom::codegen

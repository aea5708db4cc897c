// Takes parts, masks and secondary operations out of video instructions (PTX ISA sections 9.7.17 and 9.7.18).
#include "ir/expansion.hpp"

namespace warploom::ir {
namespace {

using isa::Mod;
using isa::Op;
using isa::Type;
using ptx::Operand;

class VideoExpansion : Expansion {
 public:
  using Expansion::Expansion;

  bool run(unsigned lanes) {
    whole_.resize(p_.operands.size());
    bool parts = false;
    for (std::size_t k = 0; k < p_.operands.size(); ++k) {
      whole_[k] = p_.operands[k];
      whole_[k].select = {};
      parts = parts || p_.operands[k].select.count != 0;
    }
    const bool second = p_.has(Mod::add) || p_.has(Mod::min) || p_.has(Mod::max);
    const bool whole_compared = p_.form == nullptr || p_.form->emit != "compound";
    if (lanes == 1) return p_.op == Op::vmad ? multiply(parts) : scalar(parts, second, whole_compared);
    return packed(lanes, parts);
  }

 private:
  std::vector<Operand> whole_;  // operands without their parts

  // The instruction itself on these operands.
  void core(std::vector<Operand> operands, bool keeps_second = false) {
    ptx::Instr q = p_;
    for (const Mod m : {Mod::add, Mod::min, Mod::max})
      if (!keeps_second) clear(q, m);
    q.operands = std::move(operands);
    add(std::move(q));
  }

  // Bits of the one part that the selector names.
  static unsigned bits(const ptx::Selector& s) { return s.count == 0 ? 32 : s.halves ? 16 : 8; }
  static unsigned position(const ptx::Selector& s) { return s.digits * bits(s); }

  Operand part_of(std::size_t k, Type type) {
    const ptx::Selector& s = p_.operands[k].select;
    if (s.count == 0) return whole_[k];
    Operand part = temporary();
    add(Op::bfe, {type}, {part, whole(k), number(position(s)), number(bits(s))});
    part.minus = whole_[k].minus;
    return part;
  }
  Operand whole(std::size_t k) const {
    Operand o = whole_[k];
    o.minus = false;
    return o;
  }

  // `in_one`: .min and .max compare more bits than the result of the rest has.
  bool scalar(bool parts, bool second, bool in_one) {
    in_one = in_one && second;
    if (!parts && (in_one || p_.operands.size() == 3)) return false;
    const bool is_set = p_.op == Op::vset;
    const Type d_type = is_set ? Type::u32 : p_.types[0];
    const Operand a = part_of(1, p_.types[is_set ? 0 : 1]), b = part_of(2, p_.types[is_set ? 1 : 2]);
    if (in_one) {
      core({whole_[0], a, b, whole_[3]}, true);
      return true;
    }
    const ptx::Selector& to = p_.operands[0].select;
    const Operand r = second || to.count != 0 ? temporary() : whole_[0];
    core({r, a, b});
    if (p_.has(Mod::add)) add(Op::add, {Type::u32}, {whole_[0], r, whole_[3]});
    if (p_.has(Mod::min)) add(Op::min, {d_type}, {whole_[0], r, whole_[3]});
    if (p_.has(Mod::max)) add(Op::max, {d_type}, {whole_[0], r, whole_[3]});
    if (to.count == 0) return true;
    if (p_.has(Mod::sat)) {
      const std::uint64_t high = (std::uint64_t{1} << (bits(to) - (isa::is_signed(d_type) ? 1 : 0))) - 1;
      add(Op::min, {d_type}, {r, r, number(high)});
      if (isa::is_signed(d_type)) add(Op::max, {d_type}, {r, r, number(~high)});
    }
    add(Op::bfi, {Type::b32}, {whole_[0], r, whole_[3], number(position(to)), number(bits(to))});
    return true;
  }

  // The sign of a product is one; its type says nothing of the result.
  bool multiply(bool parts) {
    const bool negated = whole_[1].minus != whole_[2].minus;
    if (!parts && !whole_[2].minus && p_.types[0] == Type::u32) return false;
    Operand a = part_of(1, p_.types[1]), b = part_of(2, p_.types[2]);
    a.minus = negated;
    b.minus = false;
    ptx::Instr q = p_;
    q.types[0] = Type::u32;
    q.operands = {whole_[0], a, b, whole_[3]};
    add(std::move(q));
    return true;
  }

  bool packed(unsigned lanes, bool parts) {
    const bool is_set = p_.op == Op::vset2 || p_.op == Op::vset4, accumulate = p_.has(Mod::add);
    if (!parts && !(is_set && accumulate)) return false;
    const Operand a = lanes_of(1, lanes), b = lanes_of(2, lanes), c = whole_[3];
    const std::uint64_t mask = mask_of(p_.operands[0].select, lanes);
    const bool all = mask == 0xffffffff;
    const Op sum = lanes == 2 ? Op::vadd2 : Op::vadd4;
    if (!accumulate) {
      const Operand r = all ? whole_[0] : temporary();
      core({r, a, b, c});
      if (!all) add(Op::lop3, {Type::b32}, {whole_[0], r, c, number(mask), number(0xe4)});
      return true;
    }
    if (is_set) {
      const Operand r = temporary();
      core({r, a, b, c});
      add(sum, {Type::u32, Type::u32, Type::u32}, {whole_[0], masked(r, mask), number(0), c}, {Mod::add});
      return true;
    }
    // Every operation makes zero of two zeros.
    ptx::Instr q = p_;
    q.operands = {whole_[0], masked(a, mask), masked(b, mask), c};
    add(std::move(q));
    return true;
  }
  Operand lanes_of(std::size_t k, unsigned lanes) {
    const ptx::Selector& s = p_.operands[k].select;
    if (s.count == 0) return whole_[k];
    std::uint64_t bytes = s.digits;
    if (lanes == 2) {
      const auto pair = [](unsigned half) { return (2 * half + 1) << 4 | 2 * half; };
      bytes = pair(s.digits >> 4) << 8 | pair(s.digits & 15);
    }
    const Operand r = temporary();
    add(Op::prmt, {Type::b32}, {r, whole_[1], whole_[2], number(bytes)});
    return r;
  }
  static std::uint64_t mask_of(const ptx::Selector& s, unsigned lanes) {
    if (s.count == 0) return 0xffffffff;
    std::uint64_t mask = 0;
    for (unsigned i = 0; i < s.count; ++i)
      mask |= ((std::uint64_t{1} << 32 / lanes) - 1) << (s.digits >> 4 * i & 15) * (32 / lanes);
    return mask;
  }
  Operand masked(const Operand& o, std::uint64_t mask) {
    if (mask == 0xffffffff) return o;
    const Operand r = temporary();
    add(Op::and_, {Type::b32}, {r, o, number(mask)});
    return r;
  }
};

}  // namespace

bool expand_video(Function& function, const FlatInst& flat, FlatCode& code) {
  return VideoExpansion(function, flat, code).run(ptx::video_lanes(flat.inst.p.op));
}

}  // namespace warploom::ir

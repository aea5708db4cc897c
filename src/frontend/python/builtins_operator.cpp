// Functions of Python's operator module.
#include "frontend/python/builtins.hpp"

namespace warploom::frontend::python {
namespace {

template <Op op, bool in_place = false>
Value binary(Evaluator& e, Call& call) {
  call.bind(e, {"a", "b"}, 2);
  const Value x = call.args[0], y = call.args[1];
  return e.binary(call.node, op, x, y, in_place);
}

template <Op op>
Value compare(Evaluator& e, Call& call) {
  call.bind(e, {"a", "b"}, 2);
  const Value x = call.args[0], y = call.args[1];
  return e.compare(call.node, op, x, y);
}

template <Op op>
Value unary(Evaluator& e, Call& call) {
  call.bind(e, {"a"}, 1);
  return e.unary(call.node, op, call.args[0]);
}

Value invert_truth(Evaluator& e, Call& call) {
  call.bind(e, {"a"}, 1);
  const Value value = e.truth(call.args[0], call.node);
  return e.boolean(e.b.CreateNot(value.ir));
}

constexpr BuiltinRow rows[] = {
    {"operator.add", binary<Op::add>},
    {"operator.sub", binary<Op::sub>},
    {"operator.mul", binary<Op::mul>},
    {"operator.truediv", binary<Op::div>},
    {"operator.floordiv", binary<Op::floor_div>},
    {"operator.mod", binary<Op::mod>},
    {"operator.pow", binary<Op::pow>},
    {"operator.lshift", binary<Op::lshift>},
    {"operator.rshift", binary<Op::rshift>},
    {"operator.and_", binary<Op::bit_and>},
    {"operator.or_", binary<Op::bit_or>},
    {"operator.xor", binary<Op::bit_xor>},
    {"operator.iadd", binary<Op::add, true>},
    {"operator.isub", binary<Op::sub, true>},
    {"operator.imul", binary<Op::mul, true>},
    {"operator.itruediv", binary<Op::div, true>},
    {"operator.ifloordiv", binary<Op::floor_div, true>},
    {"operator.imod", binary<Op::mod, true>},
    {"operator.ipow", binary<Op::pow, true>},
    {"operator.ilshift", binary<Op::lshift, true>},
    {"operator.irshift", binary<Op::rshift, true>},
    {"operator.iand", binary<Op::bit_and, true>},
    {"operator.ior", binary<Op::bit_or, true>},
    {"operator.ixor", binary<Op::bit_xor, true>},
    {"operator.eq", compare<Op::eq>},
    {"operator.ne", compare<Op::ne>},
    {"operator.lt", compare<Op::lt>},
    {"operator.le", compare<Op::le>},
    {"operator.gt", compare<Op::gt>},
    {"operator.ge", compare<Op::ge>},
    {"operator.is_", compare<Op::is_>},
    {"operator.is_not", compare<Op::is_not>},
    {"operator.neg", unary<Op::minus>},
    {"operator.pos", unary<Op::plus>},
    {"operator.invert", unary<Op::invert>},
    {"operator.inv", unary<Op::invert>},
    {"operator.not_", invert_truth},
    {"operator.truth",
     [](Evaluator& e, Call& call) {
       call.bind(e, {"a"}, 1);
       return e.truth(call.args[0], call.node);
     }},
    {"operator.contains",
     [](Evaluator& e, Call& call) {
       call.bind(e, {"a", "b"}, 2);
       const Value x = call.args[0], y = call.args[1];
       return e.compare(call.node, Op::in, y, x);
     }},
    {"operator.getitem",
     [](Evaluator& e, Call& call) {
       call.bind(e, {"a", "b"}, 2);
       const Value x = call.args[0], y = call.args[1];
       return e.subscript(call.node, x, y);
     }},
    {"operator.setitem",
     [](Evaluator& e, Call& call) {
       call.bind(e, {"a", "b", "c"}, 3);
       e.store_subscript(call.node, call.args[0], call.args[1], call.args[2]);
       return e.none();
     }},
};

}  // namespace

std::span<const BuiltinRow> operator_builtins() { return rows; }

}  // namespace warploom::frontend::python

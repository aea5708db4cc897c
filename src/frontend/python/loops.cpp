// Loops: for over ranges, arrays, tuples, enumerate and zip, while, and the search for types that hold at their head.
#include <fmt/format.h>

#include <algorithm>

#include "frontend/python/evaluator.hpp"

namespace warploom::frontend::python {
namespace {

void add_target(const Node* node, std::set<std::string>& names) {
  if (!node) return;
  if (node->kind == NodeKind::name) names.insert(node->text);
  if (node->kind == NodeKind::tuple || node->kind == NodeKind::list || node->kind == NodeKind::starred)
    for (const Node* item : node->a) add_target(item, names);
}

// Names that a statement or expression may assign.
void add_assigned(const Node* node, std::set<std::string>& names) {
  if (!node || node->kind == NodeKind::lambda) return;
  switch (node->kind) {
    case NodeKind::assign:
    case NodeKind::delete_:
      for (const Node* target : node->body) add_target(target, names);
      break;
    case NodeKind::augmented:
    case NodeKind::for_:
    case NodeKind::named_expr: add_target(node->a[0], names); break;
    case NodeKind::function_def: names.insert(node->text); return;
    case NodeKind::match_as:
      if (!node->text.empty()) names.insert(node->text);
      break;
    default: break;
  }
  for (const Node* child : node->a) add_assigned(child, names);
  for (const Node* child : node->body) add_assigned(child, names);
  for (const Node* child : node->orelse) add_assigned(child, names);
}

std::set<std::string> assigned_in(const Node* loop) {
  std::set<std::string> names;
  add_assigned(loop, names);
  return names;
}

}  // namespace

// Emits a loop whose head is a new block; `emit` gets control there, and leaves paths to the head in
// context.continues (and as the current block), paths out in context.breaks.
void Evaluator::loop(const Node* node, const std::set<std::string>& assigned,
                     const std::function<void(LoopContext&)>& emit) {
  // Types at the head; widened until they hold for the back edges too.
  Env head = frame->env;
  for (const std::string& variable : assigned) {
    const auto found = head.find(variable);
    if (found != head.end()) found->second.literal = nullptr;
  }
  const Env before = frame->env;
  llvm::BasicBlock* start = b.GetInsertBlock();
  llvm::Instruction* last = start->empty() ? nullptr : &start->back();
  const bool outer_incomplete = incomplete;
  // What an attempt adds to the function and to the loops around goes with it.
  const std::size_t returned = frame->returns->size();
  std::vector<std::pair<std::size_t, std::size_t>> paths_around;
  for (const LoopContext* around : frame->loops)
    paths_around.emplace_back(around->breaks.size(), around->continues.size());
  loop_variables.push_back(&assigned);
  for (int attempt = 0;; ++attempt) {
    incomplete = outer_incomplete;
    if (!outer_incomplete) incomplete_node = nullptr;
    llvm::BasicBlock* last_block = &llvm_function->back();
    b.SetInsertPoint(start);
    for (auto& [variable, held] : head) {
      if (!held.type) continue;
      held.slot = slot(variable, held.type);
      carry(before, variable, held, node);
    }
    llvm::BasicBlock* head_block = new_block("loop");
    b.CreateBr(head_block);
    b.SetInsertPoint(head_block);
    frame->env = head;
    LoopContext context;
    frame->loops.push_back(&context);
    const std::size_t depth = frame->loops.size();
    try {
      emit(context);
    } catch (const DeadPath&) {
      die();
      frame->loops.resize(depth);
    } catch (const UnknownPath&) {
      incomplete = true;
      if (alive()) b.CreateUnreachable();
      die();
      frame->loops.resize(depth);
    }
    frame->loops.pop_back();
    if (alive()) context.continues.push_back({b.GetInsertBlock(), frame->env});

    bool changed = false;
    Env wider = head;
    for (const Path& path : context.continues) {
      for (const auto& [variable, now] : path.env) {
        const auto [place, added] = wider.try_emplace(variable, now);
        Variable& held = place->second;
        if (added) {
          held.literal = nullptr;
          held.maybe_undefined = true;
          // A variable of the body alone matters at the head only when the body reads it before it writes it.
          changed |= incomplete;
          continue;
        }
        if (!held.type) continue;
        if (now.type != held.type) {
          const Type* type = now.type ? unify(held.type, now.type) : nullptr;
          if (type != held.type) {
            if (!type)
              held.conflict = now.type ? fmt::format("Cannot unify {} and {} for '{}'", display(held.type),
                                                     display(now.type), variable)
                                       : now.conflict;
            held.type = type;
            held.slot = nullptr;
            changed = true;
          }
        }
        if (held.non_negative && !now.non_negative) {
          held.non_negative = false;
          changed = true;
        }
        if (!held.maybe_undefined && now.maybe_undefined) held.maybe_undefined = true;
      }
    }
    if (!changed) {
      // Variables of the body alone live on after the loop, in the state of its last round.
      for (auto& [variable, held] : wider)
        if (!head.contains(variable) && held.type) held.slot = slot(variable, held.type);
      for (Path& path : context.breaks)
        for (const auto& [variable, held] : wider)
          if (!head.contains(variable)) path.env.try_emplace(variable, held);
      for (Path& path : context.continues) {
        b.SetInsertPoint(path.block);
        for (const auto& [variable, held] : wider) {
          carry(path.env, variable, held, node);
        }
        b.CreateBr(head_block);
      }
      loop_variables.pop_back();
      if (incomplete && !outer_incomplete && loop_variables.empty())
        fail(incomplete_node ? incomplete_node : node,
             fmt::format("local variable '{}' is read before anything is assigned to it", incomplete_name));
      merge(std::move(context.breaks), "endloop");
      return;
    }
    WL_INTERNAL("python frontend", attempt < 64, "types at a loop head do not settle");
    // Throws away what was emitted under the narrower types.
    frame->returns->resize(returned);
    for (std::size_t i = 0; i < paths_around.size(); ++i) {
      frame->loops[i]->breaks.resize(paths_around[i].first);
      frame->loops[i]->continues.resize(paths_around[i].second);
    }
    std::vector<llvm::BasicBlock*> dead;
    for (auto block_at = std::next(last_block->getIterator()); block_at != llvm_function->end(); ++block_at)
      dead.push_back(&*block_at);
    for (llvm::BasicBlock* one : dead) one->dropAllReferences();
    for (llvm::BasicBlock* one : dead) one->eraseFromParent();
    while (!start->empty() && &start->back() != last) start->back().eraseFromParent();
    head = std::move(wider);
  }
}

void Evaluator::leave_loop(const Node* node, LoopContext& context) {
  // break and continue in else belong to the loop around this one.
  LoopContext* inner = frame->loops.back();
  frame->loops.pop_back();
  block(node->orelse);
  frame->loops.push_back(inner);
  if (alive()) context.breaks.push_back({b.GetInsertBlock(), frame->env});
}

void Evaluator::while_statement(const Node* node) {
  loop(node, assigned_in(node), [&](LoopContext& context) {
    Value test;
    try {
      test = truth(expression(node->a[0]), node->a[0]);
    } catch (const UnknownPath&) {
      // The body may tell the type that the test lacks.
      incomplete = true;
      if (alive()) b.CreateUnreachable();
      b.SetInsertPoint(new_block("unknown"));
      block(node->body);
      return;
    }
    if (const Constant* known = test.constant(); known && known->integer != 0) {
      block(node->body);
      return;
    }
    llvm::BasicBlock* body = new_block("body");
    llvm::BasicBlock* exit = new_block("exit");
    b.CreateCondBr(test.ir, body, exit);
    const Env at_test = frame->env;
    b.SetInsertPoint(exit);
    leave_loop(node, context);
    frame->env = at_test;
    b.SetInsertPoint(body);
    block(node->body);
  });
}

namespace {

// What a for statement goes over: `length` items, the i-th computed by item().
struct Iteration {
  llvm::Value* length = nullptr;  // i64
  std::optional<std::size_t> known_length;
  std::function<Value(const Value& index)> item;
};

Iteration iterate(Evaluator& e, const Node* node, const Value& value);

Iteration iterate_range(Evaluator& e, const Value& value) {
  const Type* type = value.type->element;
  llvm::Value* start = e.member(value.ir, 0);
  llvm::Value* stop = e.member(value.ir, 1);
  llvm::Value* step = e.member(value.ir, 2);
  llvm::Type* wide = e.b.getInt64Ty();
  const auto widen = [&](llvm::Value* v) {
    return type->is_signed ? e.b.CreateSExt(v, wide) : e.b.CreateZExt(v, wide);
  };
  llvm::Value *first = widen(start), *last = widen(stop), *by = widen(step);
  llvm::Value* zero = e.i64(0);
  llvm::Value* up = e.b.CreateICmpSGT(by, zero);
  llvm::Value* distance = e.b.CreateSelect(up, e.b.CreateSub(last, first), e.b.CreateSub(first, last));
  llvm::Value* size = e.b.CreateSelect(up, by, e.b.CreateNeg(by));
  llvm::Value* count = e.b.CreateUDiv(e.b.CreateSub(e.b.CreateAdd(distance, size), e.i64(1)), size);
  llvm::Value* length = e.b.CreateSelect(e.b.CreateICmpSGT(distance, zero), count, zero);
  return {length, std::nullopt, [&e, start, step, type](const Value& index) {
            llvm::Value* i = e.b.CreateTrunc(index.ir, e.llvm_type(type));
            return Value{type, e.b.CreateAdd(start, e.b.CreateMul(i, step)), nullptr, false};
          }};
}

Iteration iterate(Evaluator& e, const Node* node, const Value& value) {
  if (value.type->is(TypeKind::range)) return iterate_range(e, value);
  if (value.type->is(TypeKind::array)) {
    if (value.type->ndim == 0) e.fail(node, "iteration over a 0-d array");
    return {e.array_shape(value, 0), std::nullopt,
            [&e, node, value](const Value& index) { return e.subscript(node, value, index); }};
  }
  if (value.type->is(TypeKind::tuple)) {
    const std::size_t count = value.type->items.size();
    return {e.i64(static_cast<std::int64_t>(count)), count, [&e, value](const Value& index) {
              return e.tuple_item(value, static_cast<std::size_t>(index.constant()->integer));
            }};
  }
  if (value.type->is(TypeKind::nested) || value.type->is(TypeKind::charseq)) {
    const std::int64_t count = value.type->is(TypeKind::nested) ? value.type->dims[0] : value.type->size;
    return {e.i64(count), std::nullopt,
            [&e, node, value](const Value& index) { return e.subscript(node, value, index); }};
  }
  if (value.type->is(TypeKind::iterator) && value.type->name == "enumerate") {
    const Value inner{value.type->items[0], e.member(value.ir, 0), value.literal ? value.literal->items[0] : nullptr,
                      false};
    const Value start{value.type->items[1], e.member(value.ir, 1), nullptr, true};
    Iteration over = iterate(e, node, inner);
    auto item = over.item;
    over.item = [&e, start, item](const Value& index) {
      Value number{int_type(64), e.b.CreateAdd(start.ir, index.ir), nullptr, true};
      if (const Constant* known = index.constant(); known)
        if (const auto* first = llvm::dyn_cast<llvm::ConstantInt>(start.ir))
          number = e.integer(first->getSExtValue() + known->integer);
      return e.make_tuple({number, item(index)});
    };
    return over;
  }
  if (value.type->is(TypeKind::iterator) && value.type->name == "zip") {
    std::vector<Iteration> parts;
    Iteration result;
    for (unsigned i = 0; i < value.type->items.size(); ++i) {
      const Value part{value.type->items[i], e.member(value.ir, i), value.literal ? value.literal->items[i] : nullptr,
                       false};
      parts.push_back(iterate(e, node, part));
      llvm::Value* length = parts.back().length;
      result.length = result.length ? e.b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, result.length, length) : length;
      if (parts.back().known_length)
        result.known_length =
            std::min(result.known_length.value_or(*parts.back().known_length), *parts.back().known_length);
    }
    if (!result.length) result = {e.i64(0), 0, {}};
    result.item = [&e, parts](const Value& index) {
      std::vector<Value> items;
      for (const Iteration& part : parts) items.push_back(part.item(index));
      return e.make_tuple(items);
    };
    return result;
  }
  e.fail(node, fmt::format("'{}' object is not iterable in a kernel: loop over a range, an array or a tuple",
                           display(value.type)));
}

}  // namespace

void Evaluator::for_statement(const Node* node) {
  const Value over = expression(node->a[1]);
  set_location(node);
  if (over.type->is(TypeKind::range)) {
    const Type* type = over.type->element;
    llvm::Value* start = member(over.ir, 0);
    llvm::Value* stop = member(over.ir, 1);
    llvm::Value* step = member(over.ir, 2);
    const auto known = [](llvm::Value* v) { return llvm::dyn_cast<llvm::ConstantInt>(v); };
    // A step of known sign, in practice every one, compares once.
    const llvm::ConstantInt* fixed_step = known(step);
    const bool up_only = !type->is_signed || (fixed_step && fixed_step->getSExtValue() > 0);
    // Of a range it says that the first item and the step are not negative.
    const bool non_negative = !type->is_signed || over.non_negative;
    llvm::AllocaInst* counter = entry_alloca(llvm_type(type), "counter");
    b.CreateStore(start, counter);
    loop(node, assigned_in(node), [&](LoopContext& context) {
      llvm::Value* now = b.CreateLoad(llvm_type(type), counter);
      llvm::Value* test = nullptr;
      if (!type->is_signed) {
        test = b.CreateICmpULT(now, stop);
      } else if (up_only) {
        test = b.CreateICmpSLT(now, stop);
      } else if (fixed_step) {
        test = b.CreateICmpSGT(now, stop);
      } else {
        test = b.CreateSelect(b.CreateICmpSGT(step, llvm::ConstantInt::get(step->getType(), 0)),
                              b.CreateICmpSLT(now, stop), b.CreateICmpSGT(now, stop));
      }
      llvm::BasicBlock* body = new_block("body");
      llvm::BasicBlock* exit = new_block("exit");
      b.CreateCondBr(test, body, exit);
      const Env at_test = frame->env;
      b.SetInsertPoint(exit);
      leave_loop(node, context);
      frame->env = at_test;
      b.SetInsertPoint(body);
      assign(node->a[0], {type, now, nullptr, non_negative});
      block(node->body);
      // Every path back to the head steps the counter once.
      if (alive()) context.continues.push_back({b.GetInsertBlock(), frame->env});
      merge(std::move(context.continues), "step");
      context.continues.clear();
      if (!alive()) return;
      llvm::Value* stepped = b.CreateLoad(llvm_type(type), counter);
      b.CreateStore(b.CreateAdd(stepped, step, "", false, type->is_signed), counter);
    });
    return;
  }
  const Iteration iteration = iterate(*this, node->a[1], over);
  if (iteration.known_length) {
    // A tuple's items may differ in type: the body is repeated for each.
    std::vector<Path> breaks;
    for (std::size_t i = 0; i < *iteration.known_length && alive(); ++i) {
      LoopContext context;
      frame->loops.push_back(&context);
      try {
        assign(node->a[0], iteration.item(integer(static_cast<std::int64_t>(i))));
        block(node->body);
      } catch (const DeadPath&) {
        die();
      }
      frame->loops.pop_back();
      if (alive()) context.continues.push_back({b.GetInsertBlock(), frame->env});
      for (Path& path : context.breaks) breaks.push_back(std::move(path));
      merge(std::move(context.continues), "next");
    }
    if (alive()) {
      block(node->orelse);
      if (alive()) breaks.push_back({b.GetInsertBlock(), frame->env});
    }
    merge(std::move(breaks), "endloop");
    return;
  }
  llvm::AllocaInst* counter = entry_alloca(b.getInt64Ty(), "counter");
  b.CreateStore(i64(0), counter);
  loop(node, assigned_in(node), [&](LoopContext& context) {
    llvm::Value* now = b.CreateLoad(b.getInt64Ty(), counter);
    llvm::BasicBlock* body = new_block("body");
    llvm::BasicBlock* exit = new_block("exit");
    b.CreateCondBr(b.CreateICmpSLT(now, iteration.length), body, exit);
    const Env at_test = frame->env;
    b.SetInsertPoint(exit);
    leave_loop(node, context);
    frame->env = at_test;
    b.SetInsertPoint(body);
    assign(node->a[0], iteration.item({int_type(64), now, nullptr, true}));
    block(node->body);
    if (alive()) context.continues.push_back({b.GetInsertBlock(), frame->env});
    merge(std::move(context.continues), "step");
    context.continues.clear();
    if (!alive()) return;
    b.CreateStore(b.CreateAdd(b.CreateLoad(b.getInt64Ty(), counter), i64(1), "", true, true), counter);
  });
}

}  // namespace warploom::frontend::python

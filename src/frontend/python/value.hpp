// Value: a typed LLVM value with what is known of it when the kernel is compiled.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/llvm.hpp"
#include "frontend/python/constant.hpp"
#include "frontend/python/types.hpp"

namespace warploom::frontend::python {

// The value of an expression as far as the compiler knows it; a tuple may be known in part.
struct Literal {
  bool is_tuple = false;
  bool only_sign = false;                             // nothing is known but that it is not negative
  Constant value;                                     // unless a tuple
  std::vector<std::shared_ptr<const Literal>> items;  // of a tuple; null where unknown
};
using LiteralPtr = std::shared_ptr<const Literal>;

struct Value {
  const Type* type = nullptr;
  llvm::Value* ir = nullptr;  // of llvm_type(type); an empty struct for what has no run-time data
  LiteralPtr literal{};
  // An integer that is never negative unless arithmetic overflowed: an index that needs no wrap-around.
  bool non_negative = false;
  ObjectId object = 0;  // the frozen array that this is

  [[nodiscard]] const Constant* constant() const {
    return literal && !literal->is_tuple && !literal->only_sign ? &literal->value : nullptr;
  }
};

// A Python variable at one point of the function.
struct Variable {
  const Type* type = nullptr;        // null: the branches before left types that do not unify
  llvm::AllocaInst* slot = nullptr;  // null without run-time data
  LiteralPtr literal{};
  bool non_negative = false;
  bool maybe_undefined = false;
  std::string conflict;  // why type is null
};
using Env = std::map<std::string, Variable>;

}  // namespace warploom::frontend::python

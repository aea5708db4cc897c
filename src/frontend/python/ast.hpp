// Syntax tree of a Python function, as read from CPython's own `ast`, independent of the interpreter.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "frontend/python/constant.hpp"

namespace warploom::frontend::python {

// Lines count from 1 in the file; columns from 0, in bytes of UTF-8, as CPython gives them.
struct Loc {
  std::int32_t line = 0, column = 0, end_line = 0, end_column = 0;
};

enum class NodeKind : std::uint8_t {
  // expressions; children in `a` unless said otherwise
  name,           // text
  constant,       // constant
  attribute,      // a[0], text
  subscript,      // a[0] value, a[1] index
  slice,          // a[0..2] lower, upper, step; null when left out
  tuple,          // a
  list,           // a
  call,           // a[0] callee, a[1..] positional; keywords: body[i] with names[i] ("" for **)
  starred,        // a[0]
  binary,         // a[0], a[1], op
  unary,          // a[0], op
  bool_op,        // a, op and_/or_
  compare,        // a[0] op ops[0] a[1] op ops[1] a[2] ...
  conditional,    // a[0] test, a[1] body, a[2] orelse
  lambda,         // function
  joined_string,  // a: constants and formatted values
  formatted,      // a[0], text: format spec
  named_expr,     // a[0] name, a[1] value
  // statements
  assign,      // body: targets, a[0] value
  augmented,   // a[0] target, a[1] value, op
  expression,  // a[0]
  if_,         // a[0] test, body, orelse
  while_,      // a[0] test, body, orelse
  for_,        // a[0] target, a[1] iterable, body, orelse
  break_,
  continue_,
  pass,
  return_,          // a[0] or none
  function_def,     // function
  assert_,          // a[0] test, a[1] message or none
  raise_,           // a[0] exception or none
  delete_,          // body
  match,            // a[0] subject, body: match_case nodes
  match_case,       // a[0] pattern, a[1] guard or null, body
  match_value,      // a[0]
  match_singleton,  // constant
  match_or,         // a
  match_as,         // a[0] pattern or null, text: name or ""
  match_sequence,   // a
  unsupported,      // text: CPython's node class, for instance "Try"
};

enum class Op : std::uint8_t {
  none,
  add,
  sub,
  mul,
  div,
  floor_div,
  mod,
  pow,
  matmul,
  lshift,
  rshift,
  bit_or,
  bit_xor,
  bit_and,
  invert,
  not_,
  plus,
  minus,
  and_,
  or_,
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  is_,
  is_not,
  in,
  not_in,
};

struct FunctionAst;

struct Node {
  NodeKind kind = NodeKind::unsupported;
  Op op = Op::none;
  Loc loc;
  std::string text;
  Constant constant;
  std::vector<Node*> a, body, orelse;
  std::vector<std::string> names;
  std::vector<Op> ops;
  std::unique_ptr<FunctionAst> function;
};

struct Parameter {
  std::string name;
  Node* default_value = nullptr;  // of nested functions and lambdas; those of outer ones are objects
  bool keyword_only = false;
};

// A function and everything in it; owns its nodes unless it is nested.
struct FunctionAst {
  std::string name, file;
  Loc loc;
  std::vector<Parameter> parameters;
  std::string vararg;               // name of *args, or empty
  bool has_kwargs = false;          // **kwargs, which is refused
  std::vector<Node*> body;          // one return_ for a lambda
  std::vector<std::string> locals;  // sorted: parameters and every name that is assigned in the body
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<std::string> source;  // lines of the file, for messages
  std::int32_t first_source_line = 1;

  [[nodiscard]] bool is_local(const std::string& variable) const;
};

}  // namespace warploom::frontend::python

// Evaluator: walks one Python function with known argument types and emits LLVM IR for it as it goes.
//
// Typing and emission are one walk. A variable has, at each point, a type and a stack slot for that type; where paths
// meet, types are unified and values converted at the end of each path. A loop is emitted under the types that hold
// before it; when its end finds wider ones, what was emitted is thrown away and the loop is emitted again.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/diag.hpp"
#include "frontend/python/compilation.hpp"
#include "frontend/python/value.hpp"

namespace warploom::frontend::python {

// A path that ends at a merge point: its last block, still open, and its variables.
struct Path {
  llvm::BasicBlock* block = nullptr;
  Env env;
};

struct LoopContext {
  std::vector<Path> breaks, continues;
};

// One activation of a Python function: the kernel, or a function that is expanded where it is called.
struct Frame {
  const FunctionAst* function = nullptr;
  Frame* parent = nullptr;  // the function around a closure
  Frame* caller = nullptr;
  const Node* call_site = nullptr;  // in the caller
  std::string key;                  // function and argument types, to notice recursion
  Env env;
  std::set<std::string> assigned;  // names that were given a value so far, on any path
  std::vector<LoopContext*> loops;
  std::vector<std::pair<Path, Value>>* returns = nullptr;
  llvm::DIScope* scope = nullptr;
  llvm::DILocation* inlined_at = nullptr;
  unsigned id = 0;
};

class Evaluator;

// A call of a built-in with its evaluated arguments.
struct Call {
  const Node* node = nullptr;
  std::string name;
  std::vector<Value> args;
  std::vector<std::pair<std::string, Value>> keywords;
  std::vector<const char*> by_keyword{};  // names of arguments that bind() put in their places; null for the others

  // Moves keyword arguments to their places: bind({"shape", "dtype"}, 2) wants two, names the rest optional.
  void bind(Evaluator& evaluator, std::initializer_list<const char*> names, std::size_t required);
  [[nodiscard]] bool has(std::size_t index) const { return index < args.size() && args[index].type; }
};

using Builtin = Value (*)(Evaluator&, Call&);
struct BuiltinRow {
  std::string_view name;
  Builtin function;
};
// The function for a name of the registry, or null.
Builtin find_builtin(std::string_view name);

class Evaluator {
 public:
  Evaluator(Compilation& compilation, llvm::Function* function);

  Compilation& c;
  llvm::IRBuilder<> b;
  llvm::Function* llvm_function;

  // --- function bodies (function.cpp)
  // Evaluates a body whose parameters are bound in frame.env; every path ends in frame.returns.
  void run_body(Frame& frame);
  Value call_function(const Node* node, const ObjectInfo& info, std::vector<Value> args,
                      std::vector<std::pair<std::string, Value>> keywords);
  // A function of other code, see foreign.cpp.
  Value call_foreign(const Node* node, ObjectId object, const std::vector<Value>& args);
  Value call_closure(const Node* node, std::uint32_t closure, std::vector<Value> args,
                     std::vector<std::pair<std::string, Value>> keywords);
  // Joins the returns of an expanded function; none when it only falls out of its end.
  Value join_returns(std::vector<std::pair<Path, Value>>& returns);

  // --- statements (statements.cpp, loops.cpp)
  void block(const std::vector<Node*>& statements);
  void statement(const Node* node);
  void assign(const Node* target, const Value& value);
  void assign_name(const std::string& name, Value value);
  void for_statement(const Node* node);
  void while_statement(const Node* node);
  void raise(const Node* node, const std::string& class_name, ObjectId class_object, std::vector<Constant> arguments);
  [[nodiscard]] bool alive() const { return b.GetInsertBlock() != nullptr; }
  void die() { b.ClearInsertionPoint(); }
  // Continues where the paths meet; dead when there are none.
  void merge(std::vector<Path> paths, const char* label);
  // What a variable holds now.
  Value read(const Variable& variable);
  // Copies a variable of env to the slot and type it has as `to`; nothing when it is there already, or has no value.
  void carry(const Env& env, const std::string& variable, const Variable& to, const Node* node);

  // --- expressions (expressions.cpp)
  Value expression(const Node* node);
  Value name(const Node* node);
  Value attribute(const Node* node, const Value& base, const std::string& name);
  Value call(const Node* node);
  Value call_value(const Node* node, const Value& callee, std::vector<Value> args,
                   std::vector<std::pair<std::string, Value>> keywords);
  Value call_type(const Node* node, const Type* type, std::vector<Value> args,
                  std::vector<std::pair<std::string, Value>> keywords);
  Value object_value(const Node* node, ObjectId object);
  // if test: then() else: otherwise(), as an expression whose value is the unified one.
  Value select_value(const Node* node, const Value& test, const std::function<Value()>& then,
                     const std::function<Value()>& otherwise);
  // Runs then() or otherwise() by a run-time or constant test; variables are merged.
  void branch(const Value& test, const std::function<void()>& then, const std::function<void()>& otherwise);

  // --- conversions and operators (convert.cpp, operators.cpp)
  Value convert(const Value& value, const Type* to, const Node* node);  // any explicit cast Numba allows
  [[nodiscard]] static bool can_convert(const Type* from, const Type* to);
  Value truth(const Value& value, const Node* node);  // bool(value)
  Value binary(const Node* node, Op op, const Value& left, const Value& right, bool in_place = false);
  Value unary(const Node* node, Op op, const Value& operand);
  Value compare(const Node* node, Op op, const Value& left, const Value& right);
  // The number under an IntEnum member or optional; others as they are.
  Value plain(const Value& value, const Node* node);

  // --- containers (arrays.cpp, subscript.cpp, records.cpp)
  Value subscript(const Node* node, const Value& base, const Value& index);
  void store_subscript(const Node* node, const Value& base, const Value& index, const Value& value);
  void store_attribute(const Node* node, const Value& base, const std::string& name, const Value& value);
  Value load(llvm::Value* address, const Type* type, unsigned align = 0);
  void store(const Node* node, llvm::Value* address, const Value& value, const Type* type, unsigned align = 0);
  // Address of element `index` (one integer for each dimension), with wrap-around of negative indices; `accessed`
  // unless only a view begins there.
  llvm::Value* element_address(const Node* node, const Value& array, const std::vector<Value>& index,
                               bool accessed = true);
  Value make_array(const Type* type, llvm::Value* data, const std::vector<llvm::Value*>& shape,
                   const std::vector<llvm::Value*>& strides);
  llvm::Value* array_data(const Value& array) { return member(array.ir, 0); }
  llvm::Value* array_shape(const Value& array, unsigned dim) { return member(array.ir, 1 + dim); }
  llvm::Value* array_stride(const Value& array, unsigned dim);
  // A C contiguous array whose shape is known.
  Value fixed_array(const Type* element, const std::vector<std::int64_t>& extents, llvm::Value* data,
                    bool read_only = false);
  Value array_attribute(const Node* node, const Value& array, const std::string& name);
  Value record_attribute(const Node* node, const Value& record, const std::string& name);
  Value make_tuple(const std::vector<Value>& items);
  Value make_tuple(const Type* type, const std::vector<Value>& items);
  Value tuple_item(const Value& tuple, std::size_t index);

  // --- values
  // One member of a struct value; known ones are found without an instruction.
  llvm::Value* member(llvm::Value* aggregate, unsigned index);
  Value constant(const Constant& value);
  Value integer(std::int64_t value, const Type* type = int_type(64));
  Value none() { return {none_type(), empty(), nullptr, false}; }
  Value boolean(llvm::Value* ir) { return {bool_type(), ir, nullptr, false}; }
  Value type_value(const Type* type);  // a type object, for instance dtype
  Value method(const std::string& name, const Value& self);
  llvm::Value* empty() { return llvm::UndefValue::get(llvm::StructType::get(c.context)); }
  llvm::Value* i64(std::int64_t value) { return b.getInt64(static_cast<std::uint64_t>(value)); }
  llvm::Type* llvm_type(const Type* type) { return c.llvm_type(type); }
  llvm::AllocaInst* slot(const std::string& name, const Type* type);
  llvm::AllocaInst* entry_alloca(llvm::Type* type, const char* label);
  llvm::BasicBlock* new_block(const char* label) { return llvm::BasicBlock::Create(c.context, label, llvm_function); }

  // --- messages
  [[noreturn]] void fail(const Node* node, const std::string& message, const std::string& category = "TypingError");
  [[noreturn]] void no_match(const Call& call, const std::string& why = "");
  std::string describe(const Value& value);  // as Numba's messages name it: "Literal[int](3)", "array(float32, 1d, C)"
  void set_location(const Node* node);

  Frame* frame = nullptr;
  llvm::BasicBlock* entry_block = nullptr;  // slots; falls through to the body
  // Set when a path was cut off because a type was not known yet; the loop or function is then tried again.
  bool incomplete = false;
  const Node* incomplete_node = nullptr;
  std::string incomplete_name;
  // Variables that loops under way assign: reading one that has no type yet cuts the path off.
  std::vector<const std::set<std::string>*> loop_variables;

 private:
  void loop(const Node* node, const std::set<std::string>& assigned, const std::function<void(LoopContext&)>& emit);
  // The else block of a loop whose test has failed, and the path out of the loop.
  void leave_loop(const Node* node, LoopContext& context);
  std::map<std::string, llvm::AllocaInst*> slots_;
};

// Thrown inside the evaluator only; compile_python() turns it into a Failure.
struct CompileError {
  Failure failure;
};
// The rest of this path cannot be typed yet.
struct UnknownPath {
  bool is_variable = false;  // one that a later statement of the loop assigns
};
// This path ends in the middle of an expression: it raises.
struct DeadPath {};

}  // namespace warploom::frontend::python

// Functions: bodies, calls that are expanded in place, closures, recursive functions.
#include <fmt/format.h>

#include <algorithm>

#include "frontend/python/evaluator.hpp"

namespace warploom::frontend::python {
namespace {

constexpr int max_depth = 100;  // expanded calls inside each other

std::string signature_key(const FunctionAst& function, const std::vector<std::pair<std::string, Value>>& values) {
  std::string key = fmt::format("{}@{:p}(", function.name, static_cast<const void*>(&function));
  for (const auto& [name, value] : values) key += canonical(value.type) + ",";
  return key + ")";
}

}  // namespace

// Arguments to parameters, as Python binds them.
static std::vector<std::pair<std::string, Value>> bind_arguments(
    Evaluator& e, const Node* node, const FunctionAst& function, std::vector<Value> args,
    std::vector<std::pair<std::string, Value>> keywords,
    const std::function<std::optional<Value>(std::size_t)>& default_of) {
  std::vector<std::pair<std::string, Value>> bound;
  const auto& parameters = function.parameters;
  if (function.has_kwargs)
    e.fail(node, fmt::format("{}() takes **kwargs, which a kernel cannot have", function.name), "UnsupportedError");
  std::size_t next = 0;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& parameter = parameters[i];
    const auto keyword =
        std::find_if(keywords.begin(), keywords.end(), [&](const auto& k) { return k.first == parameter.name; });
    if (!parameter.keyword_only && next < args.size()) {
      if (keyword != keywords.end())
        e.fail(node, fmt::format("{}() got multiple values for argument '{}'", function.name, parameter.name));
      bound.emplace_back(parameter.name, std::move(args[next++]));
    } else if (keyword != keywords.end()) {
      bound.emplace_back(parameter.name, std::move(keyword->second));
      keywords.erase(keyword);
    } else if (auto value = default_of(i)) {
      bound.emplace_back(parameter.name, std::move(*value));
    } else {
      e.fail(node, fmt::format("{}() missing a required argument: '{}'", function.name, parameter.name));
    }
  }
  if (!function.vararg.empty()) {
    std::vector<Value> rest(args.begin() + static_cast<std::ptrdiff_t>(next), args.end());
    bound.emplace_back(function.vararg, e.make_tuple(rest));
  } else if (next < args.size()) {
    e.fail(node, fmt::format("{}() takes {} positional arguments but {} were given", function.name, parameters.size(),
                             args.size()));
  }
  if (!keywords.empty())
    e.fail(node, fmt::format("{}() got an unexpected keyword argument '{}'", function.name, keywords.front().first));
  return bound;
}

Evaluator::Evaluator(Compilation& compilation, llvm::Function* target)
    : c(compilation), b(compilation.context), llvm_function(target) {
  entry_block = llvm::BasicBlock::Create(c.context, "entry", llvm_function);
  llvm::FastMathFlags flags;
  flags.setAllowContract(c.options.optimize);  // as CUDA and Numba: a*b+c is one fma
  if (c.options.fast_math) {
    // As nvcc's --use_fast_math: approximations, but NaN and infinity keep their meaning.
    flags.setAllowContract();
    flags.setApproxFunc();
    flags.setAllowReciprocal();
    flags.setNoSignedZeros();
  }
  b.setFastMathFlags(flags);
}

llvm::AllocaInst* Evaluator::entry_alloca(llvm::Type* type, const char* label) {
  llvm::IRBuilder<> at(entry_block, entry_block->begin());
  return at.CreateAlloca(type, nullptr, label);
}

llvm::AllocaInst* Evaluator::slot(const std::string& variable, const Type* type) {
  llvm::Type* ir = llvm_type(type);
  if (auto* aggregate = llvm::dyn_cast<llvm::StructType>(ir); aggregate && aggregate->getNumElements() == 0)
    return nullptr;
  auto& place = slots_[fmt::format("{}.{}.{}", frame->id, variable, canonical(type))];
  if (!place) {
    llvm::IRBuilder<> at(entry_block, entry_block->begin());
    place = at.CreateAlloca(ir, nullptr, variable);
    // Read before it is written on some path: zero, never garbage.
    at.CreateStore(llvm::Constant::getNullValue(ir), place);
  }
  return place;
}

void Evaluator::set_location(const Node* node) {
  if (!frame || !frame->scope || node->loc.line <= 0) return;
  b.SetCurrentDebugLocation(llvm::DILocation::get(c.context, static_cast<unsigned>(node->loc.line),
                                                  static_cast<unsigned>(node->loc.column + 1), frame->scope,
                                                  frame->inlined_at));
}

void Evaluator::run_body(Frame& body) {
  Frame* outer = frame;
  const llvm::DebugLoc location = b.getCurrentDebugLocation();
  if (outer != &body) body.caller = outer;
  frame = &body;
  block(body.function->body);
  if (alive()) {
    body.returns->push_back({{b.GetInsertBlock(), body.env}, none()});
    die();
  }
  frame = outer;
  b.SetCurrentDebugLocation(location);
}

Value Evaluator::join_returns(std::vector<std::pair<Path, Value>>& returns) {
  // The caller's variables are not touched by an expanded function, so only values are joined.
  if (returns.empty()) {
    die();
    throw DeadPath{};
  }
  if (returns.size() == 1) {
    b.SetInsertPoint(returns[0].first.block);
    return returns[0].second;
  }
  const Type* type = returns[0].second.type;
  bool non_negative = true;
  for (const auto& [path, value] : returns) {
    const Type* wider = unify(type, value.type);
    if (!wider)
      fail(frame && frame->function ? frame->function->body.front() : nullptr,
           fmt::format("Can't unify return type from the following types: {}, {}", display(type), display(value.type)));
    type = wider;
    non_negative &= value.non_negative;
  }
  llvm::BasicBlock* target = new_block("returned");
  std::vector<std::pair<llvm::Value*, llvm::BasicBlock*>> incoming;
  for (const auto& [path, value] : returns) {
    b.SetInsertPoint(path.block);
    llvm::Value* ir = convert(value, type, nullptr).ir;
    incoming.emplace_back(ir, b.GetInsertBlock());
    b.CreateBr(target);
  }
  b.SetInsertPoint(target);
  if (llvm_type(type) == llvm::StructType::get(c.context)) return {type, empty(), nullptr, false};
  llvm::PHINode* phi = b.CreatePHI(llvm_type(type), static_cast<unsigned>(incoming.size()));
  for (const auto& [ir, from] : incoming) phi->addIncoming(ir, from);
  return {type, phi, nullptr, non_negative && type->is(TypeKind::integer)};
}

static Value expand(Evaluator& e, const Node* node, Frame& callee,
                    const std::vector<std::pair<std::string, Value>>& bound) {
  int depth = 0;
  for (Frame* up = e.frame; up; up = up->caller) ++depth;
  if (depth > max_depth) e.fail(node, fmt::format("calls are nested more than {} deep", max_depth), "UnsupportedError");
  callee.id = ++e.c.frames;
  callee.caller = e.frame;
  callee.call_site = node;
  callee.inlined_at = nullptr;
  if (e.frame->scope && node) {
    callee.scope = e.c.subprogram(*callee.function);
    callee.inlined_at =
        llvm::DILocation::getDistinct(e.c.context, static_cast<unsigned>(node->loc.line),
                                      static_cast<unsigned>(node->loc.column + 1), e.frame->scope, e.frame->inlined_at);
  }
  std::vector<std::pair<Path, Value>> returns;
  callee.returns = &returns;
  Frame* outer = e.frame;
  e.frame = &callee;
  for (const auto& [name, value] : bound) e.assign_name(name, value);
  e.frame = outer;
  e.run_body(callee);
  return e.join_returns(returns);
}

Value Evaluator::call_closure(const Node* node, std::uint32_t index, std::vector<Value> args,
                              std::vector<std::pair<std::string, Value>> keywords) {
  const Closure closure = c.closures[index];
  const FunctionAst& callee = *closure.node->function;
  for (Frame* up = frame; up; up = up->caller)
    if (up->function == &callee)
      fail(node, "a function that is defined in a kernel cannot call itself: define it at module level",
           "UnsupportedError");
  std::vector<std::size_t> with_default;
  for (std::size_t i = 0; i < callee.parameters.size(); ++i)
    if (callee.parameters[i].default_value) with_default.push_back(i);
  const auto bound = bind_arguments(*this, node, callee, std::move(args), std::move(keywords),
                                    [&](std::size_t i) -> std::optional<Value> {
                                      const auto found = std::find(with_default.begin(), with_default.end(), i);
                                      if (found == with_default.end()) return std::nullopt;
                                      return *closure.defaults[static_cast<std::size_t>(found - with_default.begin())];
                                    });
  Frame inner;
  inner.function = &callee;
  inner.parent = closure.frame;
  inner.key = signature_key(callee, bound);
  return expand(*this, node, inner, bound);
}

// Emits `callee` as a function of its own, which may call itself. Its result type is found by the paths that do not.
static RealFunction& real_function(Evaluator& e, const Node* node, const FunctionAst& callee, const std::string& key,
                                   const std::vector<std::pair<std::string, Value>>& bound, bool never_inline) {
  RealFunction& real = e.c.functions[key];
  if (real.function || real.in_progress) return real;
  real.in_progress = true;
  std::vector<llvm::Type*> parameters;
  for (const auto& [name, value] : bound) parameters.push_back(e.llvm_type(value.type));
  for (int attempt = 0;; ++attempt) {
    const Type* assumed = real.return_type;
    llvm::Type* result = assumed ? e.llvm_type(assumed) : llvm::Type::getVoidTy(e.c.context);
    llvm::Function* function = llvm::Function::Create(llvm::FunctionType::get(result, parameters, false),
                                                      llvm::Function::InternalLinkage, callee.name, *e.c.module);
    if (never_inline) function->addFnAttr(llvm::Attribute::NoInline);
    function->addFnAttr(llvm::Attribute::NoUnwind);
    real.function = assumed ? function : nullptr;
    Evaluator inner(e.c, function);
    Frame frame;
    frame.function = &callee;
    frame.key = key;
    if (e.frame->scope) {
      frame.scope = e.c.new_subprogram(callee);
      function->setSubprogram(llvm::cast<llvm::DISubprogram>(frame.scope));
    }
    std::vector<std::pair<Path, Value>> returns;
    frame.returns = &returns;
    inner.frame = &frame;
    llvm::BasicBlock* body = inner.new_block("body");
    inner.b.SetInsertPoint(body);
    for (std::size_t i = 0; i < bound.size(); ++i)
      inner.assign_name(bound[i].first,
                        {bound[i].second.type, function->getArg(static_cast<unsigned>(i)), nullptr, false});
    inner.frame = nullptr;  // run_body makes this the caller of `frame`
    inner.run_body(frame);
    inner.b.SetInsertPoint(inner.entry_block);
    inner.b.CreateBr(body);
    inner.frame = &frame;
    const Type* found = nullptr;
    for (const auto& [path, value] : returns) {
      const Type* wider = found ? unify(found, value.type) : value.type;
      if (!wider)
        e.fail(node, fmt::format("{}() returns {} and {}, which do not unify", callee.name, display(found),
                                 display(value.type)));
      found = wider;
    }
    if (!found)
      e.fail(node, fmt::format("cannot type infer runaway recursion: no path of {}() ends without calling it again",
                               callee.name));
    if (assumed && !inner.incomplete && unify(assumed, found) == assumed) {
      for (const auto& [path, value] : returns) {
        inner.b.SetInsertPoint(path.block);
        llvm::Value* ir = inner.convert(value, assumed, node).ir;
        inner.b.CreateRet(ir);
      }
      real.in_progress = false;
      return real;
    }
    if (attempt > 8)
      e.fail(node, fmt::format(
                       "Return type of recursive function does not converge: {}() returns another type with each call",
                       callee.name));
    real.return_type = assumed ? unify(assumed, found) : found;
    // Nothing but this function itself can refer to it so far.
    function->deleteBody();
    function->replaceAllUsesWith(llvm::PoisonValue::get(function->getType()));
    function->eraseFromParent();
  }
}

Value Evaluator::call_function(const Node* node, const ObjectInfo& info, std::vector<Value> args,
                               std::vector<std::pair<std::string, Value>> keywords) {
  const FunctionAst& callee = *info.function;
  const std::size_t first_default = callee.parameters.size() - std::min(callee.parameters.size(), info.defaults.size());
  const std::vector<ObjectId> defaults = info.defaults;
  const bool never_inline = info.never_inline;
  const auto bound = bind_arguments(*this, node, callee, std::move(args), std::move(keywords),
                                    [&](std::size_t i) -> std::optional<Value> {
                                      if (i < first_default || defaults[i - first_default] == 0) return std::nullopt;
                                      return object_value(node, defaults[i - first_default]);
                                    });
  const std::string key = signature_key(callee, bound);
  bool recursive = never_inline || c.functions.contains(key);
  for (Frame* up = frame; up && !recursive; up = up->caller) recursive = up->key == key;
  if (recursive) {
    for (const auto& [name, value] : bound)
      if (value.type->is(TypeKind::closure))
        fail(node, "a function defined in the kernel cannot be handed to a function that is not expanded",
             "UnsupportedError");
    RealFunction& real = real_function(*this, node, callee, key, bound, never_inline);
    if (!real.return_type) {
      if (!incomplete_node) incomplete_node = node;
      throw UnknownPath{};
    }
    if (!real.function) {
      // Known type, body under way: a declaration cannot be made yet, so the path waits for the next attempt.
      throw UnknownPath{};
    }
    std::vector<llvm::Value*> ir;
    for (const auto& [name, value] : bound) ir.push_back(value.ir);
    llvm::CallInst* result = b.CreateCall(real.function, ir);
    return {real.return_type, result, nullptr, false};
  }
  Frame inner;
  inner.function = &callee;
  inner.key = key;
  return expand(*this, node, inner, bound);
}

}  // namespace warploom::frontend::python

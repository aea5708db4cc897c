// compile_python(): parameters of the entry, its body, and the errors of all that.
#include <fmt/format.h>

#include <numeric>

#include "frontend/python/evaluator.hpp"

namespace warploom::frontend::python {
namespace {

// Flattened parameter types of one argument, see docs/design/python.md.
void add_parameters(Compilation& c, const Type* type, std::vector<llvm::Type*>& out) {
  llvm::Type* wide = llvm::Type::getInt64Ty(c.context);
  switch (type->kind) {
    case TypeKind::array: out.insert(out.end(), 1 + 2 * type->ndim, wide); return;
    case TypeKind::boolean: out.push_back(llvm::Type::getInt8Ty(c.context)); return;
    case TypeKind::complex: out.insert(out.end(), 2, c.llvm_type(float_type(type->bits))); return;
    case TypeKind::record:
    case TypeKind::charseq:
    case TypeKind::nested:
    case TypeKind::pointer: out.push_back(wide); return;
    case TypeKind::tuple:
      for (const Type* item : type->items) add_parameters(c, item, out);
      return;
    case TypeKind::optional:
      out.push_back(llvm::Type::getInt8Ty(c.context));
      add_parameters(c, type->element, out);
      return;
    case TypeKind::integer:
    case TypeKind::floating:
    case TypeKind::datetime:
    case TypeKind::timedelta:
    case TypeKind::vector: out.push_back(c.llvm_type(type)); return;
    case TypeKind::enumeration: add_parameters(c, type->element, out); return;
    default: return;
  }
}

// The value that the parameters from `next` on make up.
Value take_parameters(Evaluator& e, const Type* type, unsigned& next) {
  auto& b = e.b;
  const auto take = [&]() -> llvm::Value* { return e.llvm_function->getArg(next++); };
  const auto pointer = [&]() -> llvm::Value* {
    // Kernel arguments point to global memory.
    return b.CreateAddrSpaceCast(b.CreateIntToPtr(take(), b.getPtrTy(1)), b.getPtrTy());
  };
  switch (type->kind) {
    case TypeKind::array: {
      if (!e.c.options.device)
        e.c.result.arrays.push_back({next, type->ndim, static_cast<std::uint32_t>(memory_size(type->element)), false});
      llvm::Value* data = pointer();
      std::vector<llvm::Value*> shape, strides;
      for (unsigned i = 0; i < type->ndim; ++i) shape.push_back(take());
      for (unsigned i = 0; i < type->ndim; ++i) strides.push_back(take());
      return e.make_array(type, data, shape, strides);
    }
    case TypeKind::boolean: return e.boolean(b.CreateICmpNE(take(), b.getInt8(0)));
    case TypeKind::complex: {
      llvm::Value* ir = b.CreateInsertValue(llvm::UndefValue::get(e.llvm_type(type)), take(), 0);
      return {type, b.CreateInsertValue(ir, take(), 1), nullptr, false};
    }
    case TypeKind::nested: return e.load(pointer(), type);
    case TypeKind::record:
    case TypeKind::charseq:
    case TypeKind::pointer: return {type, pointer(), nullptr, false};
    case TypeKind::tuple: {
      std::vector<Value> items;
      for (const Type* item : type->items) items.push_back(take_parameters(e, item, next));
      return e.make_tuple(type, items);
    }
    case TypeKind::optional: {
      llvm::Value* ir =
          b.CreateInsertValue(llvm::UndefValue::get(e.llvm_type(type)), b.CreateICmpNE(take(), b.getInt8(0)), 0);
      return {type, b.CreateInsertValue(ir, take_parameters(e, type->element, next).ir, 1), nullptr, false};
    }
    case TypeKind::enumeration: return {type, take_parameters(e, type->element, next).ir, nullptr, false};
    case TypeKind::integer:
    case TypeKind::floating:
    case TypeKind::datetime:
    case TypeKind::timedelta:
    case TypeKind::vector: return {type, take(), nullptr, type->is(TypeKind::integer) && !type->is_signed};
    default: return {type, e.empty(), nullptr, false};
  }
}

std::string source_name(std::string_view text) {
  std::string name;
  for (const char ch : text) name += (std::isalnum(static_cast<unsigned char>(ch)) != 0) ? ch : '_';
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0) name = "_" + name;
  return fmt::format("{}{}", name.size(), name);
}

// A type as the Itanium C++ ABI encodes it, so that tools which demangle show "scale(Array<float, 1, C>, long)".
std::string encoded(const Type* type) {
  switch (type->kind) {
    case TypeKind::boolean: return "b";
    case TypeKind::integer:
      switch (type->bits) {
        case 8: return type->is_signed ? "a" : "h";
        case 16: return type->is_signed ? "s" : "t";
        case 32: return type->is_signed ? "i" : "j";
        default: return type->is_signed ? "l" : "m";
      }
    case TypeKind::floating:
      if (type->bfloat) return source_name("bfloat16");
      return type->bits == 16 ? source_name("half") : type->bits == 32 ? "f" : "d";
    case TypeKind::complex: return "C" + encoded(float_type(type->bits));
    case TypeKind::pointer: return "P" + encoded(type->element);
    case TypeKind::array:
      return fmt::format("5ArrayI{}Li{}E{}E", encoded(type->element), type->ndim,
                         source_name(std::string_view(&type->layout, 1)));
    case TypeKind::tuple: {
      std::string text = "5TupleI";
      for (const Type* item : type->items) text += encoded(item);
      return text + "E";
    }
    default: return source_name(canonical(type));
  }
}

// The name in PTX.
std::string entry_name(const FunctionAst& function, const std::vector<const Type*>& types, const char* suffix = "") {
  const std::string name = source_name((function.name == "<lambda>" ? "lambda" : function.name) + suffix);
  std::string text = "_Z" + name;
  for (const Type* type : types) text += encoded(type);
  if (types.empty()) text += "v";
  constexpr std::size_t longest = 500;
  if (text.size() <= longest) return text;
  // A hash keeps two kernels apart.
  std::string all;
  for (const Type* type : types) all += canonical(type) + ",";
  return fmt::format("_Z{}{}", name, source_name(fmt::format("types_{:016x}", std::hash<std::string>{}(all))));
}

void set_launch_bounds(llvm::Function* kernel, const Options& options) {
  static constexpr const char* names[] = {"nvvm.maxntid", "nvvm.minctasm", "nvvm.maxclusterrank"};
  for (unsigned i = 0; i < 3; ++i)
    if (options.launch_bounds[i] != 0)
      kernel->addFnAttr(names[i], std::to_string(options.launch_bounds[i]) + (i == 0 ? ",1,1" : ""));
  if (options.max_registers != 0) kernel->addFnAttr("nvvm.maxnreg", std::to_string(options.max_registers));
}

void compile(const Request& request, Compilation& c) {
  const FunctionAst& ast = *request.function;
  std::vector<const Type*> types;
  for (const std::string& text : request.argument_types) {
    types.push_back(parse_type(text, c.world));
    if (!types.back())
      throw CompileError{{"TypingError", fmt::format("'{}' is not a type that a kernel argument can have", text),
                          ast.file, ast.loc.line, 0}};
  }
  std::vector<llvm::Type*> parameters;
  for (const Type* type : types) {
    // A device function of the C convention takes each argument as one value.
    if (c.options.device && !type->is(TypeKind::array) && !type->is(TypeKind::tuple)) {
      llvm::Type* one = c.llvm_type(type);
      if (type->is(TypeKind::boolean)) one = llvm::Type::getInt8Ty(c.context);
      if (type->is(TypeKind::pointer)) one = llvm::Type::getInt64Ty(c.context);
      const auto* aggregate = llvm::dyn_cast<llvm::StructType>(one);
      if (type->is(TypeKind::complex))
        add_parameters(c, type, parameters);
      else if (!aggregate || aggregate->getNumElements() != 0)
        parameters.push_back(one);
      continue;
    }
    add_parameters(c, type, parameters);
  }
  c.result.entry = c.options.name.empty() ? entry_name(ast, types) : c.options.name;
  const Type* declared = nullptr;
  if (!request.return_type.empty() && request.return_type != "none")
    declared = parse_type(request.return_type, c.world);

  const auto emit = [&](const Type* returned) {
    llvm::Type* result =
        c.options.device && returned && !returned->is(TypeKind::none)
            ? (returned->is(TypeKind::boolean) ? llvm::Type::getInt8Ty(c.context) : c.llvm_type(returned))
            : llvm::Type::getVoidTy(c.context);
    llvm::Function* function = llvm::Function::Create(llvm::FunctionType::get(result, parameters, false),
                                                      llvm::Function::ExternalLinkage, c.result.entry, *c.module);
    function->addFnAttr(llvm::Attribute::NoUnwind);
    if (!c.options.device) {
      function->setCallingConv(llvm::CallingConv::PTX_Kernel);
      set_launch_bounds(function, c.options);
    }
    Evaluator e(c, function);
    Frame frame;
    frame.function = &ast;
    if (c.options.line_info || c.options.debug) {
      frame.scope = c.subprogram(ast);
      function->setSubprogram(llvm::cast<llvm::DISubprogram>(frame.scope));
    }
    std::vector<std::pair<Path, Value>> returns;
    frame.returns = &returns;
    e.frame = &frame;
    llvm::BasicBlock* body = e.new_block("body");
    e.b.SetInsertPoint(body);
    if (frame.scope)
      e.b.SetCurrentDebugLocation(
          llvm::DILocation::get(c.context, static_cast<unsigned>(std::max(1, ast.loc.line)), 1, frame.scope));

    // Arguments to parameters: positions, then defaults, then *args.
    unsigned next = 0;
    std::vector<Value> values;
    for (const Type* type : types) {
      if (c.options.device && type->is(TypeKind::pointer)) {
        values.push_back(e.convert({int_type(64, false), function->getArg(next++), nullptr, false}, type, nullptr));
        continue;
      }
      values.push_back(take_parameters(e, type, next));
    }
    const std::size_t count = ast.parameters.size();
    const std::size_t first_default = count - std::min(count, request.defaults.size());
    for (std::size_t i = 0; i < count; ++i) {
      if (i < values.size()) {
        e.assign_name(ast.parameters[i].name, values[i]);
      } else if (i >= first_default && request.defaults[i - first_default] != 0) {
        e.assign_name(ast.parameters[i].name, e.object_value(nullptr, request.defaults[i - first_default]));
      } else {
        e.fail(nullptr, fmt::format("missing a required argument: '{}'", ast.parameters[i].name), "TypingError");
      }
    }
    if (!ast.vararg.empty()) {
      std::vector<Value> rest;
      for (std::size_t i = count; i < values.size(); ++i) rest.push_back(values[i]);
      e.assign_name(ast.vararg, e.make_tuple(rest));
    } else if (values.size() > count) {
      e.fail(nullptr,
             fmt::format("too many positional arguments: {}() takes {}, {} were given", ast.name, count, values.size()),
             "TypingError");
    }
    e.run_body(frame);
    e.b.SetInsertPoint(e.entry_block);
    e.b.CreateBr(body);
    e.frame = &frame;

    const Type* found = nullptr;
    for (const auto& [path, value] : returns) {
      const Type* wider = found ? unify(found, value.type) : value.type;
      if (!wider)
        e.fail(nullptr, fmt::format("Can't unify return type from the following types: {}, {}", display(found),
                                    display(value.type)));
      found = wider;
    }
    if (!found) found = none_type();
    if (declared && c.options.device) {
      if (!Evaluator::can_convert(found, declared))
        e.fail(nullptr, fmt::format("{}() returns {}, which is not the {} of its signature", ast.name, display(found),
                                    display(declared)));
      found = declared;
    }
    if (!c.options.device && !found->is(TypeKind::none)) {
      const Node* at = nullptr;
      for (const Node* node : ast.body)
        if (node->kind == NodeKind::return_) at = node;
      e.fail(at, "CUDA kernel must have void return type.", "TypeError");
    }
    const bool fits = !c.options.device || returned == found ||
                      (found->is(TypeKind::none) && returned && returned->is(TypeKind::none));
    if (fits) {
      for (const auto& [path, value] : returns) {
        e.b.SetInsertPoint(path.block);
        if (!c.options.device || found->is(TypeKind::none)) {
          e.b.CreateRetVoid();
          continue;
        }
        llvm::Value* ir = e.convert(value, found, nullptr).ir;
        if (found->is(TypeKind::boolean)) ir = e.b.CreateZExt(ir, e.b.getInt8Ty());
        e.b.CreateRet(ir);
      }
      c.result.return_type = canonical(found);
    }
    std::string types_text;
    for (const auto& [name, variable] : frame.env)
      if (variable.type) types_text += fmt::format("{}: {}\n", name, display(variable.type));
    c.result.types = types_text;
    return std::pair{fits ? function : (function->deleteBody(), function->eraseFromParent(), nullptr), found};
  };

  auto [function, found] = emit(c.options.device ? declared : none_type());
  if (!function) function = emit(found).first;
  WL_INTERNAL("python frontend", function != nullptr, "the return type does not settle");
  const std::string& name = c.options.name;
  c.emit_ptx(function, name.empty() ? entry_name(ast, types, "_overlapping") : name + "_overlapping");
}

}  // namespace

Compiled compile_python(const Request& request, World& world, Failure& failure) {
  failure = {};
  Compilation c(world, request.options);
  try {
    compile(request, c);
  } catch (const CompileError& error) {
    failure = error.failure;
    return {};
  } catch (const UnknownPath&) {
    failure = {"TypingError", "the types of this function cannot be inferred", request.function->file,
               request.function->loc.line, 0};
    return {};
  }
  return std::move(c.result);
}

}  // namespace warploom::frontend::python

// print() and printf() through the device's vprintf (CUDA Programming Guide, "Formatted Output").
#include <fmt/format.h>

#include "frontend/python/builtins.hpp"

namespace warploom::frontend::python {
namespace {

struct Output {
  std::string format;
  std::vector<llvm::Value*> values;
};

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '%') result += '%';
    result += c;
  }
  return result;
}

void add(Evaluator& e, Output& out, const Value& value, const Call& call, bool inside_tuple = false) {
  auto& b = e.b;
  switch (value.type->kind) {
    case TypeKind::string: {
      const std::string text = escaped(value.constant()->text);
      out.format += inside_tuple ? "'" + text + "'" : text;
      return;
    }
    case TypeKind::none: out.format += "None"; return;
    case TypeKind::boolean: {
      llvm::Value* text = b.CreateSelect(value.ir, e.c.string_constant("True"), e.c.string_constant("False"));
      out.format += "%s";
      out.values.push_back(b.CreateAddrSpaceCast(text, b.getPtrTy()));
      return;
    }
    case TypeKind::integer: {
      const bool wide = value.type->bits > 32;
      out.format += wide ? (value.type->is_signed ? "%lld" : "%llu") : (value.type->is_signed ? "%d" : "%u");
      out.values.push_back(b.CreateIntCast(value.ir, wide ? b.getInt64Ty() : b.getInt32Ty(), value.type->is_signed));
      return;
    }
    case TypeKind::floating:
      out.format += "%f";
      out.values.push_back(e.convert(value, float_type(64), call.node).ir);
      return;
    case TypeKind::complex: {
      const Type* part = float_type(value.type->bits);
      out.format += "(%f+%fj)";
      for (unsigned i = 0; i < 2; ++i)
        out.values.push_back(
            e.convert({part, b.CreateExtractValue(value.ir, i), nullptr, false}, float_type(64), call.node).ir);
      return;
    }
    case TypeKind::tuple:
      out.format += "(";
      for (std::size_t i = 0; i < value.type->items.size(); ++i) {
        if (i > 0) out.format += ", ";
        add(e, out, e.tuple_item(value, i), call, true);
      }
      out.format += value.type->items.size() == 1 ? ",)" : ")";
      return;
    case TypeKind::iterator:
      if (value.type->name == "f-string") {
        for (unsigned i = 0; i < value.type->items.size(); ++i)
          add(e, out,
              {value.type->items[i], b.CreateExtractValue(value.ir, i),
               value.literal ? value.literal->items[i] : nullptr, false},
              call);
        return;
      }
      break;
    case TypeKind::datetime:
    case TypeKind::timedelta:
      out.format += "%lld";
      out.values.push_back(value.ir);
      return;
    case TypeKind::enumeration: add(e, out, {value.type->element, value.ir, nullptr, false}, call); return;
    case TypeKind::optional: add(e, out, e.convert(value, value.type->element, call.node), call); return;
    case TypeKind::vector:
      out.format += "(";
      for (unsigned i = 0; i < value.type->ndim; ++i) {
        if (i > 0) out.format += ", ";
        add(e, out, {value.type->element, b.CreateExtractElement(value.ir, i), nullptr, false}, call);
      }
      out.format += ")";
      return;
    case TypeKind::charseq: {
      out.format += "%s";
      // vprintf wants a terminated string.
      llvm::AllocaInst* text = e.entry_alloca(llvm::ArrayType::get(b.getInt8Ty(), value.type->size + 1U), "text");
      for (std::uint32_t i = 0; i < value.type->size; ++i) {
        llvm::Type* unit = value.type->wide ? static_cast<llvm::Type*>(b.getInt32Ty()) : b.getInt8Ty();
        llvm::Value* one = b.CreateAlignedLoad(unit, b.CreateConstInBoundsGEP1_64(unit, value.ir, i),
                                               llvm::MaybeAlign(value.type->wide ? 4 : 1));
        b.CreateStore(b.CreateTrunc(one, b.getInt8Ty()), b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), text, i));
      }
      b.CreateStore(b.getInt8(0), b.CreateConstInBoundsGEP1_64(b.getInt8Ty(), text, value.type->size));
      out.values.push_back(text);
      return;
    }
    case TypeKind::object: {
      const ObjectInfo& info = e.c.world.describe(value.type->object);
      if (info.kind == ObjectInfo::Kind::builtin && info.name.starts_with("cuda.") && find_builtin(info.name + ".x")) {
        out.format += "(";
        const std::string base = info.name;
        for (const char axis : {'x', 'y', 'z'}) {
          if (axis != 'x') out.format += ", ";
          Call part{call.node, fmt::format("{}.{}", base, axis), {}, {}};
          add(e, out, find_builtin(part.name)(e, part), call);
        }
        out.format += ")";
        return;
      }
      break;
    }
    default: break;
  }
  e.no_match(call, fmt::format("{} cannot be printed", e.describe(value)));
}

void emit(Evaluator& e, const Output& out) {
  auto& b = e.b;
  std::vector<llvm::Type*> types;
  for (llvm::Value* value : out.values) types.push_back(value->getType());
  llvm::Value* buffer = llvm::ConstantPointerNull::get(b.getPtrTy());
  if (!types.empty()) {
    // The arguments lie as in a C struct.
    llvm::StructType* layout = llvm::StructType::get(e.c.context, types);
    llvm::AllocaInst* place = e.entry_alloca(layout, "arguments");
    place->setAlignment(llvm::Align(8));
    for (unsigned i = 0; i < out.values.size(); ++i) b.CreateStore(out.values[i], b.CreateStructGEP(layout, place, i));
    buffer = place;
  }
  llvm::FunctionCallee vprintf = e.c.module->getOrInsertFunction(
      "vprintf", llvm::FunctionType::get(b.getInt32Ty(), {b.getPtrTy(), b.getPtrTy()}, false));
  b.CreateCall(vprintf, {b.CreateAddrSpaceCast(e.c.string_constant(out.format), b.getPtrTy()), buffer});
}

Value print(Evaluator& e, Call& call) {
  if (!call.keywords.empty()) e.no_match(call, "print in a kernel has no keyword arguments");
  Output out;
  for (std::size_t i = 0; i < call.args.size(); ++i) {
    if (i > 0) out.format += " ";
    add(e, out, call.args[i], call);
  }
  out.format += "\n";
  constexpr std::size_t most = 32;  // what vprintf takes on the device
  if (out.values.size() > most) {
    e.c.warn(
        "NumbaWarning",
        "CUDA print() cannot print more than 32 items. The raw format string will be emitted by the kernel instead.");
    Output plain;
    plain.format = escaped(out.format);
    emit(e, plain);
    return e.none();
  }
  emit(e, out);
  return e.none();
}

// printf(format, …): C's conversions; integers and floats are given the size that the conversion names.
Value printf(Evaluator& e, Call& call) {
  if (call.args.empty() || !call.keywords.empty()) e.no_match(call);
  const Constant* format = call.args[0].constant();
  if (!format || format->kind != Constant::Kind::string) e.no_match(call, "the format is a literal string");
  Output out;
  std::size_t next = 1;
  const std::string& text = format->text;
  for (std::size_t i = 0; i < text.size(); ++i) {
    out.format += text[i];
    if (text[i] != '%') continue;
    if (i + 1 < text.size() && text[i + 1] == '%') {
      out.format += text[++i];
      continue;
    }
    std::string flags;
    while (++i < text.size() && std::string_view("-+ #0123456789.").find(text[i]) != std::string_view::npos)
      flags += text[i];
    while (i < text.size() && std::string_view("hlzjt").find(text[i]) != std::string_view::npos) ++i;
    if (i >= text.size()) e.no_match(call, "the format ends in the middle of a conversion");
    if (next >= call.args.size()) e.no_match(call, "the format has more conversions than there are values");
    const Value value = e.plain(call.args[next++], call.node);
    out.format += flags;
    switch (text[i]) {
      case 'd':
      case 'i':
      case 'u':
      case 'x':
      case 'X':
      case 'o':
      case 'c': {
        if (!value.type->is_integral()) e.no_match(call, fmt::format("%{} needs an integer", text[i]));
        out.format += text[i] == 'c' ? "" : "ll";
        const Value wide = e.convert(value, int_type(text[i] == 'c' ? 32 : 64), call.node);
        out.values.push_back(wide.ir);
        break;
      }
      case 'f':
      case 'F':
      case 'e':
      case 'E':
      case 'g':
      case 'G':
      case 'a':
      case 'A':
        if (!value.type->is_number() || value.type->is(TypeKind::complex))
          e.no_match(call, fmt::format("%{} needs a number", text[i]));
        out.values.push_back(e.convert(value, float_type(64), call.node).ir);
        break;
      case 's': {
        if (!value.type->is(TypeKind::string)) e.no_match(call, "%s needs a literal string");
        out.values.push_back(e.b.CreateAddrSpaceCast(e.c.string_constant(value.constant()->text), e.b.getPtrTy()));
        break;
      }
      default: e.no_match(call, fmt::format("unknown conversion %{}", text[i]));
    }
    out.format += text[i];
  }
  if (next != call.args.size()) e.no_match(call, "there are more values than the format has conversions");
  emit(e, out);
  return e.none();
}

constexpr BuiltinRow rows[] = {
    {"builtins.print", print},
    {"cuda.printf", printf},
};

}  // namespace

std::span<const BuiltinRow> print_builtins() { return rows; }

}  // namespace warploom::frontend::python

// CPython's syntax tree, read into the compiler's own.
#include <algorithm>
#include <functional>
#include <set>
#include <unordered_map>

#include "compiler_binding.hpp"

namespace warploom::python {
namespace {

using front::FunctionAst;
using front::Loc;
using front::Node;
using front::NodeKind;
using front::Op;

std::string class_name(nb::handle object) {
  return nb::cast<std::string>(nb::borrow<nb::str>(object.type().attr("__name__")));
}

std::string text_of(nb::handle object, const char* attribute) {
  const nb::object value = object.attr(attribute);
  return value.is_none() ? std::string() : nb::cast<std::string>(value);
}

Op operator_of(nb::handle object) {
  static const std::unordered_map<std::string, Op> names{{"Add", Op::add},
                                                         {"Sub", Op::sub},
                                                         {"Mult", Op::mul},
                                                         {"Div", Op::div},
                                                         {"FloorDiv", Op::floor_div},
                                                         {"Mod", Op::mod},
                                                         {"Pow", Op::pow},
                                                         {"MatMult", Op::matmul},
                                                         {"LShift", Op::lshift},
                                                         {"RShift", Op::rshift},
                                                         {"BitOr", Op::bit_or},
                                                         {"BitXor", Op::bit_xor},
                                                         {"BitAnd", Op::bit_and},
                                                         {"Invert", Op::invert},
                                                         {"Not", Op::not_},
                                                         {"UAdd", Op::plus},
                                                         {"USub", Op::minus},
                                                         {"And", Op::and_},
                                                         {"Or", Op::or_},
                                                         {"Eq", Op::eq},
                                                         {"NotEq", Op::ne},
                                                         {"Lt", Op::lt},
                                                         {"LtE", Op::le},
                                                         {"Gt", Op::gt},
                                                         {"GtE", Op::ge},
                                                         {"Is", Op::is_},
                                                         {"IsNot", Op::is_not},
                                                         {"In", Op::in},
                                                         {"NotIn", Op::not_in}};
  const auto found = names.find(class_name(object));
  return found == names.end() ? Op::none : found->second;
}

class Reader {
 public:
  explicit Reader(FunctionAst& owner) : owner_(owner) {}

  void function(nb::handle node, FunctionAst& into) {
    into.name = nb::hasattr(node, "name") ? text_of(node, "name") : "<lambda>";
    into.loc = place(node);
    std::set<std::string> locals;
    std::set<std::string>* outer = locals_;
    locals_ = &locals;
    const nb::object arguments = node.attr("args");
    std::vector<Node*> defaults;
    {
      // Defaults belong to the scope around the function.
      locals_ = outer;
      for (const nb::handle value : arguments.attr("defaults")) defaults.push_back(outer ? expression(value) : nullptr);
      locals_ = &locals;
    }
    const auto add = [&](nb::handle argument, bool keyword_only) {
      into.parameters.push_back({text_of(argument, "arg"), nullptr, keyword_only});
      locals.insert(into.parameters.back().name);
    };
    for (const nb::handle argument : arguments.attr("posonlyargs")) add(argument, false);
    for (const nb::handle argument : arguments.attr("args")) add(argument, false);
    for (std::size_t i = 0; i < defaults.size(); ++i)
      into.parameters[into.parameters.size() - defaults.size() + i].default_value = defaults[i];
    if (const nb::object vararg = arguments.attr("vararg"); !vararg.is_none()) {
      into.vararg = text_of(vararg, "arg");
      locals.insert(into.vararg);
    }
    std::size_t index = 0;
    const nb::object keyword_defaults = arguments.attr("kw_defaults");
    for (const nb::handle argument : arguments.attr("kwonlyargs")) {
      add(argument, true);
      const nb::object value = keyword_defaults[nb::int_(index++)];
      if (!value.is_none() && outer) into.parameters.back().default_value = expression(value);
    }
    into.has_kwargs = !arguments.attr("kwarg").is_none();
    const nb::object body = node.attr("body");
    if (nb::isinstance<nb::list>(body)) {
      into.body = statements(body);
    } else {
      Node* result = make(NodeKind::return_, body);
      result->a.push_back(expression(body));
      into.body.push_back(result);
    }
    into.locals.assign(locals.begin(), locals.end());
    locals_ = outer;
  }

 private:
  static Loc place(nb::handle node) {
    const auto number = [&](const char* name) -> std::int32_t {
      const nb::object value = nb::getattr(node, name, nb::none());
      return value.is_none() ? 0 : nb::cast<std::int32_t>(value);
    };
    return {number("lineno"), number("col_offset"), number("end_lineno"), number("end_col_offset")};
  }

  Node* make(NodeKind kind, nb::handle node) {
    owner_.nodes.push_back(std::make_unique<Node>());
    Node* made = owner_.nodes.back().get();
    made->kind = kind;
    made->loc = place(node);
    return made;
  }

  Node* unsupported(nb::handle node) {
    Node* made = make(NodeKind::unsupported, node);
    made->text = class_name(node);
    return made;
  }

  Node* optional(nb::handle node) { return node.is_none() ? nullptr : expression(node); }

  std::vector<Node*> expressions(nb::handle list) {
    std::vector<Node*> result;
    for (const nb::handle item : list) result.push_back(expression(item));
    return result;
  }

  std::vector<Node*> statements(nb::handle list) {
    std::vector<Node*> result;
    for (const nb::handle item : list) result.push_back(statement(item));
    return result;
  }

  void target(nb::handle node) {
    const std::string name = class_name(node);
    if (name == "Name") locals_->insert(text_of(node, "id"));
    if (name == "Tuple" || name == "List")
      for (const nb::handle item : node.attr("elts")) target(item);
    if (name == "Starred") target(node.attr("value"));
  }

  Node* nested(nb::handle node) {
    Node* made = make(class_name(node) == "Lambda" ? NodeKind::lambda : NodeKind::function_def, node);
    made->function = std::make_unique<FunctionAst>();
    made->function->file = owner_.file;
    made->function->source = owner_.source;
    made->function->first_source_line = owner_.first_source_line;
    function(node, *made->function);
    made->text = made->function->name;
    return made;
  }

  Node* expression(nb::handle node) {
    using Read = std::function<Node*(Reader&, nb::handle)>;
    static const std::unordered_map<std::string, Read> readers{
        {"Name",
         [](Reader& r, nb::handle n) {
           Node* made = r.make(NodeKind::name, n);
           made->text = text_of(n, "id");
           return made;
         }},
        {"Constant",
         [](Reader& r, nb::handle n) {
           Node* made = r.make(NodeKind::constant, n);
           made->constant = read_constant(n.attr("value"));
           return made;
         }},
        {"Attribute",
         [](Reader& r, nb::handle n) {
           Node* made = r.make(NodeKind::attribute, n);
           made->a.push_back(r.expression(n.attr("value")));
           made->text = text_of(n, "attr");
           return made;
         }},
        {"Subscript",
         [](Reader& r, nb::handle n) {
           Node* made = r.make(NodeKind::subscript, n);
           made->a = {r.expression(n.attr("value")), r.expression(n.attr("slice"))};
           return made;
         }},
        {"Slice",
         [](Reader& r, nb::handle n) {
           Node* made = r.make(NodeKind::slice, n);
           made->a = {r.optional(n.attr("lower")), r.optional(n.attr("upper")), r.optional(n.attr("step"))};
           return made;
         }},
        {"Tuple",
         [](Reader& r, nb::handle n) {
           Node* made = r.make(NodeKind::tuple, n);
           made->a = r.expressions(n.attr("elts"));
           return made;
         }},
        {"List",
         [](Reader& r, nb::handle n) {
           Node* made = r.make(NodeKind::list, n);
           made->a = r.expressions(n.attr("elts"));
           return made;
         }},
        {"Call",
         [](Reader& r, nb::handle n) {
           Node* made = r.make(NodeKind::call, n);
           made->a.push_back(r.expression(n.attr("func")));
           for (Node* argument : r.expressions(n.attr("args"))) made->a.push_back(argument);
           for (const nb::handle keyword : n.attr("keywords")) {
             made->names.push_back(text_of(keyword, "arg"));
             made->body.push_back(r.expression(keyword.attr("value")));
           }
           return made;
         }},
        {"Starred",
         [](Reader& r, nb::handle n) {
           Node* made = r.make(NodeKind::starred, n);
           made->a.push_back(r.expression(n.attr("value")));
           return made;
         }},
        {"BinOp",
         [](Reader& r, nb::handle n) {
           Node* made = r.make(NodeKind::binary, n);
           made->op = operator_of(n.attr("op"));
           made->a = {r.expression(n.attr("left")), r.expression(n.attr("right"))};
           return made;
         }},
        {"UnaryOp",
         [](Reader& r, nb::handle n) {
           Node* made = r.make(NodeKind::unary, n);
           made->op = operator_of(n.attr("op"));
           made->a.push_back(r.expression(n.attr("operand")));
           return made;
         }},
        {"BoolOp",
         [](Reader& r, nb::handle n) {
           Node* made = r.make(NodeKind::bool_op, n);
           made->op = operator_of(n.attr("op"));
           made->a = r.expressions(n.attr("values"));
           return made;
         }},
        {"Compare",
         [](Reader& r, nb::handle n) {
           Node* made = r.make(NodeKind::compare, n);
           made->a.push_back(r.expression(n.attr("left")));
           for (Node* right : r.expressions(n.attr("comparators"))) made->a.push_back(right);
           for (const nb::handle op : n.attr("ops")) made->ops.push_back(operator_of(op));
           return made;
         }},
        {"IfExp",
         [](Reader& r, nb::handle n) {
           Node* made = r.make(NodeKind::conditional, n);
           made->a = {r.expression(n.attr("test")), r.expression(n.attr("body")), r.expression(n.attr("orelse"))};
           return made;
         }},
        {"Lambda", [](Reader& r, nb::handle n) { return r.nested(n); }},
        {"JoinedStr",
         [](Reader& r, nb::handle n) {
           Node* made = r.make(NodeKind::joined_string, n);
           made->a = r.expressions(n.attr("values"));
           return made;
         }},
        {"FormattedValue",
         [](Reader& r, nb::handle n) {
           Node* made = r.make(NodeKind::formatted, n);
           made->a.push_back(r.expression(n.attr("value")));
           if (!n.attr("format_spec").is_none()) made->text = "spec";
           return made;
         }},
        {"NamedExpr",
         [](Reader& r, nb::handle n) {
           Node* made = r.make(NodeKind::named_expr, n);
           r.target(n.attr("target"));
           made->a = {r.expression(n.attr("target")), r.expression(n.attr("value"))};
           return made;
         }},
    };
    const auto found = readers.find(class_name(node));
    return found == readers.end() ? unsupported(node) : found->second(*this, node);
  }

  Node* pattern(nb::handle node) {
    const std::string name = class_name(node);
    if (name == "MatchValue") {
      Node* made = make(NodeKind::match_value, node);
      made->a.push_back(expression(node.attr("value")));
      return made;
    }
    if (name == "MatchSingleton") {
      Node* made = make(NodeKind::match_singleton, node);
      made->constant = read_constant(node.attr("value"));
      return made;
    }
    if (name == "MatchOr" || name == "MatchSequence") {
      Node* made = make(name == "MatchOr" ? NodeKind::match_or : NodeKind::match_sequence, node);
      for (const nb::handle item : node.attr("patterns")) made->a.push_back(pattern(item));
      return made;
    }
    if (name == "MatchAs") {
      Node* made = make(NodeKind::match_as, node);
      const nb::object inner = node.attr("pattern");
      made->a.push_back(inner.is_none() ? nullptr : pattern(inner));
      made->text = text_of(node, "name");
      if (!made->text.empty()) locals_->insert(made->text);
      return made;
    }
    return unsupported(node);
  }

  Node* statement(nb::handle node) {
    const std::string name = class_name(node);
    if (name == "Assign") {
      Node* made = make(NodeKind::assign, node);
      made->a.push_back(expression(node.attr("value")));
      for (const nb::handle one : node.attr("targets")) {
        target(one);
        made->body.push_back(expression(one));
      }
      return made;
    }
    if (name == "AnnAssign") {
      if (node.attr("value").is_none()) return make(NodeKind::pass, node);
      Node* made = make(NodeKind::assign, node);
      made->a.push_back(expression(node.attr("value")));
      target(node.attr("target"));
      made->body.push_back(expression(node.attr("target")));
      return made;
    }
    if (name == "AugAssign") {
      Node* made = make(NodeKind::augmented, node);
      made->op = operator_of(node.attr("op"));
      target(node.attr("target"));
      made->a = {expression(node.attr("target")), expression(node.attr("value"))};
      return made;
    }
    if (name == "Expr") {
      Node* made = make(NodeKind::expression, node);
      made->a.push_back(expression(node.attr("value")));
      return made;
    }
    if (name == "If" || name == "While") {
      Node* made = make(name == "If" ? NodeKind::if_ : NodeKind::while_, node);
      made->a.push_back(expression(node.attr("test")));
      made->body = statements(node.attr("body"));
      made->orelse = statements(node.attr("orelse"));
      return made;
    }
    if (name == "For") {
      Node* made = make(NodeKind::for_, node);
      target(node.attr("target"));
      made->a = {expression(node.attr("target")), expression(node.attr("iter"))};
      made->body = statements(node.attr("body"));
      made->orelse = statements(node.attr("orelse"));
      return made;
    }
    if (name == "Break") return make(NodeKind::break_, node);
    if (name == "Continue") return make(NodeKind::continue_, node);
    if (name == "Pass") return make(NodeKind::pass, node);
    if (name == "Return") {
      Node* made = make(NodeKind::return_, node);
      if (!node.attr("value").is_none()) made->a.push_back(expression(node.attr("value")));
      return made;
    }
    if (name == "FunctionDef") {
      locals_->insert(text_of(node, "name"));
      return nested(node);
    }
    if (name == "Assert") {
      Node* made = make(NodeKind::assert_, node);
      made->a.push_back(expression(node.attr("test")));
      if (!node.attr("msg").is_none()) made->a.push_back(expression(node.attr("msg")));
      return made;
    }
    if (name == "Raise") {
      Node* made = make(NodeKind::raise_, node);
      if (!node.attr("exc").is_none()) made->a.push_back(expression(node.attr("exc")));
      return made;
    }
    if (name == "Delete") {
      Node* made = make(NodeKind::delete_, node);
      for (const nb::handle one : node.attr("targets")) {
        target(one);
        made->body.push_back(expression(one));
      }
      return made;
    }
    if (name == "Match") {
      Node* made = make(NodeKind::match, node);
      made->a.push_back(expression(node.attr("subject")));
      for (const nb::handle one : node.attr("cases")) {
        Node* part = make(NodeKind::match_case, one);
        part->a = {pattern(one.attr("pattern")), optional(one.attr("guard"))};
        part->body = statements(one.attr("body"));
        made->body.push_back(part);
      }
      return made;
    }
    return unsupported(node);
  }

  FunctionAst& owner_;
  std::set<std::string>* locals_ = nullptr;
};

}  // namespace

front::Constant read_constant(nb::handle value) {
  using Kind = front::Constant::Kind;
  if (value.is_none()) return {Kind::none, 0, 0, 0, {}};
  if (value.ptr() == Py_Ellipsis) return {Kind::ellipsis, 0, 0, 0, {}};
  if (nb::isinstance<nb::bool_>(value)) return {Kind::boolean, value.ptr() == Py_True ? 1 : 0, 0, 0, {}};
  if (PyLong_Check(value.ptr())) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
    if (overflow == 0) return {Kind::integer, number, 0, 0, {}};
    if (overflow > 0) {
      const unsigned long long big = PyLong_AsUnsignedLongLong(value.ptr());
      if (PyErr_Occurred() == nullptr) return {Kind::unsigned_integer, static_cast<std::int64_t>(big), 0, 0, {}};
      PyErr_Clear();
    }
    return {Kind::too_large, 0, 0, 0, {}};
  }
  if (PyFloat_Check(value.ptr())) return {Kind::floating, 0, PyFloat_AsDouble(value.ptr()), 0, {}};
  if (PyComplex_Check(value.ptr()))
    return {Kind::complex, 0, PyComplex_RealAsDouble(value.ptr()), PyComplex_ImagAsDouble(value.ptr()), {}};
  if (nb::isinstance<nb::str>(value)) return {Kind::string, 0, 0, 0, nb::cast<std::string>(value)};
  if (nb::isinstance<nb::bytes>(value)) {
    const nb::bytes bytes = nb::borrow<nb::bytes>(value);
    return {Kind::string, 0, 0, 0, std::string(bytes.c_str(), bytes.size())};
  }
  return {Kind::none, 0, 0, 0, {}};
}

std::unique_ptr<FunctionAst> read_function(nb::handle node, const std::string& filename,
                                           const std::vector<std::string>& lines, int first_line) {
  auto ast = std::make_unique<FunctionAst>();
  ast->file = filename;
  ast->source = lines;
  ast->first_source_line = first_line;
  Reader(*ast).function(node, *ast);
  return ast;
}

}  // namespace warploom::python

// PythonWorld: answers of warploom.cuda.frontend, kept for the compiler.
#include "compiler_binding.hpp"

namespace warploom::python {

using front::FunctionAst;
using front::ObjectId;
using front::ObjectInfo;

namespace {

std::vector<std::int64_t> numbers(nb::handle sequence) {
  std::vector<std::int64_t> result;
  for (const nb::handle item : sequence) result.push_back(nb::cast<std::int64_t>(item));
  return result;
}

std::vector<std::string> texts(nb::handle sequence) {
  std::vector<std::string> result;
  for (const nb::handle item : sequence) result.push_back(nb::cast<std::string>(item));
  return result;
}

std::string bytes_of(nb::handle object) {
  const nb::bytes bytes = nb::borrow<nb::bytes>(object);
  return {bytes.c_str(), bytes.size()};
}

}  // namespace

PythonWorld::PythonWorld(nb::object frontend, nb::sequence objects)
    : frontend_(std::move(frontend)), request_objects_(std::move(objects)) {}

ObjectId PythonWorld::id_of(nb::handle object) {
  const auto found = ids_.find(object.ptr());
  if (found != ids_.end()) return found->second;
  objects_.push_back(nb::borrow(object));
  const auto id = static_cast<ObjectId>(objects_.size());
  ids_.emplace(object.ptr(), id);
  return id;
}

const FunctionAst* PythonWorld::function(nb::handle function, std::vector<ObjectId>& defaults) {
  (void)id_of(function);
  auto& ast = functions_[function.ptr()];
  if (!ast) {
    const nb::tuple source = nb::cast<nb::tuple>(frontend_.attr("source_of")(function));
    ast = read_function(source[0], nb::cast<std::string>(source[1]), texts(source[2]), nb::cast<int>(source[3]));
    owners_.emplace(ast.get(), nb::borrow(function));
  }
  defaults.clear();
  const nb::object values = nb::getattr(function, "__defaults__", nb::none());
  const nb::object keyword_values = nb::getattr(function, "__kwdefaults__", nb::none());
  if (!values.is_none())
    for (const nb::handle value : values) defaults.push_back(id_of(value));
  // Keyword-only parameters come last; 0 marks one without a default.
  for (const front::Parameter& parameter : ast->parameters) {
    if (!parameter.keyword_only) continue;
    const nb::object value = keyword_values.is_none()
                                 ? nb::none()
                                 : nb::object(keyword_values.attr("get")(parameter.name.c_str(), frontend_));
    defaults.push_back(keyword_values.is_none() || value.is(frontend_) ? 0 : id_of(value));
  }
  return ast.get();
}

const ObjectInfo& PythonWorld::describe(ObjectId object) {
  auto& slot = infos_[object];
  if (slot) return *slot;
  const nb::object subject = objects_[object - 1];
  const nb::tuple answer = nb::cast<nb::tuple>(frontend_.attr("describe")(subject, request_objects_));
  const auto tag = nb::cast<std::string>(answer[0]);
  auto info = std::make_unique<ObjectInfo>();
  using Kind = ObjectInfo::Kind;
  if (tag == "constant") {
    info->kind = Kind::constant;
    info->constant = read_constant(answer[1]);
    info->type = nb::cast<std::string>(answer[2]);
  } else if (tag == "tuple") {
    info->kind = Kind::tuple;
    for (const nb::handle item : answer[1]) info->items.push_back(id_of(item));
    info->type_name = nb::cast<std::string>(answer[2]);
    info->fields = texts(answer[3]);
  } else if (tag == "builtin" || tag == "enum" || tag == "exception" || tag == "module") {
    info->kind = tag == "builtin"     ? Kind::builtin
                 : tag == "enum"      ? Kind::enum_class
                 : tag == "exception" ? Kind::exception
                                      : Kind::module;
    info->name = nb::cast<std::string>(answer[1]);
  } else if (tag == "type") {
    info->kind = Kind::type;
    info->type = nb::cast<std::string>(answer[1]);
    info->name = nb::cast<std::string>(answer[2]);
  } else if (tag == "function") {
    info->kind = Kind::function;
    info->name = nb::cast<std::string>(answer[2]);
    info->never_inline = nb::cast<bool>(answer[3]);
    info->function = function(answer[1], info->defaults);
    for (const nb::handle one : answer[4]) info->signatures.push_back({texts(one[0]), nb::cast<std::string>(one[1])});
  } else if (tag == "foreign") {
    info->kind = Kind::foreign;
    info->name = nb::cast<std::string>(answer[1]);
    info->type = nb::cast<std::string>(answer[2]);
    info->fields = texts(answer[3]);
    info->type_name = nb::cast<std::string>(answer[4]);
    info->cooperative = nb::cast<bool>(answer[5]);
  } else if (tag == "namedtuple") {
    info->kind = Kind::named_tuple;
    info->name = nb::cast<std::string>(answer[1]);
    info->fields = texts(answer[2]);
  } else if (tag == "array" || tag == "record") {
    info->kind = tag == "array" ? Kind::array : Kind::record;
    info->type = nb::cast<std::string>(answer[1]);
    info->shape = numbers(answer[2]);
    info->bytes = bytes_of(answer[3]);
  } else if (tag == "device_array") {
    info->kind = Kind::device_array;
    info->type = nb::cast<std::string>(answer[1]);
    info->shape = numbers(answer[2]);
    info->strides = numbers(answer[3]);
    info->address = nb::cast<std::uint64_t>(answer[4]);
  } else {
    info->name = nb::cast<std::string>(answer[1]);
    info->type_name = nb::cast<std::string>(answer[2]);
  }
  auto& place = infos_[object];
  place = std::move(info);
  return *place;
}

ObjectId PythonWorld::global(const FunctionAst& function, const std::string& name) {
  const auto owner = owners_.find(&function);
  if (owner == owners_.end()) return 0;
  const nb::tuple found = nb::cast<nb::tuple>(frontend_.attr("lookup")(owner->second, name.c_str()));
  return nb::cast<bool>(found[0]) ? id_of(found[1]) : 0;
}

ObjectId PythonWorld::attribute(ObjectId object, const std::string& name) {
  const nb::tuple found = nb::cast<nb::tuple>(frontend_.attr("attribute")(objects_[object - 1], name.c_str()));
  return nb::cast<bool>(found[0]) ? id_of(found[1]) : 0;
}

std::optional<std::string> PythonWorld::type_of_name(const std::string& name) {
  const nb::object found = frontend_.attr("type_of_name")(name.c_str());
  if (found.is_none()) return std::nullopt;
  return nb::cast<std::string>(found);
}

ObjectId PythonWorld::request_object(std::size_t k) {
  if (k >= nb::len(request_objects_)) return 0;
  return id_of(request_objects_[k]);
}

}  // namespace warploom::python

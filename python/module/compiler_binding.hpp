// What the compiler's binding files share: the reader of CPython's syntax trees and the World over Python objects.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "frontend/python/compiler.hpp"

namespace warploom::python {

namespace nb = nanobind;
namespace front = warploom::frontend::python;

// Reads an ast.FunctionDef or ast.Lambda. `filename` is what messages call the source, `lines` its text.
std::unique_ptr<front::FunctionAst> read_function(nb::handle node, const std::string& filename,
                                                  const std::vector<std::string>& lines, int first_line);
front::Constant read_constant(nb::handle value);

// The World over live Python objects: warploom.cuda.frontend describes them, this keeps what it said.
class PythonWorld final : public front::World {
 public:
  PythonWorld(nb::object frontend, nb::sequence objects);
  ~PythonWorld() override = default;

  // Registers a Python function: `source` is what frontend.source_of() gave for it.
  const front::FunctionAst* function(nb::handle function, std::vector<front::ObjectId>& defaults);

  const front::ObjectInfo& describe(front::ObjectId object) override;
  front::ObjectId global(const front::FunctionAst& function, const std::string& name) override;
  front::ObjectId attribute(front::ObjectId object, const std::string& name) override;
  std::optional<std::string> type_of_name(const std::string& name) override;
  front::ObjectId request_object(std::size_t k) override;

  front::ObjectId id_of(nb::handle object);
  nb::object object(front::ObjectId id) const { return objects_[id - 1]; }

 private:
  nb::object frontend_;
  nb::sequence request_objects_;
  std::vector<nb::object> objects_;  // kept alive; id - 1 is the place
  std::unordered_map<PyObject*, front::ObjectId> ids_;
  std::unordered_map<front::ObjectId, std::unique_ptr<front::ObjectInfo>> infos_;
  std::unordered_map<PyObject*, std::unique_ptr<front::FunctionAst>> functions_;
  std::unordered_map<const front::FunctionAst*, nb::object> owners_;
};

}  // namespace warploom::python

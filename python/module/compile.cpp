// compile_function(): a Python function, its argument types and options to PTX.
#include "binding.hpp"
#include "compiler_binding.hpp"

namespace warploom::python {
namespace {

template <class T>
T option(const nb::dict& options, const char* name, T otherwise) {
  if (!options.contains(name)) return otherwise;
  const nb::object value = options[name];
  return value.is_none() ? otherwise : nb::cast<T>(value);
}

nb::object value_of(const front::Constant& constant) {
  using Kind = front::Constant::Kind;
  switch (constant.kind) {
    case Kind::boolean: return nb::bool_(constant.integer != 0);
    case Kind::integer: return nb::int_(constant.integer);
    case Kind::unsigned_integer: return nb::int_(static_cast<std::uint64_t>(constant.integer));
    case Kind::floating: return nb::float_(constant.real);
    case Kind::complex: return nb::steal(PyComplex_FromDoubles(constant.real, constant.imag));
    case Kind::string: return nb::str(constant.text.c_str(), constant.text.size());
    default: return nb::none();
  }
}

nb::tuple compile_function(nb::object frontend, const nb::object& function, const nb::list& argument_types,
                           nb::sequence objects, const std::string& return_type, const nb::dict& options) {
  PythonWorld world(std::move(frontend), std::move(objects));
  front::Request request;
  request.function = world.function(function, request.defaults);
  for (const nb::handle type : argument_types) request.argument_types.push_back(nb::cast<std::string>(type));
  request.return_type = return_type;
  front::Options& o = request.options;
  o.device = option(options, "device", false);
  o.debug = option(options, "debug", false);
  o.line_info = option(options, "lineinfo", true);
  o.optimize = option(options, "opt", true);
  o.fast_math = option(options, "fastmath", false);
  o.narrow = option<std::string>(options, "typing", "numba") == "narrow";
  o.bounds_check = option(options, "boundscheck", false);
  o.gpu = option(options, "gpu", true);
  o.disjoint = option(options, "disjoint", false);
  o.force_inline = option(options, "forceinline", false);
  o.name = option<std::string>(options, "abi_name", "");
  o.max_registers = option(options, "max_registers", 0U);
  if (options.contains("launch_bounds")) {
    std::size_t i = 0;
    for (const nb::handle bound : options["launch_bounds"])
      if (i < 3) o.launch_bounds[i++] = bound.is_none() ? 0 : nb::cast<unsigned>(bound);
  }
  if (options.contains("cc")) {
    const nb::tuple cc = nb::cast<nb::tuple>(options["cc"]);
    o.cc_major = nb::cast<unsigned>(cc[0]);
    o.cc_minor = nb::cast<unsigned>(cc[1]);
    if (nb::len(cc) > 2) o.cc_suffix = nb::cast<std::string>(cc[2]);
  }
  front::Failure failure;
  const front::Compiled compiled = front::compile_python(request, world, failure);
  if (!failure.category.empty())
    return nb::make_tuple(false, failure.category, failure.message, failure.file, failure.line, failure.column);

  nb::dict result;
  result["ptx"] = compiled.ptx;
  result["llvm"] = compiled.llvm;
  result["entry"] = compiled.entry;
  result["overlapping"] = compiled.overlapping;
  nb::list arrays;
  for (const front::ArrayParameter& array : compiled.arrays)
    arrays.append(nb::make_tuple(array.parameter, array.ndim, array.element, array.written));
  result["arrays"] = arrays;
  result["return_type"] = compiled.return_type;
  result["types"] = compiled.types;
  result["cooperative"] = compiled.cooperative;
  if (compiled.has_error_record)
    result["error_global"] = "warploom_error";
  else
    result["error_global"] = nb::none();
  nb::list warnings, exceptions, captured;
  for (const front::Warning& warning : compiled.warnings)
    warnings.append(nb::make_tuple(warning.category, warning.message));
  for (const front::RaisedException& raised : compiled.exceptions) {
    nb::list arguments;
    for (const front::Constant& argument : raised.arguments) arguments.append(value_of(argument));
    nb::object raised_class =
        raised.class_object ? world.object(raised.class_object) : nb::object(nb::str(raised.class_name.c_str()));
    exceptions.append(nb::make_tuple(raised_class, nb::tuple(arguments), raised.file, raised.line, raised.function));
  }
  for (const front::ObjectId id : compiled.captured) captured.append(world.object(id));
  result["warnings"] = warnings;
  result["exceptions"] = exceptions;
  result["captured"] = captured;
  return nb::make_tuple(true, result);
}

}  // namespace

void register_compile(nb::module_& m) {
  m.def("compile_function", &compile_function, nb::arg("frontend"), nb::arg("function"), nb::arg("argument_types"),
        nb::arg("objects"), nb::arg("return_type"), nb::arg("options"),
        "Compiles a Python function; (True, results) or (False, category, message, file, line, column). Use "
        "warploom.cuda.frontend.compile.");
}

}  // namespace warploom::python

// _core.Error: the exception that warploom::Error becomes in Python, with its parts as attributes.
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include "binding.hpp"

namespace warploom::python {
namespace {

PyObject* error_class = nullptr;

void raise(const Error& error) {
  const nb::object instance = nb::borrow(error_class)(std::string(error.what()));
  instance.attr("id") = error.id();
  instance.attr("name") = error.name();
  instance.attr("cuda_code") = error.cuda_code();
  instance.attr("message") = error.message();
  instance.attr("where") = error.where();
  instance.attr("remedy") = error.remedy();
  instance.attr("excerpt") = error.excerpt();
  instance.attr("file") = error.file();
  instance.attr("line") = error.line();
  instance.attr("column") = error.column();
  PyErr_SetObject(error_class, instance.ptr());
}

}  // namespace

void restore_exception(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const nb::builtin_exception& error) {
    PyErr_SetString(error.type() == nb::exception_type::type_error    ? PyExc_TypeError
                    : error.type() == nb::exception_type::value_error ? PyExc_ValueError
                                                                      : PyExc_RuntimeError,
                    error.what());
  } catch (const Error& error) {
    raise(error);
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

void register_error(nb::module_& m) {
  error_class = PyErr_NewExceptionWithDoc("warploom._core.Error",
                                          "An error of the device or of a call: id (stable number), name, cuda_code "
                                          "(the CUresult that the CUDA driver would "
                                          "return), message, where, remedy, excerpt, file, line, column.",
                                          PyExc_RuntimeError, nullptr);
  if (error_class == nullptr) throw nb::python_error();
  m.attr("Error") = nb::handle(error_class);
  nb::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const Error& error) {
      raise(error);
    }
  });
}

}  // namespace warploom::python

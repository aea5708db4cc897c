// Remembers the text of functions that are made by exec() or compile(), so that kernels among them can be compiled.
#include <nanobind/stl/string_view.h>

#include <deque>
#include <string>
#include <string_view>

#include "binding.hpp"

namespace warploom::python {
namespace {

// Newest first. Never freed: the hook may run until the interpreter is gone. The GIL guards it.
struct RecentSources {
  struct Source {
    std::string filename, text;
  };
  static constexpr std::size_t kMostSources = 4096, kMostBytes = 8U << 20U, kLongest = 1U << 20U;
  std::deque<Source> sources;
  std::size_t bytes = 0;

  void add(std::string_view filename, std::string_view text) {
    // compile() of a string is announced twice: by itself, then by the parser.
    if (!sources.empty() && sources.front().text == text && sources.front().filename == filename) return;
    sources.push_front({std::string(filename), std::string(text)});
    bytes += text.size();
    while (sources.size() > kMostSources || bytes > kMostBytes) {
      bytes -= sources.back().text.size();
      sources.pop_back();
    }
  }
};

RecentSources& recent() {
  static auto* const sources = new RecentSources;
  return *sources;
}

// A str, or bytes; empty for anything else.
std::string_view text_of(PyObject* object) {
  Py_ssize_t size = 0;
  if (PyUnicode_Check(object) != 0) {
    const char* text = PyUnicode_AsUTF8AndSize(object, &size);
    if (text == nullptr) PyErr_Clear();
    return text == nullptr ? std::string_view() : std::string_view(text, static_cast<std::size_t>(size));
  }
  if (PyBytes_Check(object) == 0) return {};
  return {PyBytes_AS_STRING(object), static_cast<std::size_t>(PyBytes_GET_SIZE(object))};
}

int watch(const char* event, PyObject* arguments, void* /*unused*/) {
  if (std::string_view(event) != "compile" || PyTuple_Check(arguments) == 0 || PyTuple_GET_SIZE(arguments) < 2)
    return 0;
  const std::string_view filename = text_of(PyTuple_GET_ITEM(arguments, 1));
  // Files are read again where needed; <unknown> is what ast.parse() names its text.
  if (!filename.starts_with('<') || filename == "<unknown>" || filename.starts_with("<frozen")) return 0;
  const std::string_view text = text_of(PyTuple_GET_ITEM(arguments, 0));
  if (text.size() > RecentSources::kLongest) return 0;
  if (text.find("def ") == std::string_view::npos && text.find("lambda") == std::string_view::npos) return 0;
  recent().add(filename, text);
  return 0;
}

}  // namespace

void register_sources(nb::module_& m) {
  if (PySys_AddAuditHook(watch, nullptr) != 0) PyErr_Clear();  // another hook forbids it: then without
  m.def(
      "recent_sources",
      [](const std::string_view filename) {
        nb::list found;
        for (const auto& source : recent().sources)
          if (source.filename == filename)
            found.append(nb::steal(
                PyUnicode_DecodeUTF8(source.text.data(), static_cast<Py_ssize_t>(source.text.size()), "replace")));
        return found;
      },
      nb::arg("filename"),
      "The texts given to exec() or compile() under a file name such as '<string>' since this module was imported, "
      "newest first.");
}

}  // namespace warploom::python

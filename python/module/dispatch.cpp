// _core.FastDispatcher: finds the launcher for the types of a call's arguments without running Python code.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "launch.hpp"

namespace warploom::python {
namespace {

using nb::literals::operator""_a;

constexpr std::size_t kMostArguments = 32;

// Interned types that arguments have by their Python class alone.
struct KnownTypes {
  std::uint32_t boolean = intern_type("bool"), int64 = intern_type("int64"), uint64 = intern_type("uint64"),
                float64 = intern_type("float64"), complex128 = intern_type("complex128");
};

const KnownTypes& known() {
  static const KnownTypes types;
  return types;
}

// The interned type of an argument; 0 for one that only Python code can tell.
std::uint32_t type_of(PyObject* value) {
  if (const ArrayBase* array = array_of(value)) return array->type;
  if (PyLong_CheckExact(value)) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow == 0) return number == -1 && PyErr_Occurred() != nullptr ? 0 : known().int64;
    if (overflow < 0) return 0;
    if (PyLong_AsUnsignedLongLong(value) != ~0ULL || PyErr_Occurred() == nullptr) return known().uint64;
    PyErr_Clear();
    return 0;
  }
  if (PyFloat_CheckExact(value)) return known().float64;
  if (PyBool_Check(value)) return known().boolean;
  if (PyComplex_CheckExact(value)) return known().complex128;
  return 0;
}

class FastDispatcher {
 public:
  void add(const std::vector<std::string>& types, nb::object launcher) {
    if (types.size() > kMostArguments) return;
    Entry entry;
    for (const std::string& type : types) entry.key.push_back(intern_type(type));
    entry.launcher = nb::inst_ptr<Launcher>(launcher);
    entry.keeps = std::move(launcher);
    const auto same =
        std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.key == entry.key; });
    if (same != entries_.end())
      *same = std::move(entry);
    else
      entries_.push_back(std::move(entry));
    last_ = 0;
  }

  void clear() {
    entries_.clear();
    last_ = 0;
  }

  bool call(const LaunchConfig& config, PyObject* const* arguments, std::size_t count) {
    if (count > kMostArguments || entries_.empty()) return false;
    std::array<std::uint32_t, kMostArguments> key;
    for (std::size_t i = 0; i < count; ++i)
      if ((key[i] = type_of(arguments[i])) == 0) return false;
    const Entry* entry = find(key.data(), count);
    if (entry == nullptr) return false;
    // The call may let other threads in, which may change the entries.
    const nb::object keeps = entry->keeps;
    entry->launcher->launch(config, arguments, count);
    return true;
  }

 private:
  struct Entry {
    std::vector<std::uint32_t> key;
    Launcher* launcher = nullptr;
    nb::object keeps;
  };

  const Entry* find(const std::uint32_t* key, std::size_t count) {
    const auto matches = [&](const Entry& e) {
      return e.key.size() == count && std::equal(e.key.begin(), e.key.end(), key);
    };
    if (matches(entries_[last_])) return &entries_[last_];
    const auto found = std::find_if(entries_.begin(), entries_.end(), matches);
    if (found == entries_.end()) return nullptr;
    last_ = static_cast<std::size_t>(found - entries_.begin());
    return &*found;
  }

  std::vector<Entry> entries_;
  std::size_t last_ = 0;
};

}  // namespace

void register_dispatch(nb::module_& m) {
  nb::class_<FastDispatcher>(m, "FastDispatcher", "Launchers of one kernel by the types of its arguments.")
      .def(nb::init<>())
      .def(
          "add",
          [](FastDispatcher& self, const std::vector<std::string>& types, nb::handle_t<Launcher> launcher) {
            self.add(types, nb::borrow(launcher));
          },
          "arg_types"_a, "launcher"_a,
          "Calls whose arguments have these canonical types use the launcher, whose own types may differ: it casts.")
      .def("clear", &FastDispatcher::clear, "Forgets all launchers.")
      .def(
          "call",
          [](FastDispatcher& self, const PyLaunchConfig& config, nb::handle args) {
            if (!PyTuple_Check(args.ptr())) throw nb::type_error("args is a tuple");
            return self.call(*config.config, &PyTuple_GET_ITEM(args.ptr(), 0),
                             static_cast<std::size_t>(PyTuple_GET_SIZE(args.ptr())));
          },
          "config"_a, "args"_a,
          "Launches and returns True; False when an argument is not an exact int, float, bool, complex or ArrayBase, "
          "or "
          "when no launcher has its types.");
}

}  // namespace warploom::python

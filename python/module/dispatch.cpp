// _core.FastDispatcher: finds the launcher for the types of a call's arguments without running Python code.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "dispatch.hpp"

namespace warploom::python {
namespace {

using nb::literals::operator""_a;

constexpr std::size_t kMostArguments = 32;
constexpr std::size_t kMostDimensions = 8;

// Interned types that arguments have by their Python class alone.
struct KnownTypes {
  std::uint32_t boolean = intern_type("bool"), int64 = intern_type("int64"), uint64 = intern_type("uint64"),
                float64 = intern_type("float64"), complex128 = intern_type("complex128");
};

const KnownTypes& known() {
  static const KnownTypes types;
  return types;
}

// ---- NumPy, without its headers: its classes by name once, its arrays by the buffer protocol ----

struct NumpyScalar {
  const char* name;
  const char* type;
};
constexpr NumpyScalar kNumpyScalars[] = {
    {"numpy.bool", "bool"},       {"numpy.bool_", "bool"},          {"numpy.int8", "int8"},
    {"numpy.int16", "int16"},     {"numpy.int32", "int32"},         {"numpy.int64", "int64"},
    {"numpy.uint8", "uint8"},     {"numpy.uint16", "uint16"},       {"numpy.uint32", "uint32"},
    {"numpy.uint64", "uint64"},   {"numpy.float16", "float16"},     {"numpy.float32", "float32"},
    {"numpy.float64", "float64"}, {"numpy.complex64", "complex64"}, {"numpy.complex128", "complex128"},
};
constexpr std::uint32_t kNumpyArray = ~0U;

// What the class is: the interned type of a NumPy scalar, kNumpyArray, or 0. Classes of C are never freed.
std::uint32_t numpy_class(PyTypeObject* type) {
  static auto* classes = new std::unordered_map<PyTypeObject*, std::uint32_t>;
  if (PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) return 0;
  if (const auto found = classes->find(type); found != classes->end()) return found->second;
  std::uint32_t what = std::strcmp(type->tp_name, "numpy.ndarray") == 0 ? kNumpyArray : 0;
  for (const NumpyScalar& scalar : kNumpyScalars)
    if (std::strcmp(type->tp_name, scalar.name) == 0) what = intern_type(scalar.type);
  classes->emplace(type, what);
  return what;
}

// The element type of a buffer in the machine's byte order; null for one that only Python code can tell.
const char* element_type(const char* format) {
  static_assert(sizeof(long) == 8);
  const bool complex = format[0] == 'Z';
  if (complex) ++format;
  if (format[0] == '\0' || format[1] != '\0') return nullptr;
  if (complex) return format[0] == 'f' ? "complex64" : format[0] == 'd' ? "complex128" : nullptr;
  switch (format[0]) {
    case '?': return "bool";
    case 'b': return "int8";
    case 'B': return "uint8";
    case 'h': return "int16";
    case 'H': return "uint16";
    case 'i': return "int32";
    case 'I': return "uint32";
    case 'l':
    case 'q': return "int64";
    case 'L':
    case 'Q': return "uint64";
    case 'e': return "float16";
    case 'f': return "float32";
    case 'd': return "float64";
    default: return nullptr;
  }
}

// The interned type of a writable, contiguous array in memory of the host; 0 for all others.
std::uint32_t type_of_buffer(const Py_buffer& view) {
  if (view.readonly != 0 || view.len == 0 || view.format == nullptr || view.ndim < 1 ||
      view.ndim > static_cast<int>(kMostDimensions))
    return 0;
  const bool rows = PyBuffer_IsContiguous(&view, 'C') != 0;
  if (!rows && PyBuffer_IsContiguous(&view, 'F') == 0) return 0;
  // One entry for each format of up to two letters, number of dimensions and layout.
  static auto* types = new std::unordered_map<std::uint64_t, std::uint32_t>;
  const std::size_t letters = std::strlen(view.format);
  if (letters == 0 || letters > 2) return 0;
  const auto letter = [&](std::size_t i) { return std::uint64_t{static_cast<unsigned char>(view.format[i])}; };
  const std::uint64_t key = letter(0) | letter(letters - 1) << 8 | std::uint64_t{letters} << 16 |
                            static_cast<std::uint64_t>(view.ndim) << 24 | std::uint64_t{rows} << 32;
  if (const auto found = types->find(key); found != types->end()) return found->second;
  std::uint32_t type = 0;
  if (const char* element = element_type(view.format))
    type = intern_type("array(" + std::string(element) + "," + std::to_string(view.ndim) + (rows ? ",C)" : ",F)"));
  types->emplace(key, type);
  return type;
}

// The NumPy arrays of a call, held in place.
class Buffers {
 public:
  Buffers() = default;
  ~Buffers() {
    for (std::size_t i = 0; i < count_; ++i) PyBuffer_Release(&views_[i]);
  }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  std::uint32_t add(PyObject* array, std::size_t argument) {
    if (PyObject_GetBuffer(array, &views_[count_], PyBUF_RECORDS_RO) != 0) {
      PyErr_Clear();  // an element type without a buffer, such as a date
      return 0;
    }
    arguments_[count_] = argument;
    return type_of_buffer(views_[count_++]);
  }
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] const Py_buffer& view(std::size_t i) const { return views_[i]; }
  [[nodiscard]] std::size_t argument(std::size_t i) const { return arguments_[i]; }

 private:
  std::size_t count_ = 0;
  std::array<Py_buffer, kMostArguments> views_;
  std::array<std::size_t, kMostArguments> arguments_;
};

// The interned type of an argument; 0 for one that only Python code can tell.
std::uint32_t type_of(PyObject* value, std::size_t index, Buffers& buffers) {
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
  const std::uint32_t numpy = numpy_class(Py_TYPE(value));
  return numpy == kNumpyArray ? buffers.add(value, index) : numpy;
}

// Copies host arrays to the device, runs the kernel and copies them back. False when the launcher wants something
// else than an array for one of them.
bool run(Launcher& launcher, const LaunchConfig& config, PyObject* const* arguments, std::size_t count,
         const Buffers& buffers) {
  const std::vector<TypePlan>& types = launcher.types();
  if (count != types.size()) return false;
  std::vector<DeviceArray<std::byte>> staging;
  std::array<Transfer, kMostArguments> before, after;
  staging.reserve(buffers.count());
  Packed packed(launcher.parameters(), launcher.device());
  std::size_t next = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (next == buffers.count() || buffers.argument(next) != i) {
      pack(packed, types[i], arguments[i]);
      continue;
    }
    const Py_buffer& view = buffers.view(next);
    if (types[i].kind != TypePlan::Kind::array || types[i].ndim != static_cast<std::uint32_t>(view.ndim)) return false;
    const auto bytes = static_cast<std::size_t>(view.len);
    std::byte* device = staging.emplace_back(launcher.device().device, bytes).data();
    before[next] = {device, view.buf, bytes};
    after[next] = {view.buf, device, bytes};
    packed.add(reinterpret_cast<std::uint64_t>(device), 8);
    for (int axis = 0; axis < view.ndim; ++axis) packed.add(static_cast<std::uint64_t>(view.shape[axis]), 8);
    for (int axis = 0; axis < view.ndim; ++axis) packed.add(static_cast<std::uint64_t>(view.strides[axis]), 8);
    ++next;
  }
  // Other threads may use theirs meanwhile.
  const LaunchConfig own = config;  // NOLINT(performance-unnecessary-copy-initialization)
  const WithoutGil unlocked;
  launcher.kernel_for(packed).run_with(own, packed.arguments(), std::span(before).first(next),
                                       std::span(after).first(next));
  staging.clear();
  return true;
}

nb::int_ outcome(FastDispatcher::Outcome what) { return nb::int_(static_cast<int>(what)); }

}  // namespace

void FastDispatcher::add(const std::vector<std::string>& types, nb::object launcher) {
  if (types.size() > kMostArguments) return;
  Entry entry;
  for (const std::string& type : types) entry.key.push_back(intern_type(type));
  entry.launcher = nb::inst_ptr<Launcher>(launcher);
  entry.keeps = std::move(launcher);
  const auto same = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.key == entry.key; });
  if (same != entries_.end())
    *same = std::move(entry);
  else
    entries_.push_back(std::move(entry));
  last_ = 0;
}

FastDispatcher::Outcome FastDispatcher::call(LaunchConfig& config, PyObject* const* arguments, std::size_t count) {
  if (count > kMostArguments || entries_.empty()) return Outcome::unknown;
  std::array<std::uint32_t, kMostArguments> key;
  Buffers buffers;
  for (std::size_t i = 0; i < count; ++i)
    if ((key[i] = type_of(arguments[i], i, buffers)) == 0) return Outcome::unknown;
  const Entry* entry = find(key.data(), count);
  if (entry == nullptr) return Outcome::unknown;
  // The call may let other threads in, which may change the entries.
  const nb::object keeps = entry->keeps;
  Launcher& launcher = *entry->launcher;
  const Place place = place_of_caller();
  config.where = {place.file, place.line};
  if (buffers.count() == 0) {
    launcher.launch(config, arguments, count);
    return Outcome::queued;
  }
  return run(launcher, config, arguments, count, buffers) ? Outcome::done : Outcome::unknown;
}

const FastDispatcher::Entry* FastDispatcher::find(const std::uint32_t* key, std::size_t count) {
  const auto matches = [&](const Entry& e) {
    return e.key.size() == count && std::equal(e.key.begin(), e.key.end(), key);
  };
  if (matches(entries_[last_])) return &entries_[last_];
  const auto found = std::find_if(entries_.begin(), entries_.end(), matches);
  if (found == entries_.end()) return nullptr;
  last_ = static_cast<std::size_t>(found - entries_.begin());
  return &*found;
}

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
          [](FastDispatcher& self, PyLaunchConfig& config, nb::handle args) {
            if (!PyTuple_Check(args.ptr())) throw nb::type_error("args is a tuple");
            return outcome(self.call(*config.config, &PyTuple_GET_ITEM(args.ptr(), 0),
                                     static_cast<std::size_t>(PyTuple_GET_SIZE(args.ptr()))));
          },
          "config"_a, "args"_a,
          "Launches: 0 when it cannot tell the type of an argument or has no launcher for the types, and did nothing; "
          "1 "
          "when the launch is queued; 2 when it has been done, because contiguous NumPy arrays in host memory were "
          "copied to the device before it and back after it. It knows exact int, float, bool and complex, NumPy "
          "scalars, "
          "ArrayBase, and writable, contiguous NumPy arrays of 1 to 8 dimensions with native elements.");
}

}  // namespace warploom::python

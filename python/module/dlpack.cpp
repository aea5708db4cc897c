// DLPack capsules: the structures of its specification 1.1, made of arrays and taken from other libraries.
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "binding.hpp"

namespace warploom::python {
namespace {

using nb::literals::operator""_a;

struct Version {
  std::uint32_t major, minor;
};
struct DeviceName {
  std::int32_t type, number;
};
struct ElementType {
  std::uint8_t code, bits;
  std::uint16_t lanes;
};
struct Tensor {
  void* data;
  DeviceName device;
  std::int32_t ndim;
  ElementType type;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null: C order
  std::uint64_t byte_offset;
};
struct Managed {  // DLManagedTensor
  Tensor tensor;
  void* context;
  void (*deleter)(Managed*);
};
struct ManagedVersioned {  // DLManagedTensorVersioned
  Version version;
  void* context;
  void (*deleter)(ManagedVersioned*);
  std::uint64_t flags;
  Tensor tensor;
};
static_assert(sizeof(Tensor) == 48 && sizeof(Managed) == 64 && sizeof(ManagedVersioned) == 80);

constexpr Version kVersion{1, 1};
constexpr char kPlain[] = "dltensor", kPlainUsed[] = "used_dltensor";
constexpr char kVersioned[] = "dltensor_versioned", kVersionedUsed[] = "used_dltensor_versioned";

// A tensor that we gave away, with the object that owns its memory. Whoever took it may let it go on any thread.
template <class Kind>
struct Given {
  Kind managed{};
  std::vector<std::int64_t> extents;
  PyObject* owner = nullptr;

  static void destroy(Kind* managed) {
    auto* self = static_cast<Given*>(managed->context);
    if (Py_IsInitialized() != 0) {
      const InsidePython python;
      if (python.entered()) Py_XDECREF(self->owner);
    }
    delete self;
  }
};

template <class Kind>
Kind* capsule_content(PyObject* capsule, const char* name) {
  return PyCapsule_IsValid(capsule, name) != 0 ? static_cast<Kind*>(PyCapsule_GetPointer(capsule, name)) : nullptr;
}

// Of a capsule that nobody has taken.
template <class Kind>
void destroy_capsule(PyObject* capsule, const char* name) {
  if (auto* managed = capsule_content<Kind>(capsule, name); managed != nullptr && managed->deleter != nullptr)
    managed->deleter(managed);
}

template <class Kind>
Kind* give(nb::handle owner, std::uint64_t address, std::vector<std::int64_t> shape,
           const std::vector<std::int64_t>& strides, const ElementType& type, const DeviceName& device) {
  auto given = std::make_unique<Given<Kind>>();
  const auto ndim = static_cast<std::int32_t>(shape.size());
  given->extents = std::move(shape);
  given->extents.insert(given->extents.end(), strides.begin(), strides.end());
  Kind& managed = given->managed;
  managed.tensor.data = reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr): from Python
  managed.tensor.device = device;
  managed.tensor.ndim = ndim;
  managed.tensor.type = type;
  managed.tensor.shape = given->extents.data();
  managed.tensor.strides = given->extents.data() + ndim;
  managed.context = given.get();
  managed.deleter = &Given<Kind>::destroy;
  given->owner = owner.inc_ref().ptr();
  return &given.release()->managed;
}

nb::object export_tensor(nb::handle owner, std::uint64_t address, const std::vector<std::int64_t>& shape,
                         const std::vector<std::int64_t>& strides, std::uint8_t code, std::uint8_t bits,
                         std::int32_t device_type, std::int32_t device_number, bool versioned, std::uint64_t flags) {
  if (shape.size() != strides.size()) throw nb::value_error("shape and strides differ in length");
  const ElementType type{code, bits, 1};
  const DeviceName device{device_type, device_number};
  PyObject* capsule = nullptr;
  if (versioned) {
    auto* managed = give<ManagedVersioned>(owner, address, shape, strides, type, device);
    managed->version = kVersion;
    managed->flags = flags;
    capsule =
        PyCapsule_New(managed, kVersioned, [](PyObject* self) { destroy_capsule<ManagedVersioned>(self, kVersioned); });
    if (capsule == nullptr) managed->deleter(managed);
  } else {
    auto* managed = give<Managed>(owner, address, shape, strides, type, device);
    capsule = PyCapsule_New(managed, kPlain, [](PyObject* self) { destroy_capsule<Managed>(self, kPlain); });
    if (capsule == nullptr) managed->deleter(managed);
  }
  if (capsule == nullptr) throw nb::python_error();
  return nb::steal(capsule);
}

// A tensor that another library gave us, until nothing of ours uses it.
class Taken {
 public:
  explicit Taken(Managed* managed) : plain_(managed) {}
  explicit Taken(ManagedVersioned* managed) : versioned_(managed) {}
  ~Taken() {
    if (plain_ != nullptr && plain_->deleter != nullptr) plain_->deleter(plain_);
    if (versioned_ != nullptr && versioned_->deleter != nullptr) versioned_->deleter(versioned_);
  }
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;

 private:
  Managed* plain_ = nullptr;
  ManagedVersioned* versioned_ = nullptr;
};

nb::dict described(const Tensor& tensor, bool readonly, nb::object owner) {
  if (tensor.ndim < 0 || (tensor.ndim > 0 && tensor.shape == nullptr))
    throw nb::buffer_error("the DLPack tensor has no shape");
  nb::list shape, strides;
  for (std::int32_t i = 0; i < tensor.ndim; ++i) shape.append(tensor.shape[i]);
  for (std::int32_t i = 0; i < tensor.ndim && tensor.strides != nullptr; ++i) strides.append(tensor.strides[i]);
  nb::dict out;
  out["address"] = reinterpret_cast<std::uint64_t>(tensor.data) + tensor.byte_offset;
  out["shape"] = nb::tuple(shape);
  out["strides"] = tensor.strides == nullptr && tensor.ndim > 0 ? nb::none() : nb::object(nb::tuple(strides));
  out["device"] = nb::make_tuple(tensor.device.type, tensor.device.number);
  out["code"] = tensor.type.code;
  out["bits"] = tensor.type.bits;
  out["lanes"] = tensor.type.lanes;
  out["readonly"] = readonly;
  out["owner"] = std::move(owner);
  return out;
}

nb::dict import_tensor(nb::handle capsule) {
  if (auto* managed = capsule_content<ManagedVersioned>(capsule.ptr(), kVersioned)) {
    // Another major version may have another layout; its deleter lies where it always does.
    if (managed->version.major != kVersion.major)
      throw nb::buffer_error("the DLPack tensor has another major version than 1");
    if (PyCapsule_SetName(capsule.ptr(), kVersionedUsed) != 0) throw nb::python_error();
    nb::object owner = nb::cast(new Taken(managed), nb::rv_policy::take_ownership);
    return described(managed->tensor, (managed->flags & 1) != 0, std::move(owner));
  }
  if (auto* managed = capsule_content<Managed>(capsule.ptr(), kPlain)) {
    if (PyCapsule_SetName(capsule.ptr(), kPlainUsed) != 0) throw nb::python_error();
    nb::object owner = nb::cast(new Taken(managed), nb::rv_policy::take_ownership);
    return described(managed->tensor, false, std::move(owner));
  }
  throw nb::buffer_error("not a DLPack capsule, or one that has been used already");
}

}  // namespace

void register_dlpack(nb::module_& m) {
  const nb::class_<Taken> owner(m, "DlpackOwner",
                                "The memory of a DLPack tensor of another library; it goes back with this.");
  m.def("dlpack_export", &export_tensor, "owner"_a, "address"_a, "shape"_a, "strides"_a, "code"_a, "bits"_a,
        "device_type"_a, "device_number"_a, "versioned"_a, "flags"_a,
        "A DLPack capsule for memory that owner keeps; strides in elements, code and bits as DLDataType's.");
  m.def("dlpack_import", &import_tensor, "capsule"_a,
        "Takes a DLPack capsule: a dict of address, shape, strides (elements or None), device (type, number), code, "
        "bits, lanes, readonly and owner, which keeps the memory. BufferError for anything else.");
}

}  // namespace warploom::python

// _core.Communicator and groups of collectives, as warploom.collectives calls them.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>

#include "binding.hpp"

namespace warploom::python {
namespace {

using nb::literals::operator""_a;

struct PyCommunicator {
  Held<Communicator> communicator;
  Held<std::shared_ptr<OpenDevice>> open;
};

class PyGroup {
 public:
  explicit PyGroup(const PyDevice& device) : group_(std::in_place, device.device()) {}
  void end() {
    if (group_) group_->end();
    group_.reset();
  }

 private:
  std::optional<CollectiveGroup> group_;
};

nb::bytes unique_id(const PyDevice& device) {
  const CommunicatorId id = Communicator::unique_id(device.device());
  return nb::bytes(reinterpret_cast<const char*>(id.data()), id.size());
}

PyCommunicator join(const PyDevice& device, const nb::bytes& id, int ranks, int rank) {
  CommunicatorId own;
  if (id.size() != own.size()) throw nb::value_error("an identity has 128 bytes, as unique_id() gives them");
  std::memcpy(own.data(), id.c_str(), own.size());
  const WithoutGil unlocked;
  return {Held<Communicator>(Communicator(device.device(), own, ranks, rank)), device.open};
}

nb::list all(const std::vector<const PyDevice*>& devices) {
  std::vector<Device> members;
  members.reserve(devices.size());
  for (const PyDevice* device : devices) members.push_back(device->device());
  std::vector<Communicator> made;
  {
    const WithoutGil unlocked;
    made = Communicator::all(members);
  }
  nb::list out;
  for (std::size_t i = 0; i < made.size(); ++i)
    out.append(PyCommunicator{Held<Communicator>(std::move(made[i])), devices[i]->open});
  return out;
}

ElementType type_named(const std::string& dtype) {
  static constexpr const char* kNames[] = {"int8",   "uint8",   "int32",   "uint32",  "int64",
                                           "uint64", "float16", "float32", "float64", "bfloat16"};
  for (std::size_t i = 0; i < std::size(kNames); ++i)
    if (dtype == kNames[i]) return static_cast<ElementType>(i);
  throw nb::type_error(("there are no collectives for elements of type " + dtype).c_str());
}

Reduction reduction_named(const std::string& op) {
  static constexpr const char* kNames[] = {"sum", "product", "max", "min", "average"};
  for (std::size_t i = 0; i < std::size(kNames); ++i)
    if (op == kNames[i]) return static_cast<Reduction>(i);
  throw nb::value_error(("a reduction is sum, product, max, min or average, not " + op).c_str());
}

// `kind` names the call; `peer` is the root or the other side.
void run(const PyCommunicator& self, const std::string& kind, std::uint64_t from, std::uint64_t to, std::size_t count,
         const std::string& dtype, const std::string& op, int peer, const PyStream& stream) {
  const ElementType type = type_named(dtype);
  const Reduction how = reduction_named(op);
  const Communicator& c = *self.communicator;
  const Stream& s = *stream.stream;
  const WithoutGil unlocked;
  if (kind == "all_reduce") return c.all_reduce(pointer(from), pointer(to), count, type, how, s);
  if (kind == "broadcast") return c.broadcast(pointer(from), pointer(to), count, type, peer, s);
  if (kind == "reduce") return c.reduce(pointer(from), pointer(to), count, type, how, peer, s);
  if (kind == "all_gather") return c.all_gather(pointer(from), pointer(to), count, type, s);
  if (kind == "reduce_scatter") return c.reduce_scatter(pointer(from), pointer(to), count, type, how, s);
  if (kind == "send") return c.send(pointer(from), count, type, peer, s);
  if (kind == "receive") return c.receive(pointer(to), count, type, peer, s);
  throw nb::value_error("there is no such collective");
}

}  // namespace

void register_collectives(nb::module_& m) {
  nb::class_<PyCommunicator>(m, "Communicator", "One rank of a group of devices.")
      .def_static("unique_id", &unique_id, "device"_a, "128 bytes that name a new group (ncclGetUniqueId).")
      .def_static("join", &join, "device"_a, "id"_a, "ranks"_a, "rank"_a,
                  "Joins a group; returns when all ranks have (ncclCommInitRank).")
      .def_static("all", &all, "devices"_a, "All ranks of a group, in the order of the devices (ncclCommInitAll).")
      .def_prop_ro("rank", [](const PyCommunicator& self) { return self.communicator->rank(); })
      .def_prop_ro("ranks", [](const PyCommunicator& self) { return self.communicator->ranks(); })
      .def("run", &run, "kind"_a, "src"_a, "dst"_a, "count"_a, "dtype"_a, "op"_a, "peer"_a, "stream"_a,
           "Queues the collective of that name; count counts elements, of one rank's part where there are parts.");
  nb::class_<PyGroup>(m, "CollectiveGroup", "Collectives of one thread that begin together, at end().")
      .def(nb::init<const PyDevice&>(), "device"_a)
      .def("end", &PyGroup::end, Unlocked(), "Begins them (ncclGroupEnd).");
}

}  // namespace warploom::python

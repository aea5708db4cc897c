// _core.Device: opening, properties, memory figures, loading of PTX, copies and fills by address.
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstdio>
#include <cstring>

#include "binding.hpp"
#include "warploom/idle_memory.hpp"
#include "warploom/shared_memory.hpp"

namespace warploom::python {
namespace {

struct PySharedMemory {
  Held<SharedMemory> memory;
  Held<std::shared_ptr<OpenDevice>> open;
};

using nb::literals::operator""_a;

nb::dict properties(const PyDevice& self) {
  const DeviceProperties p = self.device().properties();
  nb::dict out;
  out["name"] = p.name;
  out["profile"] = p.profile;
  out["compute_capability_major"] = p.compute_capability_major;
  out["compute_capability_minor"] = p.compute_capability_minor;
  out["warp_size"] = p.warp_size;
  out["multiprocessors"] = p.multiprocessors;
  out["max_threads_per_block"] = p.max_threads_per_block;
  out["max_threads_per_multiprocessor"] = p.max_threads_per_multiprocessor;
  out["max_blocks_per_multiprocessor"] = p.max_blocks_per_multiprocessor;
  out["max_block"] = tuple_of(p.max_block);
  out["max_grid"] = tuple_of(p.max_grid);
  out["shared_memory_per_block"] = p.shared_memory_per_block;
  out["max_shared_memory_per_block"] = p.max_shared_memory_per_block;
  out["shared_memory_per_multiprocessor"] = p.shared_memory_per_multiprocessor;
  out["registers_per_multiprocessor"] = p.registers_per_multiprocessor;
  out["total_memory"] = p.total_memory;
  return out;
}

nb::list take_launches(const PyDevice& self) {
  nb::list out;
  for (const LaunchRecord& launch : self.device().take_launches()) {
    nb::dict record;
    record["kernel"] = launch.kernel;
    record["grid"] = tuple_of(launch.grid);
    record["block"] = tuple_of(launch.block);
    record["shared_bytes"] = launch.shared_bytes;
    record["start_ms"] = launch.start_ms;
    record["ms"] = launch.ms;
    record["compile_ms"] = launch.compile_ms;
    record["failed"] = launch.failed;
    out.append(record);
  }
  return out;
}

// Devices that are open, so that their work is finished while Python can still show what it prints.
class OpenDevices {
 public:
  void add(const std::shared_ptr<OpenDevice>& device) {
    const std::lock_guard lock(mutex_);
    std::erase_if(devices_, [](const auto& one) { return one.expired(); });
    devices_.push_back(device);
  }
  void finish() {
    std::vector<std::weak_ptr<OpenDevice>> devices;
    {
      const std::lock_guard lock(mutex_);
      devices.swap(devices_);
    }
    for (const auto& one : devices) {
      const std::shared_ptr<OpenDevice> open = one.lock();
      if (!open) continue;
      try {
        open->device.synchronize();
        open->device.flush_pending();
      } catch (const Error& error) {
        if (error.id() != error_id::context_poisoned) std::fprintf(stderr, "warploom: %s\n", error.what());
      }
    }
  }

 private:
  std::mutex mutex_;
  std::vector<std::weak_ptr<OpenDevice>> devices_;
};

OpenDevices& open_devices() {
  static auto* devices = new OpenDevices;  // never destroyed: Python may end after static variables
  return *devices;
}

PyDevice open(std::string_view name, unsigned threads, std::string profile, bool deterministic, bool unoptimised,
              std::uint64_t memory_limit, bool per_thread_default_stream, unsigned ordinal) {
  DeviceOptions options;
  options.per_thread_default_stream = per_thread_default_stream;
  options.ordinal = ordinal;
  options.threads = threads;
  options.profile = std::move(profile);
  options.deterministic = deterministic;
  options.unoptimised = unoptimised;
  options.memory_limit = memory_limit;
  auto device = std::make_shared<OpenDevice>(Device::open(name, options));
  open_devices().add(device);
  return {Held<std::shared_ptr<OpenDevice>>(std::move(device))};
}

void register_host(const PyDevice& self, std::uint64_t address, std::size_t bytes) {
  HostRegistration registration(self.device(), pointer(address), bytes);
  const std::lock_guard lock((*self.open)->mutex);
  (*self.open)->registrations.insert_or_assign(address, std::move(registration));
}

void unregister_host(const PyDevice& self, std::uint64_t address) {
  decltype(OpenDevice::registrations)::node_type gone;  // ends outside the lock, since it waits
  const std::lock_guard lock((*self.open)->mutex);
  gone = (*self.open)->registrations.extract(address);
  if (gone.empty()) throw nb::value_error("no host memory is registered at this address");
}

void copy_bytes(const PyDevice& self, std::uint64_t to, std::uint64_t from, std::size_t bytes, const PyStream* stream) {
  if (const Stream* queue = stream_of(stream))
    copy(*queue, pointer(to), pointer(from), bytes);
  else
    copy(self.device(), pointer(to), pointer(from), bytes);
}

void fill_elements(const PyDevice& self, std::uint64_t to, std::uint64_t value, std::size_t width, std::size_t count,
                   const PyStream* stream) {
  if (width != 1 && width != 2 && width != 4 && width != 8)
    throw nb::value_error("the width of a fill is 1, 2, 4 or 8 bytes");
  if (const Stream* queue = stream_of(stream))
    fill(*queue, pointer(to), &value, width, count);
  else
    fill(self.device(), pointer(to), &value, width, count);
}

}  // namespace

void register_device(nb::module_& m) {
  nb::class_<PySharedMemory>(m, "SharedMemory", "Memory of another process (cuIpcOpenMemHandle), until close().")
      .def(
          "__init__",
          [](PySharedMemory* self, const PyDevice& device, const nb::bytes& handle, std::size_t offset) {
            SharedMemoryHandle shared{.offset = offset};
            if (handle.size() != shared.handle.size())
              throw nb::value_error("the handle of shared memory has 64 bytes");
            std::memcpy(shared.handle.data(), handle.c_str(), handle.size());
            const WithoutGil unlocked;
            new (self) PySharedMemory{Held<SharedMemory>(SharedMemory(device.device(), shared)), device.open};
          },
          "device"_a, "handle"_a, "offset"_a = 0)
      .def_prop_ro("address",
                   [](const PySharedMemory& self) {
                     return self.memory.has_value() ? reinterpret_cast<std::uint64_t>(self.memory->data()) : 0;
                   })
      .def(
          "close", [](PySharedMemory& self) { self.memory.reset(); },
          "Ends the use of the memory; does nothing a second time.");
  const nb::class_<DeferCleanup> deferred(m, "DeferredReleases", "Nothing of a device is released while one exists.");
  nb::class_<PyDevice>(m, "Device", "A device and its context; it closes with the last object made on it.")
      .def_static("open", &open, "name"_a = "cpu", nb::kw_only(), "threads"_a = 0, "profile"_a = "h200",
                  "deterministic"_a = false, "unoptimised"_a = false, "memory_limit"_a = 0,
                  "per_thread_default_stream"_a = false, "ordinal"_a = 0, Unlocked(),
                  "Opens a device; 0 threads: one for each core; memory_limit in bytes, 0: the profile's; ordinal: "
                  "which of the WARPLOOM_DEVICES. Environment variables WARPLOOM_* override the fields they name.")
      .def(
          "share_memory",
          [](const PyDevice& self, std::uint64_t address) {
            const SharedMemoryHandle shared = share_memory(self.device(), pointer(address));
            const nb::bytes handle(reinterpret_cast<const char*>(shared.handle.data()), shared.handle.size());
            return nb::make_tuple(handle, shared.offset);
          },
          "address"_a,
          "(64 bytes, offset): the allocation of a GPU's that holds the address, for other processes, and how far "
          "after "
          "its start the address lies (cuIpcGetMemHandle).")
      .def(
          "set_memory_limit", [](const PyDevice& self, std::uint64_t bytes) { self.device().set_memory_limit(bytes); },
          "nbytes"_a, "Changes how many bytes may be allocated, at most what the device was opened with.")
      .def(
          "defer_releases", [](const PyDevice& self) { return std::make_unique<DeferCleanup>(self.device()); },
          "Nothing is released while the result exists.")
      .def(
          "pending",
          [](const PyDevice& self) {
            const PendingReleases p = self.device().pending();
            nb::dict out;
            out["memory_count"] = p.memory_count;
            out["memory_bytes"] = p.memory_bytes;
            out["object_count"] = p.object_count;
            out["most"] = p.most;
            out["flushes"] = p.flushes;
            out["deferred"] = p.deferred;
            return out;
          },
          "Releases that are put off: counts, bytes, the most at once, how often they were released.")
      .def(
          "can_access_peer",
          [](const PyDevice& self, const PyDevice& peer) { return self.device().can_access_peer(peer.device()); },
          "peer"_a, "Whether the devices may access each other's memory (cuDeviceCanAccessPeer).")
      .def(
          "enable_peer_access",
          [](const PyDevice& self, const PyDevice& peer) { self.device().enable_peer_access(peer.device()); }, "peer"_a,
          "Lets kernels access the peer's memory (cuCtxEnablePeerAccess).")
      .def(
          "disable_peer_access",
          [](const PyDevice& self, const PyDevice& peer) { self.device().disable_peer_access(peer.device()); },
          "peer"_a, "Ends that (cuCtxDisablePeerAccess).")
      .def(
          "copy_to_peer",
          [](const PyDevice& self, std::uint64_t to, const PyDevice& peer, std::uint64_t from, std::size_t bytes,
             const PyStream* stream) {
            if (const Stream* queue = stream_of(stream))
              copy_peer(*queue, peer.device(), pointer(to), self.device(), pointer(from), bytes);
            else
              copy_peer(peer.device(), pointer(to), self.device(), pointer(from), bytes);
          },
          "dst"_a, "peer"_a, "src"_a, "nbytes"_a, "stream"_a = nb::none(), Unlocked(),
          "Copies to another device's memory (cuMemcpyPeer); queued when there is a stream, of either device.")
      .def(
          "check_foreign",
          [](const PyDevice& self, std::uint64_t address, std::size_t bytes) {
            detail::check_foreign(self.device(), pointer(address), bytes);
          },
          "address"_a, "nbytes"_a, "Raises unless kernels reach memory that another library made.")
      .def_static("count", &Device::count, "How many devices the process sees: WARPLOOM_DEVICES.")
      .def_static(
          "default_name", [] { return Device::default_name(); },
          "The device that programs run on here which name none: \"cuda:0\" with a GPU, else \"cpu\".")
      .def_static("names", &Device::names, "The devices there are: \"cpu\", then the GPUs.")
      .def_static("profiles", &Device::profiles, "Names of the GPUs that a device can model.")
      .def_prop_ro("properties", &properties, "The modelled GPU, sizes in bytes (cuDeviceGetAttribute).")
      .def(
          "memory_info",
          [](const PyDevice& self) {
            return nb::make_tuple(self.device().free_memory(), self.device().properties().total_memory);
          },
          "(free, total) bytes of device memory (cuMemGetInfo).")
      .def(
          "allocate",
          [](const PyDevice& self, std::size_t bytes) {
            const Place place = place_of_caller();
            const WithoutGil unlocked;
            detail::Memory memory(self.device(), bytes, 1, place.file, place.line);
            const auto address = reinterpret_cast<std::uint64_t>(memory.address());
            return PyMemory{Held<AnyMemory>(std::move(memory)), address, bytes};
          },
          "nbytes"_a, "Device memory, 256-byte aligned, contents unspecified (cuMemAlloc).")
      .def(
          "allocate_host",
          [](const PyDevice& self, std::size_t bytes, unsigned flags) {
            if (flags > 7) throw nb::value_error("the flags of host memory are 1, 2 and 4");
            HostMemory memory(
                self.device(), bytes,
                {.mapped = (flags & 2U) != 0, .portable = (flags & 1U) != 0, .write_combined = (flags & 4U) != 0});
            const auto address = reinterpret_cast<std::uint64_t>(memory.data());
            return PyMemory{Held<AnyMemory>(std::move(memory)), address, bytes};
          },
          "nbytes"_a, "flags"_a = 0, Unlocked(),
          "Zeroed page-locked host memory that kernels may access at the same address; flags are those of "
          "cuMemHostAlloc.")
      .def(
          "allocate_managed",
          [](const PyDevice& self, std::size_t bytes, bool attach_global, bool track) {
            const Place place = place_of_caller();
            const WithoutGil unlocked;
            ManagedMemory memory =
                detail::managed_at(self.device(), bytes, {attach_global, track}, place.file, place.line);
            const auto address = reinterpret_cast<std::uint64_t>(memory.data());
            return PyMemory{Held<AnyMemory>(std::move(memory)), address, bytes};
          },
          "nbytes"_a, "attach_global"_a = true, "track"_a = false,
          "Zeroed memory that host and kernels share (cuMemAllocManaged); track: touches of its pages are seen.")
      .def(
          "host_flags",
          [](const PyDevice& self, std::uint64_t address) {
            return host_memory_flags(self.device(), pointer(address));
          },
          "address"_a, "Flags of page-locked host memory (cuMemHostGetFlags).")
      .def("register_host", &register_host, "address"_a, "nbytes"_a, Unlocked(),
           "Lets kernels access host memory that is there already (cuMemHostRegister).")
      .def("unregister_host", &unregister_host, "address"_a, Unlocked(),
           "Ends a registration, after the work queued so far; ValueError when there is none at the address.")
      .def(
          "load_ptx",
          [](const PyDevice& self, std::string_view text, std::string_view name) {
            return PyModule{Held<Module>(self.device().load_ptx(text, name)), self.open};
          },
          "text"_a, "name"_a = "<ptx>", Unlocked(), "Loads PTX text; name stands in messages.")
      .def(
          "synchronize", [](const PyDevice& self) { self.device().synchronize(); }, Unlocked(),
          "Waits for all work of all streams; raises the error of asynchronous work, if there was one.")
      .def(
          "record_launches", [](const PyDevice& self, bool on) { self.device().record_launches(on); }, "on"_a = true,
          Unlocked(), "Keeps a record of every launch that ends from now on, or stops to.")
      .def("take_launches", &take_launches, "The records kept since the last call, in the order of their ends.")
      .def(
          "reset", [](const PyDevice& self) { self.device().reset(); }, Unlocked(),
          "Frees all memory, forgets errors; what was made before raises when used.")
      .def_prop_ro(
          "default_stream", [](const PyDevice& self) { return PyStream(self.device().default_stream(), true); },
          "The stream of calls that are given none; its handle is 0.")
      .def_prop_ro(
          "legacy_stream", [](const PyDevice& self) { return PyStream(self.device().legacy_stream()); },
          "The legacy default stream; its handle is 1.")
      .def_prop_ro(
          "per_thread_stream", [](const PyDevice& self) { return PyStream(self.device().per_thread_stream()); },
          "The calling thread's own default stream.")
      .def(
          "external_stream",
          [](const PyDevice& self, std::uint64_t handle) { return PyStream(self.device().external_stream(handle)); },
          "handle"_a, "The stream with a handle; it is not kept.")
      .def("copy", &copy_bytes, "dst"_a, "src"_a, "nbytes"_a, "stream"_a = nb::none(), Unlocked(),
           "Copies bytes between addresses of host or device. Without a stream, or with the default stream, it returns "
           "when done; with another it is queued, and the memory must stay as it is until then.")
      .def("fill", &fill_elements, "dst"_a, "value"_a, "width"_a, "count"_a, "stream"_a = nb::none(), Unlocked(),
           "Writes the lowest width (1, 2, 4, 8) bytes of value count times (cuMemsetD8 and its siblings).");
  m.def(
      "finish_devices",
      [] {
        end_threads();
        {
          const WithoutGil unlocked;
          open_devices().finish();
        }
        end_library_threads();
      },
      "Waits for the work of every device and prints what went wrong; called when the interpreter ends.");
  m.def(
      "code_statistics",
      [] {
        const code_cache::Statistics s = code_cache::statistics();
        return nb::make_tuple(s.compiled, s.loaded);
      },
      "Versions of kernels that this process had LLVM compile, and that it loaded from the disk cache.");
  nb::module_::import_("atexit").attr("register")(m.attr("finish_devices"));
}

}  // namespace warploom::python

// A libcuda.so.1 for tests on machines without a GPU: the entry points that the CUDA device uses, on two CPU devices.
#include <algorithm>

#include "stand_in_ipc.hpp"
#include "stand_in_world.hpp"

using namespace stand_in;

namespace {

struct Settings {  // CUlaunchConfig
  unsigned grid[3], block[3], shared_bytes;
  Stream* stream;
  struct Attribute {
    int id, padding;
    unsigned value[16];
  }* attributes;
  unsigned count;
};

// A kernel runs in its own context only, which must be the thread's.
int outside(const Function& f) { return current == nullptr ? 201 : current != f.home ? 400 : 0; }

void launch(Function& f, const LaunchConfig& config, void** parameters) {
  std::vector<Argument> arguments;
  for (const Parameter& p : f.parameters) arguments.push_back({*parameters++, p.bytes});
  f.kernel.launch_with(config, arguments);
}

LaunchConfig config_of(const Settings& s) {
  LaunchConfig config{.grid = {s.grid[0], s.grid[1], s.grid[2]},
                      .block = {s.block[0], s.block[1], s.block[2]},
                      .shared_bytes = s.shared_bytes,
                      .stream = of(s.stream)};
  for (unsigned i = 0; i < s.count; ++i) {
    const auto& a = s.attributes[i];
    if (a.id == 2) config.cooperative = a.value[0] != 0;
    if (a.id == 4) config.cluster = Dim3(a.value[0], a.value[1], a.value[2]);
  }
  return config;
}

// Of a directive of PTX text.
double number_after(const std::string& text, const char* directive) {
  const std::size_t at = text.find(directive);
  return at == std::string::npos ? 0 : std::strtod(text.c_str() + at + std::strlen(directive), nullptr);
}

// CU_DEVICE_CPU is the host.
MemoryLocation side(int device) { return device < 0 ? MemoryLocation::host : MemoryLocation::device; }

// The allocation that an address lies in; null for none.
const ManagedMemory* managed_at(std::uint64_t address, std::size_t& offset) {
  const std::lock_guard lock(world().mutex);
  auto next = world().managed.upper_bound(address);
  if (next == world().managed.begin()) return nullptr;
  --next;
  offset = address - next->first;
  return offset < next->second.bytes() ? &next->second : nullptr;
}

stand_in::SharedPages& shared_pages() {
  static auto& pages = *new stand_in::SharedPages;
  return pages;
}

}  // namespace

extern "C" {

ENTRY stand_in_fail(int status) { return failure().exchange(status); }
ENTRY cuMemHostRegister_v2(void* address, std::size_t bytes, unsigned);
ENTRY cuMemHostUnregister(void* address);

[[gnu::visibility("default")]] const char* stand_in_calls() {
  thread_local std::string text;
  return (text = stand_in::Calls::of_process().take()).c_str();
}

ENTRY cuInit(unsigned) {
  ENTERED;
  return 0;
}
ENTRY cuDriverGetVersion(int* version) {
  COUNTED;
  *version = 13000;
  return 0;
}
ENTRY cuDeviceGetCount(int* count) {
  COUNTED;
  *count = kDevices;
  return 0;
}
ENTRY cuDeviceGet(int* device, int number) {
  COUNTED;
  *device = number;
  return number >= 0 && number < kDevices ? 0 : 101;
}
ENTRY cuDeviceGetName(char* name, int bytes, int) {
  COUNTED;
  std::strncpy(name, "stand-in", static_cast<std::size_t>(bytes));
  return 0;
}
ENTRY cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  COUNTED;
  *bytes = world().device.properties().total_memory;
  return 0;
}
ENTRY cuDeviceGetAttribute(int* value, int which, int) {
  COUNTED;
  const DeviceProperties p = world().device.properties();
  switch (which) {
    case 1: *value = static_cast<int>(p.max_threads_per_block); break;
    case 2: *value = static_cast<int>(p.max_block.x); break;
    case 3: *value = static_cast<int>(p.max_block.y); break;
    case 4: *value = static_cast<int>(p.max_block.z); break;
    case 5: *value = static_cast<int>(p.max_grid.x); break;
    case 6: *value = static_cast<int>(p.max_grid.y); break;
    case 7: *value = static_cast<int>(p.max_grid.z); break;
    case 8: *value = static_cast<int>(p.shared_memory_per_block); break;
    case 13: *value = 1500000; break;  // kilohertz
    case 16: *value = static_cast<int>(p.multiprocessors); break;
    case 36: *value = 2000000; break;  // of the memory, kilohertz
    case 37: *value = 4096; break;     // its width in bits
    case 39: *value = static_cast<int>(p.max_threads_per_multiprocessor); break;
    case 75: *value = p.compute_capability_major; break;
    case 76: *value = p.compute_capability_minor; break;
    case 81: *value = static_cast<int>(p.shared_memory_per_multiprocessor); break;
    case 82: *value = static_cast<int>(p.registers_per_multiprocessor); break;
    case 97: *value = static_cast<int>(p.max_shared_memory_per_block); break;
    case 106: *value = static_cast<int>(p.max_blocks_per_multiprocessor); break;
    default: *value = 0;
  }
  return 0;
}
ENTRY cuDevicePrimaryCtxRetain(void** context, int number) {
  ENTERED;
  *context = &world_of(number);
  return 0;
}
ENTRY cuDevicePrimaryCtxRelease_v2(int) {
  COUNTED;
  return 0;
}
ENTRY cuDevicePrimaryCtxReset_v2(int number) {
  COUNTED;
  return answer([number] {
    World& w = world_of(number);
    w.device.reset();
    const std::lock_guard lock(w.mutex);
    w.memory.clear();
    w.managed.clear();
    w.registered.clear();
    w.textures.clear();
    w.surfaces.clear();
    for (Stream* stream : w.streams) delete stream;
    w.streams.clear();
    for (Event* event : w.events) delete event;
    w.events.clear();
    return 0;
  });
}
ENTRY cuCtxSetCurrent(void* context) {
  ENTERED;
  current = static_cast<World*>(context);
  return 0;
}
ENTRY cuCtxGetCurrent(void** context) {
  COUNTED;
  *context = current;
  return 0;
}
ENTRY cuCtxSynchronize() {
  COUNTED;
  return answer([] { return world().device.synchronize(), 0; });
}
ENTRY cuModuleLoadDataEx(void** out, const void* image, unsigned count, int* keys, void** values) {
  COUNTED;
  return answer([&] {
    const std::string text = static_cast<const char*>(image);
    if (number_after(text, ".version ") > 9.0) return 222;
    if (number_after(text, ".target sm_") > 90) return 218;  // as driver 580 does
    try {
      *out = new LoadedModule{world().device.load_ptx(static_cast<const char*>(image), "image"), &world(), {}};
      const std::lock_guard lock(world().mutex);
      world().modules.insert(*out);
    } catch (const Error& error) {
      for (unsigned i = 0; i < count; ++i)
        if (keys[i] == 5) std::strncpy(static_cast<char*>(values[i]), error.what(), 1000);
      throw;
    }
    return 0;
  });
}
ENTRY cuModuleUnload(void* module) {
  ENTERED;
  {
    const std::lock_guard lock(world().mutex);
    world().modules.erase(module);
  }
  delete static_cast<LoadedModule*>(module);
  return 0;
}
ENTRY cuModuleGetFunction(void** out, void* module, const char* name) {
  COUNTED;
  return answer([&] {
    auto& loaded = *static_cast<LoadedModule*>(module);
    auto& slot = loaded.functions[name];
    if (!slot) {
      const Kernel kernel = loaded.module.kernel(name);
      slot = std::make_unique<Function>(Function{kernel, kernel.parameters(), loaded.home});
    }
    *out = slot.get();
    return 0;
  });
}
ENTRY cuModuleGetGlobal_v2(std::uint64_t* address, std::size_t* bytes, void* module, const char* name) {
  COUNTED;
  return answer([&] {
    const auto global = static_cast<LoadedModule*>(module)->module.global<std::byte>(name);
    *address = reinterpret_cast<std::uint64_t>(global.data());
    *bytes = global.size();
    return 0;
  });
}
ENTRY cuLinkCreate_v2(unsigned, int*, void**, void** link) {
  COUNTED;
  *link = new std::vector<std::string>;
  return 0;
}
ENTRY cuLinkAddData_v2(void* link, int, void* data, std::size_t, const char*, unsigned, int*, void**) {
  COUNTED;
  static_cast<std::vector<std::string>*>(link)->emplace_back(static_cast<const char*>(data));
  return 0;
}
ENTRY cuLinkComplete(void* link, void** image, std::size_t* bytes) {
  COUNTED;
  // One text is its own link; more would need what the CPU device does with texts apart.
  const auto& texts = *static_cast<std::vector<std::string>*>(link);
  if (texts.size() != 1) return 801;
  world().images.push_back(texts[0]);
  *image = world().images.back().data();
  *bytes = world().images.back().size();
  return 0;
}
ENTRY cuLinkDestroy(void* link) {
  COUNTED;
  delete static_cast<std::vector<std::string>*>(link);
  return 0;
}
ENTRY cuFuncGetAttribute(int* value, int which, void* function) {
  COUNTED;
  return answer([&] {
    const KernelAttributes a = static_cast<Function*>(function)->kernel.attributes();
    *value = static_cast<int>(which == 1   ? a.static_shared_bytes
                              : which == 2 ? a.const_bytes
                              : which == 3 ? a.local_bytes
                              : which == 4 ? a.registers
                                           : 0);
    return 0;
  });
}
ENTRY cuFuncSetAttribute(void*, int, int) {
  COUNTED;
  return 0;
}
ENTRY cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                     unsigned shared, Stream* stream, void** parameters, void**) {
  COUNTED;
  return answer([&] {
    auto& f = *static_cast<Function*>(function);
    if (const int status = outside(f); status != 0) return status;
    const LaunchConfig config{
        .grid = {gx, gy, gz}, .block = {bx, by, bz}, .shared_bytes = shared, .stream = of(stream)};
    launch(f, config, parameters);
    return 0;
  });
}
ENTRY cuLaunchKernelEx(const Settings* s, void* function, void** parameters, void**) {
  COUNTED;
  return answer([&] {
    auto& f = *static_cast<Function*>(function);
    if (const int status = outside(f); status != 0) return status;
    launch(f, config_of(*s), parameters);
    return 0;
  });
}
ENTRY cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) {
  COUNTED;
  return answer([&] {
    DeviceArray<std::byte> array(world().device, bytes);
    *address = reinterpret_cast<std::uint64_t>(array.data());
    const std::lock_guard lock(world().mutex);
    world().memory.emplace(*address, std::move(array));
    return 0;
  });
}
ENTRY cuMemFree_v2(std::uint64_t address) {
  ENTERED;
  const std::lock_guard lock(world().mutex);
  return world().memory.erase(address) + world().managed.erase(address) == 1 ? 0 : 1;
}
// CU_POINTER_ATTRIBUTE_MEMORY_TYPE (1: host, 2: device), _IS_MANAGED and _DEVICE_ORDINAL.
ENTRY cuPointerGetAttribute(void* value, int which, std::uint64_t address) {
  ENTERED;
  const auto inside = [address](std::uint64_t start, std::size_t bytes) {
    return address >= start && address < start + bytes;
  };
  for (int number = 0; number < kDevices; ++number) {
    World& one = world_of(number);
    const std::lock_guard lock(one.mutex);
    bool device = false, managed = false, host = false;
    for (const auto& [start, array] : one.memory) device |= inside(start, array.size());
    for (const auto& [start, memory] : one.managed) managed |= inside(start, memory.bytes());
    for (const auto& [start, range] : one.registered)
      host |= inside(reinterpret_cast<std::uint64_t>(start), range.bytes());
    if (!device && !managed && !host) continue;
    *static_cast<int*>(value) = which == 9 ? number : which == 8 ? managed : host ? 1 : 2;
    return 0;
  }
  return 1;
}
ENTRY cuMemGetAddressRange_v2(std::uint64_t* start, std::size_t* bytes, std::uint64_t address) {
  COUNTED;
  const std::lock_guard lock(world().mutex);
  auto next = world().memory.upper_bound(address);
  if (next == world().memory.begin()) return 1;
  --next;
  if (address >= next->first + next->second.size()) return 1;
  *start = next->first;
  *bytes = next->second.size();
  return 0;
}
ENTRY cuIpcGetMemHandle(void* handle, std::uint64_t address) {
  COUNTED;
  return answer([&] {
    world().device.synchronize();
    const std::lock_guard lock(world().mutex);
    const auto found = world().memory.find(address);
    return found == world().memory.end() ? 1 : shared_pages().share(address, found->second.size(), handle);
  });
}
ENTRY cuIpcOpenMemHandle_v2(std::uint64_t* address, cuda::SharedHandle handle, unsigned) {
  COUNTED;
  std::uint64_t bytes = 0;
  const int status = shared_pages().open(&handle, *address, bytes);
  return status != 0 ? status : cuMemHostRegister_v2(address_of(*address), bytes, 0);
}
ENTRY cuIpcCloseMemHandle(std::uint64_t address) {
  COUNTED;
  const int status = cuMemHostUnregister(address_of(address));
  return status != 0 ? 1 : shared_pages().unmap(address);
}
ENTRY cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  COUNTED;
  return answer([&] {
    *free = world().device.free_memory();
    *total = world().device.properties().total_memory;
    return 0;
  });
}
ENTRY cuMemHostRegister_v2(void* address, std::size_t bytes, unsigned) {
  COUNTED;
  return answer([&] {
    HostRegistration made(world().device, address, bytes);
    const std::lock_guard lock(world().mutex);
    world().registered.emplace(address, std::move(made));
    return 0;
  });
}
ENTRY cuMemHostUnregister(void* address) {
  COUNTED;
  const std::lock_guard lock(world().mutex);
  const bool was = world().registered.erase(address) == 1;
  if (const int status = failure(); status != 0) return status;  // the context has taken the registration with it
  return was ? 0 : 713;
}
ENTRY cuMemcpyAsync(std::uint64_t to, std::uint64_t from, std::size_t bytes, Stream* stream) {
  COUNTED;
  if (current == nullptr) return 201;
  return answer([&] { return copy(of(stream), address_of(to), address_of(from), bytes), 0; });
}
ENTRY cuMemsetD8Async(std::uint64_t to, unsigned char value, std::size_t count, Stream* stream) {
  COUNTED;
  return answer([&] { return fill(of(stream), address_of(to), &value, 1, count), 0; });
}
ENTRY cuMemsetD16Async(std::uint64_t to, unsigned short value, std::size_t count, Stream* stream) {
  COUNTED;
  return answer([&] { return fill(of(stream), address_of(to), &value, 2, count), 0; });
}
ENTRY cuMemsetD32Async(std::uint64_t to, unsigned value, std::size_t count, Stream* stream) {
  COUNTED;
  return answer([&] { return fill(of(stream), address_of(to), &value, 4, count), 0; });
}
ENTRY cuStreamCreateWithPriority(Stream** stream, unsigned flags, int priority) {
  COUNTED;
  return answer([&] {
    *stream = new Stream(world().device, {.blocking = flags != 1, .priority = priority});
    const std::lock_guard lock(world().mutex);
    world().streams.insert(*stream);
    return 0;
  });
}
ENTRY cuStreamGetCtx(Stream* stream, void** context) {
  COUNTED;
  const std::lock_guard lock(world().mutex);
  if (world().streams.count(stream) == 0) return 400;
  *context = current;
  return 0;
}
ENTRY cuStreamQuery(Stream* stream) {
  COUNTED;
  return answer([&] { return of(stream).query() ? 0 : 600; });
}
ENTRY cuStreamWaitEvent(Stream* stream, Event* event, unsigned) {
  COUNTED;
  return answer([&] { return of(stream).wait(*event), 0; });
}
ENTRY cuLaunchHostFunc(Stream* stream, void (*function)(void*), void* data) {
  COUNTED;
  return answer([&] { return of(stream).host_function([=] { function(data); }), 0; });
}
ENTRY cuEventCreate(Event** event, unsigned) {
  COUNTED;
  return answer([&] {
    *event = new Event(world().device);
    const std::lock_guard lock(world().mutex);
    world().events.insert(*event);
    return 0;
  });
}
ENTRY cuEventDestroy_v2(Event* event) {
  ENTERED;
  const std::lock_guard lock(world().mutex);
  if (world().events.erase(event) == 0) return 400;
  delete event;
  return 0;
}
ENTRY cuEventRecord(Event* event, Stream* stream) {
  COUNTED;
  return answer([&] { return event->record(of(stream)), 0; });
}
ENTRY cuEventQuery(Event* event) {
  COUNTED;
  return answer([&] { return event->query() ? 0 : 600; });
}
ENTRY cuEventSynchronize(Event* event) {
  COUNTED;
  return answer([&] { return event->synchronize(), 0; });
}
ENTRY cuEventElapsedTime(float* ms, Event* start, Event* end) {
  COUNTED;
  return answer([&] {
    *ms = static_cast<float>(Event::elapsed_ms(*start, *end));
    return 0;
  });
}
ENTRY cuStreamDestroy_v2(Stream* stream) {
  ENTERED;
  const std::lock_guard lock(world().mutex);
  if (world().streams.erase(stream) == 0) return 400;
  delete stream;
  return 0;
}
ENTRY cuStreamSynchronize(Stream* stream) {
  COUNTED;
  return answer([&] { return of(stream).synchronize(), 0; });
}
ENTRY cuMemAllocManaged(std::uint64_t* address, std::size_t bytes, unsigned flags) {
  COUNTED;
  return answer([&] {
    if (flags != 1 && flags != 2) return 1;
    ManagedMemory memory(world().device, bytes);
    *address = reinterpret_cast<std::uint64_t>(memory.data());
    const std::lock_guard lock(world().mutex);
    world().managed.emplace(*address, std::move(memory));
    return 0;
  });
}
ENTRY cuMemAdvise(std::uint64_t address, std::size_t bytes, int advice, int device) {
  COUNTED;
  return answer([&] {
    std::size_t offset = 0;
    const ManagedMemory* memory = managed_at(address, offset);
    if (memory == nullptr) return 1;
    memory->advise(static_cast<MemoryAdvice>(advice), side(device), offset, bytes);
    return 0;
  });
}
ENTRY cuMemPrefetchAsync(std::uint64_t address, std::size_t bytes, int device, Stream* stream) {
  COUNTED;
  return answer([&] {
    std::size_t offset = 0;
    const ManagedMemory* memory = managed_at(address, offset);
    if (memory == nullptr) return 1;
    memory->prefetch(of(stream), side(device), offset, bytes);
    return 0;
  });
}
ENTRY cuStreamAttachMemAsync(Stream* stream, std::uint64_t address, std::size_t bytes, unsigned flags) {
  COUNTED;
  return answer([&] {
    std::size_t offset = 0;
    const ManagedMemory* memory = managed_at(address, offset);
    if (memory == nullptr || offset != 0 || (bytes != 0 && bytes != memory->bytes())) return 1;
    memory->attach(of(stream), static_cast<MemoryAttachment>(flags));
    return 0;
  });
}
ENTRY cuDeviceCanAccessPeer(int* possible, int device, int peer) {
  COUNTED;
  *possible = device != peer ? 1 : 0;
  return 0;
}
ENTRY cuCtxEnablePeerAccess(World* peer, unsigned) {
  COUNTED;
  return answer([&] { return world().device.enable_peer_access(peer->device), 0; });
}
ENTRY cuCtxDisablePeerAccess(World* peer) {
  COUNTED;
  return answer([&] { return world().device.disable_peer_access(peer->device), 0; });
}
ENTRY cuMemcpyPeerAsync(std::uint64_t to, World* receiver, std::uint64_t from, World* sender, std::size_t bytes,
                        Stream* stream) {
  COUNTED;
  return answer([&] {
    copy_peer(of(stream), receiver->device, address_of(to), sender->device, address_of(from), bytes);
    return 0;
  });
}
ENTRY cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Function* f, int threads, std::size_t shared) {
  COUNTED;
  return answer([&] {
    *blocks = static_cast<int>(f->kernel.max_active_blocks({threads}, static_cast<std::uint32_t>(shared)));
    return 0;
  });
}
ENTRY cuOccupancyMaxActiveClusters(int* clusters, Function* f, const Settings* s) {
  COUNTED;
  return answer([&] {
    *clusters = static_cast<int>(f->kernel.max_active_clusters(config_of(*s)));
    return 0;
  });
}
ENTRY cuOccupancyMaxPotentialBlockSize(int* grid, int* block, Function* f, std::size_t (*shared_of)(int),
                                       std::size_t shared, int limit) {
  COUNTED;
  return answer([&] {
    const auto shared_bytes = [&](unsigned size) {
      return shared_of != nullptr ? shared_of(static_cast<int>(size)) : shared;
    };
    const BlockChoice choice = f->kernel.max_potential_block(shared_bytes, static_cast<unsigned>(limit));
    *grid = static_cast<int>(choice.grid);
    *block = static_cast<int>(choice.block);
    return 0;
  });
}
ENTRY cuGetErrorName(int status, const char** name) {
  COUNTED;
  *name = status == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR";
  return 0;
}
ENTRY cuGetErrorString(int, const char** text) {
  COUNTED;
  *text = "as the stand-in says";
  return 0;
}

}  // extern "C"

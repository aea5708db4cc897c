// A libcuda.so.1 for tests on machines without a GPU: the entry points that the CUDA device uses, on the CPU device.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "warploom/warploom.hpp"

namespace {

using namespace warploom;

struct Function {
  Kernel kernel;
  std::vector<Parameter> parameters;
};
struct LoadedModule {
  Module module;
  std::map<std::string, std::unique_ptr<Function>> functions;
};

struct World {
  std::mutex mutex;
  Device device = Device::open("cpu", {.threads = 2, .profile = "l4"});
  std::map<std::uint64_t, DeviceArray<std::byte>> memory;
  std::map<void*, HostRegistration> registered;
  std::set<Stream*> streams;
  std::vector<std::string> images;  // of links, which live as long as the process
};

World& world() {
  static auto& instance = *new World;  // clients call from exit handlers
  return instance;
}

thread_local void* current = nullptr;

// Runs what an entry point does, and gives its status.
template <class F>
int answer(F&& f) {
  try {
    return f();
  } catch (const Error& error) {
    return error.cuda_code();
  } catch (...) {
    return 999;
  }
}

struct Settings {  // CUlaunchConfig
  unsigned grid[3], block[3], shared_bytes;
  Stream* stream;
  struct Attribute {
    int id, padding;
    unsigned value[16];
  }* attributes;
  unsigned count;
};

// Null and CU_STREAM_LEGACY are the default stream, then CU_STREAM_PER_THREAD.
Stream of(Stream* stream) {
  if (reinterpret_cast<std::uintptr_t>(stream) == 2) return world().device.per_thread_stream();
  return reinterpret_cast<std::uintptr_t>(stream) <= 1 ? world().device.default_stream() : *stream;
}

void launch(Function& f, const LaunchConfig& config, void** parameters) {
  std::vector<Argument> arguments;
  for (const Parameter& p : f.parameters) arguments.push_back({*parameters++, p.bytes});
  f.kernel.launch_with(config, arguments);
}

void* address_of(std::uint64_t pointer) { return reinterpret_cast<void*>(pointer); }

}  // namespace

extern "C" {

#define ENTRY [[gnu::visibility("default")]] int

ENTRY cuInit(unsigned) { return 0; }
ENTRY cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}
ENTRY cuDeviceGetCount(int* count) {
  *count = 1;
  return 0;
}
ENTRY cuDeviceGet(int* device, int number) {
  *device = number;
  return number == 0 ? 0 : 101;
}
ENTRY cuDeviceGetName(char* name, int bytes, int) {
  std::strncpy(name, "stand-in", static_cast<std::size_t>(bytes));
  return 0;
}
ENTRY cuDeviceTotalMem_v2(std::size_t* bytes, int) {
  *bytes = world().device.properties().total_memory;
  return 0;
}
ENTRY cuDeviceGetAttribute(int* value, int which, int) {
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
    case 16: *value = static_cast<int>(p.multiprocessors); break;
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
ENTRY cuDevicePrimaryCtxRetain(void** context, int) {
  *context = &world();
  return 0;
}
ENTRY cuDevicePrimaryCtxRelease_v2(int) { return 0; }
ENTRY cuDevicePrimaryCtxReset_v2(int) {
  return answer([] {
    world().device.reset();
    const std::lock_guard lock(world().mutex);
    world().memory.clear();
    for (Stream* stream : world().streams) delete stream;
    world().streams.clear();
    return 0;
  });
}
ENTRY cuCtxSetCurrent(void* context) {
  current = context;
  return 0;
}
ENTRY cuCtxGetCurrent(void** context) {
  *context = current;
  return 0;
}
ENTRY cuCtxSynchronize() {
  return answer([] { return world().device.synchronize(), 0; });
}
ENTRY cuModuleLoadDataEx(void** out, const void* image, unsigned count, int* keys, void** values) {
  return answer([&] {
    try {
      *out = new LoadedModule{world().device.load_ptx(static_cast<const char*>(image), "image"), {}};
    } catch (const Error& error) {
      for (unsigned i = 0; i < count; ++i)
        if (keys[i] == 5) std::strncpy(static_cast<char*>(values[i]), error.what(), 1000);
      throw;
    }
    return 0;
  });
}
ENTRY cuModuleUnload(void* module) {
  delete static_cast<LoadedModule*>(module);
  return 0;
}
ENTRY cuModuleGetFunction(void** out, void* module, const char* name) {
  return answer([&] {
    auto& loaded = *static_cast<LoadedModule*>(module);
    auto& slot = loaded.functions[name];
    if (!slot) {
      const Kernel kernel = loaded.module.kernel(name);
      slot = std::make_unique<Function>(Function{kernel, kernel.parameters()});
    }
    *out = slot.get();
    return 0;
  });
}
ENTRY cuModuleGetGlobal_v2(std::uint64_t* address, std::size_t* bytes, void* module, const char* name) {
  return answer([&] {
    const auto global = static_cast<LoadedModule*>(module)->module.global<std::byte>(name);
    *address = reinterpret_cast<std::uint64_t>(global.data());
    *bytes = global.size();
    return 0;
  });
}
ENTRY cuLinkCreate_v2(unsigned, int*, void**, void** link) {
  *link = new std::vector<std::string>;
  return 0;
}
ENTRY cuLinkAddData_v2(void* link, int, void* data, std::size_t, const char*, unsigned, int*, void**) {
  static_cast<std::vector<std::string>*>(link)->emplace_back(static_cast<const char*>(data));
  return 0;
}
ENTRY cuLinkComplete(void* link, void** image, std::size_t* bytes) {
  // One text is its own link; more would need what the CPU device does with texts apart.
  const auto& texts = *static_cast<std::vector<std::string>*>(link);
  if (texts.size() != 1) return 801;
  world().images.push_back(texts[0]);
  *image = world().images.back().data();
  *bytes = world().images.back().size();
  return 0;
}
ENTRY cuLinkDestroy(void* link) {
  delete static_cast<std::vector<std::string>*>(link);
  return 0;
}
ENTRY cuFuncGetAttribute(int* value, int which, void* function) {
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
ENTRY cuFuncSetAttribute(void*, int, int) { return 0; }
ENTRY cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                     unsigned shared, Stream* stream, void** parameters, void**) {
  return answer([&] {
    const LaunchConfig config{
        .grid = {gx, gy, gz}, .block = {bx, by, bz}, .shared_bytes = shared, .stream = of(stream)};
    launch(*static_cast<Function*>(function), config, parameters);
    return 0;
  });
}
ENTRY cuLaunchKernelEx(const Settings* s, void* function, void** parameters, void**) {
  return answer([&] {
    LaunchConfig config{.grid = {s->grid[0], s->grid[1], s->grid[2]},
                        .block = {s->block[0], s->block[1], s->block[2]},
                        .shared_bytes = s->shared_bytes,
                        .stream = of(s->stream)};
    for (unsigned i = 0; i < s->count; ++i) {
      const auto& a = s->attributes[i];
      if (a.id == 2) config.cooperative = a.value[0] != 0;
      if (a.id == 4) config.cluster = Dim3(a.value[0], a.value[1], a.value[2]);
    }
    launch(*static_cast<Function*>(function), config, parameters);
    return 0;
  });
}
ENTRY cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) {
  return answer([&] {
    DeviceArray<std::byte> array(world().device, bytes);
    *address = reinterpret_cast<std::uint64_t>(array.data());
    const std::lock_guard lock(world().mutex);
    world().memory.emplace(*address, std::move(array));
    return 0;
  });
}
ENTRY cuMemFree_v2(std::uint64_t address) {
  const std::lock_guard lock(world().mutex);
  return world().memory.erase(address) == 1 ? 0 : 1;
}
ENTRY cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  return answer([&] {
    *free = world().device.free_memory();
    *total = world().device.properties().total_memory;
    return 0;
  });
}
ENTRY cuMemHostRegister_v2(void* address, std::size_t bytes, unsigned) {
  return answer([&] {
    HostRegistration made(world().device, address, bytes);
    const std::lock_guard lock(world().mutex);
    world().registered.emplace(address, std::move(made));
    return 0;
  });
}
ENTRY cuMemHostUnregister(void* address) {
  const std::lock_guard lock(world().mutex);
  return world().registered.erase(address) == 1 ? 0 : 713;
}
ENTRY cuMemcpyAsync(std::uint64_t to, std::uint64_t from, std::size_t bytes, Stream* stream) {
  return answer([&] { return copy(of(stream), address_of(to), address_of(from), bytes), 0; });
}
ENTRY cuMemsetD8Async(std::uint64_t to, unsigned char value, std::size_t count, Stream* stream) {
  return answer([&] { return fill(of(stream), address_of(to), &value, 1, count), 0; });
}
ENTRY cuMemsetD16Async(std::uint64_t to, unsigned short value, std::size_t count, Stream* stream) {
  return answer([&] { return fill(of(stream), address_of(to), &value, 2, count), 0; });
}
ENTRY cuMemsetD32Async(std::uint64_t to, unsigned value, std::size_t count, Stream* stream) {
  return answer([&] { return fill(of(stream), address_of(to), &value, 4, count), 0; });
}
ENTRY cuStreamCreateWithPriority(Stream** stream, unsigned flags, int priority) {
  return answer([&] {
    *stream = new Stream(world().device, {.blocking = flags != 1, .priority = priority});
    const std::lock_guard lock(world().mutex);
    world().streams.insert(*stream);
    return 0;
  });
}
ENTRY cuStreamGetCtx(Stream* stream, void** context) {
  const std::lock_guard lock(world().mutex);
  if (world().streams.count(stream) == 0) return 400;
  *context = current;
  return 0;
}
ENTRY cuStreamQuery(Stream* stream) {
  return answer([&] { return of(stream).query() ? 0 : 600; });
}
ENTRY cuStreamWaitEvent(Stream* stream, Event* event, unsigned) {
  return answer([&] { return of(stream).wait(*event), 0; });
}
ENTRY cuLaunchHostFunc(Stream* stream, void (*function)(void*), void* data) {
  return answer([&] { return of(stream).host_function([=] { function(data); }), 0; });
}
ENTRY cuEventCreate(Event** event, unsigned) {
  return answer([&] {
    *event = new Event(world().device);
    return 0;
  });
}
ENTRY cuEventDestroy_v2(Event* event) {
  delete event;
  return 0;
}
ENTRY cuEventRecord(Event* event, Stream* stream) {
  return answer([&] { return event->record(of(stream)), 0; });
}
ENTRY cuEventQuery(Event* event) {
  return answer([&] { return event->query() ? 0 : 600; });
}
ENTRY cuEventSynchronize(Event* event) {
  return answer([&] { return event->synchronize(), 0; });
}
ENTRY cuEventElapsedTime(float* ms, Event* start, Event* end) {
  return answer([&] {
    *ms = static_cast<float>(Event::elapsed_ms(*start, *end));
    return 0;
  });
}
ENTRY cuStreamDestroy_v2(Stream* stream) {
  const std::lock_guard lock(world().mutex);
  if (world().streams.erase(stream) == 0) return 400;
  delete stream;
  return 0;
}
ENTRY cuStreamSynchronize(Stream* stream) {
  return answer([&] { return of(stream).synchronize(), 0; });
}
ENTRY cuGetErrorName(int status, const char** name) {
  *name = status == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR";
  return 0;
}
ENTRY cuGetErrorString(int, const char** text) {
  *text = "as the stand-in says";
  return 0;
}

}  // extern "C"

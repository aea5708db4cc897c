// What the entry points of the stand-in for the driver share: two GPUs, each a CPU device, and how calls are answered.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "device/cuda/driver_types.hpp"
#include "stand_in_calls.hpp"
#include "warploom/warploom.hpp"

namespace stand_in {

using namespace warploom;  // NOLINT: the files of the stand-in speak its language
namespace cuda = warploom::device::cuda;

struct World;

struct Function {
  Kernel kernel;
  std::vector<Parameter> parameters;
  World* home;
};
struct LoadedModule {
  Module module;
  World* home;
  std::map<std::string, std::unique_ptr<Function>> functions;
};

// One GPU with its primary context.
struct World {
  explicit World(int number_) : number(number_) {}
  const int number;
  std::mutex mutex;
  Device device = Device::open("cpu", {.threads = 2, .profile = "l4"});
  std::map<std::uint64_t, DeviceArray<std::byte>> memory;
  std::map<std::uint64_t, ManagedMemory> managed;
  std::map<void*, HostRegistration> registered;
  std::set<Stream*> streams;
  std::set<Event*> events;
  std::set<void*> modules;  // those of a context that was lost stay
  std::map<std::uint64_t, Texture> textures;
  std::map<std::uint64_t, Surface> surfaces;
  std::vector<std::string> images;  // of links, which live as long as the process
};

constexpr int kDevices = 2;

inline World& world_of(int number) {
  static auto& instances = *new std::array<World*, kDevices>{new World(0), new World(1)};  // clients call at exit
  return *instances[static_cast<std::size_t>(number)];
}

inline thread_local World* current = nullptr;

inline World& world() { return current != nullptr ? *current : world_of(0); }

// What every call gives when it is not 0, as after an error that ends the context: from the environment, or a test.
inline std::atomic<int>& failure() {
  static std::atomic<int> status{[] {
    const char* text = std::getenv("STAND_IN_STATUS");
    return text == nullptr ? 0 : std::atoi(text);
  }()};
  return status;
}

// Runs what an entry point does, and gives its status.
template <class F>
int answer(F&& f) {
  if (const int status = failure(); status != 0) return status;
  try {
    return f();
  } catch (const Error& error) {
    return error.cuda_code();
  } catch (...) {
    return 999;
  }
}

// Null and CU_STREAM_LEGACY are the default stream, then CU_STREAM_PER_THREAD.
inline Stream of(Stream* stream) {
  if (reinterpret_cast<std::uintptr_t>(stream) == 2) return world().device.per_thread_stream();
  return reinterpret_cast<std::uintptr_t>(stream) <= 1 ? world().device.default_stream() : *stream;
}

inline void* address_of(std::uint64_t pointer) { return reinterpret_cast<void*>(pointer); }

}  // namespace stand_in

#define ENTRY [[gnu::visibility("default")]] int
#define COUNTED stand_in::Calls::of_process().note(__func__)
#define ENTERED \
  COUNTED;      \
  if (const int status = failure(); status != 0) return status

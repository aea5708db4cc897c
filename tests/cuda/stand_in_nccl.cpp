// A libnccl.so.2 for tests on machines without a GPU: ranks of one process, sums and maxima, on the stand-in
// driver, whose memory the host reaches. As with NCCL, operations of a group begin at its end.
#include <dlfcn.h>

#include <array>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

namespace {

using Id = std::array<std::byte, 128>;  // ncclUniqueId
enum Result { success = 0, invalid_argument = 4, invalid_usage = 5 };

struct Part {
  const void* from;
  void* to;
};

// What the ranks of a communicator share.
struct Group {
  explicit Group(int count) : ranks(count) {}
  const int ranks;
  std::mutex mutex;
  std::condition_variable changed;
  int joined = 0;
  struct Round {
    std::map<int, Part> parts;
    int done = 0;
  };
  std::map<int, Round> rounds;
  std::map<std::pair<int, int>, std::vector<std::vector<std::byte>>> mail;

  // Each rank comes once; then each works by itself, and the results are written when all have.
  void meet(int round, int rank, Part part, const std::function<std::vector<std::byte>(std::map<int, Part>&)>& work) {
    std::unique_lock lock(mutex);
    Round& r = rounds[round];
    r.parts[rank] = part;
    changed.notify_all();
    changed.wait(lock, [&] { return r.parts.size() == static_cast<std::size_t>(ranks); });
    const std::vector<std::byte> out = work(r.parts);
    ++r.done;
    changed.notify_all();
    changed.wait(lock, [&] { return r.done == ranks; });
    if (!out.empty()) std::memcpy(part.to, out.data(), out.size());
  }
};

struct Comm {
  std::shared_ptr<Group> group;
  int rank;
  int round = 0;
};

struct Operation {
  void* context;  // which is that of the communicator's device
  void* stream;
  std::function<void()> run;
};
thread_local int depth = 0;
thread_local std::vector<Operation> collected;

std::mutex groups_mutex;
std::map<Id, std::shared_ptr<Group>> groups;

struct Driver {
  int (*host_function)(void*, void (*)(void*), void*) = nullptr;
  int (*get_context)(void**) = nullptr;
  int (*set_context)(void*) = nullptr;
};

const Driver& driver() {
  static const Driver loaded = [] {
    Driver out;
    void* library = dlopen(std::getenv("WARPLOOM_CUDA_DRIVER"), RTLD_NOW);
    if (library == nullptr) std::abort();
    out.host_function = reinterpret_cast<decltype(out.host_function)>(dlsym(library, "cuLaunchHostFunc"));
    out.get_context = reinterpret_cast<decltype(out.get_context)>(dlsym(library, "cuCtxGetCurrent"));
    out.set_context = reinterpret_cast<decltype(out.set_context)>(dlsym(library, "cuCtxSetCurrent"));
    return out;
  }();
  return loaded;
}

Result begin(const Operation& operation) {
  const auto call = [](void* data) {
    const std::unique_ptr<std::function<void()>> mine(static_cast<std::function<void()>*>(data));
    (*mine)();
  };
  // Default streams are those of the current context.
  void* before = nullptr;
  driver().get_context(&before);
  driver().set_context(operation.context);
  const int status = driver().host_function(operation.stream, call, new std::function<void()>(operation.run));
  driver().set_context(before);
  return status == 0 ? success : invalid_usage;
}

Result add(void* stream, std::function<void()> run) {
  Operation operation{nullptr, stream, std::move(run)};
  driver().get_context(&operation.context);
  if (depth == 0) return begin(operation);
  collected.push_back(std::move(operation));
  return success;
}

// By ncclDataType_t; bfloat16 is left out.
std::size_t bytes_of(int type) {
  constexpr std::size_t kBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8};
  return type >= 0 && type < 9 ? kBytes[type] : 0;
}

template <class T>
void combine(void* into, const void* from, std::size_t count, int how) {
  auto* a = static_cast<T*>(into);
  const auto* b = static_cast<const T*>(from);
  for (std::size_t i = 0; i < count; ++i) a[i] = how == 2 ? (a[i] < b[i] ? b[i] : a[i]) : static_cast<T>(a[i] + b[i]);
}

using Combine = void (*)(void*, const void*, std::size_t, int);
constexpr Combine kCombine[] = {combine<std::int8_t>,   combine<std::uint8_t>, combine<std::int32_t>,
                                combine<std::uint32_t>, combine<std::int64_t>, combine<std::uint64_t>,
                                combine<_Float16>,      combine<float>,        combine<double>};

std::vector<std::byte> reduced(const std::map<int, Part>& parts, std::size_t first, std::size_t count, int type,
                               int how) {
  std::vector<std::byte> out;
  for (const auto& [rank, part] : parts) {
    const std::byte* from = static_cast<const std::byte*>(part.from) + first * bytes_of(type);
    if (out.empty())
      out.assign(from, from + count * bytes_of(type));
    else
      kCombine[type](out.data(), from, count, how);
  }
  return out;
}

bool known(int type, int how) { return bytes_of(type) != 0 && (how == 0 || how == 2); }

// Those of a context that was lost stay.
std::set<Comm*>& comms() {
  static auto& all = *new std::set<Comm*>;
  return all;
}
Comm* made(Comm comm) {
  auto* out = new Comm(std::move(comm));
  const std::lock_guard lock(groups_mutex);
  comms().insert(out);
  return out;
}

}  // namespace

extern "C" {

#define ENTRY [[gnu::visibility("default")]] int

ENTRY ncclGetVersion(int* version) {
  *version = 22703;
  return success;
}
[[gnu::visibility("default")]] const char* ncclGetErrorString(int code) {
  return code == invalid_argument ? "invalid argument" : code == invalid_usage ? "invalid usage" : "no error";
}
[[gnu::visibility("default")]] const char* ncclGetLastError(void*) { return "as the stand-in says"; }
ENTRY ncclGetUniqueId(Id* id) {
  static int issued = 0;
  const std::lock_guard lock(groups_mutex);
  *id = {};
  ++issued;
  std::memcpy(id->data(), &issued, sizeof issued);
  return success;
}
ENTRY ncclCommInitRank(Comm** out, int ranks, Id id, int rank) {
  std::shared_ptr<Group> group;
  {
    const std::lock_guard lock(groups_mutex);
    auto& place = groups[id];
    if (!place) place = std::make_shared<Group>(ranks);
    group = place;
  }
  std::unique_lock lock(group->mutex);
  ++group->joined;
  group->changed.notify_all();
  group->changed.wait(lock, [&] { return group->joined == ranks; });
  *out = made({group, rank});
  return success;
}
ENTRY ncclCommInitAll(Comm** out, int count, const int* devices) {
  const auto group = std::make_shared<Group>(count);
  for (int i = 0; i < count; ++i) {
    for (int k = 0; k < i; ++k)
      if (devices[k] == devices[i]) return invalid_usage;
    out[i] = made({group, i});
  }
  return success;
}
ENTRY ncclCommDestroy(Comm* comm) {
  const std::lock_guard lock(groups_mutex);
  if (comms().erase(comm) == 0) return invalid_argument;
  delete comm;
  return success;
}
ENTRY ncclCommGetAsyncError(Comm*, int* error) {
  *error = success;
  return success;
}
ENTRY ncclGroupStart() {
  ++depth;
  return success;
}
ENTRY ncclGroupEnd() {
  if (depth == 0) return invalid_usage;
  if (--depth != 0) return success;
  Result result = success;
  for (const Operation& operation : collected)
    if (result == success) result = begin(operation);
  collected.clear();
  return result;
}
ENTRY ncclAllReduce(const void* from, void* to, std::size_t count, int type, int how, Comm* c, void* stream) {
  if (!known(type, how)) return invalid_argument;
  return add(stream, [=, group = c->group, rank = c->rank, round = c->round++] {
    group->meet(round, rank, {from, to}, [&](auto& parts) { return reduced(parts, 0, count, type, how); });
  });
}
ENTRY ncclReduce(const void* from, void* to, std::size_t count, int type, int how, int root, Comm* c, void* stream) {
  if (!known(type, how)) return invalid_argument;
  return add(stream, [=, group = c->group, rank = c->rank, round = c->round++] {
    group->meet(round, rank, {from, to}, [&](auto& parts) {
      return rank == root ? reduced(parts, 0, count, type, how) : std::vector<std::byte>();
    });
  });
}
ENTRY ncclReduceScatter(const void* from, void* to, std::size_t count, int type, int how, Comm* c, void* stream) {
  if (!known(type, how)) return invalid_argument;
  return add(stream, [=, group = c->group, rank = c->rank, round = c->round++] {
    group->meet(round, rank, {from, to},
                [&](auto& parts) { return reduced(parts, static_cast<std::size_t>(rank) * count, count, type, how); });
  });
}
ENTRY ncclBroadcast(const void* from, void* to, std::size_t count, int type, int root, Comm* c, void* stream) {
  if (bytes_of(type) == 0) return invalid_argument;
  return add(stream, [=, group = c->group, rank = c->rank, round = c->round++] {
    group->meet(round, rank, {from, to}, [&](auto& parts) {
      const auto* bytes = static_cast<const std::byte*>(parts[root].from);
      return std::vector<std::byte>(bytes, bytes + count * bytes_of(type));
    });
  });
}
ENTRY ncclAllGather(const void* from, void* to, std::size_t count, int type, Comm* c, void* stream) {
  if (bytes_of(type) == 0) return invalid_argument;
  return add(stream, [=, group = c->group, rank = c->rank, round = c->round++] {
    group->meet(round, rank, {from, to}, [&](auto& parts) {
      std::vector<std::byte> out;
      for (const auto& [other, part] : parts) {
        const auto* bytes = static_cast<const std::byte*>(part.from);
        out.insert(out.end(), bytes, bytes + count * bytes_of(type));
      }
      return out;
    });
  });
}
ENTRY ncclSend(const void* from, std::size_t count, int type, int peer, Comm* c, void* stream) {
  if (bytes_of(type) == 0) return invalid_argument;
  return add(stream, [=, group = c->group, rank = c->rank] {
    const auto* bytes = static_cast<const std::byte*>(from);
    const std::lock_guard lock(group->mutex);
    group->mail[{rank, peer}].emplace_back(bytes, bytes + count * bytes_of(type));
    group->changed.notify_all();
  });
}
ENTRY ncclRecv(void* to, std::size_t count, int type, int peer, Comm* c, void* stream) {
  if (bytes_of(type) == 0) return invalid_argument;
  return add(stream, [=, group = c->group, rank = c->rank] {
    std::unique_lock lock(group->mutex);
    auto& box = group->mail[{peer, rank}];
    group->changed.wait(lock, [&] { return !box.empty(); });
    std::memcpy(to, box.front().data(), count * bytes_of(type));
    box.erase(box.begin());
  });
}

}  // extern "C"

// The benchmark of several GPUs: copies between two of them beside the raw driver, and collectives of all beside raw
// NCCL. gpus_bench [--json FILE] [--quick]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <warploom/warploom.hpp>

#include "raw.hpp"

namespace {

using namespace warploom;

using bench::Library;
using bench::median;
using bench::now;
using bench::ok;

class Bench : public bench::Figures {
 public:
  explicit Bench(bool quick) : Figures(62), quick_(quick) {
    for (const std::string& name : Device::names())
      if (name.starts_with("cuda:")) devices_.push_back(Device::open(name));
    for (const Device& one : devices_) streams_.emplace_back(one, StreamOptions{.blocking = false});
  }

  void run() {
    std::printf("%zu x %s\n\n", devices_.size(), devices_[0].properties().name.c_str());
    copies();
    collectives();
  }

 private:
  void settle() {
    for (const Stream& one : streams_) one.synchronize();
  }
  // Seconds of what `work` queues once, of many times in a row.
  double seconds(const std::function<void()>& work, int repeats) {
    work();
    std::vector<double> out;
    for (int round = 0; round < (quick_ ? 2 : 5); ++round) {
      settle();
      const double start = now();
      for (int i = 0; i < repeats; ++i) work();
      settle();
      out.push_back((now() - start) / repeats);
    }
    return median(out);
  }

  // ---- copies ----

  void copies() {
    const std::size_t bytes = quick_ ? std::size_t{1} << 20 : std::size_t{256} << 20;
    const int repeats = quick_ ? 2 : 20;
    const Device &a = devices_[0], &b = devices_[1];
    const bool peers = a.can_access_peer(b) && b.can_access_peer(a);
    if (peers) {
      a.enable_peer_access(b);
      b.enable_peer_access(a);
    }
    json["peer access"] = peers;
    std::printf("peer access: %s\n", peers ? "yes" : "no, copies go through the host");
    DeviceArray<std::uint8_t> on_a(a, bytes), on_b(b, bytes), back_a(a, bytes), back_b(b, bytes);
    on_a.fill(std::uint8_t{3});
    on_b.fill(std::uint8_t{5});

    const Library driver = bench::raw_driver();
    using Copy = int(std::uint64_t, void*, std::uint64_t, void*, std::size_t, void*);
    auto* copy_raw = driver.entry<Copy>("cuMemcpyPeerAsync");
    auto* retain = driver.entry<int(void**, int)>("cuDevicePrimaryCtxRetain");
    auto* enter = driver.entry<int(void*)>("cuCtxSetCurrent");
    void* contexts[2] = {};
    ok(retain(&contexts[0], 0));
    ok(retain(&contexts[1], 1));
    const auto address = [](const void* at) { return reinterpret_cast<std::uint64_t>(at); };
    const auto raw = [&](std::size_t stream, void* to, std::size_t to_device, const void* from,
                         std::size_t from_device) {
      ok(enter(contexts[stream]));
      ok(copy_raw(address(to), contexts[to_device], address(from), contexts[from_device], bytes,
                  reinterpret_cast<void*>(streams_[stream].handle())));
    };
    const std::function<void()> forth = [&] { copy_peer(streams_[0], b, back_b.data(), a, on_a.data(), bytes); };
    const std::function<void()> back = [&] { copy_peer(streams_[1], a, back_a.data(), b, on_b.data(), bytes); };
    const std::function<void()> raw_forth = [&] { raw(0, back_b.data(), 1, on_a.data(), 0); };
    const std::function<void()> raw_back = [&] { raw(1, back_a.data(), 0, on_b.data(), 1); };
    const auto both = [&](const std::string& name, double moved, const std::function<void()>& ours,
                          const std::function<void()>& theirs) {
      const double mine = moved / seconds(ours, repeats) * 1e-9, raws = moved / seconds(theirs, repeats) * 1e-9;
      note(name, mine, "GB/s");
      note(name + ", raw cuMemcpyPeerAsync", raws, "GB/s");
      expect(name + ", against raw", 0.95, mine / raws, true, "x");
    };
    const auto moved = static_cast<double>(bytes);
    both("copy from GPU 0 to GPU 1", moved, forth, raw_forth);
    both("copy from GPU 1 to GPU 0", moved, back, raw_back);
    both("copies both ways at once", 2 * moved, [&] { forth(), back(); }, [&] { raw_forth(), raw_back(); });
    if (back_b.to_vector() != std::vector<std::uint8_t>(bytes, 3) ||
        back_a.to_vector() != std::vector<std::uint8_t>(bytes, 5))
      throw std::runtime_error("a copy between GPUs is wrong");
  }

  // ---- collectives ----

  // NCCL as it is, on the same streams; null where it is not installed.
  struct Raw {
    using Reduce = int(const void*, void*, std::size_t, int, int, void*, void*);
    using Gather = int(const void*, void*, std::size_t, int, void*, void*);
    static constexpr int kFloat = 7, kSum = 0;  // ncclFloat32, ncclSum
    int (*start)() = nullptr;
    int (*end)() = nullptr;
    Reduce *all_reduce = nullptr, *reduce_scatter = nullptr, *broadcast = nullptr;
    Gather* all_gather = nullptr;
    std::vector<void*> members;
  };

  Raw raw_nccl() const {
    const Library nccl("WARPLOOM_NCCL", "libnccl.so.2");
    Raw out;
    if (!nccl.found()) throw std::runtime_error(nccl.name() + " cannot be loaded");
    out.start = nccl.entry<int()>("ncclGroupStart");
    out.end = nccl.entry<int()>("ncclGroupEnd");
    out.all_reduce = nccl.entry<Raw::Reduce>("ncclAllReduce");
    out.reduce_scatter = nccl.entry<Raw::Reduce>("ncclReduceScatter");
    out.broadcast = nccl.entry<Raw::Reduce>("ncclBroadcast");  // the root in the place of the reduction
    out.all_gather = nccl.entry<Raw::Gather>("ncclAllGather");
    out.members.resize(devices_.size());
    std::vector<int> numbers;
    for (std::size_t i = 0; i < devices_.size(); ++i) numbers.push_back(static_cast<int>(i));
    ok(nccl.entry<int(void**, int, const int*)>("ncclCommInitAll")(out.members.data(), static_cast<int>(numbers.size()),
                                                                   numbers.data()));
    return out;
  }

  void collectives() {
    std::vector<Communicator> members;
    Raw raw;
    try {
      members = Communicator::all(devices_);
      raw = raw_nccl();
    } catch (const std::exception& error) {
      std::printf("[SKIP] collectives: %s\n", error.what());
      return;
    }
    for (const std::size_t megabytes : {1, 4, 16, 64, 256}) {
      if (quick_ && megabytes > 1) break;
      measure(members, raw, megabytes);
    }
  }

  void measure(const std::vector<Communicator>& members, const Raw& raw, std::size_t megabytes) {
    const std::size_t ranks = devices_.size(), count = (megabytes << 20) / sizeof(float) / ranks * ranks,
                      part = count / ranks;
    const int repeats = quick_ ? 2 : megabytes <= 16 ? 100 : 20;
    std::vector<DeviceArray<float>> whole, result;
    for (const Device& one : devices_) {
      whole.emplace_back(one, count);
      whole.back().fill(1.0F);
      result.emplace_back(one, count);
    }
    const auto each = [&](const std::function<void(std::size_t)>& work) {
      return [&, work] {
        CollectiveGroup group(devices_[0]);
        for (std::size_t i = 0; i < ranks; ++i) work(i);
        group.end();
      };
    };
    const auto raw_each = [&](const std::function<int(std::size_t, void*, void*)>& work) {
      return [&, work] {
        ok(raw.start());
        for (std::size_t i = 0; i < ranks; ++i)
          ok(work(i, raw.members[i], reinterpret_cast<void*>(streams_[i].handle())));
        ok(raw.end());
      };
    };
    // `bus`: what each link carries for each byte (as nccl-tests count).
    const auto both = [&](const std::string& kind, double bus, const std::function<void()>& ours,
                          const std::function<void()>& theirs) {
      const std::string name = kind + " of " + std::to_string(megabytes) + " MB";
      const auto bytes = static_cast<double>(count * sizeof(float));
      const double mine = bytes / seconds(ours, repeats) * 1e-9, raws = bytes / seconds(theirs, repeats) * 1e-9;
      note(name + ", algorithm", mine, "GB/s");
      note(name + ", bus", mine * bus, "GB/s");
      note(name + ", raw NCCL, algorithm", raws, "GB/s");
      expect(name + ", against raw NCCL", 0.95, mine / raws, true, "x");
    };
    const double n = static_cast<double>(ranks);
    both("all_reduce", 2 * (n - 1) / n,
         each([&](std::size_t i) { members[i].all_reduce(whole[i], result[i], Reduction::sum, streams_[i]); }),
         raw_each([&](std::size_t i, void* member, void* stream) {
           return raw.all_reduce(whole[i].data(), result[i].data(), count, Raw::kFloat, Raw::kSum, member, stream);
         }));
    check(result, static_cast<float>(ranks), "all_reduce");
    both("all_gather", (n - 1) / n, each([&](std::size_t i) {
           members[i].all_gather(whole[i].data(), result[i].data(), part, ElementType::f32, streams_[i]);
         }),
         raw_each([&](std::size_t i, void* member, void* stream) {
           return raw.all_gather(whole[i].data(), result[i].data(), part, Raw::kFloat, member, stream);
         }));
    check(result, 1, "all_gather");
    both("reduce_scatter", (n - 1) / n, each([&](std::size_t i) {
           members[i].reduce_scatter(whole[i].data(), result[i].data(), part, ElementType::f32, Reduction::sum,
                                     streams_[i]);
         }),
         raw_each([&](std::size_t i, void* member, void* stream) {
           return raw.reduce_scatter(whole[i].data(), result[i].data(), part, Raw::kFloat, Raw::kSum, member, stream);
         }));
    if (result[0].to_vector()[0] != static_cast<float>(ranks)) throw std::runtime_error("reduce_scatter is wrong");
    both("broadcast", 1, each([&](std::size_t i) { members[i].broadcast(whole[i], result[i], 0, streams_[i]); }),
         raw_each([&](std::size_t i, void* member, void* stream) {
           return raw.broadcast(whole[i].data(), result[i].data(), count, Raw::kFloat, 0, member, stream);
         }));
    check(result, 1, "broadcast");
  }

  static void check(const std::vector<DeviceArray<float>>& results, float wanted, const char* what) {
    for (const DeviceArray<float>& one : results)
      if (one.to_vector() != std::vector<float>(one.size(), wanted))
        throw std::runtime_error(std::string(what) + " is wrong");
  }

  const bool quick_;
  std::vector<Device> devices_;
  std::vector<Stream> streams_;
};

}  // namespace

int main(int argc, char** argv) {
  std::string out;
  bool quick = false;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--json" && i + 1 < argc) out = argv[++i];
    if (std::string(argv[i]) == "--quick") quick = true;
  }
  const std::size_t gpus = Device::names().size() - 1;
  if (gpus < 2) {
    std::printf("[SKIP] gpus_bench: %zu GPU%s, two are needed\n", gpus, gpus == 1 ? "" : "s");
    return 0;
  }
  try {
    Bench bench(quick);
    bench.run();
    bench.report(out);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpus_bench: %s\n", error.what());
    return 1;
  }
}

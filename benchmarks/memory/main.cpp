// Benchmark: what an allocation costs whose pool has the memory already, together with its release.
//
// Expected: 1 us for each pair, whichever way it is made (Numba's device_array: 27 us).
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <memory>
#include <vector>

#include <warploom/warploom.hpp>

namespace {

using namespace warploom;

template <class Pair>
void measure(const char* name, Pair pair) {
  constexpr int count = 20'000;
  std::vector<double> rounds;
  for (int round = 0; round < 15; ++round) {
    // Processor time: all of it is one thread, and a busy machine measures the same.
    const std::clock_t start = std::clock();
    for (int i = 0; i < count; ++i) pair();
    rounds.push_back(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC / count * 1e6);
  }
  std::sort(rounds.begin(), rounds.end());
  std::printf("%-52s %14s %11.2f us%s\n", name, "<= 1 us", rounds[rounds.size() / 2],
              rounds[rounds.size() / 2] <= 1 ? "" : "  MISSED");
}

}  // namespace

int main() {
  const Device device = Device::open("cpu", {.threads = 1});
  const Stream stream(device);
  const MemoryPool pool(device, {.release_threshold = ~std::uint64_t{0}});
  const auto resource = std::make_shared<StatisticsResource>(std::make_shared<PoolResource>(device, pool));
  std::printf("%-52s %14s %14s\n", "allocation from a warm pool, and release", "wanted", "measured");
  for (const std::size_t bytes : {std::size_t{1} << 12, std::size_t{1} << 24}) {
    std::printf("%zu bytes\n", bytes);
    measure("DeviceArray", [&] { const DeviceArray<std::byte> array(device, bytes); });
    measure("DeviceArray on a stream", [&] { const DeviceArray<std::byte> array(pool, stream, bytes); });
    measure("DeviceArray of a resource that counts",
            [&] { const DeviceArray<std::byte> array(resource, stream, bytes); });
    measure("MemoryPool::allocate, deallocate", [&] { pool.deallocate(pool.allocate(bytes, stream), stream); });
  }
  std::vector<void*> live(1000);
  for (void*& address : live) address = pool.allocate(1 << 14, stream);
  std::printf("beside 1,000 live allocations\n");
  measure("MemoryPool::allocate, deallocate", [&] { pool.deallocate(pool.allocate(5000, stream), stream); });
  for (void* address : live) pool.deallocate(address, stream);
  return 0;
}

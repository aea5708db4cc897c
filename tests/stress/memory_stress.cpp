// Random allocations, frees and copies on several threads and streams, with every byte checked, and memory as at the
// start in the end: memory_stress [OPERATIONS [THREADS [SEED]]]. Under a sanitizer it finds what runs together wrongly.
//
// Each thread has a stream and works on blocks of its own, but the pool is one: what a thread frees, another one gets.
// A block is filled with its owner's pattern when it is allocated and compared before it is freed, in stream order.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <warploom/warploom.hpp>

namespace {

using namespace warploom;

std::atomic<int> failures{0};

void fail(const char* what) {
  if (failures.fetch_add(1) < 10) std::fprintf(stderr, "memory_stress: %s\n", what);
}

class Worker {
 public:
  Worker(const Device& device, const MemoryPool& shared, std::vector<Stream> streams, unsigned number, unsigned seed)
      : device_(device), shared_(shared), streams_(std::move(streams)), number_(number), random_(seed + number) {}

  void run(std::uint64_t operations) {
    for (std::uint64_t i = 0; i < operations; ++i) step();
    while (!blocks_.empty()) release(blocks_.size() - 1);
    for (const Stream& stream : streams_) stream.synchronize();
    settle();
  }

 private:
  enum class Kind { array, of_stream, raw, of_default };
  struct Block {
    Kind kind;
    std::unique_ptr<DeviceArray<std::uint8_t>> array;
    std::uint8_t* data;
    std::size_t bytes;
    std::uint8_t pattern;
  };
  struct Check {
    std::uint8_t value, expected;
  };

  [[nodiscard]] const Stream& stream() const { return streams_[number_ % streams_.size()]; }

  void step() {
    const auto dice = random_() % 100;
    if (blocks_.empty() || (dice < 40 && blocks_.size() < 64)) {
      allocate();
    } else if (dice < 80) {
      release(random_() % blocks_.size());
    } else if (dice < 97) {
      copy_between();
    } else if (dice < 98) {
      stream().synchronize();
      settle();
    } else {
      const Event event(device_);
      event.record(streams_[random_() % streams_.size()]);
      stream().wait(event);
    }
    if (checks_.size() >= 512) {
      stream().synchronize();
      settle();
    }
  }

  void allocate() {
    const std::size_t bytes = 1 + random_() % (random_() % 20 == 0 ? 200'000 : 5'000);
    Block block{static_cast<Kind>(random_() % 4), nullptr, nullptr, bytes, static_cast<std::uint8_t>(random_())};
    switch (block.kind) {
      case Kind::array: block.array = std::make_unique<DeviceArray<std::uint8_t>>(device_, bytes); break;
      case Kind::of_stream: block.array = std::make_unique<DeviceArray<std::uint8_t>>(shared_, stream(), bytes); break;
      case Kind::raw: block.data = static_cast<std::uint8_t*>(shared_.allocate(bytes, stream())); break;
      case Kind::of_default: block.data = static_cast<std::uint8_t*>(warploom::allocate(stream(), bytes)); break;
    }
    if (block.array) block.data = block.array->data();
    fill(stream(), block.data, &block.pattern, 1, bytes);
    blocks_.push_back(std::move(block));
  }

  // Reads the first and the last byte in the order of the stream; settle() compares them later.
  void look_at(const Block& block) {
    for (const std::size_t offset : {std::size_t{0}, block.bytes - 1}) {
      checks_.push_back(std::make_unique<Check>(Check{static_cast<std::uint8_t>(~block.pattern), block.pattern}));
      copy(stream(), &checks_.back()->value, block.data + offset, 1);
    }
  }

  void settle() {
    for (const auto& check : checks_)
      if (check->value != check->expected) fail("a block does not hold what its owner wrote");
    checks_.clear();
  }

  void release(std::size_t index) {
    Block block = std::move(blocks_[index]);
    blocks_[index] = std::move(blocks_.back());
    blocks_.pop_back();
    look_at(block);
    if (block.kind == Kind::raw) shared_.deallocate(block.data, stream());
    if (block.kind == Kind::of_default) deallocate(stream(), block.data);
  }

  void copy_between() {
    Block &to = blocks_[random_() % blocks_.size()], &from = blocks_[random_() % blocks_.size()];
    if (to.data == from.data || to.bytes > from.bytes) return;
    copy(stream(), to.data, from.data, to.bytes);
    to.pattern = from.pattern;
    look_at(to);
  }

  const Device& device_;
  const MemoryPool& shared_;
  std::vector<Stream> streams_;
  unsigned number_;
  std::mt19937 random_;
  std::vector<Block> blocks_;
  std::vector<std::unique_ptr<Check>> checks_;
};

int run(std::uint64_t operations, unsigned threads, unsigned seed) {
  const Device device = Device::open("cpu", {.threads = 1, .memory_limit = std::uint64_t{256} << 20});
  const std::size_t before = device.free_memory();
  {
    const MemoryPool shared(device, {.release_threshold = std::uint64_t{16} << 20});
    std::vector<Stream> streams;
    for (unsigned i = 0; i < threads; ++i) streams.emplace_back(device, StreamOptions{.blocking = i % 2 == 0});
    std::vector<std::thread> workers;
    for (unsigned i = 0; i < threads; ++i)
      workers.emplace_back([&, i] {
        try {
          Worker(device, shared, streams, i, seed).run(operations / threads);
        } catch (const std::exception& error) {
          fail(error.what());
        }
      });
    for (std::thread& worker : workers) worker.join();
    device.synchronize();
    if (shared.statistics().used_current != 0) fail("the pool has allocations left");
    shared.trim();
    if (shared.statistics().reserved_current != 0) fail("the pool keeps memory that nobody uses");
  }
  MemoryPool::of(device).trim();
  if (MemoryPool::of(device).statistics().used_current != 0) fail("the default pool has allocations left");
  if (device.free_memory() != before) fail("memory is not as it was at the start");
  std::printf("%llu operations on %u threads and streams, seed %u: %d failures\n",
              static_cast<unsigned long long>(operations), threads, seed, failures.load());
  return failures == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const auto argument = [&](int index, std::uint64_t otherwise) {
    return argc > index ? std::strtoull(argv[index], nullptr, 10) : otherwise;
  };
  try {
    const std::uint64_t threads = argument(2, 8);
    if (threads == 0 || threads > 256) {
      std::fprintf(stderr, "usage: memory_stress [OPERATIONS [THREADS, 1 to 256 [SEED]]]\n");
      return 2;
    }
    return run(argument(1, 100'000), static_cast<unsigned>(threads), static_cast<unsigned>(argument(3, 1)));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "memory_stress: %s\n", error.what());
    return 1;
  }
}

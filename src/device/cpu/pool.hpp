// Threads that help with launches, and how the blocks of a grid are shared out among them.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace warploom::device {

struct Grid;

// Numbers [first, end) of blocks that a thread has taken from a grid and not begun.
struct BlockRange {
  std::uint64_t first = 0, end = 0;
};

// The blocks of one grid that nobody has begun. Each thread has a contiguous part, for the sake of caches, and takes
// half of another's part when its own is empty.
class BlockQueue {
 public:
  // `parts` must live as long as the queue is used.
  struct alignas(64) Part {
    std::atomic<std::uint64_t> range{0};  // first in the lower half, end in the upper half
  };
  // One after the other in order, `chunk` at a time.
  void in_order(std::uint64_t blocks, std::uint64_t chunk);
  // Contiguous parts for threads 0 to `threads` - 1; there may be `guests` more, which have none of their own.
  void in_parts(std::uint64_t blocks, Part* parts, unsigned threads, unsigned guests);
  // False when nothing is left.
  bool take(unsigned thread, BlockRange& range);

  static constexpr std::uint64_t kMostInParts = 0xFFFFFFFF;

 private:
  bool take_own(unsigned thread, BlockRange& range);

  Part* parts_ = nullptr;
  unsigned threads_ = 0;
  std::uint64_t blocks_ = 0, chunk_ = 1;
  std::atomic<std::uint64_t> next_{0};
};

// The thread that launches works too, so a launch never waits for a free worker.
class WorkerPool {
 public:
  explicit WorkerPool(unsigned threads);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Runs all blocks of the grid. `seconds`: what it is expected to take on one thread, 0 when nobody knows; helpers are
  // not called for what is over before they are awake. Gives the number of threads that worked.
  unsigned run(Grid& grid, double seconds);
  // Runs `piece` for the numbers below `pieces`, in any order, on all threads.
  void share(std::uint64_t pieces, const std::function<void(std::uint64_t)>& piece);
  // Called between the blocks of a grid: works on grids that are more urgent, until none of theirs is left to begin.
  void help_more_urgent(std::int32_t priority) {
    if (urgent_.load(std::memory_order_relaxed) != 0) help(priority);
  }
  [[nodiscard]] unsigned threads() const { return static_cast<unsigned>(workers_.size()) + 1; }

 private:
  // Work that helpers may join. The state counts: helpers in it, places left, and the number of the next helper.
  struct alignas(64) Job {
    std::atomic<std::uint32_t> state{0};
    void (*work)(void* data, unsigned thread) = nullptr;
    void* data = nullptr;
    std::unique_ptr<BlockQueue::Part[]> parts;
    std::atomic<std::int32_t> priority{0};  // lower is more urgent
    std::atomic<bool> takes_guests{false};  // threads that leave another grid for a while
  };
  static constexpr std::size_t kJobs = 32;
  // Places in urgent grids for threads that have begun another grid.
  static constexpr unsigned kGuests = 8;

  friend struct Grid;
  // For a grid that is begun alone: its thread considers between blocks whether it takes too long.
  struct LateCall {
    WorkerPool& pool;
    unsigned helpers;
    std::chrono::steady_clock::time_point when;
    Job* job = nullptr;
    void consider(Grid& grid);
  };

  void work();
  static void work_on_grid(void* grid, unsigned thread);
  void call_helpers(Job& job, void (*body)(void*, unsigned), void* data, unsigned helpers, bool wake,
                    std::int32_t priority = 0, bool takes_guests = false);
  // Waits for those inside; gives how many there were.
  unsigned dismiss_helpers(Job& job);
  bool help_someone();
  void help(std::int32_t than);
  // Of the jobs with a place the most urgent one; `guest`: among those that take guests and are below `than`.
  Job* most_urgent(bool guest, std::int32_t than);
  static bool join(Job& job);
  [[nodiscard]] bool anyone_wants_help() const;
  Job* find_job();

  std::array<Job, kJobs> jobs_;
  std::atomic<std::uint32_t> used_{0};    // bit i: jobs_[i] has work
  std::atomic<std::uint32_t> urgent_{0};  // jobs that take guests
  alignas(64) std::atomic<std::uint32_t> sleeping_{0}, bell_{0};
  std::atomic<bool> stop_{false};
  std::vector<std::thread> workers_;
};

}  // namespace warploom::device

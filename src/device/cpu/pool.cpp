// The worker pool.
#include "device/cpu/pool.hpp"

#include <algorithm>
#include <bit>

#include "base/spin.hpp"
#include "device/cpu/block.hpp"

namespace warploom::device {
namespace {

// Fields of Job::state.
constexpr std::uint32_t kInside = 1, kPlace = 1U << 10, kNumber = 1U << 20, kField = 0x3FF;
constexpr unsigned kMostThreads = 512;

constexpr std::uint32_t inside(std::uint32_t state) { return state & kField; }
constexpr std::uint32_t places(std::uint32_t state) { return state / kPlace & kField; }
constexpr std::uint32_t number(std::uint32_t state) { return state / kNumber & kField; }

// What a grid must take on one thread to be worth a helper that is awake, and a call to one that sleeps.
constexpr double kWorthHelp = 4e-6, kWorthWaking = 30e-6;
// Help is called all the same for a grid that was thought to be short and runs for so long.
constexpr std::chrono::microseconds kLate{20};

constexpr std::uint64_t pack(std::uint64_t first, std::uint64_t end) { return first | end << 32; }
constexpr BlockRange unpack(std::uint64_t range) { return {range & 0xFFFFFFFF, range >> 32}; }

}  // namespace

// --- blocks of a grid

void BlockQueue::in_order(std::uint64_t blocks, std::uint64_t chunk) {
  parts_ = nullptr;
  blocks_ = blocks;
  chunk_ = chunk;
  next_.store(0, std::memory_order_relaxed);
}

void BlockQueue::in_parts(std::uint64_t blocks, Part* parts, unsigned threads, unsigned guests) {
  parts_ = parts;
  threads_ = threads + guests;
  for (unsigned t = threads; t < threads_; ++t) parts[t].range.store(0, std::memory_order_relaxed);
  for (unsigned t = 0; t < threads; ++t)
    parts[t].range.store(pack(blocks * t / threads, blocks * (t + 1) / threads), std::memory_order_relaxed);
}

bool BlockQueue::take_own(unsigned thread, BlockRange& range) {
  std::atomic<std::uint64_t>& own = parts_[thread].range;
  std::uint64_t seen = own.load(std::memory_order_relaxed);
  for (;;) {
    const auto [first, end] = unpack(seen);
    if (first >= end) return false;
    const std::uint64_t n = std::clamp<std::uint64_t>((end - first) / 4, 1, 16);
    if (!own.compare_exchange_weak(seen, pack(first + n, end), std::memory_order_relaxed)) continue;
    range = {first, first + n};
    return true;
  }
}

bool BlockQueue::take(unsigned thread, BlockRange& range) {
  if (parts_ == nullptr) {
    if (next_.load(std::memory_order_relaxed) >= blocks_) return false;
    range.first = next_.fetch_add(chunk_, std::memory_order_relaxed);
    range.end = std::min(range.first + chunk_, blocks_);
    return range.first < range.end;
  }
  if (take_own(thread, range)) return true;
  for (unsigned k = 1; k < threads_; ++k) {
    std::atomic<std::uint64_t>& other = parts_[(thread + k) % threads_].range;
    std::uint64_t seen = other.load(std::memory_order_relaxed);
    for (;;) {
      const auto [first, end] = unpack(seen);
      if (first >= end) break;
      const std::uint64_t middle = first + (end - first) / 2;
      if (!other.compare_exchange_weak(seen, pack(first, middle), std::memory_order_relaxed)) continue;
      parts_[thread].range.store(pack(middle, end), std::memory_order_relaxed);
      // Another thief may have been here.
      if (take_own(thread, range)) return true;
      break;
    }
  }
  return false;
}

// --- threads

WorkerPool::WorkerPool(unsigned threads) {
  threads = std::clamp(threads, 1U, kMostThreads);
  for (Job& job : jobs_) job.parts = std::make_unique<BlockQueue::Part[]>(threads + kGuests);
  for (unsigned i = 1; i < threads; ++i) workers_.emplace_back([this] { work(); });
}

WorkerPool::~WorkerPool() {
  stop_.store(true, std::memory_order_seq_cst);
  bell_.fetch_add(1, std::memory_order_seq_cst);
  bell_.notify_all();
  for (std::thread& t : workers_) t.join();
}

bool WorkerPool::anyone_wants_help() const {
  for (std::uint32_t rest = used_.load(std::memory_order_seq_cst); rest != 0; rest &= rest - 1)
    if (places(jobs_[static_cast<std::size_t>(std::countr_zero(rest))].state.load(std::memory_order_seq_cst)) != 0)
      return true;
  return false;
}

WorkerPool::Job* WorkerPool::most_urgent(bool guest, std::int32_t than) {
  Job* found = nullptr;
  for (std::uint32_t rest = used_.load(std::memory_order_acquire); rest != 0; rest &= rest - 1) {
    Job& job = jobs_[static_cast<std::size_t>(std::countr_zero(rest))];
    if (places(job.state.load(std::memory_order_acquire)) == 0) continue;
    const std::int32_t priority = job.priority.load(std::memory_order_relaxed);
    if (guest && (priority >= than || !job.takes_guests.load(std::memory_order_relaxed))) continue;
    if (found == nullptr || priority < found->priority.load(std::memory_order_relaxed)) found = &job;
  }
  return found;
}

bool WorkerPool::join(Job& job) {
  std::uint32_t seen = job.state.load(std::memory_order_relaxed);
  while (places(seen) != 0) {
    if (!job.state.compare_exchange_weak(seen, seen + kInside - kPlace + kNumber, std::memory_order_acquire)) continue;
    job.work(job.data, number(seen));
    // The job may have other work as soon as it is left, and a call for nothing does no harm there.
    if (const std::uint32_t left = job.state.fetch_sub(kInside, std::memory_order_release);
        inside(left) == 1 && places(left) == 0)
      job.state.notify_all();
    return true;
  }
  return false;
}

bool WorkerPool::help_someone() {
  while (Job* job = most_urgent(false, 0))
    if (join(*job)) return true;
  return false;
}

void WorkerPool::help(std::int32_t than) {
  while (Job* job = most_urgent(true, than)) join(*job);
}

void WorkerPool::work() {
  while (!stop_.load(std::memory_order_relaxed)) {
    if (help_someone()) continue;
    bool found = false;
    for (Spin spin; !(found = anyone_wants_help()) && !stop_.load(std::memory_order_relaxed) && spin.again();) {
    }
    if (found) continue;
    sleeping_.fetch_add(1, std::memory_order_seq_cst);
    const std::uint32_t seen = bell_.load(std::memory_order_seq_cst);
    if (!anyone_wants_help() && !stop_.load(std::memory_order_seq_cst)) bell_.wait(seen);
    sleeping_.fetch_sub(1, std::memory_order_relaxed);
  }
}

WorkerPool::Job* WorkerPool::find_job() {
  std::uint32_t seen = used_.load(std::memory_order_relaxed);
  while (~seen != 0) {
    const auto free = static_cast<std::uint32_t>(std::countr_one(seen));
    if (used_.compare_exchange_weak(seen, seen | 1U << free, std::memory_order_acquire)) return &jobs_[free];
  }
  return nullptr;
}

void WorkerPool::work_on_grid(void* grid, unsigned thread) { work_on(*static_cast<Grid*>(grid), thread); }

void WorkerPool::call_helpers(Job& job, void (*body)(void*, unsigned), void* data, unsigned helpers, bool wake,
                              std::int32_t priority, bool takes_guests) {
  job.work = body;
  job.data = data;
  job.priority.store(priority, std::memory_order_relaxed);
  job.takes_guests.store(takes_guests, std::memory_order_relaxed);
  if (takes_guests) urgent_.fetch_add(1, std::memory_order_relaxed);
  job.state.store(helpers * kPlace + kNumber, std::memory_order_seq_cst);
  if (!wake || sleeping_.load(std::memory_order_seq_cst) == 0) return;
  bell_.fetch_add(1, std::memory_order_seq_cst);
  if (helpers == 1)
    bell_.notify_one();
  else
    bell_.notify_all();
}

void WorkerPool::LateCall::consider(Grid& grid) {
  if (job != nullptr || std::chrono::steady_clock::now() < when) return;
  job = pool.find_job();
  if (job != nullptr) pool.call_helpers(*job, work_on_grid, &grid, helpers, true, grid.priority);
}

unsigned WorkerPool::run(Grid& grid, double seconds) {
  const bool worth = seconds == 0 || seconds > kWorthHelp;
  const auto helpers = static_cast<unsigned>(std::min<std::uint64_t>(workers_.size(), grid.blocks - 1));
  // Blocks that wait for each other need their threads; nobody is lent to them.
  const unsigned guests = grid.priority < 0 && !grid.one_by_one && grid.blocks > 1 ? kGuests : 0;
  Job* job = helpers + guests != 0 && worth ? find_job() : nullptr;
  const bool in_order = grid.one_by_one || job == nullptr || grid.blocks > BlockQueue::kMostInParts;
  if (in_order)
    grid.queue.in_order(
        grid.blocks,
        grid.one_by_one ? 1 : std::clamp<std::uint64_t>(grid.blocks / (threads() * std::uint64_t{16}), 1, 64));
  else
    grid.queue.in_parts(grid.blocks, job->parts.get(), helpers + 1, guests);
  if (job != nullptr) {
    call_helpers(*job, work_on_grid, &grid, helpers + guests, seconds == 0 || seconds > kWorthWaking, grid.priority,
                 guests != 0);
    work_on(grid, 0);
  } else {
    LateCall late{*this, helpers, std::chrono::steady_clock::now() + kLate};
    if (helpers != 0) grid.late = &late;
    work_on(grid, 0);
    job = late.job;
  }
  return job == nullptr ? 1 : dismiss_helpers(*job) + 1;
}

unsigned WorkerPool::dismiss_helpers(Job& job) {
  // Nobody joins any more; those inside finish what they have begun.
  if (job.takes_guests.exchange(false, std::memory_order_relaxed)) urgent_.fetch_sub(1, std::memory_order_relaxed);
  std::uint32_t state = job.state.fetch_and(kField, std::memory_order_acquire);
  const std::uint32_t joined = number(state) - 1;
  state = inside(state);
  for (Spin spin; state != 0; state = job.state.load(std::memory_order_acquire))
    if (!spin.again()) job.state.wait(state, std::memory_order_acquire);
  used_.fetch_and(~(1U << static_cast<std::uint32_t>(&job - jobs_.data())), std::memory_order_release);
  return joined;
}

void WorkerPool::share(std::uint64_t pieces, const std::function<void(std::uint64_t)>& piece) {
  struct Shared {
    const std::function<void(std::uint64_t)>& piece;
    std::uint64_t pieces;
    std::atomic<std::uint64_t> next{0};
  } shared{piece, pieces};
  const auto body = [](void* data, unsigned) {
    auto& s = *static_cast<Shared*>(data);
    for (std::uint64_t i = 0; (i = s.next.fetch_add(1, std::memory_order_relaxed)) < s.pieces;) s.piece(i);
  };
  const auto helpers = static_cast<unsigned>(std::min<std::uint64_t>(workers_.size(), pieces));
  Job* job = helpers == 0 ? nullptr : find_job();
  if (job != nullptr) call_helpers(*job, body, &shared, helpers, true);
  body(&shared, 0);
  if (job != nullptr) dismiss_helpers(*job);
}

}  // namespace warploom::device

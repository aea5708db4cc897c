// Releases that wait until there are many of them, or until memory is needed: each may wait for the device.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>

#include "base/result.hpp"

namespace warploom::runtime {

// Items are released in the order in which they came, in the thread that goes over a limit or asks for it.
class PendingReleases {
 public:
  struct Limits {
    std::size_t count = 10;  // one more releases all
    double ratio = 0.2;      // of the capacity in bytes; more releases all
  };
  using Release = std::function<Result<void>()>;

  // The environment's limits: NUMBA_CUDA_MAX_PENDING_DEALLOCS_COUNT and NUMBA_CUDA_MAX_PENDING_DEALLOCS_RATIO.
  static Result<Limits> limits_of_environment();

  PendingReleases(std::uint64_t capacity, Limits limits) : capacity_(capacity), limits_(limits) {}
  PendingReleases(const PendingReleases&) = delete;
  PendingReleases& operator=(const PendingReleases&) = delete;

  // `bytes` that the release gives back; 0: not known. Returns what flush() returns when that goes over a limit.
  Result<void> add(Release release, std::uint64_t bytes);
  // The same; false, without having added it, when that would go over a limit.
  bool add_quietly(const Release& release, std::uint64_t bytes);
  // Releases all that is queued. After an error the rest is dropped unreleased, and the error says how many. Does
  // nothing while releases are deferred.
  Result<void> flush();
  // Releases are deferred between defer() and resume(), which may be nested; resume() does not flush.
  void defer() { deferred_.fetch_add(1, std::memory_order_relaxed); }
  void resume() { deferred_.fetch_sub(1, std::memory_order_relaxed); }
  [[nodiscard]] bool is_deferred() const { return deferred_.load(std::memory_order_relaxed) != 0; }

  [[nodiscard]] std::size_t count() const;
  [[nodiscard]] std::uint64_t bytes() const;
  // The most that there ever were.
  [[nodiscard]] std::size_t most() const;
  [[nodiscard]] std::uint64_t flushes() const;
  // All that ever were added.
  [[nodiscard]] std::uint64_t put_off() const;
  void set_limits(Limits limits);
  [[nodiscard]] Limits limits() const;

 private:
  struct Item {
    Release release;
    std::uint64_t bytes;
  };
  std::optional<Item> next();
  // Both need the lock.
  [[nodiscard]] bool over(std::size_t count, std::uint64_t bytes) const;
  void push(Release release, std::uint64_t bytes);

  mutable std::mutex mutex_;
  std::deque<Item> items_;
  std::uint64_t bytes_ = 0, capacity_, flushes_ = 0, put_off_ = 0;
  std::size_t most_ = 0;
  Limits limits_;
  std::atomic<int> deferred_{0};
};

}  // namespace warploom::runtime

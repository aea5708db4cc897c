// The queue of releases and its limits.
#include "runtime/pending.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

namespace warploom::runtime {
namespace {

template <class T>
Result<T> variable(const char* name, T otherwise, const char* expected) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return otherwise;
  const std::string_view view(text);
  T value{};
  const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), value);
  if (error == std::errc() && end == view.data() + view.size() && value >= T{}) return value;
  Diag diag;
  diag.id = ErrorId::invalid_value;
  diag.what = std::string("environment variable ") + name + " is \"" + text + "\"";
  diag.remedy = std::string("set it to ") + expected + ", or unset it";
  return diag;
}

}  // namespace

Result<PendingReleases::Limits> PendingReleases::limits_of_environment() {
  Limits limits;
  auto count = variable("NUMBA_CUDA_MAX_PENDING_DEALLOCS_COUNT", limits.count, "a number");
  if (!count) return std::move(count.error());
  auto ratio = variable("NUMBA_CUDA_MAX_PENDING_DEALLOCS_RATIO", limits.ratio, "a number of 0 at least");
  if (!ratio) return std::move(ratio.error());
  return Limits{*count, *ratio};
}

bool PendingReleases::over(std::size_t count, std::uint64_t bytes) const {
  const double limit = std::floor(static_cast<double>(capacity_) * limits_.ratio);
  return count > limits_.count || static_cast<double>(bytes) > limit;
}

void PendingReleases::push(Release release, std::uint64_t bytes) {
  items_.push_back({std::move(release), bytes});
  bytes_ += bytes;
  ++put_off_;
  most_ = std::max(most_, items_.size());
}

Result<void> PendingReleases::add(Release release, std::uint64_t bytes) {
  bool too_many = false;
  {
    const std::lock_guard lock(mutex_);
    push(std::move(release), bytes);
    too_many = over(items_.size(), bytes_);
  }
  return too_many ? flush() : Result<void>();
}

bool PendingReleases::add_quietly(const Release& release, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (over(items_.size() + 1, bytes_ + bytes)) return false;
  push(release, bytes);
  return true;
}

std::optional<PendingReleases::Item> PendingReleases::next() {
  const std::lock_guard lock(mutex_);
  if (items_.empty()) return std::nullopt;
  Item item = std::move(items_.front());
  items_.pop_front();
  bytes_ -= item.bytes;
  return item;
}

// Without the lock, since a release may add others.
Result<void> PendingReleases::flush() {
  if (is_deferred()) return {};
  bool any = false;
  while (auto item = next()) {
    if (!std::exchange(any, true)) {
      const std::lock_guard lock(mutex_);
      ++flushes_;
    }
    auto released = item->release();
    if (released) continue;
    std::deque<Item> rest;
    {
      const std::lock_guard lock(mutex_);
      rest.swap(items_);
      bytes_ = 0;
    }
    Diag diag = std::move(released.error());
    if (!rest.empty())
      diag.where += (diag.where.empty() ? "" : "; ") + std::to_string(rest.size()) + " further releases were cancelled";
    return diag;
  }
  return {};
}

std::size_t PendingReleases::count() const {
  const std::lock_guard lock(mutex_);
  return items_.size();
}

std::uint64_t PendingReleases::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

std::size_t PendingReleases::most() const {
  const std::lock_guard lock(mutex_);
  return most_;
}

std::uint64_t PendingReleases::flushes() const {
  const std::lock_guard lock(mutex_);
  return flushes_;
}

std::uint64_t PendingReleases::put_off() const {
  const std::lock_guard lock(mutex_);
  return put_off_;
}

void PendingReleases::set_limits(Limits limits) {
  const std::lock_guard lock(mutex_);
  limits_ = limits;
}

PendingReleases::Limits PendingReleases::limits() const {
  const std::lock_guard lock(mutex_);
  return limits_;
}

}  // namespace warploom::runtime

// Lifetimes of graphs' allocations, and the addresses that they share.
#include "runtime/graph_memory.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/diag_of.hpp"

namespace warploom::runtime {
namespace {

Diag memory_error(std::string what, std::string remedy) {
  return diag_of(ErrorId::invalid_value, std::move(what), std::move(remedy), "memory of a graph");
}

std::uintptr_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

}  // namespace

// ---- GraphMemory ----

void GraphMemory::add(const std::shared_ptr<GraphAllocation>& allocation) {
  const std::lock_guard lock(mutex_);
  if (known_.size() > prune_at_) {
    std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
    prune_at_ = 2 * known_.size() + 64;
  }
  known_[number(allocation->address())] = allocation;
}

std::shared_ptr<GraphAllocation> GraphMemory::find(const void* address) {
  const std::lock_guard lock(mutex_);
  const auto live = live_.find(number(address));
  if (live != live_.end()) return live->second;
  const auto known = known_.find(number(address));
  return known == known_.end() ? nullptr : known->second.lock();
}

Result<void> GraphMemory::launch(const GraphMemoryUse& use, const std::function<bool()>& push) {
  std::vector<std::shared_ptr<GraphAllocation>> gone;  // end outside the lock
  const std::lock_guard lock(mutex_);
  const auto is_live = [&](const auto& allocation) {
    const auto found = live_.find(number(allocation->address()));
    return found != live_.end() && found->second == allocation;
  };
  if (!use.frees_first && std::ranges::any_of(use.makes, is_live))
    return memory_error("an allocation that the graph made in an earlier launch has not been freed",
                        "free it before the next launch, or instantiate the graph with auto_free_on_launch");
  if (!std::ranges::all_of(use.frees, is_live))
    return memory_error("the graph frees an allocation of another graph that is not there",
                        "launch the graph that allocates it first, and free it once");
  if (!push()) return {};
  for (const auto& allocation : use.frees) {
    live_.erase(number(allocation->address()));
    gone.push_back(allocation);
  }
  for (const auto& allocation : use.makes) live_[number(allocation->address())] = allocation;
  return {};
}

bool GraphMemory::release(const void* address) {
  std::shared_ptr<GraphAllocation> gone;
  const std::lock_guard lock(mutex_);
  const auto found = live_.find(number(address));
  if (found == live_.end()) return false;
  gone = std::move(found->second);
  live_.erase(found);
  return true;
}

void GraphMemory::clear() {
  std::map<Address, std::shared_ptr<GraphAllocation>> gone;
  const std::lock_guard lock(mutex_);
  gone.swap(live_);
  known_.clear();
}

// ---- GraphAllocations ----

std::shared_ptr<GraphBlock> GraphAllocations::reuse(std::size_t bytes, std::span<const Node> after,
                                                    const Beyond& beyond) {
  auto best = free_.end();
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    if (it->block->bytes < bytes || (best != free_.end() && it->block->bytes >= best->block->bytes)) continue;
    if (beyond(after, std::span(&it->freed_by, 1)).empty()) best = it;
  }
  if (best == free_.end()) return nullptr;
  auto block = std::move(best->block);
  free_.erase(best);
  return block;
}

void GraphAllocations::made(Node node, std::shared_ptr<GraphAllocation> allocation) {
  made_.push_back({node, std::move(allocation)});
}

const GraphAllocations::Made* GraphAllocations::made_by(const GraphAllocation& allocation) const {
  const auto found = std::ranges::find(made_, &allocation, [](const Made& made) { return made.allocation.get(); });
  return found == made_.end() ? nullptr : &*found;
}

Result<void> GraphAllocations::check_free(const GraphAllocation& allocation) const {
  if (std::ranges::any_of(freed_, [&](const Made& freed) { return freed.allocation.get() == &allocation; }))
    return memory_error("the graph frees this allocation already", "free each allocation once in a graph");
  return {};
}

void GraphAllocations::freed(Node node, std::shared_ptr<GraphAllocation> allocation) {
  if (made_by(*allocation) != nullptr) free_.push_back({node, allocation->block()});
  freed_.push_back({node, std::move(allocation)});
}

GraphMemoryUse GraphAllocations::use() const {
  const auto in = [](const std::vector<Made>& list, const auto& allocation) {
    return std::ranges::any_of(list, [&](const Made& one) { return one.allocation == allocation; });
  };
  GraphMemoryUse out;
  for (const Made& made : made_)
    if (!in(freed_, made.allocation)) out.makes.push_back(made.allocation);
  for (const Made& freed : freed_)
    if (!in(made_, freed.allocation)) out.frees.push_back(freed.allocation);
  return out;
}

}  // namespace warploom::runtime

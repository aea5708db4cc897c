// Memory of graphs: what their allocation nodes allocate, and which of it is there now (CUDA Programming Guide, "Graph
// Memory Nodes").
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "runtime/stream.hpp"

namespace warploom::runtime {

class GraphInstance;

// A piece of the device's memory at an address that stays as long as something holds it.
class GraphBlock {
 public:
  GraphBlock(void* at, std::size_t size, std::function<void(void*)> give_back)
      : address(at), bytes(size), give_back_(std::move(give_back)) {}
  ~GraphBlock() { give_back_(address); }
  GraphBlock(const GraphBlock&) = delete;
  GraphBlock& operator=(const GraphBlock&) = delete;

  void* const address;
  const std::size_t bytes;

 private:
  const std::function<void(void*)> give_back_;
};

// What one allocation node allocates. Its memory is there from a launch of its graph on until it is freed: by a node of
// the same graph, by one of another graph, or outside of graphs.
class GraphAllocation {
 public:
  GraphAllocation(std::shared_ptr<GraphBlock> block, std::size_t size) : bytes(size), block_(std::move(block)) {}
  [[nodiscard]] void* address() const { return block_->address; }
  [[nodiscard]] const std::shared_ptr<GraphBlock>& block() const { return block_; }
  const std::size_t bytes;

 private:
  const std::shared_ptr<GraphBlock> block_;
};

// What a launch of an instantiated graph does to allocations that do not begin and end in it.
struct GraphMemoryUse {
  std::vector<std::shared_ptr<GraphAllocation>> makes, frees;
  bool frees_first = false;  // frees what an earlier launch has made and nobody has freed
  [[nodiscard]] bool none() const { return makes.empty() && frees.empty(); }
};

// The allocations of all graphs of a context. Safe from several threads.
class GraphMemory {
 public:
  void add(const std::shared_ptr<GraphAllocation>& allocation);
  // The last allocation at the address that a graph still has, or that is there; null when there is none.
  [[nodiscard]] std::shared_ptr<GraphAllocation> find(const void* address);
  // Queues a launch with `push`, which gives false when it did not; invalid_value when what it makes is there already,
  // or what it frees is not.
  Result<void> launch(const GraphMemoryUse& use, const std::function<bool()>& push);
  // Outside of graphs; false when no launch has made it.
  bool release(const void* address);
  // All memory has gone.
  void clear();

 private:
  using Address = std::uintptr_t;
  std::mutex mutex_;
  std::map<Address, std::weak_ptr<GraphAllocation>> known_;
  std::map<Address, std::shared_ptr<GraphAllocation>> live_;
  std::size_t prune_at_ = 64;
};

// The allocations of one graph, by the nodes that make and free them.
class GraphAllocations {
 public:
  using Node = std::uint32_t;
  // Gives nodes among the second list that are not, and do not come before, those of the first.
  using Beyond = std::function<std::vector<Node>(std::span<const Node>, std::span<const Node>)>;

  [[nodiscard]] bool none() const { return made_.empty() && freed_.empty(); }
  // A block that is free where a node waits for `after`; null when there is none.
  [[nodiscard]] std::shared_ptr<GraphBlock> reuse(std::size_t bytes, std::span<const Node> after, const Beyond& beyond);
  void made(Node node, std::shared_ptr<GraphAllocation> allocation);
  // invalid_value when the graph frees it already. Whether it does so after the allocation and its uses is not looked
  // at, as by a GPU's driver.
  Result<void> check_free(const GraphAllocation& allocation) const;
  void freed(Node node, std::shared_ptr<GraphAllocation> allocation);
  [[nodiscard]] GraphMemoryUse use() const;

  // The one instance that a graph with memory may have.
  std::weak_ptr<GraphInstance> instance;
  // The last run of any instance, which the next one comes after.
  Ticket last;

 private:
  struct Made {
    Node node;
    std::shared_ptr<GraphAllocation> allocation;
  };
  struct Free {
    Node freed_by;
    std::shared_ptr<GraphBlock> block;
  };
  [[nodiscard]] const Made* made_by(const GraphAllocation& allocation) const;
  std::vector<Made> made_, freed_;
  std::vector<Free> free_;
};

}  // namespace warploom::runtime

// A graph of device work: nodes and what each waits for, checked once and run many times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "device/device.hpp"
#include "runtime/event.hpp"
#include "runtime/graph_memory.hpp"
#include "runtime/helpers.hpp"
#include "runtime/stream.hpp"

namespace warploom::runtime {

class LaunchGraph;

using Node = std::uint32_t;

enum class NodeKind : std::uint8_t {
  kernel,
  copy,
  fill,
  host,
  graph,
  empty,
  event_record,
  event_wait,
  memory_alloc,
  memory_free,
};

// What a node does.
struct Operation {
  NodeKind kind = NodeKind::empty;
  device::Kernel* kernel = nullptr;
  device::Launch launch;
  std::shared_ptr<const void> keep;  // lives as long as the graph and its runs
  void* to = nullptr;
  const void* from = nullptr;
  std::size_t count = 0;  // bytes of a copy, elements of a fill
  std::vector<std::byte> element;
  Work work;  // of a host function, and of a copy or fill that is more than one run of bytes
  std::shared_ptr<const LaunchGraph> child;
  std::shared_ptr<Event> event;

  static Operation launch_of(device::Kernel& kernel, device::Launch launch, std::shared_ptr<const void> keep);
  static Operation copy(void* to, const void* from, std::size_t bytes);
  static Operation fill(void* to, std::span<const std::byte> element, std::size_t count);
  static Operation host(Work work);
  // A copy or fill that is `work`.
  static Operation other(NodeKind kind, Work work);

  // A copy, fill or host function as work of a stream.
  [[nodiscard]] Work as_work(device::Device& device) &&;
};

// What is added has been checked by the caller, as for a stream. Not safe from several threads.
class LaunchGraph {
 public:
  // `after` names nodes that were added before.
  Result<Node> add(std::span<const Node> after, Operation operation);
  // Has a node wait for another one, and not any more. Cycles are found by order().
  Result<void> connect(Node from, Node to);
  Result<void> disconnect(Node from, Node to);
  // An order to run the nodes in, that of addition as far as may be; invalid_value when there is none.
  [[nodiscard]] Result<std::vector<Node>> order() const;
  // Another operation of the same kind for a node.
  Result<void> set(Node node, Operation operation);
  // A node that allocates, in memory that the graph uses again or in `block`; the address, or null when there is no
  // memory to use again and no block.
  struct Allocated {
    Node node = 0;
    void* address = nullptr;
  };
  Result<Allocated> allocate(GraphMemory& memory, std::span<const Node> after, std::size_t bytes,
                             std::shared_ptr<GraphBlock> block);
  // A node that frees what a node of this graph or of another one allocates.
  Result<Node> deallocate(GraphMemory& memory, std::span<const Node> after, const void* address);
  // Does a node allocate there?
  [[nodiscard]] bool allocates(const void* address) const;
  // Null for a graph without nodes of memory. Copies share it.
  [[nodiscard]] const std::shared_ptr<GraphAllocations>& allocations() const { return allocations_; }
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  [[nodiscard]] const Operation& operation(Node node) const { return nodes_[node].operation; }
  [[nodiscard]] std::span<const Node> after(Node node) const { return nodes_[node].after; }
  // Nodes among `wanted` that do not come before, and are not among, `ends`.
  [[nodiscard]] std::vector<Node> beyond(std::span<const Node> ends, std::span<const Node> wanted) const;

 private:
  struct Entry {
    Operation operation;
    std::vector<Node> after;
  };

  [[nodiscard]] Result<void> check_after(std::span<const Node> after) const;
  [[nodiscard]] GraphAllocations::Beyond beyond_function() const;

  std::vector<Entry> nodes_;
  std::shared_ptr<GraphAllocations> allocations_;
};

// The events that one run of a graph records, in the order of its steps.
using EventRecords = std::vector<std::shared_ptr<Event::Record>>;

// A graph that can be run; it does not change. Nodes that do not wait for each other run side by side when cores are
// free, a chain runs in one thread without any bookkeeping.
class GraphRun {
 public:
  // `enabled`: by node; an empty list stands for all.
  static Result<std::shared_ptr<const GraphRun>> make(device::Device& device, const LaunchGraph& graph,
                                                      const std::vector<bool>& enabled);
  // The same with other work in one node, which is of no child graph.
  [[nodiscard]] Result<std::shared_ptr<const GraphRun>> with(Node node, const Operation& operation, bool enabled) const;

  Result<void> run(Helpers& helpers, const EventRecords* records) const;
  [[nodiscard]] bool any_thread() const { return any_thread_; }
  [[nodiscard]] std::span<const std::shared_ptr<Event>> recorded() const { return plan_->recorded; }
  [[nodiscard]] std::span<const std::shared_ptr<Event>> awaited() const { return plan_->awaited; }

 private:
  class Builder;
  class Branches;
  struct Step {
    std::unique_ptr<device::PreparedLaunch> kernel;
    void* to = nullptr;
    const void* from = nullptr;
    std::size_t count = 0;
    std::vector<std::byte> element;
    Work work;
    bool host = false;  // the work is a host function
    std::shared_ptr<const void> keep;
    std::size_t record = 0;  // number of the event that it records, from 1 on
    std::int32_t priority = 0;
  };
  // Steps that follow each other without a fork or join between them.
  struct Segment {
    std::vector<std::uint32_t> steps;
    std::vector<std::uint32_t> next;  // segments
    std::uint32_t waits_for = 0;      // segments
  };
  struct Plan {
    std::vector<Segment> segments;
    std::vector<std::uint32_t> roots;
    std::vector<std::uint32_t> step_of_node;
    std::vector<std::shared_ptr<Event>> recorded, awaited;
  };
  static Result<std::shared_ptr<const Step>> make_step(device::Device& device, const Operation& operation,
                                                       std::size_t record);
  Result<void> run_step(const Step& step, const EventRecords* records) const;

  device::Device* device_ = nullptr;
  std::vector<std::shared_ptr<const Step>> steps_;  // null: nothing to do
  std::shared_ptr<const Plan> plan_;
  bool any_thread_ = true;
};

// How an instantiated graph took an update; the values of CUgraphExecUpdateResult.
enum class UpdateResult : std::uint8_t {
  success = 0,
  error = 1,
  topology_changed = 2,
  node_type_changed = 3,
  function_changed = 4,
  parameters_changed = 5,
  not_supported = 6,
};
struct UpdateOutcome {
  UpdateResult result = UpdateResult::success;
  Node node = 0;  // of the new graph, where they first differ
};

// An instantiated graph: what its next launch will run. Safe from several threads.
class GraphInstance {
 public:
  // `frees_first`: each launch frees what an earlier one has made and nobody has freed.
  static Result<std::shared_ptr<GraphInstance>> make(device::Device& device, const LaunchGraph& graph,
                                                     bool frees_first);

  // Launches that are queued already run what they were queued with.
  Result<UpdateOutcome> update(const LaunchGraph& graph);
  Result<void> set(Node node, const Operation& operation);
  Result<void> enable(Node node, bool on);
  Result<bool> enabled(Node node) const;
  [[nodiscard]] std::shared_ptr<const LaunchGraph> graph() const;

  // Launches follow each other, whatever their streams: what the one before waits for, and the place of the next one.
  // `order` is held from the one to the other; it guards `run` too.
  mutable std::mutex order;
  Ticket last;
  std::shared_ptr<const GraphRun> run;
  // Memory of the graph, and what a launch does to it; null for a graph without.
  std::shared_ptr<GraphAllocations> allocations;
  GraphMemoryUse memory_use;

 private:
  [[nodiscard]] Result<void> check_node(Node node) const;

  device::Device* device_ = nullptr;
  std::shared_ptr<const LaunchGraph> graph_;
  std::vector<bool> enabled_;
};

}  // namespace warploom::runtime

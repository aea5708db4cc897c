// Building of graphs, and what instantiated ones may be changed to.
#include "runtime/graph.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <string>
#include <utility>

#include "base/diag_of.hpp"

namespace warploom::runtime {
namespace {

Diag no_such_node(Node node, std::size_t size) {
  return diag_of(ErrorId::invalid_handle,
                 "there is no node " + std::to_string(node) + ": the graph has " + std::to_string(size) + " nodes",
                 "name a node of this graph");
}

Diag instantiated_twice() {
  return diag_of(ErrorId::not_supported, "a graph that allocates or frees memory is instantiated twice",
                 "let go of the first instance, or build the graph again");
}

// Whether an instantiated node may do what `now` says instead of `before` (CUDA Driver API, cuGraphExecUpdate).
UpdateResult compatible(const Operation& before, const Operation& now) {
  if (before.kind != now.kind) return UpdateResult::node_type_changed;
  if (before.kind == NodeKind::kernel && before.launch.cooperative != now.launch.cooperative)
    return UpdateResult::parameters_changed;
  return UpdateResult::success;
}

UpdateOutcome compare(const LaunchGraph& before, const LaunchGraph& now) {
  const auto common = static_cast<Node>(std::min(before.size(), now.size()));
  for (Node node = 0; node < common; ++node) {
    const Operation &one = before.operation(node), &other = now.operation(node);
    if (!std::ranges::equal(before.after(node), now.after(node))) return {UpdateResult::topology_changed, node};
    if (const UpdateResult result = compatible(one, other); result != UpdateResult::success) return {result, node};
    if (one.kind == NodeKind::graph)
      if (const UpdateOutcome inner = compare(*one.child, *other.child); inner.result != UpdateResult::success)
        return {inner.result, node};
  }
  if (before.size() != now.size()) return {UpdateResult::topology_changed, common};
  return {};
}

}  // namespace

Operation Operation::launch_of(device::Kernel& kernel, device::Launch launch, std::shared_ptr<const void> keep) {
  Operation operation;
  operation.kind = NodeKind::kernel;
  operation.kernel = &kernel;
  operation.launch = std::move(launch);
  operation.keep = std::move(keep);
  return operation;
}

Operation Operation::copy(void* to, const void* from, std::size_t bytes) {
  Operation operation;
  operation.kind = NodeKind::copy;
  operation.to = to;
  operation.from = from;
  operation.count = bytes;
  return operation;
}

Operation Operation::fill(void* to, std::span<const std::byte> element, std::size_t count) {
  Operation operation;
  operation.kind = NodeKind::fill;
  operation.to = to;
  operation.element.assign(element.begin(), element.end());
  operation.count = count;
  return operation;
}

Operation Operation::host(Work work) { return other(NodeKind::host, std::move(work)); }

Operation Operation::other(NodeKind kind, Work work) {
  Operation operation;
  operation.kind = kind;
  operation.work = std::move(work);
  return operation;
}

Work Operation::as_work(device::Device& device) && {
  if (work) return std::move(work);
  if (from != nullptr) return [&device, out = to, in = from, bytes = count] { return device.copy(out, in, bytes); };
  return [&device, out = to, pattern = std::move(element), times = count] {
    return device.fill(out, pattern.data(), pattern.size(), times);
  };
}

// ---- LaunchGraph ----

Result<void> LaunchGraph::check_after(std::span<const Node> after) const {
  for (const Node node : after)
    if (node >= nodes_.size())
      return diag_of(ErrorId::invalid_handle,
                     "a node cannot wait for node " + std::to_string(node) + ": the graph has " +
                         std::to_string(nodes_.size()) + " nodes",
                     "name nodes that were added to this graph before");
  std::vector<Node> sorted(after.begin(), after.end());
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end())
    return diag_of(ErrorId::invalid_value, "a node is named twice among those to wait for", "name each once");
  return {};
}

Result<Node> LaunchGraph::add(std::span<const Node> after, Operation operation) {
  WL_TRY(check_after(after));
  nodes_.push_back({std::move(operation), {after.begin(), after.end()}});
  return static_cast<Node>(nodes_.size() - 1);
}

Result<void> LaunchGraph::set(Node node, Operation operation) {
  if (node >= nodes_.size()) return no_such_node(node, nodes_.size());
  if (compatible(nodes_[node].operation, operation) == UpdateResult::node_type_changed)
    return diag_of(ErrorId::invalid_value, "node " + std::to_string(node) + " is of another kind",
                   "set what the node was added as, or add a new node");
  nodes_[node].operation = std::move(operation);
  return {};
}

GraphAllocations::Beyond LaunchGraph::beyond_function() const {
  return [this](std::span<const Node> ends, std::span<const Node> wanted) { return beyond(ends, wanted); };
}

Result<LaunchGraph::Allocated> LaunchGraph::allocate(GraphMemory& memory, std::span<const Node> after,
                                                     std::size_t bytes, std::shared_ptr<GraphBlock> block) {
  if (bytes == 0)
    return diag_of(ErrorId::invalid_value, "an allocation of a graph has 0 bytes", "allocate at least one byte");
  Operation operation;
  operation.kind = NodeKind::memory_alloc;
  operation.count = bytes;
  WL_TRY(check_after(after));
  if (allocations_)
    if (auto again = allocations_->reuse(bytes, after, beyond_function())) block = std::move(again);
  if (!block) return Allocated{};
  operation.to = block->address;
  auto allocation = std::make_shared<GraphAllocation>(std::move(block), bytes);
  operation.keep = allocation;
  auto node = add(after, std::move(operation));
  if (!node) return std::move(node.error());
  if (!allocations_) allocations_ = std::make_shared<GraphAllocations>();
  void* const address = allocation->address();
  memory.add(allocation);
  allocations_->made(*node, std::move(allocation));
  return Allocated{*node, address};
}

bool LaunchGraph::allocates(const void* address) const {
  return std::ranges::any_of(nodes_, [&](const Entry& entry) {
    return entry.operation.kind == NodeKind::memory_alloc && entry.operation.to == address;
  });
}

Result<Node> LaunchGraph::deallocate(GraphMemory& memory, std::span<const Node> after, const void* address) {
  auto allocation = memory.find(address);
  if (!allocation)
    return diag_of(ErrorId::invalid_value, "the address to free is no allocation of a graph",
                   "free here what a node of a graph allocates; free other memory outside of graphs");
  WL_TRY(check_after(after));
  if (!allocations_) allocations_ = std::make_shared<GraphAllocations>();
  WL_TRY(allocations_->check_free(*allocation));
  Operation operation;
  operation.kind = NodeKind::memory_free;
  operation.to = allocation->address();
  operation.keep = allocation;
  auto node = add(after, std::move(operation));
  if (node) allocations_->freed(*node, std::move(allocation));
  return node;
}

std::vector<Node> LaunchGraph::beyond(std::span<const Node> ends, std::span<const Node> wanted) const {
  std::vector<bool> seen(nodes_.size());
  std::vector<Node> left(ends.begin(), ends.end());
  while (!left.empty()) {
    const Node node = left.back();
    left.pop_back();
    if (seen[node]) continue;
    seen[node] = true;
    left.insert(left.end(), nodes_[node].after.begin(), nodes_[node].after.end());
  }
  std::vector<Node> out;
  for (const Node node : wanted)
    if (!seen[node]) out.push_back(node);
  return out;
}

Result<void> LaunchGraph::connect(Node from, Node to) {
  for (const Node node : {from, to})
    if (node >= nodes_.size()) return no_such_node(node, nodes_.size());
  std::vector<Node>& after = nodes_[to].after;
  if (from == to || std::ranges::find(after, from) != after.end())
    return diag_of(ErrorId::invalid_value,
                   from == to ? "a node cannot wait for itself" : "the node waits for the other one already",
                   "add each dependency once, between two nodes");
  after.push_back(from);
  return {};
}

Result<void> LaunchGraph::disconnect(Node from, Node to) {
  for (const Node node : {from, to})
    if (node >= nodes_.size()) return no_such_node(node, nodes_.size());
  if (allocations_)
    return diag_of(ErrorId::not_supported, "dependencies of a graph that allocates or frees memory stay",
                   "build the graph again without them");
  std::vector<Node>& after = nodes_[to].after;
  const auto found = std::ranges::find(after, from);
  if (found == after.end())
    return diag_of(ErrorId::invalid_value, "the node does not wait for the other one", "name a dependency there is");
  after.erase(found);
  return {};
}

Result<std::vector<Node>> LaunchGraph::order() const {
  std::vector<Node> out;
  out.reserve(nodes_.size());
  // Of those whose turn it is the first one: in the order of addition nothing else ever happens.
  std::vector<std::size_t> waits(nodes_.size());
  std::vector<std::vector<Node>> next(nodes_.size());
  for (Node node = 0; node < nodes_.size(); ++node) {
    waits[node] = nodes_[node].after.size();
    for (const Node before : nodes_[node].after) next[before].push_back(node);
  }
  std::priority_queue<Node, std::vector<Node>, std::greater<>> ready;
  for (Node node = 0; node < nodes_.size(); ++node)
    if (waits[node] == 0) ready.push(node);
  while (!ready.empty()) {
    const Node node = ready.top();
    ready.pop();
    out.push_back(node);
    for (const Node follower : next[node])
      if (--waits[follower] == 0) ready.push(follower);
  }
  if (out.size() != nodes_.size())
    return diag_of(ErrorId::invalid_value, "nodes of the graph wait for each other in a circle",
                   "remove a dependency of the circle");
  return out;
}

// ---- GraphInstance ----

Result<std::shared_ptr<GraphInstance>> GraphInstance::make(device::Device& device, const LaunchGraph& graph,
                                                           bool frees_first) {
  auto instance = std::make_shared<GraphInstance>();
  if (const auto& allocations = graph.allocations()) {
    if (!allocations->instance.expired()) return instantiated_twice();
    instance->allocations = allocations;
    instance->memory_use = allocations->use();
    instance->memory_use.frees_first = frees_first;
    instance->last = allocations->last;
  }
  instance->device_ = &device;
  instance->graph_ = std::make_shared<LaunchGraph>(graph);
  instance->enabled_.assign(graph.size(), true);
  auto run = GraphRun::make(device, graph, instance->enabled_);
  if (!run) return std::move(run.error());
  instance->run = std::move(*run);
  if (instance->allocations) instance->allocations->instance = instance;
  return instance;
}

std::shared_ptr<const LaunchGraph> GraphInstance::graph() const {
  const std::lock_guard lock(order);
  return graph_;
}

Result<UpdateOutcome> GraphInstance::update(const LaunchGraph& graph) {
  const std::lock_guard lock(order);
  const UpdateOutcome outcome = compare(*graph_, graph);
  if (outcome.result != UpdateResult::success) return outcome;
  const auto& memory = graph.allocations();
  if (memory && !memory->instance.expired() && memory->instance.lock().get() != this) return instantiated_twice();
  auto made = GraphRun::make(*device_, graph, enabled_);
  if (!made) return std::move(made.error());
  run = std::move(*made);
  if (memory && memory != allocations) {
    // The old graph may be instantiated again.
    memory->instance = std::exchange(allocations->instance, {});
    allocations = memory;
    const bool frees_first = memory_use.frees_first;
    memory_use = memory->use();
    memory_use.frees_first = frees_first;
  }
  graph_ = std::make_shared<LaunchGraph>(graph);
  return outcome;
}

Result<void> GraphInstance::check_node(Node node) const {
  if (node >= graph_->size()) return no_such_node(node, graph_->size());
  return {};
}

Result<void> GraphInstance::set(Node node, const Operation& operation) {
  const std::lock_guard lock(order);
  WL_TRY(check_node(node));
  const UpdateResult result = compatible(graph_->operation(node), operation);
  if (result == UpdateResult::success && operation.kind == NodeKind::graph &&
      compare(*graph_->operation(node).child, *operation.child).result != UpdateResult::success)
    return diag_of(ErrorId::invalid_value, "the child graph of node " + std::to_string(node) + " has another shape",
                   "use a graph with the same nodes, or instantiate the changed graph");
  if (result != UpdateResult::success)
    return diag_of(ErrorId::invalid_value,
                   "node " + std::to_string(node) + " of the instantiated graph cannot become this",
                   "set what the node was added as; a cooperative launch stays one");
  auto changed = std::make_shared<LaunchGraph>(*graph_);
  WL_TRY(changed->set(node, operation));
  const bool simple = operation.kind != NodeKind::graph && operation.kind != NodeKind::event_record &&
                      operation.kind != NodeKind::event_wait;
  auto made = simple ? run->with(node, operation, enabled_[node]) : GraphRun::make(*device_, *changed, enabled_);
  if (!made) return std::move(made.error());
  run = std::move(*made);
  graph_ = std::move(changed);
  return {};
}

Result<void> GraphInstance::enable(Node node, bool on) {
  const std::lock_guard lock(order);
  WL_TRY(check_node(node));
  const NodeKind kind = graph_->operation(node).kind;
  if (kind != NodeKind::kernel && kind != NodeKind::copy && kind != NodeKind::fill)
    return diag_of(ErrorId::invalid_value,
                   "node " + std::to_string(node) + " cannot be switched off: it is no kernel, copy or fill",
                   "switch off kernels, copies and fills only");
  if (enabled_[node] == on) return {};
  auto made = run->with(node, graph_->operation(node), on);
  if (!made) return std::move(made.error());
  run = std::move(*made);
  enabled_[node] = on;
  return {};
}

Result<bool> GraphInstance::enabled(Node node) const {
  const std::lock_guard lock(order);
  WL_TRY(check_node(node));
  return static_cast<bool>(enabled_[node]);
}

}  // namespace warploom::runtime

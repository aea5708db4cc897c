// Graph and GraphExec over the runtime's graphs, and captures.
#include "warploom/graph.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "api/launch.hpp"
#include "api/state.hpp"
#include "base/demangle.hpp"
#include "runtime/graph.hpp"

namespace warploom {
namespace detail {

struct GraphState : Owned {
  using Owned::Owned;
  runtime::LaunchGraph graph;
};

struct GraphExecState : Owned {
  using Owned::Owned;
  std::shared_ptr<runtime::GraphInstance> instance;
};

}  // namespace detail

namespace {

using runtime::Operation;

std::vector<runtime::Node> nodes(std::span<const GraphNode> after) {
  std::vector<runtime::Node> out;
  out.reserve(after.size());
  for (const GraphNode& node : after) out.push_back(node.index);
  return out;
}

Operation launch_operation(const detail::Owned& owner, runtime::Context& context, const Kernel& kernel,
                           const LaunchConfig& config, std::span<const Argument> arguments) {
  const auto& kernel_state = api::use_kernel(kernel, *owner.device);
  if (config.stream)
    api::fail(ErrorId::invalid_value, "a node of a graph has no stream of its own",
              "name the stream at GraphExec::launch");
  return Operation::launch_of(*kernel_state.kernel,
                              api::prepare_launch(context, *owner.device, *kernel_state.kernel, config, arguments),
                              kernel_state.module->module);
}

Operation copy_operation(runtime::Context& context, void* to, const void* from, std::size_t bytes) {
  api::check_place(context, to, bytes, "the destination of a copy");
  api::check_place(context, from, bytes, "the source of a copy");
  return Operation::copy(to, from, bytes);
}

Operation fill_operation(runtime::Context& context, void* to, const void* element, std::size_t element_bytes,
                         std::size_t count) {
  api::check_fill(context, to, element, element_bytes, count);
  return Operation::fill(to, std::span(static_cast<const std::byte*>(element), element_bytes), count);
}

Operation child_operation(const detail::Owned& owner, const Graph& graph) {
  const auto& child = detail::Access::state(graph);
  api::use(child, "the child graph");
  if (child->device != owner.device)
    api::fail(ErrorId::invalid_handle, "the child graph belongs to another device", "record it on the same device");
  if (child->graph.allocations())
    api::fail(ErrorId::not_supported, "a graph that allocates or frees memory cannot be a child",
              "capture its work in the parent, or launch it by itself");
  Operation operation;
  operation.kind = runtime::NodeKind::graph;
  operation.child = std::make_shared<runtime::LaunchGraph>(child->graph);
  return operation;
}

Operation event_operation(const detail::Owned& owner, const Event& event, runtime::NodeKind kind) {
  const auto& state = detail::Access::state(event);
  api::use(state, "the event");
  if (state->device != owner.device)
    api::fail(ErrorId::invalid_handle, "the event belongs to another device", "use an event of the same device");
  Operation operation;
  operation.kind = kind;
  // Not the whole state, which keeps the device open: queued work must not.
  operation.event = state->event;
  return operation;
}

const char* name_of(GraphNodeKind kind) {
  static constexpr const char* names[] = {"kernel", "copy",   "fill", "host",  "graph",
                                          "empty",  "record", "wait", "alloc", "free"};
  return names[static_cast<std::size_t>(kind)];
}

GraphNodeKind public_kind(runtime::NodeKind kind) {
  switch (kind) {
    using enum runtime::NodeKind;
    case kernel: return GraphNodeKind::kernel;
    case copy: return GraphNodeKind::copy;
    case fill: return GraphNodeKind::fill;
    case host: return GraphNodeKind::host;
    case graph: return GraphNodeKind::graph;
    case empty: return GraphNodeKind::empty;
    case event_record: return GraphNodeKind::event_record;
    case event_wait: return GraphNodeKind::event_wait;
    case memory_alloc: return GraphNodeKind::memory_alloc;
    case memory_free: return GraphNodeKind::memory_free;
  }
  return GraphNodeKind::empty;
}

void draw(const runtime::LaunchGraph& graph, const std::string& prefix, std::string& out) {
  for (runtime::Node node = 0; node < graph.size(); ++node) {
    const Operation& operation = graph.operation(node);
    std::string label = fmt::format("{} {}", node, name_of(public_kind(operation.kind)));
    if (operation.kernel != nullptr) label += " " + demangle(operation.kernel->name());
    const bool sized = operation.kind == runtime::NodeKind::copy || operation.kind == runtime::NodeKind::memory_alloc;
    if (sized && operation.count != 0) label += fmt::format(" {} bytes", operation.count);
    out += fmt::format("  \"{}{}\" [label=\"{}\"];\n", prefix, node, label);
    for (const runtime::Node before : graph.after(node))
      out += fmt::format("  \"{0}{1}\" -> \"{0}{2}\";\n", prefix, before, node);
    if (operation.child) draw(*operation.child, fmt::format("{}{}.", prefix, node), out);
  }
}

}  // namespace

Graph Stream::end_capture() const {
  runtime::Context& context = api::use(state_, "the stream");
  auto graph = std::make_shared<detail::GraphState>(state_->device);
  graph->graph = api::checked(context.captures().end(state_->stream));
  return detail::Access::make(std::move(graph));
}

void Stream::add_graph(const Graph& graph) const {
  runtime::Context& context = api::use(state_, "the stream");
  Operation operation = child_operation(*state_, graph);
  if (api::checked(context.captures().add(*state_->stream, context.is_legacy(state_->stream), operation))) return;
  api::fail(ErrorId::illegal_state, "the stream is not being captured",
            "instantiate the graph and launch it, or begin a capture");
}

// ---- GraphExec ----

GraphExec::GraphExec(std::shared_ptr<detail::GraphExecState> state) noexcept : state_(std::move(state)) {}
GraphExec::~GraphExec() = default;

void GraphExec::launch(const Stream& stream) const {
  runtime::Context& context = api::use(state_, "the graph");
  api::checked(context.launch(api::queue_of(stream, *state_->device), *state_->instance));
}

void GraphExec::launch() const {
  runtime::Context& context = api::use(state_, "the graph");
  api::checked(context.launch(api::default_queue(context, *state_->device), *state_->instance));
}

GraphUpdate GraphExec::update(const Graph& graph) const {
  api::use(state_, "the instantiated graph");
  const auto& other = detail::Access::state(graph);
  api::use(other, "the graph");
  if (other->device != state_->device)
    api::fail(ErrorId::invalid_handle, "the graph belongs to another device", "record it on the same device");
  const runtime::UpdateOutcome outcome = api::checked(state_->instance->update(other->graph));
  static_assert(static_cast<int>(GraphUpdateResult::not_supported) ==
                static_cast<int>(runtime::UpdateResult::not_supported));
  return {static_cast<GraphUpdateResult>(outcome.result), {outcome.node}};
}

void GraphExec::set_launch_with(GraphNode node, const Kernel& kernel, const LaunchConfig& config,
                                std::span<const Argument> arguments) const {
  runtime::Context& context = api::use(state_, "the graph");
  api::checked(state_->instance->set(node.index, launch_operation(*state_, context, kernel, config, arguments)));
}

void GraphExec::set_copy(GraphNode node, void* to, const void* from, std::size_t bytes) const {
  runtime::Context& context = api::use(state_, "the graph");
  api::checked(state_->instance->set(node.index, copy_operation(context, to, from, bytes)));
}

void GraphExec::set_fill(GraphNode node, void* to, const void* element, std::size_t element_bytes,
                         std::size_t count) const {
  runtime::Context& context = api::use(state_, "the graph");
  api::checked(state_->instance->set(node.index, fill_operation(context, to, element, element_bytes, count)));
}

void GraphExec::set_host_function(GraphNode node, std::function<void()> function) const {
  api::use(state_, "the graph");
  api::checked(state_->instance->set(node.index, Operation::host(api::host_work(std::move(function)))));
}

void GraphExec::set_child(GraphNode node, const Graph& graph) const {
  api::use(state_, "the graph");
  api::checked(state_->instance->set(node.index, child_operation(*state_, graph)));
}

void GraphExec::enable(GraphNode node, bool on) const {
  api::use(state_, "the graph");
  api::checked(state_->instance->enable(node.index, on));
}

bool GraphExec::enabled(GraphNode node) const {
  api::use(state_, "the graph");
  return api::checked(state_->instance->enabled(node.index));
}

// ---- Graph ----

Graph::Graph(const Device& device) {
  const auto& owner = detail::Access::state(device);
  api::use(owner);
  state_ = std::make_shared<detail::GraphState>(owner);
}

Graph::Graph(std::shared_ptr<detail::GraphState> state) noexcept : state_(std::move(state)) {}
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;
Graph::~Graph() = default;

GraphNode Graph::launch_with(std::span<const GraphNode> after, const Kernel& kernel, const LaunchConfig& config,
                             std::span<const Argument> arguments) {
  runtime::Context& context = api::use(state_, "the graph");
  return {api::checked(state_->graph.add(nodes(after), launch_operation(*state_, context, kernel, config, arguments)))};
}

GraphNode Graph::copy(std::span<const GraphNode> after, void* to, const void* from, std::size_t bytes) {
  runtime::Context& context = api::use(state_, "the graph");
  return {api::checked(state_->graph.add(nodes(after), copy_operation(context, to, from, bytes)))};
}

GraphNode Graph::fill(std::span<const GraphNode> after, void* to, const void* element, std::size_t element_bytes,
                      std::size_t count) {
  runtime::Context& context = api::use(state_, "the graph");
  return {api::checked(state_->graph.add(nodes(after), fill_operation(context, to, element, element_bytes, count)))};
}

GraphNode Graph::host_function(std::span<const GraphNode> after, std::function<void()> function) {
  api::use(state_, "the graph");
  return {api::checked(state_->graph.add(nodes(after), Operation::host(api::host_work(std::move(function)))))};
}

GraphNode Graph::child(std::span<const GraphNode> after, const Graph& graph) {
  api::use(state_, "the graph");
  return {api::checked(state_->graph.add(nodes(after), child_operation(*state_, graph)))};
}

GraphNode Graph::empty(std::span<const GraphNode> after) {
  api::use(state_, "the graph");
  return {api::checked(state_->graph.add(nodes(after), Operation()))};
}

GraphNode Graph::record(std::span<const GraphNode> after, const Event& event) {
  api::use(state_, "the graph");
  return {
      api::checked(state_->graph.add(nodes(after), event_operation(*state_, event, runtime::NodeKind::event_record)))};
}

GraphNode Graph::wait(std::span<const GraphNode> after, const Event& event) {
  api::use(state_, "the graph");
  return {
      api::checked(state_->graph.add(nodes(after), event_operation(*state_, event, runtime::NodeKind::event_wait)))};
}

GraphAllocation Graph::allocate(std::span<const GraphNode> after, std::size_t bytes,
                                const std::source_location& where) {
  runtime::Context& context = api::use(state_, "the graph");
  const std::vector<runtime::Node> before = nodes(after);
  runtime::GraphMemory& memory = context.graph_memory();
  auto made = api::checked(state_->graph.allocate(memory, before, bytes, nullptr));
  if (made.address == nullptr) {
    auto block = api::checked(context.graph_block(bytes, {where.file_name(), where.line()}));
    made = api::checked(state_->graph.allocate(memory, before, bytes, std::move(block)));
  }
  return {{made.node}, made.address};
}

GraphNode Graph::deallocate(std::span<const GraphNode> after, void* address) {
  runtime::Context& context = api::use(state_, "the graph");
  return {api::checked(state_->graph.deallocate(context.graph_memory(), nodes(after), address))};
}

void Graph::set_launch_with(GraphNode node, const Kernel& kernel, const LaunchConfig& config,
                            std::span<const Argument> arguments) {
  runtime::Context& context = api::use(state_, "the graph");
  api::checked(state_->graph.set(node.index, launch_operation(*state_, context, kernel, config, arguments)));
}

void Graph::set_copy(GraphNode node, void* to, const void* from, std::size_t bytes) {
  runtime::Context& context = api::use(state_, "the graph");
  api::checked(state_->graph.set(node.index, copy_operation(context, to, from, bytes)));
}

void Graph::set_fill(GraphNode node, void* to, const void* element, std::size_t element_bytes, std::size_t count) {
  runtime::Context& context = api::use(state_, "the graph");
  api::checked(state_->graph.set(node.index, fill_operation(context, to, element, element_bytes, count)));
}

void Graph::set_host_function(GraphNode node, std::function<void()> function) {
  api::use(state_, "the graph");
  api::checked(state_->graph.set(node.index, Operation::host(api::host_work(std::move(function)))));
}

void Graph::add_dependency(GraphNode before, GraphNode node) {
  api::use(state_, "the graph");
  api::checked(state_->graph.connect(before.index, node.index));
}

void Graph::remove_dependency(GraphNode before, GraphNode node) {
  api::use(state_, "the graph");
  api::checked(state_->graph.disconnect(before.index, node.index));
}

std::size_t Graph::size() const {
  if (!state_) api::fail_moved_from("the graph");
  return state_->graph.size();
}

namespace {

const runtime::LaunchGraph& graph_with(const std::shared_ptr<detail::GraphState>& state, GraphNode node) {
  if (!state) api::fail_moved_from("the graph");
  if (node.index >= state->graph.size())
    api::fail(ErrorId::invalid_handle,
              fmt::format("there is no node {}: the graph has {} nodes", node.index, state->graph.size()),
              "name a node of this graph");
  return state->graph;
}

}  // namespace

GraphNodeKind Graph::kind(GraphNode node) const {
  return public_kind(graph_with(state_, node).operation(node.index).kind);
}

std::vector<GraphNode> Graph::dependencies(GraphNode node) const {
  std::vector<GraphNode> out;
  for (const runtime::Node before : graph_with(state_, node).after(node.index)) out.push_back({before});
  return out;
}

std::string Graph::to_dot() const {
  if (!state_) api::fail_moved_from("the graph");
  std::string out = "digraph {\n";
  draw(state_->graph, "", out);
  return out + "}\n";
}

GraphExec Graph::instantiate(const GraphInstantiateOptions& options) const {
  runtime::Context& context = api::use(state_, "the graph");
  auto exec = std::make_shared<detail::GraphExecState>(state_->device);
  exec->instance =
      api::checked(runtime::GraphInstance::make(context.device(), state_->graph, options.auto_free_on_launch));
  return detail::Access::make(std::move(exec));
}

MemoryPoolStatistics graph_memory(const Device& device) {
  const runtime::Pool::Statistics s = api::use(detail::Access::state(device)).graph_pool().statistics();
  return {s.used, s.used_high, s.reserved, s.reserved_high};
}

void reset_graph_memory(const Device& device) {
  api::use(detail::Access::state(device)).graph_pool().reset_high(true, true);
}

void trim_graph_memory(const Device& device) { api::use(detail::Access::state(device)).graph_pool().trim(0); }

}  // namespace warploom

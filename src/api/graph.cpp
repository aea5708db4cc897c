// Graph and GraphExec over the runtime's graphs.
#include "warploom/graph.hpp"

#include <utility>
#include <vector>

#include "api/launch.hpp"
#include "api/state.hpp"
#include "runtime/graph.hpp"

namespace warploom {
namespace detail {

struct GraphState : Owned {
  using Owned::Owned;
  runtime::LaunchGraph graph;
};

struct GraphExecState : Owned {
  using Owned::Owned;
  std::shared_ptr<runtime::GraphRun> run;
};

}  // namespace detail

namespace {

std::vector<runtime::LaunchGraph::Node> nodes(std::span<const GraphNode> after) {
  std::vector<runtime::LaunchGraph::Node> out;
  out.reserve(after.size());
  for (const GraphNode& node : after) out.push_back(node.index);
  return out;
}

}  // namespace

// ---- GraphExec ----

GraphExec::GraphExec(std::shared_ptr<detail::GraphExecState> state) noexcept : state_(std::move(state)) {}
GraphExec::~GraphExec() = default;

void GraphExec::launch(const Stream& stream) const {
  runtime::Context& context = api::use(state_, "the graph");
  api::checked(context.launch(api::queue_of(stream, *state_->device), state_->run));
}

void GraphExec::launch() const {
  runtime::Context& context = api::use(state_, "the graph");
  api::checked(context.launch(context.default_stream(), state_->run));
}

// ---- Graph ----

Graph::Graph(const Device& device) {
  const auto& owner = detail::Access::state(device);
  api::use(owner);
  state_ = std::make_shared<detail::GraphState>(owner);
}

Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;
Graph::~Graph() = default;

GraphNode Graph::launch_with(std::span<const GraphNode> after, const Kernel& kernel, const LaunchConfig& config,
                             std::span<const Argument> arguments) {
  runtime::Context& context = api::use(state_, "the graph");
  const auto& kernel_state = api::use_kernel(kernel, *state_->device);
  if (config.stream)
    api::fail(ErrorId::invalid_value, "a node of a graph has no stream of its own",
              "name the stream at GraphExec::launch");
  device::Launch launch = api::prepare_launch(context, *state_->device, *kernel_state.kernel, config, arguments);
  return {api::checked(
      state_->graph.add_kernel(nodes(after), *kernel_state.kernel, std::move(launch), kernel_state.module->module))};
}

GraphNode Graph::copy(std::span<const GraphNode> after, void* to, const void* from, std::size_t bytes) {
  runtime::Context& context = api::use(state_, "the graph");
  api::check_place(context, to, bytes, "the destination of a copy");
  api::check_place(context, from, bytes, "the source of a copy");
  return {api::checked(state_->graph.add_copy(nodes(after), to, from, bytes))};
}

GraphNode Graph::fill(std::span<const GraphNode> after, void* to, const void* element, std::size_t element_bytes,
                      std::size_t count) {
  runtime::Context& context = api::use(state_, "the graph");
  api::check_fill(context, to, element, element_bytes, count);
  return {api::checked(state_->graph.add_fill(
      nodes(after), to, std::span(static_cast<const std::byte*>(element), element_bytes), count))};
}

GraphNode Graph::host_function(std::span<const GraphNode> after, std::function<void()> function) {
  api::use(state_, "the graph");
  return {api::checked(state_->graph.add_work(nodes(after), api::host_work(std::move(function)), false))};
}

std::size_t Graph::size() const {
  if (!state_) api::fail_moved_from("the graph");
  return state_->graph.size();
}

GraphExec Graph::instantiate() const {
  runtime::Context& context = api::use(state_, "the graph");
  auto exec = std::make_shared<detail::GraphExecState>(state_->device);
  exec->run = api::checked(state_->graph.instantiate(context.device()));
  return detail::Access::make(std::move(exec));
}

}  // namespace warploom

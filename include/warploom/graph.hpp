// Graph and GraphExec: device work and what waits for what, recorded and checked once and launched many times (CUDA
// Programming Guide, "CUDA Graphs"). Stream::begin_capture() makes a graph of what is queued on streams.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <vector>

#include "warploom/device.hpp"
#include "warploom/export.hpp"
#include "warploom/module.hpp"
#include "warploom/pool.hpp"
#include "warploom/stream.hpp"

namespace warploom {
namespace detail {

struct GraphState;
struct GraphExecState;

}  // namespace detail

/// A node of the graph that made it.
struct GraphNode {
  std::uint32_t index = 0;  ///< nodes are counted from 0 in the order in which they were added
};

/// What a node does (CUgraphNodeType).
enum class GraphNodeKind : std::uint8_t {
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

/// A node that allocates, and the address of its memory, which every launch of the graph gives it.
struct GraphAllocation {
  GraphNode node;
  void* address = nullptr;
};

/// How a graph is made ready (CUgraphInstantiate_flags).
struct GraphInstantiateOptions {
  /// A launch first frees what an earlier launch has allocated and nobody has freed; else such a launch throws.
  bool auto_free_on_launch = false;
};

/// How an instantiated graph took an update; the values are those of CUgraphExecUpdateResult.
enum class GraphUpdateResult : std::uint8_t {
  success = 0,
  error = 1,
  topology_changed = 2,    ///< other nodes, or nodes that wait for others
  node_type_changed = 3,   ///< a node is of another kind
  function_changed = 4,    ///< not given: the function of a node may change
  parameters_changed = 5,  ///< a cooperative launch has become another, or the other way round
  not_supported = 6,
};

/// What GraphExec::update() found.
struct GraphUpdate {
  GraphUpdateResult result = GraphUpdateResult::success;
  GraphNode node{};  ///< the first node of the new graph that did not fit
};

/// A graph made ready to be launched. Copies are handles to the same one. Safe from several threads.
class WARPLOOM_API GraphExec {
 public:
  ~GraphExec();
  GraphExec(const GraphExec&) = default;
  GraphExec(GraphExec&&) noexcept = default;
  GraphExec& operator=(const GraphExec&) = default;
  GraphExec& operator=(GraphExec&&) noexcept = default;

  /// Queues one run of all nodes and returns at once; it costs as much as one kernel launch, whatever the number of
  /// nodes. Runs of the same GraphExec follow each other, also on different streams. An error of a node ends the run
  /// and is thrown by a later synchronising call (cuGraphLaunch). Throws stream_capture_unsupported on a stream that is
  /// being captured; see Stream::add_graph(). Throws invalid_value when an allocation that an earlier launch has made
  /// has not been freed (GraphInstantiateOptions), or when the graph frees one of another graph that is not there.
  void launch(const Stream& stream) const;
  /// The same on the default stream.
  void launch() const;

  /// Has later launches do what `graph` says, when it has the same nodes in the same order, each waiting for the same
  /// ones and of the same kind (cuGraphExecUpdate); else nothing changes and the result says why. Launches that are
  /// queued already are not touched. Nodes that are switched off stay so.
  GraphUpdate update(const Graph& graph) const;
  /// Another launch, copy, fill, function or child graph for one node, in later launches
  /// (cuGraphExecKernelNodeSetParams and its siblings). Throws what adding the node would throw, invalid_handle for a
  /// node that is not there, invalid_value for one of another kind.
  template <class... Arguments>
  void set_launch(GraphNode node, const Kernel& kernel, const LaunchConfig& config,
                  const Arguments&... arguments) const {
    set_packed(node, kernel, config, detail::Packed<Arguments>(arguments)...);
  }
  void set_launch_with(GraphNode node, const Kernel& kernel, const LaunchConfig& config,
                       std::span<const Argument> arguments) const;
  void set_copy(GraphNode node, void* to, const void* from, std::size_t bytes) const;
  void set_fill(GraphNode node, void* to, const void* element, std::size_t element_bytes, std::size_t count) const;
  void set_host_function(GraphNode node, std::function<void()> function) const;
  void set_child(GraphNode node, const Graph& graph) const;
  /// Switches a kernel, copy or fill off or on in later launches: one that is off does nothing
  /// (cuGraphNodeSetEnabled). Throws invalid_value for other nodes.
  void enable(GraphNode node, bool on) const;
  [[nodiscard]] bool enabled(GraphNode node) const;

  /// False for a moved-from handle, which throws invalid_handle when used.
  [[nodiscard]] bool valid() const noexcept { return state_ != nullptr; }

 private:
  friend struct detail::Access;
  explicit GraphExec(std::shared_ptr<detail::GraphExecState> state) noexcept;
  template <class... Packed>
  void set_packed(GraphNode node, const Kernel& kernel, const LaunchConfig& config, const Packed&... packed) const {
    const std::array<Argument, sizeof...(Packed)> list{packed.argument()...};
    set_launch_with(node, kernel, config, std::span<const Argument>(list.data(), list.size()));
  }
  std::shared_ptr<detail::GraphExecState> state_;
};

/// Work to be launched as a whole. Each adding call takes the nodes that the new one waits for, and throws at once what
/// the same work on a stream would throw. Arguments and fill elements are copied; arrays and host memory are used where
/// they are when the graph runs, and must live as long. Nodes that do not wait for each other, directly or through
/// others, run side by side when cores are free. Not safe from several threads (cuGraphCreate).
class WARPLOOM_API Graph {
 public:
  /// Throws invalid_handle for a moved-from device and the device's sticky error.
  explicit Graph(const Device& device);
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;
  ~Graph();

  /// Adds a launch; `config.stream` must be empty (cuGraphAddKernelNode).
  template <class... Arguments>
  GraphNode launch(std::initializer_list<GraphNode> after, const Kernel& kernel, const LaunchConfig& config,
                   const Arguments&... arguments) {
    return launch_packed(after, kernel, config, detail::Packed<Arguments>(arguments)...);
  }
  /// The same with arguments known only at run time.
  GraphNode launch_with(std::span<const GraphNode> after, const Kernel& kernel, const LaunchConfig& config,
                        std::span<const Argument> arguments);
  /// Adds a copy between host and device memory in any direction (cuGraphAddMemcpyNode).
  GraphNode copy(std::span<const GraphNode> after, void* to, const void* from, std::size_t bytes);
  GraphNode copy(std::initializer_list<GraphNode> after, void* to, const void* from, std::size_t bytes) {
    return copy(std::span(after.begin(), after.size()), to, from, bytes);
  }
  /// Adds a fill of device memory with `count` elements (cuGraphAddMemsetNode).
  GraphNode fill(std::span<const GraphNode> after, void* to, const void* element, std::size_t element_bytes,
                 std::size_t count);
  GraphNode fill(std::initializer_list<GraphNode> after, void* to, const void* element, std::size_t element_bytes,
                 std::size_t count) {
    return fill(std::span(after.begin(), after.size()), to, element, element_bytes, count);
  }
  /// Adds a call of a host function, under the rules of Stream::host_function (cuGraphAddHostNode).
  GraphNode host_function(std::span<const GraphNode> after, std::function<void()> function);
  GraphNode host_function(std::initializer_list<GraphNode> after, std::function<void()> function) {
    return host_function(std::span(after.begin(), after.size()), std::move(function));
  }
  /// Adds all of another graph, as it is now, as one node (cuGraphAddChildGraphNode).
  GraphNode child(std::span<const GraphNode> after, const Graph& graph);
  GraphNode child(std::initializer_list<GraphNode> after, const Graph& graph) {
    return child(std::span(after.begin(), after.size()), graph);
  }
  /// Adds a node that does nothing, for others to wait for (cuGraphAddEmptyNode).
  GraphNode empty(std::span<const GraphNode> after);
  GraphNode empty(std::initializer_list<GraphNode> after) { return empty(std::span(after.begin(), after.size())); }
  /// Adds a record of an event (cuGraphAddEventRecordNode). Its time is that of the node; it counts as reached when the
  /// run of the whole graph has ended.
  GraphNode record(std::span<const GraphNode> after, const Event& event);
  GraphNode record(std::initializer_list<GraphNode> after, const Event& event) {
    return record(std::span(after.begin(), after.size()), event);
  }
  /// Adds a wait for what an event has captured when the graph is launched (cuGraphAddEventWaitNode); the run of the
  /// whole graph waits for it.
  GraphNode wait(std::span<const GraphNode> after, const Event& event);
  GraphNode wait(std::initializer_list<GraphNode> after, const Event& event) {
    return wait(std::span(after.begin(), after.size()), event);
  }

  /// Adds an allocation of `bytes` bytes (cuGraphAddMemAllocNode). Its address is known at once and never changes; its
  /// memory may be used by nodes after it, and, when no node of the graph frees it, by work after the launch until it
  /// is freed: by deallocate(), or by a launch of another graph with a node that frees it. Memory that a node has freed
  /// is used again by allocations whose nodes come after it. A graph with such nodes cannot be a child, and has one
  /// instance at a time. Throws invalid_value for 0 bytes, out_of_memory.
  GraphAllocation allocate(std::span<const GraphNode> after, std::size_t bytes,
                           const std::source_location& where = std::source_location::current());
  GraphAllocation allocate(std::initializer_list<GraphNode> after, std::size_t bytes,
                           const std::source_location& where = std::source_location::current()) {
    return allocate(std::span(after.begin(), after.size()), bytes, where);
  }
  /// Adds a node that frees what a node of this graph or of another one allocates (cuGraphAddMemFreeNode). Throws
  /// invalid_value for another address, and when the graph frees it already. That it comes after the allocation and its
  /// uses is for the caller to see to.
  GraphNode deallocate(std::span<const GraphNode> after, void* address);
  GraphNode deallocate(std::initializer_list<GraphNode> after, void* address) {
    return deallocate(std::span(after.begin(), after.size()), address);
  }

  /// Changes what a node does; graphs that have been instantiated are not touched (cuGraphKernelNodeSetParams and its
  /// siblings). Throws what adding the node would throw, invalid_handle for a node that is not there, invalid_value for
  /// one of another kind.
  template <class... Arguments>
  void set_launch(GraphNode node, const Kernel& kernel, const LaunchConfig& config, const Arguments&... arguments) {
    set_packed(node, kernel, config, detail::Packed<Arguments>(arguments)...);
  }
  void set_launch_with(GraphNode node, const Kernel& kernel, const LaunchConfig& config,
                       std::span<const Argument> arguments);
  void set_copy(GraphNode node, void* to, const void* from, std::size_t bytes);
  void set_fill(GraphNode node, void* to, const void* element, std::size_t element_bytes, std::size_t count);
  void set_host_function(GraphNode node, std::function<void()> function);

  /// Number of nodes.
  [[nodiscard]] std::size_t size() const;
  /// Throws invalid_handle for a node that is not there.
  [[nodiscard]] GraphNodeKind kind(GraphNode node) const;
  /// Has `node` wait for `before` too (cuGraphAddDependencies). Throws invalid_value when it does already, and for a
  /// node itself; instantiate() throws it for nodes that wait for each other in a circle.
  void add_dependency(GraphNode before, GraphNode node);
  /// Ends that (cuGraphRemoveDependencies). Throws invalid_value when it does not, not_supported for graphs with
  /// memory.
  void remove_dependency(GraphNode before, GraphNode node);
  /// The nodes that one waits for (cuGraphNodeGetDependencies).
  [[nodiscard]] std::vector<GraphNode> dependencies(GraphNode node) const;
  /// Nodes and edges in the language of Graphviz, with kernels by their names (cuGraphDebugDotPrint).
  [[nodiscard]] std::string to_dot() const;

  /// What is needed to launch the graph as it is now, found once; later changes of the graph do not touch it
  /// (cuGraphInstantiate). Throws not_supported when a graph that allocates or frees memory has an instance already.
  [[nodiscard]] GraphExec instantiate(const GraphInstantiateOptions& options = {}) const;

 private:
  friend struct detail::Access;
  explicit Graph(std::shared_ptr<detail::GraphState> state) noexcept;
  template <class... Packed>
  GraphNode launch_packed(std::initializer_list<GraphNode> after, const Kernel& kernel, const LaunchConfig& config,
                          const Packed&... packed) {
    const std::array<Argument, sizeof...(Packed)> list{packed.argument()...};
    return launch_with(std::span(after.begin(), after.size()), kernel, config,
                       std::span<const Argument>(list.data(), list.size()));
  }
  template <class... Packed>
  void set_packed(GraphNode node, const Kernel& kernel, const LaunchConfig& config, const Packed&... packed) {
    const std::array<Argument, sizeof...(Packed)> list{packed.argument()...};
    set_launch_with(node, kernel, config, std::span<const Argument>(list.data(), list.size()));
  }
  std::shared_ptr<detail::GraphState> state_;
};

/// The memory of all graphs of a device, in bytes: what their nodes allocate, and what was taken from the device for
/// them (cuDeviceGetGraphMemAttribute). It is taken when a node is added, and goes back with trim_graph_memory() and
/// before an allocation fails, once no graph holds it and nobody has to free it any more.
[[nodiscard]] WARPLOOM_API MemoryPoolStatistics graph_memory(const Device& device);
/// The high marks become the current values (cuDeviceSetGraphMemAttribute).
WARPLOOM_API void reset_graph_memory(const Device& device);
/// Gives memory that no graph uses back to the device (cuDeviceGraphMemTrim).
WARPLOOM_API void trim_graph_memory(const Device& device);

}  // namespace warploom

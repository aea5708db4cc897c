// Graph and GraphExec: a sequence of device work that is recorded and checked once and launched many times (CUDA
// Programming Guide, "CUDA Graphs").
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>

#include "warploom/device.hpp"
#include "warploom/export.hpp"
#include "warploom/module.hpp"
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

/// A graph made ready to be launched. Copies are handles to the same one.
class WARPLOOM_API GraphExec {
 public:
  ~GraphExec();
  GraphExec(const GraphExec&) = default;
  GraphExec(GraphExec&&) noexcept = default;
  GraphExec& operator=(const GraphExec&) = default;
  GraphExec& operator=(GraphExec&&) noexcept = default;

  /// Queues one run of all nodes and returns at once; it costs as much as one kernel launch, whatever the number of
  /// nodes. Runs of the same GraphExec follow each other, also on different streams. An error of a node ends the run
  /// and is thrown by a later synchronising call (cuGraphLaunch).
  void launch(const Stream& stream) const;
  /// The same on the default stream.
  void launch() const;
  /// False for a moved-from handle, which throws invalid_handle when used.
  [[nodiscard]] bool valid() const noexcept { return state_ != nullptr; }

 private:
  friend struct detail::Access;
  explicit GraphExec(std::shared_ptr<detail::GraphExecState> state) noexcept;
  std::shared_ptr<detail::GraphExecState> state_;
};

/// Work to be launched as a whole. Each adding call takes the nodes that the new one waits for, and throws at once what
/// the same work on a stream would throw. Arguments and fill elements are copied; arrays and host memory are used where
/// they are when the graph runs, and must live as long. Not safe from several threads (cuGraphCreate).
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
  /// Number of nodes.
  [[nodiscard]] std::size_t size() const;

  /// What is needed to launch the graph as it is now, found once; later changes of the graph do not touch it
  /// (cuGraphInstantiate).
  [[nodiscard]] GraphExec instantiate() const;

 private:
  template <class... Packed>
  GraphNode launch_packed(std::initializer_list<GraphNode> after, const Kernel& kernel, const LaunchConfig& config,
                          const Packed&... packed) {
    const std::array<Argument, sizeof...(Packed)> list{packed.argument()...};
    return launch_with(std::span(after.begin(), after.size()), kernel, config,
                       std::span<const Argument>(list.data(), list.size()));
  }
  std::shared_ptr<detail::GraphState> state_;
};

}  // namespace warploom

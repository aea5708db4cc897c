// _core.Graph and _core.GraphExec: device work that is recorded once and launched many times.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <vector>

#include "binding.hpp"
#include "host_function.hpp"

namespace warploom::python {
namespace {

using nb::literals::operator""_a;

struct PyGraphExec {
  Held<GraphExec> exec;
};

std::vector<GraphNode> nodes(const std::vector<std::uint32_t>& indices) {
  std::vector<GraphNode> out;
  out.reserve(indices.size());
  for (const std::uint32_t index : indices) out.push_back({index});
  return out;
}

void launch(const PyGraphExec& self, const PyStream* stream) {
  if (const Stream* queue = stream_of(stream))
    self.exec->launch(*queue);
  else
    self.exec->launch();
}

nb::tuple update(const PyGraphExec& self, const PyGraph& graph) {
  GraphUpdate done;
  {
    const WithoutGil unlocked;
    done = self.exec->update(*graph.graph);
  }
  return nb::make_tuple(static_cast<int>(done.result), done.node.index);
}

const char* kind(const PyGraph& self, std::uint32_t node) {
  static constexpr const char* names[] = {"kernel", "copy",         "fill",       "host",         "graph",
                                          "empty",  "event_record", "event_wait", "memory_alloc", "memory_free"};
  return names[static_cast<std::size_t>(self.graph->kind({node}))];
}

std::vector<std::uint32_t> dependencies(const PyGraph& self, std::uint32_t node) {
  std::vector<std::uint32_t> out;
  for (const GraphNode& before : self.graph->dependencies({node})) out.push_back(before.index);
  return out;
}

}  // namespace

void register_graph(nb::module_& m) {
  nb::class_<PyGraph>(m, "Graph", "Device work and what waits for what (cuGraphCreate). Nodes are numbered from 0.")
      .def(
          "__init__",
          [](PyGraph* self, const PyDevice& device) { new (self) PyGraph{Held<Graph>(Graph(device.device()))}; },
          "device"_a)
      .def("__len__", [](const PyGraph& self) { return self.graph->size(); })
      .def("kind", &kind, "node"_a,
           "What a node does: kernel, copy, fill, host, graph, empty, event_record, event_wait, memory_alloc or "
           "memory_free.")
      .def("dependencies", &dependencies, "node"_a, "The nodes that a node waits for.")
      .def(
          "to_dot", [](const PyGraph& self) { return self.graph->to_dot(); },
          "Nodes and edges in the language of Graphviz.")
      .def(
          "child",
          [](PyGraph& self, const std::vector<std::uint32_t>& after, const PyGraph& graph) {
            return (*self.graph).child(nodes(after), *graph.graph).index;
          },
          "after"_a, "graph"_a, "Adds all of another graph as one node.")
      .def(
          "empty",
          [](PyGraph& self, const std::vector<std::uint32_t>& after) {
            return (*self.graph).empty(nodes(after)).index;
          },
          "after"_a, "Adds a node for others to wait for.")
      .def(
          "copy",
          [](PyGraph& self, const std::vector<std::uint32_t>& after, std::uint64_t to, std::uint64_t from,
             std::size_t bytes) { return (*self.graph).copy(nodes(after), pointer(to), pointer(from), bytes).index; },
          "after"_a, "dst"_a, "src"_a, "nbytes"_a, "Adds a copy between addresses of host or device.")
      .def(
          "host_function",
          [](PyGraph& self, const std::vector<std::uint32_t>& after, nb::callable function) {
            return (*self.graph).host_function(nodes(after), host_function_of(std::move(function))).index;
          },
          "after"_a, "function"_a, "Adds a call of function(), under the rules of Stream.host_function.")
      .def(
          "record",
          [](PyGraph& self, const std::vector<std::uint32_t>& after, const PyEvent& event) {
            return (*self.graph).record(nodes(after), *event.event).index;
          },
          "after"_a, "event"_a, "Adds a record of an event, which is reached when the whole graph has run.")
      .def(
          "wait",
          [](PyGraph& self, const std::vector<std::uint32_t>& after, const PyEvent& event) {
            return (*self.graph).wait(nodes(after), *event.event).index;
          },
          "after"_a, "event"_a, "Has each launch wait for what the event has captured then.")
      .def(
          "allocate",
          [](PyGraph& self, const std::vector<std::uint32_t>& after, std::size_t bytes) {
            const GraphAllocation made = (*self.graph).allocate(nodes(after), bytes);
            return nb::make_tuple(made.node.index, reinterpret_cast<std::uint64_t>(made.address));
          },
          "after"_a, "nbytes"_a, "Adds an allocation; (node, address). Its address is the same in every run.")
      .def(
          "deallocate",
          [](PyGraph& self, const std::vector<std::uint32_t>& after, std::uint64_t address) {
            return (*self.graph).deallocate(nodes(after), pointer(address)).index;
          },
          "after"_a, "address"_a, "Adds a node that frees what a node of a graph allocates.")
      .def(
          "add_dependency",
          [](PyGraph& self, std::uint32_t before, std::uint32_t node) {
            (*self.graph).add_dependency({before}, {node});
          },
          "before"_a, "node"_a, "Has a node wait for another one too (cuGraphAddDependencies).")
      .def(
          "remove_dependency",
          [](PyGraph& self, std::uint32_t before, std::uint32_t node) {
            (*self.graph).remove_dependency({before}, {node});
          },
          "before"_a, "node"_a, "Ends that (cuGraphRemoveDependencies).")
      .def(
          "instantiate",
          [](const PyGraph& self, bool auto_free_on_launch) {
            return PyGraphExec{Held<GraphExec>(self.graph->instantiate({.auto_free_on_launch = auto_free_on_launch}))};
          },
          "auto_free_on_launch"_a = false, Unlocked(),
          "The graph as it is now, made ready to be launched (cuGraphInstantiate).");

  m.def(
      "graph_memory", [](const PyDevice& device) { return statistics_of(graph_memory(device.device())); }, "device"_a,
      "Bytes that nodes of graphs allocate, and bytes taken from the device for them: used and reserved, each current "
      "and high (cuDeviceGetGraphMemAttribute).");
  m.def(
      "reset_graph_memory", [](const PyDevice& device) { reset_graph_memory(device.device()); }, "device"_a,
      "The high marks become the current values.");
  m.def(
      "trim_graph_memory", [](const PyDevice& device) { trim_graph_memory(device.device()); }, "device"_a, Unlocked(),
      "Gives memory that no graph uses back to the device (cuDeviceGraphMemTrim).");

  nb::class_<PyGraphExec>(m, "GraphExec", "An instantiated graph (cuGraphLaunch).")
      .def("launch", &launch, "stream"_a = nb::none(), Unlocked(),
           "Queues one run of all nodes on the stream, or on the default stream.")
      .def("update", &update, "graph"_a,
           "(result, node) of cuGraphExecUpdate: 0 when later launches do what the graph says, else nothing changes "
           "and the node is the first that did not fit.")
      .def(
          "enable", [](const PyGraphExec& self, std::uint32_t node, bool on) { self.exec->enable({node}, on); },
          "node"_a, "on"_a, Unlocked(), "Switches a kernel, copy or fill on or off in later launches.")
      .def(
          "enabled", [](const PyGraphExec& self, std::uint32_t node) { return self.exec->enabled({node}); }, "node"_a)
      .def(
          "set_copy",
          [](const PyGraphExec& self, std::uint32_t node, std::uint64_t to, std::uint64_t from, std::size_t bytes) {
            self.exec->set_copy({node}, pointer(to), pointer(from), bytes);
          },
          "node"_a, "dst"_a, "src"_a, "nbytes"_a, Unlocked(), "Another copy for a node, in later launches.");
}

}  // namespace warploom::python

// Graphs: what their runs do, in which order, and what is checked when.
#include <thread>

#include "fixture.hpp"

namespace warploom::test {
namespace {

class Graphs : public FakeTest {
 protected:
  std::vector<int> log;
  Gate gate;
  // Kernels use the members above.
  void TearDown() override {
    gate.open();
    device.synchronize();
  }
};

TEST_F(Graphs, RunTheirNodesAsOftenAsTheyAreLaunched) {
  Graph graph(device);
  const GraphNode first = graph.launch({}, append, {1, 1}, &log, 1);
  const GraphNode second = graph.launch({first}, append, {1, 1}, &log, 2);
  graph.launch({first, second}, append, {1, 1}, &log, 3);
  EXPECT_EQ(graph.size(), 3u);
  const GraphExec exec = graph.instantiate();
  graph.launch({}, append, {1, 1}, &log, 4);  // later than the instantiation
  EXPECT_EQ(fake->launches, 0);
  const Stream stream(device);
  exec.launch(stream);
  exec.launch();
  device.synchronize();
  EXPECT_EQ(log, (std::vector{1, 2, 3, 1, 2, 3}));
}

TEST_F(Graphs, CopyFillAndCallFunctions) {
  DeviceArray<int> array(device, 4);
  std::vector<int> source{1, 2, 3, 4}, back(4), filled(4);
  std::thread::id thread;
  const int element = 7;
  Graph graph(device);
  const GraphNode in = graph.copy({}, array.data(), source.data(), sizeof(int) * 4);
  const GraphNode out = graph.copy({in}, back.data(), array.data(), sizeof(int) * 4);
  const GraphNode set = graph.fill({out}, array.data(), &element, sizeof(element), 3);
  const GraphNode last = graph.copy({set}, filled.data(), array.data(), sizeof(int) * 4);
  graph.host_function({last}, [&] { thread = std::this_thread::get_id(); });
  const GraphExec exec = graph.instantiate();
  source = {5, 6, 7, 8};  // read when the graph runs
  const Stream stream(device);
  exec.launch(stream);
  stream.synchronize();
  EXPECT_EQ(back, (std::vector{5, 6, 7, 8}));
  EXPECT_EQ(filled, (std::vector{7, 7, 7, 8}));
  EXPECT_NE(thread, std::thread::id());
  EXPECT_NE(thread, std::this_thread::get_id());
}

TEST_F(Graphs, AreOrderedByTheirStream) {
  Graph graph(device);
  graph.launch({}, append, {1, 1}, &log, 2);
  const GraphExec exec = graph.instantiate();
  const Stream stream(device);
  wait.launch({1, 1, 0, stream}, &gate);
  append.launch({1, 1, 0, stream}, &log, 1);
  exec.launch(stream);
  append.launch({1, 1, 0, stream}, &log, 3);
  EXPECT_FALSE(stream.query());
  gate.open();
  stream.synchronize();
  EXPECT_EQ(log, (std::vector{1, 2, 3}));
}

TEST_F(Graphs, RunsOfOneFollowEachOtherOnAnyStream) {
  Graph graph(device);
  const GraphNode hold = graph.launch({}, wait, {1, 1}, &gate);
  graph.launch({hold}, append, {1, 1}, &log, 1);
  const GraphExec exec = graph.instantiate();
  const Stream first(device, {.blocking = false}), second(device, {.blocking = false});
  exec.launch(first);
  exec.launch(second);
  append.launch({1, 1, 0, second}, &log, 2);
  EXPECT_FALSE(second.query());
  gate.open();
  second.synchronize();
  EXPECT_EQ(log, (std::vector{1, 1, 2}));
}

TEST_F(Graphs, OutliveTheirHandles) {
  const Stream stream(device);
  wait.launch({1, 1, 0, stream}, &gate);
  {
    Graph graph(device);
    graph.launch({}, append, {1, 1}, &log, 1);
    graph.instantiate().launch(stream);
  }
  append = wait = Kernel(fail);
  gate.open();
  stream.synchronize();
  EXPECT_EQ(log, std::vector{1});
}

TEST_F(Graphs, RunIndependentNodesSideBySide) {
  // Each branch waits for something that another one does.
  Gate first, second;
  const auto open_gate = [](Gate& one) { return [&one] { one.open(); }; };
  Graph graph(device);
  const GraphNode root = graph.launch({}, append, {1, 1}, &log, 1);
  const GraphNode left = graph.launch({root}, wait, {1, 1}, &first);
  const GraphNode right = graph.host_function({root}, open_gate(first));
  const GraphNode right2 = graph.launch({right}, wait, {1, 1}, &second);
  const GraphNode left2 = graph.host_function({left}, open_gate(second));
  graph.launch({left2, right2}, append, {1, 1}, &log, 2);
  const GraphExec exec = graph.instantiate();
  exec.launch();
  device.synchronize();
  EXPECT_EQ(log, (std::vector{1, 2}));
}

TEST_F(Graphs, JoinBranchesBeforeTheyGoOn) {
  std::atomic<int> done{0};
  std::vector<int> seen;
  Graph graph(device);
  std::vector<GraphNode> layer;
  for (int round = 0; round < 20; ++round) {
    std::vector<GraphNode> next;
    for (int i = 0; i < 7; ++i) next.push_back(graph.host_function(layer, [&] { ++done; }));
    layer = {graph.host_function(next, [&] { seen.push_back(done.load()); })};
  }
  const GraphExec exec = graph.instantiate();
  for (int run = 0; run < 3; ++run) exec.launch();
  device.synchronize();
  ASSERT_EQ(seen.size(), 60u);
  for (int i = 0; i < 60; ++i) EXPECT_EQ(seen[static_cast<std::size_t>(i)], 7 * (i + 1));
}

TEST_F(Graphs, DoNothingAfterAnErrorInABranch) {
  Graph graph(device);
  const GraphNode bad = graph.launch({}, fail, {1, 1}, static_cast<int>(ErrorId::launch_resources));
  const GraphNode good = graph.empty({});
  graph.launch({bad, good}, append, {1, 1}, &log, 1);
  graph.instantiate().launch();
  EXPECT_ERROR(device.synchronize(), launch_resources);
  EXPECT_TRUE(log.empty());
}

TEST_F(Graphs, TakeChildGraphs) {
  Graph inner(device);
  const GraphNode a = inner.launch({}, append, {1, 1}, &log, 2);
  inner.launch({a}, append, {1, 1}, &log, 3);
  Graph graph(device);
  const GraphNode first = graph.launch({}, append, {1, 1}, &log, 1);
  const GraphNode child = graph.child({first}, inner);
  const GraphNode nothing = graph.child({child}, Graph(device));
  graph.launch({nothing}, append, {1, 1}, &log, 4);
  inner.launch({a}, append, {1, 1}, &log, 9);  // later than it became a child
  const GraphExec exec = graph.instantiate();
  exec.launch();
  device.synchronize();
  EXPECT_EQ(log, (std::vector{1, 2, 3, 4}));
  Graph other(device);
  const GraphNode b = other.launch({}, append, {1, 1}, &log, 5);
  other.launch({b}, append, {1, 1}, &log, 6);
  exec.set_child(child, other);
  exec.launch();
  device.synchronize();
  EXPECT_EQ(log, (std::vector{1, 2, 3, 4, 1, 5, 6, 4}));
  EXPECT_ERROR(exec.set_child(child, inner), invalid_value);
}

TEST_F(Graphs, RecordAndAwaitEvents) {
  const Event begin(device), end(device), outside(device);
  const Stream stream(device, {.blocking = false}), other(device, {.blocking = false});
  Graph graph(device);
  const GraphNode awaited = graph.wait({}, outside);
  const GraphNode first = graph.record({awaited}, begin);
  const GraphNode work = graph.launch({first}, append, {1, 1}, &log, 1);
  graph.record({work}, end);
  const GraphExec exec = graph.instantiate();
  EXPECT_TRUE(end.query());
  wait.launch({1, 1, 0, other}, &gate);
  outside.record(other);
  exec.launch(stream);
  EXPECT_FALSE(end.query());
  EXPECT_TRUE(log.empty());
  gate.open();
  end.synchronize();
  EXPECT_EQ(log, std::vector{1});
  EXPECT_GE(Event::elapsed_ms(begin, end), 0);
}

TEST_F(Graphs, UpdateWhatIsTheSameInShape) {
  const auto make = [&](int value, bool chain) {
    Graph graph(device);
    const GraphNode a = graph.launch({}, append, {1, 1}, &log, value);
    if (chain)
      graph.launch({a}, append, {1, 1}, &log, value + 1);
    else
      graph.launch({}, append, {1, 1}, &log, value + 1);
    return graph;
  };
  const GraphExec exec = make(1, true).instantiate();
  const Stream stream(device);
  wait.launch({1, 1, 0, stream}, &gate);
  exec.launch(stream);
  EXPECT_EQ(exec.update(make(5, true)).result, GraphUpdateResult::success);
  exec.launch(stream);
  gate.open();
  stream.synchronize();
  EXPECT_EQ(log, (std::vector{1, 2, 5, 6}));

  GraphUpdate update = exec.update(make(7, false));
  EXPECT_EQ(update.result, GraphUpdateResult::topology_changed);
  EXPECT_EQ(update.node.index, 1u);
  Graph more = make(7, true);
  more.empty({});
  EXPECT_EQ(exec.update(more).result, GraphUpdateResult::topology_changed);
  Graph another(device);
  const GraphNode a = another.launch({}, append, {1, 1}, &log, 7);
  another.host_function({a}, [] {});
  update = exec.update(another);
  EXPECT_EQ(update.result, GraphUpdateResult::node_type_changed);
  EXPECT_EQ(update.node.index, 1u);
  Graph together(device);
  LaunchConfig config{1, 1};
  config.cooperative = true;
  const GraphNode c = together.launch({}, append, config, &log, 7);
  together.launch({c}, append, {1, 1}, &log, 8);
  EXPECT_EQ(exec.update(together).result, GraphUpdateResult::parameters_changed);
  log.clear();
  exec.launch();
  device.synchronize();
  EXPECT_EQ(log, (std::vector{5, 6}));
}

TEST_F(Graphs, ChangeSingleNodes) {
  DeviceArray<int> array(device, 2);
  std::vector<int> source{1, 2}, source2{3, 4}, back(2);
  const int seven = 7, eight = 8;
  Graph graph(device);
  const GraphNode in = graph.copy({}, array.data(), source.data(), 8);
  const GraphNode set = graph.fill({in}, array.data(), &seven, 4, 1);
  const GraphNode out = graph.copy({set}, back.data(), array.data(), 8);
  const GraphNode add = graph.launch({out}, append, {1, 1}, &log, 1);
  const GraphNode call = graph.host_function({add}, [&] { log.push_back(2); });
  // [change]
  const GraphExec exec = graph.instantiate();
  exec.set_copy(in, array.data(), source2.data(), 8);
  exec.set_fill(set, array.data(), &eight, 4, 1);
  exec.set_launch(add, append, {1, 1}, &log, 3);
  exec.set_host_function(call, [&] { log.push_back(4); });
  exec.launch();
  // [/change]
  device.synchronize();
  EXPECT_EQ(back, (std::vector{8, 4}));
  EXPECT_EQ(log, (std::vector{3, 4}));

  exec.enable(set, false);
  exec.enable(add, false);
  EXPECT_FALSE(exec.enabled(set));
  exec.set_launch(add, append, {1, 1}, &log, 5);  // stays switched off
  exec.launch();
  device.synchronize();
  EXPECT_EQ(back, (std::vector{3, 4}));
  EXPECT_EQ(log, (std::vector{3, 4, 4}));
  exec.enable(add, true);
  EXPECT_TRUE(exec.enabled(add));
  exec.launch();
  device.synchronize();
  EXPECT_EQ(log, (std::vector{3, 4, 4, 5, 4}));

  EXPECT_ERROR(exec.set_copy(add, array.data(), source.data(), 8), invalid_value);
  EXPECT_ERROR(exec.set_copy({9}, array.data(), source.data(), 8), invalid_handle);
  EXPECT_ERROR(exec.set_launch(add, append, {1, 2000}, &log, 1), launch_dimensions);
  EXPECT_ERROR(exec.enable(call, false), invalid_value);
  EXPECT_ERROR((void)exec.enabled({9}), invalid_handle);
  // The graph itself is as it was.
  graph.set_launch(add, append, {1, 1}, &log, 6);
  EXPECT_ERROR(graph.set_launch(in, append, {1, 1}, &log, 6), invalid_value);
  EXPECT_ERROR((void)graph.kind({9}), invalid_handle);
  log.clear();
  graph.instantiate().launch();
  device.synchronize();
  EXPECT_EQ(back, (std::vector{7, 2}));
  EXPECT_EQ(log, (std::vector{6, 2}));
}

TEST_F(Graphs, EndAtTheFirstError) {
  Graph graph(device);
  const GraphNode bad = graph.launch({}, fail, {1, 1}, static_cast<int>(ErrorId::illegal_address));
  graph.launch({bad}, append, {1, 1}, &log, 1);
  const GraphExec exec = graph.instantiate();
  exec.launch();
  EXPECT_ERROR(device.synchronize(), illegal_address);
  EXPECT_TRUE(log.empty());
  device.reset();
  EXPECT_ERROR(exec.launch(), invalid_handle);
  EXPECT_ERROR((void)graph.instantiate(), invalid_handle);
}

TEST_F(Graphs, CheckWhatIsAdded) {
  Graph graph(device);
  EXPECT_ERROR(graph.launch({}, append, {1, 2000}, &log, 1), launch_dimensions);
  EXPECT_ERROR(graph.launch({}, append, {1, 1}, &log), launch_arguments);
  EXPECT_ERROR(graph.launch({{3}}, append, {1, 1}, &log, 1), invalid_handle);
  Graph two(device);
  const GraphNode node = two.empty({});
  EXPECT_ERROR(two.empty({node, node}), invalid_value);
  EXPECT_ERROR(graph.launch({}, append, {1, 1, 0, Stream(device)}, &log, 1), invalid_value);
  EXPECT_ERROR(graph.copy({}, nullptr, &log, 8), invalid_value);
  EXPECT_ERROR(graph.fill({}, &log, nullptr, 4, 1), invalid_value);
  EXPECT_ERROR(graph.host_function({}, nullptr), invalid_value);
  const Device other = open();
  const Module other_module = other.load_ptx("fake", "fake.ptx");
  EXPECT_ERROR(graph.launch({}, other_module.kernel("append"), {1, 1}, &log, 1), invalid_handle);
  EXPECT_EQ(graph.size(), 0u);
  const GraphExec nothing = graph.instantiate();
  nothing.launch();
  EXPECT_ERROR(nothing.launch(Stream(other)), invalid_handle);
  const Graph moved = std::move(graph);
  EXPECT_ERROR((void)graph.instantiate(), invalid_handle);
  EXPECT_EQ(moved.size(), 0u);
}

TEST_F(Graphs, GetAndLoseDependencies) {
  Graph graph(device);
  const GraphNode three = graph.launch({}, append, {1, 1}, &log, 3), two = graph.launch({}, append, {1, 1}, &log, 2),
                  one = graph.launch({}, append, {1, 1}, &log, 1);
  graph.add_dependency(one, two);
  graph.add_dependency(two, three);
  graph.instantiate().launch();
  device.synchronize();
  EXPECT_EQ(log, (std::vector{1, 2, 3}));
  EXPECT_ERROR(graph.add_dependency(one, two), invalid_value);
  EXPECT_ERROR(graph.add_dependency(one, one), invalid_value);
  EXPECT_ERROR(graph.add_dependency(one, {7}), invalid_handle);
  graph.add_dependency(three, one);  // a circle is found when the graph is instantiated, as on an H200
  EXPECT_ERROR((void)graph.instantiate(), invalid_value);
  graph.remove_dependency(three, one);
  EXPECT_ERROR(graph.remove_dependency(three, one), invalid_value);
  EXPECT_ERROR(graph.remove_dependency({7}, one), invalid_handle);
  graph.remove_dependency(one, two);
  graph.add_dependency(three, one);
  log.clear();
  graph.instantiate().launch();
  device.synchronize();
  EXPECT_EQ(log, (std::vector{2, 3, 1}));
  const GraphAllocation memory = graph.allocate({}, 16);
  graph.add_dependency(one, memory.node);
  EXPECT_ERROR(graph.remove_dependency(one, memory.node), not_supported);
}

}  // namespace
}  // namespace warploom::test

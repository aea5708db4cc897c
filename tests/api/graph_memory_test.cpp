// Memory nodes of graphs: addresses that stay, lifetimes within a graph, across graphs and outside of them.
#include <numeric>

#include "fixture.hpp"

namespace warploom::test {
namespace {

using Kind = GraphNodeKind;

class GraphMemory : public FakeTest {
 protected:
  Stream stream{device}, other{device};
  Gate gate;
  std::vector<int> numbers{1, 2, 3, 4}, back = std::vector<int>(4);

  // A captured graph that copies numbers through memory of its own.
  Graph captured(bool freed, void** address = nullptr) {
    stream.begin_capture();
    void* const memory = allocate(stream, 16);
    copy(stream, memory, numbers.data(), 16);
    copy(stream, back.data(), memory, 16);
    if (freed) deallocate(stream, memory);
    if (address != nullptr) *address = memory;
    return stream.end_capture();
  }
  [[nodiscard]] std::uint64_t in_use() const { return graph_memory(device).used_current; }
};

TEST_F(GraphMemory, IsCapturedAsNodes) {
  const Graph graph = captured(true);
  ASSERT_EQ(graph.size(), 4u);
  const Kind kinds[] = {Kind::memory_alloc, Kind::copy, Kind::copy, Kind::memory_free};
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(graph.kind({i}), kinds[i]);
  EXPECT_NE(graph.to_dot().find("0 alloc 16 bytes"), std::string::npos) << graph.to_dot();
  const GraphExec exec = graph.instantiate();
  for (int run = 0; run < 3; ++run) {
    std::iota(numbers.begin(), numbers.end(), run);
    exec.launch(stream);
    stream.synchronize();
    EXPECT_EQ(back, numbers);
  }
}

TEST_F(GraphMemory, LivesAsLongAsItsGraph) {
  EXPECT_EQ(in_use(), 0u);
  {
    const Graph graph = captured(true);
    EXPECT_EQ(in_use(), 512u);
    graph.instantiate().launch(stream);
  }
  device.synchronize();
  EXPECT_EQ(in_use(), 0u);
  EXPECT_EQ(graph_memory(device).used_high, 512u);
  EXPECT_NE(graph_memory(device).reserved_current, 0u);
  reset_graph_memory(device);
  EXPECT_EQ(graph_memory(device).used_high, 0u);
  trim_graph_memory(device);
  EXPECT_EQ(graph_memory(device).reserved_current, 0u);
}

TEST_F(GraphMemory, OfNodesHasTheSameAddressInEveryRun) {
  // [nodes]
  Graph graph(device);
  const GraphAllocation scratch = graph.allocate({}, 16);
  const GraphNode in = graph.copy({scratch.node}, scratch.address, numbers.data(), 16);
  const GraphNode out = graph.copy({in}, back.data(), scratch.address, 16);
  graph.deallocate({out}, scratch.address);
  const GraphExec exec = graph.instantiate();
  exec.launch();
  exec.launch();
  device.synchronize();
  // [/nodes]
  EXPECT_EQ(back, numbers);
  EXPECT_EQ(graph.kind({0}), Kind::memory_alloc);
  EXPECT_EQ(graph.kind({3}), Kind::memory_free);
}

TEST_F(GraphMemory, IsUsedAgainByNodesAfterTheFree) {
  Graph graph(device);
  const GraphAllocation first = graph.allocate({}, 1000);
  const GraphNode freed = graph.deallocate({first.node}, first.address);
  const GraphAllocation beside = graph.allocate({first.node}, 1000);
  const GraphAllocation large = graph.allocate({freed}, 5000);
  const GraphNode later = graph.empty({freed});
  const GraphAllocation again = graph.allocate({later}, 10);
  EXPECT_NE(beside.address, first.address);
  EXPECT_NE(large.address, first.address);
  EXPECT_EQ(again.address, first.address);
  EXPECT_EQ(in_use(), 1024u * 2 + 5120u);
  // Freed under its new name.
  graph.deallocate({again.node}, again.address);
  EXPECT_ERROR(graph.deallocate({again.node}, again.address), invalid_value);
}

TEST_F(GraphMemory, MustBeFreedBeforeTheNextLaunch) {
  void* address = nullptr;
  const Graph graph = captured(false, &address);
  const GraphExec exec = graph.instantiate();
  EXPECT_ERROR(deallocate(stream, address), invalid_value);
  exec.launch(stream);
  EXPECT_ERROR(exec.launch(stream), invalid_value);
  // After the graph.
  fill(stream, address, numbers.data(), 4, 4);
  copy(stream, back.data(), address, 16);
  deallocate(stream, address);
  EXPECT_ERROR(deallocate(stream, address), invalid_value);
  stream.synchronize();
  EXPECT_EQ(back, std::vector(4, 1));
  exec.launch(stream);
  deallocate(device, address);
  EXPECT_EQ(back, numbers);
  exec.launch(stream);
  deallocate(other, address);
  device.synchronize();
}

TEST_F(GraphMemory, IsFreedByTheNextLaunchIfAskedTo) {
  void* address = nullptr;
  const Graph graph = captured(false, &address);
  const GraphExec exec = graph.instantiate({.auto_free_on_launch = true});
  for (int run = 0; run < 3; ++run) exec.launch(stream);
  deallocate(stream, address);
  EXPECT_ERROR(deallocate(stream, address), invalid_value);
  exec.launch(stream);
  device.synchronize();
}

TEST_F(GraphMemory, OutlivesItsGraphUntilItIsFreed) {
  void* address = nullptr;
  captured(false, &address).instantiate().launch(stream);
  device.synchronize();
  EXPECT_EQ(in_use(), 512u);
  copy(device, back.data(), address, 16);
  EXPECT_EQ(back, numbers);
  deallocate(stream, address);
  device.synchronize();
  EXPECT_EQ(in_use(), 0u);
  EXPECT_ERROR(deallocate(stream, address), invalid_value);
}

TEST_F(GraphMemory, IsFreedOnceAndByThoseWhoMay) {
  void* address = nullptr;
  const Graph graph = captured(true, &address);
  const GraphExec exec = graph.instantiate();
  exec.launch(stream);
  EXPECT_ERROR(deallocate(stream, address), invalid_value);
  EXPECT_ERROR(deallocate(device, address), invalid_value);

  Graph nodes(device);
  const GraphAllocation one = nodes.allocate({}, 100);
  EXPECT_ERROR(nodes.deallocate({one.node}, &address), invalid_value);
  EXPECT_ERROR(nodes.deallocate({one.node}, nullptr), invalid_value);
  EXPECT_ERROR(nodes.deallocate({{7}}, one.address), invalid_handle);
  nodes.deallocate({one.node}, one.address);
  EXPECT_ERROR(nodes.deallocate({one.node}, one.address), invalid_value);
  EXPECT_ERROR((void)nodes.allocate({}, 0), invalid_value);
  EXPECT_ERROR((void)nodes.allocate({{7}}, 16), invalid_handle);
  EXPECT_ERROR((void)nodes.allocate({}, FakeDevice::kMemory + 1), out_of_memory);
  EXPECT_EQ(nodes.size(), 2u);
}

TEST_F(GraphMemory, IsFreedByAnotherGraph) {
  void* address = nullptr;
  const Graph maker = captured(false, &address);
  Graph freer(device);
  freer.deallocate({}, address);
  const GraphExec make = maker.instantiate(), free = freer.instantiate();
  EXPECT_ERROR(free.launch(stream), invalid_value);
  for (int run = 0; run < 2; ++run) {
    make.launch(stream);
    free.launch(stream);
  }
  EXPECT_ERROR(free.launch(stream), invalid_value);
  stream.synchronize();
}

TEST_F(GraphMemory, OrdinaryMemoryIsNotFreedByACapture) {
  void* const memory = allocate(stream, 16);
  stream.begin_capture();
  deallocate(stream, nullptr);
  EXPECT_EQ(allocate(stream, 0), nullptr);
  EXPECT_ERROR(deallocate(stream, memory), invalid_value);
  EXPECT_EQ(stream.end_capture().size(), 0u);  // the capture goes on, as on an H200
  deallocate(stream, memory);
}

TEST_F(GraphMemory, OfACaptureThatFailedGoesBack) {
  stream.begin_capture();
  (void)allocate(stream, 16);
  EXPECT_ERROR((void)allocate(stream, FakeDevice::kMemory + 1), out_of_memory);
  EXPECT_ERROR(stream.synchronize(), stream_capture_unsupported);
  EXPECT_ERROR((void)stream.end_capture(), stream_capture_invalidated);
  EXPECT_EQ(in_use(), 0u);
}

TEST_F(GraphMemory, LetsItsGraphHaveOneInstanceAndNoParent) {
  const Graph graph = captured(true);
  Graph parent(device);
  EXPECT_ERROR(parent.child({}, graph), not_supported);
  {
    const GraphExec exec = graph.instantiate();
    EXPECT_ERROR((void)graph.instantiate(), not_supported);
    EXPECT_EQ(exec.update(graph).result, GraphUpdateResult::success);
    EXPECT_ERROR(exec.enable({0}, false), invalid_value);
    exec.launch(stream);
    const Graph another = captured(true);
    EXPECT_EQ(exec.update(another).result, GraphUpdateResult::success);
    EXPECT_ERROR((void)another.instantiate(), not_supported);
    const GraphExec first = graph.instantiate();
    EXPECT_ERROR(exec.update(graph), not_supported);
    exec.launch(stream);
    first.launch(stream);
  }
  graph.instantiate().launch(other);
  device.synchronize();
  EXPECT_EQ(back, numbers);
}

TEST_F(GraphMemory, OfArraysIsFreedWhereTheyEnd) {
  const MemoryPool pool(device);
  stream.begin_capture();
  {
    DeviceArray<int> array(pool, stream, 4);
    array.copy_from(numbers, stream);
    array.copy_to(back, stream);
  }
  DeviceArray<int> kept(pool, stream, 4);
  kept.fill(7, stream);
  const Graph graph = stream.end_capture();
  ASSERT_EQ(graph.size(), 6u);
  EXPECT_EQ(graph.kind({3}), Kind::memory_free);
  EXPECT_EQ(pool.statistics().used_current, 0u);
  EXPECT_EQ(in_use(), 512u);  // the second one is where the first was
  const GraphExec exec = graph.instantiate();
  exec.launch(stream);
  EXPECT_ERROR(exec.launch(stream), invalid_value);
  kept.copy_to(back);
  EXPECT_EQ(back, std::vector(4, 7));
  kept = DeviceArray<int>(device, 1);
  exec.launch(stream);
  device.synchronize();
}

TEST_F(GraphMemory, IsGoneAfterAReset) {
  void* address = nullptr;
  {
    const Graph graph = captured(false, &address);
    graph.instantiate().launch(stream);
    device.reset();
    EXPECT_EQ(in_use(), 0u);
    EXPECT_ERROR((void)graph.instantiate(), invalid_handle);
  }
  const Stream fresh(device);
  EXPECT_ERROR(deallocate(fresh, address), invalid_value);
  EXPECT_EQ(in_use(), 0u);
  stream = other = fresh;
}

TEST_F(GraphMemory, PlainAllocationsAreFreedAtOnce) {
  EXPECT_EQ(allocate(device, 0), nullptr);
  deallocate(device, nullptr);
  void* const memory = allocate(device, 100);
  wait.launch({1, 1, 0, stream}, &gate);
  gate.open();
  deallocate(device, memory);
  EXPECT_TRUE(stream.query());
  EXPECT_ERROR(deallocate(device, memory), invalid_value);
  EXPECT_ERROR(deallocate(device, &gate), invalid_value);
}

}  // namespace
}  // namespace warploom::test

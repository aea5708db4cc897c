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

}  // namespace
}  // namespace warploom::test

// Stream capture: what becomes of work on captured streams, and the errors of calls that must not be.
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include "fixture.hpp"

namespace warploom::test {
namespace {

struct CaptureFixture : FakeTest {
  using FakeTest::open;
  static Device open_device(FakeDevice** fake) { return open(fake); }
  void TestBody() override {}
};

class Captures : public FakeTest {
 protected:
  std::vector<int> log;
  Gate gate;
  Stream stream{device}, other{device};

  void add(const Stream& on, int value) { append.launch({1, 1, 0, on}, &log, value); }
  void TearDown() override {
    gate.open();
    device.synchronize();
  }
};

using Kind = GraphNodeKind;

TEST_F(Captures, RecordInsteadOfRunning) {
  DeviceArray<int> array(device, 4);
  std::vector<int> source{1, 2, 3, 4}, back(4);
  EXPECT_EQ(stream.capture_status(), CaptureStatus::none);
  EXPECT_EQ(stream.capture_id(), 0u);
  stream.begin_capture();
  EXPECT_EQ(stream.capture_status(), CaptureStatus::active);
  EXPECT_NE(stream.capture_id(), 0u);
  array.copy_from(source, stream);
  array.fill(7, stream);
  array.copy_to(back, stream);
  add(stream, 1);
  stream.host_function([&] { log.push_back(2); });
  const Graph graph = stream.end_capture();
  EXPECT_EQ(stream.capture_status(), CaptureStatus::none);
  ASSERT_EQ(graph.size(), 5u);
  const Kind kinds[] = {Kind::copy, Kind::fill, Kind::copy, Kind::kernel, Kind::host};
  for (std::uint32_t i = 0; i < 5; ++i) {
    EXPECT_EQ(graph.kind({i}), kinds[i]);
    ASSERT_EQ(graph.dependencies({i}).size(), i == 0 ? 0u : 1u);
    if (i == 0) continue;
    EXPECT_EQ(graph.dependencies({i})[0].index, i - 1);
  }
  device.synchronize();
  EXPECT_TRUE(log.empty());
  const GraphExec exec = graph.instantiate();
  exec.launch(stream);
  exec.launch(stream);
  stream.synchronize();
  EXPECT_EQ(back, std::vector(4, 7));
  EXPECT_EQ(log, (std::vector{1, 2, 1, 2}));
}

TEST_F(Captures, ForkAndJoinByEvents) {
  // [capture]
  const Event fork(device), join(device);
  stream.begin_capture();
  add(stream, 1);
  fork.record(stream);
  other.wait(fork);
  EXPECT_EQ(other.capture_status(), CaptureStatus::active);
  EXPECT_EQ(other.capture_id(), stream.capture_id());
  add(other, 2);
  join.record(other);
  add(stream, 3);
  stream.wait(join);
  add(stream, 4);
  const Graph graph = stream.end_capture();
  // [/capture]
  EXPECT_EQ(other.capture_status(), CaptureStatus::none);
  ASSERT_EQ(graph.size(), 4u);
  const auto indices = [&](std::uint32_t node) {
    std::vector<std::uint32_t> out;
    for (const GraphNode& n : graph.dependencies({node})) out.push_back(n.index);
    return out;
  };
  using Nodes = std::vector<std::uint32_t>;
  EXPECT_EQ(indices(0), Nodes{});
  EXPECT_EQ(indices(1), Nodes{0});
  EXPECT_EQ(indices(2), Nodes{0});
  EXPECT_EQ(indices(3), (Nodes{1, 2}));
  EXPECT_NE(graph.to_dot().find("\"2\" -> \"3\""), std::string::npos) << graph.to_dot();
}

TEST_F(Captures, KeepDependenciesThatFollowFromOthers) {
  const Event fork(device), join(device);
  stream.begin_capture();
  add(stream, 1);
  fork.record(stream);
  other.wait(fork);
  add(other, 2);
  join.record(other);
  for (const Event& event : {join, join, fork}) stream.wait(event);
  add(stream, 3);
  EXPECT_EQ(stream.end_capture().dependencies({2}).size(), 2u);  // as an H200's driver
}

TEST_F(Captures, TakeAGraphAsAChild) {
  stream.begin_capture();
  add(stream, 1);
  add(stream, 2);
  const Graph inner = stream.end_capture();
  EXPECT_ERROR(stream.add_graph(inner), illegal_state);
  stream.begin_capture();
  add(stream, 0);
  stream.add_graph(inner);
  add(stream, 3);
  const Graph graph = stream.end_capture();
  ASSERT_EQ(graph.size(), 3u);
  EXPECT_EQ(graph.kind({1}), Kind::graph);
  graph.instantiate().launch();
  device.synchronize();
  EXPECT_EQ(log, (std::vector{0, 1, 2, 3}));
  stream.begin_capture();
  EXPECT_ERROR(inner.instantiate().launch(stream), stream_capture_unsupported);
  EXPECT_ERROR((void)stream.end_capture(), stream_capture_invalidated);
}

TEST_F(Captures, MayBeEmpty) {
  stream.begin_capture();
  const Graph graph = stream.end_capture();
  EXPECT_EQ(graph.size(), 0u);
  graph.instantiate().launch(stream);
  stream.synchronize();
}

TEST_F(Captures, AreBegunAndEndedInOnePlace) {
  EXPECT_ERROR((void)stream.end_capture(), illegal_state);
  EXPECT_ERROR(device.legacy_stream().begin_capture(), stream_capture_unsupported);
  EXPECT_ERROR(stream.begin_capture(static_cast<CaptureMode>(7)), invalid_value);
  stream.begin_capture();
  EXPECT_ERROR(stream.begin_capture(), illegal_state);
  EXPECT_EQ(stream.end_capture().size(), 0u);
}

TEST_F(Captures, MustBeEndedWhereTheyBegan) {
  const Event fork(device);
  stream.begin_capture();
  fork.record(stream);
  other.wait(fork);
  EXPECT_ERROR((void)other.end_capture(), stream_capture_unmatched);
  EXPECT_ERROR((void)stream.end_capture(), stream_capture_invalidated);
}

TEST_F(Captures, MustBeJoined) {
  const Event fork(device);
  stream.begin_capture();
  fork.record(stream);
  other.wait(fork);
  add(other, 1);
  EXPECT_ERROR((void)stream.end_capture(), stream_capture_unjoined);
  // Both streams are as they were.
  add(other, 2);
  add(stream, 3);
  other.synchronize();
  stream.synchronize();
  EXPECT_EQ(log.size(), 2u);
}

TEST_F(Captures, MustBeJoinedAfterTheLastWork) {
  const Event fork(device), join(device);
  stream.begin_capture();
  fork.record(stream);
  other.wait(fork);
  add(other, 1);
  join.record(other);
  add(other, 2);
  stream.wait(join);
  EXPECT_ERROR((void)stream.end_capture(), stream_capture_unjoined);
}

TEST_F(Captures, EndInTheirThread) {
  for (const CaptureMode mode : {CaptureMode::global, CaptureMode::this_thread}) {
    stream.begin_capture(mode);
    std::thread([&] { EXPECT_ERROR((void)stream.end_capture(), stream_capture_wrong_thread); }).join();
    EXPECT_ERROR((void)stream.end_capture(), illegal_state);
  }
  stream.begin_capture(CaptureMode::relaxed);
  std::thread([&] { EXPECT_EQ(stream.end_capture().size(), 0u); }).join();
}

TEST_F(Captures, CannotBeMerged) {
  const Event event(device);
  stream.begin_capture();
  other.begin_capture();
  event.record(stream);
  EXPECT_ERROR(other.wait(event), stream_capture_merge);
  EXPECT_ERROR((void)stream.end_capture(), stream_capture_invalidated);
  EXPECT_ERROR((void)other.end_capture(), stream_capture_invalidated);
}

TEST_F(Captures, DoNotWaitForWhatIsOutside) {
  const Event outside(device), never(device);
  outside.record(other);
  stream.begin_capture();
  stream.wait(never);
  EXPECT_ERROR(stream.wait(outside), stream_capture_isolation);
  EXPECT_EQ(stream.capture_status(), CaptureStatus::invalidated);
  EXPECT_ERROR(add(stream, 1), stream_capture_invalidated);
  EXPECT_ERROR((void)stream.end_capture(), stream_capture_invalidated);
}

TEST_F(Captures, RefuseToBeWaitedFor) {
  const std::function<void()> calls[] = {[&] { stream.synchronize(); }, [&] { (void)stream.query(); },
                                         [&] { device.synchronize(); }};
  for (const auto& call : calls) {
    stream.begin_capture();
    EXPECT_ERROR(call(), stream_capture_unsupported);
    EXPECT_EQ(stream.capture_status(), CaptureStatus::invalidated);
    EXPECT_ERROR((void)stream.end_capture(), stream_capture_invalidated);
  }
}

TEST_F(Captures, RefuseToBeAskedThroughTheirEvents) {
  const Event event(device);
  stream.begin_capture();
  event.record(stream);
  EXPECT_ERROR((void)event.query(), captured_event);
  EXPECT_ERROR((void)stream.end_capture(), stream_capture_invalidated);
  EXPECT_ERROR(event.synchronize(), invalid_value);
  EXPECT_ERROR(other.wait(event), invalid_value);
  EXPECT_ERROR((void)Event::elapsed_ms(event, event), invalid_value);
  event.record(other);
  event.synchronize();
}

TEST_F(Captures, KeepTheLegacyStreamAway) {
  DeviceArray<int> array(device, 1);
  std::vector<int> one(1);
  const std::function<void()> calls[] = {[&] { append.launch({1, 1}, &log, 1); }, [&] { array.copy_from(one); },
                                         [&] { Event(device).record(); },
                                         [&] { device.legacy_stream().synchronize(); }};
  for (const auto& call : calls) {
    stream.begin_capture();
    EXPECT_ERROR(call(), stream_capture_implicit);
    EXPECT_ERROR((void)stream.end_capture(), stream_capture_invalidated);
  }
  const Stream apart(device, {.blocking = false});
  apart.begin_capture();
  append.launch({1, 1}, &log, 1);
  EXPECT_EQ(apart.end_capture().size(), 0u);
  device.synchronize();
  EXPECT_EQ(log, std::vector{1});
}

TEST_F(Captures, ForbidUnsafeCallsByTheirMode) {
  const auto allocate = [&] { DeviceArray<int>(device, 1); };
  const auto elsewhere = [](const std::function<void()>& call) { std::thread(call).join(); };
  stream.begin_capture(CaptureMode::global);
  elsewhere([&] { EXPECT_ERROR(allocate(), stream_capture_unsupported); });
  EXPECT_ERROR((void)stream.end_capture(), stream_capture_invalidated);

  stream.begin_capture(CaptureMode::global);
  elsewhere([&] {
    EXPECT_EQ(exchange_capture_mode(CaptureMode::this_thread), CaptureMode::global);
    allocate();
  });
  EXPECT_EQ(exchange_capture_mode(CaptureMode::relaxed), CaptureMode::global);
  allocate();
  EXPECT_EQ(exchange_capture_mode(CaptureMode::global), CaptureMode::relaxed);
  EXPECT_EQ(stream.end_capture().size(), 0u);

  stream.begin_capture(CaptureMode::this_thread);
  elsewhere(allocate);
  EXPECT_ERROR(allocate(), stream_capture_unsupported);
  EXPECT_ERROR((void)stream.end_capture(), stream_capture_invalidated);

  stream.begin_capture(CaptureMode::relaxed);
  elsewhere(allocate);
  allocate();
  EXPECT_EQ(stream.end_capture().size(), 0u);
}

TEST_F(Captures, EndWithTheirStream) {
  {
    const Stream gone(device);
    gone.begin_capture();
    add(gone, 1);
  }
  const DeviceArray<int> array(device, 1);
  device.synchronize();
  EXPECT_TRUE(log.empty());
}

TEST_F(Captures, KeepTheWorkOfAStreamThatIsGone) {
  const Event fork(device), join(device);
  stream.begin_capture();
  fork.record(stream);
  {
    const Stream gone(device);
    gone.wait(fork);
    add(gone, 1);
    join.record(gone);
  }
  EXPECT_EQ(stream.capture_status(), CaptureStatus::active);
  stream.wait(join);
  EXPECT_EQ(stream.end_capture().size(), 1u);
  stream.begin_capture();
  fork.record(stream);
  {
    const Stream gone(device);
    gone.wait(fork);
    add(gone, 1);
  }
  EXPECT_ERROR((void)stream.end_capture(), stream_capture_unjoined);
}

TEST_F(Captures, EndWithAReset) {
  stream.begin_capture();
  device.reset();
  EXPECT_ERROR((void)stream.end_capture(), invalid_handle);
  const DeviceArray<int> array(device, 1);
  stream = other = Stream(device);
}

TEST_F(Captures, RecordPriorities) {
  const Stream urgent(device, {.priority = -3});
  int seen = 1;
  fake->define("priority", {8}, [](const device::Launch& launch) -> Result<void> {
    *param<int*>(launch, 0) = launch.priority;
    return {};
  });
  const Kernel kernel = device.load_ptx("fake", "fake.ptx").kernel("priority");
  urgent.begin_capture();
  kernel.launch({1, 1, 0, urgent}, &seen);
  urgent.end_capture().instantiate().launch();
  device.synchronize();
  EXPECT_EQ(seen, -3);
  kernel.launch({1, 1}, &seen);
  device.synchronize();
  EXPECT_EQ(seen, 0);
}

// Every call of the table gives the code that it gave on a GPU, and leaves the capture in the same state.
TEST(CaptureCodes, AreThoseOfAGpu) {
  FakeDevice* fake = nullptr;
  const Device device = CaptureFixture::open_device(&fake);
  const Module module = device.load_ptx("fake", "fake.ptx");
  const Kernel kernel = module.kernel("_ZN1a4pickEi");
  const Stream plain(device), apart(device, {.blocking = false});
  const Event before(device), timed(device);
  before.record(plain);
  timed.record(plain);
  device.synchronize();
  DeviceArray<int> array(device, 16), array2(device, 16);
  std::vector<int> host(16);
  std::vector<void*> spare(12);
  for (void*& memory : spare) memory = allocate(device, 256);
  Stream stream(device);
  Event captured(device);
  const auto launch = [&](const Stream& on) { kernel.launch({1, 1, 0, on}, 1); };
  const Stream legacy = device.legacy_stream();
  const std::map<std::string, std::function<void()>> calls{
      {"cuStreamSynchronize(capturing)", [&] { stream.synchronize(); }},
      {"cuStreamQuery(capturing)", [&] { (void)stream.query(); }},
      {"cuStreamSynchronize(other)", [&] { plain.synchronize(); }},
      {"cuStreamQuery(other)", [&] { (void)plain.query(); }},
      {"cuStreamSynchronize(legacy)", [&] { legacy.synchronize(); }},
      {"cuStreamQuery(legacy)", [&] { (void)legacy.query(); }},
      {"cuStreamSynchronize(ptds)", [&] { device.per_thread_stream().synchronize(); }},
      {"cuCtxSynchronize", [&] { device.synchronize(); }},
      {"cuEventSynchronize(captured)", [&] { captured.synchronize(); }},
      {"cuEventQuery(captured)", [&] { (void)captured.query(); }},
      {"cuEventElapsedTime(captured)", [&] { (void)Event::elapsed_ms(captured, captured); }},
      {"cuEventSynchronize(plain)", [&] { before.synchronize(); }},
      {"cuEventQuery(plain)", [&] { (void)before.query(); }},
      {"cuEventElapsedTime(plain)", [&] { (void)Event::elapsed_ms(before, timed); }},
      {"cuEventRecord(plain,other)", [&] { Event(device).record(plain); }},
      {"cuEventRecord(plain,legacy)", [&] { Event(device).record(legacy); }},
      {"cuLaunchKernel(other)", [&] { launch(plain); }},
      {"cuLaunchKernel(nonblocking)", [&] { launch(apart); }},
      {"cuLaunchKernel(legacy)", [&] { launch(legacy); }},
      {"cuLaunchKernel(ptds)", [&] { launch(device.per_thread_stream()); }},
      {"cuMemcpyHtoD", [&] { array.copy_from(host); }},
      {"cuMemcpyDtoD", [&] { array.copy_from(array2); }},
      {"cuMemcpyHtoDAsync(pageable,capturing)", [&] { array.copy_from(host, stream); }},
      {"cuMemcpyDtoHAsync(pageable,capturing)", [&] { array.copy_to(host, stream); }},
      {"cuMemcpyHtoDAsync(legacy)", [&] { array.copy_from(host, legacy); }},
      {"cuMemsetD8", [&] { array.zero(); }},
      {"cuMemsetD8Async(capturing)", [&] { array.zero(stream); }},
      {"cuMemAlloc", [&] { const DeviceArray<int> another(device, 16); }},
      {"cuMemFree", [&] { deallocate(device, spare.back()), spare.pop_back(); }},
      {"cuMemAllocAsync(capturing)", [&] { (void)allocate(stream, 256); }},
      {"cuMemAllocAsync(other)", [&] { (void)allocate(plain, 256); }},
      {"cuMemAllocHost", [&] { const HostMemory memory(device, 16); }},
      {"cuMemHostRegister", [&] { const HostRegistration pinned(device, host.data(), 64); }},
      {"cuMemGetInfo", [&] { (void)device.free_memory(); }},
      {"cuEventCreate", [&] { const Event event(device); }},
      {"cuStreamCreate", [&] { const Stream another(device); }},
      {"cuModuleLoadData", [&] { (void)device.load_ptx("fake", "fake.ptx"); }},
      {"cuLaunchHostFunc(capturing)", [&] { stream.host_function([] {}); }},
      {"cuStreamBeginCapture(again)", [&] { stream.begin_capture(); }},
      {"cuStreamBeginCapture(legacy)", [&] { legacy.begin_capture(); }},
      {"cuStreamBeginCapture(mode 7)", [&] { plain.begin_capture(static_cast<CaptureMode>(7)); }},
      {"cuStreamEndCapture(other)", [&] { (void)plain.end_capture(); }},
      {"cuStreamWaitEvent(capturing, plain)", [&] { stream.wait(before); }},
      {"cuStreamWaitEvent(legacy, captured)", [&] { legacy.wait(captured); }},
      {"cuStreamIsCapturing(legacy)", [&] { (void)legacy.capture_status(); }},
      {"cuStreamGetPriority", [&] { (void)stream.priority(); }},
  };
  const std::map<std::string, CaptureMode> modes{
      {"global", CaptureMode::global}, {"this_thread", CaptureMode::this_thread}, {"relaxed", CaptureMode::relaxed}};
  const auto code_of = [](const std::function<void()>& call) {
    try {
      call();
      return 0;
    } catch (const Error& error) {
      return error.cuda_code();
    }
  };
  std::ifstream table(std::string(WARPLOOM_TEST_DATA) + "/capture_codes.tsv");
  std::size_t checked = 0;
  for (std::string line; std::getline(table, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::vector<std::string> field;
    std::istringstream in(line);
    for (std::string text; std::getline(in, text, '\t');) field.push_back(text);
    ASSERT_EQ(field.size(), 7u) << line;
    const auto call = calls.find(field[0]);
    if (call == calls.end()) continue;  // a call that this interface has not
    stream = Stream(device, {.blocking = field[1] == "blocking"});
    captured = Event(device);
    stream.begin_capture(modes.at(field[2]));
    launch(stream);
    captured.record(stream);
    int code = 0;
    if (field[3] == "other")
      std::thread([&] { code = code_of(call->second); }).join();
    else
      code = code_of(call->second);
    EXPECT_EQ(std::to_string(code), field[4]) << line;
    EXPECT_EQ(stream.capture_status() == CaptureStatus::invalidated, field[5] == "2") << line;
    const int end = code_of([&] { (void)stream.end_capture(); });
    EXPECT_EQ(std::to_string(end), field[6]) << line;
    ++checked;
  }
  EXPECT_GT(checked, 300u);
  device.synchronize();
}

}  // namespace
}  // namespace warploom::test

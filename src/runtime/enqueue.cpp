// Work that may become nodes of a graph, graphs themselves, and the default streams of threads.
#include <utility>

#include "runtime/context.hpp"

namespace warploom::runtime {
namespace {

// The default streams of one thread, one for each context that it uses.
class ThreadStreams {
 public:
  ThreadStreams() = default;
  ~ThreadStreams() {
    for (const One& one : streams_)
      if (const auto context = one.context.lock())
        if (const auto stream = one.stream.lock()) context->close_stream(stream);
  }
  ThreadStreams(const ThreadStreams&) = delete;
  ThreadStreams& operator=(const ThreadStreams&) = delete;

  [[nodiscard]] std::shared_ptr<Stream> find(const std::shared_ptr<Context>& context) {
    for (const One& one : streams_)
      if (one.key == context.get() && one.generation == context->generation() && !one.context.expired())
        return one.stream.lock();
    return nullptr;
  }
  void add(const std::shared_ptr<Context>& context, const std::shared_ptr<Stream>& stream) {
    std::erase_if(streams_, [&](const One& one) { return one.key == context.get() || one.context.expired(); });
    streams_.push_back({context.get(), context, context->generation(), stream});
  }

 private:
  struct One {
    const Context* key;
    std::weak_ptr<Context> context;
    std::uint64_t generation;
    std::weak_ptr<Stream> stream;  // the context's, and of no use without it
  };
  std::vector<One> streams_;
};

thread_local ThreadStreams thread_streams;

}  // namespace

Result<std::shared_ptr<Stream>> Context::thread_stream() {
  WL_TRY(usable());
  const std::shared_ptr<Context> self = shared_from_this();
  if (auto stream = thread_streams.find(self)) return stream;
  auto made = make_stream(true, 0);
  if (made) thread_streams.add(self, *made);
  return made;
}

Result<Ticket> Context::enqueue(const std::shared_ptr<Stream>& stream, Operation operation) {
  WL_TRY(usable());
  if (captures_.any()) {
    auto captured = captures_.add(*stream, is_legacy(stream), operation);
    if (!captured) return std::move(captured.error());
    if (*captured) return Ticket{};
  }
  const bool any_thread = operation.kind != NodeKind::host;
  return submit(stream, std::move(operation).as_work(*device_), {}, {.any_thread = any_thread});
}

Result<void> Context::launch(const std::shared_ptr<Stream>& stream, GraphInstance& graph) {
  WL_TRY(usable());
  if (captures_.any()) WL_TRY(captures_.permit_on(*stream, is_legacy(stream), "launching an instantiated graph"));
  // From reading what comes before to being what comes before, so that two launches cannot miss each other.
  const std::lock_guard lock(graph.order);
  thread_local std::vector<Ticket> after;
  after.clear();
  if (!graph.last.done()) after.push_back(graph.last);
  for (const auto& event : graph.run->awaited())
    if (Ticket ticket = event->ticket(); !ticket.done()) after.push_back(std::move(ticket));
  std::shared_ptr<EventRecords> records;
  if (!graph.run->recorded().empty()) {
    records = std::make_shared<EventRecords>();
    for (std::size_t i = 0; i < graph.run->recorded().size(); ++i)
      records->push_back(std::make_shared<Event::Record>());
  }
  add_default_order(stream, after);
  std::uint64_t position = 0;
  const auto push = [&] {
    position = stream->push(true, [&](Item& item) {
      item.after = after;
      item.graph = graph.run;
      item.keep = records;
      item.always = false;
      item.any_thread = graph.run->any_thread();
    });
    return position != 0;
  };
  if (graph.memory_use.none())
    push();
  else
    WL_TRY(graph_memory_.launch(graph.memory_use, push));
  after.clear();
  if (position == 0) return stream_closed();
  graph.last = {stream, position};
  if (graph.allocations) graph.allocations->last = graph.last;
  // The events have been reached when the graph has ended.
  for (std::size_t i = 0; i < graph.run->recorded().size(); ++i) {
    (*records)[i]->set_ticket(graph.last);
    graph.run->recorded()[i]->set((*records)[i]);
  }
  return {};
}

}  // namespace warploom::runtime

// Ordering between streams, and sticky errors.
#include "runtime/context.hpp"

#include <algorithm>
#include <cstdio>
#include <thread>

namespace warploom::runtime {
namespace {

// What a kernel does to itself leaves its memory unspecified, as on a GPU; everything else is found before it runs.
bool is_sticky(ErrorId id) { return id >= ErrorId::illegal_address && id < static_cast<ErrorId>(3200); }

void name_site(Diag& diag, const device::Origin& site) {
  if (site.file == nullptr || diag.where.find("launched at") != std::string::npos) return;
  diag.where += (diag.where.empty() ? "launched at " : ", launched at ") + std::string(site.file) + ":" +
                std::to_string(site.line);
}

// Of a GPU others may use a part already.
std::size_t capacity(const device::Device& device) {
  return device.is_hardware() ? device.profile().memory_bytes : device.free_bytes();
}

Diag waiting_refused() {
  Diag diag;
  diag.id = ErrorId::not_permitted;
  diag.what = "a host function may not wait for the device";
  diag.where = "inside a function queued with Stream::host_function";
  diag.remedy = "wait on the thread that queued it, or use Stream::wait(event) to order streams";
  return diag;
}

}  // namespace

Diag stream_closed() {
  Diag diag;
  diag.id = ErrorId::invalid_handle;
  diag.what = "the stream was destroyed";
  diag.remedy = "make a new stream after Device::reset()";
  return diag;
}

std::shared_ptr<Context> Context::open(std::unique_ptr<device::Device> device, PendingReleases::Limits limits) {
  // A worker that drops the last reference cannot join itself.
  return {new Context(std::move(device), limits), [](Context* context) {
            if (on_worker_thread())
              std::thread([context] { delete context; }).detach();
            else
              delete context;
          }};
}

Context::Context(std::unique_ptr<device::Device> device, PendingReleases::Limits limits)
    : device_(std::move(device)),
      helpers_(device_->concurrency() - 1),
      memory_releases_(capacity(*device_), limits),
      object_releases_(capacity(*device_), limits) {
  current_ = default_pool_ = std::make_shared<Pool>(*device_, known_, Pool::Policy{});
  graph_pool_ = std::make_shared<Pool>(*device_, known_, Pool::Policy{.release_threshold = ~std::uint64_t{0}});
  auto queue = device_->make_queue({.legacy = true});
  if (!queue) record_error(std::move(queue.error()));
  default_ = std::make_shared<Stream>(*this, true, 0, true, queue ? std::move(*queue) : nullptr);
  streams_.push_back(default_);
}

Context::~Context() {
  std::vector<std::shared_ptr<Stream>> streams;
  {
    const std::lock_guard lock(streams_mutex_);
    close_all();
    streams = streams_;
  }
  for (const auto& stream : streams) stream->join();
  // Nobody joins the streams of others, which may still run functions that report to this context.
  if (has_adopted_) (void)device_->synchronize();
  (void)memory_releases_.flush();
  (void)object_releases_.flush();
  report_releases();
  graph_memory_.clear();
  for (const auto& pool : pools()) pool->clear();
  // Nobody waited for the work that failed, so nobody would hear of it.
  if ((sticky_ && !sticky_reported_) || pending_)
    std::fprintf(
        stderr,
        "warploom: the device closes with an error that was never reported, because nothing waited for the work:\n%s\n",
        (sticky_ && !sticky_reported_ ? *sticky_ : *pending_).to_string().c_str());
}

void Context::close_all() {
  for (const auto& stream : streams_) stream->close();
}

// ---- streams ----

Result<std::shared_ptr<Stream>> Context::make_stream(bool blocking, int priority) {
  WL_TRY(usable());
  auto queue = device_->make_queue({.blocking = blocking, .priority = priority});
  if (!queue) return std::move(queue.error());
  auto stream = std::make_shared<Stream>(*this, blocking, priority, false, std::move(*queue));
  std::vector<std::shared_ptr<Stream>> finished;
  {
    const std::lock_guard lock(streams_mutex_);
    // Threads of closed streams are joined here, but not by a worker: one of them may be its own.
    if (!on_worker_thread()) {
      const auto split = std::partition(streams_.begin(), streams_.end(), [](const auto& s) { return !s->finished(); });
      finished.assign(split, streams_.end());
      streams_.erase(split, streams_.end());
    }
    streams_.push_back(stream);
  }
  for (const auto& s : finished) s->join();
  return stream;
}

std::shared_ptr<Stream> Context::find_stream(std::uint64_t handle) const {
  const std::lock_guard lock(streams_mutex_);
  for (const auto& stream : streams_)
    if (stream->handle() == handle && !stream->closed()) return stream;
  return nullptr;
}

Result<std::shared_ptr<Stream>> Context::adopt_stream(std::uint64_t handle) {
  WL_TRY(usable());
  const std::lock_guard lock(streams_mutex_);
  std::erase_if(adopted_, [](const auto& stream) { return stream.expired(); });
  for (const auto& known : adopted_)
    if (auto stream = known.lock(); stream && stream->handle() == handle) return stream;
  auto queue = device_->make_queue({.blocking = false, .adopt = handle});
  if (!queue) return std::move(queue.error());
  if (!*queue) return std::shared_ptr<Stream>();
  auto stream = std::make_shared<Stream>(*this, false, 0, false, std::move(*queue));
  stream->lend();
  adopted_.push_back(stream);
  has_adopted_ = true;
  return stream;
}

void Context::close_stream(const std::shared_ptr<Stream>& stream) {
  captures_.forget(*stream);
  const std::lock_guard lock(streams_mutex_);
  stream->close();
}

void Context::add_pending(std::vector<Ticket>& tickets) const {
  for (const auto& stream : streams_) {
    const std::uint64_t tail = stream->known_end();
    // Whether a queue has come so far is asked when it matters.
    if (!stream->known_done(tail)) tickets.push_back({stream, tail});
  }
}

// The rules of the legacy default stream.
void Context::add_default_order(const std::shared_ptr<Stream>& stream, std::vector<Ticket>& after) const {
  if (stream->has_queue()) return;
  if (stream == default_) {
    if (blocking_items_.load(std::memory_order_acquire) != 0) {
      const std::lock_guard lock(streams_mutex_);
      const auto asked_for = static_cast<std::ptrdiff_t>(after.size());
      add_pending(after);
      after.erase(std::remove_if(after.begin() + asked_for, after.end(),
                                 [](const Ticket& ticket) { return !ticket.stream->blocking(); }),
                  after.end());
    }
  } else if (stream->blocking()) {
    const std::uint64_t tail = default_->tail();
    if (!default_->done(tail)) after.push_back({default_, tail});
  }
  if (!after.empty())
    std::erase_if(after, [&](const Ticket& ticket) { return ticket.stream == stream || ticket.done(); });
}

Result<Ticket> Context::submit(const std::shared_ptr<Stream>& stream, Work work, std::vector<Ticket> after, How how) {
  if (!how.always) WL_TRY(usable());
  if (captures_.any()) WL_TRY(captures_.permit_on(*stream, is_legacy(stream), "this kind of work"));
  add_default_order(stream, after);
  const std::uint64_t position = stream->push(how.wake, [&](Item& item) {
    item.after = std::move(after);
    item.work = std::move(work);
    item.always = how.always;
    item.any_thread = how.any_thread;
  });
  if (position == 0) return stream_closed();
  return Ticket{stream, position};
}

Result<void> Context::launch(const std::shared_ptr<Stream>& stream, device::Kernel& kernel,
                             const device::Launch& launch, std::shared_ptr<const void> keep) {
  WL_TRY(usable());
  if (captures_.any()) {
    Operation operation = Operation::launch_of(kernel, launch, keep);
    operation.launch.priority = stream->priority();
    auto captured = captures_.add(*stream, is_legacy(stream), operation);
    if (!captured) return std::move(captured.error());
    if (*captured) return {};
  }
  // A queue keeps its own order, and the device what a launch needs.
  if (stream->has_queue()) {
    if (stream->launch_now(kernel, launch) == 0) return stream_closed();
    return {};
  }
  thread_local std::vector<Ticket> after;
  after.clear();
  add_default_order(stream, after);
  const std::uint64_t position = stream->push(true, [&](Item& item) {
    // Copied, not moved: the item's vectors have room already.
    item.after = after;
    item.launch = launch;
    item.launch.priority = stream->priority();
    item.kernel = &kernel;
    item.keep = std::move(keep);
    item.always = false;
    item.any_thread = true;
  });
  after.clear();
  if (position == 0) return stream_closed();
  return {};
}

Result<void> Context::run(const std::shared_ptr<Stream>& stream, Work work) {
  if (on_worker_thread()) return waiting_refused();
  if (captures_.any()) WL_TRY(captures_.permit_on(*stream, is_legacy(stream), "a call that waits"));
  auto ticket = submit(stream, std::move(work), {}, How{.wake = false});
  if (!ticket) return std::move(ticket.error());
  return wait(*ticket);
}

void Context::execute(const Item& item) {
  if (poisoned_.load(std::memory_order_acquire) && !item.always) return;
  if (item.kernel != nullptr) {
    execute(*item.kernel, item.launch);
    return;
  }
  auto result = item.graph        ? item.graph->run(helpers_, static_cast<const EventRecords*>(item.keep.get()))
                : item.any_thread ? item.work()
                                  : run_host_work(item.work);
  if (!result) record_error(std::move(result.error()));
}

void Context::execute(device::Kernel& kernel, const device::Launch& launch) {
  if (poisoned_.load(std::memory_order_acquire)) return;
  auto result = device_->run_checked(kernel, launch);
  if (result) return;
  name_site(result.error(), launch.site);
  record_error(std::move(result.error()));
}

Result<void> Context::wait(const Ticket& ticket) {
  if (!ticket.done()) {
    if (on_worker_thread()) return waiting_refused();
    ticket.wait();
  }
  pools_synchronized();
  return take_error();
}

Result<void> Context::wait(const std::shared_ptr<Stream>& stream) {
  if (captures_.any()) WL_TRY(captures_.permit_wait(*stream, is_legacy(stream), "waiting for a stream"));
  return wait(Ticket{stream, stream->end()});
}

Result<void> Context::synchronize() {
  if (on_worker_thread()) return waiting_refused();
  if (captures_.any()) WL_TRY(captures_.permit_device("waiting for the device"));
  drain();
  if (auto done = device_->synchronize(); !done) record_error(std::move(done.error()));
  pools_synchronized();
  return take_error();
}

void Context::drain() {
  if (on_worker_thread()) return;
  thread_local std::vector<Ticket> tickets;
  tickets.clear();
  {
    const std::lock_guard lock(streams_mutex_);
    add_pending(tickets);
  }
  for (const Ticket& ticket : tickets) ticket.wait();
  tickets.clear();
}

Result<void> Context::reset() {
  if (on_worker_thread()) return waiting_refused();
  std::vector<std::shared_ptr<Stream>> streams;
  {
    const std::lock_guard lock(streams_mutex_);
    close_all();
    streams.swap(streams_);
    generation_.fetch_add(1, std::memory_order_acq_rel);
    streams_.push_back(default_);
  }
  for (const auto& stream : streams) stream->join();
  default_->reopen();
  captures_.clear();
  auto flushed = memory_releases_.flush();
  if (flushed) flushed = object_releases_.flush();
  device_->forget_textures();
  graph_memory_.clear();
  for (const auto& pool : pools()) pool->clear();
  set_current_pool(default_pool_);
  WL_TRY(device_->reset());
  const std::lock_guard lock(error_mutex_);
  sticky_.reset();
  pending_.reset();
  sticky_reported_ = false;
  failed_.store(false, std::memory_order_release);
  poisoned_.store(false, std::memory_order_release);
  return flushed;
}

// ---- errors ----

void Context::record_error(Diag diag) {
  const std::lock_guard lock(error_mutex_);
  if (is_sticky(diag.id)) {
    if (sticky_) return;
    sticky_ = std::move(diag);
    poisoned_.store(true, std::memory_order_release);
  } else if (!pending_) {
    pending_ = std::move(diag);
  }
  failed_.store(true, std::memory_order_release);
}

Diag Context::sticky_error() {
  if (!sticky_reported_) {
    sticky_reported_ = true;
    return *sticky_;
  }
  Diag diag;
  diag.id = ErrorId::context_poisoned;
  diag.cause = sticky_->id;
  diag.what =
      "an earlier error left the device unusable: " + std::string(error_info(sticky_->id).name) + ": " + sticky_->what;
  diag.loc = sticky_->loc;
  diag.where = sticky_->where;
  diag.remedy = device_->is_hardware()
                    ? "the GPU's context is lost, with all memory and streams: start the process again"
                    : "call Device::reset(), then allocate and load again";
  return diag;
}

Result<void> Context::usable() {
  if (!poisoned_.load(std::memory_order_acquire)) return {};
  const std::lock_guard lock(error_mutex_);
  if (!sticky_) return {};
  return sticky_error();
}

Result<void> Context::take_error() {
  if (!failed_.load(std::memory_order_acquire)) return {};
  const std::lock_guard lock(error_mutex_);
  if (sticky_) return sticky_error();
  if (!pending_) return {};
  Diag diag = std::move(*pending_);
  pending_.reset();
  failed_.store(false, std::memory_order_release);
  return diag;
}

}  // namespace warploom::runtime

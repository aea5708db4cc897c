// Device: properties, loading of PTX, waiting and resetting.
#include "warploom/device.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>

#include "api/launch.hpp"
#include "api/state.hpp"

namespace warploom {

Device adopt_device(std::unique_ptr<device::Device> device, std::shared_ptr<observe::LaunchLog> session,
                    bool per_thread_default_stream, unsigned ordinal) {
  auto state = std::make_shared<detail::DeviceState>();
  state->launches = std::make_shared<api::LaunchRecorder>(std::move(session));
  if (state->launches->record(false)) device->set_launch_log(state->launches);
  state->total_memory = device->is_hardware() ? device->profile().memory_bytes : device->free_bytes();
  state->per_thread_default = per_thread_default_stream;
  state->ordinal = ordinal;
  state->context =
      runtime::Context::open(std::move(device), api::checked(runtime::PendingReleases::limits_of_environment()));
  return detail::Access::make(std::move(state));
}

namespace api {

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  // A folder opens but does not read.
  if (!file || !(text << file.rdbuf()))
    fail(ErrorId::file_error, "cannot read \"" + path + "\"", "check the path and that it is not empty");
  return text.str();
}

runtime::Context& use(const std::shared_ptr<detail::DeviceState>& device) {
  if (!device) fail_moved_from("the device");
  checked(device->context->usable());
  return *device->context;
}

}  // namespace api

Device::Device(std::shared_ptr<detail::DeviceState> state) noexcept : state_(std::move(state)) {}
Device::~Device() = default;

DeviceProperties Device::properties() const {
  if (!state_) api::fail_moved_from("the device");
  const device::Device& device = state_->context->device();
  const isa::GpuProfile& profile = device.profile();
  DeviceProperties out;
  out.name = device.is_hardware() ? profile.title : profile.title + " (modelled on the CPU)";
  out.profile = profile.name;
  out.compute_capability_major = static_cast<int>(profile.sm / 10);
  out.compute_capability_minor = static_cast<int>(profile.sm % 10);
  out.multiprocessors = profile.sm_count;
  out.max_threads_per_block = profile.max_threads_per_block;
  out.max_threads_per_multiprocessor = profile.threads_per_sm;
  out.max_blocks_per_multiprocessor = profile.blocks_per_sm;
  out.max_block = Dim3(profile.max_block[0], profile.max_block[1], profile.max_block[2]);
  out.max_grid = Dim3(profile.max_grid[0], profile.max_grid[1], profile.max_grid[2]);
  out.shared_memory_per_block = profile.static_shared_limit;
  out.max_shared_memory_per_block = profile.shared_per_block;
  out.shared_memory_per_multiprocessor = profile.shared_per_sm;
  out.registers_per_multiprocessor = profile.registers_per_sm;
  out.total_memory = state_->total_memory;
  return out;
}

std::size_t Device::free_memory() const { return api::use(state_).free_bytes(); }

void Device::set_memory_limit(std::uint64_t bytes) const {
  api::checked(api::use(state_).device().set_memory_limit(bytes));
  state_->total_memory = bytes;
}

namespace {

runtime::PendingReleases& queue_of(runtime::Context& context, ReleaseKind kind) {
  return kind == ReleaseKind::memory ? context.memory_releases() : context.object_releases();
}

}  // namespace

unsigned Device::ordinal() const {
  if (!state_) api::fail_moved_from("the device");
  return state_->ordinal;
}

PendingReleases Device::pending() const {
  runtime::Context& context = api::use(state_);
  const runtime::PendingReleases &memory = context.memory_releases(), &objects = context.object_releases();
  PendingReleases out;
  out.memory_count = memory.count();
  out.memory_bytes = memory.bytes();
  out.object_count = objects.count();
  out.most = std::max(memory.most(), objects.most());
  out.flushes = memory.flushes() + objects.flushes();
  out.deferred = memory.is_deferred();
  return out;
}

void Device::flush_pending() const {
  flush_pending(ReleaseKind::memory);
  flush_pending(ReleaseKind::object);
}

void Device::flush_pending(ReleaseKind kind) const {
  runtime::Context& context = api::use(state_);
  auto flushed = queue_of(context, kind).flush();
  context.report_releases();
  api::checked(std::move(flushed));
}

void Device::release_later(ReleaseKind kind, std::function<void()> release, std::uint64_t bytes) const {
  if (!release) api::fail(ErrorId::invalid_value, "the release is empty", "pass something that can be called");
  runtime::Context& context = api::use(state_);
  auto added = queue_of(context, kind).add(api::host_work(std::move(release)), bytes);
  context.report_releases();
  api::checked(std::move(added));
}

void Device::set_pending_limits(std::size_t count, double ratio) const {
  runtime::Context& context = api::use(state_);
  if (!(ratio >= 0)) api::fail(ErrorId::invalid_value, "a ratio of pending bytes below 0", "pass 0 to 1");
  context.memory_releases().set_limits({count, ratio});
  context.object_releases().set_limits({count, ratio});
}

namespace {

// Where `peer` stands among the devices that `device` may access; the lock is the device's.
auto find_peer(detail::DeviceState& device, const std::shared_ptr<detail::DeviceState>& peer) {
  std::erase_if(device.peers, [](const auto& one) { return one.expired(); });
  return std::find_if(device.peers.begin(), device.peers.end(), [&](const auto& one) { return one.lock() == peer; });
}

void check_peer(const Device& device, const Device& peer) {
  if (!device.can_access_peer(peer))
    api::fail(ErrorId::invalid_device, "the device cannot access the other one's memory, or is no other one",
              "ask can_access_peer() first, and copy with copy_peer() where it is false");
}

}  // namespace

bool Device::can_access_peer(const Device& peer) const {
  runtime::Context &context = api::use(state_), &other = api::use(peer.state_);
  if (state_ == peer.state_ || context.device().is_hardware() != other.device().is_hardware()) return false;
  return api::checked(context.device().can_access(other.device()));
}

void Device::enable_peer_access(const Device& peer) const {
  check_peer(*this, peer);
  const std::lock_guard lock(state_->mutex);
  if (find_peer(*state_, peer.state_) != state_->peers.end())
    api::fail(ErrorId::peer_access_enabled, "access to the memory of this peer is enabled already",
              "enable it once for each pair and direction");
  api::checked(state_->context->device().enable_peer(peer.state_->context->device()));
  state_->peers.push_back(peer.state_);
  state_->has_peers.store(true, std::memory_order_release);
}

void Device::disable_peer_access(const Device& peer) const {
  check_peer(*this, peer);
  const std::lock_guard lock(state_->mutex);
  const auto at = find_peer(*state_, peer.state_);
  if (at == state_->peers.end())
    api::fail(ErrorId::peer_access_not_enabled, "access to the memory of this peer is not enabled", "enable it first");
  api::checked(state_->context->device().disable_peer(peer.state_->context->device()));
  state_->peers.erase(at);
}

namespace api {

bool reaches(const detail::DeviceState& device, const detail::DeviceState& other) {
  if (&device == &other) return true;
  if (!device.has_peers.load(std::memory_order_acquire)) return false;
  auto& state = const_cast<detail::DeviceState&>(device);
  const std::lock_guard lock(state.mutex);
  return std::any_of(state.peers.begin(), state.peers.end(),
                     [&](const auto& one) { return one.lock().get() == &other; });
}

}  // namespace api

Module Device::load_ptx(std::string_view text, std::string_view name) const {
  runtime::Context& context = api::use(state_);
  auto module = api::checked(context.device().load(std::string(text), std::string(name)));
  return detail::Access::make(std::make_shared<detail::ModuleState>(state_, std::move(module), std::string(name)));
}

Module Device::load_ptx_file(const std::string& path) const {
  api::use(state_);
  return load_ptx(api::read_file(path), path);
}

Stream Device::default_stream() const {
  runtime::Context& context = api::use(state_);
  return detail::Access::make(
      std::make_shared<detail::StreamState>(state_, api::default_queue(context, *state_), false));
}

Stream Device::legacy_stream() const {
  runtime::Context& context = api::use(state_);
  return detail::Access::make(std::make_shared<detail::StreamState>(state_, context.default_stream(), false));
}

Stream Device::per_thread_stream() const {
  runtime::Context& context = api::use(state_);
  return detail::Access::make(
      std::make_shared<detail::StreamState>(state_, api::checked(context.thread_stream()), false));
}

Stream Device::external_stream(std::uintptr_t handle) const {
  runtime::Context& context = api::use(state_);
  if (handle == 0) return default_stream();
  if (handle == 2 && !context.device().is_hardware()) return per_thread_stream();
  auto stream = context.find_stream(handle);
  if (stream) stream->lend();
  if (!stream) stream = api::checked(context.adopt_stream(handle));
  if (!stream)
    api::fail(ErrorId::invalid_handle, "the device has no stream with the handle " + std::to_string(handle),
              "pass what Stream::handle() gives, while the stream lives");
  return detail::Access::make(std::make_shared<detail::StreamState>(state_, std::move(stream), false));
}

void Device::synchronize() const {
  if (!state_) api::fail_moved_from("the device");
  api::checked(state_->context->synchronize());
}

void Device::reset() const {
  if (!state_) api::fail_moved_from("the device");
  api::checked(state_->context->reset());
}

}  // namespace warploom

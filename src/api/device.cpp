// Device: properties, loading of PTX, waiting and resetting.
#include "warploom/device.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>

#include "api/state.hpp"

namespace warploom {

Device adopt_device(std::unique_ptr<device::Device> device, std::shared_ptr<observe::LaunchLog> session,
                    bool per_thread_default_stream) {
  auto state = std::make_shared<detail::DeviceState>();
  state->launches = std::make_shared<api::LaunchRecorder>(std::move(session));
  if (state->launches->record(false)) device->set_launch_log(state->launches);
  state->total_memory = device->free_bytes();
  state->per_thread_default = per_thread_default_stream;
  state->context = runtime::Context::open(std::move(device));
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
  const isa::GpuProfile& profile = state_->context->device().profile();
  DeviceProperties out;
  out.name = profile.title + " (modelled on the CPU)";
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

std::size_t Device::free_memory() const { return api::use(state_).device().free_bytes(); }

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
  if (handle == 2) return per_thread_stream();
  auto stream = context.find_stream(handle);
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

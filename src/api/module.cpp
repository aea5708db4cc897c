// Module, Kernel and globals: lookup by name, argument checks, launches.
#include "warploom/module.hpp"

#include <algorithm>
#include <cstring>
#include <exception>

#include "api/launch.hpp"
#include "api/state.hpp"
#include "base/demangle.hpp"
#include "observe/explain/occupancy.hpp"
#include "runtime/names.hpp"

namespace warploom {
namespace {

runtime::Context& use_kernel(const std::shared_ptr<detail::KernelState>& state) {
  if (!state) api::fail_moved_from("the kernel");
  return api::use(state->module, "the kernel");
}

std::string bytes_text(std::size_t bytes) { return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes"); }

std::string sizes_text(std::span<const device::ParamInfo> params) {
  if (params.empty()) return "the kernel takes no arguments";
  std::string out = "the kernel's parameters have ";
  for (std::size_t i = 0; i < params.size(); ++i)
    out += (i == 0 ? "" : i + 1 == params.size() ? " and " : ", ") + std::to_string(params[i].bytes);
  return out + (params.size() == 1 && params[0].bytes == 1 ? " byte" : " bytes");
}

// Says why an argument cannot be passed.
[[noreturn]] void fail_argument(const device::Kernel& kernel, std::size_t index, const Argument& argument,
                                const detail::DeviceState& device) {
  const std::string where = "kernel " + demangle(kernel.name());
  const std::string label = "argument " + std::to_string(index) + " (counted from 0)";
  const device::ParamInfo& param = kernel.params()[index];
  if (argument.memory != nullptr) {
    if (!argument.memory->valid()) api::fail_moved_from(("the array passed as " + label).c_str());
    const auto& memory = detail::Access::state(*argument.memory);
    if (memory->generation != memory->device->context->generation())
      api::fail_before_reset(("the array passed as " + label).c_str());
    if (!api::reaches(device, *memory->device))
      api::fail(ErrorId::invalid_handle, "the array passed as " + label + " belongs to another device",
                "copy it to the kernel's device, or enable access to that peer (Device::enable_peer_access)", where);
  }
  if (argument.bytes != param.bytes) {
    const bool pointer_for_value = argument.memory != nullptr && param.bytes != sizeof(void*);
    api::fail(ErrorId::launch_arguments,
              label + " has " + bytes_text(argument.bytes) + ", parameter \"" + param.name + "\" has " +
                  bytes_text(param.bytes),
              (pointer_for_value ? "the parameter is a value, not a pointer; " : "cast it to the parameter's type; ") +
                  sizes_text(kernel.params()),
              where);
  }
  api::fail(ErrorId::invalid_value, label + " has no data", "point Argument::data at the value", where);
}

bool usable_argument(const Argument& argument, const device::ParamInfo& param, const detail::DeviceState& device) {
  if (argument.memory != nullptr) {
    if (!argument.memory->valid()) return false;
    const auto& memory = detail::Access::state(*argument.memory);
    if (memory->generation != memory->device->context->generation() || !api::reaches(device, *memory->device))
      return false;
  }
  return argument.bytes == param.bytes && argument.data != nullptr;
}

// Fills the parameter buffer; throws launch_arguments.
void pack(const device::Kernel& kernel, std::span<const Argument> arguments, const detail::DeviceState& device,
          std::vector<std::byte>& buffer) {
  const std::span<const device::ParamInfo> params = kernel.params();
  if (params.size() != arguments.size())
    api::fail(ErrorId::launch_arguments,
              "the kernel takes " + std::to_string(params.size()) + " arguments, the launch passes " +
                  std::to_string(arguments.size()),
              sizes_text(params), "kernel " + demangle(kernel.name()));
  buffer.assign(kernel.param_bytes(), std::byte{0});
  for (std::size_t i = 0; i < params.size(); ++i) {
    const Argument& argument = arguments[i];
    if (!usable_argument(argument, params[i], device)) fail_argument(kernel, i, argument, device);
    std::memcpy(buffer.data() + params[i].offset, argument.data, argument.bytes);
  }
}

std::shared_ptr<runtime::Stream> queue_of_launch(runtime::Context& context, const detail::DeviceState& owner,
                                                 const LaunchConfig& config) {
  return config.stream ? api::queue_of(*config.stream, owner) : api::default_queue(context, owner);
}

}  // namespace

namespace api {

const detail::KernelState& use_kernel(const Kernel& kernel, const detail::DeviceState& device) {
  const auto& state = detail::Access::state(kernel);
  warploom::use_kernel(state);
  if (state->module->device.get() != &device)
    fail(ErrorId::invalid_handle, "the kernel belongs to another device", "load its module on this device");
  return *state;
}

const device::Launch& prepare_launch(runtime::Context& context, const detail::DeviceState& owner,
                                     device::Kernel& kernel, const LaunchConfig& config,
                                     std::span<const Argument> arguments) {
  thread_local device::Launch launch;
  launch.grid = {config.grid.x, config.grid.y, config.grid.z};
  launch.block = {config.block.x, config.block.y, config.block.z};
  launch.shared_bytes = config.shared_bytes;
  launch.cooperative = config.cooperative;
  launch.cluster = {0, 0, 0};
  if (config.cluster) launch.cluster = {config.cluster->x, config.cluster->y, config.cluster->z};
  launch.site = {config.where.file, config.where.line};
  pack(kernel, arguments, owner, launch.params);
  api::checked(context.device().check_launch(kernel, launch));
  return launch;
}

}  // namespace api

// ---- Kernel ----

Kernel::Kernel(std::shared_ptr<detail::KernelState> state) noexcept : state_(std::move(state)) {}
Kernel::~Kernel() = default;

void Kernel::launch_with(const LaunchConfig& config, std::span<const Argument> arguments) const {
  runtime::Context& context = use_kernel(state_);
  const detail::ModuleState& module = *state_->module;
  device::Kernel& kernel = *state_->kernel;
  const auto queue = queue_of_launch(context, *module.device, config);
  const device::Launch& launch = api::prepare_launch(context, *module.device, kernel, config, arguments);
  // The loaded module outlives its queued launches; the handles, which keep the context, must not be among them.
  api::checked(context.launch(queue, kernel, launch, module.module));
}

void Kernel::run_with(const LaunchConfig& config, std::span<const Argument> arguments, std::span<const Transfer> before,
                      std::span<const Transfer> after) const {
  runtime::Context& context = use_kernel(state_);
  const detail::ModuleState& module = *state_->module;
  device::Kernel& kernel = *state_->kernel;
  for (const std::span<const Transfer> transfers : {before, after})
    for (const Transfer& transfer : transfers) {
      api::check_place(context, transfer.to, transfer.bytes, "the destination of a copy");
      api::check_place(context, transfer.from, transfer.bytes, "the source of a copy");
    }
  const auto queue = queue_of_launch(context, *module.device, config);
  const device::Launch& launch = api::prepare_launch(context, *module.device, kernel, config, arguments);
  // The call waits, so its work may refer to what the caller has.
  const auto work = [&]() -> Result<void> {
    for (const Transfer& transfer : before) WL_TRY(context.device().copy(transfer.to, transfer.from, transfer.bytes));
    WL_TRY(context.device().run_checked(kernel, launch));
    for (const Transfer& transfer : after) WL_TRY(context.device().copy(transfer.to, transfer.from, transfer.bytes));
    return {};
  };
  api::checked(context.run(queue, [&work] { return work(); }));
}

const std::string& Kernel::name() const {
  if (!state_) api::fail_moved_from("the kernel");
  return state_->kernel->name();
}

std::string Kernel::demangled_name() const { return demangle(name()); }

std::vector<Parameter> Kernel::parameters() const {
  use_kernel(state_);
  std::vector<Parameter> out;
  for (const device::ParamInfo& param : state_->kernel->params())
    out.push_back({param.name, param.offset, param.bytes, param.align});
  return out;
}

KernelAttributes Kernel::attributes() const {
  runtime::Context& context = use_kernel(state_);
  const observe::KernelFacts facts = api::checked(state_->kernel->facts());
  KernelAttributes out;
  out.static_shared_bytes = facts.static_shared_bytes;
  out.local_bytes = facts.local_bytes;
  out.registers = facts.registers_estimate;
  out.max_threads_per_block = context.device().profile().max_threads_per_block;
  out.const_bytes = facts.constant_bytes;
  return out;
}

unsigned Kernel::max_active_blocks(const Dim3& block, std::uint32_t dynamic_shared_bytes) const {
  runtime::Context& context = use_kernel(state_);
  const observe::KernelFacts facts = api::checked(state_->kernel->facts());
  const isa::GpuProfile& profile = context.device().profile();
  const std::uint64_t shared_bytes = std::uint64_t{facts.static_shared_bytes} + dynamic_shared_bytes;
  const bool fits = block.count() != 0 && block.count() <= profile.max_threads_per_block &&
                    block.x <= profile.max_block[0] && block.y <= profile.max_block[1] &&
                    block.z <= profile.max_block[2] && shared_bytes <= profile.shared_per_block;
  if (!fits) return 0;
  const auto told = api::checked(context.device().resident_blocks(
      *state_->kernel, static_cast<std::uint32_t>(block.count()), dynamic_shared_bytes));
  if (told) return *told;
  return observe::explain::compute_occupancy(profile, static_cast<std::uint32_t>(block.count()),
                                             facts.registers_estimate, shared_bytes)
      .blocks;
}

BlockChoice Kernel::max_potential_block(std::uint32_t dynamic_shared_bytes, unsigned limit) const {
  return max_potential_block([dynamic_shared_bytes](unsigned) { return std::size_t{dynamic_shared_bytes}; }, limit);
}

BlockChoice Kernel::max_potential_block(const std::function<std::size_t(unsigned)>& dynamic_shared_bytes,
                                        unsigned limit) const {
  runtime::Context& context = use_kernel(state_);
  if (!dynamic_shared_bytes)
    api::fail(ErrorId::invalid_value, "the function of a block's shared memory is empty",
              "pass a number or a function");
  // An exception must not pass through the driver.
  std::exception_ptr thrown;
  const auto asked = [&](std::uint32_t block) -> std::size_t {
    try {
      return thrown ? 0 : dynamic_shared_bytes(block);
    } catch (...) {
      thrown = std::current_exception();
      return 0;
    }
  };
  const auto told = context.device().best_block(*state_->kernel, asked, limit);
  if (thrown) std::rethrow_exception(thrown);
  if (const auto choice = api::checked(told)) return {choice->grid, choice->block};
  const isa::GpuProfile& profile = context.device().profile();
  unsigned largest = profile.max_threads_per_block;
  if (limit != 0) largest = std::min(largest, limit);
  constexpr unsigned kWarp = 32;
  // The kernel may be made for smaller blocks.
  device::Launch launch;
  launch.params.resize(state_->kernel->param_bytes());
  const auto possible = [&](unsigned size, std::size_t shared) {
    launch.block = {size, 1, 1};
    launch.shared_bytes = static_cast<std::uint32_t>(shared);
    const auto checked = context.device().check_launch(*state_->kernel, launch);
    return checked || checked.error().id != ErrorId::launch_resources;
  };
  BlockChoice best{1, std::min(kWarp, largest)};
  unsigned most = 0;
  // The largest first among equals.
  for (unsigned block = (largest + kWarp - 1) / kWarp * kWarp; block > 0; block -= kWarp) {
    const unsigned size = std::min(block, largest);
    const std::size_t shared = dynamic_shared_bytes(size);
    if (shared > profile.shared_per_block || !possible(size, shared)) continue;
    const unsigned blocks = max_active_blocks({size}, static_cast<std::uint32_t>(shared));
    if (blocks * size <= most) continue;
    most = blocks * size;
    best = {blocks * profile.sm_count, size};
  }
  return best;
}

unsigned Kernel::max_active_clusters(const LaunchConfig& config) const {
  runtime::Context& context = use_kernel(state_);
  device::Launch launch;
  launch.grid = {config.grid.x, config.grid.y, config.grid.z};
  launch.block = {config.block.x, config.block.y, config.block.z};
  launch.shared_bytes = config.shared_bytes;
  if (config.cluster) launch.cluster = {config.cluster->x, config.cluster->y, config.cluster->z};
  launch.params.resize(state_->kernel->param_bytes());
  api::checked(context.device().check_launch(*state_->kernel, launch));
  if (const auto told = api::checked(context.device().resident_clusters(*state_->kernel, launch))) return *told;
  const std::uint64_t size = config.cluster ? config.cluster->count() : 1;
  return static_cast<unsigned>(std::uint64_t{max_active_blocks(config.block, config.shared_bytes)} *
                               context.device().profile().sm_count / size);
}

// ---- Module ----

Module::Module(std::shared_ptr<detail::ModuleState> state) noexcept : state_(std::move(state)) {}
Module::~Module() = default;

Kernel Module::kernel(std::string_view name) const {
  api::use(state_, "the module");
  const std::string found =
      api::checked(runtime::find_name(state_->module->kernel_names(), name, "kernel", state_->name));
  device::Kernel* kernel = api::checked(state_->module->kernel(found));
  return detail::Access::make(std::make_shared<detail::KernelState>(detail::KernelState{state_, kernel}));
}

std::vector<std::string> Module::kernel_names() const {
  api::use(state_, "the module");
  return state_->module->kernel_names();
}

Module::RawGlobal Module::find_global(std::string_view name, std::size_t element_bytes) const {
  api::use(state_, "the module");
  const std::string found =
      api::checked(runtime::find_name(state_->module->global_names(), name, "variable", state_->name));
  const device::Module::Global global = api::checked(state_->module->global(found));
  if (global.bytes % element_bytes != 0 || global.bytes == 0)
    api::fail(ErrorId::invalid_value,
              "variable \"" + std::string(name) + "\" has " + bytes_text(global.bytes) +
                  ", which is not a multiple of the element's " + std::to_string(element_bytes),
              "ask for the variable's element type", "module " + state_->name);
  return {global.address, global.bytes};
}

void Module::copy_to_global(const RawGlobal& global, std::size_t offset, const void* host, std::size_t bytes) const {
  runtime::Context& context = api::use(state_, "the module");
  if (offset > global.bytes || bytes > global.bytes - offset)
    api::fail(ErrorId::invalid_value,
              "a copy of " + bytes_text(bytes) + " does not fit the variable of " + bytes_text(global.bytes),
              "copy at most size() elements", "module " + state_->name);
  if (bytes == 0) return;
  void* to = static_cast<std::byte*>(global.address) + offset;
  api::run_on(context, *state_->device, nullptr,
              [&device = context.device(), to, host, bytes] { return device.copy(to, host, bytes); });
}

void Module::copy_from_global(const RawGlobal& global, std::size_t offset, void* host, std::size_t bytes) const {
  runtime::Context& context = api::use(state_, "the module");
  if (offset > global.bytes || bytes > global.bytes - offset)
    api::fail(ErrorId::invalid_value,
              "a copy of " + bytes_text(bytes) + " asks for more than the variable's " + bytes_text(global.bytes),
              "copy at most size() elements", "module " + state_->name);
  if (bytes == 0) return;
  const void* from = static_cast<const std::byte*>(global.address) + offset;
  api::run_on(context, *state_->device, nullptr,
              [&device = context.device(), host, from, bytes] { return device.copy(host, from, bytes); });
}

}  // namespace warploom

// Checks that launches, graphs and streams share.
#pragma once

#include <functional>
#include <span>

#include "api/state.hpp"

namespace warploom::api {

// The state of a kernel that belongs to `device`; throws invalid_handle.
const detail::KernelState& use_kernel(const Kernel& kernel, const detail::DeviceState& device);

// A launch that has passed every check. It is the calling thread's, and used again by its next launch.
const device::Launch& prepare_launch(runtime::Context& context, const detail::DeviceState& owner,
                                     device::Kernel& kernel, const LaunchConfig& config,
                                     std::span<const Argument> arguments);

// Throws invalid_value for a fill that cannot be.
void check_fill(runtime::Context& context, const void* to, const void* element, std::size_t element_bytes,
                std::size_t count);

// A host function as work whose exceptions become host_function_failed; throws invalid_value when it is empty.
runtime::Work host_work(std::function<void()> function);

}  // namespace warploom::api

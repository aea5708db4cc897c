// Observers that the environment asks for; `warploom explain` sets it.
#pragma once

#include <memory>

#include "base/result.hpp"
#include "device/device.hpp"

namespace warploom::api {

// Reads WARPLOOM_OBSERVE, a comma-separated list of observers. Their reports are printed when the process ends, and
// written as JSON to the files that WARPLOOM_REPORT_JSON and WARPLOOM_TIMES_JSON name. WARPLOOM_GPU_TIMES names the
// file that times on a GPU (gpu_time) are written to, and that explain reads. The answer is what the device's launches
// are to be told to; nullptr when nobody asked for times.
Result<std::shared_ptr<observe::LaunchLog>> attach_observers(device::Device& device);

}  // namespace warploom::api

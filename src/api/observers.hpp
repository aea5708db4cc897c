// Observers that the environment asks for; `warploom explain` sets it.
#pragma once

#include "base/result.hpp"
#include "device/device.hpp"

namespace warploom::api {

// Reads WARPLOOM_OBSERVE, a comma-separated list of observers. Their reports are printed when the process ends, and
// written as JSON to the file that WARPLOOM_REPORT_JSON names.
Result<void> attach_observers(device::Device& device);

}  // namespace warploom::api

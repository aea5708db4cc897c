// Hardware counters of a GPU, read by CUPTI's range profiler when CUPTI is installed and the driver permits it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "device/cuda/driver_types.hpp"

namespace warploom::device::cuda {

class Counters {
 public:
  // Of those metrics that the GPU has. not_supported without a CUPTI that can, not_permitted when the driver keeps
  // counters to administrators.
  static Result<std::unique_ptr<Counters>> make(DeviceNumber device, std::vector<std::string> metrics);
  ~Counters();
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;

  // What one run counts, by metric. A run is made once for each pass over the counters that the metrics need, after
  // `prepare`, which is not counted; `run` ends when the GPU's work has. The context is current.
  Result<std::map<std::string, double>> read(ContextHandle* context, const std::function<Result<void>()>& prepare,
                                             const std::function<Result<void>()>& run);

 private:
  struct State;
  explicit Counters(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace warploom::device::cuda

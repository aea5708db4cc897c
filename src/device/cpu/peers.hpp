// Which CPU devices of the process there are, and whose memory kernels of each may access.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "device/device.hpp"

namespace warploom::device {

class DeviceMemory;

// Addresses, first and one past the last.
using AddressRanges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

// A device's entry among those of the process, from its beginning to its end.
class Peers {
 public:
  Peers(const Device& device, const DeviceMemory& memory);
  ~Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  // Kernels of this device may access the other one's memory, or may not any more. Nothing for devices of other kinds.
  void allow(const Device& other, bool on);
  // The memory of other devices that a launch with these parameters names and may not access. Pointers that kernels
  // load from memory are not seen.
  [[nodiscard]] AddressRanges forbidden(const std::vector<std::byte>& params) const;

 private:
  const Device& device_;
  const DeviceMemory& memory_;
  std::vector<const Peers*> allowed_;  // under the lock of all
};

}  // namespace warploom::device

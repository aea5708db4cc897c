// Runs one kernel of PTX text once for an observer.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "device/device.hpp"

namespace warploom {

// Launches one block of `threads` threads of `k(.param .u64 data)` on `bytes` bytes of global memory.
inline void observe_launch(const std::string& text, std::shared_ptr<observe::Observer> observer, std::uint32_t threads,
                           std::size_t bytes, bool unoptimised) {
  const auto checked = [](auto result) {
    if (!result) throw std::runtime_error(result.error().to_string());
    return std::move(*result);
  };
  auto device = checked(device::open_cpu({.threads = 1, .unoptimised = unoptimised}));
  device->add_observer(std::move(observer));
  auto module = checked(device->load(text, "observed.ptx"));
  void* data = checked(device->allocate(bytes));
  device::Launch launch;
  launch.block = {threads, 1, 1};
  launch.params.resize(8);
  std::memcpy(launch.params.data(), &data, 8);
  if (auto done = device->run(*checked(module->kernel("k")), launch); !done)
    throw std::runtime_error(done.error().to_string());
}

}  // namespace warploom

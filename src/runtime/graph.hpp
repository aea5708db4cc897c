// A recorded sequence of device work: nodes and what each waits for, checked once and run many times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "device/device.hpp"
#include "runtime/stream.hpp"

namespace warploom::runtime {

class Context;
class GraphRun;

// What is added has been checked by the caller, as for a stream. Not safe from several threads.
class LaunchGraph {
 public:
  using Node = std::uint32_t;

  // `after` names nodes that were added before: so there is no cycle, and the order of addition is one to run them in.
  // `keep` lives as long as the graph and its runs.
  Result<Node> add_kernel(std::span<const Node> after, device::Kernel& kernel, device::Launch launch,
                          std::shared_ptr<const void> keep);
  Result<Node> add_copy(std::span<const Node> after, void* to, const void* from, std::size_t bytes);
  Result<Node> add_fill(std::span<const Node> after, void* to, std::span<const std::byte> element, std::size_t count);
  // Any other work; `any_thread` as in Item.
  Result<Node> add_work(std::span<const Node> after, Work work, bool any_thread);
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }

  // Looks everything up that does not change between runs. The graph may change afterwards.
  [[nodiscard]] Result<std::shared_ptr<GraphRun>> instantiate(device::Device& device) const;

 private:
  struct Entry {
    device::Kernel* kernel = nullptr;
    device::Launch launch;
    std::shared_ptr<const void> keep;
    void* to = nullptr;
    const void* from = nullptr;  // without one: a fill
    std::size_t count = 0;       // bytes of a copy, elements of a fill
    std::vector<std::byte> element;
    Work work;
    bool any_thread = true;
  };
  Result<Node> add(std::span<const Node> after, Entry entry);

  std::vector<Entry> nodes_;
};

// A graph that can be launched. Its nodes run one after the other in the order they were added, each on all cores.
class GraphRun {
 public:
  Result<void> run() const;
  [[nodiscard]] bool any_thread() const { return any_thread_; }

  // Launches of one GraphRun follow each other, whatever their streams: what the one before waits for, and the place
  // of the next one. `order` is held from the one to the other.
  std::mutex order;
  Ticket last;

 private:
  friend class LaunchGraph;
  struct Step {
    std::unique_ptr<device::PreparedLaunch> kernel;
    void* to = nullptr;
    const void* from = nullptr;
    std::size_t count = 0;
    std::vector<std::byte> element;
    Work work;
    std::shared_ptr<const void> keep;
  };
  device::Device* device_ = nullptr;
  std::vector<Step> steps_;
  bool any_thread_ = true;
};

}  // namespace warploom::runtime

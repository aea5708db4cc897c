// Recording, instantiation and running of graphs.
#include "runtime/graph.hpp"

#include <string>
#include <utility>

namespace warploom::runtime {

Result<LaunchGraph::Node> LaunchGraph::add(std::span<const Node> after, Entry entry) {
  for (const Node node : after) {
    if (node < nodes_.size()) continue;
    Diag diag;
    diag.id = ErrorId::invalid_handle;
    diag.what = "a node cannot wait for node " + std::to_string(node) + ": the graph has " +
                std::to_string(nodes_.size()) + " nodes";
    diag.remedy = "name nodes that were added to this graph before";
    return diag;
  }
  nodes_.push_back(std::move(entry));
  return static_cast<Node>(nodes_.size() - 1);
}

Result<LaunchGraph::Node> LaunchGraph::add_kernel(std::span<const Node> after, device::Kernel& kernel,
                                                  device::Launch launch, std::shared_ptr<const void> keep) {
  Entry entry;
  entry.kernel = &kernel;
  entry.launch = std::move(launch);
  entry.keep = std::move(keep);
  return add(after, std::move(entry));
}

Result<LaunchGraph::Node> LaunchGraph::add_copy(std::span<const Node> after, void* to, const void* from,
                                                std::size_t bytes) {
  Entry entry;
  entry.to = to;
  entry.from = from;
  entry.count = bytes;
  return add(after, std::move(entry));
}

Result<LaunchGraph::Node> LaunchGraph::add_fill(std::span<const Node> after, void* to,
                                                std::span<const std::byte> element, std::size_t count) {
  Entry entry;
  entry.to = to;
  entry.element.assign(element.begin(), element.end());
  entry.count = count;
  return add(after, std::move(entry));
}

Result<LaunchGraph::Node> LaunchGraph::add_work(std::span<const Node> after, Work work, bool any_thread) {
  Entry entry;
  entry.work = std::move(work);
  entry.any_thread = any_thread;
  return add(after, std::move(entry));
}

Result<std::shared_ptr<GraphRun>> LaunchGraph::instantiate(device::Device& device) const {
  auto run = std::make_shared<GraphRun>();
  run->device_ = &device;
  run->steps_.reserve(nodes_.size());
  for (const Entry& entry : nodes_) {
    GraphRun::Step step;
    step.to = entry.to;
    step.from = entry.from;
    step.count = entry.count;
    step.element = entry.element;
    step.work = entry.work;
    step.keep = entry.keep;
    if (entry.kernel != nullptr) {
      auto prepared = device.prepare(*entry.kernel, entry.launch);
      if (!prepared) return std::move(prepared.error());
      step.kernel = std::move(*prepared);
    }
    run->any_thread_ = run->any_thread_ && entry.any_thread;
    run->steps_.push_back(std::move(step));
  }
  return run;
}

Result<void> GraphRun::run() const {
  for (const Step& step : steps_) {
    if (step.kernel)
      WL_TRY(step.kernel->run());
    else if (step.work)
      WL_TRY(step.work());
    else if (step.from != nullptr)
      WL_TRY(device_->copy(step.to, step.from, step.count));
    else if (step.count != 0)
      WL_TRY(device_->fill(step.to, step.element.data(), step.element.size(), step.count));
  }
  return {};
}

}  // namespace warploom::runtime

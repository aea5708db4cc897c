// Runs of graphs: their steps in chains, and the chains on as many threads as are free.
#include <algorithm>
#include <condition_variable>
#include <optional>
#include <utility>

#include "runtime/graph.hpp"

namespace warploom::runtime {
namespace {

// In larger graphs a node may be counted as a join although one of what it waits for comes before another.
constexpr std::size_t kReducedNodes = 4096;

}  // namespace

Result<std::shared_ptr<const GraphRun::Step>> GraphRun::make_step(device::Device& device, const Operation& operation,
                                                                  std::size_t record) {
  auto step = std::make_shared<Step>();
  step->to = operation.to;
  step->from = operation.from;
  step->count = operation.count;
  step->element = operation.element;
  step->work = operation.work;
  step->host = operation.kind == NodeKind::host;
  step->keep = operation.keep;
  step->record = record;
  step->priority = operation.launch.priority;
  if (operation.kernel != nullptr) {
    auto prepared = device.prepare(*operation.kernel, operation.launch);
    if (!prepared) return std::move(prepared.error());
    step->kernel = std::move(*prepared);
  }
  return std::shared_ptr<const Step>(std::move(step));
}

// Lays child graphs out among the nodes of their parents, and cuts everything into segments.
class GraphRun::Builder {
 public:
  Builder(device::Device& device, GraphRun& run) : device_(device), run_(run), plan_(std::make_shared<Plan>()) {}

  Result<void> add(const LaunchGraph& graph, const std::vector<bool>& enabled) {
    plan_->step_of_node.resize(graph.size());
    return add(graph, {}, enabled, true);
  }

  std::shared_ptr<const Plan> finish() {
    reduce();
    cut();
    return plan_;
  }

 private:
  // `entry`: what the graph as a whole waits for.
  Result<void> add(const LaunchGraph& graph, const std::vector<std::uint32_t>& entry, const std::vector<bool>& enabled,
                   bool outermost) {
    std::vector<std::uint32_t> step_of(graph.size());
    const auto order = graph.order();
    if (!order) return Diag(order.error());
    for (const Node node : *order) {
      const Operation& operation = graph.operation(node);
      std::vector<std::uint32_t> after;
      for (const Node before : graph.after(node)) after.push_back(step_of[before]);
      if (after.empty()) after = entry;
      if (operation.kind == NodeKind::graph) {
        const std::size_t first = before_.size();
        WL_TRY(add(*operation.child, after, {}, false));
        // Its end: whatever none of its own waits for.
        std::vector<bool> awaited(before_.size() - first);
        for (std::size_t step = first; step < before_.size(); ++step)
          for (const std::uint32_t b : before_[step])
            if (b >= first) awaited[b - first] = true;
        if (before_.size() != first) after.clear();
        for (std::size_t i = 0; i < awaited.size(); ++i)
          if (!awaited[i]) after.push_back(static_cast<std::uint32_t>(first + i));
      }
      std::size_t record = 0;
      if (operation.kind == NodeKind::event_record) {
        plan_->recorded.push_back(operation.event);
        record = plan_->recorded.size();
      }
      if (operation.kind == NodeKind::event_wait) plan_->awaited.push_back(operation.event);
      std::shared_ptr<const Step> step;
      const bool nothing = operation.kind == NodeKind::empty || operation.kind == NodeKind::graph ||
                           operation.kind == NodeKind::event_wait || operation.kind == NodeKind::memory_alloc ||
                           operation.kind == NodeKind::memory_free || (!enabled.empty() && !enabled[node]);
      if (!nothing) {
        auto made = make_step(device_, operation, record);
        if (!made) return std::move(made.error());
        step = std::move(*made);
      }
      if (operation.kind == NodeKind::host) run_.any_thread_ = false;
      step_of[node] = static_cast<std::uint32_t>(before_.size());
      if (outermost) plan_->step_of_node[node] = step_of[node];
      before_.push_back(std::move(after));
      run_.steps_.push_back(std::move(step));
    }
    return {};
  }

  // Drops what is waited for already through something else.
  void reduce() {
    for (auto& before : before_) {
      std::sort(before.begin(), before.end());
      before.erase(std::unique(before.begin(), before.end()), before.end());
    }
    const std::size_t n = before_.size();
    if (n > kReducedNodes || std::ranges::all_of(before_, [](const auto& b) { return b.size() < 2; })) return;
    std::vector<std::vector<bool>> ancestors(n);
    for (std::size_t step = 0; step < n; ++step) {
      auto& own = ancestors[step];
      own.resize(n);
      for (const std::uint32_t b : before_[step])
        for (std::size_t i = 0; i < b; ++i) own[i] = own[i] || ancestors[b][i];
      std::erase_if(before_[step], [&](std::uint32_t b) { return own[b]; });
      for (const std::uint32_t b : before_[step]) own[b] = true;
    }
  }

  void cut() {
    const std::size_t n = before_.size();
    std::vector<std::uint32_t> followers(n), segment_of(n);
    for (const auto& before : before_)
      for (const std::uint32_t b : before) ++followers[b];
    for (std::uint32_t step = 0; step < n; ++step) {
      const auto& before = before_[step];
      if (before.size() == 1 && followers[before[0]] == 1) {
        segment_of[step] = segment_of[before[0]];
        plan_->segments[segment_of[step]].steps.push_back(step);
        continue;
      }
      segment_of[step] = static_cast<std::uint32_t>(plan_->segments.size());
      Segment& segment = plan_->segments.emplace_back();
      segment.steps.push_back(step);
      segment.waits_for = static_cast<std::uint32_t>(before.size());
      if (before.empty()) plan_->roots.push_back(segment_of[step]);
      for (const std::uint32_t b : before) plan_->segments[segment_of[b]].next.push_back(segment_of[step]);
    }
  }

  device::Device& device_;
  GraphRun& run_;
  std::shared_ptr<Plan> plan_;
  std::vector<std::vector<std::uint32_t>> before_;  // of each step: steps
};

Result<std::shared_ptr<const GraphRun>> GraphRun::make(device::Device& device, const LaunchGraph& graph,
                                                       const std::vector<bool>& enabled) {
  auto run = std::make_shared<GraphRun>();
  run->device_ = &device;
  Builder builder(device, *run);
  WL_TRY(builder.add(graph, enabled));
  run->plan_ = builder.finish();
  return std::shared_ptr<const GraphRun>(std::move(run));
}

Result<std::shared_ptr<const GraphRun>> GraphRun::with(Node node, const Operation& operation, bool enabled) const {
  auto run = std::make_shared<GraphRun>(*this);
  std::shared_ptr<const Step> step;
  if (enabled && operation.kind != NodeKind::empty) {
    auto made = make_step(*device_, operation, 0);
    if (!made) return std::move(made.error());
    step = std::move(*made);
  }
  run->steps_[plan_->step_of_node[node]] = std::move(step);
  return std::shared_ptr<const GraphRun>(std::move(run));
}

Result<void> GraphRun::run_step(const Step& step, const EventRecords* records) const {
  if (step.kernel) return step.kernel->run();
  if (step.host) return run_host_work(step.work);
  if (step.work) return step.work();
  if (step.record != 0) return (*records)[step.record - 1]->reach();
  if (step.from != nullptr) return device_->copy(step.to, step.from, step.count);
  if (step.count != 0) return device_->fill(step.to, step.element.data(), step.element.size(), step.count);
  return {};
}

// One run of a graph that is more than a chain.
class GraphRun::Branches final : public Helpers::Job {
 public:
  Branches(const GraphRun& run, Helpers& helpers, const EventRecords* records)
      : run_(run), helpers_(helpers), records_(records), ready_(run.plan_->roots), left_(run.plan_->segments.size()) {
    waits_.reserve(left_);
    for (const Segment& segment : run.plan_->segments) waits_.push_back(segment.waits_for);
  }

  Result<void> run() {
    if (ready_.size() > 1) helpers_.call(*this, static_cast<unsigned>(ready_.size() - 1));
    work(true);
    helpers_.dismiss(*this);
    if (error_) return std::move(*error_);
    return {};
  }

 private:
  void help() override { work(false); }

  void work(bool owner) {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (ready_.empty()) {
        if (!owner || left_ == 0) return;
        owner_waits_ = true;
        changed_.wait(lock, [&] { return !ready_.empty() || left_ == 0; });
        owner_waits_ = false;
        continue;
      }
      const std::uint32_t segment = take();
      const bool goes_on = !error_;
      lock.unlock();
      Result<void> done;
      if (goes_on) done = run_segment(run_.plan_->segments[segment]);
      lock.lock();
      if (!done && !error_) error_ = std::move(done.error());
      --left_;
      for (const std::uint32_t next : run_.plan_->segments[segment].next)
        if (--waits_[next] == 0) ready_.push_back(next);
      hand_out(ready_.size());
    }
  }

  // This thread goes on with one of `ready`.
  void hand_out(std::size_t ready) {
    if (owner_waits_ && (ready > 1 || left_ == 0)) {
      changed_.notify_one();
      if (ready != 0) --ready;
    }
    if (ready > 1) helpers_.call(*this, static_cast<unsigned>(ready - 1));
  }

  // The most urgent one, and of equals the one that has been ready for the longest time.
  std::uint32_t take() {
    const auto urgency = [&](std::uint32_t segment) {
      const auto& step = run_.steps_[run_.plan_->segments[segment].steps.front()];
      return step ? step->priority : 0;
    };
    const auto best = std::ranges::min_element(ready_, {}, urgency);
    const std::uint32_t segment = *best;
    ready_.erase(best);
    return segment;
  }

  Result<void> run_segment(const Segment& segment) const {
    for (const std::uint32_t number : segment.steps)
      if (const Step* step = run_.steps_[number].get()) WL_TRY(run_.run_step(*step, records_));
    return {};
  }

  const GraphRun& run_;
  Helpers& helpers_;
  const EventRecords* const records_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::uint32_t> ready_, waits_;
  std::size_t left_;
  bool owner_waits_ = false;
  std::optional<Diag> error_;
};

Result<void> GraphRun::run(Helpers& helpers, const EventRecords* records) const {
  if (plan_->segments.size() > 1 && !helpers.none()) return Branches(*this, helpers, records).run();
  for (const auto& step : steps_)
    if (step) WL_TRY(run_step(*step, records));
  return {};
}

}  // namespace warploom::runtime

// Sums the counts of launches by kernel and shape, and spreads them over source lines.
#include "observe/explain/explain.hpp"

#include <algorithm>

#include "observe/explain/rules.hpp"

namespace warploom::observe::explain {
namespace {

template <class T>
void add(std::vector<T>& sum, const std::vector<T>& more) {
  if (sum.size() < more.size()) sum.resize(more.size());
  for (std::size_t i = 0; i < more.size(); ++i) sum[i] += more[i];
}

AccessGroup group_of(const Site& site) {
  const bool atomic = is_atomic(site.access);
  const bool store = site.access == AccessKind::store;
  switch (site.space) {
    case isa::Space::shared:
      return atomic ? AccessGroup::shared_atomic : store ? AccessGroup::shared_store : AccessGroup::shared_load;
    case isa::Space::local: return store ? AccessGroup::local_store : AccessGroup::local_load;
    default: return atomic ? AccessGroup::global_atomic : store ? AccessGroup::global_store : AccessGroup::global_load;
  }
}

void add(GroupCounts& sum, const Site& site, const AccessCounts& counts) {
  sum.counts += counts;
  ++sum.sites;
  sum.bytes = std::max(sum.bytes, site.bytes);
}

// Spreads the counts over the kernel's totals and its lines.
void spread(KernelData& kernel, const LaunchCounts& counts) {
  std::map<std::tuple<std::string, std::uint32_t>, LineData> lines;
  for (const Site& site : kernel.facts.sites) {
    // Constant memory has a cache of its own.
    if (site.space == isa::Space::constant) continue;
    const bool known = site.source.known();
    const auto key = known ? std::tuple(site.source.file, site.source.line) : std::tuple(std::string(), site.ptx_line);
    LineData& line = lines[key];
    line.source = known ? SourceLoc{site.source.file, site.source.line, 0} : SourceLoc{"PTX", site.ptx_line, 0};
    line.from_ptx = !known;
    if (site.kind == Site::Kind::access && site.id < counts.access.size()) {
      const AccessCounts& access = counts.access[site.id];
      if (site.alternative && access.requests == 0) continue;
      const auto group = static_cast<std::size_t>(group_of(site));
      if (site.texture || (site.async && group_of(site) == AccessGroup::shared_store))
        add(kernel.elsewhere[group], site, access);
      add(line.groups[group], site, access);
      add(kernel.groups[group], site, access);
    } else if (site.kind == Site::Kind::branch && site.id < counts.branch.size()) {
      line.branch += counts.branch[site.id];
      ++line.branch_sites;
      kernel.branch += counts.branch[site.id];
    }
  }
  for (auto& [key, line] : lines) {
    const bool accesses = std::any_of(std::begin(line.groups), std::end(line.groups),
                                      [](const GroupCounts& group) { return group.counts.requests != 0; });
    if (accesses || line.branch.executed != 0) kernel.lines.push_back(std::move(line));
  }
}

}  // namespace

std::string_view name(Basis basis) {
  switch (basis) {
    case Basis::exact: return "exact";
    case Basis::modelled: return "modelled";
    case Basis::estimated: return "estimated";
  }
  return "";
}

std::string_view name(AccessGroup group) {
  switch (group) {
    case AccessGroup::global_load: return "global load";
    case AccessGroup::global_store: return "global store";
    case AccessGroup::global_atomic: return "global atomic";
    case AccessGroup::shared_load: return "shared load";
    case AccessGroup::shared_store: return "shared store";
    case AccessGroup::shared_atomic: return "shared atomic";
    case AccessGroup::local_load: return "local load";
    case AccessGroup::local_store: return "local store";
  }
  return "";
}

std::string key(AccessGroup group) {
  std::string text(name(group));
  std::replace(text.begin(), text.end(), ' ', '_');
  return text;
}

bool is_shared(AccessGroup group) {
  return group == AccessGroup::shared_load || group == AccessGroup::shared_store || group == AccessGroup::shared_atomic;
}

Explain::Record& Explain::record(const KernelFacts& kernel, const LaunchFacts& launch) {
  const Key key{kernel.name, kernel.sites.size(), launch.grid, launch.block, launch.dynamic_shared_bytes};
  const auto [found, fresh] = index_.try_emplace(key, records_.size());
  if (fresh) {
    Record& record = records_.emplace_back();
    record.data.facts = kernel;
    record.data.grid = launch.grid;
    record.data.block = launch.block;
    record.data.dynamic_shared_bytes = launch.dynamic_shared_bytes;
  }
  return records_[found->second];
}

void Explain::launch_done(const KernelFacts& kernel, const LaunchFacts& launch, const LaunchCounts& counts) {
  const std::lock_guard lock(mutex_);
  Record& r = record(kernel, launch);
  r.data.fastest_seconds = r.data.launches == 0 ? launch.seconds : std::min(r.data.fastest_seconds, launch.seconds);
  ++r.data.launches;
  r.data.seconds += launch.seconds;
  r.data.warp_instructions += counts.warp_instructions;
  r.data.thread_instructions += counts.thread_instructions;
  add(r.counts.access, counts.access);
  add(r.counts.branch, counts.branch);
}

void Explain::launch_failed(const KernelFacts& kernel, const LaunchFacts& launch, const Diag&) {
  const std::lock_guard lock(mutex_);
  ++record(kernel, launch).data.failed;
}

std::vector<KernelData> Explain::analyse() const {
  const std::lock_guard lock(mutex_);
  std::vector<KernelData> kernels;
  for (const Record& record : records_) {
    KernelData& kernel = kernels.emplace_back(record.data);
    spread(kernel, record.counts);
    kernel.occupancy =
        compute_occupancy(profile_, kernel.threads_per_block(), kernel.facts.registers_estimate, kernel.shared_bytes());
    kernel.findings = find_all({kernel, profile_});
  }
  return kernels;
}

void Explain::managed_memory(const ManagedFacts& facts) {
  const std::lock_guard lock(mutex_);
  managed_[facts.id] = facts;
}

void Explain::releases(const ReleaseFacts& facts) {
  const std::lock_guard lock(mutex_);
  releases_[facts.device] = facts;
}

std::vector<ManagedFacts> Explain::managed() const {
  const std::lock_guard lock(mutex_);
  std::vector<ManagedFacts> out;
  out.reserve(managed_.size());
  for (const auto& [id, facts] : managed_) out.push_back(facts);
  return out;
}

ReleaseFacts Explain::releases() const {
  const std::lock_guard lock(mutex_);
  ReleaseFacts out;
  for (const auto& [device, facts] : releases_) {
    out.put_off += facts.put_off;
    out.most = std::max(out.most, facts.most);
    out.flushes += facts.flushes;
    out.pending += facts.pending;
  }
  return out;
}

}  // namespace warploom::observe::explain

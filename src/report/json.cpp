// Prints a report as JSON.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/report.hpp"

namespace warploom::report {
namespace {

using nlohmann::ordered_json;
using namespace observe::explain;  // NOLINT: the whole file prints its data
using observe::BranchCounts;

Basis basis_of(AccessGroup group) {
  // The order in which hardware merges a warp's atomics is modelled.
  return group == AccessGroup::global_atomic ? Basis::modelled : Basis::exact;
}

ordered_json json(AccessGroup group, const GroupCounts& g) {
  ordered_json out{{"basis", name(basis_of(group))}, {"requests", g.counts.requests}, {"bytes_per_thread", g.bytes}};
  if (is_shared(group)) {
    out["wavefronts"] = g.counts.wavefronts;
    out["ideal_wavefronts"] = g.counts.ideal_wavefronts;
    out["bank_conflicts"] = g.conflicts();
  } else {
    out["sectors"] = g.counts.sectors;
    out["ideal_sectors"] = g.counts.ideal_sectors;
    out["sectors_per_request"] = g.per_request(g.counts.sectors);
  }
  out["average_active_lanes"] = g.per_request(g.counts.active_lanes);
  return out;
}

ordered_json json(const GroupCounts (&groups)[kAccessGroups]) {
  ordered_json out = ordered_json::object();
  for (std::size_t i = 0; i < kAccessGroups; ++i)
    if (groups[i].counts.requests != 0)
      out[key(static_cast<AccessGroup>(i))] = json(static_cast<AccessGroup>(i), groups[i]);
  return out;
}

ordered_json json(const BranchCounts& b) {
  return {{"basis", name(Basis::exact)},
          {"executed", b.executed},
          {"divergent", b.divergent},
          {"average_active_lanes",
           b.executed == 0 ? 0.0 : static_cast<double>(b.active_lanes) / static_cast<double>(b.executed)}};
}

ordered_json json(const Occupancy& o) {
  return {{"basis", name(Basis::modelled)},
          {"percent", 100 * o.fraction()},
          {"warps", o.warps},
          {"max_warps", o.max_warps},
          {"blocks", o.blocks},
          {"limiter", name(o.limiter)},
          {"limits",
           {{"warps", o.limit_warps},
            {"blocks", o.limit_blocks},
            {"registers", o.limit_registers},
            {"shared_memory", o.limit_shared}}}};
}

ordered_json json(const Finding& f) {
  ordered_json out{{"rule", f.rule}, {"message", f.message}, {"basis", name(f.basis)}, {"cost_cycles", f.cost}};
  if (f.source.known()) {
    out["file"] = f.source.file;
    out["line"] = f.source.line;
  }
  return out;
}

ordered_json json(const KernelData& k, SourceText& sources) {
  ordered_json out{
      {"name", k.facts.demangled.empty() ? k.facts.name : k.facts.demangled},
      {"mangled_name", k.facts.name},
      {"grid", k.grid},
      {"block", k.block},
      {"launches", k.launches},
      {"failed_launches", k.failed},
      {"time", {{"basis", name(Basis::exact)}, {"seconds", k.seconds}, {"fastest_seconds", k.fastest_seconds}}},
      {"static_shared_bytes", k.facts.static_shared_bytes},
      {"dynamic_shared_bytes", k.dynamic_shared_bytes},
      {"local_bytes_per_thread", k.facts.local_bytes},
      {"registers", {{"basis", name(Basis::estimated)}, {"per_thread", k.facts.registers_estimate}}},
      {"occupancy", json(k.occupancy)},
      {"instructions",
       {{"basis", name(Basis::exact)},
        {"warp", k.warp_instructions},
        {"thread", k.thread_instructions},
        {"average_active_lanes", k.average_active_lanes()}}},
      {"accesses", json(k.groups)},
      {"branches", json(k.branch)}};
  ordered_json lines = ordered_json::array();
  for (const LineData& line : k.lines) {
    ordered_json entry{{"file", line.source.file}, {"line", line.source.line}};
    if (!line.from_ptx) entry["text"] = sources.line(line.source.file, line.source.line);
    entry["accesses"] = json(line.groups);
    if (line.branch.executed != 0) entry["branches"] = json(line.branch);
    lines.push_back(std::move(entry));
  }
  out["lines"] = std::move(lines);
  out["findings"] = ordered_json::array();
  for (const Finding& finding : k.findings) out["findings"].push_back(json(finding));
  return out;
}

ordered_json on_gpu(const observe::GpuMeasurement& gpu, const KernelData& k) {
  ordered_json out = ordered_json::object();
  if (const observe::GpuKernelTimes* times = times_of(gpu, k)) {
    out["measured"] = {{"basis", name(Basis::exact)},
                       {"median_seconds", times->median()},
                       {"fastest_seconds", *std::min_element(times->seconds.begin(), times->seconds.end())},
                       {"runs", times->seconds.size()},
                       {"warm", times->warm}};
    for (const observe::GpuCounterRow& row : observe::gpu_counter_rows()) {
      const auto measured = value_of(row, times->counters);
      if (!measured) continue;
      auto& entry = out["counters"][row.id] = {{"measured", *measured}};
      if (const auto here = counted(row, k)) entry["counted"] = *here;
    }
  }
  if (const auto p = predict(gpu.gpu, k))
    out["predicted"] = {{"basis", name(Basis::modelled)},
                        {"least_seconds", p->least},
                        {"limiter", p->limiter},
                        {"uncached_seconds", p->uncached}};
  return out;
}

}  // namespace

std::string to_json(const Report& report) {
  SourceText sources;
  ordered_json out{{"schema", kJsonSchema},
                   {"profile",
                    {{"name", report.profile.name},
                     {"title", report.profile.title},
                     {"compute_capability", report.profile.sm},
                     {"multiprocessors", report.profile.sm_count}}},
                   {"kernels", ordered_json::array()}};
  if (report.gpu)
    out["gpu"] = {{"name", report.gpu->gpu.name},
                  {"driver", report.gpu->gpu.driver},
                  {"multiprocessors", report.gpu->gpu.multiprocessors},
                  {"clock_hz", report.gpu->gpu.clock_hz},
                  {"memory_bytes_per_second", report.gpu->gpu.memory_bytes_per_second},
                  {"counters", {{"read", has_counters(*report.gpu)}, {"why_not", report.gpu->why_no_counters}}}};
  for (const KernelData& kernel : report.kernels) {
    out["kernels"].push_back(json(kernel, sources));
    if (report.gpu) out["kernels"].back()["gpu"] = on_gpu(*report.gpu, kernel);
  }
  for (const observe::ManagedFacts& m : report.managed)
    out["managed_memory"].push_back({{"place", m.place},
                                     {"bytes", m.bytes},
                                     {"page_bytes", m.page_bytes},
                                     {"pages", m.pages},
                                     {"tracked", m.tracked},
                                     {"on_host", m.on_host},
                                     {"on_device", m.on_device},
                                     {"on_both", m.on_both},
                                     {"device_faults", m.device_faults},
                                     {"host_faults", m.host_faults},
                                     {"to_device", m.to_device},
                                     {"to_host", m.to_host},
                                     {"prefetched_to_device", m.prefetched_to_device},
                                     {"prefetched_to_host", m.prefetched_to_host},
                                     {"duplicated", m.duplicated},
                                     {"remote", m.remote},
                                     {"ping_pong", m.ping_pong},
                                     {"most_moves", m.most_moves}});
  if (report.releases.put_off != 0)
    out["releases"] = {{"put_off", report.releases.put_off},
                       {"most", report.releases.most},
                       {"flushes", report.releases.flushes},
                       {"pending", report.releases.pending}};
  // Source text may hold bytes that are no UTF-8.
  return out.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace warploom::report

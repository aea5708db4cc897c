// Prints a report for people: about 100 columns, colour only where the caller asks for it.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <iterator>

#include "report/report.hpp"

namespace warploom::report {
namespace {

using namespace observe::explain;  // NOLINT: the whole file prints its data
using observe::BranchCounts;

// 1234567 as 1,234,567.
std::string grouped(std::uint64_t value) {
  std::string digits = std::to_string(value);
  for (int i = static_cast<int>(digits.size()) - 3; i > 0; i -= 3) digits.insert(static_cast<std::size_t>(i), ",");
  return digits;
}

std::string duration(double seconds) {
  if (seconds >= 1) return fmt::format("{:.2f} s", seconds);
  if (seconds >= 1e-3) return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.1f} us", seconds * 1e6);
}

std::string base_name(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

// As a user would write the path: relative to the current folder where it lies below it.
std::string shown_path(const std::string& path) {
  std::error_code error;
  const std::string here = std::filesystem::current_path(error).string() + "/";
  return !error && path.rfind(here, 0) == 0 ? path.substr(here.size()) : path;
}

// Breaks words at the width; lines after the first start with `indent` blanks.
std::string wrap(const std::string& text, std::size_t indent, std::size_t width) {
  std::string out;
  std::size_t column = indent, start = 0;
  while (start < text.size()) {
    const std::size_t end = std::min(text.find(' ', start), text.size());
    const std::size_t length = end - start;
    if (!out.empty() && column + 1 + length > width) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (!out.empty()) {
      out += ' ';
      ++column;
    }
    out.append(text, start, length);
    column += length;
    start = end + 1;
  }
  return out;
}

class Printer {
 public:
  Printer(const Report& report, const TextOptions& options) : report_(report), options_(options) {}

  std::string print() {
    line("{}", bold(fmt::format("Warploom report, modelled GPU {} (compute capability {}.{})", report_.profile.title,
                                report_.profile.sm / 10, report_.profile.sm % 10)));
    line("Counts are exact; ~ marks modelled figures, ? estimated ones.");
    if (report_.gpu) {
      line("Times on {} by its own clock; ~ what the counts alone would take there.", report_.gpu->gpu.name);
      if (!has_counters(*report_.gpu)) line("Hardware counters were not read: {}.", report_.gpu->why_no_counters);
    }
    for (const KernelData& kernel : report_.kernels) print(kernel);
    if (!report_.managed.empty()) managed();
    if (report_.releases.put_off != 0) releases(report_.releases);
    return std::move(out_);
  }

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    out_ += '\n';
  }
  [[nodiscard]] std::string paint(const char* code, const std::string& text) const {
    return options_.colour ? fmt::format("\033[{}m{}\033[0m", code, text) : text;
  }
  [[nodiscard]] std::string bold(const std::string& text) const { return paint("1", text); }
  [[nodiscard]] std::string dim(const std::string& text) const { return paint("2", text); }

  void print(const KernelData& k) {
    line("");
    line("{}", bold("kernel " + (k.facts.demangled.empty() ? k.facts.name : k.facts.demangled)));
    shape(k);
    totals(k);
    if (report_.gpu) counters(k);
    findings(k);
    by_line(k);
  }

  void shape(const KernelData& k) {
    std::string launches = fmt::format("{} ({} on this CPU", k.launches, duration(k.seconds));
    if (k.launches > 1) launches += fmt::format(", fastest {}", duration(k.fastest_seconds));
    launches += ")";
    if (k.failed != 0) launches += fmt::format(", {} failed", k.failed);
    const std::uint32_t threads = k.threads_per_block();
    line("  launches     {}", launches);
    if (report_.gpu) on_gpu(k);
    line("  shape        grid {} x {} x {}, block {} x {} x {} = {} threads, {} warps", k.grid[0], k.grid[1], k.grid[2],
         k.block[0], k.block[1], k.block[2], threads, (threads + 31) / 32);
    line("  memory       {} bytes shared a block ({} static, {} dynamic), {} bytes local a thread",
         grouped(k.shared_bytes()), grouped(k.facts.static_shared_bytes), grouped(k.dynamic_shared_bytes),
         grouped(k.facts.local_bytes));
    line("  registers    ?{} a thread", k.facts.registers_estimate);
    const Occupancy& o = k.occupancy;
    line("  occupancy    ~{:.0f} %: {} of {} warps, {} block{} on a multiprocessor, limited by {}", 100 * o.fraction(),
         o.warps, o.max_warps, o.blocks, o.blocks == 1 ? "" : "s", name(o.limiter));
    if (k.warp_instructions != 0)
      line("  lanes        {:.1f} of 32 execute on average, over {} warp instructions", k.average_active_lanes(),
           grouped(k.warp_instructions));
    if (k.branch.executed != 0)
      line("  branches     {} executed by warps, {} divergent ({:.1f} %)", grouped(k.branch.executed),
           grouped(k.branch.divergent),
           100.0 * static_cast<double>(k.branch.divergent) / static_cast<double>(k.branch.executed));
  }

  void on_gpu(const KernelData& k) {
    const observe::GpuKernelTimes* times = times_of(*report_.gpu, k);
    std::string text = "not measured: it was not launched there in this shape";
    if (times != nullptr)
      text = fmt::format("{} (median of {}{})", duration(times->median()), times->seconds.size(),
                         times->warm ? ", warm" : "");
    if (const auto p = predict(report_.gpu->gpu, k)) {
      text += fmt::format("; predicted ~{} ({})", duration(p->least), p->limiter);
      if (p->uncached > p->least) text += fmt::format(" to ~{} (memory without caches)", duration(p->uncached));
    }
    line("  on the GPU   {}", wrap(text, 15, options_.width));
  }

  // What explain and the GPU's counters count of the same launch.
  void counters(const KernelData& k) {
    const observe::GpuKernelTimes* times = times_of(*report_.gpu, k);
    if (times == nullptr || times->counters.empty()) return;
    line("\n  {:<30}{:>18}{:>18}", "of one launch", "counted here", "by the GPU");
    for (const observe::GpuCounterRow& row : observe::gpu_counter_rows()) {
      const auto measured = value_of(row, times->counters);
      const auto here = counted(row, k);
      if (!measured || (*measured == 0 && here.value_or(0) == 0)) continue;
      const auto figure = [](double value) { return grouped(static_cast<std::uint64_t>(std::llround(value))); };
      line("  {:<30}{:>18}{:>18}", row.title, here ? figure(*here) : "-", figure(*measured));
    }
  }

  void totals(const KernelData& k) {
    bool header = false;
    for (std::size_t i = 0; i < kAccessGroups; ++i) {
      const auto group = static_cast<AccessGroup>(i);
      const GroupCounts& g = k.group(group);
      if (g.counts.requests == 0 || is_shared(group)) continue;
      if (!header) line("\n  {:<14}{:>16}{:>16}{:>13}{:>9}", "", "requests", "sectors", "per request", "ideal");
      header = true;
      const std::string mark = group == AccessGroup::global_atomic ? "~" : "";
      line("  {:<14}{:>16}{:>16}{:>13.2f}{:>9.2f}", name(group), grouped(g.counts.requests),
           mark + grouped(g.counts.sectors), g.per_request(g.counts.sectors), g.per_request(g.counts.ideal_sectors));
    }
    header = false;
    for (std::size_t i = 0; i < kAccessGroups; ++i) {
      const auto group = static_cast<AccessGroup>(i);
      const GroupCounts& g = k.group(group);
      if (g.counts.requests == 0 || !is_shared(group)) continue;
      if (!header)
        line("\n  {:<14}{:>16}{:>16}{:>13}{:>9}{:>16}", "", "requests", "wavefronts", "per request", "ideal",
             "bank conflicts");
      header = true;
      line("  {:<14}{:>16}{:>16}{:>13.2f}{:>9.2f}{:>16}", name(group), grouped(g.counts.requests),
           grouped(g.counts.wavefronts), g.per_request(g.counts.wavefronts), g.per_request(g.counts.ideal_wavefronts),
           grouped(g.conflicts()));
    }
  }

  void findings(const KernelData& k) {
    line("");
    if (k.findings.empty()) {
      line("  {}", paint("32", "nothing to change"));
      return;
    }
    line("  {}",
         bold(k.findings.size() == 1 ? "1 finding" : fmt::format("{} findings, dearest first", k.findings.size())));
    int number = 0;
    for (const Finding& finding : k.findings) {
      std::string text;
      if (finding.source.known()) text = fmt::format("{}:{}: ", base_name(finding.source.file), finding.source.line);
      text += finding.message;
      if (finding.basis != Basis::exact) text += fmt::format(" ({})", name(finding.basis));
      line("  {} {}", paint("33", fmt::format("{:>2}.", ++number)), wrap(text, 6, options_.width));
    }
  }

  void by_line(const KernelData& k) {
    const std::string* file = nullptr;
    for (const LineData& entry : k.lines) {
      if (file == nullptr || *file != entry.source.file) {
        file = &entry.source.file;
        line("\n  {}", bold(entry.from_ptx ? "PTX (no line information: compile with -lineinfo)" : shown_path(*file)));
      }
      const std::string code = entry.from_ptx ? "" : sources_.line(entry.source.file, entry.source.line);
      const std::string shown = code.size() + 9 > options_.width ? code.substr(0, options_.width - 12) + "..." : code;
      line("  {:>5} | {}", entry.source.line, paint("36", shown));
      for (std::size_t i = 0; i < kAccessGroups; ++i) access(static_cast<AccessGroup>(i), entry.groups[i]);
      if (entry.branch.executed != 0) {
        const BranchCounts& b = entry.branch;
        line("        | {:<14}{:>13} executed  {:>14} divergent   {:>5.1f} active lanes", "branch", grouped(b.executed),
             grouped(b.divergent), static_cast<double>(b.active_lanes) / static_cast<double>(b.executed));
      }
    }
  }

  void access(AccessGroup group, const GroupCounts& g) {
    if (g.counts.requests == 0) return;
    if (is_shared(group))
      line("        | {:<14}{:>13} requests  {:>14} wavefronts {:>14} conflicts", name(group),
           grouped(g.counts.requests), grouped(g.counts.wavefronts), grouped(g.conflicts()));
    else
      line("        | {:<14}{:>13} requests  {:>14} sectors  {:>6.2f} a request, ideal {:.2f}", name(group),
           grouped(g.counts.requests), grouped(g.counts.sectors), g.per_request(g.counts.sectors),
           g.per_request(g.counts.ideal_sectors));
  }

  void managed() {
    line("");
    line("{}", bold("managed memory"));
    for (const observe::ManagedFacts& m : report_.managed) {
      const std::string place = m.place.empty() ? "" : " made at " + shown_path(m.place);
      line("  {} bytes{}: {} pages of {} KiB, now {} on the host, {} on the device, {} on both", grouped(m.bytes),
           place, grouped(m.pages), m.page_bytes >> 10, grouped(m.on_host), grouped(m.on_device), grouped(m.on_both));
      line("    {:<12}~{} to the device, ~{} to the host, by ~{} faults of kernels and ~{} of the host", "migrated",
           grouped(m.to_device), grouped(m.to_host), grouped(m.device_faults), grouped(m.host_faults));
      if (m.prefetched_to_device + m.prefetched_to_host != 0)
        line("    {:<12}{} to the device, {} to the host", "prefetched", grouped(m.prefetched_to_device),
             grouped(m.prefetched_to_host));
      if (m.duplicated + m.remote != 0)
        line("    {:<12}~{} copied for readers, ~{} accessed where they are", "advised", grouped(m.duplicated),
             grouped(m.remote));
      if (m.ping_pong != 0)
        line("    {}",
             paint("33", wrap(fmt::format("{} pages go back and forth between host and device, one of them {} times: "
                                          "prefetch them, or let one side work on a copy",
                                          grouped(m.ping_pong), m.most_moves),
                              6, options_.width)));
    }
  }

  void releases(const observe::ReleaseFacts& r) {
    line("");
    line("{}", bold("late releases"));
    line("  {} put off, at most {} at once; the queues were emptied {} times, {} wait still", grouped(r.put_off),
         grouped(r.most), grouped(r.flushes), grouped(r.pending));
  }

  const Report& report_;
  const TextOptions& options_;
  SourceText sources_;
  std::string out_;
};

}  // namespace

std::string to_text(const Report& report, const TextOptions& options) { return Printer(report, options).print(); }

}  // namespace warploom::report

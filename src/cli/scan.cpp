// The `scan` command: what a file holds for the device and whether it will run, as text or JSON.
#include "warploom/scan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "warploom/error.hpp"

namespace warploom::cli {
namespace {

using nlohmann::ordered_json;

constexpr int kSomeRefused = 1, kNoKernels = 3;

ordered_json json(const ScanReport& report) {
  ordered_json out{{"schema", "warploom-scan-1"},    {"file", report.file},
                   {"format", report.format},        {"device", report.device},
                   {"runs", report.runs()},          {"static_runtime", report.static_runtime},
                   {"units", ordered_json::array()}, {"kernels", ordered_json::array()}};
  for (const ScanUnit& unit : report.units) {
    ordered_json u{{"name", unit.name}, {"relocatable", unit.relocatable}, {"codes", ordered_json::array()}};
    for (const ScanCode& code : unit.codes)
      u["codes"].push_back({{"kind", code.kind},
                            {"target", code.target},
                            {"version", code.version},
                            {"compression", code.compression},
                            {"bytes", code.bytes},
                            {"chosen", code.chosen}});
    if (!unit.error.empty()) u["error"] = unit.error;
    if (!unit.note.empty()) u["note"] = unit.note;
    out["units"].push_back(std::move(u));
  }
  for (const ScanKernel& kernel : report.kernels) {
    ordered_json k{{"name", kernel.name},
                   {"demangled", kernel.demangled},
                   {"unit", kernel.unit},
                   {"has_ptx", kernel.has_ptx},
                   {"runs", kernel.runs},
                   {"instructions", kernel.instructions},
                   {"refusals", ordered_json::array()}};
    for (const ScanRefusal& r : kernel.refusals)
      k["refusals"].push_back({{"instruction", r.instruction},
                               {"reason", r.reason},
                               {"remedy", r.remedy},
                               {"count", r.count},
                               {"line", r.line},
                               {"column", r.column},
                               {"source", r.source}});
    out["kernels"].push_back(std::move(k));
  }
  return out;
}

std::string plural(std::size_t n, const char* what) { return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s"); }

// "PTX 9.0 for sm_75" in the order of the file, the chosen one marked.
std::string codes_text(const ScanUnit& unit) {
  std::string out;
  for (const ScanCode& c : unit.codes) {
    if (!out.empty()) out += ", ";
    out += c.kind;
    if (!c.version.empty()) out += " " + c.version;
    if (!c.target.empty()) out += " for " + c.target;
    if (c.compression != "none") out += " (" + c.compression + ")";
    if (c.chosen && unit.codes.size() > 1) out += " <- taken";
  }
  return out;
}

std::string indented(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    out += "      " + text.substr(at, end - at) + "\n";
    at = end + 1;
  }
  return out;
}

void print_units(const ScanReport& report) {
  // Programs hold hundreds of files that were all compiled for the same GPUs.
  std::map<std::string, std::size_t> alike;
  std::vector<std::string> order;
  for (const ScanUnit& unit : report.units) {
    const std::string text = codes_text(unit) + (unit.relocatable ? "; relocatable (-rdc=true)" : "");
    if (++alike[text] == 1) order.push_back(text);
  }
  for (const std::string& text : order)
    fmt::print("  {}{}\n", alike[text] == 1 ? "" : fmt::format("{} x ", alike[text]), text);
  for (const ScanUnit& unit : report.units)
    if (!unit.note.empty()) fmt::print("  note: {}: {}\n", unit.name, unit.note);
  for (const ScanUnit& unit : report.units)
    if (!unit.error.empty()) fmt::print("  {} cannot be loaded:\n{}", unit.name, indented(unit.error));
}

void print_kernels(const ScanReport& report, bool all) {
  for (const ScanKernel& kernel : report.kernels) {
    if (kernel.runs) {
      if (all) fmt::print("  runs      {}  ({})\n", kernel.demangled, plural(kernel.instructions, "instruction"));
      continue;
    }
    fmt::print("  refused   {}\n", kernel.demangled);
    for (const ScanRefusal& r : kernel.refusals) {
      std::string line = r.instruction.empty() ? r.reason : fmt::format("{}: {}", r.instruction, r.reason);
      if (r.count > 1) line = fmt::format("{} x {}", r.count, line);
      if (r.line != 0) line += fmt::format("; {}line {}", r.count > 1 ? "first in " : "", r.line);
      if (!r.source.empty()) line += fmt::format(" ({})", r.source);
      fmt::print("              {}\n", line);
      if (!r.remedy.empty()) fmt::print("                to do: {}\n", r.remedy);
    }
  }
}

void print_totals(const ScanReport& report) {
  struct Total {
    std::uint64_t places = 0;
    std::size_t kernels = 0;
    std::string reason;
  };
  std::map<std::string, Total> totals;
  for (const ScanKernel& kernel : report.kernels)
    for (const ScanRefusal& r : kernel.refusals) {
      if (r.instruction.empty()) continue;
      Total& t = totals[r.instruction];
      t.places += r.count;
      ++t.kernels;
      t.reason = r.reason;
    }
  if (totals.empty()) return;
  std::vector<std::pair<std::string, Total>> rows(totals.begin(), totals.end());
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.second.places > b.second.places; });
  fmt::print("\ninstructions that are not supported:\n");
  for (const auto& [instruction, t] : rows)
    fmt::print("  {:<44} {} in {}: {}\n", instruction, plural(t.places, "place"), plural(t.kernels, "kernel"),
               t.reason);
}

}  // namespace

int scan(const ScanOptions& options) {
  const ScanReport report = [&] {
    try {
      return warploom::scan(options.file, options.gpu.empty() ? "h200" : options.gpu);
    } catch (const Error& error) {
      std::fprintf(stderr, "warploom: %s\n", error.what());
      std::exit(kUsageError);
    }
  }();
  const std::size_t running = static_cast<std::size_t>(
      std::count_if(report.kernels.begin(), report.kernels.end(), [](const ScanKernel& k) { return k.runs; }));
  if (options.json) {
    fmt::print("{}\n", json(report).dump(2, ' ', false, ordered_json::error_handler_t::replace));
  } else {
    fmt::print("{}: {} with {} of device code, {}\n", report.file, report.format, plural(report.units.size(), "unit"),
               plural(report.kernels.size(), "kernel"));
    print_units(report);
    if (!report.kernels.empty()) {
      fmt::print("\n");
      print_kernels(report, !options.brief);
    }
    print_totals(report);
    if (report.static_runtime)
      fmt::print(
          "\nNVIDIA's static CUDA runtime is linked in, which only NVIDIA's driver serves: "
          "rebuild with -cudart shared\n");
    if (report.kernels.empty())
      fmt::print("\nno kernels: nothing to run\n");
    else
      fmt::print("\n{} of {} will run\n", running, plural(report.kernels.size(), "kernel"));
  }
  if (report.kernels.empty() &&
      std::all_of(report.units.begin(), report.units.end(), [](const ScanUnit& unit) { return unit.error.empty(); }))
    return kNoKernels;
  return report.runs() ? 0 : kSomeRefused;
}

}  // namespace warploom::cli

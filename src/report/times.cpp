// Tables of launch times.
#include "report/times.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/demangle.hpp"

namespace warploom::report {
namespace {

using Extents = std::array<std::uint32_t, 3>;

// Launches that the text lists one by one.
constexpr std::size_t kListed = 20;

std::string extents(const Extents& e) {
  if (e[2] != 1) return fmt::format("{} x {} x {}", e[0], e[1], e[2]);
  if (e[1] != 1) return fmt::format("{} x {}", e[0], e[1]);
  return fmt::format("{}", e[0]);
}

using Row = std::pair<std::string, observe::KernelTimes>;

std::vector<Row> longest_first(const observe::LaunchTimes::Totals& totals) {
  std::vector<Row> rows(totals.kernels.begin(), totals.kernels.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.second.total > b.second.total; });
  return rows;
}

}  // namespace

std::string times_to_text(const observe::LaunchTimes::Totals& totals) {
  if (totals.count == 0) return {};
  std::string text = fmt::format("{:>10} {:>11}  {:<16} {:<12} {}\n", "ms", "compile ms", "grid", "block", "launch of");
  const auto out = std::back_inserter(text);
  const std::size_t listed = std::min(kListed, totals.launches.size());
  for (std::size_t i = 0; i < listed; ++i) {
    const observe::LaunchTime& launch = totals.launches[i];
    fmt::format_to(out, "{:>10.3f} {:>11.1f}  {:<16} {:<12} {}{}\n", 1e3 * launch.seconds, 1e3 * launch.compile_seconds,
                   extents(launch.grid), extents(launch.block), demangle(launch.kernel),
                   launch.failed ? " (failed)" : "");
  }
  if (totals.count > listed) fmt::format_to(out, "{:>10} launches more\n", totals.count - listed);

  double all = 0;
  for (const auto& [name, times] : totals.kernels) all += times.total;
  fmt::format_to(out, "\n{:>7} {:>11} {:>9} {:>10} {:>10} {:>10} {:>11}  {}\n", "share", "total ms", "launches",
                 "mean ms", "min ms", "max ms", "compile ms", "kernel");
  for (const auto& [name, times] : longest_first(totals))
    fmt::format_to(out, "{:>5.1f} % {:>11.3f} {:>9} {:>10.3f} {:>10.3f} {:>10.3f} {:>11.1f}  {}\n",
                   all > 0 ? 100 * times.total / all : 0, 1e3 * times.total, times.launches,
                   1e3 * times.total / static_cast<double>(times.launches), 1e3 * times.least, 1e3 * times.most,
                   1e3 * times.compile, demangle(name));
  return text;
}

std::string times_to_json(const observe::LaunchTimes::Totals& totals) {
  using Json = nlohmann::ordered_json;
  Json launches = Json::array(), kernels = Json::array();
  for (const observe::LaunchTime& launch : totals.launches) {
    const std::chrono::duration<double, std::milli> start = launch.start - totals.launches.front().start;
    launches.push_back({{"kernel", demangle(launch.kernel)},
                        {"grid", launch.grid},
                        {"block", launch.block},
                        {"dynamic_shared_bytes", launch.shared_bytes},
                        {"start_ms", start.count()},
                        {"ms", 1e3 * launch.seconds},
                        {"compile_ms", 1e3 * launch.compile_seconds},
                        {"failed", launch.failed}});
  }
  for (const auto& [name, times] : longest_first(totals))
    kernels.push_back({{"kernel", demangle(name)},
                       {"launches", times.launches},
                       {"total_ms", 1e3 * times.total},
                       {"min_ms", 1e3 * times.least},
                       {"max_ms", 1e3 * times.most},
                       {"compile_ms", 1e3 * times.compile}});
  const Json json = {{"schema", "warploom-times-1"}, {"kernels", kernels}, {"launches", launches}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace warploom::report

// Formatting of the tables, and the expectations.
#include "report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <limits>
#include <optional>
#include <vector>

#include "measure.hpp"

namespace warploom::bench {
namespace {

using Json = nlohmann::json;

__attribute__((format(printf, 1, 2))) std::string format(const char* text, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, text);
  std::vsnprintf(line, sizeof(line), text, arguments);
  va_end(arguments);
  return line;
}

// A variant's time over Warploom's, where both ran.
std::optional<double> ratio(const Json& kernel, const char* variant) {
  const Json& variants = kernel["variants"];
  if (!variants.contains(variant) || !variants[variant].contains("ratio")) return std::nullopt;
  return variants[variant]["ratio"].get<double>();
}

std::string cell(const std::optional<double>& value) { return value ? format("%7.2f", *value) : "      -"; }

struct Bound {
  double share = 0;
  std::string limit;
};

std::optional<Bound> bound_of(const Json& kernel, const Json& limits) {
  const Json& ours = kernel["variants"]["warploom"];
  if (!ours.contains("ms") || limits.is_null()) return std::nullopt;
  const double seconds = 1e-3 * ours["ms"].get<double>();
  const double bandwidth = limits[kernel["traffic"].get<std::string>()], fma = limits["fma"];
  const double memory = kernel["bytes"].get<double>() / bandwidth,
               arithmetic = kernel["operations"].get<double>() / fma;
  if (memory == 0 && arithmetic == 0) return std::nullopt;
  if (memory > arithmetic)
    return Bound{memory / seconds,
                 format("%.1f GB/s %s", 1e-9 * bandwidth, kernel["traffic"].get<std::string>().c_str())};
  return Bound{arithmetic / seconds, format("%.1f G/s FMA", 1e-9 * fma)};
}

std::string kernel_row(const Json& kernel, const Json& limits) {
  const Json& ours = kernel["variants"]["warploom"];
  std::string line = format("%-22s", kernel["name"].get<std::string>().c_str());
  line += ours.contains("ms") ? format("%9.2f", ours["ms"].get<double>()) : "        -";
  for (const char* variant : {"pocl", "openmp", "blas"}) line += format("  %s", cell(ratio(kernel, variant)).c_str());
  line += format("   %s", cell(ratio(kernel, kernel["threads"] == 1 ? "explain" : "one_thread")).c_str());
  if (const auto bound = bound_of(kernel, limits))
    line += format("   %3.0f %% of %s", 100 * bound->share, bound->limit.c_str());
  for (const auto& [name, variant] : kernel["variants"].items())
    if (variant.contains("error"))
      line += format("  %s: %s", name.c_str(), variant["error"].get<std::string>().c_str());
  return line + "\n";
}

std::string run_table(const Json& run) {
  const unsigned threads = run["threads"];
  std::string text = threads == 1 ? "one thread, CPU time  " : format("%u threads, wall time  ", threads);
  text += "      ms     PoCL   OpenMP     BLAS";
  text += threads == 1 ? "   explain   of its bound\n" : "   scaling   of its bound\n";
  for (const Json& kernel : run["kernels"]) text += kernel_row(kernel, run.value("limits", Json()));
  return text + "\n";
}

std::string limits_table(const Json& runs) {
  std::string text;
  for (const Json& run : runs) {
    if (!run.contains("limits")) continue;
    const Json& limits = run["limits"];
    const auto giga = [&](const char* name) { return 1e-9 * limits[name].get<double>(); };
    text += format("%u thread%s at most: read %.1f GB/s, copy %.1f GB/s, add %.1f GB/s, %.1f G/s FMA (32-bit lanes)\n",
                   run["threads"].get<unsigned>(), run["threads"] == 1 ? "" : "s", giga("read"), giga("copy"),
                   giga("add"), giga("fma"));
  }
  if (!text.empty()) text += '\n';
  return text;
}

// Values of all kernels of a run, to be judged together.
class Values {
 public:
  Values(const Json& run, const char* variant, bool inverse = false) {
    for (const Json& kernel : run["kernels"])
      if (const auto value = ratio(kernel, variant))
        values_.emplace_back(inverse ? 1 / *value : *value, kernel["name"].get<std::string>());
    std::sort(values_.begin(), values_.end());
  }
  [[nodiscard]] bool empty() const { return values_.empty(); }
  [[nodiscard]] double mean() const {
    double sum = 0;
    for (const auto& [value, name] : values_) sum += std::log(value);
    return std::exp(sum / static_cast<double>(values_.size()));
  }
  [[nodiscard]] const std::pair<double, std::string>& least() const { return values_.front(); }
  [[nodiscard]] const std::pair<double, std::string>& most() const { return values_.back(); }
  [[nodiscard]] std::string below(double limit) const {
    std::string names;
    for (const auto& [value, name] : values_)
      if (value < limit) names += format("%s%s %.2f", names.empty() ? "" : ", ", name.c_str(), value);
    return names;
  }

 private:
  std::vector<std::pair<double, std::string>> values_;
};

class Expectations {
 public:
  void at_least(const std::string& what, double wanted, double got, const char* unit, const std::string& note = {}) {
    row(what, ">=", wanted, got, unit, got >= wanted, note);
  }
  void at_most(const std::string& what, double wanted, double got, const char* unit, const std::string& note = {}) {
    row(what, "<=", wanted, got, unit, got <= wanted, note);
  }
  [[nodiscard]] std::string text() const {
    if (text_.empty()) return text_;
    return format("%-58s %10s %14s\n", "expectation", "wanted", "measured") + text_;
  }

 private:
  void row(const std::string& what, const char* relation, double wanted, double got, const char* unit, bool met,
           const std::string& note) {
    text_ += format("%-58s %3s %3g %-3s %10.2f %-3s %s", what.c_str(), relation, wanted, unit, got, unit,
                    met ? "met" : "MISSED");
    text_ += "\n";
    if (!met && !note.empty()) text_ += format("    %s\n", note.c_str());
  }
  std::string text_;
};

void expect_one_thread(const Json& run, Expectations& expect) {
  if (const Values pocl(run, "pocl"); !pocl.empty()) {
    expect.at_least("against PoCL, every kernel", 2, pocl.least().first, "x", pocl.below(2));
    expect.at_least("against PoCL, geometric mean", 8, pocl.mean(), "x");
  }
  if (const Values openmp(run, "openmp"); !openmp.empty()) {
    expect.at_least("against the OpenMP loop, geometric mean", 0.75, openmp.mean(), "x");
    expect.at_least("against the OpenMP loop, every kernel", 0.15, openmp.least().first, "x", openmp.below(0.15));
  }
  for (const Json& kernel : run["kernels"]) {
    const std::string name = kernel["name"];
    const auto openmp = ratio(kernel, "openmp"), blas = ratio(kernel, "blas");
    if (name == "vector_add" && openmp) expect.at_least("vector_add against the OpenMP loop", 1, *openmp, "x");
    if ((name == "matmul_tiled32" || name == "matmul_registers") && blas)
      expect.at_least(name + " against OpenBLAS", 0.5, *blas, "x");
  }
  if (const Values explain(run, "explain"); !explain.empty()) {
    expect.at_most("explain against run, geometric mean", 2, explain.mean(), "x");
    expect.at_most("explain against run, every kernel", 4, explain.most().first, "x", explain.most().second);
  }
  std::string unequal;
  bool compared = false;
  for (const Json& kernel : run["kernels"]) {
    if (!kernel.contains("equals_unoptimised")) continue;
    compared = true;
    if (!kernel["equals_unoptimised"]) unequal.append(" ").append(kernel["name"].get<std::string>());
  }
  if (compared) {
    const auto count = static_cast<double>(std::count(unequal.begin(), unequal.end(), ' '));
    expect.at_most("kernels whose results differ from unoptimised code's", 0, count, "", unequal);
  }
}

// A CPU without such units multiplies halves as floats, and filters texel by texel.
void expect_units(const Json& run, Expectations& expect) {
  for (const Json& kernel : run["kernels"]) {
    const std::string name = kernel["name"];
    const auto openmp = ratio(kernel, "openmp"), blas = ratio(kernel, "blas"), explain = ratio(kernel, "explain");
    if (blas) expect.at_least(name + " against OpenBLAS", 0.25, *blas, "x");
    if (openmp && !blas) expect.at_least(name + " against the OpenMP loop", 0.15, *openmp, "x");
    if (explain) expect.at_most(name + ", explain against run", 4, *explain, "x");
  }
}

void expect_two_threads(const Json& run, Expectations& expect) {
  for (const Json& kernel : run["kernels"]) {
    const auto scaling = ratio(kernel, "one_thread");
    if (kernel["compute_bound"] && scaling)
      expect.at_least(kernel["name"].get<std::string>() + ", two threads against one", 1.8, *scaling, "x");
  }
}

// The kernels of 100 to 250 PTX instructions, of which the expectations speak.
std::vector<double> medium(const Json& launches, const char* field) {
  std::vector<double> times;
  for (const Json& launch : launches)
    if (launch["instructions"] >= 100 && launch["instructions"] <= 250) times.push_back(launch[field]);
  return times;
}

void expect_start(const Json& results, Expectations& expect) {
  if (results.contains("first_launches")) {
    const Json& launches = results["first_launches"];
    if (const auto cold = medium(launches["cold"], "ms"); !cold.empty())
      expect.at_most("first launch of 100 to 250 instructions, slowest", 5, *std::max_element(cold.begin(), cold.end()),
                     "ms");
    if (const auto optimised = medium(launches["optimised"], "ms"); !optimised.empty())
      expect.at_most("the same in optimised code, median", 50, median(optimised), "ms");
    if (const auto cached = medium(launches["cached"], "ms"); !cached.empty())
      expect.at_most("the same from the cache on disk, slowest", 3, *std::max_element(cached.begin(), cached.end()),
                     "ms");
  }
  if (!results.contains("launches")) return;
  for (const Json& cost : results["launches"]) {
    const std::string threads =
        cost["threads"] == 1 ? "one thread" : format("%u threads", cost["threads"].get<unsigned>());
    expect.at_most("empty kernel in a row of launches, " + threads, 2, cost["row_us"], "us");
    expect.at_most("memory left by a launch, mean of a million, " + threads, 1, cost["grown_bytes"], "B");
  }
}

std::string start_tables(const Json& results) {
  std::string text;
  if (results.contains("first_launches")) {
    const Json& all = results["first_launches"];
    text +=
        "first launch of one block, ms      PTX instructions   at once   in optimised code   from the cache on disk\n";
    for (std::size_t i = 0; i < all["cold"].size(); ++i) {
      text += format("%-34s %16d", all["cold"][i]["kernel"].get<std::string>().c_str(),
                     all["cold"][i]["instructions"].get<int>());
      text += format(" %9.1f %19.1f %24.1f\n", all["cold"][i]["ms"].get<double>(),
                     all["optimised"][i]["ms"].get<double>(), all["cached"][i]["ms"].get<double>());
    }
    text += "\n";
  }
  if (!results.contains("launches")) return text;
  text += "empty kernel, us       the call   in a row   waited for   node of a graph\n";
  for (const Json& cost : results["launches"])
    text += format("%u thread%-13s %10.2f %10.2f %12.2f %17.2f\n", cost["threads"].get<unsigned>(),
                   cost["threads"] == 1 ? "" : "s", cost["queued_us"].get<double>(), cost["row_us"].get<double>(),
                   cost["waited_us"].get<double>(), cost["graph_node_us"].get<double>());
  return text + "\n";
}

}  // namespace

std::string kernel_line(const Json& kernel) {
  std::string line = format("%-22s", kernel["name"].get<std::string>().c_str());
  for (const char* name : {"warploom", "pocl", "openmp", "blas", "explain", "one_thread"}) {
    if (!kernel["variants"].contains(name)) continue;
    const Json& variant = kernel["variants"][name];
    if (variant.contains("error")) {
      line += format("  %s: %s", name, variant["error"].get<std::string>().c_str());
      continue;
    }
    line += format("  %s %.2f ms", name, variant["ms"].get<double>());
    if (variant.contains("ratio")) line += format(" (%.2f x)", variant["ratio"].get<double>());
  }
  return line + "\n";
}

std::string report(const Json& results) {
  std::string text = limits_table(results["runs"]);
  Expectations expect;
  for (const Json& run : results["runs"]) {
    text += run_table(run);
    if (run["threads"] == 1) expect_one_thread(run, expect);
    if (run["threads"] == 2) expect_two_threads(run, expect);
  }
  text += start_tables(results);
  expect_start(results, expect);
  if (results.contains("units")) expect_units(results["units"], expect);
  text += expect.text();
  if (results.contains("units")) {
    text += "\nkernels with matrix instructions and textures\n";
    text += run_table(results["units"]);
  }
  if (results.contains("lessons")) {
    text += "\nkernels of the examples\n";
    text += run_table(results["lessons"]);
  }
  return text;
}

}  // namespace warploom::bench

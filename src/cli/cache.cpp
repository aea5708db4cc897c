// The `cache` command: what the disk cache of compiled kernels holds, and how large it may become.
#include "warploom/code_cache.hpp"

#include <cxxabi.h>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>

#include "cli/commands.hpp"

namespace warploom::cli {
namespace {

constexpr std::uint64_t kMebibyte = 1 << 20;

std::string size_text(std::uint64_t bytes) {
  if (bytes < kMebibyte) return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024);
  return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / kMebibyte);
}

// C++ names as people write them.
std::string readable(const std::string& name) {
  const std::size_t end = std::min(name.find(' '), name.size());
  int status = 0;
  char* text = abi::__cxa_demangle(name.substr(0, end).c_str(), nullptr, nullptr, &status);
  std::string out = status == 0 && text != nullptr ? text + name.substr(end) : name;
  std::free(text);
  return out;
}

int list() {
  auto entries = code_cache::entries();
  std::reverse(entries.begin(), entries.end());  // the latest used first
  for (const auto& e : entries) {
    const std::time_t used = std::chrono::system_clock::to_time_t(e.last_used);
    std::tm local{};
    localtime_r(&used, &local);
    fmt::print("{:%Y-%m-%d %H:%M}  {:>10}  {:<8} {}\n", local, size_text(e.bytes), e.kind, readable(e.name));
  }
  return 0;
}

int size() {
  const auto entries = code_cache::entries();
  std::uint64_t total = 0;
  for (const char* kind : {"kernels", "python"}) {
    std::uint64_t bytes = 0, files = 0;
    for (const auto& e : entries) {
      if (e.kind != kind) continue;
      bytes += e.bytes;
      ++files;
    }
    total += bytes;
    fmt::print("{:<8} {:>10}  {} files\n", kind, size_text(bytes), files);
  }
  fmt::print("{:<8} {:>10}  of {} for each kind\n", "total", size_text(total), size_text(code_cache::limit()));
  return 0;
}

}  // namespace

int cache(const CacheOptions& options) {
  if (options.action == "list") return list();
  if (options.action == "size") return size();
  if (options.action == "path") {
    fmt::print("{}\n", code_cache::folder());
    return 0;
  }
  if (options.action == "clear") {
    fmt::print("freed {}\n", size_text(code_cache::clear()));
    return 0;
  }
  if (!options.megabytes) {
    fmt::print("{}\n", size_text(code_cache::limit()));
    return 0;
  }
  const std::uint64_t freed = code_cache::set_limit(*options.megabytes);
  fmt::print("at most {} for each kind; freed {}\n", size_text(*options.megabytes * kMebibyte), size_text(freed));
  return 0;
}

}  // namespace warploom::cli

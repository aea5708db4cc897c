// The public face of the disk cache.
#include "warploom/code_cache.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/state.hpp"
#include "cache/store.hpp"
#include "codegen/jit.hpp"

namespace warploom::code_cache {
namespace {

constexpr const char* kKinds[] = {"kernels", "python"};

cache::Settings current() {
  cache::read_settings();
  return cache::settings();
}

std::uint64_t trim(std::uint64_t bytes) {
  std::uint64_t freed = 0;
  const std::string root = current().root;
  for (const char* kind : kKinds) freed += cache::Store(root, kind).trim(bytes);
  return freed;
}

}  // namespace

std::string folder() { return current().root; }

bool enabled() { return cache::settings().enabled; }

std::vector<Entry> entries() {
  std::vector<Entry> out;
  const std::string root = current().root;
  for (const char* kind : kKinds)
    for (cache::Entry& e : cache::Store(root, kind).entries()) {
      const auto used =
          std::chrono::duration_cast<std::chrono::system_clock::duration>(std::chrono::nanoseconds(e.used));
      out.push_back(
          {kind, std::move(e.label), std::move(e.path), e.bytes, std::chrono::system_clock::time_point(used)});
    }
  std::stable_sort(out.begin(), out.end(), [](const Entry& a, const Entry& b) { return a.last_used < b.last_used; });
  return out;
}

std::uint64_t limit() { return current().limit; }

std::uint64_t set_limit(std::uint64_t megabytes) {
  const std::string root = current().root;
  if (root.empty() || !cache::set_limit(root, megabytes))
    api::fail(ErrorId::file_error, fmt::format("the cache folder \"{}\" cannot be written", root),
              "set WARPLOOM_CACHE_DIR to a folder that you own and can write");
  return trim(megabytes << 20);
}

std::uint64_t clear() { return trim(0); }

Statistics statistics() {
  const codegen::CodeStatistics s = codegen::code_statistics();
  return {s.compiled, s.loaded};
}

}  // namespace warploom::code_cache

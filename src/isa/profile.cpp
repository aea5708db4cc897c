// The GPU profiles: profiles/*.toml, embedded at build time and parsed at first use.
#include "isa/profile.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sstream>
#include <toml++/toml.h>
#include <utility>

namespace warploom::isa {
namespace {

struct EmbeddedProfile {
  std::string_view name, text;
};

constexpr EmbeddedProfile kProfiles[] = {
#include "isa/profiles.inc"
};

Diag bad_profile(const std::string& origin, std::string what) {
  Diag diag;
  diag.id = ErrorId::invalid_value;
  diag.what = std::move(what);
  diag.where = "GPU profile " + origin;
  diag.remedy = "compare with profiles/h200.toml";
  return diag;
}

// Reads required integers; the first one that is absent or out of range is remembered.
class Reader {
 public:
  explicit Reader(const toml::table& root) : root_(root) {}

  template <class T>
  void integer(std::string_view path, T& out) {
    const auto value = root_.at_path(path).value<std::int64_t>();
    if (!value || *value < 0 || !std::in_range<T>(*value)) return fail(path);
    out = static_cast<T>(*value);
  }

  template <class T>
  void triple(std::string_view path, std::array<T, 3>& out) {
    const toml::array* list = root_.at_path(path).as_array();
    if (list == nullptr || list->size() != 3) return fail(path);
    for (std::size_t i = 0; i < 3; ++i) {
      const auto value = list->get(i)->value<std::int64_t>();
      if (!value || *value <= 0 || !std::in_range<T>(*value)) return fail(path);
      out[i] = static_cast<T>(*value);
    }
  }

  void kib_list(std::string_view path, std::vector<std::uint32_t>& out) {
    const toml::array* list = root_.at_path(path).as_array();
    if (list == nullptr || list->empty()) return fail(path);
    for (const toml::node& node : *list) {
      const auto value = node.value<std::int64_t>();
      if (!value || *value <= 0 || *value > 1 << 20) return fail(path);
      out.push_back(static_cast<std::uint32_t>(*value) * 1024);
    }
    if (!std::is_sorted(out.begin(), out.end())) fail(path);
  }

  void text(std::string_view path, std::string& out) {
    const auto value = root_.at_path(path).value<std::string>();
    if (!value || value->empty()) return fail(path);
    out = *value;
  }

  [[nodiscard]] const std::string& bad_key() const { return bad_key_; }

 private:
  void fail(std::string_view path) {
    if (bad_key_.empty()) bad_key_ = path;
  }

  const toml::table& root_;
  std::string bad_key_;
};

}  // namespace

Result<GpuProfile> parse_profile(std::string_view text, const std::string& origin) {
  toml::table root;
  try {
    root = toml::parse(text, origin);
  } catch (const toml::parse_error& error) {
    Diag diag = bad_profile(origin, std::string(error.description()));
    diag.loc = {origin, error.source().begin.line, error.source().begin.column};
    return diag;
  }
  GpuProfile p;
  Reader read(root);
  read.text("name", p.name);
  read.text("title", p.title);
  read.integer("compute_capability", p.sm);
  read.integer("sm_count", p.sm_count);
  read.integer("memory_bytes", p.memory_bytes);
  read.integer("launch.max_threads_per_block", p.max_threads_per_block);
  read.triple("launch.max_block", p.max_block);
  read.triple("launch.max_grid", p.max_grid);
  read.integer("multiprocessor.threads", p.threads_per_sm);
  read.integer("multiprocessor.blocks", p.blocks_per_sm);
  read.integer("multiprocessor.registers", p.registers_per_sm);
  read.integer("multiprocessor.partitions", p.register_partitions);
  read.integer("registers.granularity", p.register_granularity);
  read.integer("registers.max_per_thread", p.max_registers_per_thread);
  read.integer("shared.static_limit", p.static_shared_limit);
  read.integer("shared.per_block", p.shared_per_block);
  read.integer("shared.per_multiprocessor", p.shared_per_sm);
  read.integer("shared.reserved_per_block", p.reserved_shared_per_block);
  read.integer("shared.granularity", p.shared_granularity);
  read.kib_list("shared.carveouts_kib", p.shared_carveouts);
  if (!read.bad_key().empty())
    return bad_profile(origin, fmt::format("key {} is missing or not valid", read.bad_key()));
  if (p.register_granularity == 0 || p.register_partitions == 0 || p.shared_granularity == 0)
    return bad_profile(origin, "a granularity of zero");
  return p;
}

Result<GpuProfile> find_profile(const std::string& name) {
  for (const EmbeddedProfile& profile : kProfiles)
    if (profile.name == name) return parse_profile(profile.text, name + ".toml");
  Diag diag;
  diag.id = ErrorId::not_found;
  diag.what = fmt::format("there is no GPU profile \"{}\"", name);
  diag.remedy = fmt::format("choose one of {}", fmt::join(profile_names(), ", "));
  return diag;
}

std::vector<std::string> profile_names() {
  std::vector<std::string> names;
  for (const EmbeddedProfile& profile : kProfiles) names.emplace_back(profile.name);
  return names;
}

}  // namespace warploom::isa

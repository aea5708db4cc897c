// Access to the generated instruction table, and its JSON and text forms.
#include "isa/isa.hpp"

#include <array>
#include <unordered_map>

namespace warploom::isa {
namespace {

#include "isa_table.inc"

static_assert(std::size(kRows) == kOpCount && std::size(kModNames) == kModCount);

constexpr std::array<std::string_view, 14> kFlowNames = {"pure",      "load",  "store",  "atomic", "barrier",
                                                         "warp_sync", "fence", "branch", "call",   "exit",
                                                         "trap",      "hint",  "clock",  "native"};

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

// "[a, b]" of the spellings in a position.
template <class Span>
std::string json_list(const Span& choices) {
  std::string out;
  for (const auto choice : choices) out += (out.empty() ? "" : ", ") + json_string(name(choice));
  return "[" + out + "]";
}

// Whether a form names the set, as ".name" that ends there.
bool names_set(std::string_view form, std::string_view set) {
  const std::string_view head = form.substr(0, form.find(' '));
  for (std::size_t at = head.find(set); at != std::string_view::npos; at = head.find(set, at + 1)) {
    const char before = at == 0 ? ' ' : head[at - 1];
    const std::size_t end = at + set.size();
    const char after = end < head.size() ? head[end] : ' ';
    const auto ends = [](char c) { return c == '.' || c == '|' || c == '{' || c == '}' || c == ' '; };
    if ((before == '.' || before == '|') && ends(after)) return true;
  }
  return false;
}

std::string since_text(const Since& since) {
  return "PTX " + std::to_string(since.ptx_major) + "." + std::to_string(since.ptx_minor) + ", sm_" +
         std::to_string(since.sm);
}

}  // namespace

std::string_view name(Op op) { return kRows[static_cast<std::size_t>(op)].name; }
std::string_view name(Mod mod) { return kModNames[static_cast<std::size_t>(mod)]; }
std::string_view name(Flow flow) { return kFlowNames[static_cast<std::size_t>(flow)]; }

std::span<const Row> rows() { return kRows; }
std::span<const NamedSet> named_sets() { return kNamedSets; }
const Row& row(Op op) { return kRows[static_cast<std::size_t>(op)]; }

const Row* find_row(std::string_view base) {
  static const auto index = [] {
    std::unordered_map<std::string_view, const Row*> map;
    for (const Row& r : kRows) map.emplace(r.name, &r);
    return map;
  }();
  const auto it = index.find(base);
  return it == index.end() ? nullptr : it->second;
}

bool find_mod(std::string_view spelling, Mod& out) {
  static const auto index = [] {
    std::unordered_map<std::string_view, Mod> map;
    for (std::size_t i = 0; i < kModCount; ++i) map.emplace(kModNames[i], static_cast<Mod>(i));
    return map;
  }();
  const auto it = index.find(spelling);
  if (it == index.end()) return false;
  out = it->second;
  return true;
}

std::string to_json() {
  std::string out = "[\n";
  for (const Row& r : kRows) {
    out += "  {\"name\": " + json_string(r.name) + ", \"title\": " + json_string(r.title) +
           ", \"section\": " + json_string(r.section) + ", \"cost\": " + json_string(r.cost) + ", \"forms\": [\n";
    for (const Form& form : r.forms) {
      out += "    {\"form\": " + json_string(form.text) + ", \"ptx\": \"" + std::to_string(form.since.ptx_major) + "." +
             std::to_string(form.since.ptx_minor) + "\", \"sm\": " + std::to_string(form.since.sm) +
             ", \"flow\": " + json_string(name(form.flow)) + ", \"emit\": " + json_string(form.emit);
      if (!form.reason.empty()) out += ", \"reason\": " + json_string(form.reason);
      out += ", \"modifiers\": [";
      for (const ModGroup& group : form.groups)
        out += std::string(&group == form.groups.data() ? "" : ", ") +
               "{\"required\": " + (group.required ? "true" : "false") + ", \"choices\": " + json_list(group.choices) +
               "}";
      out += "], \"types\": [";
      for (const auto& position : form.types) out += (&position == form.types.data() ? "" : ", ") + json_list(position);
      out += "]";
      out += &form == &r.forms.back() ? "}\n" : "},\n";
    }
    out += &r == &std::end(kRows)[-1] ? "  ]}\n" : "  ]},\n";
  }
  return out + "]\n";
}

std::string to_text(const Row& r) {
  std::string out = std::string(r.name) + ": " + std::string(r.title) + " (PTX ISA " + std::string(r.section) + ")\n";
  if (!r.reason.empty()) out += "  the CPU device refuses it: " + std::string(r.reason) + "\n";
  for (const Form& form : r.forms) {
    out += "  " + std::string(form.text) + "    since " + since_text(form.since);
    if (!form.reason.empty() && r.reason.empty()) out += "    refused: " + std::string(form.reason);
    out += "\n";
  }
  std::string sets;
  for (const NamedSet& set : kNamedSets)
    for (const Form& form : r.forms)
      if (names_set(form.text, set.name)) {
        sets += "    ." + std::string(set.name) + ": " + std::string(set.members) + "\n";
        break;
      }
  return sets.empty() ? out : out + "  where\n" + sets;
}

}  // namespace warploom::isa

// The words of PTX outside instructions.
#include "ptx/vocabulary.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "ptx/decode.hpp"

namespace warploom::ptx {
namespace {

constexpr std::array<std::string_view, 19> kModule = {
    "version", "target", "address_size", "file", "section", "loc",   "pragma", "alias", "extern",   "visible",
    "weak",    "common", "entry",        "func", "global",  "const", "shared", "local", "attribute"};
constexpr std::array<std::string_view, 15> kFunction = {"maxntid",           "reqntid",         "minnctapersm",
                                                        "maxnctapersm",      "maxnreg",         "local_maxnreg",
                                                        "noreturn",          "pragma",          "attribute",
                                                        "maxclusterrank",    "explicitcluster", "reqnctapercluster",
                                                        "blocksareclusters", "abi_preserve",    "abi_preserve_control"};
constexpr std::array<std::string_view, 14> kBody = {"reg",     "param",         "local",         "shared",     "global",
                                                    "const",   "loc",           "pragma",        "extern",     "weak",
                                                    "visible", "callprototype", "branchtargets", "calltargets"};
constexpr std::array<std::string_view, 3> kAttributes = {"managed", "unified", "numa"};
constexpr std::array<std::string_view, 48> kTargets = {"sm_10",
                                                       "sm_11",
                                                       "sm_12",
                                                       "sm_13",
                                                       "sm_20",
                                                       "sm_21",
                                                       "sm_30",
                                                       "sm_32",
                                                       "sm_35",
                                                       "sm_37",
                                                       "sm_50",
                                                       "sm_52",
                                                       "sm_53",
                                                       "sm_60",
                                                       "sm_61",
                                                       "sm_62",
                                                       "sm_70",
                                                       "sm_72",
                                                       "sm_75",
                                                       "sm_80",
                                                       "sm_86",
                                                       "sm_87",
                                                       "sm_88",
                                                       "sm_89",
                                                       "sm_90",
                                                       "sm_90a",
                                                       "sm_100",
                                                       "sm_100a",
                                                       "sm_100f",
                                                       "sm_101",
                                                       "sm_101a",
                                                       "sm_101f",
                                                       "sm_103",
                                                       "sm_103a",
                                                       "sm_103f",
                                                       "sm_110",
                                                       "sm_110a",
                                                       "sm_110f",
                                                       "sm_120",
                                                       "sm_120a",
                                                       "sm_120f",
                                                       "sm_121",
                                                       "sm_121a",
                                                       "sm_121f",
                                                       "debug",
                                                       "texmode_unified",
                                                       "texmode_independent",
                                                       "map_f64_to_f32"};
constexpr unsigned kNewestGpu = 121;
// The types of registers come first.
constexpr std::array<std::string_view, 35> kDeclaration = {
    "pred",   "b8",         "b16",     "b32",    "b64",   "b128",   "u8",    "u16",  "u32",
    "u64",    "s8",         "s16",     "s32",    "s64",   "f16",    "f16x2", "f32",  "f64",
    "v2",     "v4",         "bf16",    "bf16x2", "tf32",  "align",  "ptr",   "v8",   "attribute",
    "texref", "samplerref", "surfref", "global", "const", "shared", "local", "param"};
constexpr std::size_t kRegisterWords = 20;

}  // namespace

bool is_newer(std::uint32_t major, std::uint32_t minor) {
  return major > kKnownMajor || (major == kKnownMajor && minor > kKnownMinor);
}

std::span<const std::string_view> module_directives() { return kModule; }
std::span<const std::string_view> function_directives() { return kFunction; }
std::span<const std::string_view> body_directives() { return kBody; }
std::span<const std::string_view> attributes() { return kAttributes; }

std::span<const std::string_view> declaration_words() { return kDeclaration; }
std::span<const std::string_view> register_words() { return std::span(kDeclaration).first(kRegisterWords); }

bool contains(std::span<const std::string_view> words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

namespace {

// The number of "sm_90a" or "compute_90", and what follows it; false for another word.
bool gpu_number(std::string_view word, unsigned& number, std::string_view& suffix) {
  for (const std::string_view prefix : {"sm_", "compute_"}) {
    if (!word.starts_with(prefix)) continue;
    const std::string_view rest = word.substr(prefix.size());
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
    suffix = rest.substr(static_cast<std::size_t>(end - rest.data()));
    return error == std::errc();
  }
  return false;
}

}  // namespace

TargetWord target_word(std::string_view word) {
  if (contains(kTargets, word)) return TargetWord::known;
  unsigned number = 0;
  std::string_view suffix;
  if (!gpu_number(word, number, suffix)) return TargetWord::unknown;
  if (word.starts_with("compute_") && contains(kTargets, "sm_" + std::to_string(number) + std::string(suffix)))
    return TargetWord::known;
  const bool variant = suffix.empty() || suffix == "a" || suffix == "f";
  return number > kNewestGpu && number < 1000 && variant ? TargetWord::later : TargetWord::unknown;
}

std::string target_hint(std::string_view word) {
  unsigned number = 0;
  std::string_view suffix;
  if (!gpu_number(word, number, suffix)) return directive_hint(kTargets, word);
  // The newest GPU that is no newer than the one that there is not.
  for (number = std::min(number, kNewestGpu); number >= 10; --number)
    if (const std::string known = "sm_" + std::to_string(number); contains(kTargets, known))
      return "did you mean '" + known + "'?";
  return {};
}

std::string directive_hint(std::span<const std::string_view> words, std::string_view word) {
  Nearest nearest(word);
  for (const std::string_view known : words) nearest.offer(known);
  return nearest.hint();
}

}  // namespace warploom::ptx

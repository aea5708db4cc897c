// Reads libdevice.sig, once, into the table of the device math library's functions.
#include "frontend/python/devicelib/devicelib.hpp"

#include <algorithm>
#include <stdexcept>

namespace warploom::frontend {
namespace {

constexpr std::string_view kBlank = " \t";

// The next word of `text`, which it leaves; empty at the end.
std::string_view take_word(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
  const std::string_view word = text.substr(0, text.find_first_of(kBlank));
  text.remove_prefix(word.size());
  return word;
}

DeviceType type_named(std::string_view word) {
  constexpr std::pair<std::string_view, DeviceType> kNames[] = {
      {"void", DeviceType::none},      {"int8", DeviceType::int8},   {"int16", DeviceType::int16},
      {"int32", DeviceType::int32},    {"int64", DeviceType::int64}, {"float32", DeviceType::float32},
      {"float64", DeviceType::float64}};
  for (const auto& [name, type] : kNames)
    if (name == word) return type;
  throw std::logic_error("libdevice.sig has no type " + std::string(word));
}

DeviceArgument read_argument(std::string_view text) {
  DeviceArgument argument;
  std::string_view word = take_word(text);
  if (word == "out" || word == "in") {
    argument.passing = word == "out" ? DeviceArgument::Passing::out : DeviceArgument::Passing::in;
    word = take_word(text);
  }
  argument.type = type_named(word);
  argument.name = take_word(text);
  return argument;
}

DeviceFunction read_function(std::string_view line, bool in_numba) {
  DeviceFunction function;
  function.name = take_word(line);
  function.symbol = "__nv_" + std::string(function.name);
  function.result = type_named(take_word(line));
  function.in_numba = in_numba;
  while (line.find_first_not_of(kBlank) != std::string_view::npos) {
    const std::size_t comma = std::min(line.find(','), line.size());
    function.arguments.push_back(read_argument(line.substr(0, comma)));
    line.remove_prefix(std::min(comma + 1, line.size()));
  }
  return function;
}

std::vector<DeviceFunction> read_table() {
  std::vector<DeviceFunction> functions;
  bool in_numba = true;
  std::string_view text = devicelib_signature_text();
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line == "[extra]")
      in_numba = false;
    else if (!line.empty() && line.front() != '#')
      functions.push_back(read_function(line, in_numba));
  }
  std::sort(functions.begin(), functions.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return functions;
}

}  // namespace

std::span<const DeviceFunction> devicelib_functions() {
  static const std::vector<DeviceFunction> functions = read_table();
  return functions;
}

const DeviceFunction* find_devicelib_function(std::string_view name) {
  if (name.starts_with("__nv_")) name.remove_prefix(5);
  const std::span<const DeviceFunction> functions = devicelib_functions();
  const auto at = std::lower_bound(functions.begin(), functions.end(), name,
                                   [](const DeviceFunction& f, std::string_view key) { return f.name < key; });
  return at != functions.end() && at->name == name ? &*at : nullptr;
}

}  // namespace warploom::frontend

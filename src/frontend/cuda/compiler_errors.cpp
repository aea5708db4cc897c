// Reads the diagnostics of clang and nvcc into a Diag.
#include <charconv>
#include <optional>
#include <vector>

#include "frontend/cuda/cuda_compiler.hpp"

namespace warploom::frontend {
namespace {

struct Message {
  SourceLoc loc;
  std::string text;
  std::string excerpt;
  bool is_error = false;
};

std::optional<std::uint32_t> number(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "file:12:3: error: text" (clang) or "file(12): error: text" (nvcc); also "error: text" and "nvcc fatal   : text".
std::optional<Message> header_line(std::string_view line) {
  static constexpr std::string_view kKinds[] = {
      "fatal error: ", "catastrophic error: ", "error: ", "warning: ", "note: ", "remark: ", "error #"};
  for (const std::string_view kind : kKinds) {
    std::size_t at = 0;
    if (!line.starts_with(kind)) {
      at = line.find(": " + std::string(kind));
      if (at == std::string_view::npos) continue;
      at += 2;
    }
    Message message;
    message.is_error = kind.find("error") != std::string_view::npos;
    message.text = std::string(line.substr(at + kind.size()));
    std::string_view place = at == 0 ? std::string_view{} : line.substr(0, at - 2);
    if (place.ends_with(")")) {
      const std::size_t open = place.rfind('(');
      if (open == std::string_view::npos) continue;
      const auto row = number(place.substr(open + 1, place.size() - open - 2));
      if (!row) continue;
      message.loc = {std::string(place.substr(0, open)), *row, 0};
    } else if (const std::size_t second = place.rfind(':'); second != std::string_view::npos) {
      const auto column = number(place.substr(second + 1));
      const std::size_t first = second == 0 ? std::string_view::npos : place.rfind(':', second - 1);
      if (first == std::string_view::npos || !column) continue;
      const auto row = number(place.substr(first + 1, second - first - 1));
      if (!row) continue;
      message.loc = {std::string(place.substr(0, first)), *row, *column};
    }
    return message;
  }
  return std::nullopt;
}

std::vector<Message> read_messages(std::string_view output) {
  std::vector<Message> messages;
  while (!output.empty()) {
    const std::size_t end = output.find('\n');
    const std::string_view line = output.substr(0, end);
    output.remove_prefix(end == std::string_view::npos ? output.size() : end + 1);
    if (auto message = header_line(line)) {
      messages.push_back(std::move(*message));
    } else if (!messages.empty() && !line.empty() && line.find(" generated ") == std::string_view::npos &&
               line.find(" detected in the compilation of ") == std::string_view::npos) {
      std::string& excerpt = messages.back().excerpt;
      if (!excerpt.empty()) excerpt += '\n';
      excerpt += line;
    }
  }
  return messages;
}

}  // namespace

Diag parse_compiler_errors(std::string_view output, std::string_view compiler) {
  Diag diag;
  diag.id = ErrorId::compile_error;
  std::size_t errors = 0;
  for (Message& message : read_messages(output)) {
    if (!message.is_error) continue;
    if (errors++ == 0) {
      diag.what = std::move(message.text);
      diag.loc = std::move(message.loc);
      diag.excerpt = std::move(message.excerpt);
      continue;
    }
    // The text of the other errors follows the first one's excerpt.
    if (!diag.excerpt.empty()) diag.excerpt += '\n';
    if (message.loc.known()) {
      diag.excerpt += message.loc.file + ":" + std::to_string(message.loc.line);
      if (message.loc.column != 0) diag.excerpt += ":" + std::to_string(message.loc.column);
      diag.excerpt += ": ";
    }
    diag.excerpt += "error: " + message.text;
    if (!message.excerpt.empty()) diag.excerpt += "\n" + message.excerpt;
  }
  if (errors == 0) {
    diag.what = std::string(compiler) + " failed without naming an error";
    diag.excerpt = std::string(output);
  } else if (errors > 1) {
    diag.where = std::to_string(errors) + " errors";
  }
  return diag;
}

}  // namespace warploom::frontend

// Version and instruction table for users of the library.
#include "warploom/about.hpp"

#include <fmt/format.h>

#include "api/state.hpp"
#include "isa/isa.hpp"

namespace warploom {

std::string version() { return WARPLOOM_VERSION; }

std::string instruction_table_json() { return isa::to_json(); }

std::string instruction_text(std::string_view name) {
  if (!name.empty()) {
    const isa::Row* row = isa::find_row(name);
    if (row == nullptr)
      api::fail(ErrorId::not_found, fmt::format("there is no PTX instruction \"{}\"", name),
                "give a name without modifiers, for instance \"add\"; warploom isa lists them");
    return isa::to_text(*row);
  }
  std::string out;
  for (const isa::Row& row : isa::rows())
    out += fmt::format("{:<14} {:<10} {}{}\n", row.name, row.section, row.title,
                       row.reason.empty() ? "" : fmt::format(" (refused: {})", row.reason));
  return out;
}

}  // namespace warploom

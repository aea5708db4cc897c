// What this build of Warploom is and knows: version and instruction table.
#pragma once

#include <string>
#include <string_view>

#include "warploom/export.hpp"

namespace warploom {

/// Version of the library, for instance "0.1.0".
[[nodiscard]] WARPLOOM_API std::string version();

/// The PTX instruction table as JSON: one entry for each instruction with its forms, and why a form is refused.
[[nodiscard]] WARPLOOM_API std::string instruction_table_json();

/// One instruction's forms for people, by its name without modifiers ("add", "ld", "cp.async"); all instructions, one
/// line each, for an empty name. Throws not_found for an unknown one.
[[nodiscard]] WARPLOOM_API std::string instruction_text(std::string_view name = {});

}  // namespace warploom

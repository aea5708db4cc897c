// The words of PTX outside instructions: versions, targets and directives (PTX ISA 9.0, section 11).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace warploom::ptx {

// The newest version whose words are all known here. A text of a later one is read all the same: what it has that is
// not known fails where it is used.
inline constexpr std::uint32_t kKnownMajor = 9, kKnownMinor = 0;
[[nodiscard]] bool is_newer(std::uint32_t major, std::uint32_t minor);

// Directives without their dots, of module scope, between a function's header and its body, and in a body.
[[nodiscard]] std::span<const std::string_view> module_directives();
[[nodiscard]] std::span<const std::string_view> function_directives();
[[nodiscard]] std::span<const std::string_view> body_directives();
[[nodiscard]] std::span<const std::string_view> attributes();
// What may stand before the name of a variable or parameter: types, state spaces, .align and the like.
[[nodiscard]] std::span<const std::string_view> declaration_words();
// Types of registers and variables, and vectors of them (PTX ISA section 5.2.1).
[[nodiscard]] std::span<const std::string_view> register_words();
[[nodiscard]] bool contains(std::span<const std::string_view> words, std::string_view word);

enum class TargetWord : std::uint8_t { known, later, unknown };
// Of a word behind .target; `later` is a GPU newer than those known.
[[nodiscard]] TargetWord target_word(std::string_view word);
// "did you mean 'sm_80'?" or "".
[[nodiscard]] std::string target_hint(std::string_view word);
[[nodiscard]] std::string directive_hint(std::span<const std::string_view> words, std::string_view word);

}  // namespace warploom::ptx

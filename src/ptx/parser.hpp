// What the parsers of modules and of bodies share: the error state, declarations of variables and parameters.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/constant.hpp"
#include "ptx/cursor.hpp"
#include "ptx/module.hpp"

namespace warploom::ptx {

// Every member function that returns bool returns false after recording the first error.
class ParserBase {
 protected:
  ParserBase(const Module& module, Cursor cursor)
      : cursor_(cursor), text_(module.text), file_(module.name), source_(module) {}

  // Lines of later errors are counted from here.
  void mark() { mark_ = {cursor_.offset(), cursor_.line()}; }
  bool fail(ErrorId id, std::string what, std::size_t offset, std::string remedy = {});
  bool syntax(std::string what) {
    cursor_.peek();
    return fail(ErrorId::ptx_syntax, std::move(what), cursor_.offset());
  }
  bool expect(char c);
  bool name(std::string_view& out, const char* of_what);
  bool integer(std::uint64_t& out);
  bool u32(std::uint32_t& out);
  bool constant(Constant& out);

  // ".global .align 4 .f32 x[2][3] = {...}, y" behind the state space, up to the semicolon.
  bool variables(isa::Space space, Linkage linkage, std::vector<Variable>& out);
  // ".param .u64 .ptr .global .align 8 name[4]" behind ".param" or ".reg".
  bool parameter(Param& out, bool named);
  // "(.param ..., .param ...)"; also accepts "_" for an unnamed parameter.
  bool parameters(std::vector<Param>& out);
  bool attribute(bool& managed);
  // An error at the directive that stands at `offset`, with the nearest of those that may stand there.
  bool unknown_directive(std::string_view word, std::size_t offset, std::span<const std::string_view> known,
                         const char* where);
  bool align(std::uint32_t& out);

  Cursor cursor_;
  std::string_view text_;
  const std::string& file_;
  std::optional<Diag> error_;
  bool met_unknown_ = false;  // the error is an unknown directive
  TextMark mark_;

 private:
  const Module& source_;
  bool initialiser(Variable& variable, const std::vector<std::uint64_t>& dims);
  bool initialiser_level(Variable& variable, const std::vector<std::uint64_t>& dims, std::size_t level,
                         std::uint64_t begin);
  bool initialiser_value(Variable& variable, std::uint64_t offset);
  bool put(Variable& variable, std::uint64_t offset, std::uint64_t value, unsigned count);
};

// State space of a directive such as "global"; reg and sreg are not among them.
bool variable_space(std::string_view directive, isa::Space& out);

// Largest variable or parameter a text may declare, against absurd allocations.
inline constexpr std::uint64_t kLargestVariable = 1ull << 32;
// How far into a variable an initialiser may reach.
inline constexpr std::uint64_t kLargestInitialiser = 1ull << 28;

}  // namespace warploom::ptx

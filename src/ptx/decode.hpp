// Decodes a mnemonic with its modifiers against the instruction table, and picks the form that fits the operands.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/module.hpp"

namespace warploom::ptx {

// What is wrong with an instruction; the parser adds the place.
struct Complaint {
  ErrorId id = ErrorId::ptx_invalid;
  std::string what, remedy;
  int operand = -1;  // index of the operand at fault, -1 for the mnemonic
  std::string part;  // of the mnemonic: the modifier or type at fault, empty for all of it
};

struct Decoded {
  const isa::Row* row = nullptr;
  isa::ModSet mods;
  isa::Type types[4] = {};
  std::uint8_t type_count = 0;
  std::vector<const isa::Form*> forms;  // those whose modifiers and types fit
};

// `mnemonic` as written, for instance "ld.global.v4.f32". False when no form fits.
bool decode(std::string_view mnemonic, Decoded& out, Complaint& why);

// Operands in the order of the text; literals are converted to the type that is due. Sets instr.form.
bool select_form(const Decoded& decoded, Instr& instr, std::span<const Register> registers, Complaint& why);

// Index in form.operands of operand `index` of an instruction with `count` operands; -1 when there is none.
int spec_index(const isa::Form& form, std::size_t index, std::size_t count);

// Nearest of the candidates by edit distance, empty when none is near.
class Nearest {
 public:
  explicit Nearest(std::string_view wanted) : wanted_(wanted) {}
  void offer(std::string_view candidate);
  [[nodiscard]] std::string hint() const;                        // "did you mean 'x'?" or ""
  [[nodiscard]] std::string_view best() const { return best_; }  // empty when none is near

 private:
  std::string_view wanted_, best_;
  std::size_t distance_ = 3;
};

// Type of a special register such as "%tid.x"; none when there is no such register.
isa::Type special_register(std::string_view name);
std::span<const std::string_view> special_register_names();

}  // namespace warploom::ptx

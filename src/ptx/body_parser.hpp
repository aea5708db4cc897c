// Parser of one function body: scopes, declarations, labels, instructions with their operands, debug locations.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ptx/decode.hpp"
#include "ptx/parser.hpp"

namespace warploom::ptx {

struct Symbol {
  enum class Kind : std::uint8_t { reg, vector, variable } kind;
  std::int32_t first = 0;  // register, or index of the variable
  std::uint8_t width = 1;  // of a vector register
};

// "%r<100>": %r0 to %r99 without a hash entry for each.
struct RegisterRange {
  std::string_view prefix;
  std::uint32_t count;
  std::int32_t first;
  std::uint8_t width = 1;  // of vector registers
};

// A use of a label that may be defined further down.
struct LabelUse {
  std::uint32_t instr;
  std::uint32_t operand;
  std::string_view name;
  std::size_t offset;
};

struct TargetList {  // .branchtargets waits for the labels too
  std::string name;
  std::vector<std::pair<std::string_view, std::size_t>> labels;
};

struct Scope {
  std::unordered_map<std::string_view, Symbol> names;
  std::vector<RegisterRange> ranges;
  std::unordered_map<std::string_view, std::pair<std::string, std::uint32_t>> labels;
  std::vector<LabelUse> uses;
  std::vector<TargetList> targets;
};

inline constexpr std::size_t kDeepestScope = 256;
inline constexpr std::size_t kMostRegisters = 1u << 20;

class BodyParser : ParserBase {
 public:
  BodyParser(const Module& module, const Function& function, Body& body)
      : ParserBase(module, Cursor(module.text, function.body_begin, function.body_end, function.body_line)),
        module_(module),
        function_(function),
        body_(body) {}

  std::optional<Diag> run();
  // The same to the end of the body: what is wrong with a statement is added to `refusals`, and the statement left out.
  std::optional<Diag> run(std::vector<Refusal>& refusals) {
    refusals_ = &refusals;
    return run();
  }

 private:
  const Module& module_;
  const Function& function_;
  Body& body_;
  std::vector<Scope> scopes_;
  std::unordered_set<std::string> inner_names_;  // made unique in inner scopes
  std::unordered_map<std::string_view, Decoded> decoded_;
  isa::Op op_{};          // of the instruction whose operands are read
  std::string mnemonic_;  // only when blanks stand inside it
  std::unordered_set<std::string> long_mnemonics_;
  std::vector<std::size_t> operand_offsets_;
  std::int32_t loc_ = -1;
  std::uint64_t used_bytes_ = 0;
  unsigned renamed_ = 0;
  std::vector<Refusal>* refusals_ = nullptr;  // none: the first mistake ends the parse
  std::string_view refused_;                  // the mnemonic that is being read

  Scope& scope() { return scopes_.back(); }

  bool statement();
  bool simple_statement(char first);
  // After a failure: false when it ends the parse, else the cursor stands behind the statement that began at `begin`.
  bool recover(const Cursor& begin);
  void refuse();
  // Names the body and the text that the error is in.
  void place(Diag& diag) const;
  [[nodiscard]] const Unit* unit() const { return module_.units.empty() ? nullptr : &module_.units[function_.unit]; }
  bool open_scope();
  bool close_scope();
  bool undefined(const char* kind, std::string_view name, std::size_t offset, const Scope& closing);
  bool label(std::string_view word, std::size_t offset);
  bool prototype(std::string_view word);
  bool targets(std::string_view word, bool of_call);
  bool directive();
  bool pragma();

  // .loc FILE LINE COLUMN [, function_name LABEL [+ OFFSET], inlined_at FILE LINE COLUMN]
  bool location();

  // The latest location with these coordinates: the call site was mentioned before, itself perhaps inlined.
  std::int32_t call_site(const Loc& site);
  std::int32_t add_register(std::string name, isa::Type type);
  void add_components(std::string_view word, isa::Type type, unsigned width);
  void register_parameter(const Param& p);

  // A name that no other register or variable of the body has.
  std::string unique_name(std::string_view word);
  bool define(std::string_view word, Symbol symbol, std::size_t offset);
  bool registers();
  bool body_variables(isa::Space space, Linkage linkage);

  // The innermost declaration of a name in the body; nullptr when there is none.
  const Symbol* find(std::string_view word);
  Symbol found_{Symbol::Kind::reg};
  const Symbol* found(const RegisterRange& range, std::uint32_t number);

  // 0xffffffff when the digits are no plain number ("", "007", too long).
  static std::uint32_t parse_number(std::string_view digits);
  bool instruction();

  // The base and all modifiers; a view into the text unless blanks stand between them.
  bool read_mnemonic(std::string_view& out);
  bool plain_operands(Instr& instr);
  bool list(Operand& out);

  // call (results), callee, (arguments), prototype: with empty lists where the text leaves them out.
  bool call_operands(Instr& instr);
  static constexpr std::uint32_t kInside = 0xffffffffu;  // not an operand of its own, so no label

  bool operand(Operand& out, std::uint32_t index);
  bool literal(Operand& out);
  bool vector(Operand& out);
  bool address(Operand& out);

  // A register with an optional "|p", a special register, a sink, a symbol or a label.
  bool named(Operand& out, std::uint32_t index);

  // "symbol+8", or "array[2]", which is the address of an element for mov and the element itself for instructions that
  // take an address (section 6.4.2); inside an address the caller reads the offset.
  bool symbol_offset(Operand& out, std::uint32_t index, isa::Type element);
  bool parameter_named(std::string_view word) const;
  bool pair(Operand& out);
  bool vector_register(Operand& out, const Symbol& symbol);
  // ".b0" or ".h10" behind a register.
  bool selector(Operand& out);

  // "%r0 to %r9" when the name has the prefix of declared registers but a number outside their range.
  std::string range_hint(std::string_view word) const;
  bool unknown_name(std::string_view word, std::size_t offset, const char* kind);
};

}  // namespace warploom::ptx

// The parsed form of a PTX text: what every device consumes. Function bodies are parsed when they are asked for.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.hpp"
#include "isa/isa.hpp"

namespace warploom::ptx {

// ".b3210" or ".h1" behind a register of a video instruction (PTX ISA sections 9.7.17 and 9.7.18): which bytes or
// halves.
struct Selector {
  std::uint16_t digits = 0;  // nibbles, the last digit in the lowest
  std::uint8_t count = 0;    // of digits; 0: all of the register
  bool halves = false;
};

// A call always has the operands: list of results, symbol or register of the callee, list of arguments, and for an
// indirect call the symbol of its prototype or targets; the lists may be empty.
struct Operand {
  enum class Kind : std::uint8_t {
    reg,      // index into Body::registers; as a source, plus `imm`
    imm,      // integer bits, sign-extended to 64
    imm_f32,  // bits in the low half (0f3F800000, or a decimal literal where an f32 is due)
    imm_f64,  // bits (0d..., or a decimal literal)
    sreg,     // special register, name in `symbol` ("%tid.x")
    symbol,   // address of a variable, function or parameter, plus `imm`, plus `reg` elements when `scale` is set
    address,  // [base + imm]: base is a register (`reg` >= 0), a symbol (with `scale` plus `reg` elements), or an
              // absolute integer (neither)
    vector,   // {a, b, c, d} in `elements`
    label,    // `symbol`; resolved position in `reg` (instruction index)
    sink,     // _
    list,     // (a, b) of a call, in `elements`
  };
  Kind kind = Kind::reg;
  bool negated = false;  // "!p"
  bool minus = false;    // "-r" before a register, where PTX allows it
  Selector select;       // of a register
  std::int32_t reg = -1;
  std::int32_t pair = -1;   // register of the second result in "d|p", -2 for "d|_"
  std::uint32_t scale = 0;  // bytes of an element, of "array[%r]"
  std::uint64_t imm = 0;
  std::string symbol;
  std::vector<Operand> elements;  // of a vector or list; of an address: what follows the base in "[tex, {x, y}]"
};

// A .loc directive with nvcc's function_name / inlined_at extension (PTX ISA section 11.5.3).
struct Loc {
  std::uint32_t file = 0, line = 0, column = 0;
  std::int32_t inlined_at = -1;  // index into Body::locs of the call site
  std::string function;          // name of the inlined function, or empty
};

struct Instr {
  isa::Op op{};
  isa::ModSet mods;
  isa::Type types[4] = {};
  std::uint8_t type_count = 0;
  std::int32_t guard = -1;  // register of @p, -1 for none
  bool guard_negated = false;
  std::vector<Operand> operands;
  std::uint32_t line = 0;  // line in the PTX text
  std::int32_t loc = -1;   // index into Body::locs
  // Bytes of a widened load that the program uses (.pragma "used_bytes_mask"); 0: all of them.
  std::uint64_t used_bytes = 0;
  // The form that matched; form->emit is "unsupported" where the CPU device must refuse.
  const isa::Form* form = nullptr;

  [[nodiscard]] bool has(isa::Mod m) const { return mods.test(static_cast<std::size_t>(m)); }
  [[nodiscard]] isa::Type type(std::size_t i = 0) const { return types[i]; }
};

// Type of operand `index` as the table says (mul.wide's result is twice as wide as types[0]).
isa::Type operand_type(const Instr& instr, std::size_t index);
isa::Role operand_role(const Instr& instr, std::size_t index);
// What the instruction does beside computing results: of its form where that differs from the row.
isa::Flow flow_of(const Instr& instr);
// Elements that a video instruction works on in a register: 1, 2 or 4; 0 for all other instructions.
unsigned video_lanes(isa::Op op);
// What redux computes: the operation (0 add, 1 min, 2 max, 3 and, 4 or, 5 xor), above it a byte of flags.
inline constexpr std::uint32_t kReduxSigned = 1, kReduxFloat = 2, kReduxAbs = 4, kReduxNan = 8;
std::uint32_t redux_kind(const Instr& instr);
// State space named by the modifiers; generic when none is.
isa::Space space_of(const Instr& instr);
// 1, 2, 4 or 8 for .v2, .v4, .v8.
unsigned vector_width(const Instr& instr);
// May other threads see, or change, what the access reads or writes while the kernel runs?
bool is_ordered(const Instr& instr);
// The elements of a vector operand, or the operand itself.
std::vector<const Operand*> elements_of(const Operand& operand);

struct Relocation {
  std::uint64_t offset = 0;  // in the variable
  std::string symbol;
  std::int64_t addend = 0;
  bool generic = false;  // generic(symbol)
};

enum class Linkage : std::uint8_t { internal, visible, external, weak, common };

struct Variable {
  std::string name;
  isa::Space space{};
  isa::Type type{};
  std::uint32_t align = 1;
  std::uint64_t bytes = 0;  // 0 for `.extern .shared x[]`
  bool unsized_array = false;
  Linkage linkage = Linkage::internal;
  bool managed = false;
  std::vector<std::uint8_t> init;  // empty: zero
  std::vector<Relocation> relocations;
  std::uint32_t line = 0;
  bool in_body = false;  // declared in a function; the name is one of the module
};

struct Param {
  std::string name;
  isa::Type type{};
  std::uint32_t align = 1;
  std::uint32_t bytes = 0;
  bool is_array = false;     // .b8 name[N]: a struct by value
  bool in_register = false;  // .reg parameter of a .func, named as a register of its body
  std::uint32_t offset = 0;  // in the parameter buffer of a kernel
};

struct Register {
  std::string name;
  isa::Type type{};
};

struct Prototype {
  std::vector<Param> returns, params;
};

struct Body {
  std::vector<Register> registers;  // of all scopes; scopes are resolved by the parser
  std::vector<Instr> instrs;
  std::map<std::string, std::uint32_t> labels;  // unique name -> index of the next instruction
  std::vector<Variable> variables;              // of the body, scoped names made unique
  std::vector<Loc> locs;
  std::map<std::string, std::vector<std::string>> branch_targets;  // .branchtargets
  std::map<std::string, Prototype> prototypes;                     // .callprototype
};

struct Dim3 {
  std::uint32_t x = 0, y = 0, z = 0;
};

struct Function {
  std::string name;
  std::string alias_of;  // .alias: the function this one stands for
  bool is_entry = false;
  bool has_body = false;
  Linkage linkage = Linkage::internal;
  std::vector<Param> params, returns;
  std::uint32_t param_bytes = 0;
  Dim3 maxntid, reqntid, reqnctapercluster;
  bool explicit_cluster = false;
  std::uint32_t maxclusterrank = 0;
  std::uint32_t minnctapersm = 0, maxnreg = 0;
  bool noreturn_ = false;
  std::uint32_t unit = 0;  // index into Module::units, of a linked module
  std::uint32_t line = 0;
  std::size_t body_begin = 0, body_end = 0;  // in Module::text, the braces included
  std::uint32_t body_line = 0;
  bool declares_globals = false;  // by the look of its text; parse() then fills `globals`
  // .global and .const variables of the body: its name for each -> the one of the module.
  std::map<std::string, std::string, std::less<>> globals;
};

struct NameHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view s) const { return std::hash<std::string_view>{}(s); }
};
using NameIndex = std::unordered_map<std::string, std::uint32_t, NameHash, std::equal_to<>>;

// One of the texts that a linked module is made of.
struct Unit {
  std::string name;              // file name for messages
  std::size_t text_begin = 0;    // in Module::text
  std::uint32_t first_line = 1;  // of Module::text
  std::uint32_t first_file = 0;  // is added to its .file numbers
  // Symbols and labels of .debug_str, as they are written in this text -> as they are called in the module.
  std::unordered_map<std::string, std::string, NameHash, std::equal_to<>> names, debug_labels;
};

// A directive of a later PTX version that was left out.
struct Skipped {
  std::string directive;
  std::uint32_t line = 0;
};

struct Module {
  std::string name;  // file name for messages
  std::string text;
  std::uint32_t version_major = 0, version_minor = 0;
  std::string target;  // "sm_80"
  bool debug = false;
  std::uint32_t address_bits = 64;
  std::map<std::uint32_t, std::string> files;        // .file
  std::map<std::string, std::string> debug_strings;  // labels of .debug_str, for Loc::function
  std::vector<Variable> variables;
  std::vector<Function> functions;
  NameIndex variable_index, function_index;  // into the two vectors, filled by parse()
  std::vector<Skipped> skipped;              // only of texts whose version is later than those known
  std::vector<Unit> units;                   // empty unless the module was linked; names are those of the module

  // The function that a name stands for: what it is an alias of, where it is one.
  [[nodiscard]] const Function* find_function(std::string_view name) const;
  [[nodiscard]] const Variable* find_variable(std::string_view name) const;
  // Where a line of `text` stands, for messages: file and line of the unit that it came from.
  [[nodiscard]] SourceLoc place(std::uint32_t line, std::uint32_t column = 0) const;
  // "the text is PTX 9.4 ..." for one of a version later than those known, else "".
  [[nodiscard]] std::string version_note() const;
  // What `word` of a unit's text is called in the module; empty when the unit does not declare it.
  [[nodiscard]] std::string_view resolve(std::uint32_t unit, std::string_view word) const;
};

// Parses directives and declarations; finds the extent of each body without parsing it.
Result<std::shared_ptr<Module>> parse(std::string text, std::string name = "<ptx>");
// Parses, resolves and verifies one body. An instruction the table does not know is an error that names it and its
// line.
Result<std::shared_ptr<Body>> parse_body(const Module& module, const Function& function);

// What is wrong with one statement of a body; `mnemonic` is empty when it is no instruction.
struct Refusal {
  Diag diag;
  std::string mnemonic;
};
// The body without the statements that are wrong, and those.
struct Survey {
  std::shared_ptr<Body> body;
  std::vector<Refusal> refusals;
};
// Parses a body to its end, whatever is wrong on the way; for a report, not for execution.
Survey survey_body(const Module& module, const Function& function);

std::string print(const Module& module, const Body& body, const Instr& instr);
std::string print(const Module& module, const Function& function, const Body& body);
// The whole text; bodies are parsed on the way.
Result<std::string> print(const Module& module);

}  // namespace warploom::ptx

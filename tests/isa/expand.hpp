// Writes out the instructions that a form of the table allows, and modules around them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "isa/isa.hpp"

namespace warploom::test {

// Text of instructions of one form: every choice of every position, up to about `cap` combinations spread evenly.
std::vector<std::string> expand(const isa::Row& row, const isa::Form& form, std::size_t cap);

// The instruction with these modifiers and types, which the form must take.
std::string instruction_of(const isa::Row& row, const isa::Form& form, const isa::ModSet& mods,
                           std::span<const isa::Type> types);

// Near misses of a form: one modifier too many, or one type that does not belong.
std::vector<std::string> near_misses(const isa::Row& row, const isa::Form& form);

// A form with each register operand replaced by registers of other types, constants, special registers, symbols ...
std::vector<std::string> register_misfits(const isa::Row& row, const isa::Form& form);

// A module whose only kernel holds the instructions, one a line; the first stands in line kFirstLine.
std::string module_of(const std::vector<std::string>& instructions);
inline constexpr int kFirstLine = 40;

}  // namespace warploom::test

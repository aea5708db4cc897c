// Cases that touch memory or other lanes, for the suite of the table.
#pragma once

#include "table_cases.hpp"

namespace warploom::semantics {

// Every operation, type, space and vector of a form of atom or red.
void add_atomic_cases(const isa::Row& row, const isa::Form& form, std::vector<TableCase>& all);
void add_warp_cases(std::vector<TableCase>& all);

}  // namespace warploom::semantics

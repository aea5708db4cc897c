// Tables of what was measured, and what of it was expected.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace warploom::bench {

/// One line of a kernel, as it is measured: what `make bench` shows while it runs.
std::string kernel_line(const nlohmann::json& kernel);
/// All tables. `results` as main.cpp gathers them; parts that were not measured are left out.
std::string report(const nlohmann::json& results);

}  // namespace warploom::bench

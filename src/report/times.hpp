// Launch times as text and as JSON.
#pragma once

#include <string>

#include "observe/launch_times.hpp"

namespace warploom::report {

// A table of the first launches, and one by kernel, the longest first. "" when there was no launch.
std::string times_to_text(const observe::LaunchTimes::Totals& totals);
std::string times_to_json(const observe::LaunchTimes::Totals& totals);

}  // namespace warploom::report

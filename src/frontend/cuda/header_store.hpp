// The folder on disk that holds the embedded device headers, written once for each content.
#pragma once

#include <string>

#include "base/result.hpp"

namespace warploom::frontend {

Result<std::string> header_folder();

}  // namespace warploom::frontend

// Shared libraries that are looked for while the program runs.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace warploom {

struct LibraryQuery {
  const char* variable;            // of the environment: names the file
  std::vector<const char*> names;  // file names to try in turn
  const char* title;               // "cuBLAS"
  std::string remedy;              // what to install
};

// The first that loads, never closed: from the variable, else from the folders, else where the system looks.
// not_supported says what was tried.
Result<void*> open_library(const LibraryQuery& query);

// Looked in before the system's folders, in the order in which they were added.
void add_library_folder(std::string folder);

// not_supported for a library that lacks an entry point.
Diag entry_missing(const LibraryQuery& query, const char* name);

}  // namespace warploom

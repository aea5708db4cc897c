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
  std::string upgrade = {};        // what to do about a library that lacks entry points; as `remedy` if empty
  ErrorId id = ErrorId::not_supported;
  bool in_folders = true;  // of add_library_folder
};

// One that loaded, and the entry points taken from it; never closed, as libraries have threads and exit handlers.
class Library {
 public:
  // The first that loads: from the variable, else from the folders, else where the system looks. The error, with the
  // query's id, says what was tried.
  static Result<Library> open(LibraryQuery query);

  // Null if there is none of that name.
  [[nodiscard]] void* find(const char* name) const;

  // Takes an entry point that must be there: complete() says so otherwise.
  template <class F>
  void take(F*& entry, const char* name) {
    entry = reinterpret_cast<F*>(find(name));
    if (entry == nullptr && missing_ == nullptr) missing_ = name;
  }
  [[nodiscard]] Result<void> complete() const;

 private:
  Library(LibraryQuery query, std::string file, void* handle)
      : query_(std::move(query)), file_(std::move(file)), handle_(handle) {}

  LibraryQuery query_;
  std::string file_;
  void* handle_;
  const char* missing_ = nullptr;  // the first
};

// Looked in before the system's folders, in the order in which they were added.
void add_library_folder(std::string folder);

}  // namespace warploom

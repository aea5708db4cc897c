// Looks for shared libraries.
#include "base/library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>

namespace warploom {
namespace {

struct Folders {
  std::mutex mutex;
  std::vector<std::string> list;
};

Folders& folders() {
  static auto& instance = *new Folders;
  return instance;
}

void* open(const std::string& file, std::string& reason) {
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return library;
  const char* text = dlerror();
  reason = text == nullptr ? file : text;
  return nullptr;
}

Diag missing(const LibraryQuery& query, std::string what) {
  Diag d;
  d.id = ErrorId::not_supported;
  d.what = std::move(what);
  d.where = query.title;
  d.remedy = query.remedy;
  return d;
}

}  // namespace

void add_library_folder(std::string folder) {
  const std::lock_guard lock(folders().mutex);
  auto& list = folders().list;
  if (std::find(list.begin(), list.end(), folder) == list.end()) list.push_back(std::move(folder));
}

Result<void*> open_library(const LibraryQuery& query) {
  std::string reason;
  if (const char* named = std::getenv(query.variable); named != nullptr && *named != '\0') {
    if (void* library = open(named, reason)) return library;
    return missing(query, fmt::format("{} cannot be loaded: {}", query.title, reason));
  }
  std::vector<std::string> places;
  {
    const std::lock_guard lock(folders().mutex);
    places = folders().list;
  }
  for (const std::string& folder : places)
    for (const char* name : query.names)
      if (void* library = open(folder + "/" + name, reason)) return library;
  for (const char* name : query.names)
    if (void* library = open(name, reason)) return library;
  return missing(query, fmt::format("there is no {}: {}", query.title, reason));
}

Diag entry_missing(const LibraryQuery& query, const char* name) {
  return missing(query, fmt::format("this {} has no entry point {}", query.title, name));
}

}  // namespace warploom

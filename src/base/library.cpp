// Looks for shared libraries.
#include "base/library.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <fmt/format.h>
#include <link.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>

#include "base/diag_of.hpp"

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

// Whether the end of a file is missing that its segments reach beyond: the loader would find out by a fault.
bool is_cut_short(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  ElfW(Ehdr) head{};
  ElfW(Phdr) segment{};
  if (!file.read(reinterpret_cast<char*>(&head), sizeof head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
      head.e_phentsize != sizeof segment)
    return false;  // no library, as the loader says
  std::error_code failed;
  const std::uintmax_t bytes = std::filesystem::file_size(path, failed);
  if (failed) return false;
  file.seekg(static_cast<std::streamoff>(head.e_phoff));
  for (unsigned i = 0; i < head.e_phnum; ++i) {
    if (!file.read(reinterpret_cast<char*>(&segment), sizeof segment)) return true;
    if (segment.p_type == PT_LOAD && (segment.p_offset > bytes || segment.p_filesz > bytes - segment.p_offset))
      return true;
  }
  return false;
}

void* load(const std::string& file, std::string& reason) {
  if (file.find('/') != std::string::npos && is_cut_short(file)) {
    reason = file + ": the file is cut short";
    return nullptr;
  }
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library != nullptr) return library;
  const char* text = dlerror();
  // Of a file that is there rather than of those that are not.
  if (reason.empty() || reason.find("No such file") != std::string::npos) reason = text == nullptr ? file : text;
  return nullptr;
}

Diag unusable(const LibraryQuery& query, std::string what, const std::string& remedy) {
  return diag_of(query.id, std::move(what), remedy, query.title);
}

}  // namespace

void add_library_folder(std::string folder) {
  const std::lock_guard lock(folders().mutex);
  auto& list = folders().list;
  if (std::find(list.begin(), list.end(), folder) == list.end()) list.push_back(std::move(folder));
}

Result<Library> Library::open(LibraryQuery query) {
  std::string reason;
  if (const char* named = std::getenv(query.variable); named != nullptr && *named != '\0') {
    if (void* handle = load(named, reason)) return Library(std::move(query), named, handle);
    return unusable(query, fmt::format("{} cannot be loaded: {}", query.title, reason), query.remedy);
  }
  std::vector<std::string> files;
  if (query.in_folders) {
    const std::lock_guard lock(folders().mutex);
    for (const std::string& folder : folders().list)
      for (const char* name : query.names) files.push_back(folder + "/" + name);
  }
  files.insert(files.end(), query.names.begin(), query.names.end());
  for (std::string& file : files)
    if (void* handle = load(file, reason)) return Library(std::move(query), std::move(file), handle);
  return unusable(query, fmt::format("there is no {}: {}", query.title, reason), query.remedy);
}

void* Library::find(const char* name) const { return dlsym(handle_, name); }

Result<void> Library::complete() const {
  if (missing_ == nullptr) return {};
  return unusable(query_, fmt::format("{} in {} has no entry point {}", query_.title, file_, missing_),
                  query_.upgrade.empty() ? query_.remedy : query_.upgrade);
}

}  // namespace warploom

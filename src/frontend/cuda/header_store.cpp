// Writes the device headers under the user's cache folder; the folder's name is their content hash.
#include "frontend/cuda/header_store.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <system_error>
#include <vector>

#include "frontend/cuda/embedded_headers.hpp"

namespace warploom::frontend {
namespace {

namespace fs = std::filesystem;

std::string content_hash() {
  std::uint64_t h = 1469598103934665603ull;  // FNV-1a
  const auto add = [&h](std::string_view text) {
    for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ull;
    h = (h ^ 0xff) * 1099511628211ull;
  };
  for (const EmbeddedHeader& header : embedded_headers()) {
    add(header.path);
    add(header.text);
  }
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (int i = 60; i >= 0; i -= 4) hex += kDigits[(h >> i) & 15];
  return hex;
}

// Candidates in order of preference; a folder in /tmp is used only when it is ours alone.
std::vector<fs::path> cache_roots() {
  std::vector<fs::path> roots;
  if (const char* dir = std::getenv("WARPLOOM_CACHE_DIR"); dir != nullptr && *dir != 0) roots.emplace_back(dir);
  if (const char* dir = std::getenv("XDG_CACHE_HOME"); dir != nullptr && *dir == '/')
    roots.emplace_back(fs::path(dir) / "warploom");
  if (const char* dir = std::getenv("HOME"); dir != nullptr && *dir == '/')
    roots.emplace_back(fs::path(dir) / ".cache" / "warploom");
  std::error_code ignored;
  roots.emplace_back(fs::temp_directory_path(ignored) / ("warploom-" + std::to_string(getuid())));
  return roots;
}

bool is_private(const fs::path& dir) {
  struct stat info{};
  return lstat(dir.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid() &&
         (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool write_headers(const fs::path& dir) {
  std::error_code error;
  for (const EmbeddedHeader& header : embedded_headers()) {
    const fs::path path = dir / header.path;
    fs::create_directories(path.parent_path(), error);
    std::ofstream file(path, std::ios::binary);
    file.write(header.text.data(), static_cast<std::streamsize>(header.text.size()));
    file.close();
    if (!file) return false;
  }
  return true;
}

// Builds the folder under a temporary name and renames it, so that no process sees half of it.
bool place(const fs::path& root, const fs::path& target) {
  std::error_code error;
  if (is_private(target)) return true;
  const bool root_existed = fs::exists(root, error);
  fs::create_directories(root, error);
  if (!root_existed) fs::permissions(root, fs::perms::owner_all, error);
  if (!is_private(root)) return false;
  std::string temporary = (root / "headers-XXXXXX").string();
  if (mkdtemp(temporary.data()) == nullptr) return false;
  if (write_headers(temporary)) fs::rename(temporary, target, error);
  const bool placed = is_private(target);
  fs::remove_all(temporary, error);
  return placed;
}

}  // namespace

Result<std::string> header_folder() {
  static std::mutex mutex;
  static std::string folder;
  const std::lock_guard lock(mutex);
  std::error_code error;
  if (!folder.empty() && fs::exists(fs::path(folder) / "warploom_cuda.h", error)) return folder;
  const std::string name = "cuda-headers-" + content_hash();
  for (const fs::path& root : cache_roots()) {
    const fs::path target = root / name;
    if (place(root, target)) {
      folder = target.string();
      return folder;
    }
  }
  Diag diag;
  diag.id = ErrorId::file_error;
  diag.what = "no folder can be written for the CUDA device headers";
  diag.remedy = "set WARPLOOM_CACHE_DIR to a folder that you own and can write";
  return diag;
}

}  // namespace warploom::frontend

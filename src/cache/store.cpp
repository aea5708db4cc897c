// Reading, writing, listing and trimming of the disk cache.
#include "cache/store.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <system_error>

namespace warploom::cache {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kMebibyte = 1 << 20;
constexpr std::uint64_t kDefaultMegabytes = 1024;
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kStale = 3600 * kSecond;  // an unfinished file of this age belongs to a process that died
constexpr std::string_view kUnfinished = ".new-";
constexpr std::string_view kSuffix = ".wlc";
constexpr std::uint64_t kMostBytes = 1ULL << 30;  // of one entry

struct Header {
  char magic[8] = {'W', 'L', 'C', 'A', 'C', 'H', 'E', '1'};
  std::uint64_t label_bytes = 0, value_bytes = 0;
  std::uint64_t checksum = 0;  // of the digest, the label and the value
};

// FNV-1a over words: finds damage, not malice.
std::uint64_t checksum(std::uint64_t h, std::string_view data) {
  const auto mix = [&h](std::uint64_t word) {
    h = (h ^ word) * 1099511628211ULL;
    h ^= h >> 32;
  };
  mix(data.size());
  for (; data.size() >= 8; data.remove_prefix(8)) {
    std::uint64_t word = 0;
    std::memcpy(&word, data.data(), 8);
    mix(word);
  }
  std::uint64_t word = 0;
  std::memcpy(&word, data.data(), data.size());
  mix(word);
  return h;
}

std::uint64_t checksum(const std::string& digest, std::string_view label, std::string_view value) {
  return checksum(checksum(checksum(14695981039346656037ULL, digest), label), value);
}

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  [[nodiscard]] bool open() const { return descriptor_ >= 0; }
  [[nodiscard]] int get() const { return descriptor_; }
  bool read(void* to, std::size_t bytes) const {
    return each(bytes, [&](std::size_t at) { return ::read(descriptor_, static_cast<char*>(to) + at, bytes - at); });
  }
  bool write(const void* from, std::size_t bytes) const {
    return each(bytes,
                [&](std::size_t at) { return ::write(descriptor_, static_cast<const char*>(from) + at, bytes - at); });
  }
  bool close() {
    const int d = descriptor_;
    descriptor_ = -1;
    return ::close(d) == 0;
  }

 private:
  template <class F>
  static bool each(std::size_t bytes, const F& some) {
    for (std::size_t at = 0; at < bytes;) {
      const ssize_t n = some(at);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      at += static_cast<std::size_t>(n);
    }
    return true;
  }
  int descriptor_;
};

std::int64_t nanoseconds(const timespec& t) { return t.tv_sec * kSecond + t.tv_nsec; }

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != 0 ? value : nullptr;
}

std::string root_of_environment() {
  if (const char* dir = variable("WARPLOOM_CACHE_DIR")) return dir;
  if (const char* dir = variable("XDG_CACHE_HOME"); dir != nullptr && *dir == '/')
    return std::string(dir) + "/warploom";
  if (const char* dir = variable("HOME"); dir != nullptr && *dir == '/') return std::string(dir) + "/.cache/warploom";
  return {};
}

// A number of megabytes, or nothing.
std::optional<std::uint64_t> megabytes(const std::string& text) {
  char* end = nullptr;
  errno = 0;
  const unsigned long long n = std::strtoull(text.c_str(), &end, 10);
  while (*end == '\n') ++end;
  if (text.empty() || text[0] < '0' || text[0] > '9' || *end != 0 || errno != 0 || n > (1ULL << 40)) return {};
  return n;
}

Settings from_environment() {
  Settings s;
  s.root = root_of_environment();
  const char* on = variable("WARPLOOM_CACHE");
  s.enabled = !s.root.empty() && (on == nullptr || std::string_view(on) != "0");
  std::optional<std::uint64_t> limit;
  if (const char* text = variable("WARPLOOM_CACHE_MEGABYTES")) limit = megabytes(text);
  if (!limit) {
    std::ifstream file(s.root + "/limit");
    std::string text;
    if (std::getline(file, text)) limit = megabytes(text);
  }
  s.limit = limit.value_or(kDefaultMegabytes) * kMebibyte;
  return s;
}

std::mutex settings_mutex;
std::optional<Settings> current_settings;

bool read_header(const File& file, std::uint64_t file_bytes, Header& header) {
  Header expected;
  return file.read(&header, sizeof header) && std::memcmp(header.magic, expected.magic, sizeof header.magic) == 0 &&
         header.label_bytes <= kMostBytes && header.value_bytes <= kMostBytes &&
         sizeof header + header.label_bytes + header.value_bytes == file_bytes;
}

// Files of the store with their times; unfinished ones that nobody writes any more are removed on the way.
std::vector<Entry> scan(const std::string& folder) {
  std::vector<Entry> found;
  if (folder.empty()) return found;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  std::error_code error;
  for (fs::recursive_directory_iterator i(folder, error), end; !error && i != end; i.increment(error)) {
    struct stat info{};
    const std::string path = i->path().string();
    if (lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    const std::string name = i->path().filename().string();
    const std::int64_t used = nanoseconds(info.st_mtim);
    if (name.starts_with(kUnfinished)) {
      if (nanoseconds(now) - used > kStale) ::unlink(path.c_str());
      continue;
    }
    if (name.ends_with(kSuffix)) found.push_back({path, {}, static_cast<std::uint64_t>(info.st_size), used});
  }
  std::sort(found.begin(), found.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  return found;
}

}  // namespace

Settings settings() {
  const std::lock_guard lock(settings_mutex);
  if (!current_settings) current_settings = from_environment();
  return *current_settings;
}

void read_settings() {
  Settings s = from_environment();
  const std::lock_guard lock(settings_mutex);
  current_settings = std::move(s);
}

bool set_limit(const std::string& root, std::uint64_t limit) {
  std::error_code error;
  fs::create_directories(root, error);
  std::ofstream file(root + "/limit");
  file << limit << '\n';
  file.close();
  return !file.fail();
}

Store::Store(const std::string& root, const std::string& kind) : folder_(root.empty() ? "" : root + "/" + kind) {}

std::string Store::path_of(const std::string& digest) const {
  return folder_ + "/" + digest.substr(0, 2) + "/" + digest.substr(2) + std::string(kSuffix);
}

// Code that others could have put there is not run.
bool Store::trusted() const {
  struct stat info{};
  return !folder_.empty() && stat(folder_.c_str(), &info) == 0 && info.st_uid == geteuid() &&
         (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

std::optional<std::string> Store::load(const std::string& digest) const {
  if (!trusted()) return {};
  const std::string path = path_of(digest);
  const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  struct stat info{};
  if (!file.open() || fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  Header header;
  std::string label, value;
  bool good = read_header(file, static_cast<std::uint64_t>(info.st_size), header);
  if (good) {
    label.resize(header.label_bytes);
    value.resize(header.value_bytes);
    good = file.read(label.data(), label.size()) && file.read(value.data(), value.size()) &&
           checksum(digest, label, value) == header.checksum;
  }
  if (!good) {
    ::unlink(path.c_str());
    return {};
  }
  // In use: the longest unused go first.
  futimens(file.get(), nullptr);
  return value;
}

void Store::save(const std::string& digest, std::string_view label, std::string_view value, std::uint64_t limit) const {
  if (folder_.empty() || value.size() > std::min(limit, kMostBytes)) return;
  const std::string path = path_of(digest);
  const std::string folder = path.substr(0, path.rfind('/'));
  std::error_code error;
  if (!fs::exists(folder_, error)) {
    fs::create_directories(folder_, error);
    fs::permissions(folder_, fs::perms::owner_all, error);
  }
  if (!trusted()) return;
  fs::create_directory(folder, error);
  std::string temporary = folder + "/" + std::string(kUnfinished) + "XXXXXX";
  {
    File file(::mkostemp(temporary.data(), O_CLOEXEC));
    if (!file.open()) return;
    Header header;
    header.label_bytes = label.size();
    header.value_bytes = value.size();
    header.checksum = checksum(digest, label, value);
    const bool written = file.write(&header, sizeof header) && file.write(label.data(), label.size()) &&
                         file.write(value.data(), value.size());
    if (!file.close() || !written || ::rename(temporary.c_str(), path.c_str()) != 0) {
      ::unlink(temporary.c_str());
      return;
    }
  }
  constexpr int kHexadecimal = 16;
  if (std::strtoul(digest.substr(0, 2).c_str(), nullptr, kHexadecimal) % 32 == 0) trim(limit);
}

std::vector<Entry> Store::entries() const {
  std::vector<Entry> found = scan(folder_);
  for (Entry& e : found) {
    const File file(::open(e.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    Header header;
    if (!file.open() || !read_header(file, e.bytes, header)) continue;
    e.label.resize(header.label_bytes);
    if (!file.read(e.label.data(), e.label.size())) e.label.clear();
  }
  return found;
}

std::uint64_t Store::trim(std::uint64_t limit) const {
  const std::vector<Entry> found = scan(folder_);
  std::uint64_t total = 0, freed = 0;
  for (const Entry& e : found) total += e.bytes;
  for (const Entry& e : found) {
    if (total - freed <= limit) break;
    if (::unlink(e.path.c_str()) == 0 || errno == ENOENT) freed += e.bytes;
  }
  return freed;
}

}  // namespace warploom::cache

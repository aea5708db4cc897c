// Files named by a digest of all that they depend on: the disk cache of compiled code.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace warploom::cache {

// Where the cache lies and what it may take, from the environment: WARPLOOM_CACHE_DIR (else XDG_CACHE_HOME/warploom,
// else ~/.cache/warploom), WARPLOOM_CACHE ("0": off), WARPLOOM_CACHE_MEGABYTES (else the number in the file `limit` of
// the folder, else 1024).
struct Settings {
  std::string root;  // empty: there is no place for a cache
  bool enabled = false;
  std::uint64_t limit = 0;  // bytes
};
// As read last; background threads must not look at the environment, which the program may be changing.
Settings settings();
// Reads the environment again. Called when a device is opened.
void read_settings();

struct Entry {
  std::string path;
  std::string label;
  std::uint64_t bytes = 0;
  std::int64_t used = 0;  // nanoseconds since 1970 by the file system's clock
};

// One kind of entries: a folder below the root. Safe between threads and between processes. What cannot be read or
// written is as if it were not there; a damaged entry is removed.
class Store {
 public:
  // `root` may be empty: then nothing is kept.
  Store(const std::string& root, const std::string& kind);

  // `digest`: at least 8 hexadecimal digits.
  [[nodiscard]] std::optional<std::string> load(const std::string& digest) const;
  // `label` tells people what the entry is. One save in 32, chosen by the digest, trims the store to `limit` bytes.
  void save(const std::string& digest, std::string_view label, std::string_view value, std::uint64_t limit) const;

  [[nodiscard]] std::vector<Entry> entries() const;  // the longest unused first
  // Removes entries, the longest unused first, until the rest takes at most `limit` bytes: bytes freed.
  std::uint64_t trim(std::uint64_t limit) const;

  [[nodiscard]] const std::string& folder() const { return folder_; }

 private:
  [[nodiscard]] std::string path_of(const std::string& digest) const;
  [[nodiscard]] bool trusted() const;

  std::string folder_;
};

// Makes `megabytes` the limit where no variable sets one. False if it cannot be written.
bool set_limit(const std::string& root, std::uint64_t megabytes);

}  // namespace warploom::cache

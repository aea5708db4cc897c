// The store behind the disk cache: damage, several processes, folders that cannot be used, and its limit.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "cache/store.hpp"

namespace {

namespace fs = std::filesystem;
using warploom::cache::Entry;
using warploom::cache::Store;

constexpr std::uint64_t kNoLimit = 1ULL << 40;

std::string digest(unsigned n) {
  char text[65];
  std::snprintf(text, sizeof text, "%064x", n * 2654435761U);
  // Well spread in front, as digests are.
  std::string out(text);
  return out.substr(56) + out.substr(0, 56);
}

class CacheStore : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "warploom-cache-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root = name;
  }
  void TearDown() override {
    std::error_code ignored;
    fs::remove_all(root, ignored);
  }
  [[nodiscard]] Store store() const { return {root, "kernels"}; }
  [[nodiscard]] fs::path only_file() const {
    const auto all = store().entries();
    EXPECT_EQ(all.size(), 1U);
    return all.at(0).path;
  }

  std::string root;
};

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write(const fs::path& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

void age(const fs::path& path, int seconds) {
  fs::last_write_time(path, fs::last_write_time(path) - std::chrono::seconds(seconds));
}

TEST_F(CacheStore, KeepsValues) {
  const std::string value("with\0zeros", 10);
  EXPECT_FALSE(store().load(digest(1)));
  store().save(digest(1), "first uniform", value, kNoLimit);
  store().save(digest(2), "second", "", kNoLimit);
  EXPECT_EQ(store().load(digest(1)), value);
  EXPECT_EQ(store().load(digest(2)), "");
  EXPECT_FALSE(store().load(digest(3)));
  store().save(digest(1), "first uniform", "new", kNoLimit);
  EXPECT_EQ(store().load(digest(1)), "new");
  const auto entries = store().entries();
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].label, "second");
  EXPECT_EQ(entries[1].label, "first uniform");
}

TEST_F(CacheStore, DamageAnywhereIsFound) {
  const std::string value(100, 'v');
  store().save(digest(1), "label", value, kNoLimit);
  const fs::path path = only_file();
  const std::string good = read(path);
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    write(path, bad);
    EXPECT_FALSE(store().load(digest(1))) << "byte " << at;
    EXPECT_FALSE(fs::exists(path)) << "a damaged entry stays, byte " << at;
  }
  for (std::size_t size = 0; size < good.size(); ++size) {
    write(path, good.substr(0, size));
    EXPECT_FALSE(store().load(digest(1))) << size << " bytes are left";
  }
  write(path, good + "x");
  EXPECT_FALSE(store().load(digest(1)));
  write(path, good);
  EXPECT_EQ(store().load(digest(1)), value);
}

TEST_F(CacheStore, AnEntryUnderAnotherNameIsNotUsed) {
  store().save(digest(1), "", "one", kNoLimit);
  const fs::path from = only_file();
  store().save(digest(2), "", "two", kNoLimit);
  const auto entries = store().entries();
  const fs::path to = fs::path(entries[0].path) == from ? entries[1].path : entries[0].path;
  fs::copy_file(from, to, fs::copy_options::overwrite_existing);
  EXPECT_FALSE(store().load(digest(2)));
  EXPECT_EQ(store().load(digest(1)), "one");
}

TEST_F(CacheStore, UnusableFoldersAreNoErrors) {
  const Store none("", "kernels");
  none.save(digest(1), "", "value", kNoLimit);
  EXPECT_FALSE(none.load(digest(1)));
  EXPECT_TRUE(none.entries().empty());
  EXPECT_EQ(none.trim(0), 0U);

  write(fs::path(root) / "file", "");
  const Store under_file(root + "/file", "kernels");
  under_file.save(digest(1), "", "value", kNoLimit);
  EXPECT_FALSE(under_file.load(digest(1)));

  const Store unwritable("/proc/warploom", "kernels");
  unwritable.save(digest(1), "", "value", kNoLimit);
  EXPECT_FALSE(unwritable.load(digest(1)));
}

TEST_F(CacheStore, AReadOnlyFolderIsRead) {
  store().save(digest(1), "", "value", kNoLimit);
  for (const auto& folder : fs::recursive_directory_iterator(root))
    if (folder.is_directory()) chmod(folder.path().c_str(), S_IRUSR | S_IXUSR);
  const pid_t child = fork();
  if (child == 0) {
    // Permissions do not bind the superuser.
    const bool plain = geteuid() != 0;
    bool good = store().load(digest(1)) == "value";
    if (plain) {
      store().save(digest(2), "", "value", kNoLimit);
      good = good && !store().load(digest(2));
    }
    _exit(good ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  for (const auto& folder : fs::recursive_directory_iterator(root))
    if (folder.is_directory()) chmod(folder.path().c_str(), S_IRWXU);
}

TEST_F(CacheStore, AFolderThatOthersCanWriteIsNotTrusted) {
  store().save(digest(1), "", "value", kNoLimit);
  EXPECT_TRUE(store().load(digest(1)));
  chmod(store().folder().c_str(), S_IRWXU | S_IRWXG | S_IRWXO);
  EXPECT_FALSE(store().load(digest(1)));
  chmod(store().folder().c_str(), S_IRWXU);
  EXPECT_TRUE(store().load(digest(1)));
}

TEST_F(CacheStore, TheLongestUnusedGoFirst) {
  const std::string value(1000, 'v');
  for (unsigned i = 0; i < 10; ++i) store().save(digest(i), std::to_string(i), value, kNoLimit);
  auto entries = store().entries();
  ASSERT_EQ(entries.size(), 10U);
  for (const Entry& e : entries) age(e.path, 100 + std::stoi(e.label));
  ASSERT_TRUE(store().load(digest(9)));  // used: now the youngest
  const std::uint64_t each = entries[0].bytes;
  EXPECT_EQ(store().trim(10 * each), 0U);
  EXPECT_EQ(store().trim(3 * each), 7 * each);
  std::string left;
  for (const Entry& e : store().entries()) left += e.label;
  EXPECT_EQ(left, "109");
  EXPECT_EQ(store().trim(0), 3 * each);
  EXPECT_TRUE(store().entries().empty());
}

TEST_F(CacheStore, StaysWithinItsLimit) {
  const std::string value(10000, 'v');
  constexpr std::uint64_t kLimit = 100000;
  std::size_t most = 0;
  for (unsigned i = 0; i < 1000; ++i) {
    store().save(digest(i), "", value, kLimit);
    if (i % 50 == 49) most = std::max(most, store().entries().size());
  }
  EXPECT_LT(most, 300U);  // trimmed by one save in 32
  EXPECT_GT(most, 5U);
  store().save(digest(1001), "", std::string(kLimit + 1, 'v'), kLimit);
  EXPECT_FALSE(store().load(digest(1001)));  // alone beyond the limit
}

TEST_F(CacheStore, UnfinishedFilesOfDeadProcessesGo) {
  store().save(digest(1), "", "value", kNoLimit);
  const fs::path folder = only_file().parent_path();
  write(folder / ".new-fresh", "x");
  write(folder / ".new-stale", "x");
  age(folder / ".new-stale", 7200);
  EXPECT_EQ(store().entries().size(), 1U);
  EXPECT_TRUE(fs::exists(folder / ".new-fresh"));
  EXPECT_FALSE(fs::exists(folder / ".new-stale"));
}

// Writers of the same entries, readers and a trimmer: who reads an entry reads all of it.
TEST_F(CacheStore, ProcessesMayRace) {
  constexpr unsigned kProcesses = 4, kRounds = 300, kKeys = 5;
  const auto value_of = [](unsigned key) { return std::string(1000 + 3000 * key, static_cast<char>('a' + key)); };
  std::vector<pid_t> children;
  for (unsigned p = 0; p < kProcesses; ++p) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      bool good = true;
      for (unsigned i = 0; i < kRounds; ++i) {
        const unsigned key = (i * 7 + p) % kKeys;
        if (const auto found = store().load(digest(key))) good = good && *found == value_of(key);
        store().save(digest(key), "", value_of(key), kNoLimit);
        if (i % 100 == 50 + p) store().trim(10000);
      }
      _exit(good ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  for (unsigned key = 0; key < kKeys; ++key) {
    store().save(digest(key), "", value_of(key), kNoLimit);
    EXPECT_EQ(store().load(digest(key)), value_of(key));
  }
  EXPECT_EQ(store().entries().size(), kKeys);
}

class CacheSettings : public CacheStore {
 protected:
  void TearDown() override {
    for (const char* name : {"WARPLOOM_CACHE_DIR", "WARPLOOM_CACHE_MEGABYTES", "WARPLOOM_CACHE"}) unsetenv(name);
    CacheStore::TearDown();
  }
  static warploom::cache::Settings again() {
    warploom::cache::read_settings();
    return warploom::cache::settings();
  }
};

TEST_F(CacheSettings, ComeFromTheEnvironment) {
  setenv("WARPLOOM_CACHE_DIR", root.c_str(), 1);
  unsetenv("WARPLOOM_CACHE");
  EXPECT_EQ(again().root, root);
  EXPECT_TRUE(again().enabled);
  EXPECT_EQ(again().limit, 1ULL << 30);
  EXPECT_TRUE(warploom::cache::set_limit(root, 7));
  EXPECT_EQ(again().limit, 7ULL << 20);
  setenv("WARPLOOM_CACHE_MEGABYTES", "3", 1);
  EXPECT_EQ(again().limit, 3ULL << 20);
  setenv("WARPLOOM_CACHE_MEGABYTES", "-3", 1);
  EXPECT_EQ(again().limit, 7ULL << 20);
  setenv("WARPLOOM_CACHE", "0", 1);
  EXPECT_FALSE(again().enabled);
  unsetenv("WARPLOOM_CACHE_DIR");
  const std::string before = getenv("XDG_CACHE_HOME") != nullptr ? getenv("XDG_CACHE_HOME") : "";
  setenv("XDG_CACHE_HOME", root.c_str(), 1);
  EXPECT_EQ(again().root, root + "/warploom");
  before.empty() ? unsetenv("XDG_CACHE_HOME") : setenv("XDG_CACHE_HOME", before.c_str(), 1);
  EXPECT_FALSE(warploom::cache::set_limit("/proc/warploom", 7));
}

}  // namespace

// Pages of this process that others map: what the stand-in does for cuIpcGetMemHandle.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>

namespace stand_in {

// Pages are exchanged for those of one anonymous file, in which a page lies at the offset that is its address.
class SharedPages {
 public:
  struct Handle {  // inside of a CUipcMemHandle
    int pid, file;
    std::uint64_t address, bytes;
  };
  static constexpr std::uint64_t kPage = 4096;

  int share(std::uint64_t address, std::uint64_t bytes, void* handle) {
    const std::lock_guard lock(mutex_);
    if (file_ < 0) {
      file_ = memfd_create("stand-in", MFD_CLOEXEC);
      if (file_ < 0 || ftruncate(file_, std::int64_t{1} << 47) != 0) return 999;
    }
    for (std::uint64_t page = address / kPage; page <= (address + bytes - 1) / kPage; ++page) {
      if (!pages_.insert(page).second) continue;
      void* at = reinterpret_cast<void*>(page * kPage);
      const auto offset = static_cast<off_t>(page * kPage);
      if (pwrite(file_, at, kPage, offset) != static_cast<ssize_t>(kPage)) return 999;
      if (mmap(at, kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_, offset) == MAP_FAILED) return 999;
    }
    const Handle made{getpid(), file_, address, bytes};
    std::memset(handle, 0, 64);
    std::memcpy(handle, &made, sizeof made);
    return 0;
  }
  // As the driver: never in the process that made it.
  int open(const void* handle, std::uint64_t& address, std::uint64_t& bytes) {
    Handle theirs{};
    std::memcpy(&theirs, handle, sizeof theirs);
    if (theirs.pid == getpid()) return 201;
    const std::string path = "/proc/" + std::to_string(theirs.pid) + "/fd/" + std::to_string(theirs.file);
    const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) return 1;
    const std::uint64_t start = theirs.address / kPage * kPage, end = theirs.address + theirs.bytes;
    void* at = mmap(nullptr, end - start, PROT_READ | PROT_WRITE, MAP_SHARED, file, static_cast<off_t>(start));
    close(file);
    if (at == MAP_FAILED) return 999;
    address = reinterpret_cast<std::uint64_t>(at) + theirs.address - start;
    bytes = theirs.bytes;
    const std::lock_guard lock(mutex_);
    opened_[address] = {at, end - start};
    return 0;
  }
  int unmap(std::uint64_t address) {
    const std::lock_guard lock(mutex_);
    const auto it = opened_.find(address);
    if (it == opened_.end()) return 1;
    munmap(it->second.first, it->second.second);
    opened_.erase(it);
    return 0;
  }

 private:
  std::mutex mutex_;
  std::set<std::uint64_t> pages_;
  std::map<std::uint64_t, std::pair<void*, std::size_t>> opened_;
  int file_ = -1;
};

}  // namespace stand_in

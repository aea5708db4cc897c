// The disk cache of compiled kernels: what it holds, how large it may become, and what it saved.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "warploom/export.hpp"

namespace warploom::code_cache {

/// One file of the cache. A kernel has up to three versions of machine code, each a file of its own.
struct Entry {
  std::string kind;  ///< "kernels": machine code; "python": what Python functions were compiled to
  std::string name;  ///< of kernels: the kernel's name in PTX and which version; else empty
  std::string path;
  std::uint64_t bytes = 0;
  std::chrono::system_clock::time_point last_used;
};

/// What became of the versions of kernels that this process needed so far.
struct Statistics {
  std::uint64_t compiled = 0;  ///< by LLVM
  std::uint64_t loaded = 0;    ///< from the cache
};

/// The folder, from WARPLOOM_CACHE_DIR, else `warploom` in XDG_CACHE_HOME, else ~/.cache/warploom; it need not exist.
/// Empty where none of these can be told.
[[nodiscard]] WARPLOOM_API std::string folder();

/// False with WARPLOOM_CACHE=0, and where there is no folder. Read anew by Device::open.
[[nodiscard]] WARPLOOM_API bool enabled();

/// All files, the longest unused first; empty when the folder cannot be read.
[[nodiscard]] WARPLOOM_API std::vector<Entry> entries();

/// Bytes that each kind may take: WARPLOOM_CACHE_MEGABYTES, else what set_limit() wrote, else 1 GiB. Beyond it the
/// files that were not used for longest go.
[[nodiscard]] WARPLOOM_API std::uint64_t limit();

/// Makes `megabytes` (of 2^20 bytes) the limit for all processes that use this folder, and removes what is beyond it:
/// bytes freed. Throws file_error when the folder cannot be written.
WARPLOOM_API std::uint64_t set_limit(std::uint64_t megabytes);

/// Removes all files: bytes freed. Programs that run keep the code they have loaded.
WARPLOOM_API std::uint64_t clear();

[[nodiscard]] WARPLOOM_API Statistics statistics();

}  // namespace warploom::code_cache

// Native functions that emitted code calls for rare operations. No LLVM here.
#pragma once

#include <span>

namespace warploom::codegen {

// Each is void(u64* d, const u64* a, const u64* b, const u64* c, u64 n) over n lanes; whoever links the code defines
// these symbols.
struct HostFn {
  const char* name;
  void* address;
};
std::span<const HostFn> host_functions();

}  // namespace warploom::codegen

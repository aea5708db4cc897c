// Compiled versions in the disk cache.
#pragma once

#include <optional>
#include <string>

#include "codegen/compile.hpp"

namespace warploom::codegen {

// Digest of all that decides what compile() makes: the kernel's IR, the plan's inputs, the version, the host's
// processor, the code generator and LLVM. Takes no LLVM work.
// What a plan has beyond what follows from the function must be part of it.
std::string cache_key(const KernelPlan& plan, Mode mode);
// The same for code that is made for the processor that `target` describes. For tests.
std::string cache_key(const KernelPlan& plan, Mode mode, const std::string& target);

std::optional<CompiledVersion> load_cached(const std::string& key, const KernelPlan& plan);
void save_cached(const std::string& key, const KernelPlan& plan, Mode mode, const CompiledVersion& version);

}  // namespace warploom::codegen

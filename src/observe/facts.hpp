// What a device tells observers: sites, launches and counts. No LLVM, no instruction names to switch on.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/diag.hpp"
#include "isa/types.hpp"

namespace warploom::observe {

// An atomic's value is read, a reduction's is not; an increment is a 32-bit integer reduction that adds the constant 1,
// which hardware does at once for all lanes that meet on a word of shared memory.
enum class AccessKind : std::uint8_t { load, store, atomic, reduction, increment };
[[nodiscard]] constexpr bool is_atomic(AccessKind kind) { return kind >= AccessKind::atomic; }

// A place in a kernel that is probed. Ids count from 0 within one compiled kernel.
struct Site {
  enum class Kind : std::uint8_t { access, branch, barrier };
  Kind kind{};
  std::uint32_t id = 0;
  SourceLoc source;                   // from .loc; unknown without -lineinfo
  std::vector<SourceLoc> inlined_at;  // innermost first
  std::uint32_t ptx_line = 0;
  std::string text;  // the PTX instruction as printed
  // Of an access. A generic one has a site for global memory and two alternatives after it, for shared and for local
  // memory: it is counted in the space of its address.
  isa::Space space{};
  bool alternative = false;
  AccessKind access{};
  std::uint32_t bytes = 0;  // one thread's access, vectors included; of a bulk copy its smallest piece
  bool async = false;       // done by the time that a wait for it has ended, not before
  bool texture = false;     // through a texture or surface
};

// Counts of one site over one launch, all blocks together.
struct AccessCounts {
  std::uint64_t requests = 0;  // warp-level instructions executed with at least one active lane
  std::uint64_t sectors = 0;   // global, local: 32-byte sectors touched, summed over requests
  std::uint64_t ideal_sectors =
      0;                         // sectors if the active lanes' bytes were packed, or of one lane if all touch the same
  std::uint64_t wavefronts = 0;  // shared: passes over the banks
  std::uint64_t ideal_wavefronts = 0;
  std::uint64_t active_lanes = 0;  // summed over requests
  AccessCounts& operator+=(const AccessCounts& o) {
    requests += o.requests;
    sectors += o.sectors;
    ideal_sectors += o.ideal_sectors;
    wavefronts += o.wavefronts;
    ideal_wavefronts += o.ideal_wavefronts;
    active_lanes += o.active_lanes;
    return *this;
  }
};

struct BranchCounts {
  std::uint64_t executed = 0;      // by warps
  std::uint64_t divergent = 0;     // executions where active lanes went both ways
  std::uint64_t active_lanes = 0;  // summed over executions
  BranchCounts& operator+=(const BranchCounts& o) {
    executed += o.executed;
    divergent += o.divergent;
    active_lanes += o.active_lanes;
    return *this;
  }
};

// Arithmetic in double precision at one place of a kernel.
struct DoubleArithmetic {
  SourceLoc source;                 // the PTX line when the kernel has no line information
  std::uint32_t instructions = 0;   // in the PTX
  std::optional<double> literal{};  // a constant operand of one of them
};

// Static facts of a compiled kernel.
struct KernelFacts {
  std::string name;  // mangled
  std::string demangled;
  std::uint32_t static_shared_bytes = 0;
  std::uint32_t local_bytes = 0;         // per thread
  std::uint32_t registers_estimate = 0;  // 32-bit registers a thread needs, from liveness
  std::uint32_t barriers = 0;
  std::uint32_t constant_bytes = 0;  // .const variables of the module
  std::uint32_t instructions = 0;    // in the PTX, calls inlined
  // Values of float32 are widened to float64 somewhere.
  bool widens_floats = false;
  std::vector<DoubleArithmetic> double_arithmetic{};  // by place
  std::vector<Site> sites;
};

struct LaunchFacts {
  std::array<std::uint32_t, 3> grid{}, block{};
  std::uint32_t dynamic_shared_bytes = 0;
  double seconds = 0;  // wall time of the launch on this device
};

// Counts of one launch, indexed by site id (a site that is no access has zero AccessCounts, and so on).
struct LaunchCounts {
  std::vector<AccessCounts> access;
  std::vector<BranchCounts> branch;
  std::uint64_t warp_instructions = 0;    // PTX instructions issued by warps
  std::uint64_t thread_instructions = 0;  // the same, times active lanes
};

// One consumer of facts; one file per rule or report builds on this. Called from one thread at a time, after a launch
// ended.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void launch_done(const KernelFacts& kernel, const LaunchFacts& launch, const LaunchCounts& counts) = 0;
  virtual void launch_failed(const KernelFacts&, const LaunchFacts&, const Diag&) {}
};

// The counting rules, used by the JIT for whatever it cannot count in closed form (design section 7).
// addresses[i] is meaningful where bit i of mask is set; bytes is one lane's access. An empty mask counts as nothing.

// Global loads and stores: distinct 32-byte sectors that the active lanes touch.
std::uint32_t count_sectors(const std::uint64_t addresses[32], std::uint32_t mask, std::uint32_t bytes);
// Global atomics: lanes that hit the same word need a sector access each.
std::uint32_t count_atomic_sectors(const std::uint64_t addresses[32], std::uint32_t mask, std::uint32_t bytes);
// Local memory is interleaved word by word over the lanes of a warp; addresses count from each lane's own base.
std::uint32_t count_local_sectors(const std::uint64_t offsets[32], std::uint32_t mask, std::uint32_t bytes);

struct Wavefronts {
  std::uint32_t count = 0;
  std::uint32_t ideal = 0;  // without bank conflicts
};
Wavefronts count_shared(const std::uint64_t addresses[32], std::uint32_t mask, std::uint32_t bytes, AccessKind kind);
// The count of a shared load.
std::uint32_t count_wavefronts(const std::uint64_t addresses[32], std::uint32_t mask, std::uint32_t bytes);

// Adds one warp's access to the counts of its site; `space` is global, shared or local.
void count_access(isa::Space space, AccessKind kind, const std::uint64_t addresses[32], std::uint32_t mask,
                  std::uint32_t bytes, AccessCounts& counts);

}  // namespace warploom::observe

// What a program, library, fatbin or PTX file holds for the device, and whether it will run, without running it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "warploom/export.hpp"

namespace warploom {

/// One entry of a fatbin, a cubin file or a PTX file.
struct ScanCode {
  std::string kind;         ///< "PTX", "machine code", "LTO-IR" or "unknown"
  std::string target;       ///< "sm_90", "sm_90a", ...; empty when a PTX file does not say
  std::string version;      ///< of PTX, for instance "9.0"; empty for other kinds
  std::string compression;  ///< "none", "LZ4" or "zstd"
  std::uint64_t bytes = 0;  ///< uncompressed
  bool chosen = false;      ///< the PTX that the device takes
};

/// What one source file gave: a fatbin, or the file itself when it is PTX or a cubin.
struct ScanUnit {
  std::string name;          ///< of the file, with the place of a fatbin in it
  bool relocatable = false;  ///< compiled with -rdc=true: linked with the other such units before it is loaded
  std::vector<ScanCode> codes;
  std::string error;  ///< why its PTX cannot be loaded; empty when it can
  std::string note;   ///< of PTX of a later version than those known: what of it works; empty for others
};

/// Instructions, or other constructs, of a kernel and the functions that it calls which the device refuses.
struct ScanRefusal {
  std::string instruction;   ///< with its modifiers; empty when the reason says it all
  std::string reason;        ///< why it is refused
  std::string remedy;        ///< what to do, or the nearest valid form; may be empty
  std::uint64_t count = 0;   ///< places in the text
  std::uint32_t line = 0;    ///< of the first, in the PTX text; 0 when there is none
  std::uint32_t column = 0;  ///< the same; 0 when it is unknown
  std::string source;        ///< "kernels.cu:12" where the PTX has line information; may be empty
};

struct ScanKernel {
  std::string name;                ///< in PTX
  std::string demangled;           ///< the C++ name with its parameter types
  std::size_t unit = 0;            ///< index into ScanReport::units
  bool has_ptx = true;             ///< false: there is machine code only
  bool runs = false;               ///< the device will run it
  std::uint64_t instructions = 0;  ///< in the PTX text, with those of the functions that it calls
  std::vector<ScanRefusal> refusals;
};

struct ScanReport {
  std::string file;
  std::string format;  ///< "program", "shared library", "object file", "archive", "fatbin", "cubin", "PTX text"
  std::string device;  ///< profile that PTX was chosen for
  bool static_runtime = false;  ///< NVIDIA's static runtime is linked in: rebuild with -cudart shared
  std::vector<ScanUnit> units;
  std::vector<ScanKernel> kernels;

  /// Is there a kernel, and does each run?
  [[nodiscard]] WARPLOOM_API bool runs() const;
};

/// Reads a file and parses all its kernels; nothing is executed. `profile` is the modelled GPU, which decides what PTX
/// is taken (CUDA C++ Programming Guide, "PTX compatibility"). Throws file_error, invalid_image for a file that is cut
/// short, damaged or of another kind, and invalid_value for an unknown profile. PTX that does not parse is no error
/// here: the report says what is wrong with it.
[[nodiscard]] WARPLOOM_API ScanReport scan(const std::string& path, const std::string& profile = "h200");

}  // namespace warploom

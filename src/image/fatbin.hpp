// Fatbins: what compilers put into a program for the driver, machine code and PTX for several GPUs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "image/bytes.hpp"

namespace warploom::image {

enum class Kind : std::uint8_t { ptx, cubin, lto_ir, other };
enum class Compression : std::uint8_t { none, lz4, zstd };

// One entry of a fatbin. `payload` and the like are parts of the file, which must outlive them.
struct Code {
  Kind kind = Kind::other;
  Compression compression = Compression::none;
  std::uint32_t arch = 0;              // 90 for sm_90 and compute_90
  char variant = 0;                    // 'a' or 'f': runs on this GPU, or its family, only
  std::uint16_t kind_number = 0;       // as in the file
  std::uint16_t major = 0, minor = 0;  // of PTX, or of the ELF form
  bool debug = false;
  std::string_view source;   // file name, often empty
  std::string_view options;  // of ptxas, often empty
  std::uint64_t bytes = 0;   // uncompressed
  Bytes payload;             // compressed as `compression` says

  [[nodiscard]] std::string target() const;  // "sm_90a"
};

struct Fatbin {
  std::uint64_t offset = 0;  // in the file
  std::uint64_t bytes = 0;   // header included
  std::vector<Code> codes;
};

[[nodiscard]] std::string_view name(Kind kind);
[[nodiscard]] std::string_view name(Compression compression);

// Does a fatbin begin here?
[[nodiscard]] bool is_fatbin(Bytes bytes);
// Bytes of the fatbin that begins here, header included, as it says itself; 0 when it says nothing sensible.
[[nodiscard]] std::uint64_t fatbin_length(Bytes bytes);
// All fatbins of a range, one behind the other; `offset` is the range's place in the file, for messages.
Result<std::vector<Fatbin>> read_fatbins(Bytes bytes, std::uint64_t offset, const std::string& file);

// The uncompressed contents. PTX loses the zero bytes that it is padded with.
Result<std::string> contents(const Code& code, const std::string& file);

// Does a GPU of compute capability `sm` (90 for 9.0) run PTX of this architecture?
[[nodiscard]] bool runs_on(const Code& ptx, std::uint32_t sm);
// The PTX that the driver would take: of the highest architecture that the GPU runs; nullptr when there is none.
[[nodiscard]] const Code* choose_ptx(const Fatbin& fatbin, std::uint32_t sm);

}  // namespace warploom::image

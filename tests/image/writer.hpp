// Writes fatbins, ELF files and archives for tests, in the layouts that compilers give them, or wrong on purpose.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace warploom::test {

enum class Packing { raw, lz4, zstd };

struct FatbinEntry {
  std::uint16_t kind = 1;  // 1 PTX, 2 machine code, 8 LTO-IR
  std::uint32_t arch = 80;
  std::string contents;
  Packing packing = Packing::raw;
  std::uint64_t flags = 0x11;  // 64-bit, Linux; packing adds its own
  std::string source, options;
  std::uint16_t major = 8, minor = 0;
};

// A PTX text with one kernel that stores `value`.
std::string small_ptx(std::string_view kernel, std::string_view target = "sm_80", int value = 1);

std::string fatbin(const std::vector<FatbinEntry>& entries);

struct ElfSection {
  std::string name, bytes;
  std::uint32_t type = 1;  // SHT_PROGBITS
  std::uint32_t link = 0;  // index of a section, where 0 is the empty one
};
struct ElfOptions {
  std::uint16_t type = 2;      // ET_EXEC
  std::uint16_t machine = 62;  // EM_X86_64; 190 for cubins
  std::uint32_t flags = 0;
  std::uint8_t abi_version = 0;
};
std::string elf(const std::vector<ElfSection>& sections, const ElfOptions& options = {});
// A cubin for sm_`arch` with symbols of these kernels.
std::string cubin(const std::vector<std::string>& kernels, std::uint32_t arch);

struct Member {
  std::string name, bytes;
};
std::string archive(const std::vector<Member>& members);

}  // namespace warploom::test

// Finds device code in ELF files: executables, shared libraries, objects, and cubins.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "image/bytes.hpp"

namespace warploom::image {

struct Section {
  std::string_view name;
  std::uint32_t type = 0;
  std::uint64_t flags = 0;
  std::uint64_t offset = 0;
  std::uint32_t link = 0;
  Bytes bytes;  // empty for one that takes no room in the file
};

struct Elf {
  enum class Type : std::uint8_t { object, executable, shared, other };
  Type type = Type::other;
  std::uint16_t machine = 0;
  std::uint32_t flags = 0;
  std::uint8_t abi_version = 0;
  std::vector<Section> sections;

  [[nodiscard]] bool is_cubin() const { return machine == 190; }
  [[nodiscard]] const Section* find(std::string_view name) const;
  // Compute capability of a cubin, 90 for sm_90; 0 when it is unknown.
  [[nodiscard]] std::uint32_t cubin_arch() const;
};

[[nodiscard]] bool is_elf(Bytes bytes);
// Reads the section table of a 64-bit little-endian file.
Result<Elf> read_elf(Bytes bytes, const std::string& file);
// Is there a symbol of this name that a shared library has to provide?
[[nodiscard]] bool imports(const Elf& elf, std::string_view symbol);
// Names of the kernels that a cubin holds.
std::vector<std::string> cubin_kernels(const Elf& elf);

}  // namespace warploom::image

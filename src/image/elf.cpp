// Reads section tables and symbols of ELF files (System V gABI, chapters 4 and 5) with every offset checked.
#include "image/elf.hpp"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>

#include "image/errors.hpp"

namespace warploom::image {

const Section* Elf::find(std::string_view wanted) const {
  const auto it = std::find_if(sections.begin(), sections.end(), [&](const Section& s) { return s.name == wanted; });
  return it == sections.end() ? nullptr : &*it;
}

std::uint32_t Elf::cubin_arch() const {
  // Up to ABI version 7 the low byte holds it, later the second byte.
  const std::uint32_t low = flags & 0xff, high = (flags >> 8) & 0xff;
  return abi_version >= 8 ? high : low;
}

bool is_elf(Bytes bytes) { return bytes.size() >= SELFMAG && std::memcmp(bytes.data(), ELFMAG, SELFMAG) == 0; }

Result<Elf> read_elf(Bytes bytes, const std::string& file) {
  const Reader reader(bytes);
  if (!is_elf(bytes) || !reader.holds(0, sizeof(Elf64_Ehdr)))
    return invalid_image(file, "the ELF header is cut short", kDamaged);
  if (reader.get<std::uint8_t>(EI_CLASS) != ELFCLASS64 || reader.get<std::uint8_t>(EI_DATA) != ELFDATA2LSB)
    return invalid_image(file, "the file is no 64-bit little-endian ELF", "CUDA programs are 64-bit: build it so");
  Elf out;
  switch (reader.get<std::uint16_t>(offsetof(Elf64_Ehdr, e_type))) {
    case ET_REL: out.type = Elf::Type::object; break;
    case ET_EXEC: out.type = Elf::Type::executable; break;
    case ET_DYN: out.type = Elf::Type::shared; break;
    default: out.type = Elf::Type::other; break;
  }
  out.machine = reader.get<std::uint16_t>(offsetof(Elf64_Ehdr, e_machine));
  out.flags = reader.get<std::uint32_t>(offsetof(Elf64_Ehdr, e_flags));
  out.abi_version = reader.get<std::uint8_t>(EI_ABIVERSION);
  const auto table = reader.get<std::uint64_t>(offsetof(Elf64_Ehdr, e_shoff));
  const auto entry = std::uint64_t{reader.get<std::uint16_t>(offsetof(Elf64_Ehdr, e_shentsize))};
  auto count = std::uint64_t{reader.get<std::uint16_t>(offsetof(Elf64_Ehdr, e_shnum))};
  auto names = std::uint64_t{reader.get<std::uint16_t>(offsetof(Elf64_Ehdr, e_shstrndx))};
  if (table == 0) return out;
  if (entry < sizeof(Elf64_Shdr) || !reader.holds(table, entry))
    return invalid_image(file, "the section table lies outside the file", kDamaged);
  // Files with very many sections keep both numbers in the first section.
  if (count == 0) count = reader.get<std::uint64_t>(table + offsetof(Elf64_Shdr, sh_size));
  if (names == SHN_XINDEX) names = reader.get<std::uint32_t>(table + offsetof(Elf64_Shdr, sh_link));
  if (count > reader.size() / entry || !reader.holds(table, count * entry))
    return invalid_image(file, fmt::format("the section table of {} entries does not fit into the file", count),
                         kDamaged);

  std::vector<std::uint32_t> name_offsets;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t at = table + i * entry;
    Section s;
    s.type = reader.get<std::uint32_t>(at + offsetof(Elf64_Shdr, sh_type));
    s.flags = reader.get<std::uint64_t>(at + offsetof(Elf64_Shdr, sh_flags));
    s.offset = reader.get<std::uint64_t>(at + offsetof(Elf64_Shdr, sh_offset));
    s.link = reader.get<std::uint32_t>(at + offsetof(Elf64_Shdr, sh_link));
    const auto size = reader.get<std::uint64_t>(at + offsetof(Elf64_Shdr, sh_size));
    if (s.type != SHT_NULL && s.type != SHT_NOBITS && !reader.range(s.offset, size, s.bytes))
      return invalid_image(file, fmt::format("section {} lies outside the file", i), kDamaged);
    name_offsets.push_back(reader.get<std::uint32_t>(at + offsetof(Elf64_Shdr, sh_name)));
    out.sections.push_back(s);
  }
  if (names < out.sections.size()) {
    const Reader strings(out.sections[names].bytes);
    for (std::size_t i = 0; i < out.sections.size(); ++i) out.sections[i].name = strings.text(name_offsets[i]);
  }
  return out;
}

bool imports(const Elf& elf, std::string_view symbol) {
  for (const Section& s : elf.sections) {
    if (s.type != SHT_DYNSYM || s.link >= elf.sections.size()) continue;
    const Reader symbols(s.bytes), strings(elf.sections[s.link].bytes);
    for (std::uint64_t at = 0; symbols.holds(at, sizeof(Elf64_Sym)); at += sizeof(Elf64_Sym))
      if (symbols.get<std::uint16_t>(at + offsetof(Elf64_Sym, st_shndx)) == SHN_UNDEF &&
          strings.text(symbols.get<std::uint32_t>(at + offsetof(Elf64_Sym, st_name))) == symbol)
        return true;
  }
  return false;
}

std::vector<std::string> cubin_kernels(const Elf& elf) {
  constexpr std::uint8_t kEntry = 0x10;  // in st_other: a kernel
  std::vector<std::string> out;
  for (const Section& s : elf.sections) {
    if (s.type != SHT_SYMTAB || s.link >= elf.sections.size()) continue;
    const Reader symbols(s.bytes), strings(elf.sections[s.link].bytes);
    for (std::uint64_t at = 0; symbols.holds(at, sizeof(Elf64_Sym)); at += sizeof(Elf64_Sym)) {
      const auto info = symbols.get<std::uint8_t>(at + offsetof(Elf64_Sym, st_info));
      const auto other = symbols.get<std::uint8_t>(at + offsetof(Elf64_Sym, st_other));
      if (ELF64_ST_TYPE(info) != STT_FUNC || (other & kEntry) == 0) continue;
      out.emplace_back(strings.text(symbols.get<std::uint32_t>(at + offsetof(Elf64_Sym, st_name))));
    }
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace warploom::image

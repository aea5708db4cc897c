// Writes fatbins, ELF files and archives for tests.
#include "writer.hpp"

#include <elf.h>
#include <fmt/format.h>
#include <lz4.h>
#include <zstd.h>

#include <cstdlib>
#include <cstring>

namespace warploom::test {
namespace {

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void align(std::string& out, std::size_t to) {
  while (out.size() % to != 0) out += '\0';
}

std::string packed(const FatbinEntry& entry) {
  std::string out;
  if (entry.packing == Packing::lz4) {
    out.resize(static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(entry.contents.size()))));
    const int n = LZ4_compress_default(entry.contents.data(), out.data(), static_cast<int>(entry.contents.size()),
                                       static_cast<int>(out.size()));
    out.resize(static_cast<std::size_t>(n));
  } else if (entry.packing == Packing::zstd) {
    out.resize(ZSTD_compressBound(entry.contents.size()));
    out.resize(ZSTD_compress(out.data(), out.size(), entry.contents.data(), entry.contents.size(), 3));
  } else {
    out = entry.contents;
  }
  return out;
}

}  // namespace

std::string small_ptx(std::string_view kernel, std::string_view target, int value) {
  return fmt::format(
      ".version 8.0\n.target {}\n.address_size 64\n.visible .entry {}(.param .u64 out)\n{{\n\t.reg .b64 %rd<2>;\n"
      "\tld.param.u64 %rd1, [out];\n\tst.global.u32 [%rd1], {};\n\tret;\n}}\n",
      target, kernel, value);
}

std::string fatbin(const std::vector<FatbinEntry>& entries) {
  std::string body;
  for (const FatbinEntry& entry : entries) {
    std::string payload = packed(entry);
    const std::size_t stored = payload.size();
    align(payload, 8);
    std::string extra = entry.source;
    align(extra, 8);
    const std::uint32_t source_at = 64;
    const auto options_at = static_cast<std::uint32_t>(64 + extra.size());
    if (!entry.options.empty()) {
      put<std::uint32_t>(extra, options_at + 8);
      put<std::uint32_t>(extra, static_cast<std::uint32_t>(entry.options.size()));
      extra += entry.options;
      align(extra, 8);
    }
    const bool raw = entry.packing == Packing::raw;
    put<std::uint16_t>(body, entry.kind);
    put<std::uint16_t>(body, 0x0101);
    put<std::uint32_t>(body, static_cast<std::uint32_t>(64 + extra.size()));
    put<std::uint64_t>(body, payload.size());
    put<std::uint32_t>(body, raw ? 0 : static_cast<std::uint32_t>(stored));
    put<std::uint32_t>(body, entry.options.empty() ? 0 : options_at);
    put<std::uint16_t>(body, entry.minor);
    put<std::uint16_t>(body, entry.major);
    put<std::uint32_t>(body, entry.arch);
    put<std::uint32_t>(body, entry.source.empty() ? 0 : source_at);
    put<std::uint32_t>(body, static_cast<std::uint32_t>(entry.source.size()));
    put<std::uint64_t>(body, entry.flags | (entry.packing == Packing::lz4    ? 0x2000u
                                            : entry.packing == Packing::zstd ? 0x8000u
                                                                             : 0u));
    put<std::uint64_t>(body, 0);
    put<std::uint64_t>(body, raw ? 0 : entry.contents.size());
    body += extra + payload;
  }
  std::string out;
  put<std::uint32_t>(out, 0xBA55ED50);
  put<std::uint16_t>(out, 1);
  put<std::uint16_t>(out, 16);
  put<std::uint64_t>(out, body.size());
  return out + body;
}

std::string elf(const std::vector<ElfSection>& sections, const ElfOptions& options) {
  std::string names(1, '\0');
  std::vector<Elf64_Shdr> table(1);
  std::string out(sizeof(Elf64_Ehdr), '\0');
  std::vector<ElfSection> all = sections;
  all.push_back({".shstrtab", "", SHT_STRTAB});
  for (const ElfSection& s : all) {
    Elf64_Shdr h{};
    h.sh_name = static_cast<Elf64_Word>(names.size());
    names += s.name + '\0';
    h.sh_type = s.type;
    h.sh_link = s.link;
    table.push_back(h);
  }
  all.back().bytes = names;
  for (std::size_t i = 0; i < all.size(); ++i) {
    align(out, 16);
    table[i + 1].sh_offset = out.size();
    table[i + 1].sh_size = all[i].bytes.size();
    out += all[i].bytes;
  }
  align(out, 8);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_ident[EI_ABIVERSION] = options.abi_version;
  header.e_type = options.type;
  header.e_machine = options.machine;
  header.e_flags = options.flags;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_shoff = out.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<Elf64_Half>(table.size());
  header.e_shstrndx = static_cast<Elf64_Half>(table.size() - 1);
  std::memcpy(out.data(), &header, sizeof(header));
  for (const Elf64_Shdr& h : table) out.append(reinterpret_cast<const char*>(&h), sizeof(h));
  return out;
}

std::string cubin(const std::vector<std::string>& kernels, std::uint32_t arch) {
  std::string strings(1, '\0'), symbols(sizeof(Elf64_Sym), '\0');
  for (const std::string& name : kernels) {
    Elf64_Sym s{};
    s.st_name = static_cast<Elf64_Word>(strings.size());
    s.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    s.st_other = 0x10;
    s.st_shndx = 1;
    strings += name + '\0';
    symbols.append(reinterpret_cast<const char*>(&s), sizeof(s));
  }
  return elf({{".text", "code", SHT_PROGBITS}, {".strtab", strings, SHT_STRTAB}, {".symtab", symbols, SHT_SYMTAB, 2}},
             {ET_EXEC, 190, 0x6000004 | arch << 8, 8});
}

std::string archive(const std::vector<Member>& members) {
  std::string long_names, out = "!<arch>\n";
  std::vector<std::string> names;
  for (const Member& m : members) {
    if (m.name.size() < 16) {
      names.push_back(m.name + "/");
    } else {
      names.push_back("/" + std::to_string(long_names.size()));
      long_names += m.name + "/\n";
    }
  }
  const auto add = [&](const std::string& name, const std::string& bytes) {
    out += fmt::format("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", name, 0, 0, 0, 644, bytes.size()) + bytes;
    if (bytes.size() % 2 != 0) out += '\n';
  };
  if (!long_names.empty()) add("//", long_names);
  for (std::size_t i = 0; i < members.size(); ++i) add(names[i], members[i].bytes);
  return out;
}

}  // namespace warploom::test

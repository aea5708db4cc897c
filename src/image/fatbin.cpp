// Reads fatbins and uncompresses their entries; sizes in a file are claims, each is checked before use.
#include "image/fatbin.hpp"

#include <fmt/format.h>
#include <lz4.h>
#include <zstd.h>

#include <algorithm>
#include <limits>

#include "image/errors.hpp"

namespace warploom::image {
namespace {

constexpr std::uint32_t kMagic = 0xBA55ED50;
constexpr std::uint64_t kHeader = 16, kEntryHeader = 64;
constexpr std::uint64_t kFlagDebug = 0x2, kFlagLz4 = 0x2000, kFlagZstd = 0x8000, kFlagA = 0x100000, kFlagF = 0x200000;
// Larger than any program's code for one GPU; a file may not ask for more memory by a lie of a few bytes.
constexpr std::uint64_t kLargestContents = std::uint64_t{1} << 30;

Diag bad(const std::string& file, std::uint64_t offset, std::string what) {
  return invalid_image(fmt::format("{}, byte {}", file, offset), std::move(what));
}

Result<Code> read_entry(const Reader& reader, std::uint64_t at, std::uint64_t end, std::uint64_t base,
                        const std::string& file, std::uint64_t& next) {
  if (end - at < kEntryHeader) return bad(file, base + at, "the header of a fatbin entry is cut short");
  const auto header = std::uint64_t{reader.get<std::uint32_t>(at + 4)};
  const auto padded = reader.get<std::uint64_t>(at + 8);
  if (header < kEntryHeader || header > end - at)
    return bad(file, base + at, fmt::format("a fatbin entry says that its header has {} bytes", header));
  if (padded > end - at - header)
    return bad(file, base + at,
               fmt::format("a fatbin entry says that it holds {} bytes, and {} are there", padded, end - at - header));
  next = at + header + padded;

  Code code;
  code.kind_number = reader.get<std::uint16_t>(at);
  switch (code.kind_number) {
    case 1: code.kind = Kind::ptx; break;
    case 2: code.kind = Kind::cubin; break;
    case 8: code.kind = Kind::lto_ir; break;
    default: code.kind = Kind::other; break;
  }
  code.minor = reader.get<std::uint16_t>(at + 24);
  code.major = reader.get<std::uint16_t>(at + 26);
  code.arch = reader.get<std::uint32_t>(at + 28);
  const auto flags = reader.get<std::uint64_t>(at + 40);
  code.debug = (flags & kFlagDebug) != 0;
  if ((flags & kFlagA) != 0) code.variant = 'a';
  if ((flags & kFlagF) != 0) code.variant = 'f';

  const auto compressed = std::uint64_t{reader.get<std::uint32_t>(at + 16)};
  const auto full = reader.get<std::uint64_t>(at + 56);
  std::uint64_t stored = padded;
  if ((flags & (kFlagLz4 | kFlagZstd)) != 0 && compressed != 0) {
    code.compression = (flags & kFlagZstd) != 0 ? Compression::zstd : Compression::lz4;
    if (compressed > padded)
      return bad(file, base + at,
                 fmt::format("a fatbin entry says that {} of its {} bytes are compressed data", compressed, padded));
    if (full > kLargestContents)
      return bad(file, base + at, fmt::format("a fatbin entry says that it becomes {} bytes", full));
    stored = compressed;
    code.bytes = full;
  } else {
    code.bytes = padded;
  }
  (void)reader.range(at + header, stored, code.payload);

  // Names stand in the header behind its fixed part; one that does not is left out.
  Bytes head;
  (void)reader.range(at, header, head);
  const auto text_at = [&](std::uint64_t offset, std::uint64_t length) -> std::string_view {
    Bytes text;
    if (offset < kEntryHeader || !Reader(head).range(offset, length, text)) return {};
    std::string_view out(reinterpret_cast<const char*>(text.data()), text.size());
    return out.substr(0, out.find('\0'));
  };
  code.source = text_at(reader.get<std::uint32_t>(at + 32), reader.get<std::uint32_t>(at + 36));
  if (const std::uint64_t options = reader.get<std::uint32_t>(at + 20); options >= kEntryHeader && options < header) {
    const Reader in_head(head);
    code.options = text_at(in_head.get<std::uint32_t>(options), in_head.get<std::uint32_t>(options + 4));
  }
  return code;
}

}  // namespace

std::string_view name(Kind kind) {
  switch (kind) {
    case Kind::ptx: return "PTX";
    case Kind::cubin: return "machine code";
    case Kind::lto_ir: return "LTO-IR";
    case Kind::other: break;
  }
  return "unknown";
}

std::string_view name(Compression compression) {
  switch (compression) {
    case Compression::none: return "none";
    case Compression::lz4: return "LZ4";
    case Compression::zstd: return "zstd";
  }
  return "none";
}

std::string Code::target() const {
  std::string out = "sm_" + std::to_string(arch);
  if (variant != 0) out += variant;
  return out;
}

bool is_fatbin(Bytes bytes) {
  std::uint32_t magic = 0;
  return Reader(bytes).read(0, magic) && magic == kMagic;
}

std::uint64_t fatbin_length(Bytes bytes) {
  const Reader reader(bytes);
  const auto header = std::uint64_t{reader.get<std::uint16_t>(6)};
  const auto entries = reader.get<std::uint64_t>(8);
  return header < kHeader || entries > bytes.size() ? 0 : header + entries;
}

Result<std::vector<Fatbin>> read_fatbins(Bytes bytes, std::uint64_t offset, const std::string& file) {
  const Reader reader(bytes);
  std::vector<Fatbin> out;
  std::uint64_t at = 0;
  while (at < reader.size()) {
    // Fatbins are aligned to eight bytes, and zeros fill what lies between.
    if (reader.get<std::uint8_t>(at) == 0) {
      ++at;
      continue;
    }
    std::uint32_t magic = 0;
    if (!reader.read(at, magic) || magic != kMagic)
      return bad(file, offset + at, "a fatbin is due, and other bytes stand here");
    if (!reader.holds(at, kHeader)) return bad(file, offset + at, "the header of a fatbin is cut short");
    const auto header = std::uint64_t{reader.get<std::uint16_t>(at + 6)};
    const auto entries = reader.get<std::uint64_t>(at + 8);
    if (header < kHeader || !reader.holds(at, header))
      return bad(file, offset + at, fmt::format("a fatbin says that its header has {} bytes", header));
    if (!reader.holds(at + header, entries))
      return bad(
          file, offset + at,
          fmt::format("a fatbin says that it holds {} bytes, and {} are there", entries, reader.size() - at - header));
    Fatbin fatbin;
    fatbin.offset = offset + at;
    fatbin.bytes = header + entries;
    const std::uint64_t end = at + header + entries;
    for (std::uint64_t entry = at + header; entry < end;) {
      std::uint64_t next = end;
      auto code = read_entry(reader, entry, end, offset, file, next);
      if (!code) return std::move(code.error());
      fatbin.codes.push_back(*code);
      entry = next;
    }
    out.push_back(std::move(fatbin));
    at = end;
  }
  return out;
}

Result<std::string> contents(const Code& code, const std::string& file) {
  const auto* from = reinterpret_cast<const char*>(code.payload.data());
  const auto broken = [&](std::string_view what) {
    Diag d = bad(file, 0, fmt::format("{} for {}: {}", name(code.kind), code.target(), what));
    d.where = file;
    return d;
  };
  std::string out;
  switch (code.compression) {
    case Compression::none: out.assign(from, code.payload.size()); break;
    case Compression::lz4: {
      if (code.bytes > std::numeric_limits<int>::max() || code.payload.size() > std::numeric_limits<int>::max())
        return broken("too large for LZ4");
      // LZ4 gives at most 255 bytes for one, so a false size cannot ask for much memory.
      if (code.bytes / 255 > code.payload.size()) return broken("its sizes cannot be true");
      out.resize(code.bytes);
      const int got =
          LZ4_decompress_safe(from, out.data(), static_cast<int>(code.payload.size()), static_cast<int>(code.bytes));
      if (got < 0 || static_cast<std::uint64_t>(got) != code.bytes) return broken("its LZ4 data is damaged");
      break;
    }
    case Compression::zstd: {
      // The frame knows its size too; memory grows with what really comes out where it does not.
      const unsigned long long size = ZSTD_getFrameContentSize(from, code.payload.size());
      if (size == ZSTD_CONTENTSIZE_ERROR) return broken("its zstd data is damaged");
      if (size != ZSTD_CONTENTSIZE_UNKNOWN && size != code.bytes) return broken("its sizes differ");
      // A byte of zstd can stand for a block of 128 KiB, and a file is rarely that empty.
      constexpr std::uint64_t kPerByte = std::uint64_t{1} << 15;
      if (code.bytes / kPerByte > code.payload.size()) return broken("its sizes cannot be true");
      out.resize(code.bytes);
      const std::size_t got = ZSTD_decompress(out.data(), out.size(), from, code.payload.size());
      if (ZSTD_isError(got) != 0 || got != code.bytes) return broken("its zstd data is damaged");
      break;
    }
  }
  if (code.kind == Kind::ptx)
    while (!out.empty() && out.back() == '\0') out.pop_back();
  return out;
}

bool runs_on(const Code& ptx, std::uint32_t sm) {
  if (ptx.variant == 'a') return ptx.arch == sm;
  if (ptx.variant == 'f') return ptx.arch / 10 == sm / 10 && ptx.arch <= sm;
  return ptx.arch <= sm;
}

const Code* choose_ptx(const Fatbin& fatbin, std::uint32_t sm) {
  const Code* best = nullptr;
  for (const Code& code : fatbin.codes) {
    if (code.kind != Kind::ptx || !runs_on(code, sm)) continue;
    // Of two for the same architecture, the one made for this GPU alone.
    if (best == nullptr || code.arch > best->arch || (code.arch == best->arch && code.variant > best->variant))
      best = &code;
  }
  return best;
}

}  // namespace warploom::image

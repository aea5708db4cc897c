// Tells the forms of files apart and collects their fatbins.
#include "image/image.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "image/elf.hpp"
#include "image/errors.hpp"

namespace warploom::image {
namespace {

constexpr std::string_view kArchive = "!<arch>\n";

std::string_view text_of(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

// PTX text starts with blanks, comments and ".version".
bool looks_like_ptx(Bytes bytes) {
  std::string_view text = text_of(bytes);
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  for (;;) {
    const std::size_t begin = text.find_first_not_of(" \t\r\n\v\f");
    if (begin == std::string_view::npos) return false;
    text.remove_prefix(begin);
    std::size_t end = 0;
    if (text.starts_with("//"))
      end = text.find('\n');
    else if (text.starts_with("/*"))
      end = text.find("*/");
    else
      return text.starts_with('.') || text.starts_with("@@");
    if (end == std::string_view::npos) return false;
    text.remove_prefix(end + 1 + (text[end] == '*'));
  }
}

Unit single(Kind kind, Bytes bytes, std::string name) {
  Unit unit;
  unit.name = std::move(name);
  Code code;
  code.kind = kind;
  code.kind_number = kind == Kind::ptx ? 1 : 2;
  code.bytes = bytes.size();
  code.payload = bytes;
  unit.fatbin.bytes = bytes.size();
  unit.fatbin.codes.push_back(code);
  return unit;
}

class Collector {
 public:
  explicit Collector(Image& image) : image_(image) {}

  Result<void> fatbins(Bytes bytes, std::uint64_t offset, bool relocatable, const std::string& file) {
    auto found = read_fatbins(bytes, offset, file);
    if (!found) return std::move(found.error());
    for (Fatbin& fatbin : *found) {
      if (fatbin.codes.empty()) continue;  // of a file without device code
      Unit unit;
      unit.name = fatbin.offset == 0 ? file : fmt::format("{}+{:#x}", file, fatbin.offset);
      unit.relocatable = relocatable;
      unit.fatbin = std::move(fatbin);
      image_.units.push_back(std::move(unit));
    }
    return {};
  }

  // Programs may be stripped of their section tables; fatbins stand at multiples of eight bytes.
  Result<void> search(Bytes bytes, const std::string& file) {
    for (std::size_t at = 0; at + 16 <= bytes.size(); at += 8) {
      if (!is_fatbin(bytes.subspan(at))) continue;
      const std::uint64_t length = fatbin_length(bytes.subspan(at));
      // Other bytes may look like the beginning of a fatbin.
      if (length == 0 || length > bytes.size() - at) continue;
      if (auto found = fatbins(bytes.subspan(at, length), at, false, file); !found) continue;
      at += (length + 7) / 8 * 8 - 8;
    }
    return {};
  }

  Result<void> elf(Bytes bytes, const std::string& file, Image::Format* format) {
    auto elf = read_elf(bytes, file);
    if (!elf) return std::move(elf.error());
    if (elf->is_cubin()) {
      Unit unit = single(Kind::cubin, bytes, file);
      unit.fatbin.codes.front().arch = elf->cubin_arch();
      image_.units.push_back(std::move(unit));
      if (format != nullptr) *format = Image::Format::cubin;
      return {};
    }
    if (format != nullptr)
      *format = elf->type == Elf::Type::object   ? Image::Format::object
                : elf->type == Elf::Type::shared ? Image::Format::shared
                                                 : Image::Format::executable;
    image_.is_program = true;
    for (const Section& s : elf->sections) {
      // A position-independent executable has the type of a shared library, and names its loader.
      if (s.name == ".interp" && format != nullptr) *format = Image::Format::executable;
      const bool relocatable = s.name == "__nv_relfatbin";
      if (relocatable || s.name == ".nv_fatbin") WL_TRY(fatbins(s.bytes, s.offset, relocatable, file));
    }
    if (elf->sections.empty()) WL_TRY(search(bytes, file));
    const bool linked = elf->type == Elf::Type::executable || elf->type == Elf::Type::shared;
    if (linked && elf->find(".nvFatBinSegment") != nullptr && !imports(*elf, "__cudaRegisterFatBinary"))
      image_.static_runtime = true;
    return {};
  }

  // One member of an archive, or the file itself.
  Result<void> member(Bytes bytes, const std::string& file, Image::Format* format) {
    if (is_elf(bytes)) return elf(bytes, file, format);
    if (is_fatbin(bytes)) {
      if (format != nullptr) *format = Image::Format::fatbin;
      return fatbins(bytes, 0, false, file);
    }
    if (looks_like_ptx(bytes)) {
      if (format != nullptr) *format = Image::Format::ptx;
      image_.units.push_back(single(Kind::ptx, bytes, file));
      return {};
    }
    if (format == nullptr) return {};  // archives hold all sorts of files
    return invalid_image(file, "this is no PTX text, fatbin, cubin, ELF file or archive",
                         "give a program, a library, an object file, a fatbin, a cubin or PTX text");
  }

  Result<void> archive(Bytes bytes, const std::string& file) {
    constexpr std::uint64_t kHeader = 60;
    const Reader reader(bytes);
    std::string_view long_names;
    for (std::uint64_t at = kArchive.size(); at < reader.size();) {
      Bytes header, body;
      if (!reader.range(at, kHeader, header))
        return invalid_image(file, fmt::format("the archive's member at byte {} is cut short", at),
                             "make the archive again");
      const std::string_view head = text_of(header);
      std::string_view size_text = head.substr(48, 10);
      size_text = size_text.substr(0, size_text.find(' '));
      std::uint64_t size = 0;
      const auto [end, error] = std::from_chars(size_text.data(), size_text.data() + size_text.size(), size);
      if (head.substr(58) != "`\n" || error != std::errc() || end != size_text.data() + size_text.size() ||
          !reader.range(at + kHeader, size, body))
        return invalid_image(file, fmt::format("the archive's member at byte {} is damaged or cut short", at),
                             "make the archive again");
      std::string_view name = head.substr(0, 16);
      if (name.starts_with("// ")) {
        long_names = text_of(body);
      } else if (!name.starts_with("/ ") && !name.starts_with("/SYM64/")) {
        if (name.starts_with('/')) {
          std::uint64_t place = 0;
          std::from_chars(name.data() + 1, name.data() + name.size(), place);
          name = place < long_names.size() ? long_names.substr(place) : std::string_view();
          name = name.substr(0, name.find('\n'));
        }
        name = name.substr(0, name.find('/'));
        WL_TRY(member(body, fmt::format("{}({})", file, name.substr(0, name.find_last_not_of(' ') + 1)), nullptr));
      }
      at += kHeader + size + (size & 1);
    }
    return {};
  }

 private:
  Image& image_;
};

}  // namespace

std::string_view name(Image::Format format) {
  switch (format) {
    case Image::Format::ptx: return "PTX text";
    case Image::Format::fatbin: return "fatbin";
    case Image::Format::cubin: return "cubin";
    case Image::Format::object: return "object file";
    case Image::Format::executable: return "program";
    case Image::Format::shared: return "shared library";
    case Image::Format::archive: return "archive";
  }
  return "";
}

Result<Image> read_image(Bytes bytes, const std::string& file) {
  Image image;
  if (bytes.empty()) return invalid_image(file, "the file is empty", "build it again");
  Collector collector(image);
  if (text_of(bytes).starts_with(kArchive)) {
    image.format = Image::Format::archive;
    image.is_program = true;
    WL_TRY(collector.archive(bytes, file));
  } else {
    WL_TRY(collector.member(bytes, file, &image.format));
  }
  return image;
}

Result<std::vector<std::string>> cubin_kernels(const Code& code, const std::string& file) {
  const auto bytes = contents(code, file);
  if (!bytes) return bytes.error();
  const auto elf = read_elf(std::as_bytes(std::span(*bytes)), file);
  if (!elf) return elf.error();
  return cubin_kernels(*elf);
}

}  // namespace warploom::image

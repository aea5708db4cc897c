// What the reader finds in each form of file, which PTX it takes, and that no damage makes it read out of bounds.
#include <gtest/gtest.h>

#include <memory>

#include "image/elf.hpp"
#include "image/image.hpp"
#include "writer.hpp"

namespace warploom::test {
namespace {

using image::Code;
using image::Compression;
using image::Image;
using image::Kind;

image::Bytes bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

// Reads a copy that ends where its allocation ends, so that sanitizers see one byte too many.
Result<Image> read_exact(const std::string& text, std::unique_ptr<char[]>& keep) {
  keep = std::make_unique<char[]>(text.size());
  std::copy(text.begin(), text.end(), keep.get());
  return image::read_image(std::as_bytes(std::span(keep.get(), text.size())), "test.bin");
}

// Reads everything that can be asked for; the number of entries.
std::size_t read_all(const std::string& text, std::string* error = nullptr) {
  std::unique_ptr<char[]> keep;
  auto image = read_exact(text, keep);
  if (!image) {
    EXPECT_EQ(image.error().id, ErrorId::invalid_image);
    EXPECT_FALSE(image.error().what.empty());
    if (error != nullptr) *error = image.error().what;
    return 0;
  }
  std::size_t count = 0;
  for (const image::Unit& unit : image->units)
    for (const Code& code : unit.fatbin.codes) {
      ++count;
      (void)code.target();
      auto contents = image::contents(code, unit.name);
      if (!contents) {
        if (error != nullptr) *error = contents.error().what;
        continue;
      }
      if (code.kind != Kind::cubin) continue;
      if (auto elf = image::read_elf(bytes_of(*contents), unit.name)) (void)image::cubin_kernels(*elf);
    }
  return count;
}

std::vector<FatbinEntry> usual_entries() {
  FatbinEntry machine;
  machine.kind = 2;
  machine.arch = 80;
  machine.contents = cubin({"first", "second"}, 80);
  FatbinEntry ptx;
  ptx.contents = small_ptx("first");
  ptx.packing = Packing::zstd;
  ptx.source = "kernels.cu";
  ptx.options = "-O1 -v ";
  return {machine, ptx};
}

TEST(Fatbin, EntriesAreFoundWithAllThatTheySay) {
  const std::string text = fatbin(usual_entries());
  std::unique_ptr<char[]> keep;
  auto image = read_exact(text, keep);
  ASSERT_TRUE(image) << image.error().to_string();
  EXPECT_EQ(image->format, Image::Format::fatbin);
  ASSERT_EQ(image->units.size(), 1u);
  const auto& codes = image->units[0].fatbin.codes;
  ASSERT_EQ(codes.size(), 2u);
  EXPECT_EQ(codes[0].kind, Kind::cubin);
  EXPECT_EQ(codes[0].compression, Compression::none);
  EXPECT_EQ(codes[1].kind, Kind::ptx);
  EXPECT_EQ(codes[1].compression, Compression::zstd);
  EXPECT_EQ(codes[1].target(), "sm_80");
  EXPECT_EQ(codes[1].major, 8);
  EXPECT_EQ(codes[1].source, "kernels.cu");
  EXPECT_EQ(codes[1].options, "-O1 -v ");
  auto elf = image::read_elf(codes[0].payload, "cubin");
  ASSERT_TRUE(elf);
  EXPECT_TRUE(elf->is_cubin());
  EXPECT_EQ(elf->cubin_arch(), 80u);
  EXPECT_EQ(image::cubin_kernels(*elf), (std::vector<std::string>{"first", "second"}));
}

TEST(Fatbin, EveryCompressionGivesTheSameText) {
  for (const Packing packing : {Packing::raw, Packing::lz4, Packing::zstd}) {
    FatbinEntry entry;
    entry.contents = small_ptx("kernel");
    entry.packing = packing;
    const std::string text = fatbin({entry});
    auto image = image::read_image(bytes_of(text), "f");
    ASSERT_TRUE(image);
    auto contents = image::contents(image->units.at(0).fatbin.codes.at(0), "f");
    ASSERT_TRUE(contents) << contents.error().to_string();
    EXPECT_EQ(*contents, entry.contents);  // padding of raw entries is gone
  }
}

FatbinEntry ptx_for(std::uint32_t arch, std::uint64_t variant = 0) {
  FatbinEntry entry;
  entry.arch = arch;
  entry.flags |= variant;
  entry.contents = small_ptx("k");
  return entry;
}

std::string chosen(const std::vector<FatbinEntry>& entries, std::uint32_t sm) {
  const std::string text = fatbin(entries);
  auto image = image::read_image(bytes_of(text), "f");
  if (!image) return image.error().what;
  const Code* code = image::choose_ptx(image->units.at(0).fatbin, sm);
  return code == nullptr ? "none" : code->target();
}

TEST(Fatbin, ThePtxForTheHighestArchitectureThatTheGpuRunsIsTaken) {
  constexpr std::uint64_t a = 0x100000, f = 0x200000;
  const std::vector<FatbinEntry> third_party = {ptx_for(50), ptx_for(61), ptx_for(70), ptx_for(75), ptx_for(80)};
  EXPECT_EQ(chosen(third_party, 90), "sm_80");
  EXPECT_EQ(chosen(third_party, 75), "sm_75");
  EXPECT_EQ(chosen(third_party, 72), "sm_70");
  EXPECT_EQ(chosen({ptx_for(120)}, 90), "none");
  // What is made for one GPU runs on no other.
  EXPECT_EQ(chosen({ptx_for(90), ptx_for(90, a)}, 90), "sm_90a");
  EXPECT_EQ(chosen({ptx_for(90), ptx_for(90, a)}, 100), "sm_90");
  EXPECT_EQ(chosen({ptx_for(80), ptx_for(90, a)}, 89), "sm_80");
  // A family is what shares the major number.
  EXPECT_EQ(chosen({ptx_for(80), ptx_for(100, f)}, 103), "sm_100f");
  EXPECT_EQ(chosen({ptx_for(80), ptx_for(100, f)}, 120), "sm_80");
  EXPECT_EQ(chosen({ptx_for(80), ptx_for(103, f)}, 100), "sm_80");
  FatbinEntry machine = ptx_for(90);
  machine.kind = 2;
  EXPECT_EQ(chosen({machine}, 90), "none");
}

TEST(Program, FatbinsOfBothSectionsAreFound) {
  const std::string plain = fatbin(usual_entries());
  FatbinEntry unit = ptx_for(80);
  const std::string relocatable = fatbin({unit}) + std::string(8, '\0') + fatbin({unit});
  const std::string text =
      elf({{".interp", "/lib64/ld.so"}, {".nv_fatbin", plain + fatbin({})}, {"__nv_relfatbin", relocatable}});
  std::unique_ptr<char[]> keep;
  auto image = read_exact(text, keep);
  ASSERT_TRUE(image) << image.error().to_string();
  EXPECT_EQ(image->format, Image::Format::executable);
  EXPECT_FALSE(image->static_runtime);
  ASSERT_EQ(image->units.size(), 3u);  // the empty fatbin says nothing
  EXPECT_FALSE(image->units[0].relocatable);
  EXPECT_TRUE(image->units[1].relocatable);
  EXPECT_TRUE(image->units[2].relocatable);
  EXPECT_EQ(text.substr(image->units[2].fatbin.offset, 4), plain.substr(0, 4));
}

TEST(Program, FormatsAreToldApart) {
  const auto format = [](const std::string& text) {
    auto image = image::read_image(bytes_of(text), "f");
    return image ? std::string(image::name(image->format)) : image.error().what;
  };
  EXPECT_EQ(format(elf({{".nv_fatbin", ""}}, {1, 62, 0, 0})), "object file");
  EXPECT_EQ(format(elf({{".nv_fatbin", ""}}, {3, 62, 0, 0})), "shared library");
  EXPECT_EQ(format(elf({{".nv_fatbin", ""}, {".interp", "x"}}, {3, 62, 0, 0})), "program");
  EXPECT_EQ(format(cubin({"k"}, 90)), "cubin");
  EXPECT_EQ(format(small_ptx("k")), "PTX text");
  EXPECT_EQ(format("\n// generated\n/* by a compiler */ .version 8.0\n"), "PTX text");
  EXPECT_EQ(format(archive({{"a.o", elf({})}})), "archive");
  EXPECT_EQ(format(""), "the file is empty");
  EXPECT_EQ(format("int main() {}"), "this is no PTX text, fatbin, cubin, ELF file or archive");
  EXPECT_EQ(format("// nothing else"), "this is no PTX text, fatbin, cubin, ELF file or archive");
}

TEST(Program, FatbinsAreFoundWithoutASectionTable) {
  std::string text = elf({{".nv_fatbin", fatbin(usual_entries()) + fatbin({ptx_for(80)})}});
  // A false beginning, and no section table.
  text += fatbin({}).substr(0, 4) + std::string(36, '\x7f');
  for (const std::size_t field : {40, 58, 60, 62}) text.replace(field, field == 40 ? 8 : 2, field == 40 ? 8 : 2, '\0');
  std::unique_ptr<char[]> keep;
  auto image = read_exact(text, keep);
  ASSERT_TRUE(image) << image.error().to_string();
  ASSERT_EQ(image->units.size(), 2u);
  EXPECT_EQ(image->units[0].fatbin.codes.size(), 2u);
  EXPECT_EQ(image->units[1].fatbin.codes.size(), 1u);
}

TEST(Program, TheStaticRuntimeIsNoticed) {
  const std::string code = fatbin({ptx_for(80)});
  auto image = image::read_image(bytes_of(elf({{".nv_fatbin", code}, {".nvFatBinSegment", "x"}})), "f");
  // The text must live as long as the image, so this asks for nothing but the flag.
  ASSERT_TRUE(image);
  EXPECT_TRUE(image->static_runtime);
}

TEST(Archive, MembersAreReadWithTheirNames) {
  const std::string object = elf({{".nv_fatbin", fatbin({ptx_for(80)})}}, {1, 62, 0, 0});
  const std::string text = archive({{"a.o", object},
                                    {"notes.txt", "odd"},
                                    {"a_rather_long_name_of_an_object.o", object},
                                    {"k.ptx", small_ptx("k")}});
  std::unique_ptr<char[]> keep;
  auto image = read_exact(text, keep);
  ASSERT_TRUE(image) << image.error().to_string();
  ASSERT_EQ(image->units.size(), 3u);
  EXPECT_NE(image->units[0].name.find("test.bin(a.o)"), std::string::npos);
  EXPECT_NE(image->units[1].name.find("test.bin(a_rather_long_name_of_an_object.o)"), std::string::npos);
  EXPECT_EQ(image->units[2].name, "test.bin(k.ptx)");
}

// ---- damage ----

TEST(Damage, AFileCutShortIsRefused) {
  const std::string whole_fatbin = fatbin(usual_entries());
  const std::string program = elf({{".nv_fatbin", whole_fatbin}});
  const std::string library = archive({{"a.o", elf({{".nv_fatbin", whole_fatbin}}, {1, 62, 0, 0})}});
  for (const std::string& text : {whole_fatbin, program, library}) {
    ASSERT_EQ(read_all(text), 2u);
    for (std::size_t length = 0; length < text.size(); ++length) {
      std::string error;
      const std::size_t found = read_all(text.substr(0, length), &error);
      // An archive without members is an archive.
      if (text == library && length == 8) continue;
      EXPECT_EQ(found, 0u) << "cut to " << length << " of " << text.size();
      EXPECT_FALSE(error.empty()) << "cut to " << length << " of " << text.size();
    }
  }
}

TEST(Damage, LiesAboutSizesAreRefused) {
  const std::string good = fatbin(usual_entries());
  const std::size_t second = good.size() - [] {
    FatbinEntry ptx = usual_entries()[1];
    return fatbin({ptx}).size() - 16;
  }();
  struct Lie {
    std::size_t at, width;
    const char* says;
  };
  const Lie lies[] = {{6, 2, "header has"},           {8, 8, "says that it holds"},
                      {16 + 4, 4, "header has"},      {16 + 8, 8, "says that it holds"},
                      {second + 16, 4, "compressed"}, {second + 56, 8, "becomes"}};
  for (const Lie& lie : lies) {
    for (const char value : {'\xff', '\x7f'}) {
      std::string text = good;
      for (std::size_t i = 0; i < lie.width; ++i) text[lie.at + i] = value;
      std::string error;
      read_all(text, &error);
      EXPECT_NE(error.find(lie.says), std::string::npos) << "at " << lie.at << ": " << error;
    }
  }
  // A size that is a little wrong shows when the data is uncompressed.
  for (const Packing packing : {Packing::lz4, Packing::zstd}) {
    FatbinEntry entry = ptx_for(80);
    entry.packing = packing;
    for (const int wrong : {-1, 1, 1000, 1 << 25}) {
      std::string text = fatbin({entry});
      const auto size = static_cast<std::uint64_t>(static_cast<std::int64_t>(entry.contents.size()) + wrong);
      text.replace(16 + 56, 8, reinterpret_cast<const char*>(&size), 8);
      std::string error;
      EXPECT_EQ(read_all(text, &error), 1u);
      EXPECT_NE(error.find("PTX for sm_80"), std::string::npos) << error;
    }
  }
}

TEST(Damage, AnyChangedByteIsReadWithinBounds) {
  std::vector<FatbinEntry> entries = usual_entries();
  entries.push_back(ptx_for(75));
  entries.back().packing = Packing::lz4;
  const std::string code = fatbin(entries);
  for (const std::string& good :
       {code, elf({{".nv_fatbin", code}, {"__nv_relfatbin", code}}), archive({{"member.o", code}}), cubin({"k"}, 90)}) {
    for (std::size_t at = 0; at < good.size(); ++at)
      for (const int change : {0x01, 0x80, 0xff}) {
        std::string text = good;
        text[at] = static_cast<char>(text[at] ^ change);
        read_all(text);
      }
  }
}

}  // namespace
}  // namespace warploom::test

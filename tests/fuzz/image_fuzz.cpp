// Fuzz target: any bytes given to the reader of programs, fatbins and archives yield an image or a diagnostic.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "image/elf.hpp"
#include "image/image.hpp"

namespace {

void expect(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace warploom;
  const image::Bytes bytes = std::as_bytes(std::span(data, size));
  const auto image = image::read_image(bytes, "fuzz.bin");
  if (!image) {
    expect(image.error().id == ErrorId::invalid_image && !image.error().what.empty(), "a refusal says why");
    return 0;
  }
  for (const image::Unit& unit : image->units) {
    for (const image::Code& code : unit.fatbin.codes) {
      // Payloads and names lie inside the file.
      expect(code.payload.empty() || (code.payload.data() >= bytes.data() &&
                                      code.payload.data() + code.payload.size() <= bytes.data() + size),
             "a payload lies outside the file");
      std::size_t letters = 0;
      for (const char c : std::string(code.source) + std::string(code.options)) letters += c != 0;
      expect(letters == code.source.size() + code.options.size(), "names hold no zero bytes");
      const auto contents = image::contents(code, unit.name);
      if (!contents || code.kind != image::Kind::cubin) continue;
      const auto elf = image::read_elf(std::as_bytes(std::span(*contents)), unit.name);
      if (elf) (void)image::cubin_kernels(*elf);
    }
    for (const std::uint32_t sm : {75u, 90u, 100u}) {
      const image::Code* chosen = image::choose_ptx(unit.fatbin, sm);
      expect(chosen == nullptr || (chosen->kind == image::Kind::ptx && chosen->arch <= sm), "the wrong PTX is taken");
    }
  }
  return 0;
}

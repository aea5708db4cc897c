// A file with device code in any of its forms: PTX text, fatbin, cubin, ELF program, library or object, archive.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "image/fatbin.hpp"

namespace warploom::image {

// What one translation unit gave to the driver, or several that were linked.
struct Unit {
  std::string name;          // of the file, with the archive's member or the fatbin's place in the file
  bool relocatable = false;  // -rdc=true: the units of a program that have it are linked into one module
  Fatbin fatbin;             // a PTX text or a cubin by itself is a fatbin of one entry
};

struct Image {
  enum class Format : std::uint8_t { ptx, fatbin, cubin, object, executable, shared, archive };
  Format format = Format::ptx;
  std::vector<Unit> units;
  bool is_program = false;      // it holds code for this machine, so it may hold fatbins and holds none
  bool static_runtime = false;  // NVIDIA's static CUDA runtime is linked in, which serves no other driver
};

[[nodiscard]] std::string_view name(Image::Format format);

// The result refers to `bytes`, which must outlive it. Throws nothing and reads nothing out of bounds, whatever the
// bytes are: invalid_image says what is wrong.
Result<Image> read_image(Bytes bytes, const std::string& file);

// Names of the kernels of a unit's machine code.
Result<std::vector<std::string>> cubin_kernels(const Code& code, const std::string& file);

}  // namespace warploom::image

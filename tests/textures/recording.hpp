// Reads what record.py wrote: arrays, coordinates and the answers of a GPU.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace textures {

using Bytes = std::vector<unsigned char>;

struct Array {
  std::string geometry, format;
  std::size_t size[3] = {};
  unsigned levels = 1, channels = 1, flags = 0;
  Bytes data;
};

struct Coordinates {
  unsigned words = 0, count = 0;
  Bytes data;
};

struct Case {
  std::string group, array, coordinates, kind, address[3], ptx;
  int linear = 0, normalized = 0, integers = 0, srgb = 0, seamless = 0, mip = 0;
  float numbers[7] = {};  // bias, least level, most level, border
  unsigned results = 0;   // words for each sample
  Bytes data;             // results, or the array's texels afterwards
};

struct Recording {
  std::map<std::string, Array> arrays;
  std::map<std::string, Coordinates> coordinates;
  std::vector<Case> cases;
};

inline Recording read_recording(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) throw std::runtime_error("cannot read " + path);
  std::string all;
  char buffer[1 << 16];
  for (int n = 0; (n = gzread(file, buffer, sizeof buffer)) > 0;) all.append(buffer, static_cast<std::size_t>(n));
  gzclose(file);
  Recording out;
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t end = all.find('\n', at);
    std::istringstream line(all.substr(at, end - at));
    at = end + 1;
    std::string what, name;
    std::size_t bytes = 0;
    line >> what;
    const auto take = [&](Bytes& data) {
      if (!line || at + bytes > all.size()) throw std::runtime_error("the recording is damaged");
      data.assign(all.begin() + static_cast<std::ptrdiff_t>(at), all.begin() + static_cast<std::ptrdiff_t>(at + bytes));
      at += bytes;
    };
    if (what == "array") {
      Array a;
      line >> name >> a.geometry >> a.size[0] >> a.size[1] >> a.size[2] >> a.levels >> a.format >> a.channels >>
          a.flags >> bytes;
      take(a.data);
      out.arrays[name] = std::move(a);
    } else if (what == "coords") {
      Coordinates c;
      line >> name >> c.words >> c.count >> bytes;
      take(c.data);
      out.coordinates[name] = std::move(c);
    } else {
      Case c;
      line >> c.group >> c.array >> c.coordinates >> c.kind >> c.address[0] >> c.address[1] >> c.address[2] >>
          c.linear >> c.normalized >> c.integers >> c.srgb >> c.seamless >> c.mip;
      for (float& x : c.numbers) {
        std::string hex;
        line >> hex;
        const auto bits = static_cast<std::uint32_t>(std::stoul(hex, nullptr, 16));
        std::memcpy(&x, &bits, 4);
      }
      line >> c.results >> bytes;
      line.get();
      std::getline(line, c.ptx);
      line.clear();
      take(c.data);
      out.cases.push_back(std::move(c));
    }
  }
  return out;
}

// The kernel of record.py: sample i takes its words from `from` and leaves %q0 and so on at `to`.
inline std::string kernel_text(const std::string& name, const std::string& body, unsigned words, unsigned results) {
  std::ostringstream out;
  out << ".visible .entry " << name << R"((.param .u64 object, .param .u64 from, .param .u64 to, .param .u32 count) {
    .reg .b32 %r<8>, %q<8>, %i, %n, %step;
    .reg .f32 %f<16>;
    .reg .b16 %h<4>;
    .reg .b64 %w<4>, %t, %a, %b, %from, %to;
    .reg .pred %p<2>;
    ld.param.u64 %t, [object];
    ld.param.u64 %from, [from];
    ld.param.u64 %to, [to];
    ld.param.u32 %n, [count];
    mov.u32 %i, %tid.x;
    mov.u32 %step, %ntid.x;
loop:
    setp.ge.u32 %p0, %i, %n;
    @%p0 bra done;
)";
  out << "    mad.wide.u32 %a, %i, " << 4 * words << ", %from;\n    mad.wide.u32 %b, %i, " << 4 * results << ", %to;\n";
  for (unsigned k = 0; k < words; ++k)
    out << "    ld.global.b32 %r" << k << ", [%a + " << 4 * k << "];\n    mov.b32 %f" << k << ", %r" << k << ";\n";
  for (unsigned k = 0; k < 4; ++k) out << "    mov.b32 %q" << k << ", 0;\n";
  out << "    " << body << "\n";
  for (unsigned k = 0; k < results; ++k) out << "    st.global.b32 [%b + " << 4 * k << "], %q" << k << ";\n";
  out << "    add.u32 %i, %i, %step;\n    bra loop;\ndone:\n    ret;\n}\n";
  return out.str();
}
inline constexpr const char* kHead = ".version 8.1\n.target sm_90\n.address_size 64\n";

}  // namespace textures

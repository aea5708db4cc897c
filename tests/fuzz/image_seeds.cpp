// Tool: writes the seeds of the image fuzz target, one file for each form that the reader knows: image_seeds FOLDER.
#include <cstdio>
#include <fstream>
#include <string>

#include "writer.hpp"

int main(int argc, char** argv) {
  using namespace warploom::test;
  if (argc != 2) {
    std::fprintf(stderr, "usage: image_seeds FOLDER\n");
    return 2;
  }
  const auto write = [&](const char* name, const std::string& bytes) {
    std::ofstream(std::string(argv[1]) + "/" + name, std::ios::binary) << bytes;
  };
  FatbinEntry machine;
  machine.kind = 2;
  machine.contents = cubin({"first", "second"}, 80);
  FatbinEntry raw;
  raw.contents = small_ptx("first");
  FatbinEntry lz4 = raw, zstd = raw, family = raw;
  lz4.packing = Packing::lz4;
  zstd.packing = Packing::zstd;
  zstd.source = "kernels.cu";
  zstd.options = "-O1 -v ";
  family.arch = 100;
  family.flags |= 0x200000;
  const std::string plain = fatbin({machine, zstd}), several = fatbin({raw, lz4, family});
  write("machine_and_zstd", plain);
  write("raw_lz4_family", several);
  write("empty_fatbin", fatbin({}));
  write("cubin", cubin({"kernel"}, 90));
  write("program", elf({{".interp", "ld.so"}, {".nv_fatbin", plain}, {".nvFatBinSegment", "segment"}}));
  write("relocatable_program", elf({{".nv_fatbin", plain}, {"__nv_relfatbin", several + plain}}));
  write("object", elf({{".nv_fatbin", several}}, {1, 62, 0, 0}));
  write("archive", archive({{"a.o", elf({{".nv_fatbin", plain}}, {1, 62, 0, 0})},
                            {"a_long_name_of_a_member.ptx", small_ptx("k")}}));
  write("text", small_ptx("kernel"));
  return 0;
}

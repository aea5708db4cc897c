// Writes what record_matrix.py runs on a GPU: `semantics_matrix write DIR`.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <set>

#include "matrix_cases.hpp"

using namespace warploom::test;

int main(int argc, char** argv) {
  if (argc != 3 || std::string_view(argv[1]) != "write") {
    std::cerr << "usage: semantics_matrix write DIR\n";
    return 2;
  }
  const std::filesystem::path folder = argv[2];
  std::filesystem::create_directories(folder);
  std::set<std::string> pools;
  const auto save = [&](const std::string& name, const auto& data) {
    if (!pools.insert(name).second) return name;
    std::ofstream(folder / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(data.data()),
               static_cast<std::streamsize>(data.size() * sizeof(data.front())));
    return name;
  };
  std::ofstream list(folder / "matrix.tsv"), kernels(folder / "matrix.ptx");
  for (const MatrixCase& c : matrix_cases()) {
    std::string a = "-", b = "-", m = "-", e = "-";
    if (c.kind == MatrixCase::Kind::load) {
      const unsigned bits = element_bits(c.a);
      a = save("images" + std::to_string(bits), load_images(bits));
    } else if (!c.a.empty()) {
      a = save("a." + c.a, matrix_pool(c.a, 'a'));
    }
    if (!c.b.empty()) b = save("b." + c.b, matrix_pool(c.b, 'b'));
    if (!c.c.empty()) m = save("c." + c.c, matrix_pool(c.c, 'c'));
    if (c.selector >= 0) {
      e = save("e." + c.metadata(), matrix_pool(c.metadata(), 'e'));
    }
    const bool image = c.kind == MatrixCase::Kind::store || c.kind == MatrixCase::Kind::stmatrix;
    list << c.name() << '\t' << a << '\t' << b << '\t' << m << '\t' << e << '\t'
         << (c.kind == MatrixCase::Kind::load || image ? kLoadImages : kMatrixCases) << '\t'
         << (image ? kImageBytes : 128 * c.d_words) << '\n';
    kernels << matrix_kernel(c) << "//----\n";
  }
  return 0;
}

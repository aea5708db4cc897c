// Tool: parses PTX files, all bodies included, prints them and parses the result again; reports errors and times.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "ptx/module.hpp"

namespace {

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Number of errors in one file.
int check(const std::string& path) {
  using namespace warploom;
  std::ifstream in(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(in)), {});
  const std::size_t bytes = text.size();
  auto begin = std::chrono::steady_clock::now();
  auto module = ptx::parse(std::move(text), path);
  const double module_time = seconds_since(begin);
  if (!module) {
    std::printf("%s\n", module.error().to_string().c_str());
    return 1;
  }
  int errors = 0;
  std::size_t instrs = 0;
  begin = std::chrono::steady_clock::now();
  for (const ptx::Function& f : (*module)->functions) {
    if (!f.has_body) continue;
    auto body = ptx::parse_body(**module, f);
    if (body) {
      instrs += (*body)->instrs.size();
    } else {
      std::printf("%s\n", body.error().to_string().c_str());
      ++errors;
    }
  }
  const double body_time = seconds_since(begin);
  std::printf("%s: %zu bytes, %zu functions, %zu instructions, module %.2f ms, bodies %.2f ms\n", path.c_str(), bytes,
              (*module)->functions.size(), instrs, module_time * 1e3, body_time * 1e3);
  if (errors != 0) return errors;
  auto printed = ptx::print(**module);
  if (!printed) return 1;
  auto again = ptx::parse(*printed, path + " (printed)");
  if (!again) {
    std::printf("%s\n", again.error().to_string().c_str());
    return 1;
  }
  auto second = ptx::print(**again);
  if (!second) {
    std::printf("%s\n", second.error().to_string().c_str());
    return 1;
  }
  if (*second != *printed) {
    std::size_t i = 0;
    while (i < second->size() && i < printed->size() && (*second)[i] == (*printed)[i]) ++i;
    const std::size_t from = printed->rfind('\n', i);
    std::printf("%s: printed text differs when parsed again:\n%s\n%s\n", path.c_str(),
                printed->substr(from, 200).c_str(), second->substr(from, 200).c_str());
    return 1;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  int errors = 0;
  for (int i = 1; i < argc; ++i) errors += check(argv[i]);
  return errors == 0 ? 0 : 1;
}

// Fuzz target: any text given to the PTX parser yields a module or a diagnostic, and what it accepts can be printed.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "ptx/module.hpp"

namespace {

[[noreturn]] void fail(const char* what, const std::string& text, const std::string& why) {
  std::fprintf(stderr, "%s\n--- text\n%s\n--- diagnostic\n%s\n", what, text.c_str(), why.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace warploom;
  const auto module = ptx::parse(std::string(reinterpret_cast<const char*>(data), size), "fuzz.ptx");
  if (!module) {
    (void)module.error().to_string();
    return 0;
  }
  for (const ptx::Function& function : (*module)->functions) {
    if (!function.has_body) continue;
    const auto body = ptx::parse_body(**module, function);
    if (!body) {
      (void)body.error().to_string();
      continue;
    }
    // What parses also prints, and the printed instructions are never empty.
    for (const ptx::Instr& instr : (*body)->instrs) {
      if (ptx::print(**module, **body, instr).empty())
        fail("an instruction prints as nothing", (*module)->text, function.name);
    }
    (void)ptx::print(**module, function, **body);
  }
  return 0;
}

// Fuzz target: any text given to the PTX parser yields a module or a diagnostic; what it accepts can be printed and
// linked, and a survey of a body agrees with parsing it.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "ptx/link.hpp"
#include "ptx/module.hpp"

namespace {

[[noreturn]] void fail(const char* what, const std::string& text, const std::string& why) {
  std::fprintf(stderr, "%s\n--- text\n%s\n--- diagnostic\n%s\n", what, text.c_str(), why.c_str());
  std::abort();
}

// Bodies parse in a linked module as they did before.
void check_linked(const warploom::ptx::Module& before, const warploom::ptx::Module& linked) {
  using namespace warploom;
  for (const ptx::Function& function : linked.functions) {
    if (!function.has_body) continue;
    for (const ptx::Function& original : before.functions) {
      const std::string_view renamed = linked.resolve(function.unit, original.name);
      if (renamed != function.name) continue;
      const auto was = ptx::parse_body(before, original);
      const auto is = ptx::parse_body(linked, function);
      if (was.ok() != is.ok())
        fail("linking changes a body", before.text, was ? is.error().to_string() : was.error().to_string());
      if (is) (void)ptx::print(linked, function, **is);
    }
  }
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
    const ptx::Survey survey = ptx::survey_body(**module, function);
    if (survey.refusals.empty() != body.ok())
      fail("a survey and the parser differ", (*module)->text, body ? function.name : body.error().to_string());
    if (body && survey.body->instrs.size() != (*body)->instrs.size())
      fail("a survey has other instructions", (*module)->text, function.name);
    for (const ptx::Instr& instr : survey.body->instrs) (void)ptx::print(**module, *survey.body, instr);
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
  // A module linked alone is what it was; with itself, internal names stay apart and others meet or clash.
  const auto provided = [](std::string_view) { return true; };
  const std::shared_ptr<const ptx::Module> one = *module;
  if (const auto alone = ptx::link({one}, "alone", provided)) check_linked(*one, **alone);
  if (const auto twice = ptx::link({one, one}, "twice", provided)) check_linked(*one, **twice);
  return 0;
}

// The files of a dumped kernel.
#include "device/cpu/dump.hpp"

#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <mutex>
#include <set>

#include "base/demangle.hpp"
#include "codegen/jit.hpp"
#include "passes/pipeline.hpp"

namespace warploom::device {
namespace {

namespace fs = std::filesystem;

// "scale_float_16" for "void scale<float, 16>(float*, int)".
std::string file_name(const std::string& kernel) {
  std::string name = demangle(kernel);
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    depth += name[i] == '<' ? 1 : name[i] == '>' ? -1 : 0;
    if (name[i] == '(' && depth == 0) {
      name.resize(i);
      break;
    }
  }
  if (name.starts_with("void ")) name.erase(0, 5);
  std::string out;
  for (const char c : name) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-';
    if (plain || (!out.empty() && out.back() != '_')) out += plain ? c : '_';
  }
  while (!out.empty() && (out.back() == '_' || out.front() == '.')) out.pop_back();
  return out.empty() ? "kernel" : out.substr(0, 100);
}

// A folder that no other kernel of the process has.
std::string folder_name(const ir::Function& function, const passes::BlockShape& block, bool counting) {
  static std::mutex mutex;
  static std::set<std::string> taken;
  std::string name = file_name(function.name);
  name += block.x == 0 ? ".block_x" : fmt::format(".block_{}x{}x{}", block.x, block.y, block.z);
  if (counting) name += ".explain";
  const std::lock_guard lock(mutex);
  std::string unique = name;
  for (int i = 2; !taken.insert(unique).second; ++i) unique = fmt::format("{}.{}", name, i);
  return unique;
}

// The kernel as it stands in the module's text.
std::string ptx_of(const ir::Function& function) {
  const std::string& text = function.module->text;
  std::size_t begin = 0;
  for (std::uint32_t line = 1; line < function.entry->line && begin != std::string::npos; ++line) {
    begin = text.find('\n', begin);
    if (begin != std::string::npos) ++begin;
  }
  if (begin == std::string::npos || begin > function.entry->body_end) return text;
  return text.substr(begin, function.entry->body_end - begin) + "\n";
}

class Folder {
 public:
  explicit Folder(fs::path path) : path_(std::move(path)) {
    std::error_code error;
    fs::create_directories(path_, error);
    if (error) fail(error.message());
  }
  void write(const std::string& name, const std::string& text) {
    if (failed_) return;
    std::ofstream file(path_ / name, std::ios::binary);
    if (!(file << text) || !file.flush()) fail("cannot write " + name);
  }

 private:
  void fail(const std::string& why) {
    failed_ = true;
    std::fprintf(stderr, "warploom: nothing dumped to \"%s\": %s\n", path_.c_str(), why.c_str());
  }
  fs::path path_;
  bool failed_ = false;
};

}  // namespace

void dump_kernel(const DumpOptions& options, const ir::Function& function, const passes::BlockShape& block,
                 bool counting) {
  if (options.folder.empty() || (options.wanted && !options.wanted(function.name))) return;
  Folder folder(fs::path(options.folder) / folder_name(function, block, counting));
  folder.write("kernel.ptx", ptx_of(function));
  int step = 0;
  const auto write_ir = [&](const char* pass, const std::string& text) {
    folder.write(fmt::format("{}-{}.ir", ++step, pass), text);
  };
  if (auto again = ir::build(function.module, *function.entry,
                             [&](const char* pass, const ir::Function& f) { write_ir(pass, ir::print(f)); });
      !again)
    return;  // it has been built before, so this does not happen
  passes::prepare(function, block, [&](const char* pass, const ir::Function& f, const passes::Shapes& shapes) {
    write_ir(pass, passes::print(f, shapes));
  });
  const std::shared_ptr<codegen::KernelPlan> plan = codegen::make_plan(function, block, counting, false);
  using codegen::Mode;
  for (const Mode mode : {Mode::block, Mode::uniform, Mode::masked, Mode::conservative}) {
    const char* name = codegen::name_of(mode);
    if (mode == Mode::block && !plan->has_block_version()) continue;
    auto texts = codegen::dump(plan, mode);
    if (!texts) {
      folder.write(fmt::format("{}.error", name), texts.error().what + "\n");
      continue;
    }
    folder.write(fmt::format("{}.ll", name), texts->llvm);
    folder.write(fmt::format("{}.optimised.ll", name), texts->optimised);
    folder.write(fmt::format("{}.s", name), texts->assembly);
  }
}

}  // namespace warploom::device

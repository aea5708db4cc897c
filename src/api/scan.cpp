// scan(): parses every kernel of a file and says what would stop it.
#include "warploom/scan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "api/state.hpp"
#include "base/demangle.hpp"
#include "image/image.hpp"
#include "ir/flatten.hpp"
#include "isa/profile.hpp"
#include "ptx/link.hpp"
#include "ptx/module.hpp"

namespace warploom {
namespace {

std::string mnemonic_of(const std::string& instruction) {
  std::size_t begin = 0;
  if (instruction.starts_with('@')) begin = std::min(instruction.find(' ') + 1, instruction.size());
  return instruction.substr(begin, instruction.find_first_of(" ;", begin) - begin);
}

// Counts what is refused, one row for each instruction and reason, in the order of the text.
class Refusals {
 public:
  void add(std::string instruction, std::string reason, std::string remedy, const SourceLoc& at,
           std::string source = {}) {
    const auto [it, fresh] = index_.try_emplace({instruction, reason}, rows_.size());
    if (fresh)
      rows_.push_back(
          {std::move(instruction), std::move(reason), std::move(remedy), 0, at.line, at.column, std::move(source)});
    ++rows_[it->second].count;
  }
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  [[nodiscard]] const std::vector<ScanRefusal>& rows() const { return rows_; }

 private:
  std::map<std::pair<std::string, std::string>, std::size_t> index_;
  std::vector<ScanRefusal> rows_;
};

// What one body by itself holds, and whom it calls.
struct BodySurvey {
  std::uint64_t instructions = 0;
  struct Refused {
    std::string instruction, source;
    Diag diag;
  };
  std::vector<Refused> refused;
  std::vector<const ptx::Function*> callees;
};

class ModuleScan {
 public:
  explicit ModuleScan(std::shared_ptr<const ptx::Module> module) : module_(std::move(module)) {}

  ScanKernel kernel(const ptx::Function& function) {
    ScanKernel out;
    out.name = function.name;
    out.demangled = demangle(function.name);
    Refusals refusals;
    std::set<const ptx::Function*> reached{&function};
    for (std::vector<const ptx::Function*> left{&function}; !left.empty();) {
      const BodySurvey& body = survey(*left.back());
      left.pop_back();
      out.instructions += body.instructions;
      for (const auto& [instruction, source, diag] : body.refused)
        refusals.add(instruction, diag.what, diag.remedy, diag.loc, source);
      for (const ptx::Function* callee : body.callees)
        if (reached.insert(callee).second) left.push_back(callee);
    }
    // What only shows when the calls are put together: recursion, a function that nothing defines.
    if (refusals.empty())
      if (auto built = ir::build(module_, function); !built)
        refusals.add("", built.error().what, built.error().remedy, built.error().loc);
    out.refusals = refusals.rows();
    out.runs = out.refusals.empty();
    return out;
  }

 private:
  const BodySurvey& survey(const ptx::Function& function) {
    const auto [it, fresh] = surveys_.try_emplace(&function);
    BodySurvey& out = it->second;
    if (!fresh || !function.has_body) return out;
    const ptx::Survey parsed = ptx::survey_body(*module_, function);
    out.instructions = parsed.body->instrs.size() + parsed.refusals.size();
    for (const ptx::Refusal& r : parsed.refusals) out.refused.push_back({r.mnemonic, {}, r.diag});
    for (const ptx::Instr& instr : parsed.body->instrs) {
      if (instr.form != nullptr && instr.form->emit == "unsupported") {
        Diag diag;
        diag.what = instr.form->reason;
        diag.loc = module_->place(instr.line);
        out.refused.push_back(
            {mnemonic_of(ptx::print(*module_, *parsed.body, instr)), source_of(*parsed.body, instr), std::move(diag)});
      }
      if (instr.op != isa::Op::call) continue;
      for (const ptx::Operand& o : instr.operands)
        if (o.kind == ptx::Operand::Kind::symbol)
          if (const ptx::Function* callee = module_->find_function(o.symbol)) out.callees.push_back(callee);
    }
    return out;
  }

  // File and line of the source, without its folder; empty without line information.
  [[nodiscard]] std::string source_of(const ptx::Body& body, const ptx::Instr& instr) const {
    if (instr.loc < 0) return {};
    const ptx::Loc& loc = body.locs[static_cast<std::size_t>(instr.loc)];
    const auto file = module_->files.find(loc.file);
    if (file == module_->files.end()) return {};
    return fmt::format("{}:{}", file->second.substr(file->second.rfind('/') + 1), loc.line);
  }

  std::shared_ptr<const ptx::Module> module_;
  std::map<const ptx::Function*, BodySurvey> surveys_;
};

class FileScan {
 public:
  FileScan(const image::Image& image, ScanReport& report, std::uint32_t sm) : image_(image), report_(report), sm_(sm) {}

  void run() {
    for (const image::Unit& unit : image_.units) {
      ScanUnit& out = report_.units.emplace_back();
      out.name = unit.name;
      out.relocatable = unit.relocatable;
      const bool is_text = image_.format == image::Image::Format::ptx;
      const image::Code* chosen = is_text ? &unit.fatbin.codes.front() : image::choose_ptx(unit.fatbin, sm_);
      for (const image::Code& code : unit.fatbin.codes) out.codes.push_back(code_of(code, chosen));
      const auto has = [&](image::Kind kind) {
        return std::any_of(unit.fatbin.codes.begin(), unit.fatbin.codes.end(),
                           [kind](const image::Code& code) { return code.kind == kind; });
      };
      if (chosen == nullptr && has(image::Kind::lto_ir) && !has(image::Kind::cubin))
        out.error = "there is LTO-IR only, which only NVIDIA's linker reads: compile without -dlto";
      if (chosen != nullptr) parse_ptx(*chosen, unit.relocatable, report_.units.size() - 1);
    }
    link_relocatable();
    note_later_versions();
    for (std::size_t i = 0; i < image_.units.size(); ++i) machine_code(image_.units[i], i);
  }

 private:
  static ScanCode code_of(const image::Code& code, const image::Code* chosen) {
    ScanCode out;
    out.kind = image::name(code.kind);
    if (code.arch != 0) out.target = code.target();
    if (code.kind == image::Kind::ptx && code.major != 0) out.version = fmt::format("{}.{}", code.major, code.minor);
    out.compression = image::name(code.compression);
    out.bytes = code.bytes;
    out.chosen = &code == chosen;
    return out;
  }

  void parse_ptx(const image::Code& code, bool relocatable, std::size_t index) {
    ScanUnit& unit = report_.units[index];
    auto text = image::contents(code, unit.name);
    if (!text) {
      unit.error = text.error().to_string();
      return;
    }
    auto module = ptx::parse(std::move(*text), unit.name);
    if (!module) {
      unit.error = module.error().to_string();
      return;
    }
    for (ScanCode& c : unit.codes) {
      if (!c.chosen) continue;
      c.target = (*module)->target;
      c.version = fmt::format("{}.{}", (*module)->version_major, (*module)->version_minor);
    }
    if (!(*module)->version_note().empty()) later_.emplace_back(index, *module);
    if (relocatable) {
      relocatable_.push_back(*module);
      relocatable_units_.push_back(index);
    } else {
      scan_kernels(*module, {index});
    }
  }

  // What works of texts whose version is later than those known.
  void note_later_versions() {
    for (const auto& [index, module] : later_) {
      std::size_t all = 0, running = 0;
      for (const ScanKernel& kernel : report_.kernels) {
        if (kernel.unit != index) continue;
        ++all;
        running += kernel.runs;
      }
      std::string& note = report_.units[index].note;
      note = fmt::format("{}; {} of {} kernels use nothing that is not known", module->version_note(), running, all);
      for (const ptx::Skipped& s : module->skipped)
        note += fmt::format("; .{} of line {} is left out", s.directive, s.line);
    }
  }

  // Units of objects and archives may lack what another file defines, so they are judged one by one.
  void link_relocatable() {
    if (relocatable_.empty()) return;
    const bool linked_file =
        image_.format == image::Image::Format::executable || image_.format == image::Image::Format::shared;
    auto linked = ptx::link(relocatable_, report_.file,
                            [&](std::string_view name) { return !linked_file || ir::is_provided(name); });
    if (linked) {
      scan_kernels(*linked, relocatable_units_);
      return;
    }
    if (linked_file) report_.units[relocatable_units_.front()].error = linked.error().to_string();
    for (std::size_t i = 0; i < relocatable_.size(); ++i) scan_kernels(relocatable_[i], {relocatable_units_[i]});
  }

  void scan_kernels(const std::shared_ptr<const ptx::Module>& module, const std::vector<std::size_t>& units) {
    ModuleScan scan(module);
    for (const ptx::Function& f : module->functions) {
      if (!f.is_entry || !f.has_body) continue;
      ScanKernel kernel = scan.kernel(f);
      kernel.unit = units[f.unit];
      known_.insert(kernel.name);
      report_.kernels.push_back(std::move(kernel));
    }
  }

  // Kernels of which there is no PTX. Linked machine code repeats those of the relocatable units.
  void machine_code(const image::Unit& unit, std::size_t index) {
    for (const image::Code& code : unit.fatbin.codes) {
      if (code.kind != image::Kind::cubin) continue;
      const auto kernels = image::cubin_kernels(code, unit.name);
      if (!kernels) {
        if (report_.units[index].error.empty()) report_.units[index].error = kernels.error().to_string();
        continue;
      }
      for (const std::string& name : *kernels) {
        if (!known_.insert(name).second) continue;
        ScanKernel kernel;
        kernel.name = name;
        kernel.demangled = demangle(name);
        kernel.unit = index;
        kernel.has_ptx = false;
        const bool newer = std::any_of(unit.fatbin.codes.begin(), unit.fatbin.codes.end(),
                                       [](const image::Code& c) { return c.kind == image::Kind::ptx; });
        if (report_.units[index].error.empty())
          kernel.refusals.push_back(
              {"",
               newer ? fmt::format("there is no PTX for sm_{} among what this image holds", sm_)
                     : "there is machine code of a GPU only, no PTX",
               fmt::format("compile with -gencode arch=compute_{0},code=compute_{0}", std::min(code.arch, sm_)),
               1,
               0,
               0,
               {}});
        else
          kernel.refusals.push_back({"", "its PTX cannot be loaded", "", 1, 0, 0, {}});
        report_.kernels.push_back(std::move(kernel));
      }
    }
  }

  const image::Image& image_;
  ScanReport& report_;
  std::uint32_t sm_;
  std::set<std::string> known_;
  std::vector<std::shared_ptr<const ptx::Module>> relocatable_;
  std::vector<std::size_t> relocatable_units_;
  std::vector<std::pair<std::size_t, std::shared_ptr<const ptx::Module>>> later_;
};

}  // namespace

bool ScanReport::runs() const {
  const auto broken = [](const ScanUnit& unit) { return !unit.error.empty(); };
  return !kernels.empty() && std::none_of(units.begin(), units.end(), broken) &&
         std::all_of(kernels.begin(), kernels.end(), [](const ScanKernel& kernel) { return kernel.runs; });
}

ScanReport scan(const std::string& path, const std::string& profile) {
  const isa::GpuProfile gpu = api::checked(isa::find_profile(profile));
  const std::string bytes = api::read_file(path);
  const image::Image image = api::checked(image::read_image(std::as_bytes(std::span(bytes)), path));
  ScanReport report;
  report.file = path;
  report.format = image::name(image.format);
  report.device = profile;
  report.static_runtime = image.static_runtime;
  FileScan(image, report, gpu.sm).run();
  return report;
}

}  // namespace warploom

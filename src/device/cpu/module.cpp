// Modules and kernels of the CPU device.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/demangle.hpp"
#include "device/cpu/cpu_device.hpp"
#include "device/cpu/double_arithmetic.hpp"
#include "device/cpu/dump.hpp"
#include "device/declarations.hpp"
#include "ir/flatten.hpp"
#include "passes/pressure.hpp"
#include "ptx/link.hpp"

namespace warploom::device {
Result<std::shared_ptr<CpuModule>> CpuModule::load(CpuDevice& device, std::string ptx, std::string name) {
  auto text = ptx::parse(std::move(ptx), std::move(name));
  if (!text) return std::move(text.error());
  return load(device, *text);
}

Result<std::shared_ptr<CpuModule>> CpuModule::load_linked(CpuDevice& device, std::vector<PtxText> texts,
                                                          std::string name) {
  std::vector<std::shared_ptr<const ptx::Module>> modules;
  for (PtxText& one : texts) {
    auto module = ptx::parse(std::move(one.text), std::move(one.name));
    if (!module) return std::move(module.error());
    modules.push_back(*module);
  }
  auto linked = ptx::link(modules, std::move(name), ir::is_provided);
  if (!linked) return std::move(linked.error());
  return load(device, *linked);
}

Result<std::shared_ptr<CpuModule>> CpuModule::load(CpuDevice& device, std::shared_ptr<const ptx::Module> text) {
  std::shared_ptr<CpuModule> module(new CpuModule(device));
  module->text_ = std::move(text);
  WL_TRY(module->place_variables());
  return module;
}

CpuModule::~CpuModule() {
  for (auto& [name, variable] : variables_)
    if (auto ok = device_.memory().release(variable.address); !ok) continue;
}

Result<void> CpuModule::place_variables() {
  for (const ptx::Variable& v : text_->variables) {
    if (v.space != isa::Space::global && v.space != isa::Space::constant) continue;
    if (v.linkage == ptx::Linkage::external) continue;
    auto memory = device_.memory().allocate(std::max<std::size_t>(v.bytes, 1), "variable " + v.name);
    if (!memory) return std::move(memory.error());
    std::memset(*memory, 0, v.bytes);
    if (!v.init.empty()) std::memcpy(*memory, v.init.data(), std::min<std::size_t>(v.init.size(), v.bytes));
    variables_[v.name] = {*memory, v.bytes};
  }
  for (const ptx::Variable& v : text_->variables) {
    auto at = variables_.find(v.name);
    if (at == variables_.end()) continue;
    for (const ptx::Relocation& r : v.relocations) {
      std::uint64_t value = 0;
      if (auto target = variables_.find(r.symbol); target != variables_.end()) {
        value = reinterpret_cast<std::uint64_t>(target->second.address) + static_cast<std::uint64_t>(r.addend);
      } else if (const ptx::Function* fn = text_->find_function(r.symbol)) {
        value = ir::function_address(*text_, *fn);
      } else {
        Diag d;
        d.id = ErrorId::unresolved_symbol;
        d.what = "initialiser of '" + v.name + "' names '" + r.symbol + "', which is not defined";
        d.loc = text_->place(v.line);
        d.remedy = "link the module that defines it";
        return d;
      }
      if (r.offset + 8 <= v.bytes) std::memcpy(static_cast<std::byte*>(at->second.address) + r.offset, &value, 8);
    }
  }
  return {};
}

void* CpuModule::address_of(const std::string& variable) const {
  auto it = variables_.find(variable);
  return it == variables_.end() ? nullptr : it->second.address;
}

std::vector<std::string> CpuModule::kernel_names() const { return device::kernel_names(*text_); }

Result<Kernel*> CpuModule::kernel(const std::string& name) {
  const std::lock_guard lock(mutex_);
  auto it = kernels_.find(name);
  if (it != kernels_.end()) return it->second.get();
  auto f = find_kernel(*text_, name);
  if (!f) return std::move(f.error());
  auto kernel = std::make_unique<CpuKernel>(*this, **f);
  Kernel* out = kernel.get();
  kernels_[name] = std::move(kernel);
  return out;
}

Result<Module::Global> CpuModule::global(const std::string& name) {
  auto it = variables_.find(name);
  if (it != variables_.end()) return it->second;
  Diag d;
  d.id = ErrorId::not_found;
  d.what = "there is no variable '" + name + "' in " + text_->name;
  d.remedy = "use the name that stands in the PTX";
  return d;
}

std::vector<std::string> CpuModule::global_names() const {
  std::vector<std::string> names;
  for (const auto& [name, variable] : variables_) names.push_back(name);
  return names;
}

CpuKernel::CpuKernel(CpuModule& module, const ptx::Function& function)
    : module_(module), function_(function), params_(params_of(function)) {}

Result<const ir::Function*> CpuKernel::function() {
  if (const ir::Function* built = built_.load(std::memory_order_acquire)) return built;
  const std::lock_guard lock(mutex_);
  if (broken_) return *broken_;
  if (ir_ == nullptr) {
    auto built = ir::build(module_.text(), function_);
    if (!built) {
      broken_ = built.error();
      return *broken_;
    }
    ir_ = *built;
    built_.store(ir_.get(), std::memory_order_release);
  }
  return ir_.get();
}

Result<CpuKernel::Version*> CpuKernel::version(const std::array<std::uint32_t, 3>& block, bool counting,
                                               bool checking) {
  const Version::Key key{passes::BlockShape::of(block), counting, checking};
  const auto find = [&]() -> Version* {
    for (Version* v = first_version_.load(std::memory_order_acquire); v != nullptr; v = v->next)
      if (v->key == key) return v;
    return nullptr;
  };
  if (Version* there = find()) return there;
  auto f = function();
  if (!f) return std::move(f.error());
  const std::lock_guard lock(mutex_);
  if (Version* there = find()) return there;
  if (!checking) dump_kernel(module_.device().options().dump, **f, key.shape, counting);
  auto made = std::make_unique<Version>();
  made->key = key;
  made->plan = codegen::make_plan(**f, key.shape, counting, checking);
  made->code = std::make_unique<codegen::KernelCode>(
      made->plan, host_symbols(), [this](const std::string& name) { return module_.address_of(name); });
  made->next = first_version_.load(std::memory_order_relaxed);
  versions_.push_back(std::move(made));
  first_version_.store(versions_.back().get(), std::memory_order_release);
  return versions_.back().get();
}

Result<codegen::KernelCode*> CpuKernel::code(const std::array<std::uint32_t, 3>& block, bool counting, bool checking) {
  auto found = version(block, counting, checking);
  if (!found) return std::move(found.error());
  return (*found)->code.get();
}

codegen::KernelCode* CpuKernel::loop_code(Version& version) {
  const std::lock_guard lock(mutex_);
  if (version.loop_code == nullptr) {
    auto plan = codegen::make_plan(*ir_, version.key.shape, false, false);
    plan->enters_loops = true;
    version.loop_code = std::make_unique<codegen::KernelCode>(
        std::move(plan), host_symbols(), [this](const std::string& name) { return module_.address_of(name); });
    version.loop_code->request(codegen::Mode::uniform);
  }
  return version.loop_code.get();
}

const interp::Program* CpuKernel::program(Version& version) {
  const std::lock_guard lock(mutex_);
  if (!version.decoded) {
    version.program = interp::decode(version.plan, host_symbols(),
                                     [this](const std::string& name) { return module_.address_of(name); });
    version.decoded = true;
  }
  return version.program.get();
}

Result<std::uint32_t> CpuKernel::shared_bytes(std::uint32_t dynamic) {
  auto f = function();
  if (!f) return std::move(f.error());
  if (dynamic == 0) return (*f)->shared_bytes;
  // What does not fit is more than any device has.
  const std::uint64_t all = std::uint64_t{(*f)->dynamic_shared_offset()} + dynamic;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(all, std::numeric_limits<std::uint32_t>::max()));
}

Result<observe::KernelFacts> CpuKernel::facts() {
  {
    // Asked for after every observed launch, and always the same.
    const std::lock_guard lock(mutex_);
    if (facts_) return *facts_;
  }
  auto f = function();
  if (!f) return std::move(f.error());
  observe::KernelFacts facts;
  facts.name = function_.name;
  facts.demangled = demangle(function_.name);
  facts.static_shared_bytes = (*f)->shared_bytes;
  facts.local_bytes = (*f)->local_bytes - (*f)->stack_bytes;
  facts.registers_estimate = passes::register_estimate(**f);
  facts.barriers = (*f)->barriers;
  add_double_arithmetic(**f, facts);
  for (const ptx::Variable& v : module_.text()->variables)
    if (v.space == isa::Space::constant) facts.constant_bytes += static_cast<std::uint32_t>(v.bytes);
  auto shape = code({256, 1, 1}, false, false);
  if (!shape) return std::move(shape.error());
  facts.sites = (*shape)->plan().sites;
  const std::lock_guard lock(mutex_);
  facts_ = facts;
  return facts;
}

}  // namespace warploom::device

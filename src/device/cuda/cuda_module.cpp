// Modules and kernels of the CUDA device.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "base/demangle.hpp"
#include "device/cuda/cuda_device.hpp"
#include "device/declarations.hpp"

namespace warploom::device::cuda {
namespace {

const std::string& lasting(const std::string& name) {
  static std::mutex mutex;
  static auto& names = *new std::set<std::string>;
  const std::lock_guard lock(mutex);
  return *names.insert(name).first;
}

// The PTX version that came with a version of CUDA, times ten (PTX ISA, "Release Notes"); later ones go on by one.
unsigned ptx_of_driver(int version) {
  const int major = version / 1000, minor = version % 1000 / 10;
  if (major >= 13) return static_cast<unsigned>((major - 4) * 10 + minor);
  constexpr int kOfCuda12[] = {0, 1, 2, 3, 4, 5, 5, 6, 7, 8};
  return static_cast<unsigned>(80 + kOfCuda12[std::clamp(minor, 0, 9)]);
}

}  // namespace

Result<std::shared_ptr<CudaModule>> CudaModule::load(CudaDevice& device, std::shared_ptr<const ptx::Module> text,
                                                     const void* image, std::string name) {
  WL_TRY(device.enter());
  std::shared_ptr<CudaModule> module(new CudaModule(device, std::move(text)));
  JitLog log;
  const Status status = device.driver().module_load(&module->handle_, image, JitLog::kOptions, log.keys, log.values);
  if (status == 0) return module;
  Diag d =
      driver_error(device.driver(), status, fmt::format("the driver's compiler does not take {}", module->text_->name));
  d.where = name;
  d.excerpt = log.text;
  const int cuda = device.driver().version;
  const unsigned version = module->text_->version_major * 10 + module->text_->version_minor,
                 known = ptx_of_driver(cuda);
  const std::string& target = module->text_->target;
  const std::uint32_t sm = device.profile().sm;
  unsigned wanted = 0;
  if (target.starts_with("sm_")) std::from_chars(target.data() + 3, target.data() + target.size(), wanted);
  if (d.id == ErrorId::ptx_version || version > known) {
    d.what += fmt::format("; the text is PTX {}.{}, and the driver, which is of CUDA {}.{}, reads PTX up to {}.{}",
                          version / 10, version % 10, cuda / 1000, cuda % 1000 / 10, known / 10, known % 10);
    d.remedy = fmt::format("install a newer driver, or compile for PTX {}.{} or lower", known / 10, known % 10);
  } else if (d.id == ErrorId::no_ptx || wanted > sm) {  // which the driver calls invalid PTX
    d.what += fmt::format("; the text is for {}, and the GPU is sm_{}", target, sm);
    d.remedy = fmt::format("compile for sm_{} or lower", sm);
  }
  return d;
}

CudaModule::CudaModule(CudaDevice& device, std::shared_ptr<const ptx::Module> text)
    : device_(device), text_(std::move(text)), generation_(device.generation()) {}

CudaModule::~CudaModule() {
  // A context that an error has ended has unloaded it. Its kernels may still be queued.
  if (handle_ == nullptr || generation_ != device_.generation() || !device_.enter()) return;
  (void)device_.driver().synchronize();
  (void)device_.driver().module_unload(handle_);
}

std::vector<std::string> CudaModule::kernel_names() const { return device::kernel_names(*text_); }

Result<Kernel*> CudaModule::kernel(const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (auto it = kernels_.find(name); it != kernels_.end()) return it->second.get();
  auto f = find_kernel(*text_, name);
  if (!f) return std::move(f.error());
  WL_TRY(device_.enter());
  FunctionHandle* handle = nullptr;
  WL_TRY(device_.checked(device_.driver().module_function(&handle, handle_, name.c_str()), "kernel " + name));
  auto made = std::make_unique<CudaKernel>(*this, **f, handle);
  Kernel* out = made.get();
  kernels_[name] = std::move(made);
  return out;
}

Result<Module::Global> CudaModule::global(const std::string& name) {
  WL_TRY(device_.enter());
  DevicePointer address = 0;
  std::size_t bytes = 0;
  WL_TRY(device_.checked(device_.driver().module_global(&address, &bytes, handle_, name.c_str()), "variable " + name));
  return Global{reinterpret_cast<void*>(address), bytes};
}

std::vector<std::string> CudaModule::global_names() const {
  std::vector<std::string> names;
  for (const ptx::Variable& v : text_->variables)
    if ((v.space == isa::Space::global || v.space == isa::Space::constant) && v.linkage != ptx::Linkage::external)
      names.push_back(v.name);
  return names;
}

CudaKernel::CudaKernel(CudaModule& module, const ptx::Function& function, FunctionHandle* handle)
    : module_(module),
      function_(function),
      handle_(handle),
      lasting_name_(lasting(function.name)),
      params_(params_of(function)) {}

Result<int> CudaKernel::attribute(FunctionAttribute which) {
  WL_TRY(module_.device().enter());
  int value = 0;
  WL_TRY(module_.device().checked(module_.device().driver().function_attribute(&value, which, handle_),
                                  "an attribute of kernel " + name()));
  return value;
}

Result<observe::KernelFacts> CudaKernel::facts() {
  observe::KernelFacts facts;
  facts.name = function_.name;
  facts.demangled = demangle(function_.name);
  const auto read = [&](FunctionAttribute which, std::uint32_t& to) -> Result<void> {
    auto value = attribute(which);
    if (!value) return std::move(value.error());
    to = static_cast<std::uint32_t>(*value);
    return {};
  };
  WL_TRY(read(FunctionAttribute::shared_bytes, facts.static_shared_bytes));
  WL_TRY(read(FunctionAttribute::local_bytes, facts.local_bytes));
  WL_TRY(read(FunctionAttribute::registers, facts.registers_estimate));
  WL_TRY(read(FunctionAttribute::const_bytes, facts.constant_bytes));
  return facts;
}

Result<std::uint32_t> CudaKernel::fixed_shared_bytes() {
  const std::int64_t known = fixed_shared_.load(std::memory_order_relaxed);
  if (known >= 0) return static_cast<std::uint32_t>(known);
  auto value = attribute(FunctionAttribute::shared_bytes);
  if (!value) return std::move(value.error());
  fixed_shared_.store(*value, std::memory_order_relaxed);
  return static_cast<std::uint32_t>(*value);
}

Result<void> CudaKernel::allow_shared(std::uint32_t dynamic_bytes) {
  if (dynamic_bytes <= allowed_shared_.load(std::memory_order_relaxed)) return {};
  const std::lock_guard lock(mutex_);
  if (dynamic_bytes <= allowed_shared_.load(std::memory_order_relaxed)) return {};
  WL_TRY(module_.device().enter());
  const Status status = module_.device().driver().set_function_attribute(
      handle_, FunctionAttribute::max_dynamic_shared_bytes, static_cast<int>(dynamic_bytes));
  WL_TRY(module_.device().checked(
      status, fmt::format("{} bytes of dynamic shared memory for kernel {}", dynamic_bytes, name())));
  allowed_shared_.store(dynamic_bytes, std::memory_order_relaxed);
  return {};
}

}  // namespace warploom::device::cuda

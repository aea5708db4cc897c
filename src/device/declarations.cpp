// Kernels of a module: their names, their parameters, and what is said when there is none.
#include "device/declarations.hpp"

namespace warploom::device {
namespace {

bool is_kernel(const ptx::Function& f) { return f.is_entry && f.has_body; }

}  // namespace

std::vector<std::string> kernel_names(const ptx::Module& module) {
  std::vector<std::string> names;
  for (const ptx::Function& f : module.functions)
    if (is_kernel(f)) names.push_back(f.name);
  return names;
}

Result<const ptx::Function*> find_kernel(const ptx::Module& module, const std::string& name) {
  const ptx::Function* f = module.find_function(name);
  if (f != nullptr && is_kernel(*f)) return f;
  Diag d;
  d.id = ErrorId::not_found;
  d.what = "there is no kernel '" + name + "' in " + module.name;
  std::string all;
  for (const std::string& n : kernel_names(module)) all += (all.empty() ? "" : ", ") + n;
  d.where = all.empty() ? "the module has no kernels" : "kernels: " + all.substr(0, 1000);
  d.remedy = "use one of the names there are; C++ kernels have mangled names unless they are extern \"C\"";
  return d;
}

std::vector<ParamInfo> params_of(const ptx::Function& kernel) {
  std::vector<ParamInfo> params;
  params.reserve(kernel.params.size());
  for (const ptx::Param& p : kernel.params) params.push_back({p.name, p.offset, p.bytes, p.align});
  return params;
}

}  // namespace warploom::device

// Lazy linking of the embedded device math library.
#define WARPLOOM_LLVM_NVPTX
#include "frontend/python/device_library.hpp"

#include "base/diag.hpp"
#include "frontend/python/devicelib/devicelib.hpp"

namespace warploom::frontend::python {

void link_device_library(llvm::Module& module) {
  bool needed = false;
  for (const llvm::Function& one : module) needed |= one.isDeclaration() && one.getName().starts_with("__nv_");
  if (!needed) return;
  const auto bytes = devicelib_bitcode();
  const llvm::MemoryBufferRef buffer(llvm::StringRef(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
                                     "device library");
  auto library = llvm::getLazyBitcodeModule(buffer, module.getContext());
  WL_INTERNAL("python frontend", static_cast<bool>(library), "the device library's bitcode does not load");
  (*library)->setTargetTriple(module.getTargetTriple());
  (*library)->setDataLayout(module.getDataLayout());
  const bool failed = llvm::Linker::linkModules(module, std::move(*library), llvm::Linker::LinkOnlyNeeded);
  WL_INTERNAL("python frontend", !failed, "the device library does not link");
}

}  // namespace warploom::frontend::python

// Linking with JITLink, without a session around it.
#include "codegen/linker.hpp"

#include <dlfcn.h>

#include "backend/llvm_jit.hpp"
#include "codegen/compile.hpp"

namespace warploom::codegen {

namespace {

namespace jitlink = llvm::jitlink;

struct JitLinkedCode final : LinkedCode {
  jitlink::InProcessMemoryManager memory{llvm::sys::Process::getPageSizeEstimate()};
  jitlink::JITLinkMemoryManager::FinalizedAlloc allocation;

  ~JitLinkedCode() override {
    if (allocation) llvm::consumeError(memory.deallocate(std::move(allocation)));
  }
};

class Context final : public jitlink::JITLinkContext {
 public:
  Context(JitLinkedCode& code, const SymbolResolver& resolver, LinkError& error)
      : JITLinkContext(nullptr), code_(code), resolver_(resolver), error_(error) {}

  jitlink::JITLinkMemoryManager& getMemoryManager() override { return code_.memory; }

  void notifyFailed(llvm::Error error) override {
    code_.entry = nullptr;
    error_.what = llvm::toString(std::move(error));
  }

  void lookup(const LookupMap& symbols, std::unique_ptr<jitlink::JITLinkAsyncLookupContinuation> next) override {
    jitlink::AsyncLookupResult found;
    for (const auto& [symbol, flags] : symbols) {
      const std::string name = (*symbol).str();
      void* address = resolver_(name);
      if (address == nullptr) address = dlsym(RTLD_DEFAULT, name.c_str());
      if (address == nullptr) {
        error_.missing = name;
        next->run(llvm::createStringError("no symbol " + name));
        return;
      }
      found[symbol] = {llvm::orc::ExecutorAddr::fromPtr(address), llvm::JITSymbolFlags::Exported};
    }
    next->run(std::move(found));
  }

  llvm::Error notifyResolved(jitlink::LinkGraph& graph) override {
    for (const jitlink::Symbol* symbol : graph.defined_symbols())
      if (symbol->hasName() && *symbol->getName() == kEntrySymbol)
        code_.entry = symbol->getAddress().toPtr<CodeEntry>();
    return llvm::Error::success();
  }

  void notifyFinalized(jitlink::JITLinkMemoryManager::FinalizedAlloc allocation) override {
    code_.allocation = std::move(allocation);
  }

 private:
  JitLinkedCode& code_;
  const SymbolResolver& resolver_;
  LinkError& error_;
};

}  // namespace

std::unique_ptr<LinkedCode> link(const std::string& object, const SymbolResolver& resolver, LinkError& error) {
  // The linker lets go of names after its graph.
  const auto names = std::make_shared<llvm::orc::SymbolStringPool>();
  auto graph = jitlink::createLinkGraphFromObject(llvm::MemoryBufferRef(object, "kernel"), names);
  if (!graph) {
    error.what = llvm::toString(graph.takeError());
    return nullptr;
  }
  auto code = std::make_unique<JitLinkedCode>();
  jitlink::link(std::move(*graph), std::make_unique<Context>(*code, resolver, error));
  if (code->entry == nullptr || !code->allocation) {
    if (error.what.empty()) error.what = "the object has no kernel";
    return nullptr;
  }
  return code;
}

}  // namespace warploom::codegen

// The versions of a kernel: compiled, linked, published.
#include "codegen/jit.hpp"

#include <chrono>
#include <mutex>
#include <optional>

#include "backend/llvm_jit.hpp"
#include "cache/store.hpp"
#include "codegen/compile.hpp"
#include "codegen/compile_pool.hpp"
#include "codegen/linker.hpp"
#include "codegen/object_cache.hpp"
#include "codegen/ops.hpp"

namespace warploom::codegen {

namespace {

using Clock = std::chrono::steady_clock;

std::atomic<std::uint64_t> next_id{1};
std::atomic<std::uint64_t> compiled_count{0}, loaded_count{0};

Diag undefined_variable(const std::string& variable, const std::string& kernel) {
  Diag d;
  d.id = ErrorId::unresolved_symbol;
  d.what = "variable '" + variable + "' is declared but not defined";
  d.where = "kernel " + kernel;
  d.remedy = "link the module that defines it";
  return d;
}

// How long a version was waited for: from the first thread that did to the first that went on.
class Wait {
 public:
  void begin() {
    const std::lock_guard lock(mutex_);
    if (!begun_) begun_ = Clock::now();
  }
  void end() {
    const std::lock_guard lock(mutex_);
    if (!ended_) ended_ = Clock::now();
  }
  double seconds() {
    const std::lock_guard lock(mutex_);
    return ended_ ? std::chrono::duration<double>(*ended_ - *begun_).count() : 0;
  }

 private:
  std::mutex mutex_;
  std::optional<Clock::time_point> begun_, ended_;
};

}  // namespace

struct KernelCode::Impl {
  struct Version final : CompileTask {
    Impl* owner = nullptr;
    Mode mode{};
    // Written by run(), read by others once the entry is published or the task is done.
    CompiledVersion compiled;
    std::unique_ptr<LinkedCode> linked;
    std::optional<Diag> error;
    double seconds = 0;
    Wait wait;

    void run() override;
    bool load(const std::string& key);
    Result<void> make(const std::function<bool()>& cancelled);
    [[nodiscard]] SymbolResolver resolver() const {
      return [this](const std::string& name) { return owner->resolve(name); };
    }
    [[nodiscard]] Diag link_error(const LinkError& failure) const;
  };

  std::shared_ptr<KernelPlan> plan;
  std::span<const HostSymbol> symbols;
  GlobalResolver globals;
  std::atomic<bool> abandoned{false};
  std::array<std::atomic<CodeEntry>, kModes> entries{};
  std::array<Version, kModes> versions;
  std::vector<StaticCount> no_counts;

  void* resolve(const std::string& name) {
    if (name.starts_with(kVariablePrefix)) {
      // The module may go away at any time.
      void* address = nullptr;
      CompilePool::get().exclusively([&] {
        if (!abandoned) address = globals(name.substr(std::string_view(kVariablePrefix).size()));
      });
      return address;
    }
    for (const HostSymbol& s : symbols)
      if (s.name == name) return s.address;
    for (const HostFn& fn : host_functions())
      if (fn.name == name) return fn.address;
    return nullptr;
  }
};

void KernelCode::Impl::Version::run() {
  const auto start = Clock::now();
  error.reset();
  const std::string key = cache::settings().enabled ? cache_key(*owner->plan, mode) : "";
  bool save = false;
  if (!load(key) && !error) {
    // What is begun is of use to the next process, though not to this one.
    const bool keep = !key.empty();
    if (auto ok = make([this, keep] { return !keep && owner->abandoned; }); !ok) error = std::move(ok.error());
    save = keep && !compiled.object.empty();
  }
  seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (!error) owner->entries[static_cast<std::size_t>(mode)].store(linked->entry, std::memory_order_release);
  if (save) save_cached(key, *owner->plan, mode, compiled);
}

// From the disk cache. An entry that cannot be linked is as good as none, unless a variable is to blame.
bool KernelCode::Impl::Version::load(const std::string& key) {
  if (key.empty()) return false;
  auto found = load_cached(key, *owner->plan);
  if (!found) return false;
  compiled = std::move(*found);
  LinkError failure;
  linked = link(compiled.object, resolver(), failure);
  if (linked == nullptr && failure.missing.starts_with(kVariablePrefix)) error = link_error(failure);
  if (linked != nullptr) ++loaded_count;
  return linked != nullptr;
}

Result<void> KernelCode::Impl::Version::make(const std::function<bool()>& cancelled) {
  compiled = {};
  auto made = compile(*owner->plan, mode, cancelled);
  if (!made) return std::move(made.error());
  ++compiled_count;
  compiled = std::move(*made);
  if (owner->abandoned) return jit_error(owner->plan->f().name, "cancelled");
  LinkError failure;
  linked = link(compiled.object, resolver(), failure);
  if (linked == nullptr) return link_error(failure);
  return {};
}

Diag KernelCode::Impl::Version::link_error(const LinkError& failure) const {
  const std::string& kernel = owner->plan->f().name;
  if (failure.missing.starts_with(kVariablePrefix))
    return undefined_variable(failure.missing.substr(std::string_view(kVariablePrefix).size()), kernel);
  return jit_error(kernel, failure.what);
}

KernelCode::KernelCode(std::shared_ptr<KernelPlan> plan, std::span<const HostSymbol> symbols, GlobalResolver globals)
    : impl_(std::make_shared<Impl>()), plan_(std::move(plan)), entries_(impl_->entries), id_(next_id++) {
  impl_->plan = plan_;
  impl_->symbols = symbols;
  impl_->globals = std::move(globals);
  impl_->no_counts.resize(plan_->sites.size());
  for (std::size_t m = 0; m < impl_->versions.size(); ++m) {
    impl_->versions[m].owner = impl_.get();
    impl_->versions[m].mode = static_cast<Mode>(m);
  }
}

KernelCode::~KernelCode() {
  CompilePool& pool = CompilePool::get();
  pool.exclusively([&] { impl_->abandoned = true; });
  for (auto& version : impl_->versions) pool.withdraw(std::shared_ptr<CompileTask>(impl_, &version));
}

void KernelCode::request(Mode mode) {
  const auto submit = [&](Mode m, Urgency urgency) {
    if (ready(m) != nullptr) return;
    CompilePool::get().submit(std::shared_ptr<CompileTask>(impl_, &impl_->versions[static_cast<std::size_t>(m)]),
                              urgency);
  };
  submit(mode, Urgency::wanted);
  if (mode == plan_->main_mode() && plan_->parts) submit(Mode::masked, Urgency::likely);
}

Result<CodeEntry> KernelCode::entry(Mode mode) {
  if (CodeEntry e = ready(mode)) return e;
  if (mode == plan_->main_mode() && plan_->parts) request(mode);
  Impl::Version& version = impl_->versions[static_cast<std::size_t>(mode)];
  version.wait.begin();
  CompilePool::get().finish(std::shared_ptr<CompileTask>(impl_, &version));
  version.wait.end();
  if (CodeEntry e = ready(mode)) return e;
  return *version.error;
}

const std::vector<StaticCount>& KernelCode::static_counts() const {
  const Mode mode = plan_->main_mode();
  return ready(mode) != nullptr ? impl_->versions[static_cast<std::size_t>(mode)].compiled.static_counts
                                : impl_->no_counts;
}

CodeStatistics code_statistics() { return {compiled_count, loaded_count}; }

double KernelCode::waited_seconds() const {
  double sum = 0;
  for (auto& version : impl_->versions) sum += version.wait.seconds();
  return sum;
}

double KernelCode::compile_seconds() const {
  double sum = 0;
  for (std::size_t m = 0; m < impl_->versions.size(); ++m)
    if (ready(static_cast<Mode>(m)) != nullptr) sum += impl_->versions[m].seconds;
  return sum;
}

bool KernelCode::locate(const void* pc, CodePlace& place) const {
  const auto at = reinterpret_cast<std::uint64_t>(pc);
  for (std::size_t m = 0; m < impl_->versions.size(); ++m) {
    const auto entry = reinterpret_cast<std::uint64_t>(ready(static_cast<Mode>(m)));
    if (entry == 0 || at < entry) continue;
    const CompiledVersion& version = impl_->versions[m].compiled;
    auto object = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(version.object, "kernel"));
    if (!object) {
      llvm::consumeError(object.takeError());
      continue;
    }
    for (const llvm::object::SymbolRef& symbol : (*object)->symbols()) {
      auto name = symbol.getName();
      if (!name || *name != kEntrySymbol) {
        if (!name) llvm::consumeError(name.takeError());
        continue;
      }
      auto address = symbol.getAddress();
      auto section = symbol.getSection();
      if (!address || !section) continue;
      if (at >= entry + llvm::object::ELFSymbolRef(symbol).getSize()) continue;
      auto dwarf = llvm::DWARFContext::create(**object);
      const llvm::object::SectionedAddress where{*address + (at - entry), (*section)->getIndex()};
      auto line = dwarf->getLineInfoForAddress(where);
      if (!line || line->Line == 0 || line->Line > version.debug_lines.size()) return false;
      const auto& [block, index] = version.debug_lines[line->Line - 1];
      place = {block, index};
      return true;
    }
  }
  return false;
}

}  // namespace warploom::codegen

// What identifies a version of a kernel, and how it is written to a file.
#include "codegen/object_cache.hpp"

#include <type_traits>

#include "backend/llvm_jit.hpp"
#include "cache/store.hpp"

namespace warploom::codegen {

namespace {

constexpr const char* kCodeVersion =
#include "codegen/code_version.inc"
    ;
constexpr std::uint32_t kFormat = 1;

class Writer {
 public:
  template <class T>
  Writer& operator<<(const T& value) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    out_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Writer& operator<<(const std::string& text) {
    *this << text.size();
    out_ += text;
    return *this;
  }
  template <class T>
  Writer& operator<<(const std::vector<T>& values) {
    *this << values.size();
    for (const T& v : values) *this << v;
    return *this;
  }
  Writer& operator<<(const ptx::Operand& o) {
    return *this << o.kind << o.negated << o.minus << o.reg << o.pair << o.imm << o.symbol << o.elements;
  }
  Writer& operator<<(const ir::Inst& inst) {
    const ptx::Instr& p = inst.p;
    *this << p.op << p.mods.size();
    for (std::size_t m = 0; m < p.mods.size(); ++m)
      if (p.mods.test(m)) *this << m;
    *this << p.mods.size();
    for (const isa::Type t : p.types) *this << t;
    return *this << p.type_count << p.guard << p.guard_negated << p.used_bytes << p.operands << inst.site
                 << inst.second_site << inst.variable;
  }
  Writer& operator<<(const ir::Block& b) {
    return *this << b.insts << b.succs << b.preds << b.starts_with_sync << b.ends_with_barrier << b.ends << b.loop_depth
                 << b.loop_last << b.spin_loop;
  }
  Writer& operator<<(const ir::Variable& v) { return *this << v.name << v.place << v.offset << v.bytes; }
  Writer& operator<<(const ir::Value& v) { return *this << v.type << v.defs << v.invariant; }

  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

// Reads what Writer wrote; whatever the bytes are, it stays within them.
class Reader {
 public:
  explicit Reader(std::string_view in) : in_(in) {}
  template <class T>
  bool read(T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (in_.size() < sizeof value) return false;
    in_.copy(reinterpret_cast<char*>(&value), sizeof value);
    in_.remove_prefix(sizeof value);
    return true;
  }
  bool read(std::string& text) {
    std::size_t size = 0;
    if (!read(size) || in_.size() < size) return false;
    text = in_.substr(0, size);
    in_.remove_prefix(size);
    return true;
  }
  bool read_count(std::size_t& count, std::size_t each) { return read(count) && count <= in_.size() / each; }
  [[nodiscard]] bool at_end() const { return in_.empty(); }

 private:
  std::string_view in_;
};

std::string llvm_version() {
  unsigned major = 0, minor = 0, patch = 0;
  LLVMGetVersion(&major, &minor, &patch);
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

cache::Store store() { return {cache::settings().root, "kernels"}; }

}  // namespace

std::string cache_key(const KernelPlan& plan, Mode mode) { return cache_key(plan, mode, target_of_host()); }

std::string cache_key(const KernelPlan& plan, Mode mode, const std::string& target) {
  static const std::string& made_by = *new std::string(std::string(kCodeVersion) + " LLVM " + llvm_version());
  const ir::Function& f = plan.f();
  Writer w;
  w << kFormat << made_by << target << mode << plan.block.x << plan.block.y << plan.block.z << plan.counting
    << plan.checking << plan.enters_loops;
  w << f.values << f.blocks << f.variables << f.shared_bytes << f.dynamic_shared_align << f.local_bytes << f.barriers;
  const std::string text = w.take();
  llvm::BLAKE3 hash;
  hash.update(llvm::StringRef(text));
  const auto digest = hash.final<32>();
  return llvm::toHex(llvm::ArrayRef<std::uint8_t>(digest.data(), digest.size()), true);
}

void save_cached(const std::string& key, const KernelPlan& plan, Mode mode, const CompiledVersion& version) {
  const cache::Settings settings = cache::settings();
  if (!settings.enabled) return;
  std::string label = plan.f().name + " " + name_of(mode);
  if (plan.counting) label += " counting";
  if (plan.checking) label += " checking";
  Writer w;
  w << version.object << version.static_counts.size();
  for (const StaticCount& c : version.static_counts)
    w << c.requests << c.sectors << c.ideal_sectors << c.wavefronts << c.ideal_wavefronts << c.lanes;
  w << version.debug_lines.size();
  for (const auto& [block, index] : version.debug_lines) w << block << static_cast<std::uint32_t>(index);
  store().save(key, label, w.take(), settings.limit);
}

std::optional<CompiledVersion> load_cached(const std::string& key, const KernelPlan& plan) {
  if (!cache::settings().enabled) return {};
  const auto value = store().load(key);
  if (!value) return {};
  Reader r(*value);
  CompiledVersion out;
  std::size_t count = 0;
  if (!r.read(out.object) || !r.read_count(count, 6 * sizeof(std::uint32_t)) || count != plan.sites.size()) return {};
  out.static_counts.resize(count);
  for (StaticCount& c : out.static_counts)
    if (!r.read(c.requests) || !r.read(c.sectors) || !r.read(c.ideal_sectors) || !r.read(c.wavefronts) ||
        !r.read(c.ideal_wavefronts) || !r.read(c.lanes))
      return {};
  if (!r.read_count(count, sizeof(ir::BlockId) + sizeof(std::uint32_t))) return {};
  out.debug_lines.resize(count);
  for (auto& [block, index] : out.debug_lines) {
    std::uint32_t i = 0;
    if (!r.read(block) || !r.read(i) || block < 0 || static_cast<std::size_t>(block) >= plan.f().blocks.size())
      return {};
    index = i;
  }
  if (!r.at_end()) return {};
  return out;
}

}  // namespace warploom::codegen

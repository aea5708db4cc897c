// Inlining of calls: PTX call sequences become moves through scratch variables.
#include "ir/flatten.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "ir/call_graph.hpp"
#include "ir/copies.hpp"
#include "ir/device_functions.hpp"
#include "ir/expansion.hpp"
#include "ir/frames.hpp"
#include "ir/synthetic.hpp"

namespace warploom::ir {
namespace {

using ptx::Operand;

constexpr std::size_t kMaxInstructions = 2'000'000;

// Functions that the device has itself, with the numbers of their results and arguments.
const std::map<std::string, std::pair<std::size_t, std::size_t>, std::less<>>& provided() {
  static const std::map<std::string, std::pair<std::size_t, std::size_t>, std::less<>> table = {
      {"vprintf", {1, 2}}, {"malloc", {1, 1}}, {"free", {0, 1}}, {"__assertfail", {0, 5}}};
  return table;
}

class Flattener {
 public:
  Flattener(Function& function) : f_(function), module_(*function.module) {}

  Result<FlatCode> run() {
    for (const ptx::Param& p : f_.entry->params) {
      Variable v{p.name, Variable::Place::kernel_param, p.offset, p.bytes};
      kernel_scope_[p.name] = add_variable(v);
    }
    auto calls = find_calls(module_, *f_.entry, [this](const ptx::Function& fn) { return body_of(fn); });
    if (!calls) return std::move(calls.error());
    calls_ = std::move(*calls);
    if (calls_.allocates || !calls_.outlined.empty()) frames_.start();
    WL_TRY(expand(*f_.entry, kernel_scope_, -1, true));
    std::vector<std::size_t> ends;
    // More may be found while the code of some is written.
    for (std::size_t k = 0; k < outlined_.size(); ++k) {
      Frame& frame = *outlined_[k];
      bind(frame.entry);
      frame_ = &frame;
      WL_TRY(expand(*frame.function, frame.scope, -1, false));
      frames_.leave();
      ends.push_back(code_.insts.size() - 1);
    }
    for (std::size_t k = 0; k < outlined_.size(); ++k) code_.insts[ends[k]].targets = outlined_[k]->sites;
    return std::move(code_);
  }

 private:
  using Scope = std::unordered_map<std::string, std::int32_t>;

  std::int32_t add_variable(Variable v) {
    f_.variables.push_back(std::move(v));
    return static_cast<std::int32_t>(f_.variables.size() - 1);
  }

  Diag error(ErrorId id, const ptx::Function& fn, std::uint32_t line, std::string what, std::string remedy) const {
    Diag d;
    d.id = id;
    d.what = std::move(what);
    d.loc = module_.place(line);
    d.where = "kernel " + f_.name + (fn.name != f_.name ? ", function " + fn.name : "");
    d.remedy = std::move(remedy);
    return d;
  }

  Result<std::shared_ptr<ptx::Body>> body_of(const ptx::Function& fn) {
    auto it = bodies_.find(&fn);
    if (it != bodies_.end()) return it->second;
    const ptx::Module& own = device_functions();
    auto body = ptx::parse_body(own.find_function(fn.name) == &fn ? own : module_, fn);
    if (body) bodies_[&fn] = *body;
    return body;
  }

  std::int32_t new_label() {
    code_.labels.push_back(0);
    return static_cast<std::int32_t>(code_.labels.size() - 1);
  }
  void bind(std::int32_t label) {
    code_.labels[static_cast<std::size_t>(label)] = static_cast<std::uint32_t>(code_.insts.size());
  }

  FlatInst make_branch(std::int32_t target, std::int32_t guard, bool negated) const {
    FlatInst b;
    b.inst.p.op = isa::Op::bra;
    b.inst.p.guard = guard;
    b.inst.p.guard_negated = negated;
    b.targets = {target};
    return b;
  }

  std::uint64_t align_up(std::uint64_t x, std::uint64_t a) const { return a <= 1 ? x : (x + a - 1) / a * a; }

  // Finds or places a module-level variable.
  std::int32_t module_variable(const std::string& name) {
    auto it = globals_.find(name);
    if (it != globals_.end()) return it->second;
    std::int32_t id = -1;
    if (const ptx::Variable* v = module_.find_variable(name)) {
      id = v->space == isa::Space::shared  ? place_shared(*v)
           : v->space == isa::Space::local ? place_local(name, v->bytes, v->align)
                                           : add_variable({name, Variable::Place::global, 0, v->bytes});
    } else if (const ptx::Function* fn = module_.find_function(name)) {
      id = add_variable({name, Variable::Place::function, function_address(module_, *fn), 0});
    }
    if (id >= 0) globals_[name] = id;
    return id;
  }

  std::int32_t place_shared(const ptx::Variable& v) {
    if (v.unsized_array || (v.linkage == ptx::Linkage::external && v.bytes == 0)) {
      f_.dynamic_shared_align = std::max(f_.dynamic_shared_align, v.align);
      return add_variable({v.name, Variable::Place::dynamic_shared, 0, 0});
    }
    const std::uint64_t at = align_up(f_.shared_bytes, v.align);
    f_.shared_bytes = static_cast<std::uint32_t>(at + v.bytes);
    return add_variable({v.name, Variable::Place::shared, at, v.bytes});
  }

  std::int32_t place_local(const std::string& name, std::uint64_t bytes, std::uint32_t align) {
    const std::uint64_t at = align_up(f_.local_bytes, std::max(align, 4U));
    f_.local_bytes = static_cast<std::uint32_t>(at + bytes);
    return add_variable({name, Variable::Place::local, at, bytes});
  }

  // Variables of a body; static shared ones exist once however often the function is inlined.
  void declare(const ptx::Function& fn, const ptx::Body& body, Scope& scope, bool has_frame) {
    for (const ptx::Variable& v : body.variables) {
      switch (v.space) {
        case isa::Space::shared: {
          const std::string key = fn.name + "/" + v.name;
          auto it = globals_.find(key);
          if (it == globals_.end()) it = globals_.emplace(key, place_shared(v)).first;
          scope[v.name] = it->second;
          break;
        }
        case isa::Space::global:
        case isa::Space::constant: {
          // One that is only declared here stands for the module's.
          const auto it = fn.globals.find(v.name);
          if (const std::int32_t id = module_variable(it == fn.globals.end() ? v.name : it->second); id >= 0)
            scope[v.name] = id;
          break;
        }
        default:
          if (!has_frame) scope[v.name] = place_local(v.name, v.bytes, v.align);
      }
    }
  }

  // Table entry for a .loc of this expansion.
  std::int32_t source(const ptx::Body& body, std::int32_t loc, std::int32_t call_site,
                      std::map<std::int32_t, std::int32_t>& cache) {
    if (loc < 0) return call_site;
    auto it = cache.find(loc);
    if (it != cache.end()) return it->second;
    Source s;
    const auto place = [&](const ptx::Loc& l) {
      SourceLoc out;
      auto file = module_.files.find(l.file);
      out.file = file == module_.files.end() ? std::string() : file->second;
      out.line = l.line;
      out.column = l.column;
      return out;
    };
    const ptx::Loc* l = &body.locs[static_cast<std::size_t>(loc)];
    s.loc = place(*l);
    for (int depth = 0; l->inlined_at >= 0 && depth < 64; ++depth) {
      l = &body.locs[static_cast<std::size_t>(l->inlined_at)];
      s.inlined_at.push_back(place(*l));
    }
    if (call_site >= 0) {
      const Source& outer = f_.sources[static_cast<std::size_t>(call_site)];
      s.inlined_at.push_back(outer.loc);
      s.inlined_at.insert(s.inlined_at.end(), outer.inlined_at.begin(), outer.inlined_at.end());
    }
    f_.sources.push_back(std::move(s));
    const auto id = static_cast<std::int32_t>(f_.sources.size() - 1);
    cache[loc] = id;
    return id;
  }

  Result<void> expand(const ptx::Function& fn, const Scope& params, std::int32_t call_site, bool is_kernel) {
    auto body_result = body_of(fn);
    if (!body_result) return body_result.error();
    const ptx::Body& body = **body_result;
    const bool has_frame = frame_ != nullptr && frame_->function == &fn;

    Scope scope = params;
    declare(fn, body, scope, has_frame);
    std::int32_t first_value = has_frame ? frame_->first_value : static_cast<std::int32_t>(f_.values.size());
    if (!has_frame)
      for (const ptx::Register& r : body.registers) f_.values.push_back({r.type, r.name, 0, false});
    const auto in_registers = std::exchange(in_registers_, {});
    const auto move_registers = [&](bool results) {
      for (const InRegister& r : in_registers)
        if (r.is_result == results) pass_in_register(body, first_value, r);
    };
    move_registers(false);
    const bool allocates =
        !is_kernel && !has_frame && std::any_of(body.instrs.begin(), body.instrs.end(), [](const auto& p) {
          return p.op == isa::Op::alloca || p.op == isa::Op::stackrestore;
        });
    const ValueId stack = allocates ? frames_.mark() : -1;

    std::unordered_map<std::string, std::int32_t> label_ids;
    std::multimap<std::uint32_t, std::int32_t> at;
    for (const auto& [name, index] : body.labels) {
      const std::int32_t id = new_label();
      label_ids[name] = id;
      at.emplace(index, id);
    }
    const std::int32_t end = new_label();
    std::map<std::int32_t, std::int32_t> sources;

    for (std::uint32_t i = 0; i < body.instrs.size(); ++i) {
      for (auto [it, last] = at.equal_range(i); it != last; ++it) bind(it->second);
      if (code_.insts.size() > kMaxInstructions)
        return error(ErrorId::unsupported_instruction, fn, fn.line,
                     "inlining the calls of this kernel gives too much code", "split the kernel");
      FlatInst flat;
      flat.inst.p = body.instrs[i];
      ptx::Instr& p = flat.inst.p;
      if (p.form != nullptr && p.form->emit == "unsupported")
        return error(ErrorId::unsupported_instruction, fn, p.line,
                     "'" + ptx::print(*f_.module, body, p) + "' is not supported: " + std::string(p.form->reason),
                     "see `warploom isa " + std::string(isa::name(p.op)) + "` for the forms that run");
      flat.inst.source = source(body, p.loc, call_site, sources);
      if (p.guard >= 0) p.guard += first_value;
      flat.inst.variable.assign(p.operands.size(), -1);
      for (std::size_t k = 0; k < p.operands.size(); ++k) rebase(p.operands[k], first_value);
      WL_TRY(compute_operands(fn, scope, flat, is_kernel));

      if (p.op == isa::Op::call) {
        WL_TRY(expand_call(fn, body, scope, std::move(flat)));
        continue;
      }
      if (p.op == isa::Op::barrier && p.has(isa::Mod::cluster) && p.has(isa::Mod::wait)) {
        wait_for_cluster(flat);
        continue;
      }
      if (p.op == isa::Op::alloca || p.op == isa::Op::stacksave || p.op == isa::Op::stackrestore) {
        frames_.allocate(flat);
        continue;
      }
      if (p.op == isa::Op::bra) {
        flat.targets = {label_ids.at(p.operands.at(0).symbol)};
      } else if (p.op == isa::Op::brx) {
        auto it = body.branch_targets.find(p.operands.at(1).symbol);
        if (it == body.branch_targets.end())
          return error(ErrorId::ptx_undefined_name, fn, p.line, "brx.idx names no .branchtargets list",
                       "declare the list");
        for (const std::string& label : it->second) flat.targets.push_back(label_ids.at(label));
      } else if (p.op == isa::Op::ret && !is_kernel) {
        code_.insts.push_back(make_branch(end, p.guard, p.guard_negated));
        continue;
      } else {
        WL_TRY(resolve_symbols(fn, scope, flat, is_kernel));
        if (split_copy(f_, flat, code_) || expand_compound(f_, flat, code_)) continue;
      }
      code_.insts.push_back(std::move(flat));
    }
    for (auto [it, last] = at.equal_range(static_cast<std::uint32_t>(body.instrs.size())); it != last; ++it)
      bind(it->second);
    bind(end);
    move_registers(true);
    if (allocates) frames_.release(stack);
    if (is_kernel) {
      FlatInst exit;
      exit.inst.p.op = isa::Op::exit;
      code_.insts.push_back(std::move(exit));
    }
    return {};
  }

  // Sums and elements of arrays as operands are computed before the instruction.
  Result<void> compute_operands(const ptx::Function& fn, const Scope& scope, FlatInst& flat, bool is_kernel) {
    for (Operand& o : flat.inst.p.operands) {
      if (o.kind == Operand::Kind::reg && o.imm != 0) {
        const isa::Type type = f_.values[static_cast<std::size_t>(o.reg)].type;
        const Operand sum = new_value(unsigned_of(type));
        add_pure(flat, isa::Op::add, {unsigned_of(type)}, {sum, value_operand(o.reg), number(std::exchange(o.imm, 0))});
        o.reg = sum.reg;
      }
      if (o.scale == 0) continue;
      const isa::Type type = f_.values[static_cast<std::size_t>(o.reg)].type;
      const Operand at = new_value(isa::Type::u64), base = new_value(isa::Type::u64);
      const isa::Type index = unsigned_of(type);
      Operand from = value_operand(o.reg);
      if (o.imm != 0) {
        // An H200 adds in the width of the index.
        from = new_value(index);
        add_pure(flat, isa::Op::add, {index},
                 {from, value_operand(o.reg),
                  number(static_cast<std::uint64_t>(static_cast<std::int64_t>(o.imm) / o.scale))});
      }
      add_pure(flat, isa::Op::cvt, {isa::Type::u64, index}, {at, from});
      add_pure(flat, isa::Op::mul, {isa::Type::u64}, {at, at, number(o.scale)}, isa::Mod::lo);
      Operand symbol = o;
      symbol.kind = Operand::Kind::symbol;
      symbol.reg = -1;
      symbol.scale = 0;
      symbol.imm = 0;
      FlatInst address = pure(flat, isa::Op::mov, {isa::Type::u64}, {base, symbol});
      WL_TRY(resolve_symbols(fn, scope, address, is_kernel));
      code_.insts.push_back(std::move(address));
      add_pure(flat, isa::Op::add, {isa::Type::u64}, {at, at, base});
      if (o.kind == Operand::Kind::symbol) o.kind = Operand::Kind::reg;
      o.reg = at.reg;
      o.imm = 0;
      o.scale = 0;
      o.symbol.clear();
    }
    return {};
  }

  static isa::Type unsigned_of(isa::Type type) {
    return isa::bits(type) == 64 ? isa::Type::u64 : isa::bits(type) == 16 ? isa::Type::u16 : isa::Type::u32;
  }
  Operand new_value(isa::Type type) {
    f_.values.push_back({type, "%operand", 0, false});
    return value_operand(static_cast<std::int32_t>(f_.values.size() - 1));
  }
  static Operand value_operand(std::int32_t reg) {
    Operand o;
    o.reg = reg;
    return o;
  }
  static Operand number(std::uint64_t v) {
    Operand o;
    o.kind = Operand::Kind::imm;
    o.imm = v;
    return o;
  }
  // An instruction at the place of `flat`, for all lanes.
  static FlatInst pure(const FlatInst& flat, isa::Op op, std::initializer_list<isa::Type> types,
                       std::vector<Operand> operands) {
    FlatInst out;
    ptx::Instr& p = out.inst.p;
    out.inst.source = flat.inst.source;
    p.op = op;
    p.line = flat.inst.p.line;
    p.loc = flat.inst.p.loc;
    for (const isa::Type t : types) p.types[p.type_count++] = t;
    out.inst.variable.assign(operands.size(), -1);
    p.operands = std::move(operands);
    set_form(p);
    return out;
  }
  void add_pure(const FlatInst& flat, isa::Op op, std::initializer_list<isa::Type> types, std::vector<Operand> operands,
                std::optional<isa::Mod> mod = {}) {
    FlatInst out = pure(flat, op, types, std::move(operands));
    if (mod) {
      set(out.inst.p, *mod);
      set_form(out.inst.p);
    }
    code_.insts.push_back(std::move(out));
  }

  // A loop that asks until the phase is over: others run at its back edge.
  void wait_for_cluster(const FlatInst& flat) {
    const ptx::Instr& p = flat.inst.p;
    const std::int32_t after = new_label(), again = new_label();
    if (p.guard >= 0) code_.insts.push_back(make_branch(after, p.guard, !p.guard_negated));
    bind(again);
    const auto ready = static_cast<std::int32_t>(f_.values.size());
    f_.values.push_back({isa::Type::pred, kClusterReady, 0, false});
    FlatInst ask;
    ask.inst.source = flat.inst.source;
    ask.inst.p.op = isa::Op::mov;
    ask.inst.p.line = p.line;
    ask.inst.p.types[ask.inst.p.type_count++] = isa::Type::pred;
    Operand d, state;
    d.reg = ready;
    state.kind = Operand::Kind::sreg;
    state.symbol = kClusterReady;
    ask.inst.p.operands = {d, state};
    ask.inst.variable = {-1, -1};
    set_form(ask.inst.p);
    code_.insts.push_back(std::move(ask));
    code_.insts.push_back(make_branch(again, ready, true));
    bind(after);
  }

  static void rebase(Operand& o, std::int32_t first) {
    if (o.kind != Operand::Kind::label && o.reg >= 0) o.reg += first;
    if (o.pair >= 0) o.pair += first;
    for (Operand& e : o.elements) rebase(e, first);
  }

  Result<void> resolve_symbols(const ptx::Function& fn, const Scope& scope, FlatInst& flat, bool is_kernel) {
    ptx::Instr& p = flat.inst.p;
    for (std::size_t k = 0; k < p.operands.size(); ++k) {
      const Operand& o = p.operands[k];
      if ((o.kind != Operand::Kind::symbol && o.kind != Operand::Kind::address) || o.symbol.empty()) continue;
      auto it = scope.find(o.symbol);
      const std::int32_t id = it != scope.end() ? it->second : module_variable(o.symbol);
      if (id < 0)
        return error(ErrorId::unresolved_symbol, fn, p.line, "symbol '" + o.symbol + "' is not defined",
                     "link the module that defines it");
      flat.inst.variable[k] = id;
      if (in_frame(id)) frames_.name_in_frame(flat, k);
    }
    // In a device function, and for the scratch of a call, parameter space is the thread's own memory.
    if (p.has(isa::Mod::param) && (p.op == isa::Op::ld || p.op == isa::Op::st)) {
      const std::size_t k = p.op == isa::Op::st ? 0 : 1;
      const std::int32_t id = k < flat.inst.variable.size() ? flat.inst.variable[k] : -1;
      const bool local =
          id >= 0 ? f_.variables[static_cast<std::size_t>(id)].place == Variable::Place::local : !is_kernel;
      if (local) {
        clear(p, isa::Mod::param);
        set(p, isa::Mod::local);
      }
    }
    return {};
  }

  Result<void> expand_call(const ptx::Function& caller, const ptx::Body& body, const Scope& scope, FlatInst flat) {
    const ptx::Instr p = flat.inst.p;
    // Operands: [returns list] callee [arguments list] [prototype].
    const Operand* returns = nullptr;
    const Operand* callee = nullptr;
    const Operand* args = nullptr;
    const Operand* prototype = nullptr;
    for (const Operand& o : p.operands) {
      if (o.kind == Operand::Kind::list)
        (callee == nullptr ? returns : args) = &o;
      else if (callee == nullptr)
        callee = &o;
      else
        prototype = &o;
    }
    WL_INTERNAL("flatten", callee != nullptr, "call without a callee");

    const std::int32_t after = new_label();
    if (p.guard >= 0) code_.insts.push_back(make_branch(after, p.guard, !p.guard_negated));

    if (callee->kind != Operand::Kind::reg) {
      const ptx::Function* target = called_function(module_, callee->symbol);
      if (target == nullptr || !target->has_body) target = device_functions().find_function(callee->symbol);
      if (target != nullptr && target->has_body) {
        WL_TRY(direct_call(caller, scope, *target, returns, args, flat.inst));
      } else {
        flat.inst.p.guard = -1;
        WL_TRY(builtin_call(caller, scope, flat, callee->symbol, returns, args));
      }
    } else {
      auto it = prototype == nullptr ? body.prototypes.end() : body.prototypes.find(prototype->symbol);
      if (it == body.prototypes.end())
        return error(ErrorId::ptx_undefined_name, caller, p.line, "indirect call without a .callprototype",
                     "declare the prototype");
      std::vector<const ptx::Function*> candidates;
      for (const ptx::Function& c : module_.functions)
        if (!c.is_entry && c.has_body && matches(c, it->second)) candidates.push_back(&c);
      for (const ptx::Function* c : candidates) {
        const std::int32_t next = new_label();
        const auto pred = static_cast<std::int32_t>(f_.values.size());
        f_.values.push_back({isa::Type::pred, "%callee_is", 0, false});
        FlatInst test;
        test.inst.source = flat.inst.source;
        test.inst.p.op = isa::Op::setp;
        test.inst.p.line = p.line;
        set(test.inst.p, isa::Mod::eq);
        test.inst.p.types[0] = isa::Type::u64;
        test.inst.p.type_count = 1;
        Operand d, a, b;
        d.reg = pred;
        a.reg = callee->reg;
        b.kind = Operand::Kind::symbol;
        b.symbol = c->name;
        test.inst.p.operands = {d, a, b};
        test.inst.variable = {-1, -1, module_variable(c->name)};
        set_form(test.inst.p);
        code_.insts.push_back(std::move(test));
        code_.insts.push_back(make_branch(next, pred, true));
        WL_TRY(direct_call(caller, scope, *c, returns, args, flat.inst));
        code_.insts.push_back(make_branch(after, -1, false));
        bind(next);
      }
      FlatInst trap;
      trap.inst.p.op = isa::Op::trap;
      trap.inst.p.line = p.line;
      trap.inst.source = flat.inst.source;
      trap.inst.reason = Inst::Reason::no_function;
      code_.insts.push_back(std::move(trap));
    }
    bind(after);
    return {};
  }

  [[nodiscard]] bool in_frame(std::int32_t variable) const {
    return f_.variables[static_cast<std::size_t>(variable)].place == Variable::Place::frame;
  }

  // A parameter that is a register of the function's body.
  struct InRegister {
    std::string name;
    Operand actual;
    bool is_result = false;
    std::int32_t source = -1;
    Operand between = {};  // where the value is on the way to a function that is not inlined
  };

  // A value of the call, or a vector of them, for a register parameter; false when it is something else.
  bool pass_in_registers(const ptx::Param& formal, const Operand& actual, bool is_result, const Inst& at,
                         std::vector<InRegister>& out) const {
    const auto is_value = [&](const Operand& o) {
      return o.kind == Operand::Kind::reg || (is_result && o.kind == Operand::Kind::sink) ||
             (!is_result &&
              (o.kind == Operand::Kind::imm || o.kind == Operand::Kind::imm_f32 || o.kind == Operand::Kind::imm_f64));
    };
    const std::size_t width = formal.bytes / std::max(1U, isa::bytes(formal.type));
    if (actual.kind != Operand::Kind::vector) {
      if (width > 1 || !is_value(actual)) return false;
      out.push_back({formal.name, actual, is_result, at.source});
      return true;
    }
    const std::vector<Operand>& elements = actual.elements;
    if (elements.size() != width || width > 4 || !std::all_of(elements.begin(), elements.end(), is_value)) return false;
    for (std::size_t i = 0; i < width; ++i)
      out.push_back({formal.name + "." + "xyzw"[i], elements[i], is_result, at.source});
    return true;
  }

  static std::int32_t register_of(const ptx::Body& body, std::int32_t first_value, const std::string& name) {
    for (std::size_t k = 0; k < body.registers.size(); ++k)
      if (body.registers[k].name == name) return first_value + static_cast<std::int32_t>(k);
    return -1;
  }
  void move_value(const Operand& to, const Operand& from, std::int32_t source) {
    if (to.kind == Operand::Kind::sink) return;
    FlatInst at;
    at.inst.source = source;
    add_pure(at, isa::Op::mov, {f_.values[static_cast<std::size_t>(to.reg)].type}, {to, from});
  }

  void pass_in_register(const ptx::Body& body, std::int32_t first_value, const InRegister& r) {
    const std::int32_t formal = register_of(body, first_value, r.name);
    if (formal < 0) return;
    move_value(r.is_result ? r.actual : value_operand(formal), r.is_result ? value_operand(formal) : r.actual,
               r.source);
  }

  // A register or constant that is passed where the function has a variable goes through one.
  std::int32_t variable_for(const ptx::Param& formal, const Operand& actual, bool is_result, const Inst& at) {
    const std::int32_t id = place_local("%passed", formal.bytes, std::max(formal.align, formal.bytes));
    if (!is_result) access_passed(id, formal, actual, false, at);
    return id;
  }
  void access_passed(std::int32_t id, const ptx::Param& formal, const Operand& actual, bool is_load, const Inst& at) {
    FlatInst flat;
    flat.inst.source = at.source;
    ptx::Instr& p = flat.inst.p;
    p.op = is_load ? isa::Op::ld : isa::Op::st;
    p.line = at.p.line;
    p.types[p.type_count++] = formal.bytes == 1   ? isa::Type::b8
                              : formal.bytes == 2 ? isa::Type::b16
                              : formal.bytes == 4 ? isa::Type::b32
                                                  : isa::Type::b64;
    set(p, isa::Mod::local);
    Operand address;
    address.kind = Operand::Kind::address;
    address.symbol = "%passed";
    p.operands = is_load ? std::vector{actual, address} : std::vector{address, actual};
    flat.inst.variable = is_load ? std::vector{-1, id} : std::vector{id, -1};
    set_form(p);
    code_.insts.push_back(std::move(flat));
  }

  Result<void> direct_call(const ptx::Function& caller, const Scope& scope, const ptx::Function& callee,
                           const Operand* returns, const Operand* args, const Inst& at) {
    const bool outlined = calls_.outlined.contains(&callee);
    Scope inner;
    std::vector<Frames::Passed> passed[2];
    std::vector<std::pair<const ptx::Param*, const Operand*>> results_in_registers;
    std::vector<InRegister> in_registers;
    const auto pass = [&](const std::vector<ptx::Param>& formal, const Operand* actual,
                          bool is_result) -> Result<void> {
      const std::size_t count = actual == nullptr ? 0 : actual->elements.size();
      if (count != formal.size())
        return error(ErrorId::ptx_invalid, caller, at.p.line,
                     "call of " + callee.name + " passes " + std::to_string(count) + " values, it declares " +
                         std::to_string(formal.size()),
                     "match the declaration");
      for (std::size_t i = 0; i < count; ++i) {
        const Operand& o = actual->elements[i];
        const bool value = o.kind == Operand::Kind::reg ||
                           (!is_result && (o.kind == Operand::Kind::imm || o.kind == Operand::Kind::imm_f32 ||
                                           o.kind == Operand::Kind::imm_f64));
        if (formal[i].in_register && pass_in_registers(formal[i], o, is_result, at, in_registers)) continue;
        auto it = o.symbol.empty() ? scope.end() : scope.find(o.symbol);
        std::int32_t id = it == scope.end() ? -1 : it->second;
        if (id < 0 && value && formal[i].bytes <= 8 && !formal[i].in_register) {
          id = variable_for(formal[i], o, is_result, at);
          if (is_result) results_in_registers.emplace_back(&formal[i], &o);
        }
        if (id < 0 || formal[i].in_register)
          return error(ErrorId::ptx_undefined_name, caller, at.p.line,
                       "call of " + callee.name + " passes something that is no .param variable",
                       "pass .param variables, as compilers do");
        inner[formal[i].name] = id;
        passed[is_result ? 1 : 0].push_back({id, &formal[i]});
      }
      return {};
    };
    WL_TRY(pass(callee.params, args, false));
    WL_TRY(pass(callee.returns, returns, true));
    if (outlined) {
      auto frame = frame_of(callee);
      if (!frame) return std::move(frame.error());
      // Registers may be the callee's own, when it calls itself: values go through others.
      const auto through = [&](bool results, bool first) {
        for (InRegister& r : in_registers) {
          if (r.is_result != results) continue;
          const std::int32_t formal = register_of(*(*frame)->body, (*frame)->first_value, r.name);
          if (formal < 0) continue;
          if (first) r.between = new_value(f_.values[static_cast<std::size_t>(formal)].type);
          const Operand own = value_operand(formal);
          if (results)
            move_value(first ? r.between : r.actual, first ? own : r.between, r.source);
          else
            move_value(first ? r.between : own, first ? r.actual : r.between, r.source);
        }
      };
      through(false, true);
      frames_.call(
          **frame, frame_, passed[0], passed[1], at, [&] { through(false, false); }, [&] { through(true, true); });
      through(true, false);
    } else {
      in_registers_ = std::move(in_registers);
      WL_TRY(expand(callee, inner, at.source, false));
    }
    for (const auto& [formal, actual] : results_in_registers)
      access_passed(inner.at(formal->name), *formal, *actual, true, at);
    return {};
  }

  Result<Frame*> frame_of(const ptx::Function& fn) {
    for (const auto& frame : outlined_)
      if (frame->function == &fn) return frame.get();
    auto body = body_of(fn);
    if (!body) return std::move(body.error());
    auto frame = std::make_unique<Frame>();
    frame->function = &fn;
    frame->body = *body;
    frame->entry = new_label();
    frames_.lay_out(*frame);
    outlined_.push_back(std::move(frame));
    return outlined_.back().get();
  }

  // vprintf, malloc, free, __assertfail: kept as calls whose operands are the scratch variables.
  Result<void> builtin_call(const ptx::Function& caller, const Scope& scope, FlatInst flat, const std::string& name,
                            const Operand* returns, const Operand* args) {
    const auto it = provided().find(name);
    if (it == provided().end() && (name.starts_with("__cudaCDP") || name.starts_with("cudaGraphSetConditional")))
      return error(
          ErrorId::unsupported_instruction, caller, flat.inst.p.line,
          "'" + name + "' is not supported: kernels that launch kernels (CUDA dynamic parallelism) are not modelled",
          "launch the kernel from the host");
    if (it == provided().end())
      return error(ErrorId::unresolved_symbol, caller, flat.inst.p.line,
                   "external function '" + name + "' is not defined", "link the module that defines it");
    std::vector<Operand> operands(1);
    operands[0].kind = Operand::Kind::symbol;
    operands[0].symbol = name;
    std::vector<std::int32_t> variables{-1};
    const auto add = [&](const Operand* list, std::size_t expected) {
      if ((list == nullptr ? 0 : list->elements.size()) != expected) return false;
      for (std::size_t i = 0; i < expected; ++i) {
        auto v = scope.find(list->elements[i].symbol);
        if (v == scope.end()) return false;
        Operand o;
        o.kind = Operand::Kind::address;
        o.symbol = list->elements[i].symbol;
        const bool framed = in_frame(v->second);
        operands.push_back(framed ? frames_.frame_address(v->second) : o);
        variables.push_back(framed ? -1 : v->second);
      }
      return true;
    };
    if (!add(returns, it->second.first) || !add(args, it->second.second))
      return error(ErrorId::ptx_invalid, caller, flat.inst.p.line,
                   "call of " + name + " does not match its declaration", "declare it as the CUDA device ABI does");
    flat.inst.p.operands = std::move(operands);
    flat.inst.variable = std::move(variables);
    code_.insts.push_back(std::move(flat));
    return {};
  }

  Function& f_;
  const ptx::Module& module_;
  FlatCode code_;
  Frames frames_{f_, code_};
  CallGraph calls_;
  std::vector<std::unique_ptr<Frame>> outlined_;
  const Frame* frame_ = nullptr;  // of the function whose code is written, none in the kernel's
  Scope kernel_scope_;
  Scope globals_;
  std::map<const ptx::Function*, std::shared_ptr<ptx::Body>> bodies_;
  std::vector<InRegister> in_registers_;  // of the function that is about to be expanded
};

}  // namespace

bool is_provided(std::string_view name) {
  return provided().contains(name) || device_functions().find_function(name) != nullptr;
}

std::uint64_t function_address(const ptx::Module& module, const ptx::Function& function) {
  const auto index = static_cast<std::uint64_t>(&function - module.functions.data());
  return 0x00F0000000000000ULL + (index + 1) * 16;
}

Result<FlatCode> flatten(Function& function) { return Flattener(function).run(); }

}  // namespace warploom::ir

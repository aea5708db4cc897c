// Generates LLVM IR for one version of a kernel: uniform (all 32 lanes), masked, or conservative.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "codegen/counters.hpp"
#include "codegen/kernel_plan.hpp"
#include "codegen/lane_runs.hpp"
#include "backend/llvm.hpp"
#include "codegen/ops.hpp"
#include "isa/matrix.hpp"

namespace warploom::codegen {

// What the target machine does well.
struct TargetTraits {
  unsigned vector_bytes = 32;
  bool masked_stores = false;  // masked and scattered stores are cheap (AVX-512)
  bool gathers = false;
};

// What is found while a version is emitted.
struct Findings {
  std::vector<StaticCount> static_counts;  // by site: fixed counts per execution of its block by a full warp
  // Where the instructions stand that debug lines name: line n is the element n - 1.
  std::vector<std::pair<ir::BlockId, std::size_t>> debug_lines;
};

class Emitter {
 public:
  Emitter(const KernelPlan& plan, Mode mode, llvm::Module& module, const TargetTraits& traits,
          std::string function_name, Findings& findings);

  // Emits the whole function. An instruction without a lowering ends it with a Diag that names it.
  Result<void> run();

 private:
  using Value = llvm::Value;

  // The lanes an instruction acts on. mask == nullptr: all 32.
  struct Lanes {
    Value* mask = nullptr;  // i32
    Value* bits = nullptr;  // <32 x i1>
  };

  // An address as far as it is known: a 64-bit scalar plus a lane shape, or 32 addresses.
  struct Address {
    ir::Shape shape;        // uniform, linear (constant patterns and factors) or varying
    Value* base = nullptr;  // i64, for uniform and linear
    Value* wide = nullptr;  // <32 x i64>, for varying
    isa::Space space{};
  };

  // emitter.cpp: storage
  [[nodiscard]] const ir::Shape& shape(ir::ValueId v) const { return shapes_[v]; }
  [[nodiscard]] llvm::Type* storage_type(ir::ValueId v) const;
  [[nodiscard]] llvm::Type* wide(llvm::Type* t) const { return llvm::FixedVectorType::get(t, lanes_); }
  Value* slot(ir::ValueId v);
  [[nodiscard]] llvm::Type* variable_type(ir::ValueId v) const {
    return shape(v).varying() ? wide(storage_type(v)) : storage_type(v);
  }
  Value* load_base(ir::ValueId v);
  Value* load_wide(ir::ValueId v);
  Value* pattern(const ir::Shape& s, llvm::Type* type);    // of all lanes, without the base
  Value* convert(Value* v, isa::Type from, isa::Type to);  // register bits to operand type and back
  Value* to_bits(Value* v, isa::Type type);
  Value* from_bits(Value* v, isa::Type type);
  // Operand k as its table type says: scalar (the base of a linear value) or 32 lanes.
  Value* operand(const ir::Inst& inst, std::size_t k, isa::Type type, bool want_wide);
  Value* operand(const ir::Inst& inst, const ptx::Operand& o, std::int32_t variable, isa::Type type, bool want_wide);
  Value* operand(const ir::Inst& inst, std::size_t k, bool want_wide);
  Value* immediate(const ptx::Operand& o, isa::Type type);
  [[nodiscard]] bool operand_is_scalar(const ptx::Operand& o) const;  // uniform or linear
  [[nodiscard]] bool operand_is_uniform(const ptx::Operand& o) const;
  void write(const ir::Inst& inst, ir::ValueId v, Value* value, isa::Type type);  // scalar or 32 lanes
  void write_result(const ir::Inst& inst, std::size_t k, Value* value);
  Value* splat(Value* v) { return b_.CreateVectorSplat(lanes_, v); }
  Value* symbol_address(std::int32_t variable, std::uint64_t offset);
  Value* guard_bits(const ir::Inst& inst);    // <32 x i1>
  Value* guard_scalar(const ir::Inst& inst);  // i1, for a uniform guard
  [[nodiscard]] bool guard_is_uniform(const ir::Inst& inst) const;

  // emitter.cpp: structure
  void create_function();
  Result<void> emit_instruction(const ir::Inst& inst);
  Result<void> emit_pure_instruction(const ir::Inst& inst);
  // Runs `body` for the lanes that the guard lets through; around it control flow where no lane may be.
  void with_guard(const ir::Inst& inst, const std::function<void(const Lanes&)>& body);
  Lanes current() const { return {mask_, mask_bits_}; }
  Value* mask_or_all(const Lanes& lanes) { return lanes.mask != nullptr ? lanes.mask : b_.getInt32(all_lanes()); }
  [[nodiscard]] std::uint32_t all_lanes() const { return lanes_ == 32 ? 0xFFFFFFFF : (1U << lanes_) - 1; }
  Value* bits_or_all(const Lanes& lanes);
  Value* to_mask(Value* bits) { return b_.CreateZExt(b_.CreateBitCast(bits, b_.getIntNTy(lanes_)), b_.getInt32Ty()); }
  Value* to_lane_bits(Value* mask) {
    return b_.CreateBitCast(b_.CreateTrunc(mask, b_.getIntNTy(lanes_)), wide(b_.getInt1Ty()));
  }
  Value* field(std::size_t offset, llvm::Type* type, bool invariant = false);
  // A field that never changes and is the same for all warps of a block.
  Value* block_field(std::size_t offset, llvm::Type* type);
  Value* block_field_address(std::size_t offset);
  void set_field(std::size_t offset, Value* value);
  Value* field_address(std::size_t offset);
  llvm::BasicBlock* new_block(const llvm::Twine& name) { return llvm::BasicBlock::Create(context_, name, fn_); }
  llvm::AllocaInst* entry_alloca(llvm::Type* type, const llvm::Twine& name);
  Value* call_host(const char* name, llvm::Type* result, llvm::ArrayRef<Value*> args);
  void leave(Exit code);
  void set_debug_line(ir::BlockId b, std::size_t i);
  Diag unsupported(const ir::Inst& inst, const std::string& reason) const;

  // emit_saved.cpp
  using LiveSet = std::vector<std::uint64_t>;
  [[nodiscard]] LiveSet everything() const;
  Value* save_area();
  Value* load_saved(Value* area, ir::ValueId v);
  void store_saved(Value* area, ir::ValueId v, Value* value);
  void save(const LiveSet& live);
  void restore(const LiveSet& live);
  [[nodiscard]] bool has_many_merges() const;
  // Is the save area the only place of the value outside blocks?
  [[nodiscard]] bool stays_saved(ir::ValueId v) const {
    return saved_area_ != nullptr && plan_.crosses[static_cast<std::size_t>(v)];
  }
  void clear_saved();
  Value* load_value(ir::ValueId v);
  void store_value(ir::ValueId v, Value* value);
  void open_body();
  void close_body();

  // emit_control.cpp
  void emit_entry();
  Result<void> emit_block(ir::BlockId b);
  Result<void> emit_body(ir::BlockId b);
  void enter_masked_block(ir::BlockId b);
  Result<void> end_uniform_block(ir::BlockId b);
  void go_to(ir::BlockId from, ir::BlockId to);  // in the versions for full warps
  void end_masked_block(ir::BlockId b);
  void after_masked_block(ir::BlockId b);
  void emit_dispatch();
  void emit_barrier(ir::BlockId b, const ir::Inst& inst);
  void check_widening(ir::BlockId b, const ir::Inst& inst);
  void add_pending(ir::BlockId b, Value* mask);
  Value* pending(ir::BlockId b);
  void set_pending(ir::BlockId b, Value* mask);
  void flush_pending();  // from variables to the context
  void fetch_pending();  // and back
  std::pair<Value*, Value*> split_lanes(const ir::Inst& inst);
  Value* lane_array(std::size_t field_offset, ir::BlockId b);  // address of element b of a mask array of the context
  [[nodiscard]] LiveSet live_at(ir::BlockId b) const { return plan_.f().live_in[static_cast<std::size_t>(b)]; }
  void spin_yield(ir::BlockId header);
  [[nodiscard]] bool continues(ir::BlockId b) const {
    const auto& all = mode_ == Mode::conservative ? plan_.continues_wide : plan_.continues;
    return static_cast<std::size_t>(b) < all.size() && all[static_cast<std::size_t>(b)];
  }
  [[nodiscard]] const ptx::Instr* terminator(ir::BlockId b) const;

  // emit_block_version.cpp
  Result<void> run_block_version();
  Result<void> emit_region(std::size_t number, const std::vector<llvm::BasicBlock*>& starts);
  void go_to_region(const Region& from, ir::BlockId next, const std::vector<llvm::BasicBlock*>& starts);
  void end_warp(ir::BlockId next);  // the warp is at the barrier before `next`, or done
  void part_warp(Exit reason);
  Value* block_slot(ir::ValueId v, std::size_t area);
  void store_block_value(ir::ValueId v, std::size_t area);
  void fetch_block_value(ir::ValueId v, std::size_t area);
  [[nodiscard]] std::vector<ir::ValueId> changed_block_values(const Region& r, ir::BlockId next) const;
  // Live values at a block that each warp has for itself, and that are in `among` if given.
  [[nodiscard]] LiveSet warp_values(ir::BlockId at, const LiveSet* among) const;

  // emit_stream.cpp
  void fetch_lines(Value* start, std::int64_t bytes);
  void fetch_ahead(const Address& a, std::uint32_t bytes);
  Value* passes_caches(const Address& a, std::uint32_t bytes);
  void store_either_way(Value* past_caches, llvm::ArrayRef<std::pair<Value*, Value*>> parts, llvm::Align align);

  // emit_arms.cpp
  Result<void> emit_arms(ir::BlockId b, Value* taken);
  void leave_arms(ir::BlockId b);

  // emit_group_loop.cpp
  [[nodiscard]] unsigned group_lanes(ir::BlockId header) const;
  Result<void> emit_group_loop(ir::BlockId header);
  void forget(Value* area);
  Address of_group(Address a);

  // emit_memory.cpp
  Address address(const ir::Inst& inst, std::size_t k, isa::Space space);
  Address full_address(const ir::Inst& inst, std::size_t k, isa::Space space);
  [[nodiscard]] Runs runs_of(const ir::Shape& s) const { return find_runs(s, lane0_, lanes_); }
  Value* address_lanes(const Address& a);  // <32 x i64>
  void emit_load(const ir::Inst& inst);
  void emit_store(const ir::Inst& inst);
  Value* load_lanes(const Address& a, llvm::Type* type, const Lanes& lanes, bool is_volatile);
  Value* load_one_by_one(const Address& a, llvm::Type* type);
  bool load_interleaved(const Address& a, llvm::Type* type, unsigned width, const Lanes& lanes,
                        std::vector<Value*>& out);
  void store_lanes(const Address& a, Value* value, const Lanes& lanes, bool is_volatile);
  bool store_interleaved(const Address& a, llvm::ArrayRef<Value*> values, const Lanes& lanes);
  Value* run_start(const Address& a, Value* starts, unsigned lane);
  Value* concatenate(std::vector<Value*> parts);
  Value* gather(Value* addresses, llvm::Type* type, const Lanes& lanes, bool is_volatile);
  void scatter(Value* addresses, Value* value, const Lanes& lanes, bool is_volatile);
  Value* pointer(Value* base, std::int64_t offset = 0);
  static Address offset_by(const Address& a, std::int64_t bytes, Emitter& e);
  // Calls body(lane) for each set bit of mask, in lane order, with a loop.
  void lane_loop(Value* mask, const std::function<void(Value* lane)>& body);
  Value* spill(Value* wide_value, const char* name);  // 32 lanes to memory, for lane loops
  Value* element(Value* spilled, llvm::Type* type, Value* lane);

  // emit_atomic.cpp
  Result<void> emit_atomic(const ir::Inst& inst);
  Value* operate_on_cell(const ptx::Instr& p, Value* where, Value* x, Value* swap, bool is_shared);
  void add_floats_in_order(const ptx::Instr& p, Value* where, Value* xs, Value* mask, bool is_shared);
  Value* combine_floats(const ptx::Instr& p, Value* where, Value* old, Value* x, bool is_shared);
  // emit_warp.cpp
  Result<void> emit_warp(const ir::Inst& inst);
  void emit_shuffle(const ir::Inst& inst, const Lanes& lanes);
  void emit_vote(const ir::Inst& inst, const Lanes& lanes);
  // emit_native.cpp
  Result<void> emit_native(const ir::Inst& inst);
  // emit_texture.cpp
  Result<void> emit_texture(const ir::Inst& inst);
  // emit_matrix.cpp
  Result<void> emit_matrix(const ir::Inst& inst);
  void emit_fragment_access(const ir::Inst& inst, const isa::MatrixForm& form);
  void emit_row_access(const ir::Inst& inst, const isa::MatrixForm& form);
  Value* matrix_scratch(std::uint64_t offset);
  static isa::Type matrix_type(const ir::Inst& inst, std::size_t k);
  Value* put_fragment(const ir::Inst& inst, std::size_t k, std::uint64_t& end);
  void take_fragment(const ir::Inst& inst, std::size_t k, std::uint64_t at);
  void demand_whole_warp(const Lanes& lanes);
  void probe_rows(const ir::Inst& inst, Value* addresses, isa::Space space, std::uint32_t lanes, unsigned bytes);
  // emit_sreg.cpp
  Value* special_register(const std::string& name, isa::Type type, bool want_wide);
  Result<void> emit_call(const ir::Inst& inst);
  // emit_probe.cpp
  void probe_block(ir::BlockId b);
  void probe_access(const ir::Inst& inst, const Address& a, const Lanes& lanes);
  void probe_divergence(const ir::Inst& inst);
  void count_divergence(const ir::Inst& inst, Value* taken, Value* rest);
  void add_counter(std::size_t index, Value* amount);
  bool probe_remembered(std::size_t site, const Address& a, const Lanes& lanes, std::uint32_t bytes,
                        observe::AccessKind kind);
  Value* count_runs(const Address& a, std::uint32_t bytes, observe::AccessKind kind);
  Value* count_rows(const Address& a, std::uint32_t bytes, Value*& ascends);
  Value* count_progression(const Address& a, std::uint32_t bytes);
  bool count_uniform(const Address& a, Value* mask, std::uint32_t bytes, observe::AccessKind kind, std::size_t site);
  Value* sectors_by_address(const Address& a, std::uint32_t bytes);
  llvm::MDNode* new_scope(const char* name);
  void separate_scopes();
  void count_by_address(const ir::Inst& inst, const Address& a, const Lanes& lanes, std::uint32_t bytes,
                        std::size_t site);
  void check_alignment(const ir::Inst& inst, const Address& a, const Lanes& lanes);
  void check_access(const ir::Inst& inst, const Address& a, const Lanes& lanes, std::uint32_t bytes);
  // The launch ends where a function of the host says that it failed.
  void stop_unless(Value* good);
  // The launch ends where an access is no multiple of `bytes`; `at` gives, there, `known` addresses to speak of.
  void stop_if_misaligned(Value* bad, Value* mask, unsigned known, std::uint32_t bytes,
                          const std::function<Value*()>& at);

  [[nodiscard]] bool masked() const { return mode_ == Mode::masked || mode_ == Mode::conservative; }

  const KernelPlan& plan_;
  const Mode mode_;
  const passes::Shapes& shapes_;
  const TargetTraits& traits_;
  std::vector<StaticCount>& static_counts_;
  std::vector<std::pair<ir::BlockId, std::size_t>>& debug_lines_;
  llvm::LLVMContext& context_;
  llvm::Module& module_;
  llvm::IRBuilder<> b_;
  std::string function_name_;
  llvm::Function* fn_ = nullptr;
  Value* ctx_ = nullptr;    // of the warp
  Value* first_ = nullptr;  // of the block's first warp; of the warp, in versions for one
  llvm::DISubprogram* debug_scope_ = nullptr;
  llvm::MDNode* counter_scope_ = nullptr;  // alias scope of the probe counters
  llvm::MDNode* saved_scope_ = nullptr;    // and of values that stay in the save area
  Value* saved_area_ = nullptr;            // not null: such values there are
  // Of those while a block's instructions are emitted: where to load them, and by value whether to store it.
  llvm::Instruction* body_start_ = nullptr;
  std::vector<char> written_;
  std::vector<llvm::AllocaInst*> values_;
  std::vector<llvm::BasicBlock*> blocks_;
  std::vector<llvm::AllocaInst*> pending_;  // empty: in the context's array
  llvm::AllocaInst* carry_ = nullptr;
  llvm::AllocaInst* matrix_scratch_ = nullptr;
  llvm::BasicBlock* dispatch_ = nullptr;
  llvm::BasicBlock* entry_ = nullptr;
  Value* mask_ = nullptr;  // active lanes of the block being emitted, nullptr: all
  Value* mask_bits_ = nullptr;
  // Of the region of the block version being emitted.
  std::size_t region_ = 0;
  llvm::Instruction* warps_ = nullptr;
  Value* warp_ = nullptr;  // number of the warp
  llvm::PHINode* part_ = nullptr;
  llvm::AllocaInst* turn_ = nullptr;  // iterations that the warp has done in its turn
  std::map<ir::BlockId, llvm::BasicBlock*> region_exit_;
  // The lanes being emitted; fewer than 32 while a group's loop is.
  unsigned lanes_ = 32, lane0_ = 0;
  ir::BlockId grouped_ = -1;  // header of the loop last emitted for groups
  // While an arm of a divergent branch is emitted in place: the branch's arms, and lanes that go to each.
  const Arms* arms_ = nullptr;
  std::map<ir::BlockId, llvm::AllocaInst*> arm_lanes_;
  ir::BlockId block_ = 0;  // block being emitted
  std::size_t index_ = 0;  // instruction being emitted
};

}  // namespace warploom::codegen

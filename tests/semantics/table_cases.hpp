// The cases that follow from the instruction table: every pure form with every choice of its modifiers and types, as
// PTX text with operands and the scalar reference. They run on the CPU device in every mode, and on a GPU.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "isa/isa.hpp"
#include "lowering.hpp"
#include "ptx/module.hpp"

namespace warploom::semantics {

// d from a; empty when there is no exact reference.
using Reference = std::function<void(const u64* a, u64* d)>;

// How the operands of a video instruction are written: their parts, and which sources have a minus.
struct VideoOperands {
  ptx::Selector select[4];
  bool minus[4] = {};
};

// What one lane of the instruction computes; the sources of addc, subc and madc end with the carry flag, the results of
// .cc too. `immediate` is the truth table of lop3.
Reference reference(isa::Op op, const isa::ModSet& mods, const Type* types, u64 immediate,
                    const VideoOperands& video = {});

// The same as ptxas 13.0 has it, with the named deviations (ptxas_video.hpp); empty for what has none.
using Deviating = std::function<void(unsigned deviations, const u64* a, u64* d)>;
Deviating deviating_reference(isa::Op op, const isa::ModSet& mods, const Type* types, const VideoOperands& video);

struct TableCase {
  std::string name;           // the instruction with %d and %a for its operands
  std::string before, after;  // instructions around it that move the carry flag
  std::vector<Type> in, out;
  Reference ref;
  Deviating deviating;
  std::string body;  // what stands for the instruction, when it is more than its name
  std::string kind;  // how operands are chosen; "warp..." takes part in masks of lanes, "scratch..." needs memory
  // In place of `ref`: the results of all sets at once, words as in TableSuite::operands, for the given lanes of each
  // warp; `valid` (true at first) says which sets have a defined result.
  std::function<void(const u64* words, std::uint32_t lanes, u64* const* results, bool* valid)> group;
  bool any_nan = false;  // NaN results count as one value
  bool narrow = false;   // 8-bit operands stand in 8-bit registers
  std::size_t batch = 0;
};

// Cases whose operands have the same types share operand sets and a kernel.
struct TableBatch {
  std::vector<std::size_t> cases;
  std::size_t operands = 0;  // index into TableSuite::operands
};

constexpr std::size_t kTableSets = 512;  // one block
constexpr std::size_t kBatch = 32;
constexpr std::size_t kMostSources = 6, kMostResults = 4;

struct TableSuite {
  std::vector<TableCase> cases;
  std::vector<TableBatch> batches;
  // Words of each signature: kTableSets of the first source, then of the second ...
  std::vector<std::vector<u64>> operands;
  // Pure forms that have no case here, with the reason: "form | reason".
  std::vector<std::string> left_out;
};
const TableSuite& table_suite();

// Lanes of a warp that take part, for the batches whose kind is "warp...".
constexpr std::uint32_t kTableMasks[] = {0xffffffff, 0x0000ffff, 0x5a5a1234, 0x80000001, 0x00000001, 0xfffffffe};
bool is_warp(const TableSuite& suite, const TableBatch& batch);

// The kernel "batchN" of a batch: parameters in, out; `masked` adds a third, the lanes of each warp that take part.
// Kernels of warp batches always have it.
std::string table_kernel(const TableSuite& suite, std::size_t batch, bool masked);
// Words that `out` must hold for the results and memory to work on.
std::size_t table_words(const TableSuite& suite, const TableBatch& batch);
// The answers that are expected of a case for a mask of lanes; 0 for the lanes that do not take part. False: unknown.
bool table_expect(const TableCase& c, const u64* words, std::uint32_t lanes, u64* const* results, bool* valid);
// Result `k` of a case stands at out[(slot(case) + k) * kTableSets + thread].
std::vector<std::size_t> table_slots(const TableSuite& suite, const TableBatch& batch);
// Names a recording: the case without the operands that follow from its form, and the lanes of a warp case.
std::string table_key(const TableCase& c, std::uint32_t lanes);
// FNV-1a over words of the valid sets; NaNs count as one value when `any_nan` is set.
u64 table_digest(const TableCase& c, const u64* const* results, const bool* valid);

}  // namespace warploom::semantics

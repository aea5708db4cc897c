// Writes the cases of the instruction table as PTX for a GPU, with their operands and what the references say.
//   semantics_table DIR          table.ptx, operands.bin, batches.tsv, cases.tsv and the like for record_table.py
//   semantics_table approx FILE  the error of approx.bin's answers, uncompressed, for h200_approx.tsv
//   semantics_table read FILE    compares answers.bin, uncompressed, and prints digests that need to know which lanes
//   count
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "approx_forms.hpp"
#include "table_cases.hpp"

namespace warploom::semantics {
namespace {

constexpr const char* kHeader = ".version 8.4\n.target sm_90a\n.address_size 64\n\n";

int write(const std::string& folder) {
  const TableSuite& suite = table_suite();
  std::ofstream ptx(folder + "/table.ptx"), batches(folder + "/batches.tsv"), cases(folder + "/cases.tsv");
  std::ofstream data(folder + "/operands.bin", std::ios::binary);
  ptx << kHeader;
  std::vector<std::size_t> offsets;
  std::size_t offset = 0;
  for (const auto& words : suite.operands) {
    offsets.push_back(offset);
    offset += words.size() * 8;
    data.write(reinterpret_cast<const char*>(words.data()), static_cast<std::streamsize>(words.size() * 8));
  }
  for (std::size_t i = 0; i < suite.batches.size(); ++i) {
    const TableBatch& batch = suite.batches[i];
    ptx << table_kernel(suite, i, false);
    const auto slots = table_slots(suite, batch);
    batches << i << '\t' << offsets[batch.operands] << '\t' << table_words(suite, batch) / kTableSets;
    for (const std::uint32_t mask : kTableMasks)
      if (is_warp(suite, batch)) batches << fmt::format("\t{:08x}", mask);
    batches << '\n';
    const std::vector<u64>& words = suite.operands[batch.operands];
    for (std::size_t n = 0; n < batch.cases.size(); ++n) {
      const TableCase& c = suite.cases[batch.cases[n]];
      std::string expected;
      for (const std::uint32_t mask : kTableMasks) {
        if (mask != kTableMasks[0] && !is_warp(suite, batch)) continue;
        std::vector<u64> results(kMostResults * kTableSets);
        u64* columns[kMostResults];
        for (std::size_t k = 0; k < kMostResults; ++k) columns[k] = &results[k * kTableSets];
        bool valid[kTableSets];
        const bool known = table_expect(c, words.data(), mask, columns, valid);
        const bool whole = std::find(valid, valid + kTableSets, false) == valid + kTableSets;
        expected += (expected.empty() ? "" : ",") +
                    (known && whole ? fmt::format("{:016x}", table_digest(c, columns, valid)) : "-");
      }
      std::string types;
      for (const Type t : c.out) types += (types.empty() ? "" : ",") + std::string(isa::name(t));
      cases << i << '\t' << slots[n] << '\t' << types << '\t' << (c.any_nan ? 1 : 0) << '\t' << expected << '\t'
            << c.name << '\n';
    }
  }
  std::ofstream functions(folder + "/approx.ptx"), forms(folder + "/approx.tsv");
  std::ofstream arguments(folder + "/approx_arguments.bin", std::ios::binary);
  functions << kHeader;
  for (std::size_t i = 0; i < approx_forms().size(); ++i) {
    const ApproxForm& form = approx_forms()[i];
    functions << approx_kernel(form, i);
    forms << form.text << '\t' << isa::bits(form.type) << '\t' << form.sources << '\t' << approx_count(form) << '\n';
    const std::vector<u64> words = approx_arguments(form);
    arguments.write(reinterpret_cast<const char*>(words.data()), static_cast<std::streamsize>(words.size() * 8));
  }
  for (const std::string& line : suite.left_out) fmt::print("{}\n", line);
  fmt::print("{} cases in {} kernels\n", suite.cases.size(), suite.batches.size());
  return 0;
}

const TableCase* find_case(const std::string& name, const TableSuite& suite) {
  for (const TableCase& c : suite.cases)
    if (c.name == name) return &c;
  return nullptr;
}

int read(const std::string& file) {
  const TableSuite& suite = table_suite();
  std::ifstream in(file, std::ios::binary);
  std::uint16_t sizes[2];
  while (in.read(reinterpret_cast<char*>(sizes), sizeof sizes)) {
    std::string label(sizes[0], ' ');
    in.read(label.data(), sizes[0]);
    std::vector<u64> got(sizes[1] * kTableSets), want(kMostResults * kTableSets);
    in.read(reinterpret_cast<char*>(got.data()), static_cast<std::streamsize>(got.size() * 8));
    const std::size_t mark = label.find(" @");
    const auto mask =
        static_cast<std::uint32_t>(mark == std::string::npos ? ~0UL : std::stoul(label.substr(mark + 2), nullptr, 16));
    const TableCase* c = find_case(label.substr(0, mark), suite);
    if (c == nullptr) continue;
    const std::vector<u64>& words = suite.operands[suite.batches[c->batch].operands];
    u64* columns[kMostResults];
    const u64* answers[kMostResults] = {};
    for (std::size_t k = 0; k < kMostResults; ++k) columns[k] = &want[k * kTableSets];
    for (std::size_t k = 0; k < sizes[1]; ++k) answers[k] = &got[k * kTableSets];
    bool valid[kTableSets];
    if (!table_expect(*c, words.data(), mask, columns, valid)) continue;
    int wrong = 0;
    for (std::size_t n = 0; n < kTableSets; ++n) {
      for (std::size_t k = 0; k < c->out.size() && valid[n]; ++k) {
        const bool nans = c->any_nan && is_nan_bits(c->out[k], answers[k][n]) && is_nan_bits(c->out[k], columns[k][n]);
        if (answers[k][n] == columns[k][n] || nans || ++wrong > 6) continue;
        std::string sources;
        for (std::size_t s = 0; s < c->in.size(); ++s) sources += fmt::format(" {:x}", words[s * kTableSets + n]);
        fmt::print(stderr, "{}:{}: result {} is {:x}, reference {:x}\n", label, sources, k, answers[k][n],
                   columns[k][n]);
      }
    }
    if (wrong > 0) fmt::print(stderr, "{}: {} differ\n", label, wrong);
    fmt::print("{}\t{:016x}\n", label, table_digest(*c, answers, valid));
  }
  return 0;
}

int approx(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  for (const ApproxForm& form : approx_forms()) {
    const std::size_t bytes = isa::bytes(form.type);
    std::vector<u64> results(approx_count(form));
    for (u64& word : results) in.read(reinterpret_cast<char*>(&word), static_cast<std::streamsize>(bytes));
    const ApproxError e = approx_error(form, approx_arguments(form), results.data());
    fmt::print("{}\t{:.4g}\t{}\t", form.name(), e.worst, e.special);
    const std::size_t corners = approx_corners(form).size();
    for (std::size_t k = 0; k < (form.sources == 1 ? corners : corners * corners); ++k)
      fmt::print("{}{:x}", k == 0 ? "" : " ", results[k]);
    fmt::print("\n");
    fmt::print(stderr, "{:44} bound {:10.4g} worst {:10.4g} at {:x} {:x}: {:x}; special {} first {:x} {:x}: {:x}\n",
               form.name(), form.bound, e.worst, e.x, e.y, e.got, e.special, e.special_x, e.special_y, e.special_got);
  }
  return 0;
}

}  // namespace
}  // namespace warploom::semantics

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "approx") return warploom::semantics::approx(argv[2]);
  if (argc == 3 && std::string(argv[1]) == "read") return warploom::semantics::read(argv[2]);
  if (argc == 2) return warploom::semantics::write(argv[1]);
  std::fputs("usage: semantics_table DIR | read FILE | approx FILE\n", stderr);
  return 2;
}

// The IR as text, for people who look inside.
#include <fmt/format.h>

#include <iterator>

#include "ir/ir.hpp"

namespace warploom::ir {
namespace {

std::string block_list(const std::vector<BlockId>& blocks) {
  std::string out;
  for (const BlockId b : blocks) out += (out.empty() ? "" : " ") + std::to_string(b);
  return out;
}

std::string heading(const Function& f, std::size_t b) {
  const Block& block = f.blocks[b];
  std::string out = fmt::format("block {}:", b);
  std::string notes;
  const auto note = [&](const std::string& text) { notes += (notes.empty() ? "  // " : "; ") + text; };
  if (!block.preds.empty()) note("from " + block_list(block.preds));
  if (block.loop_last >= 0) note(fmt::format("loop to block {}", block.loop_last));
  if (block.loop_depth > 0) note(fmt::format("depth {}", block.loop_depth));
  if (block.spin_loop) note("may wait for other threads");
  if (block.starts_with_sync) note("begins with a meeting of the warp");
  return out + notes;
}

}  // namespace

std::string print(const Function& f, const std::function<std::string(const Inst&)>& note) {
  // Values stand for the registers of a body.
  ptx::Body body;
  for (const Value& v : f.values) body.registers.push_back({v.name, v.type});
  std::string text =
      fmt::format("kernel {}  // {} bytes of shared, {} of local memory\n", f.name, f.shared_bytes, f.local_bytes);
  const auto out = std::back_inserter(text);
  for (std::size_t b = 0; b < f.blocks.size(); ++b) {
    const Block& block = f.blocks[b];
    fmt::format_to(out, "\n{}\n", heading(f, b));
    if (b < f.live_in.size()) {
      std::string live;
      for (std::size_t v = 0; v < f.values.size(); ++v)
        if (f.is_live_in(static_cast<BlockId>(b), static_cast<ValueId>(v))) live += " " + f.values[v].name;
      if (!live.empty()) fmt::format_to(out, "  // live:{}\n", live);
    }
    for (const Inst& inst : block.insts) {
      const std::string comment = note ? note(inst) : std::string();
      fmt::format_to(out, "  {}{}\n", ptx::print(*f.module, body, inst.p), comment.empty() ? "" : "  // " + comment);
    }
    if (block.ends)
      text += "  // end\n";
    else
      fmt::format_to(out, "  // {}to {}\n", block.ends_with_barrier ? "barrier, then " : "", block_list(block.succs));
  }
  return text;
}

}  // namespace warploom::ir

// Texture and surface instructions as words that one native function understands. No LLVM here.
#pragma once

#include <vector>

#include "isa/ref/texture.hpp"
#include "ptx/module.hpp"

namespace warploom::codegen {

[[nodiscard]] inline bool is_texture(const ptx::Instr& p) { return isa::row(p.op).emit == "texture"; }

// What an instruction asks of the native function; `reason` says why it cannot.
struct TextureCall {
  isa::ref::TextureOp op;
  std::size_t object = 0;  // operand with the handle
  // Operands that become words of a lane: where, and as which type they are read. 64-bit ones fill two words.
  struct Word {
    unsigned place;
    const ptx::Operand* operand;
    isa::Type type;
  };
  std::vector<Word> words;
  std::vector<const ptx::Operand*> results;
  isa::Type result_type{};
  const char* reason = nullptr;

  [[nodiscard]] unsigned coordinates() const {
    unsigned n = 0;
    for (const Word& w : words) n += w.place < isa::ref::kTextureLevel ? 1U : 0U;
    return n;
  }
};
[[nodiscard]] TextureCall texture_call(const ptx::Instr& p);

}  // namespace warploom::codegen

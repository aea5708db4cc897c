// The CUDA device headers as text, compiled into the library.
#pragma once

#include <span>
#include <string_view>

namespace warploom::frontend {

struct EmbeddedHeader {
  std::string_view path;  // relative to the include folder
  std::string_view text;
};

std::span<const EmbeddedHeader> embedded_headers();

}  // namespace warploom::frontend

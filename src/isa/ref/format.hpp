// The format of a floating-point type.
#pragma once

#include "isa/ref/float.hpp"
#include "isa/types.hpp"

namespace warploom::isa::ref {

constexpr Format format_of(Type type) {
  switch (type) {
    case Type::f16: return kF16;
    case Type::bf16: return kBf16;
    case Type::f32: return kF32;
    default: return kF64;
  }
}

}  // namespace warploom::isa::ref

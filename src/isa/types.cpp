// Spellings of the PTX scalar types.
#include "isa/types.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace warploom::isa {
namespace {

constexpr std::array kNames = {
    std::pair{Type::none, std::string_view{}},
    std::pair{Type::pred, std::string_view{"pred"}},
#define WL_TYPE(t)                   \
  std::pair {                        \
    Type::t, std::string_view { #t } \
  }
    WL_TYPE(b1),
    WL_TYPE(b8),
    WL_TYPE(b16),
    WL_TYPE(b32),
    WL_TYPE(b64),
    WL_TYPE(b128),
    WL_TYPE(u4),
    WL_TYPE(u8),
    WL_TYPE(u16),
    WL_TYPE(u32),
    WL_TYPE(u64),
    WL_TYPE(s4),
    WL_TYPE(s8),
    WL_TYPE(s16),
    WL_TYPE(s32),
    WL_TYPE(s64),
    WL_TYPE(f16),
    WL_TYPE(f16x2),
    WL_TYPE(bf16),
    WL_TYPE(bf16x2),
    WL_TYPE(tf32),
    WL_TYPE(f32),
    WL_TYPE(f64),
    WL_TYPE(f32x2),
    WL_TYPE(u16x2),
    WL_TYPE(s16x2),
    WL_TYPE(e4m3),
    WL_TYPE(e5m2),
    WL_TYPE(e4m3x2),
    WL_TYPE(e5m2x2),
    WL_TYPE(e2m1x2),
    WL_TYPE(e2m3x2),
    WL_TYPE(e3m2x2),
    WL_TYPE(ue8m0x2),
    WL_TYPE(e2m1x4),
    WL_TYPE(e4m3x4),
    WL_TYPE(e5m2x4),
    WL_TYPE(e2m3x4),
    WL_TYPE(e3m2x4),
#undef WL_TYPE
};

}  // namespace

std::string_view name(Type t) {
  const auto it = std::find_if(kNames.begin(), kNames.end(), [t](const auto& entry) { return entry.first == t; });
  return it == kNames.end() ? std::string_view{} : it->second;
}

Type type_from_name(std::string_view spelling) {
  if (spelling.empty()) return Type::none;
  const auto it =
      std::find_if(kNames.begin(), kNames.end(), [spelling](const auto& entry) { return entry.second == spelling; });
  return it == kNames.end() ? Type::none : it->first;
}

}  // namespace warploom::isa

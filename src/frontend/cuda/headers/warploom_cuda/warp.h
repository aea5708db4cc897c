// Warp shuffles, votes, matches and reductions.
#pragma once

// Third operand of shfl: segment mask in bits 8-12, clamp lane in bits 0-4 (PTX ISA, shfl.sync).
#define WL_SHFL(name, mode, clamp, offset_type)                                                               \
  WL_DEVICE int name(unsigned int mask, int v, offset_type o, int width = 32) {                               \
    return __nvvm_shfl_sync_##mode##_i32(mask, v, static_cast<int>(o), ((32 - width) << 8) | clamp);          \
  }                                                                                                           \
  WL_DEVICE unsigned int name(unsigned int mask, unsigned int v, offset_type o, int width = 32) {             \
    return static_cast<unsigned int>(name(mask, static_cast<int>(v), o, width));                              \
  }                                                                                                           \
  WL_DEVICE float name(unsigned int mask, float v, offset_type o, int width = 32) {                           \
    return __nvvm_shfl_sync_##mode##_f32(mask, v, static_cast<int>(o), ((32 - width) << 8) | clamp);          \
  }                                                                                                           \
  WL_DEVICE unsigned long long name(unsigned int mask, unsigned long long v, offset_type o, int width = 32) { \
    unsigned int lo = name(mask, static_cast<unsigned int>(v), o, width);                                     \
    unsigned int hi = name(mask, static_cast<unsigned int>(v >> 32), o, width);                               \
    return (static_cast<unsigned long long>(hi) << 32) | lo;                                                  \
  }                                                                                                           \
  WL_DEVICE long long name(unsigned int mask, long long v, offset_type o, int width = 32) {                   \
    return static_cast<long long>(name(mask, static_cast<unsigned long long>(v), o, width));                  \
  }                                                                                                           \
  WL_DEVICE unsigned long name(unsigned int mask, unsigned long v, offset_type o, int width = 32) {           \
    return static_cast<unsigned long>(name(mask, static_cast<unsigned long long>(v), o, width));              \
  }                                                                                                           \
  WL_DEVICE long name(unsigned int mask, long v, offset_type o, int width = 32) {                             \
    return static_cast<long>(name(mask, static_cast<unsigned long long>(v), o, width));                       \
  }                                                                                                           \
  WL_DEVICE double name(unsigned int mask, double v, offset_type o, int width = 32) {                         \
    return __builtin_bit_cast(double, name(mask, __builtin_bit_cast(unsigned long long, v), o, width));       \
  }

WL_SHFL(__shfl_sync, idx, 0x1f, int)
WL_SHFL(__shfl_up_sync, up, 0, unsigned int)
WL_SHFL(__shfl_down_sync, down, 0x1f, unsigned int)
WL_SHFL(__shfl_xor_sync, bfly, 0x1f, int)
#undef WL_SHFL

WL_DEVICE int __all_sync(unsigned int mask, int predicate) { return __nvvm_vote_all_sync(mask, predicate); }
WL_DEVICE int __any_sync(unsigned int mask, int predicate) { return __nvvm_vote_any_sync(mask, predicate); }
WL_DEVICE int __uni_sync(unsigned int mask, int predicate) { return __nvvm_vote_uni_sync(mask, predicate); }
WL_DEVICE unsigned int __ballot_sync(unsigned int mask, int predicate) {
  return __nvvm_vote_ballot_sync(mask, predicate);
}
WL_DEVICE unsigned int __activemask() { return __nvvm_activemask(); }

#define WL_MATCH(type, bits, width)                                                                                    \
  WL_DEVICE unsigned int __match_any_sync(unsigned int mask, type v) {                                                 \
    return static_cast<unsigned int>(__nvvm_match_any_sync_i##width(mask, __builtin_bit_cast(bits, v)));               \
  }                                                                                                                    \
  WL_DEVICE unsigned int __match_all_sync(unsigned int mask, type v, int* predicate) {                                 \
    return static_cast<unsigned int>(__nvvm_match_all_sync_i##width##p(mask, __builtin_bit_cast(bits, v), predicate)); \
  }
WL_MATCH(int, unsigned int, 32)
WL_MATCH(unsigned int, unsigned int, 32)
WL_MATCH(float, unsigned int, 32)
WL_MATCH(long, unsigned long long, 64)
WL_MATCH(unsigned long, unsigned long long, 64)
WL_MATCH(long long, unsigned long long, 64)
WL_MATCH(unsigned long long, unsigned long long, 64)
WL_MATCH(double, unsigned long long, 64)
#undef WL_MATCH

// sm_80 and later.
#define WL_REDUX(name, type, builtin)                                               \
  WL_DEVICE type name(unsigned int mask, type v) {                                  \
    return static_cast<type>(builtin(static_cast<int>(v), static_cast<int>(mask))); \
  }
#if __CUDA_ARCH__ >= 800
WL_REDUX(__reduce_add_sync, unsigned int, __nvvm_redux_sync_add)
WL_REDUX(__reduce_add_sync, int, __nvvm_redux_sync_add)
WL_REDUX(__reduce_min_sync, unsigned int, __nvvm_redux_sync_umin)
WL_REDUX(__reduce_min_sync, int, __nvvm_redux_sync_min)
WL_REDUX(__reduce_max_sync, unsigned int, __nvvm_redux_sync_umax)
WL_REDUX(__reduce_max_sync, int, __nvvm_redux_sync_max)
WL_REDUX(__reduce_and_sync, unsigned int, __nvvm_redux_sync_and)
WL_REDUX(__reduce_or_sync, unsigned int, __nvvm_redux_sync_or)
WL_REDUX(__reduce_xor_sync, unsigned int, __nvvm_redux_sync_xor)
#endif
#undef WL_REDUX

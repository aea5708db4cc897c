// threadIdx, blockIdx, blockDim, gridDim: reads of their fields become reads of the special registers.
#pragma once

#define WL_SREG_FIELD(field, builtin)                            \
  __declspec(property(get = wl_get_##field)) unsigned int field; \
  inline __attribute__((device, always_inline, nodebug)) unsigned int wl_get_##field() const { return builtin(); }
#define WL_SREG_VARIABLE(type, name, sreg)                                                                   \
  struct type {                                                                                              \
    WL_SREG_FIELD(x, __nvvm_read_ptx_sreg_##sreg##_x)                                                        \
    WL_SREG_FIELD(y, __nvvm_read_ptx_sreg_##sreg##_y)                                                        \
    WL_SREG_FIELD(z, __nvvm_read_ptx_sreg_##sreg##_z)                                                        \
    inline __attribute__((device, always_inline, nodebug)) operator uint3() const { return uint3{x, y, z}; } \
    inline __attribute__((device, always_inline, nodebug)) operator dim3() const { return dim3(x, y, z); }   \
  };                                                                                                         \
  extern const __attribute__((device, weak)) type name;

WL_SREG_VARIABLE(wl_thread_idx, threadIdx, tid)
WL_SREG_VARIABLE(wl_block_idx, blockIdx, ctaid)
WL_SREG_VARIABLE(wl_block_dim, blockDim, ntid)
WL_SREG_VARIABLE(wl_grid_dim, gridDim, nctaid)
#undef WL_SREG_VARIABLE
#undef WL_SREG_FIELD

static const __attribute__((device)) int warpSize = 32;

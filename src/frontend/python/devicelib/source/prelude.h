// What the math headers of the CUDA front end expect from their includer, here for plain C++ on the NVPTX target.
#pragma once

#define WL_DEVICE static inline __attribute__((always_inline, nodebug, unused))
#define WL_DEVICE_CALL static __attribute__((noinline, nodebug, unused))
// Constant memory.
#define WL_DEVICE_TABLE static const __attribute__((address_space(4)))

// Functions of the library: short ones always become part of their caller, long ones when the optimiser thinks so.
#define WL_ENTRY extern "C" __attribute__((always_inline, nodebug))
#define WL_ENTRY_LONG extern "C" __attribute__((nodebug))

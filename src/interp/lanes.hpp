// Marks functions that run only where generated handlers do, so that the compiler may use the same instructions.
#pragma once

#if defined(__x86_64__)
#define WARPLOOM_WIDE __attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt")))
#else
#define WARPLOOM_WIDE
#endif

// Device versions of C library functions: printf, assert, memcpy, malloc.
#pragma once

// clang turns a call of printf in device code into vprintf(format, packed arguments).
extern "C" __device__ int vprintf(const char* format, const char* arguments);
extern "C" __device__ int printf(const char* format, ...);
extern "C" __device__ void* malloc(size_t bytes);
extern "C" __device__ void free(void* p);
// glibc's assert calls __assert_fail; the device function of the driver is __assertfail.
extern "C" __device__ __attribute__((noreturn)) void __assertfail(const char* message, const char* file,
                                                                  unsigned int line, const char* function,
                                                                  size_t char_size);
extern "C" __device__ __attribute__((noreturn)) inline void __assert_fail(const char* message, const char* file,
                                                                          unsigned int line,
                                                                          const char* function) noexcept(true) {
  __assertfail(message, file, line, function, 1);
}

WL_DEVICE void* memcpy(void* to, const void* from, size_t bytes) { return __builtin_memcpy(to, from, bytes); }
WL_DEVICE void* memmove(void* to, const void* from, size_t bytes) { return __builtin_memmove(to, from, bytes); }
WL_DEVICE void* memset(void* to, int value, size_t bytes) { return __builtin_memset(to, value, bytes); }
WL_DEVICE int memcmp(const void* a, const void* b, size_t bytes) {
  const unsigned char *x = static_cast<const unsigned char*>(a), *y = static_cast<const unsigned char*>(b);
  for (size_t i = 0; i < bytes; ++i)
    if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
  return 0;
}
WL_DEVICE size_t strlen(const char* s) {
  size_t n = 0;
  while (s[n] != 0) ++n;
  return n;
}

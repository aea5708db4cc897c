// Vector types and dim3 with CUDA's sizes and alignments (CUDA C++ Programming Guide, built-in vector types).
#pragma once

// Wide vectors assign member by member: clang then makes one 16-byte access of it, as it does not of an aggregate copy.
// The copy constructor stays trivial, so the types are passed by value as CUDA passes them.
#define WL_VECTOR_TYPE(name, type, align2, align4, assign2, assign4)                                    \
  struct name##1 { type x; };                                                                           \
  struct __attribute__((aligned(align2))) name##2 {                                                     \
    type x, y;                                                                                          \
    assign2(name##2, type)                                                                              \
  };                                                                                                    \
  struct name##3 { type x, y, z; };                                                                     \
  struct __attribute__((aligned(align4))) name##4 {                                                     \
    type x, y, z, w;                                                                                    \
    assign4(name##4, type)                                                                              \
  };                                                                                                    \
  WL_HOST_DEVICE constexpr name##1 make_##name##1(type x) { return name##1 {x}; }                       \
  WL_HOST_DEVICE constexpr name##2 make_##name##2(type x, type y) { return name##2 {x, y}; }            \
  WL_HOST_DEVICE constexpr name##3 make_##name##3(type x, type y, type z) { return name##3 {x, y, z}; } \
  WL_HOST_DEVICE constexpr name##4 make_##name##4(type x, type y, type z, type w) { return name##4 {x, y, z, w}; }
#define WL_COPY(self, type)
#define WL_ASSIGN2(self, type)                         \
  WL_MEMBER constexpr self& operator=(const self& o) { \
    type a = o.x, b = o.y;                             \
    x = a, y = b;                                      \
    return *this;                                      \
  }
#define WL_ASSIGN4(self, type)                         \
  WL_MEMBER constexpr self& operator=(const self& o) { \
    type a = o.x, b = o.y, c = o.z, d = o.w;           \
    x = a, y = b, z = c, w = d;                        \
    return *this;                                      \
  }

WL_VECTOR_TYPE(char, signed char, 2, 4, WL_COPY, WL_COPY)
WL_VECTOR_TYPE(uchar, unsigned char, 2, 4, WL_COPY, WL_COPY)
WL_VECTOR_TYPE(short, short, 4, 8, WL_COPY, WL_COPY)
WL_VECTOR_TYPE(ushort, unsigned short, 4, 8, WL_COPY, WL_COPY)
WL_VECTOR_TYPE(int, int, 8, 16, WL_COPY, WL_ASSIGN4)
WL_VECTOR_TYPE(uint, unsigned int, 8, 16, WL_COPY, WL_ASSIGN4)
WL_VECTOR_TYPE(long, long, 16, 16, WL_ASSIGN2, WL_ASSIGN4)
WL_VECTOR_TYPE(ulong, unsigned long, 16, 16, WL_ASSIGN2, WL_ASSIGN4)
WL_VECTOR_TYPE(longlong, long long, 16, 16, WL_ASSIGN2, WL_ASSIGN4)
WL_VECTOR_TYPE(ulonglong, unsigned long long, 16, 16, WL_ASSIGN2, WL_ASSIGN4)
WL_VECTOR_TYPE(float, float, 8, 16, WL_COPY, WL_ASSIGN4)
WL_VECTOR_TYPE(double, double, 16, 16, WL_ASSIGN2, WL_ASSIGN4)
#undef WL_VECTOR_TYPE
#undef WL_COPY
#undef WL_ASSIGN2
#undef WL_ASSIGN4

struct dim3 {
  unsigned int x, y, z;
  WL_MEMBER constexpr dim3(unsigned int x_ = 1, unsigned int y_ = 1, unsigned int z_ = 1) : x(x_), y(y_), z(z_) {}
  WL_MEMBER constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  WL_MEMBER constexpr operator uint3() const { return uint3{x, y, z}; }
};

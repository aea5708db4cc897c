// Surface functions (CUDA C++ Programming Guide, "Surface Functions"). The first coordinate counts bytes.
#pragma once

// What a surface access moves, by its size.
template <unsigned long kBytes>
struct wl_surface_word;
template <>
struct wl_surface_word<1> {
  unsigned short a;
};
template <>
struct wl_surface_word<2> {
  unsigned short a;
};
template <>
struct wl_surface_word<4> {
  unsigned int a;
};
template <>
struct wl_surface_word<8> {
  unsigned int a, b;
};
template <>
struct wl_surface_word<16> {
  unsigned int a, b, c, d;
};

// Lists with commas travel through macros in parentheses.
#define WL_LIST(...) __VA_ARGS__
// Each way to treat what lies outside is an instruction of its own; `mode` is a constant as a rule.
#define WL_SURFACE_MODES(access, form, values, at, list, operands) \
  if (mode == cudaBoundaryModeTrap) {                              \
    access("trap", form, values, at, list, operands);              \
  } else if (mode == cudaBoundaryModeClamp) {                      \
    access("clamp", form, values, at, list, operands);             \
  } else {                                                         \
    access("zero", form, values, at, list, operands);              \
  }
#define WL_SURFACE_LOAD(mode, form, values, at, outputs, operands)      \
  asm volatile("suld.b." form "." mode " " values ", [%[s], " at "];"   \
               : WL_LIST outputs : [s] "l"(object), WL_LIST operands : "memory")
#define WL_SURFACE_STORE(mode, form, values, at, inputs, operands)      \
  asm volatile("sust.b." form "." mode " [%[s], " at "], " values ";"   \
               ::[s] "l"(object), WL_LIST inputs, WL_LIST operands : "memory")

// Load and store of one size at one geometry.
#define WL_SURFACE_SIZE(name, bytes, form, values, outputs, inputs, parameters, at, operands)           \
  WL_DEVICE void wl_##name##_load(wl_surface_word<bytes>& v, cudaSurfaceObject_t object,                \
                                  WL_LIST parameters, int mode) {                                       \
    WL_SURFACE_MODES(WL_SURFACE_LOAD, form, values, at, outputs, operands)                              \
  }                                                                                                     \
  WL_DEVICE void wl_##name##_store(wl_surface_word<bytes> v, cudaSurfaceObject_t object,                \
                                   WL_LIST parameters, int mode) {                                      \
    WL_SURFACE_MODES(WL_SURFACE_STORE, form, values, at, inputs, operands)                              \
  }
#define WL_SURFACE(read, write, geometry, parameters, arguments, at, operands)                                      \
  WL_SURFACE_SIZE(read, 1, geometry ".b8", "%[a]", ([a] "=h"(v.a)), ([a] "h"(v.a)), parameters, at, operands)       \
  WL_SURFACE_SIZE(read, 2, geometry ".b16", "%[a]", ([a] "=h"(v.a)), ([a] "h"(v.a)), parameters, at, operands)      \
  WL_SURFACE_SIZE(read, 4, geometry ".b32", "%[a]", ([a] "=r"(v.a)), ([a] "r"(v.a)), parameters, at, operands)      \
  WL_SURFACE_SIZE(read, 8, geometry ".v2.b32", "{%[a], %[b]}", ([a] "=r"(v.a), [b] "=r"(v.b)),                      \
                  ([a] "r"(v.a), [b] "r"(v.b)), parameters, at, operands)                                           \
  WL_SURFACE_SIZE(read, 16, geometry ".v4.b32", "{%[a], %[b], %[c], %[d]}",                                         \
                  ([a] "=r"(v.a), [b] "=r"(v.b), [c] "=r"(v.c), [d] "=r"(v.d)),                                     \
                  ([a] "r"(v.a), [b] "r"(v.b), [c] "r"(v.c), [d] "r"(v.d)), parameters, at, operands)               \
  template <class T>                                                                                                \
  WL_DEVICE T read(cudaSurfaceObject_t object, WL_LIST parameters,                                                  \
                   cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {                                           \
    wl_surface_word<sizeof(T)> v;                                                                                   \
    wl_##read##_load(v, object, WL_LIST arguments, mode);                                                           \
    T value;                                                                                                        \
    __builtin_memcpy(&value, &v, sizeof(T));                                                                        \
    return value;                                                                                                   \
  }                                                                                                                 \
  template <class T>                                                                                                \
  WL_DEVICE void read(T* value, cudaSurfaceObject_t object, WL_LIST parameters,                                     \
                      cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {                                        \
    *value = read<T>(object, WL_LIST arguments, mode);                                                              \
  }                                                                                                                 \
  template <class T>                                                                                                \
  WL_DEVICE void write(T value, cudaSurfaceObject_t object, WL_LIST parameters,                                     \
                       cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {                                       \
    wl_surface_word<sizeof(T)> v;                                                                                   \
    __builtin_memcpy(&v, &value, sizeof(T));                                                                        \
    wl_##read##_store(v, object, WL_LIST arguments, mode);                                                          \
  }

WL_SURFACE(surf1Dread, surf1Dwrite, "1d", (int x), (x), "{%[x]}", ([x] "r"(x)))
WL_SURFACE(surf2Dread, surf2Dwrite, "2d", (int x, int y), (x, y), "{%[x], %[y]}", ([x] "r"(x), [y] "r"(y)))
WL_SURFACE(surf3Dread, surf3Dwrite, "3d", (int x, int y, int z), (x, y, z), "{%[x], %[y], %[z], %[z]}",
           ([x] "r"(x), [y] "r"(y), [z] "r"(z)))
WL_SURFACE(surf1DLayeredread, surf1DLayeredwrite, "a1d", (int x, int layer), (x, layer), "{%[l], %[x]}",
           ([l] "r"(layer), [x] "r"(x)))
WL_SURFACE(surf2DLayeredread, surf2DLayeredwrite, "a2d", (int x, int y, int layer), (x, y, layer),
           "{%[l], %[x], %[y], %[y]}", ([l] "r"(layer), [x] "r"(x), [y] "r"(y)))
WL_SURFACE(surfCubemapread, surfCubemapwrite, "a2d", (int x, int y, int face), (x, y, face),
           "{%[l], %[x], %[y], %[y]}", ([l] "r"(face), [x] "r"(x), [y] "r"(y)))
WL_SURFACE(surfCubemapLayeredread, surfCubemapLayeredwrite, "a2d", (int x, int y, int layer_face),
           (x, y, layer_face), "{%[l], %[x], %[y], %[y]}", ([l] "r"(layer_face), [x] "r"(x), [y] "r"(y)))
#undef WL_SURFACE
#undef WL_SURFACE_SIZE
#undef WL_SURFACE_LOAD
#undef WL_SURFACE_STORE
#undef WL_SURFACE_MODES
#undef WL_LIST

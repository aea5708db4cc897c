// Texture functions (CUDA C++ Programming Guide, "Texture Functions").
#pragma once

// How a texel becomes a T: four numbers of its kind, of which T takes the first. "f", "u" and "s" name the kinds.
template <class T>
struct wl_texel;
#define WL_TEXEL1(type, kind)                                                    \
  template <>                                                                    \
  struct wl_texel<type> {                                                        \
    typedef wl_texel_##kind four;                                                \
    WL_DEVICE_MEMBER static type of(four v) { return static_cast<type>(v.x); }   \
  };
#define WL_TEXEL2(type, element, kind)                                                      \
  template <>                                                                               \
  struct wl_texel<type> {                                                                   \
    typedef wl_texel_##kind four;                                                           \
    WL_DEVICE_MEMBER static type of(four v) {                                               \
      return type{static_cast<element>(v.x), static_cast<element>(v.y)};                    \
    }                                                                                       \
  };
#define WL_TEXEL4(type, element, kind)                                                      \
  template <>                                                                               \
  struct wl_texel<type> {                                                                   \
    typedef wl_texel_##kind four;                                                           \
    WL_DEVICE_MEMBER static type of(four v) {                                               \
      return type{static_cast<element>(v.x), static_cast<element>(v.y),                     \
                  static_cast<element>(v.z), static_cast<element>(v.w)};                    \
    }                                                                                       \
  };
struct wl_texel_f {
  float x, y, z, w;
};
struct wl_texel_u {
  unsigned int x, y, z, w;
};
struct wl_texel_s {
  int x, y, z, w;
};
WL_TEXEL1(float, f)
WL_TEXEL1(unsigned int, u)
WL_TEXEL1(unsigned short, u)
WL_TEXEL1(unsigned char, u)
WL_TEXEL1(int, s)
WL_TEXEL1(short, s)
WL_TEXEL1(signed char, s)
WL_TEXEL1(char, s)
WL_TEXEL2(float2, float, f)
WL_TEXEL2(uint2, unsigned int, u)
WL_TEXEL2(ushort2, unsigned short, u)
WL_TEXEL2(uchar2, unsigned char, u)
WL_TEXEL2(int2, int, s)
WL_TEXEL2(short2, short, s)
WL_TEXEL2(char2, signed char, s)
WL_TEXEL4(float4, float, f)
WL_TEXEL4(uint4, unsigned int, u)
WL_TEXEL4(ushort4, unsigned short, u)
WL_TEXEL4(uchar4, unsigned char, u)
WL_TEXEL4(int4, int, s)
WL_TEXEL4(short4, short, s)
WL_TEXEL4(char4, signed char, s)
#undef WL_TEXEL1
#undef WL_TEXEL2
#undef WL_TEXEL4

// One function of the guide: for each kind of texel its instruction, then what returns a T, and what stores one.
#define WL_LIST(...) __VA_ARGS__
#define WL_TEXTURE(name, before, geometry, coordinate, parameters, arguments, text, operands)                       \
  WL_TEXTURE1(name, before geometry ".v4.f32." coordinate, "=f", wl_texel_f, WL_LIST(parameters), text,             \
              WL_LIST(operands))                                                                                    \
  WL_TEXTURE1(name, before geometry ".v4.u32." coordinate, "=r", wl_texel_u, WL_LIST(parameters), text,             \
              WL_LIST(operands))                                                                                    \
  WL_TEXTURE1(name, before geometry ".v4.s32." coordinate, "=r", wl_texel_s, WL_LIST(parameters), text,             \
              WL_LIST(operands))                                                                                    \
  template <class T>                                                                                                \
  WL_DEVICE T name(cudaTextureObject_t object, parameters) {                                                        \
    typename wl_texel<T>::four v;                                                                                   \
    wl_##name(v, object, arguments);                                                                                \
    return wl_texel<T>::of(v);                                                                                      \
  }                                                                                                                 \
  template <class T>                                                                                                \
  WL_DEVICE void name(T* value, cudaTextureObject_t object, parameters) {                                           \
    *value = name<T>(object, arguments);                                                                            \
  }
#define WL_TEXTURE1(name, op, constraint, four, parameters, text, operands)                       \
  WL_DEVICE void wl_##name(four& v, cudaTextureObject_t object, parameters) {                     \
    asm(op " {%0, %1, %2, %3}, [%4, " text ";"                                                    \
        : constraint(v.x), constraint(v.y), constraint(v.z), constraint(v.w)                      \
        : "l"(object), operands);                                                                 \
  }

WL_TEXTURE(tex1Dfetch, "tex.", "1d", "s32", int x, x, "{%5}]", "r"(x))
WL_TEXTURE(tex1D, "tex.", "1d", "f32", float x, x, "{%5}]", "f"(x))
WL_TEXTURE(tex2D, "tex.", "2d", "f32", WL_LIST(float x, float y), WL_LIST(x, y), "{%5, %6}]", WL_LIST("f"(x), "f"(y)))
WL_TEXTURE(tex3D, "tex.", "3d", "f32", WL_LIST(float x, float y, float z), WL_LIST(x, y, z), "{%5, %6, %7, %7}]",
           WL_LIST("f"(x), "f"(y), "f"(z)))
WL_TEXTURE(tex1DLayered, "tex.", "a1d", "f32", WL_LIST(float x, int layer), WL_LIST(x, layer), "{%5, %6}]",
           WL_LIST("r"(layer), "f"(x)))
WL_TEXTURE(tex2DLayered, "tex.", "a2d", "f32", WL_LIST(float x, float y, int layer), WL_LIST(x, y, layer),
           "{%5, %6, %7, %7}]", WL_LIST("r"(layer), "f"(x), "f"(y)))
WL_TEXTURE(texCubemap, "tex.", "cube", "f32", WL_LIST(float x, float y, float z), WL_LIST(x, y, z),
           "{%5, %6, %7, %7}]", WL_LIST("f"(x), "f"(y), "f"(z)))
WL_TEXTURE(texCubemapLayered, "tex.", "acube", "f32", WL_LIST(float x, float y, float z, int layer),
           WL_LIST(x, y, z, layer), "{%5, %6, %7, %8}]", WL_LIST("r"(layer), "f"(x), "f"(y), "f"(z)))

WL_TEXTURE(tex1DLod, "tex.level.", "1d", "f32", WL_LIST(float x, float level), WL_LIST(x, level), "{%5}], %6",
           WL_LIST("f"(x), "f"(level)))
WL_TEXTURE(tex2DLod, "tex.level.", "2d", "f32", WL_LIST(float x, float y, float level), WL_LIST(x, y, level),
           "{%5, %6}], %7", WL_LIST("f"(x), "f"(y), "f"(level)))
WL_TEXTURE(tex3DLod, "tex.level.", "3d", "f32", WL_LIST(float x, float y, float z, float level),
           WL_LIST(x, y, z, level), "{%5, %6, %7, %7}], %8", WL_LIST("f"(x), "f"(y), "f"(z), "f"(level)))
WL_TEXTURE(tex1DLayeredLod, "tex.level.", "a1d", "f32", WL_LIST(float x, int layer, float level),
           WL_LIST(x, layer, level), "{%5, %6}], %7", WL_LIST("r"(layer), "f"(x), "f"(level)))
WL_TEXTURE(tex2DLayeredLod, "tex.level.", "a2d", "f32", WL_LIST(float x, float y, int layer, float level),
           WL_LIST(x, y, layer, level), "{%5, %6, %7, %7}], %8", WL_LIST("r"(layer), "f"(x), "f"(y), "f"(level)))
WL_TEXTURE(texCubemapLod, "tex.level.", "cube", "f32", WL_LIST(float x, float y, float z, float level),
           WL_LIST(x, y, z, level), "{%5, %6, %7, %7}], %8", WL_LIST("f"(x), "f"(y), "f"(z), "f"(level)))
WL_TEXTURE(texCubemapLayeredLod, "tex.level.", "acube", "f32",
           WL_LIST(float x, float y, float z, int layer, float level), WL_LIST(x, y, z, layer, level),
           "{%5, %6, %7, %8}], %9", WL_LIST("r"(layer), "f"(x), "f"(y), "f"(z), "f"(level)))

WL_TEXTURE(tex1DGrad, "tex.grad.", "1d", "f32", WL_LIST(float x, float dx, float dy), WL_LIST(x, dx, dy),
           "{%5}], {%6}, {%7}", WL_LIST("f"(x), "f"(dx), "f"(dy)))
WL_TEXTURE(tex2DGrad, "tex.grad.", "2d", "f32", WL_LIST(float x, float y, float2 dx, float2 dy),
           WL_LIST(x, y, dx, dy), "{%5, %6}], {%7, %8}, {%9, %10}",
           WL_LIST("f"(x), "f"(y), "f"(dx.x), "f"(dx.y), "f"(dy.x), "f"(dy.y)))
WL_TEXTURE(tex3DGrad, "tex.grad.", "3d", "f32", WL_LIST(float x, float y, float z, float4 dx, float4 dy),
           WL_LIST(x, y, z, dx, dy), "{%5, %6, %7, %7}], {%8, %9, %10, %10}, {%11, %12, %13, %13}",
           WL_LIST("f"(x), "f"(y), "f"(z), "f"(dx.x), "f"(dx.y), "f"(dx.z), "f"(dy.x), "f"(dy.y), "f"(dy.z)))
WL_TEXTURE(tex1DLayeredGrad, "tex.grad.", "a1d", "f32", WL_LIST(float x, int layer, float dx, float dy),
           WL_LIST(x, layer, dx, dy), "{%5, %6}], {%7}, {%8}", WL_LIST("r"(layer), "f"(x), "f"(dx), "f"(dy)))
WL_TEXTURE(tex2DLayeredGrad, "tex.grad.", "a2d", "f32", WL_LIST(float x, float y, int layer, float2 dx, float2 dy),
           WL_LIST(x, y, layer, dx, dy), "{%5, %6, %7, %7}], {%8, %9}, {%10, %11}",
           WL_LIST("r"(layer), "f"(x), "f"(y), "f"(dx.x), "f"(dx.y), "f"(dy.x), "f"(dy.y)))

WL_TEXTURE(wl_gather_r, "tld4.r.", "2d", "f32", WL_LIST(float x, float y), WL_LIST(x, y), "{%5, %6}]",
           WL_LIST("f"(x), "f"(y)))
WL_TEXTURE(wl_gather_g, "tld4.g.", "2d", "f32", WL_LIST(float x, float y), WL_LIST(x, y), "{%5, %6}]",
           WL_LIST("f"(x), "f"(y)))
WL_TEXTURE(wl_gather_b, "tld4.b.", "2d", "f32", WL_LIST(float x, float y), WL_LIST(x, y), "{%5, %6}]",
           WL_LIST("f"(x), "f"(y)))
WL_TEXTURE(wl_gather_a, "tld4.a.", "2d", "f32", WL_LIST(float x, float y), WL_LIST(x, y), "{%5, %6}]",
           WL_LIST("f"(x), "f"(y)))
template <class T>
WL_DEVICE T tex2Dgather(cudaTextureObject_t object, float x, float y, int component = 0) {
  switch (component) {
    case 1: return wl_gather_g<T>(object, x, y);
    case 2: return wl_gather_b<T>(object, x, y);
    case 3: return wl_gather_a<T>(object, x, y);
    default: return wl_gather_r<T>(object, x, y);
  }
}
#undef WL_TEXTURE
#undef WL_TEXTURE1
#undef WL_LIST

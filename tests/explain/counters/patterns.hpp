// Address patterns of one warp whose counters were recorded on an H200: shared by the recorder and the test.
#pragma once

#include <cstdint>
#include <vector>

namespace patterns {

enum class Kind {
  shared_load,
  shared_store,
  shared_red,
  shared_atom,
  global_load,
  global_store,
  global_red,
  global_atom,
  local_load
};
constexpr const char* kKindNames[] = {"shared_load",  "shared_store", "shared_red",  "shared_atom", "global_load",
                                      "global_store", "global_red",   "global_atom", "local_load"};

struct Pattern {
  Kind kind;
  unsigned bytes;           // of one lane's access
  std::uint32_t mask;       // active lanes
  std::uint32_t index[32];  // in units of `bytes`
};

inline std::uint32_t next_random(std::uint32_t& state) {
  state = state * 1664525u + 1013904223u;
  return state >> 8;
}

struct Shape {
  std::uint32_t index[32];
};

inline std::vector<Shape> shapes() {
  std::vector<Shape> out;
  const auto add = [&](auto&& f) {
    Shape s;
    for (std::uint32_t t = 0; t < 32; ++t) s.index[t] = f(t);
    out.push_back(s);
  };
  for (std::uint32_t stride : {0u, 1u, 2u, 3u, 4u, 33u}) add([&](std::uint32_t t) { return t * stride; });
  for (std::uint32_t d : {2u, 4u, 16u}) add([&](std::uint32_t t) { return t / d; });
  for (std::uint32_t d : {2u, 8u, 16u}) add([&](std::uint32_t t) { return t % d; });
  for (std::uint32_t d : {1u, 16u}) add([&](std::uint32_t t) { return t ^ d; });
  for (std::uint32_t d : {2u, 8u}) add([&](std::uint32_t t) { return t / d * 32; });
  for (std::uint32_t d : {4u, 16u}) add([&](std::uint32_t t) { return t % d * 16 + t / d; });
  add([](std::uint32_t t) { return (t & 2) * 16 + (t & 1); });
  std::uint32_t seed = 7;
  for (std::uint32_t range : {2u, 4u, 8u, 16u, 32u, 64u, 256u, 1000u})
    add([&](std::uint32_t) { return next_random(seed) % range; });
  return out;
}

// Every launch of the recorder, in order.
inline std::vector<Pattern> all() {
  struct Access {
    Kind kind;
    unsigned bytes;
  };
  constexpr Access kAccesses[] = {{Kind::shared_load, 4},  {Kind::shared_load, 8},  {Kind::shared_load, 16},
                                  {Kind::shared_store, 4}, {Kind::shared_store, 8}, {Kind::shared_store, 16},
                                  {Kind::shared_red, 4},   {Kind::shared_atom, 4},  {Kind::shared_atom, 8},
                                  {Kind::global_load, 4},  {Kind::global_load, 16}, {Kind::global_store, 4},
                                  {Kind::global_red, 4},   {Kind::global_red, 8},   {Kind::global_atom, 4},
                                  {Kind::local_load, 4},   {Kind::local_load, 16}};
  std::vector<Pattern> out;
  std::uint32_t seed = 99;
  for (const Access& access : kAccesses) {
    int number = 0;
    for (const Shape& shape : shapes()) {
      Pattern p{access.kind, access.bytes, 0xffffffffu, {}};
      for (int t = 0; t < 32; ++t)
        p.index[t] = access.kind == Kind::local_load ? shape.index[t] % (256 / access.bytes) : shape.index[t];
      out.push_back(p);
      constexpr std::uint32_t kMasks[] = {0x0000ffffu, 0x55555555u, 0x00ff00ffu, 0x0fffffffu};
      p.mask = number % 2 == 0 ? kMasks[number / 6 % 4] : next_random(seed) | (next_random(seed) << 16);
      if (number % 3 == 0) out.push_back(p);
      ++number;
    }
  }
  return out;
}

}  // namespace patterns

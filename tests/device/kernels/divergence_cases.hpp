// Control flow on one thread's data, compiled for the device by clang and for the host by the C++ compiler.
#pragma once

#ifndef WL_CASE
#define WL_CASE inline
#endif

WL_CASE unsigned mix(unsigned v) { return (v ^ (v >> 7)) * 2654435761u + 12345u; }

WL_CASE unsigned nested_ifs(unsigned i, unsigned x) {
  unsigned r = 1;
  if (i & 1) {
    r += x;
    if (i & 2) {
      r ^= 0x55;
      if (x & 4)
        r *= 7;
      else
        r -= 9;
    } else if (x & 8) {
      r = mix(r);
    }
    r += 3;
  } else {
    if (x & 1) r = x;
    r <<= (i >> 3) & 3;
  }
  return r;
}

WL_CASE unsigned loops_by_lane(unsigned i, unsigned x) {
  unsigned r = x;
  for (unsigned k = 0; k < i % 19; ++k) r = mix(r) + k;
  unsigned n = x & 31;
  while (n != 0) {
    r += n * i;
    n = n > 3 ? n - 3 : 0;
  }
  do {
    r = r * 3 + 1;
    ++n;
  } while (n < (i & 3));
  return r;
}

WL_CASE unsigned break_and_continue(unsigned i, unsigned x) {
  unsigned r = 0;
  for (unsigned k = 0; k < 40; ++k) {
    if (((x >> (k & 31)) & 1) == 0) continue;
    r += k * i;
    if (r % 11 == 3) break;
    if (k % 5 == i % 5) continue;
    r ^= k;
    if (r > 100000) break;
  }
  return r;
}

WL_CASE unsigned nested_loops(unsigned i, unsigned x) {
  unsigned r = 0;
  for (unsigned a = 0; a < (i & 7); ++a) {
    for (unsigned b = a; b < (x & 15); ++b) {
      if (((a + b) & 3) == (i & 3)) break;
      for (unsigned c = 0; c < b; ++c) {
        if (c == (x & 5)) continue;
        r = r * 5 + c + 1;
        if ((r & 0xff) == 0x80) goto out;
      }
    }
    r += a;
  }
out:
  return r + i;
}

WL_CASE unsigned switches(unsigned i, unsigned x) {
  unsigned r = 0;
  for (unsigned k = 0; k < 6; ++k) {
    switch ((i + x * k) % 9) {
      case 0: r += 1; break;
      case 1: r += 10;  // falls through
      case 2: r ^= 0xf0; break;
      case 3: return r + 1000000;
      case 4: r = mix(r); break;
      case 5:
        if (i & 1) break;
        r += 77;
        break;
      case 8: continue;
      default: r = r * 2 + k; break;
    }
    r += 1;
  }
  return r;
}

WL_CASE unsigned early_return(unsigned i, unsigned x) {
  if (i % 3 == 0) return x;
  unsigned r = mix(x);
  if (r & 0x100) return r + 1;
  for (unsigned k = 0; k < 10; ++k) {
    r = mix(r + k);
    if ((r >> 28) == (i & 15)) return r ^ k;
  }
  return r + 2;
}

WL_CASE unsigned short_circuit(unsigned i, unsigned x) {
  unsigned r = 0;
  for (unsigned k = 1; k < 12; ++k) {
    if ((i % k == 0 && x % k != 0) || (k > 6 && (mix(x + k) & 1))) r += k;
    r = (r & 1) ? (i & 2 ? r + 5 : r * 3) : (x & k ? r ^ 9 : r);
  }
  return r;
}

// Loops whose exits depend on values that other iterations changed; no two lanes need agree.
WL_CASE unsigned collatz(unsigned i, unsigned x) {
  unsigned n = i * 7 + (x & 63) + 1, steps = 0;
  while (n != 1 && steps < 200) {
    n = (n & 1) ? 3 * n + 1 : n / 2;
    ++steps;
  }
  return steps * 1000 + n;
}

WL_CASE unsigned mutual_loops(unsigned i, unsigned x) {
  unsigned a = i, b = x & 255, r = 0;
  while (a < 200 || b > 10) {
    if (a < 200) a += 1 + (b & 7);
    while (b > 10 && ((a ^ b) & 3) != 0) {
      b -= 1 + (a & 3);
      ++r;
      if (b > 1000) b = 0;
    }
    if (b > 10) b -= 2;
    if (++r > 500) break;
  }
  return r * 65536 + a * 256 + b;
}

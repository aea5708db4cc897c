// Functions beyond the CUDA front end's headers.
#pragma once

template <class T>
WL_DEVICE void wl_sincospi(T x, T* sine, T* cosine) {
  *sine = wl_sinpi(x, 0);
  *cosine = wl_sinpi(x, 1);
}

// The one generator of Boost that Ocelot's tests use, as the standard library has it.
#pragma once
#include <cstddef>
#include <random>

namespace boost::random {

template <class U, std::size_t w, std::size_t n, std::size_t m, std::size_t r, U a, std::size_t u, std::size_t s, U b,
          std::size_t t, U c, std::size_t l, U>
using mersenne_twister = std::mersenne_twister_engine<U, w, n, m, r, a, u, ~U{}, s, b, t, c, l, 1812433253>;

}  // namespace boost::random

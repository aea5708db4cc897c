// Handlers of loads, stores and atomics.
#pragma once

#include "interp/program.hpp"

namespace warploom::interp {

// How an address comes about: Step::imm plus a register, plus a window. Kept in Step::what.
enum : std::uint16_t {
  kAddress32 = 1,  // the register has 32 bits, sign-extended
  kAddress64 = 2,
  kShared = 4,
  kLocal = 8,
  kParam = 16,
  kAcquire = 32,
  kRelease = 64,
};

// Step::ref: `width` values, then the address register. Elements are `bits` wide.
Run load_handler(unsigned bits, bool ordered);
// One address for all lanes, which is known without a register.
Run load_fixed_handler(unsigned bits);
Run store_handler(unsigned bits, bool ordered);

enum class Atomic : std::uint8_t { add, min, max, umin, umax, and_, or_, xor_, exch, inc, dec, cas, fadd, fmin, fmax };
// Step::ref: result (may be kNoRef), address, operand, and cas's new value. Step::width: offset in elements.
Run atomic_handler(Atomic op, unsigned bits);
Run fence_handler();

// The 32 addresses of a step; `ref` is the address register.
void find_addresses(State* st, const Step* s, Ref ref, std::uint64_t* out);
// Reports an access that is no multiple of `bytes`; false then.
bool check_alignment(State* st, const Step* s, const std::uint64_t* addresses, unsigned bytes);

}  // namespace warploom::interp

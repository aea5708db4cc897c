// Handlers that only move bits: copies, width changes, packing, special registers.
#pragma once

#include "interp/program.hpp"

namespace warploom::interp {

Run copy_handler(unsigned bits);  // 1: a predicate
// Lanes of another width; from or to may be a predicate (1).
Run resize_handler(unsigned from, bool is_signed, unsigned to);
Run not_handler();  // of a predicate
// Pieces of one value: n results from one source, n sources to one result. Step::width is n.
Run unpack_handler(unsigned piece);
Run pack_handler(unsigned piece);
// A 32-bit field of the context at offset Step::imm; 64 bits; lanes of it; a predicate.
Run field_handler(unsigned bits);
Run field_lanes_handler();
Run field_pred_handler();
Run clock_handler();
Run timer_handler();
// cvta.local: adds (what == 0) or takes off each lane's window.
Run window_handler();

}  // namespace warploom::interp

// Handlers of instructions across lanes, of traps and of calls.
#pragma once

#include "interp/program.hpp"

namespace warploom::interp {

// Step::ref: result, predicate, value, lane operand, clamp operand. Results may be kNoRef.
enum class Shuffle : std::uint8_t { up, down, bfly, idx };
Run shuffle_handler(Shuffle kind);
// Step::ref: result, votes, members (kNoRef: the active lanes).
enum class Vote : std::uint8_t { ballot, any, all, uni };
Run vote_handler(Vote kind);
Run activemask_handler();
// Step::ref: result, predicate, members.
Run elect_handler();
// Step::ref: result, predicate, 64-bit values, members. Step::what: all.
Run match_handler();
// Step::ref: result, 64-bit values, members. Step::what: kind, sign in the second byte.
Run redux_handler();

// Step::ref: a predicate.
Run cluster_ready_handler();

Run trap_handler();
// Step::ref: number, count.
Run arrive_handler();
// Step::ref: addresses of the arguments; Step::width of them. Step::imm: which of Program::callees.
Run call_handler();
Run assert_handler();
// Step::ref: 64-bit result, address register: where a call finds an argument.
Run address_handler();

}  // namespace warploom::interp

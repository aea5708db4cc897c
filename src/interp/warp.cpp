// Shuffles, votes, match, reductions; traps, arrivals and calls of the device ABI.
#include "interp/warp.hpp"

#include <bit>
#include <cstring>

#include "interp/lanes.hpp"
#include "interp/memory.hpp"

namespace warploom::interp {
namespace {

using u32 = std::uint32_t;

u32& predicate(State* st, Ref ref) { return *lanes_of<u32>(st, ref); }

template <Shuffle kKind>
void shuffle(State* st, const Step* s) {
  alignas(64) u32 from[32];
  std::memcpy(from, lanes_of<u32>(st, s->ref[2]), sizeof from);
  const u32* by = lanes_of<u32>(st, s->ref[3]);
  const u32* clamp = lanes_of<u32>(st, s->ref[4]);
  alignas(64) u32 out[32];
  u32 inside = 0;
  for (u32 l = 0; l < 32; ++l) {
    const u32 b = by[l] & 31, c = clamp[l] & 31, segment = (clamp[l] >> 8) & 31;
    const u32 max = (l & segment) | (c & ~segment & 31), min = l & segment;
    std::int32_t j = 0;
    bool ok = false;
    if (kKind == Shuffle::up) {
      j = static_cast<std::int32_t>(l) - static_cast<std::int32_t>(b);
      ok = j >= static_cast<std::int32_t>(max);
    } else {
      j = static_cast<std::int32_t>(kKind == Shuffle::down   ? l + b
                                    : kKind == Shuffle::bfly ? l ^ b
                                                             : min | (b & ~segment & 31));
      ok = j <= static_cast<std::int32_t>(max);
    }
    out[l] = from[(ok ? static_cast<u32>(j) : l) & 31];
    inside |= static_cast<u32>(ok) << l;
  }
  if (s->ref[0] != kNoRef) std::memcpy(lanes_of<u32>(st, s->ref[0]), out, sizeof out);
  if (s->ref[1] != kNoRef) predicate(st, s->ref[1]) = inside;
}

template <Vote kKind>
void vote(State* st, const Step* s) {
  const u32 active = st->lanes, yes = predicate(st, s->ref[1]);
  const u32* members = s->ref[2] == kNoRef ? nullptr : lanes_of<u32>(st, s->ref[2]);
  u32 answers = 0;
  u32* ballots = kKind == Vote::ballot ? lanes_of<u32>(st, s->ref[0]) : nullptr;
  for (u32 l = 0; l < 32; ++l) {
    const u32 group = members == nullptr ? active : members[l] & active;
    const u32 count = yes & group;
    if (kKind == Vote::ballot) ballots[l] = count;
    const bool answer = kKind == Vote::any   ? count != 0
                        : kKind == Vote::all ? count == group
                                             : count == group || count == 0;
    answers |= static_cast<u32>(answer) << l;
  }
  if (kKind != Vote::ballot) predicate(st, s->ref[0]) = answers;
}

void activemask(State* st, const Step* s) {
  u32* to = lanes_of<u32>(st, s->ref[0]);
  for (u32 l = 0; l < 32; ++l) to[l] = st->lanes;
}

u32 first_lane(const State* st) { return st->lanes == 0 ? 0 : static_cast<u32>(std::countr_zero(st->lanes)); }

void elect(State* st, const Step* s) {
  const u32 members = st->lanes & lanes_of<u32>(st, s->ref[2])[first_lane(st)];
  const auto leader = static_cast<u32>(std::countr_zero(members));
  if (s->ref[0] != kNoRef) {
    u32* to = lanes_of<u32>(st, s->ref[0]);
    for (u32 l = 0; l < 32; ++l) to[l] = leader;
  }
  if (s->ref[1] != kNoRef) predicate(st, s->ref[1]) = members & (0 - members);
}

void match(State* st, const Step* s) {
  alignas(64) u32 out[32];
  u32 agree = 0;
  st->program->natives.match(lanes_of<std::uint64_t>(st, s->ref[2]), lanes_of<u32>(st, s->ref[3]), st->lanes, s->what,
                             out, &agree);
  if (s->ref[0] != kNoRef) std::memcpy(lanes_of<u32>(st, s->ref[0]), out, sizeof out);
  if (s->ref[1] != kNoRef) predicate(st, s->ref[1]) = agree;
}

void redux(State* st, const Step* s) {
  alignas(64) u32 out[32];
  st->program->natives.redux(lanes_of<std::uint64_t>(st, s->ref[1]), lanes_of<u32>(st, s->ref[2]), st->lanes,
                             s->what & 0xFF, s->what >> 8, out);
  if (s->ref[0] != kNoRef) std::memcpy(lanes_of<u32>(st, s->ref[0]), out, sizeof out);
}

void cluster_ready(State* st, const Step* s) { predicate(st, s->ref[0]) = st->program->natives.cluster_ready(st->ctx); }

void trap(State* st, const Step* s) {
  st->program->natives.trap(st->ctx, st->lanes, s->block, static_cast<std::int32_t>(s->index));
  st->stopped = true;
}

void arrive(State* st, const Step* s) {
  const u32 lane = first_lane(st);
  st->program->natives.arrive(st->ctx, static_cast<std::int32_t>(lanes_of<u32>(st, s->ref[0])[lane]),
                              static_cast<std::int32_t>(lanes_of<u32>(st, s->ref[1])[lane]), st->lanes);
}

void address(State* st, const Step* s) { find_addresses(st, s, s->ref[1], lanes_of<std::uint64_t>(st, s->ref[0])); }

std::uint64_t* argument(State* st, const Step* s, unsigned k, int lane) {
  return reinterpret_cast<std::uint64_t*>(lanes_of<std::uint64_t>(st, s->ref[k])[lane]);
}

void call(State* st, const Step* s) {
  st->current = s;
  void* callee = st->program->callees[s->imm];
  for (u32 rest = st->lanes; rest != 0; rest &= rest - 1) {
    const int l = std::countr_zero(rest);
    const auto arg = [&](unsigned k) { return argument(st, s, k, l); };
    switch (s->width) {
      case 0: reinterpret_cast<void (*)(WarpContext*)>(callee)(st->ctx); break;
      case 1: reinterpret_cast<void (*)(WarpContext*, void*)>(callee)(st->ctx, arg(0)); break;
      case 2: reinterpret_cast<void (*)(WarpContext*, void*, void*)>(callee)(st->ctx, arg(0), arg(1)); break;
      default: reinterpret_cast<void (*)(WarpContext*, void*, void*, void*)>(callee)(st->ctx, arg(0), arg(1), arg(2));
    }
  }
}

void assert_fail(State* st, const Step* s) {
  st->current = s;
  const auto l = static_cast<int>(first_lane(st));
  st->program->natives.assertfail(st->ctx, static_cast<u32>(l), s->block, static_cast<std::int32_t>(s->index),
                                  argument(st, s, 0, l), argument(st, s, 1, l),
                                  reinterpret_cast<const u32*>(argument(st, s, 2, l)), argument(st, s, 3, l));
  st->stopped = true;
}

}  // namespace

Run shuffle_handler(Shuffle kind) {
  switch (kind) {
    case Shuffle::up: return shuffle<Shuffle::up>;
    case Shuffle::down: return shuffle<Shuffle::down>;
    case Shuffle::bfly: return shuffle<Shuffle::bfly>;
    default: return shuffle<Shuffle::idx>;
  }
}
Run vote_handler(Vote kind) {
  switch (kind) {
    case Vote::ballot: return vote<Vote::ballot>;
    case Vote::any: return vote<Vote::any>;
    case Vote::all: return vote<Vote::all>;
    default: return vote<Vote::uni>;
  }
}
Run activemask_handler() { return activemask; }
Run elect_handler() { return elect; }
Run match_handler() { return match; }
Run redux_handler() { return redux; }
Run cluster_ready_handler() { return cluster_ready; }
Run trap_handler() { return trap; }
Run arrive_handler() { return arrive; }
Run call_handler() { return call; }
Run assert_handler() { return assert_fail; }
Run address_handler() { return address; }

}  // namespace warploom::interp

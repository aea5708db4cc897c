// What runs a warp: the interpreter until there is compiled code, and the changes from one to the other.
#include <time.h>

#include "base/cores.hpp"
#include "device/cpu/block.hpp"

namespace warploom::device {

using codegen::Exit;
using codegen::Mode;
using codegen::WarpContext;

namespace {

// After so many conversions a warp of the interpreter waits for code that takes diverged lanes.
constexpr std::uint32_t kMaxConversions = 64;
constexpr std::uint32_t kLongBlock = 32;
// So long the interpreter runs anyway, in seconds, and a thread with so much of a core has one for itself.
constexpr double kFreeSeconds = 5e-3, kOwnCore = 0.8;

double seconds_of(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace

// The kernel decoded for the interpreter, when that is wanted and covers it.
bool BlockState::may_interpret() {
  if (!asked_) {
    asked_ = true;
    program_ = grid_->program();
    if (program_ != nullptr) interpreter_.bind(*program_);
  }
  return program_ != nullptr;
}

// Interpreting must not take the time of the threads that compile: one thread does it, and not for long when it does
// not have a core for itself.
bool BlockState::leaves_cores_alone() const {
  if (helps_) return false;
  const double now = seconds_of(CLOCK_MONOTONIC), used = seconds_of(CLOCK_THREAD_CPUTIME_ID);
  Grid& grid = *grid_;
  if (grid.interpreted_from == 0) {
    grid.interpreted_from = now;
    grid.interpreted_used = used;
    return true;
  }
  const double passed = now - grid.interpreted_from;
  if (passed < kFreeSeconds) return true;
  return usable_cores() > 1 && used - grid.interpreted_used > kOwnCore * passed;
}

// Reproducible chance.
bool BlockState::toss() {
  const std::uint64_t x = (number_ * 0x9e3779b97f4a7c15ULL + ++tosses_) * 0xff51afd7ed558ccdULL;
  return ((x >> 40) & 1) != 0;
}

// Is a block, or a warp of it, that would begin in this version better begun in the interpreter?
bool BlockState::interprets(Mode mode) {
  if (asked_ && program_ == nullptr) return false;
  const bool missing = grid_->code->ready(mode) == nullptr;
  const bool wants = missing || grid_->tier == Tier::interpreter || (grid_->tier == Tier::mixed && toss());
  if (!wants || (grid_->tier == Tier::automatic && !leaves_cores_alone()) || !may_interpret()) return false;
  irregular_ = true;
  return true;
}

// For a warp that begins its block.
void BlockState::choose_tier(std::uint32_t w) {
  interpreted_[w] = in_loop_code_[w] = false;
  // Warps of the block version are begun there.
  if ((fresh_ && mode_[w] == Mode::uniform) || !interprets(mode_[w])) return;
  interpreted_[w] = true;
  mode_[w] = Mode::conservative;
  interpreter_.start(warps_[w]);
}

// Runs a warp in the interpreter until it must wait; nothing when it goes on in compiled code.
std::optional<Exit> BlockState::interpret(std::uint32_t w) {
  WarpContext& c = warps_[w];
  codegen::KernelCode& code = *grid_->code;
  const bool leaves = grid_->tier != Tier::interpreter;
  if (leaves && c.entry == 0) {
    // It has not begun: nothing to convert.
    const Mode whole = c.live == 0xFFFFFFFF ? Mode::uniform : Mode::masked;
    if (code.ready(whole) != nullptr && grid_->tier == Tier::automatic) {
      interpreted_[w] = false;
      mode_[w] = whole;
      if (whole == Mode::uniform) c.pending[0] = 0;
      return std::nullopt;
    }
  }
  interp::Interpreter::Ways ways;
  if (leaves) {
    ways.code = &code;
    // Lanes that part again and again are better off here until there is code for that.
    ways.uniform = c.transitions < kMaxConversions || code.ready(Mode::masked) != nullptr;
    if (grid_->tier == Tier::mixed) ways.uniform = toss();
    ways.leaves_loops = grid_->tier == Tier::automatic || ways.uniform;
    ways.owner = this;
    ways.loop_code = [](void* owner) {
      auto& self = *static_cast<BlockState*>(owner);
      if (self.loop_code_ == nullptr) self.loop_code_ = self.grid_->loop_code();
      return self.loop_code_;
    };
    if (grid_->tier == Tier::mixed && ways.leaves_loops) {
      ways.rounds = 3;
      if (auto made = ways.loop_code(this)->entry(Mode::uniform); !made) ways.leaves_loops = false;
    }
  }
  const Exit exit = interpreter_.run(c, ways);
  // A block that has come to so many barriers is long enough for code that warps can change to.
  if (exit == Exit::barrier && leaves && code.ready(code.plan().main_mode()) != nullptr &&
      ++c.interpreted == kLongBlock)
    code.request(Mode::uniform);
  if (exit == Exit::to_uniform) {
    in_loop_code_[w] = interpreter_.left_a_loop();
    interpreted_[w] = false;
    mode_[w] = Mode::uniform;
    return std::nullopt;
  }
  if (exit == Exit::to_conservative) {
    interpreted_[w] = false;
    return std::nullopt;
  }
  return exit;
}

// Code of the warp's mode, compiled now if it must be; nullptr when that fails or the interpreter takes over.
codegen::CodeEntry BlockState::compiled(std::uint32_t w) {
  WarpContext& c = warps_[w];
  codegen::KernelCode& code = *grid_->code;
  if (mode_[w] == Mode::uniform && in_loop_code_[w]) return loop_code_->ready(Mode::uniform);
  const codegen::CodeEntry ready = code.ready(mode_[w]);
  const bool swap = grid_->tier == Tier::mixed && mode_[w] != Mode::uniform && c.entry != 0 && toss();
  if (ready != nullptr && !swap) return ready;
  // A warp in the uniform version has begun there, so the code exists.
  if (mode_[w] != Mode::uniform && may_interpret()) {
    code.request(mode_[w]);
    if (mode_[w] == Mode::masked && c.entry != 0) convert_to_conservative(c);
    if (c.entry == 0) interpreter_.start(c);
    if (c.entry != 0) c.entry = codegen::kEntryResume;
    interpreted_[w] = true;
    irregular_ = true;
    mode_[w] = Mode::conservative;
    return nullptr;
  }
  return entry_of(mode_[w]);
}

// Waits for the version; nullptr when it cannot be compiled, which ends the launch.
codegen::CodeEntry BlockState::entry_of(Mode mode) {
  auto made = grid_->code->entry(mode);
  if (made) return *made;
  grid_->fail(std::move(made.error()));
  return nullptr;
}

}  // namespace warploom::device

// The stack of a thread: frames of functions that call themselves, and memory allocated at run time.
//
// Such a function is not inlined: its code stands in the kernel once. A call keeps the caller's registers in the
// caller's frame, makes a new frame, and goes to the function by a branch; the end of the function goes back through a
// table of the places that call it. So each lane has its own depth, and to the rest of the compiler it is all branches.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>

#include "ir/flatten.hpp"

namespace warploom::ir {

// For each thread. What nvcc reserves by default is 1 KiB.
inline constexpr std::uint32_t kStackBytes = 32 << 10;

// One function that is not inlined.
struct Frame {
  const ptx::Function* function = nullptr;
  std::shared_ptr<ptx::Body> body;
  std::int32_t entry = -1;                              // label
  std::int32_t first_value = -1;                        // of its registers
  std::uint32_t bytes = 0;                              // of a frame
  std::unordered_map<std::string, std::int32_t> scope;  // its parameters, results and variables
  std::vector<std::int32_t> sites;                      // labels behind calls
  std::vector<std::pair<ValueId, std::uint32_t>> kept;  // registers, and where in the frame a call keeps them
};

class Frames {
 public:
  Frames(Function& function, FlatCode& code) : f_(function), code_(code) {}

  // Makes the stack, empty; at the start of the kernel.
  void start();
  // Lays out the frame of a function; its registers become values.
  void lay_out(Frame& frame);

  // A piece of memory that a call passes: of the caller, and of the callee's frame.
  struct Passed {
    std::int32_t variable = -1;
    const ptx::Param* formal = nullptr;
  };
  // `caller`: in whose code the call stands, nullptr for none that is not inlined. `before` adds what is due between
  // the keeping of the caller's registers and the callee, `after` what is due before they are there again.
  void call(Frame& callee, const Frame* caller, const std::vector<Passed>& arguments,
            const std::vector<Passed>& results, const Inst& at, const std::function<void()>& before,
            const std::function<void()>& after);
  // The end of a function's code: back to where the frame came from. The last instruction is a branch through a table,
  // whose targets are the function's sites.
  void leave();

  // Replaces operand k, which names a variable of a frame, by an address relative to the frame.
  void name_in_frame(FlatInst& flat, std::size_t k);
  [[nodiscard]] ptx::Operand frame_address(std::int32_t variable) const;

  // alloca, stacksave, stackrestore.
  void allocate(const FlatInst& flat);
  ValueId mark();              // the stack pointer as it is
  void release(ValueId mark);  // and again

 private:
  ValueId value(isa::Type type, const char* name);
  FlatInst make(isa::Op op, std::initializer_list<isa::Type> types, std::vector<ptx::Operand> operands) const;
  void add(FlatInst inst, const Inst* at = nullptr);
  void move(ValueId to, ValueId from, const Inst* at);
  void access(bool load, ValueId v, ValueId base, std::uint64_t offset, isa::Type type, const Inst* at);
  void copy(const Passed& passed, ValueId frame, bool to_frame, const Inst* at);
  void check(ValueId top, const Inst* at);
  void keep(const Frame& frame, bool restore, const Inst* at);

  Function& f_;
  FlatCode& code_;
  ValueId top_ = -1, base_ = -1, limit_ = -1;  // end of the stack, start of the newest frame, end of the space
};

}  // namespace warploom::ir

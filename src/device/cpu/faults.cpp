// Memory faults of generated code: from the signal to an error that names kernel, line and thread.
#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "device/cpu/block.hpp"
#include "device/cpu/cpu_device.hpp"

namespace warploom::device {
namespace {

thread_local FaultPoint* fault_point = nullptr;
struct sigaction previous[2];

void* program_counter(void* context) {
  auto* u = static_cast<ucontext_t*>(context);
#if defined(__x86_64__)
  return reinterpret_cast<void*>(u->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return reinterpret_cast<void*>(u->uc_mcontext.pc);
#else
  return nullptr;
#endif
}

// Whether the access that faulted was a store; true where that is not known.
bool wrote(void* context) {
#if defined(__x86_64__)
  return (static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#else
  (void)context;
  return true;
#endif
}

void on_fault(int signal, siginfo_t* info, void* context) {
  // Managed memory learns of a touch, and the access is done again.
  if (signal == SIGSEGV &&
      ManagedMemory::on_fault(reinterpret_cast<std::uint64_t>(info->si_addr), fault_point != nullptr, wrote(context)))
    return;
  if (FaultPoint* point = fault_point) {
    point->address = info->si_addr;
    point->pc = program_counter(context);
    // The jump leaves the mask as it is, and whoever called this handler may have blocked all signals (sanitizers do).
    pthread_sigmask(SIG_SETMASK, &static_cast<ucontext_t*>(context)->uc_sigmask, nullptr);
    siglongjmp(point->jump, 1);
  }
  // Not ours: whoever was there before decides.
  const struct sigaction& old = previous[signal == SIGBUS ? 1 : 0];
  if ((old.sa_flags & SA_SIGINFO) != 0 && old.sa_sigaction != nullptr) {
    old.sa_sigaction(signal, info, context);
    return;
  }
  if (old.sa_handler != SIG_DFL && old.sa_handler != SIG_IGN) {
    old.sa_handler(signal);
    return;
  }
  ::signal(signal, SIG_DFL);
}

}  // namespace

void install_fault_handler() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action{};
    action.sa_sigaction = on_fault;
    // The handler leaves by a jump: it must not stay blocked.
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, &previous[0]);
    sigaction(SIGBUS, &action, &previous[1]);
  });
}

void arm_fault_point(FaultPoint* point) { fault_point = point; }

void BlockState::report_fault(const FaultPoint& fault) {
  const auto address = reinterpret_cast<std::uint64_t>(fault.address);
  Diag d;
  d.id = ErrorId::illegal_address;
  d.what = fmt::format("illegal address {:#x}", address);
  d.where = where_warp(current_);
  if (fault_address != 0) return;  // a replay: the checker has spoken, or nothing is known
  codegen::CodePlace place{};
  const ir::Function& f = grid_->code->plan().f();
  const bool native = native_place.has_value();
  if (native) place = *std::exchange(native_place, std::nullopt);
  if (native || interpreter_.locate(place) || grid_->code->locate(fault.pc, place) ||
      (loop_code_ != nullptr && loop_code_->locate(fault.pc, place))) {
    const ir::Inst& inst = f.blocks[static_cast<std::size_t>(place.block)].insts[place.index];
    if (inst.source >= 0 && f.sources[static_cast<std::size_t>(inst.source)].loc.known())
      d.loc = f.sources[static_cast<std::size_t>(inst.source)].loc;
    else
      d.loc = f.module->place(inst.p.line);
  }
  // A block of a cluster does not run alone.
  if (auto exact = cluster_ != nullptr ? std::nullopt : grid_->device->replay(*grid_, number_, address)) {
    if (!exact->where.empty()) d.where = exact->where;
    if (exact->loc.known()) d.loc = exact->loc;
    if (!exact->what.empty()) d.what = exact->what;
  }
  d.where += "; " + grid_->device->describe_address(fault.address);
  d.remedy = "check the index against the array's size; the device must be reset before it is used again";
  grid_->fail(std::move(d));
}

std::optional<Diag> CpuDevice::replay(Grid& grid, std::uint64_t block, std::uint64_t fault_address) {
  const std::vector<std::byte> params(grid.params, grid.params + grid.launch->params.size());
  auto plan = codegen::make_plan(grid.code->plan().f(), grid.code->plan().block, false, true);
  codegen::KernelCode code(plan, host_symbols(), grid.resolve);
  Grid again;
  again.code = &code;
  again.device = this;
  again.launch = grid.launch;
  again.params = params.data();
  again.shared_bytes = grid.shared_bytes;
  again.blocks = grid.blocks;
  again.id = grid.id;
  again.stream_from = grid.stream_from;
  again.start_conservative = true;
  again.order = grid.order;
  again.resolve = grid.resolve;
  BlockState state;
  state.fault_address = fault_address;
  if (!state.bind(again, nullptr)) return std::nullopt;
  state.start(block);
  // A block that waits for others never ends alone.
  for (int round = 0; round < 1000; ++round)
    if (state.run() != BlockState::Progress::stalled) break;
  return state.check_error;
}

}  // namespace warploom::device

extern "C" {

// One access of a replayed block, or of a launch that must keep out of other devices' memory. Gives 0 to stop at the
// first address that it may not access.
std::uint32_t warploom_check(warploom::codegen::WarpContext* c, const std::uint64_t* addresses, std::uint32_t mask,
                             std::uint32_t bytes, std::uint32_t site) {
  using namespace warploom;
  auto* block = static_cast<device::BlockState*>(c->block);
  const device::AddressRanges& forbidden = block->grid().forbidden;
  const bool of_peers = !forbidden.empty();
  for (std::uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<std::uint32_t>(std::countr_zero(rest));
    const std::uint64_t a = addresses[lane];
    const auto holds = [a](const auto& range) { return a >= range.first && a < range.second; };
    if (of_peers ? std::ranges::none_of(forbidden, holds)
                 : block->grid().device->memory().contains(a, bytes) || block->owns(a, bytes))
      continue;
    Diag d;
    d.id = ErrorId::illegal_address;
    const observe::Site& s = block->grid().code->plan().sites[site];
    const char* did = s.access == observe::AccessKind::load    ? "read"
                      : s.access == observe::AccessKind::store ? "write"
                                                               : "atomic";
    d.what = fmt::format("illegal address: {} of {} bytes at {:#x}", did, bytes, a);
    d.where = block->where(c->warp, lane);
    d.loc = s.source.known() ? s.source : block->grid().code->plan().f().module->place(s.ptx_line);
    if (!of_peers) {
      block->check_error = std::move(d);
      return 0;
    }
    d.what += ", which is memory of another device";
    d.remedy = "enable peer access on the device that runs the kernel, or copy the memory with copy_peer()";
    block->grid().fail(std::move(d));
    return 0;
  }
  return 1;
}

}  // extern "C"

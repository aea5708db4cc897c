// The barrier of a cooperative grid, as Numba calls it. The launch leaves the address of its workspace in %envreg1
// (high) and %envreg2 (low); the second word counts blocks, and its top bit turns over when all have come.
#include "ir/device_functions.hpp"

namespace warploom::ir {

const ptx::Module& device_functions() {
  static const std::shared_ptr<const ptx::Module> module = [] {
    auto parsed = ptx::parse(R"(
.version 8.0
.target sm_70
.address_size 64
.func (.param .b64 handle) cudaCGGetIntrinsicHandle(.param .b32 scope)
{
  .reg .b32 %r<3>;
  .reg .b64 %rd;
  mov.u32 %r1, %envreg1;
  mov.u32 %r2, %envreg2;
  mov.b64 %rd, {%r2, %r1};
  st.param.b64 [handle], %rd;
  ret;
}
.func (.param .b32 status) cudaCGSynchronize(.param .b64 handle, .param .b32 flags)
{
  .reg .b32 %r<16>;
  .reg .b64 %rd;
  .reg .pred %p<4>;
  ld.param.u64 %rd, [handle];
  mov.u32 %r1, 1;
  setp.eq.u64 %p1, %rd, 0;
  @%p1 bra DONE;
  barrier.sync 0;
  mov.u32 %r2, %tid.x;
  mov.u32 %r3, %tid.y;
  mov.u32 %r4, %tid.z;
  or.b32 %r2, %r2, %r3;
  or.b32 %r2, %r2, %r4;
  setp.ne.u32 %p1, %r2, 0;
  @%p1 bra WAITED;
  mov.u32 %r2, %nctaid.x;
  mov.u32 %r3, %nctaid.y;
  mov.u32 %r4, %nctaid.z;
  mul.lo.u32 %r2, %r2, %r3;
  mul.lo.u32 %r2, %r2, %r4;
  mov.u32 %r5, %ctaid.x;
  mov.u32 %r6, %ctaid.y;
  mov.u32 %r7, %ctaid.z;
  or.b32 %r5, %r5, %r6;
  or.b32 %r5, %r5, %r7;
  setp.eq.u32 %p2, %r5, 0;
  sub.u32 %r8, 0x80000001, %r2;
  selp.u32 %r8, %r8, 1, %p2;
  fence.acq_rel.gpu;
  atom.global.add.u32 %r9, [%rd+4], %r8;
SPIN:
  ld.acquire.gpu.global.u32 %r10, [%rd+4];
  xor.b32 %r11, %r9, %r10;
  setp.ge.s32 %p3, %r11, 0;
  @%p3 bra SPIN;
  fence.acq_rel.gpu;
WAITED:
  barrier.sync 0;
  mov.u32 %r1, 0;
DONE:
  st.param.b32 [status], %r1;
  ret;
}
)",
                             "<device functions>");
    return parsed ? *parsed : std::make_shared<ptx::Module>();
  }();
  return *module;
}

}  // namespace warploom::ir

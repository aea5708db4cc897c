// What random kernels are made of.
#pragma once

#include "random_kernel.hpp"

namespace random_kernels {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i32 = std::int32_t;
using i64 = std::int64_t;

enum class Ex {
  constant,
  var,
  uvar,
  counter,
  tx,
  ty,
  tz,
  lin,
  lane,
  bx,
  nx,
  ny,
  p0,
  p1,
  add,
  sub,
  mul,
  mulhi,
  band,
  bor,
  bxor,
  shl,
  shr,
  sar,
  div,
  rem,
  sdiv,
  minu,
  maxu,
  mins,
  maxs,
  neg,
  bnot,
  popc,
  clz,
  sext8,
  sext16,
  call,
  permute,
  funnel,
  select,
  load,
  load_guard_u,
  load_guard_s,
  load_byte,
  load_short,
  load_vec,
  load_local,
  load_scratch,
  load_wide,
  lo,
  hi,
  lt,
  lts,
  eq,
  bit,
  land,
  lor,
  lnot,
  wvar,
  zext,
  sext,
  wadd,
  wsub,
  wmul,
  wideu,
  wides,
  wshl,
  wshr,
};
struct Expr {
  Ex op;
  u32 imm = 0;
  std::vector<ExprPtr> k;
};

enum class St {
  assign,
  uassign,
  wassign,
  branch,
  loop,
  loop_down,
  dowhile,
  brk,
  cont,
  ret,
  store_scratch,
  store_local,
  add_sum,
  exchange,
  shfl,
  ballot,
  masked,
  walk,
  switch_,
  exchange_bytes,
  store_vec,
  sync_warp
};
struct Stmt {
  St op;
  int var = 0;
  u32 imm = 0, imm2 = 0;
  std::vector<ExprPtr> e;
  std::vector<Body> bodies;
};

}  // namespace random_kernels

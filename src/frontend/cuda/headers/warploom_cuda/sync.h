// Block barriers, fences, clocks and ways to stop a kernel.
#pragma once

// clang knows __syncthreads itself (bar.sync 0).
WL_DEVICE int __syncthreads_count(int predicate) { return __nvvm_bar0_popc(predicate); }
WL_DEVICE int __syncthreads_and(int predicate) { return __nvvm_bar0_and(predicate); }
WL_DEVICE int __syncthreads_or(int predicate) { return __nvvm_bar0_or(predicate); }
WL_DEVICE void __syncwarp(unsigned int mask = 0xffffffffu) { __nvvm_bar_warp_sync(mask); }
WL_DEVICE void __barrier_sync(unsigned int id) { __nvvm_barrier_sync(id); }
WL_DEVICE void __barrier_sync_count(unsigned int id, unsigned int count) { __nvvm_barrier_sync_cnt(id, count); }

WL_DEVICE void __threadfence_block() { __nvvm_membar_cta(); }
WL_DEVICE void __threadfence() { __nvvm_membar_gl(); }
WL_DEVICE void __threadfence_system() { __nvvm_membar_sys(); }

WL_DEVICE long long clock64() { return __nvvm_read_ptx_sreg_clock64(); }
WL_DEVICE int clock() { return __nvvm_read_ptx_sreg_clock(); }
WL_DEVICE void __nanosleep(unsigned int ns) { asm volatile("nanosleep.u32 %0;" ::"r"(ns)); }
WL_DEVICE void __trap() { asm volatile("trap;"); }
WL_DEVICE void __brkpt() { asm volatile("brkpt;"); }

// Cooperative groups: the grid, the block, tiles of a warp, and the lanes that happen to be together.
#pragma once
#include "warploom_cuda.h"

// Counts the blocks at the grid's barrier; its top bit turns over each time all have arrived. One for each module, so
// two cooperative grids of one module must not run at once.
static __attribute__((device)) unsigned int wl_grid_arrivals;

namespace cooperative_groups {

class thread_block;

namespace details {
WL_DEVICE unsigned int block_size() { return blockDim.x * blockDim.y * blockDim.z; }
WL_DEVICE unsigned int block_rank() { return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z); }
WL_DEVICE unsigned int grid_blocks() { return gridDim.x * gridDim.y * gridDim.z; }
WL_DEVICE unsigned int grid_block_rank() { return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z); }
WL_DEVICE unsigned int lane() { return block_rank() & 31; }
}  // namespace details

// The whole grid, in a cooperative launch.
class grid_group {
 public:
  WL_DEVICE_MEMBER bool is_valid() const { return true; }
  WL_DEVICE_MEMBER void sync() const {
    __syncthreads();
    if (details::block_rank() == 0) {
      __threadfence();
      // One block brings the counter to the turn of its top bit, each of the others adds one.
      const unsigned int add = details::grid_block_rank() == 0 ? 0x80000000u - (details::grid_blocks() - 1) : 1u;
      const unsigned int before = atomicAdd(&wl_grid_arrivals, add);
      while (((*static_cast<volatile unsigned int*>(&wl_grid_arrivals) ^ before) & 0x80000000u) == 0) {
      }
      __threadfence();
    }
    __syncthreads();
  }
  WL_DEVICE_MEMBER unsigned long long size() const {
    return static_cast<unsigned long long>(details::grid_blocks()) * details::block_size();
  }
  WL_DEVICE_MEMBER unsigned long long num_threads() const { return size(); }
  WL_DEVICE_MEMBER unsigned long long thread_rank() const {
    return static_cast<unsigned long long>(details::grid_block_rank()) * details::block_size() + details::block_rank();
  }
  WL_DEVICE_MEMBER unsigned long long num_blocks() const { return details::grid_blocks(); }
  WL_DEVICE_MEMBER unsigned long long block_rank() const { return details::grid_block_rank(); }
  WL_DEVICE_MEMBER dim3 group_dim() const { return gridDim; }
  WL_DEVICE_MEMBER dim3 dim_blocks() const { return gridDim; }
  WL_DEVICE_MEMBER dim3 block_index() const { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
};

class thread_block {
 public:
  WL_DEVICE_MEMBER static void sync() { __syncthreads(); }
  WL_DEVICE_MEMBER static unsigned int size() { return details::block_size(); }
  WL_DEVICE_MEMBER static unsigned int num_threads() { return details::block_size(); }
  WL_DEVICE_MEMBER static unsigned int thread_rank() { return details::block_rank(); }
  WL_DEVICE_MEMBER static dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
  WL_DEVICE_MEMBER static dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
  WL_DEVICE_MEMBER static dim3 group_dim() { return blockDim; }
  WL_DEVICE_MEMBER static dim3 dim_threads() { return blockDim; }
};

// Size consecutive threads of one warp; Size is a power of two up to 32.
template <unsigned int Size, class Parent = void>
class thread_block_tile {
  static_assert(Size != 0 && Size <= 32 && (Size & (Size - 1)) == 0, "a tile is a power of two up to 32 threads");

 public:
  WL_DEVICE_MEMBER void sync() const { __syncwarp(mask()); }
  WL_DEVICE_MEMBER static constexpr unsigned int size() { return Size; }
  WL_DEVICE_MEMBER static constexpr unsigned int num_threads() { return Size; }
  WL_DEVICE_MEMBER unsigned int thread_rank() const { return details::lane() & (Size - 1); }
  WL_DEVICE_MEMBER unsigned int meta_group_rank() const { return details::block_rank() / Size; }
  WL_DEVICE_MEMBER unsigned int meta_group_size() const { return (details::block_size() + Size - 1) / Size; }
  template <class T>
  WL_DEVICE_MEMBER T shfl(T v, int rank) const {
    return __shfl_sync(mask(), v, rank, Size);
  }
  template <class T>
  WL_DEVICE_MEMBER T shfl_up(T v, unsigned int delta) const {
    return __shfl_up_sync(mask(), v, delta, Size);
  }
  template <class T>
  WL_DEVICE_MEMBER T shfl_down(T v, unsigned int delta) const {
    return __shfl_down_sync(mask(), v, delta, Size);
  }
  template <class T>
  WL_DEVICE_MEMBER T shfl_xor(T v, int lanes) const {
    return __shfl_xor_sync(mask(), v, lanes, Size);
  }
  WL_DEVICE_MEMBER int any(int predicate) const { return __any_sync(mask(), predicate); }
  WL_DEVICE_MEMBER int all(int predicate) const { return __all_sync(mask(), predicate); }
  WL_DEVICE_MEMBER unsigned int ballot(int predicate) const {
    return (__ballot_sync(mask(), predicate) & mask()) >> first();
  }
  template <class T>
  WL_DEVICE_MEMBER unsigned int match_any(T v) const {
    return (__match_any_sync(mask(), v) & mask()) >> first();
  }

 private:
  WL_DEVICE_MEMBER static unsigned int first() { return details::lane() & ~(Size - 1); }
  WL_DEVICE_MEMBER static unsigned int mask() { return (Size == 32 ? ~0u : (1u << (Size & 31)) - 1) << first(); }
};

// The lanes that were active together when the group was made.
class coalesced_group {
 public:
  WL_DEVICE_MEMBER explicit coalesced_group(unsigned int mask) : mask_(mask) {}
  WL_DEVICE_MEMBER void sync() const { __syncwarp(mask_); }
  WL_DEVICE_MEMBER unsigned int size() const { return __popc(mask_); }
  WL_DEVICE_MEMBER unsigned int num_threads() const { return __popc(mask_); }
  WL_DEVICE_MEMBER unsigned int thread_rank() const { return __popc(mask_ & ((1u << details::lane()) - 1)); }
  template <class T>
  WL_DEVICE_MEMBER T shfl(T v, unsigned int rank) const {
    return __shfl_sync(mask_, v, __fns(mask_, 0, static_cast<int>(rank) + 1));
  }
  WL_DEVICE_MEMBER int any(int predicate) const { return __any_sync(mask_, predicate); }
  WL_DEVICE_MEMBER int all(int predicate) const { return __all_sync(mask_, predicate); }

 private:
  unsigned int mask_;
};

WL_DEVICE grid_group this_grid() { return {}; }
WL_DEVICE thread_block this_thread_block() { return {}; }
WL_DEVICE coalesced_group coalesced_threads() { return coalesced_group(__activemask()); }
template <unsigned int Size, class Parent>
WL_DEVICE thread_block_tile<Size, Parent> tiled_partition(const Parent&) {
  return {};
}
template <class Group>
WL_DEVICE void sync(const Group& group) {
  group.sync();
}

}  // namespace cooperative_groups

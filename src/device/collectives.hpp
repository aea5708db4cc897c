// Collectives: operations that several devices, the ranks of a group, take part in with memory of their own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.hpp"

namespace warploom::device {

class Device;

// Values are those of ncclDataType_t and ncclRedOp_t.
enum class ElementType : std::uint8_t { i8, u8, i32, u32, i64, u64, f16, f32, f64, bf16 };
enum class Reduction : std::uint8_t { sum, product, max, min, average };

[[nodiscard]] constexpr std::size_t element_bytes(ElementType type) {
  constexpr std::size_t kBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return kBytes[static_cast<std::size_t>(type)];
}

struct Collective {
  enum class Kind : std::uint8_t { all_reduce, broadcast, reduce, all_gather, reduce_scatter, send, receive };
  Kind kind{};
  const void* from = nullptr;
  void* to = nullptr;
  std::size_t count = 0;  // elements, of one rank's part for all_gather and reduce_scatter
  ElementType type{};
  Reduction reduction{};
  int peer = 0;  // the root, or the other side
};

// One rank of a group.
class Communicator {
 public:
  virtual ~Communicator() = default;
  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int ranks() const = 0;
  // This rank's part, in the thread's current queue; where there is none it is done on return, and waits for the other
  // ranks. All ranks ask for the same operations in the same order.
  virtual Result<void> run(const Collective& what) = 0;
  // Nothing more will be asked of this rank; what was asked for may still be under way.
  virtual void leave() {}
};

// What names a group to those who join it.
using CommunicatorId = std::array<std::byte, 128>;

class Collectives {
 public:
  virtual ~Collectives() = default;
  virtual Result<CommunicatorId> unique_id() = 0;
  // Returns when all ranks have joined.
  virtual Result<std::unique_ptr<Communicator>> join(Device& device, const CommunicatorId& id, int ranks, int rank) = 0;
  // All ranks of a group at once; each device once.
  virtual Result<std::vector<std::unique_ptr<Communicator>>> all(std::span<Device* const> devices) = 0;
  // Between the two the thread's operations are collected, and begin together.
  virtual Result<void> begin_group() = 0;
  virtual Result<void> end_group() = 0;
};

// NCCL, when it is installed; not_supported says how to get it.
Result<Collectives*> cuda_collectives();
// Of CPU devices, inside one process.
Collectives& cpu_collectives();

}  // namespace warploom::device

// Collectives over several devices: sums, copies to all, and messages between ranks, in the order of streams.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "warploom/array.hpp"
#include "warploom/device.hpp"
#include "warploom/export.hpp"
#include "warploom/stream.hpp"

namespace warploom {
namespace detail {

struct CommunicatorState;

}  // namespace detail

/// How elements are combined (ncclRedOp_t).
enum class Reduction : std::uint8_t { sum, product, max, min, average };

/// What elements are (ncclDataType_t).
enum class ElementType : std::uint8_t { i8, u8, i32, u32, i64, u64, f16, f32, f64, bf16 };

/// Names a group to those who join it; hand the bytes to the other processes by a file, a socket or MPI.
using CommunicatorId = std::array<std::byte, 128>;

/// One rank of a group of devices, each of which is one rank. Move only. On GPUs NCCL does the work; it is looked for
/// when the first group is made: WARPLOOM_NCCL names a file, else libnccl.so.2. not_supported says what to install when
/// there is none. CPU devices form groups inside one process, whose sums go in the order of the ranks.
///
/// Every rank asks for the same operations, sizes and types in the same order. Calls are queued on a stream of the
/// rank's device and return at once; memory must stay until the stream has passed them. `from` and `to` may be the same
/// memory (all_gather: `from` the rank's own part of `to`; reduce_scatter the other way round). One thread that calls
/// for several ranks does so between the begin and the end of a CollectiveGroup. Throw invalid_value for memory that is
/// not inside one allocation or a rank that is not there, invalid_handle for a stream of another device or after
/// Device::reset(). What goes wrong later is thrown by a synchronising call. (NCCL documentation, "Collective
/// Communication Functions".)
class WARPLOOM_API Communicator {
 public:
  /// A new identity (ncclGetUniqueId), made on one rank. That process takes part in the group.
  [[nodiscard]] static CommunicatorId unique_id(const Device& device);
  /// Joins a group of `ranks` as number `rank`; returns when all have joined (ncclCommInitRank), so each rank needs a
  /// thread or a process of its own. Throws invalid_value for a rank outside, or one that has joined already.
  Communicator(const Device& device, const CommunicatorId& id, int ranks, int rank);
  /// All ranks of a group at once, in the order of the devices (ncclCommInitAll). Throws invalid_value for no devices,
  /// one that comes twice, or devices of different kinds.
  [[nodiscard]] static std::vector<Communicator> all(std::span<const Device> devices);

  Communicator(Communicator&&) noexcept;
  Communicator& operator=(Communicator&&) noexcept;
  /// Work that is queued is finished first.
  ~Communicator();

  [[nodiscard]] int rank() const;
  [[nodiscard]] int ranks() const;
  [[nodiscard]] Device device() const;

  /// By address; `count` counts elements, of one rank's part for all_gather and reduce_scatter.
  void all_reduce(const void* from, void* to, std::size_t count, ElementType type, Reduction how,
                  const Stream& stream) const;
  void broadcast(const void* from, void* to, std::size_t count, ElementType type, int root, const Stream& stream) const;
  void reduce(const void* from, void* to, std::size_t count, ElementType type, Reduction how, int root,
              const Stream& stream) const;
  void all_gather(const void* from, void* to, std::size_t count, ElementType type, const Stream& stream) const;
  void reduce_scatter(const void* from, void* to, std::size_t count, ElementType type, Reduction how,
                      const Stream& stream) const;
  /// A message to one rank, which receives as many elements of the same type.
  void send(const void* from, std::size_t count, ElementType type, int peer, const Stream& stream) const;
  void receive(void* to, std::size_t count, ElementType type, int peer, const Stream& stream) const;

  /// The same on arrays, whose sizes must fit: invalid_value otherwise.
  template <class T>
  void all_reduce(const DeviceArray<T>& from, DeviceArray<T>& to, Reduction how, const Stream& stream) const {
    check(from.size(), to.size());
    all_reduce(from.data(), to.data(), from.size(), type_of<T>(), how, stream);
  }
  template <class T>
  void broadcast(const DeviceArray<T>& from, DeviceArray<T>& to, int root, const Stream& stream) const {
    check(from.size(), to.size());
    broadcast(from.data(), to.data(), to.size(), type_of<T>(), root, stream);
  }
  template <class T>
  void reduce(const DeviceArray<T>& from, DeviceArray<T>& to, Reduction how, int root, const Stream& stream) const {
    check(from.size(), to.size());
    reduce(from.data(), to.data(), from.size(), type_of<T>(), how, root, stream);
  }
  /// `to` holds the parts of all ranks, one after the other.
  template <class T>
  void all_gather(const DeviceArray<T>& from, DeviceArray<T>& to, const Stream& stream) const {
    check(from.size() * static_cast<std::size_t>(ranks()), to.size());
    all_gather(from.data(), to.data(), from.size(), type_of<T>(), stream);
  }
  /// `from` holds parts for all ranks, one after the other.
  template <class T>
  void reduce_scatter(const DeviceArray<T>& from, DeviceArray<T>& to, Reduction how, const Stream& stream) const {
    check(to.size() * static_cast<std::size_t>(ranks()), from.size());
    reduce_scatter(from.data(), to.data(), to.size(), type_of<T>(), how, stream);
  }
  template <class T>
  void send(const DeviceArray<T>& from, int peer, const Stream& stream) const {
    send(from.data(), from.size(), type_of<T>(), peer, stream);
  }
  template <class T>
  void receive(DeviceArray<T>& to, int peer, const Stream& stream) const {
    receive(to.data(), to.size(), type_of<T>(), peer, stream);
  }

  /// The element type of T: an integer of 8, 32 or 64 bits, float or double.
  template <class T>
  static constexpr ElementType type_of() {
    static_assert(std::is_arithmetic_v<T> && sizeof(T) != 2 && sizeof(T) <= 8, "collectives do not know this type");
    if constexpr (std::is_floating_point_v<T>) return sizeof(T) == 4 ? ElementType::f32 : ElementType::f64;
    if constexpr (sizeof(T) == 1) return std::is_signed_v<T> ? ElementType::i8 : ElementType::u8;
    if constexpr (sizeof(T) == 4) return std::is_signed_v<T> ? ElementType::i32 : ElementType::u32;
    return std::is_signed_v<T> ? ElementType::i64 : ElementType::u64;
  }

 private:
  explicit Communicator(std::shared_ptr<detail::CommunicatorState> state) noexcept;
  static void check(std::size_t wanted, std::size_t given);
  std::shared_ptr<detail::CommunicatorState> state_;
};

/// Operations of one thread that begin together, at end() (ncclGroupStart, ncclGroupEnd): needed where one thread calls
/// for several ranks, and for a send and a receive that wait for each other. Until then nothing else may be queued on
/// their streams, and nothing waited for.
class WARPLOOM_API CollectiveGroup {
 public:
  /// For devices of the kind of `device`.
  explicit CollectiveGroup(const Device& device);
  CollectiveGroup(const CollectiveGroup&) = delete;
  CollectiveGroup& operator=(const CollectiveGroup&) = delete;
  /// Ends the group too, and reports nothing.
  ~CollectiveGroup();
  /// In the thread that made the group; throws what the operations met when they began.
  void end();

 private:
  Device device_;
  bool open_ = true;
};

}  // namespace warploom

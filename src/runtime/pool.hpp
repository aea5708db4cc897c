// Stream-ordered memory pools: what is freed in a stream's order is given out again where that order is kept.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "device/device.hpp"
#include "runtime/stream.hpp"

namespace warploom::runtime {

// Which work of other streams a stream has waited for, so that memory freed there may be used here.
class Dependencies {
 public:
  void add(const std::shared_ptr<Stream>& stream, const Ticket& waited_for);
  [[nodiscard]] bool has(const std::shared_ptr<Stream>& stream, const Ticket& work) const;

 private:
  // Weak pointers compare by their control blocks, which no other stream gets as long as they are here.
  using Key = std::weak_ptr<Stream>;
  using Positions = std::map<Key, std::uint64_t, std::owner_less<>>;
  mutable std::mutex mutex_;
  std::map<Key, Positions, std::owner_less<>> known_;
  std::size_t prune_at_ = 64;
};

// One pool of one device. Segments come from the device; blocks are cut from them and joined again.
class Pool {
 public:
  struct Policy {
    std::uint64_t release_threshold = 0;  // bytes of segments that waiting for the device leaves in the pool
    std::uint64_t max_bytes = 0;          // of segments; 0: no limit
    bool follow_events = true;            // memory freed in another stream, after an event that this one waited for
    bool opportunistic = true;            // memory whose free another stream has passed already
    bool internal_dependencies = true;    // rather than fail, make the stream wait for the other one
  };
  struct Statistics {
    std::uint64_t used = 0, used_high = 0, reserved = 0, reserved_high = 0;
  };

  Pool(device::Device& device, const Dependencies& known, const Policy& policy)
      : device_(device), known_(known), policy_(policy) {}
  ~Pool() { clear(); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Memory for later work of `stream`, or for any later work when it is null. What that work must wait for first is
  // appended to `after`.
  Result<void*> allocate(std::size_t bytes, const std::shared_ptr<Stream>* stream, device::Origin origin,
                         std::vector<Ticket>& after);
  // False when the address is no allocation of this pool. It is given out again once `after` is done, and before that
  // where a stream's order allows it.
  bool release(void* address, std::vector<Ticket> after);
  // An allocation out of what lies idle, without waiting for anyone or asking the device; null when there is none.
  void* allocate_idle(std::size_t bytes, device::Origin origin);
  // Where the allocation lies that starts there; 0 bytes when none does.
  [[nodiscard]] std::size_t size_of(void* address) const;

  // Gives segments without allocations back until `keep` bytes are left.
  void trim(std::uint64_t keep);
  // After the device was waited for: as the release threshold says.
  void synchronized();
  // Bytes that can be given out without a further segment.
  [[nodiscard]] std::uint64_t idle();
  // Forgets all allocations and gives all segments back.
  void clear();

  [[nodiscard]] Statistics statistics() const;
  void reset_high(bool used, bool reserved);
  [[nodiscard]] Policy policy() const;
  void set_policy(const Policy& policy);
  [[nodiscard]] std::size_t live() const;

 private:
  using Address = std::uint64_t;
  struct Block {
    Address address;
    std::uint64_t bytes;
  };
  struct Waiting {
    Block block;
    std::vector<Ticket> after;
  };
  // All of these need the lock.
  // Asks the queue of a stream once until asked_ is cleared: the driver takes longer than all of the rest.
  bool done(const Ticket& ticket);
  bool ordered(const Waiting& waiting, const std::shared_ptr<Stream>* stream);
  bool take_recent(std::uint64_t need, Block& out);
  bool take_waiting(std::uint64_t need, std::uint64_t most, const std::shared_ptr<Stream>* stream, Block& out);
  bool take_hole(std::uint64_t need, Block& out);
  bool take_from_others(std::uint64_t need, Block& out, std::vector<Ticket>& after);
  Result<Block> grow(std::uint64_t need);
  void add_hole(Block block);
  void erase_hole(std::map<Address, std::uint64_t>::iterator hole);
  void join_recent();
  void settle(bool all);
  void* note_live(Block block, std::size_t bytes, device::Origin origin);
  void give_back(std::uint64_t keep);

  device::Device& device_;
  const Dependencies& known_;
  mutable std::mutex mutex_;
  Policy policy_;
  Statistics statistics_;
  std::unordered_map<Address, std::uint64_t> live_;  // rounded up
  std::vector<Block> recent_;                        // free, not joined with their neighbours yet
  std::map<Address, std::uint64_t> holes_;           // free and joined
  std::set<std::pair<std::uint64_t, Address>> by_size_;
  std::vector<Waiting> waiting_;               // freed in the order of streams that are not there yet
  std::vector<const Stream*> asked_;           // see done()
  std::map<Address, std::uint64_t> segments_;  // start -> length
  std::atomic<bool> freed_{false};             // since the last time that synchronized() looked
};

}  // namespace warploom::runtime

// Collectives of CPU devices in one process: each rank's stream does its part of the sum when all have come.
#include "device/collectives.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/diag_of.hpp"

namespace warploom::device {
namespace {

// ---- arithmetic: sums are made in the order of the ranks ----

struct Half {
  _Float16 bits;
  explicit Half(float value) : bits(static_cast<_Float16>(value)) {}
  explicit operator float() const { return static_cast<float>(bits); }
};
struct Brain {
  std::uint16_t bits;
  explicit Brain(float value) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    const bool nan = (word & 0x7FFFFFFFU) > 0x7F800000U;
    bits = static_cast<std::uint16_t>(nan ? word >> 16 | 0x40U : (word + 0x7FFFU + (word >> 16 & 1U)) >> 16);
  }
  explicit operator float() const { return std::bit_cast<float>(std::uint32_t{bits} << 16); }
};

// What elements of a type are summed in: integers wrap around.
template <class T>
struct SummedIn {
  using type = T;
};
template <>
struct SummedIn<Half> {
  using type = float;
};
template <>
struct SummedIn<Brain> {
  using type = float;
};

template <class Sum>
Sum combined(Sum a, Sum b, Reduction how) {
  switch (how) {
    case Reduction::max: return a < b ? b : a;
    case Reduction::min: return b < a ? b : a;
    case Reduction::product:
      if constexpr (std::is_integral_v<Sum>)
        return static_cast<Sum>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
      else
        return a * b;
    default:
      if constexpr (std::is_integral_v<Sum>)
        return static_cast<Sum>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
      else
        return a + b;
  }
}

template <class T>
void reduce_as(std::span<const std::byte* const> from, std::byte* to, std::size_t count, Reduction how) {
  using Sum = typename SummedIn<T>::type;
  const auto element = [](const std::byte* at, std::size_t i) {
    alignas(T) std::byte bytes[sizeof(T)];
    std::memcpy(bytes, at + i * sizeof(T), sizeof(T));
    return static_cast<Sum>(*reinterpret_cast<const T*>(bytes));
  };
  for (std::size_t i = 0; i < count; ++i) {
    Sum sum = element(from[0], i);
    for (std::size_t rank = 1; rank < from.size(); ++rank) sum = combined(sum, element(from[rank], i), how);
    if (how == Reduction::average) sum = static_cast<Sum>(sum / static_cast<Sum>(from.size()));
    const T out(sum);
    std::memcpy(to + i * sizeof(T), &out, sizeof(T));
  }
}

void reduce(std::span<const std::byte* const> from, std::byte* to, std::size_t count, ElementType type, Reduction how) {
  switch (type) {
    case ElementType::i8: return reduce_as<std::int8_t>(from, to, count, how);
    case ElementType::u8: return reduce_as<std::uint8_t>(from, to, count, how);
    case ElementType::i32: return reduce_as<std::int32_t>(from, to, count, how);
    case ElementType::u32: return reduce_as<std::uint32_t>(from, to, count, how);
    case ElementType::i64: return reduce_as<std::int64_t>(from, to, count, how);
    case ElementType::u64: return reduce_as<std::uint64_t>(from, to, count, how);
    case ElementType::f16: return reduce_as<Half>(from, to, count, how);
    case ElementType::f32: return reduce_as<float>(from, to, count, how);
    case ElementType::f64: return reduce_as<double>(from, to, count, how);
    case ElementType::bf16: return reduce_as<Brain>(from, to, count, how);
  }
}

// ---- groups ----

bool same(const Collective& a, const Collective& b) {
  return a.kind == b.kind && a.count == b.count && a.type == b.type && a.reduction == b.reduction && a.peer == b.peer;
}

// What the ranks of a group share.
class Group {
 public:
  explicit Group(int ranks) : ranks_(ranks), next_(static_cast<std::size_t>(ranks)) {}
  [[nodiscard]] int ranks() const { return ranks_; }

  // Waits for the others, so that nobody works before all are there.
  Result<void> join(int rank) {
    std::unique_lock lock(mutex_);
    if (!joined_.insert(rank).second)
      return diag_of(ErrorId::invalid_value, fmt::format("rank {} has joined the group already", rank),
                     "give each member a rank of its own");
    changed_.notify_all();
    changed_.wait(lock, [&] { return joined_.size() == static_cast<std::size_t>(ranks_); });
    return {};
  }
  void join_all() {
    const std::lock_guard lock(mutex_);
    for (int rank = 0; rank < ranks_; ++rank) joined_.insert(rank);
  }
  void leave(int rank) {
    const std::lock_guard lock(mutex_);
    left_.insert(rank);
    changed_.notify_all();
  }

  Result<void> send(int rank, const Collective& c) {
    const auto* bytes = static_cast<const std::byte*>(c.from);
    std::vector<std::byte> copy(bytes, bytes + c.count * element_bytes(c.type));
    const std::lock_guard lock(mutex_);
    mail_[{rank, c.peer}].push_back(std::move(copy));
    changed_.notify_all();
    return {};
  }

  Result<void> receive(int rank, const Collective& c) {
    std::unique_lock lock(mutex_);
    auto& box = mail_[{c.peer, rank}];
    changed_.wait(lock, [&] { return !box.empty() || left_.contains(c.peer); });
    if (box.empty()) return gone(c.peer);
    const std::vector<std::byte> bytes = std::move(box.front());
    box.pop_front();
    lock.unlock();
    if (bytes.size() != c.count * element_bytes(c.type))
      return diag_of(ErrorId::invalid_value,
                     fmt::format("rank {} receives {} bytes, and rank {} sent {}", rank,
                                 c.count * element_bytes(c.type), c.peer, bytes.size()),
                     "send and receive as many elements of the same type");
    std::memcpy(c.to, bytes.data(), bytes.size());
    return {};
  }

  Result<void> take_part(int rank, const Collective& c) {
    std::unique_lock lock(mutex_);
    const std::uint64_t number = next_[static_cast<std::size_t>(rank)]++;
    // Shared: a rank that leaves early must not end it for the others.
    std::shared_ptr<Operation>& place = operations_[number];
    if (!place) place = std::make_shared<Operation>(static_cast<std::size_t>(ranks_));
    const std::shared_ptr<Operation> operation = place;
    operation->parts[static_cast<std::size_t>(rank)] = c;
    if (++operation->come == ranks_) operations_.erase(number);
    changed_.notify_all();
    const auto missing = [&] {
      return std::any_of(left_.begin(), left_.end(),
                         [&](int r) { return next_[static_cast<std::size_t>(r)] <= number; });
    };
    changed_.wait(lock, [&] { return operation->come == ranks_ || missing(); });
    if (operation->come != ranks_) {
      const auto absent = [&](int r) { return next_[static_cast<std::size_t>(r)] <= number; };
      return gone(*std::find_if(left_.begin(), left_.end(), absent));
    }
    const auto& parts = operation->parts;
    const bool agreed = std::all_of(parts.begin(), parts.end(), [&](const Collective& p) { return same(p, parts[0]); });
    if (!agreed)
      return diag_of(ErrorId::invalid_value, "the ranks of a group ask for different collectives at the same time",
                     "call the same operations with the same sizes and types in the same order on all ranks");
    lock.unlock();
    const std::vector<std::byte> result = result_of(rank, c, parts);
    lock.lock();
    // Results may lie where another rank still reads.
    if (++operation->ready == ranks_) changed_.notify_all();
    changed_.wait(lock, [&] { return operation->ready == ranks_; });
    lock.unlock();
    if (!result.empty()) std::memcpy(c.to, result.data(), result.size());
    return {};
  }

 private:
  struct Operation {
    explicit Operation(std::size_t ranks) : parts(ranks) {}
    std::vector<Collective> parts;
    int come = 0, ready = 0;
  };

  static Diag gone(int rank) {
    return diag_of(ErrorId::invalid_handle, fmt::format("rank {} has left the group", rank),
                   "keep the communicators of all ranks until the work is done");
  }

  // Empty where the rank gets nothing.
  [[nodiscard]] std::vector<std::byte> result_of(int rank, const Collective& c,
                                                 const std::vector<Collective>& parts) const {
    const std::size_t bytes = c.count * element_bytes(c.type);
    std::vector<const std::byte*> from;
    from.reserve(parts.size());
    for (const Collective& part : parts) from.push_back(static_cast<const std::byte*>(part.from));
    std::vector<std::byte> out;
    switch (c.kind) {
      using enum Collective::Kind;
      case reduce_scatter:
        for (const std::byte*& one : from) one += bytes * static_cast<std::size_t>(rank);
        [[fallthrough]];
      case all_reduce:
      case reduce:
        if (c.kind == reduce && rank != c.peer) return out;
        out.resize(bytes);
        device::reduce(from, out.data(), c.count, c.type, c.reduction);
        return out;
      case broadcast: {
        const std::byte* root = from[static_cast<std::size_t>(c.peer)];
        out.assign(root, root + bytes);
        return out;
      }
      case all_gather:
        for (const std::byte* one : from) out.insert(out.end(), one, one + bytes);
        return out;
      case send:
      case receive: break;
    }
    return out;
  }

  const int ranks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<int> joined_, left_;      // who has left asks for nothing more
  std::vector<std::uint64_t> next_;  // by rank: how many it has come to
  std::map<std::uint64_t, std::shared_ptr<Operation>> operations_;
  std::map<std::pair<int, int>, std::deque<std::vector<std::byte>>> mail_;
};

class CpuCommunicator final : public Communicator {
 public:
  CpuCommunicator(std::shared_ptr<Group> group, int rank) : group_(std::move(group)), rank_(rank) {}
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int ranks() const override { return group_->ranks(); }
  Result<void> run(const Collective& what) override {
    if (what.kind == Collective::Kind::send) return group_->send(rank_, what);
    if (what.kind == Collective::Kind::receive) return group_->receive(rank_, what);
    return group_->take_part(rank_, what);
  }
  void leave() override { group_->leave(rank_); }

 private:
  const std::shared_ptr<Group> group_;
  const int rank_;
};

class CpuCollectives final : public Collectives {
 public:
  Result<CommunicatorId> unique_id() override {
    const std::lock_guard lock(mutex_);
    CommunicatorId id{};
    const std::string text = fmt::format("warploom cpu {} {}", getpid(), ++issued_);
    std::memcpy(id.data(), text.data(), text.size());
    waiting_[id] = nullptr;
    return id;
  }

  Result<std::unique_ptr<Communicator>> join(Device& device, const CommunicatorId& id, int ranks, int rank) override {
    (void)device;
    std::shared_ptr<Group> group;
    {
      const std::lock_guard lock(mutex_);
      const auto it = waiting_.find(id);
      if (it == waiting_.end())
        return diag_of(ErrorId::not_supported, "this process has not made the group's identity",
                       "CPU devices form groups inside one process only; across processes use GPUs and NCCL");
      if (it->second == nullptr) it->second = std::make_shared<Group>(ranks);
      group = it->second;
      if (group->ranks() != ranks)
        return diag_of(ErrorId::invalid_value,
                       fmt::format("the group has {} ranks, and rank {} says {}", group->ranks(), rank, ranks),
                       "join with the same number of ranks everywhere");
    }
    WL_TRY(group->join(rank));
    {
      const std::lock_guard lock(mutex_);
      waiting_.erase(id);
    }
    return std::unique_ptr<Communicator>(std::make_unique<CpuCommunicator>(std::move(group), rank));
  }

  Result<std::vector<std::unique_ptr<Communicator>>> all(std::span<Device* const> devices) override {
    const auto group = std::make_shared<Group>(static_cast<int>(devices.size()));
    group->join_all();
    std::vector<std::unique_ptr<Communicator>> out;
    out.reserve(devices.size());
    for (std::size_t i = 0; i < devices.size(); ++i)
      out.push_back(std::make_unique<CpuCommunicator>(group, static_cast<int>(i)));
    return out;
  }

  // Operations wait in the streams of their ranks, never in the caller: there is nothing to collect.
  Result<void> begin_group() override { return {}; }
  Result<void> end_group() override { return {}; }

 private:
  std::mutex mutex_;
  std::uint64_t issued_ = 0;
  std::map<CommunicatorId, std::shared_ptr<Group>> waiting_;
};

}  // namespace

Collectives& cpu_collectives() {
  static auto& instance = *new CpuCollectives;
  return instance;
}

}  // namespace warploom::device

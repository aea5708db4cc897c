// Best fit in segments, with a short list of blocks that were freed last.
#include "runtime/pool.hpp"

#include <algorithm>
#include <iterator>

namespace warploom::runtime {
namespace {

constexpr std::uint64_t kGranule = 512;
constexpr std::uint64_t kSegment = 2ULL << 20;
constexpr std::uint64_t kLarge = 1ULL << 20;  // blocks from here on are segments of their own
constexpr std::size_t kRecent = 32;
constexpr std::size_t kSearched = 64;
constexpr std::size_t kMarked = 32;

std::uint64_t rounded(std::size_t bytes) {
  return bytes > ~std::uint64_t{0} - kGranule ? ~std::uint64_t{0} : (bytes + kGranule - 1) / kGranule * kGranule;
}

void* pointer(std::uint64_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr): addresses are calculated with
}

}  // namespace

// ---- Dependencies ----

void Dependencies::add(const std::shared_ptr<Stream>& stream, const Ticket& waited_for) {
  if (!waited_for.stream) return;
  const std::lock_guard lock(mutex_);
  if (known_.size() > prune_at_) {
    std::erase_if(known_, [](const auto& entry) { return entry.first.expired(); });
    for (auto& [key, positions] : known_) std::erase_if(positions, [](const auto& p) { return p.first.expired(); });
    prune_at_ = 2 * known_.size() + 64;
  }
  std::uint64_t& position = known_[stream][waited_for.stream];
  position = std::max(position, waited_for.position);
}

bool Dependencies::has(const std::shared_ptr<Stream>& stream, const Ticket& work) const {
  const std::lock_guard lock(mutex_);
  const auto of_stream = known_.find(stream);
  if (of_stream == known_.end()) return false;
  const auto position = of_stream->second.find(work.stream);
  return position != of_stream->second.end() && position->second >= work.position;
}

// ---- Pool ----

bool Pool::done(const Ticket& ticket) {
  if (ticket.mark || !ticket.stream || !ticket.stream->has_queue()) return ticket.done();
  if (ticket.stream->known_done(ticket.position)) return true;
  if (std::find(asked_.begin(), asked_.end(), ticket.stream.get()) != asked_.end()) return false;
  asked_.push_back(ticket.stream.get());
  return ticket.done();
}

bool Pool::ordered(const Waiting& waiting, const std::shared_ptr<Stream>* stream) {
  return std::all_of(waiting.after.begin(), waiting.after.end(), [&](const Ticket& ticket) {
    if (stream != nullptr && ticket.stream == *stream) return true;
    if (policy_.opportunistic && done(ticket)) return true;
    return stream != nullptr && policy_.follow_events && known_.has(*stream, ticket);
  });
}

bool Pool::take_recent(std::uint64_t need, Block& out) {
  for (std::size_t i = recent_.size(); i-- > 0;) {
    if (recent_[i].bytes != need) continue;
    out = recent_[i];
    recent_[i] = recent_.back();
    recent_.pop_back();
    return true;
  }
  return false;
}

bool Pool::take_waiting(std::uint64_t need, std::uint64_t most, const std::shared_ptr<Stream>* stream, Block& out) {
  const std::size_t last = waiting_.size() - std::min(waiting_.size(), kSearched);
  for (std::size_t i = waiting_.size(); i-- > last;) {
    Waiting& waiting = waiting_[i];
    if (waiting.block.bytes < need || waiting.block.bytes > most || !ordered(waiting, stream)) continue;
    out = {waiting.block.address, need};
    if (waiting.block.bytes != need) {
      waiting.block = {waiting.block.address + need, waiting.block.bytes - need};
    } else {
      if (i + 1 != waiting_.size()) waiting = std::move(waiting_.back());
      waiting_.pop_back();
    }
    return true;
  }
  return false;
}

void Pool::erase_hole(std::map<Address, std::uint64_t>::iterator hole) {
  by_size_.erase({hole->second, hole->first});
  holes_.erase(hole);
}

bool Pool::take_hole(std::uint64_t need, Block& out) {
  const auto fit = by_size_.lower_bound({need, 0});
  if (fit == by_size_.end()) return false;
  const auto [bytes, address] = *fit;
  erase_hole(holes_.find(address));
  out = {address, need};
  if (bytes != need) {
    holes_.emplace(address + need, bytes - need);
    by_size_.emplace(bytes - need, address + need);
  }
  return true;
}

// What another stream frees later: the smallest that fits.
bool Pool::take_from_others(std::uint64_t need, Block& out, std::vector<Ticket>& after) {
  auto best = waiting_.end();
  for (auto it = waiting_.begin(); it != waiting_.end(); ++it)
    if (it->block.bytes >= need && (best == waiting_.end() || it->block.bytes < best->block.bytes)) best = it;
  if (best == waiting_.end()) return false;
  out = {best->block.address, need};
  after.insert(after.end(), best->after.begin(), best->after.end());
  if (best->block.bytes != need) {
    best->block = {best->block.address + need, best->block.bytes - need};
  } else {
    if (best + 1 != waiting_.end()) *best = std::move(waiting_.back());
    waiting_.pop_back();
  }
  return true;
}

// Neighbours are joined, but not across the ends of segments, which go back one by one.
void Pool::add_hole(Block block) {
  auto next = holes_.lower_bound(block.address);
  if (next != holes_.begin() && !segments_.contains(block.address)) {
    const auto before = std::prev(next);
    if (before->first + before->second == block.address) {
      block = {before->first, before->second + block.bytes};
      erase_hole(before);
    }
  }
  if (next != holes_.end() && next->first == block.address + block.bytes && !segments_.contains(next->first)) {
    block.bytes += next->second;
    erase_hole(next);
  }
  holes_.emplace(block.address, block.bytes);
  by_size_.emplace(block.bytes, block.address);
}

void Pool::join_recent() {
  for (const Block& block : recent_) add_hole(block);
  recent_.clear();
}

// Moves what may be used by anyone out of the waiting list.
void Pool::settle(bool all) {
  if (!all && !policy_.opportunistic) return;
  if (all) asked_.clear();
  std::erase_if(waiting_, [&](const Waiting& waiting) {
    if (!std::all_of(waiting.after.begin(), waiting.after.end(), [&](const Ticket& t) { return done(t); }))
      return false;
    add_hole(waiting.block);
    return true;
  });
}

Result<Pool::Block> Pool::grow(std::uint64_t need) {
  const auto allowed = [&](std::uint64_t bytes) {
    return policy_.max_bytes == 0 || (bytes <= policy_.max_bytes && statistics_.reserved <= policy_.max_bytes - bytes);
  };
  std::uint64_t bytes = need >= kLarge ? need : kSegment;
  Result<void*> segment = nullptr;
  if (allowed(bytes)) segment = device_.reserve(bytes);
  if (bytes != need && (!segment || *segment == nullptr) && allowed(need)) {
    bytes = need;
    segment = device_.reserve(bytes);
  }
  if (!segment) return std::move(segment.error());
  if (*segment == nullptr) {
    Diag diag;
    diag.id = ErrorId::out_of_memory;
    diag.what = "out of memory of a pool: " + std::to_string(need) + " bytes asked for, the pool holds " +
                std::to_string(statistics_.reserved) + " of at most " + std::to_string(policy_.max_bytes) +
                ", of which " + std::to_string(statistics_.used) + " are in use";
    diag.remedy = "free memory of the pool, or make it with a larger limit";
    return diag;
  }
  const auto address = reinterpret_cast<Address>(*segment);
  segments_.emplace(address, bytes);
  statistics_.reserved += bytes;
  statistics_.reserved_high = std::max(statistics_.reserved_high, statistics_.reserved);
  if (bytes != need) add_hole({address + need, bytes - need});
  return Block{address, need};
}

Result<void*> Pool::allocate(std::size_t bytes, const std::shared_ptr<Stream>* stream, device::Origin origin,
                             std::vector<Ticket>& after) {
  const std::uint64_t need = rounded(bytes);
  const std::lock_guard lock(mutex_);
  asked_.clear();
  Block block{};
  bool found = take_recent(need, block);
  if (!found && !waiting_.empty()) found = take_waiting(need, need, stream, block);
  if (!found) found = take_hole(need, block);
  if (!found) {
    settle(false);
    join_recent();
    found = take_hole(need, block) || take_waiting(need, ~std::uint64_t{0}, stream, block);
  }
  if (!found) {
    auto grown = grow(need);
    if (grown)
      block = *grown;
    else if (stream == nullptr || !policy_.internal_dependencies || !take_from_others(need, block, after))
      return std::move(grown.error());
  }
  return note_live(block, bytes, origin);
}

void* Pool::note_live(Block block, std::size_t bytes, device::Origin origin) {
  live_.emplace(block.address, block.bytes);
  statistics_.used += block.bytes;
  statistics_.used_high = std::max(statistics_.used_high, statistics_.used);
  device_.mark(pointer(block.address), bytes, origin);
  return pointer(block.address);
}

void* Pool::allocate_idle(std::size_t bytes, device::Origin origin) {
  const std::uint64_t need = rounded(bytes);
  // Whoever has it may be waiting for the device.
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return nullptr;
  Block block{};
  if (!take_recent(need, block) && !take_hole(need, block)) return nullptr;
  return note_live(block, bytes, origin);
}

bool Pool::release(void* address, std::vector<Ticket> after) {
  const std::lock_guard lock(mutex_);
  const auto it = live_.find(reinterpret_cast<Address>(address));
  if (it == live_.end()) return false;
  const Block block{it->first, it->second};
  live_.erase(it);
  statistics_.used -= block.bytes;
  device_.unmark(address);
  if (!after.empty()) {
    waiting_.push_back({block, std::move(after)});
    // On a queue that is never idle, events are what tells how far it has come.
    if (waiting_.size() % kMarked == 0)
      for (const Ticket& ticket : waiting_.back().after)
        if (ticket.stream && ticket.stream->has_queue()) ticket.stream->mark_end();
  } else {
    if (recent_.size() == kRecent) join_recent();
    recent_.push_back(block);
  }
  freed_.store(true, std::memory_order_release);
  return true;
}

std::size_t Pool::size_of(void* address) const {
  const std::lock_guard lock(mutex_);
  const auto it = live_.find(reinterpret_cast<Address>(address));
  return it == live_.end() ? 0 : it->second;
}

void Pool::give_back(std::uint64_t keep) {
  settle(true);
  join_recent();
  for (auto segment = segments_.begin(); segment != segments_.end() && statistics_.reserved > keep;) {
    const auto hole = holes_.find(segment->first);
    if (hole == holes_.end() || hole->second != segment->second) {
      ++segment;
      continue;
    }
    erase_hole(hole);
    statistics_.reserved -= segment->second;
    device_.unreserve(pointer(segment->first));
    segment = segments_.erase(segment);
  }
}

void Pool::trim(std::uint64_t keep) {
  const std::lock_guard lock(mutex_);
  give_back(keep);
}

void Pool::synchronized() {
  if (!freed_.load(std::memory_order_acquire) || !freed_.exchange(false, std::memory_order_acq_rel)) return;
  const std::lock_guard lock(mutex_);
  if (statistics_.reserved > policy_.release_threshold)
    give_back(policy_.release_threshold);
  else
    settle(true);
  // What other streams have not passed yet is looked at again next time.
  if (!waiting_.empty()) freed_.store(true, std::memory_order_release);
}

std::uint64_t Pool::idle() {
  const std::lock_guard lock(mutex_);
  settle(true);
  std::uint64_t waiting = 0;
  for (const Waiting& one : waiting_) waiting += one.block.bytes;
  return statistics_.reserved - statistics_.used - waiting;
}

void Pool::clear() {
  const std::lock_guard lock(mutex_);
  for (const auto& [address, bytes] : segments_) device_.unreserve(pointer(address));
  segments_.clear();
  live_.clear();
  recent_.clear();
  holes_.clear();
  by_size_.clear();
  waiting_.clear();
  statistics_.used = statistics_.reserved = 0;
}

Pool::Statistics Pool::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

void Pool::reset_high(bool used, bool reserved) {
  const std::lock_guard lock(mutex_);
  if (used) statistics_.used_high = statistics_.used;
  if (reserved) statistics_.reserved_high = statistics_.reserved;
}

Pool::Policy Pool::policy() const {
  const std::lock_guard lock(mutex_);
  return policy_;
}

void Pool::set_policy(const Policy& policy) {
  const std::lock_guard lock(mutex_);
  policy_ = policy;
}

std::size_t Pool::live() const {
  const std::lock_guard lock(mutex_);
  return live_.size();
}

}  // namespace warploom::runtime

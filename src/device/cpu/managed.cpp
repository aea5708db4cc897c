// Pages, their access rights, and the faults that tell who touches them.
#include "device/cpu/managed.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/spin.hpp"

namespace warploom::device {
namespace {

constexpr std::size_t kPage = ManagedMemory::kPage;
constexpr std::size_t kMostTracked = 4096;
constexpr std::uint64_t kPingPong = 4;  // moves by faults: twice to the device and back

enum class Side : std::uint8_t { nobody, host, device, both };

Diag refuse(std::string what, std::string remedy) {
  Diag d;
  d.id = ErrorId::invalid_value;
  d.what = std::move(what);
  d.remedy = std::move(remedy);
  return d;
}

}  // namespace

// Everything that the signal handler touches is atomic or under the spin lock, whose holders never touch the memory.
class ManagedRange {
 public:
  ManagedRange(std::byte* begin, std::size_t bytes, bool tracked, Origin origin, std::uint64_t id)
      : begin_(begin),
        bytes_(bytes),
        tracked_(tracked),
        origin_(origin),
        id_(id),
        pages_((bytes + kPage - 1) / kPage) {}
  ManagedRange(const ManagedRange&) = delete;
  ManagedRange& operator=(const ManagedRange&) = delete;
  ~ManagedRange() { munmap(begin_, pages_.size() * kPage); }

  [[nodiscard]] std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(begin_); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  [[nodiscard]] bool tracked() const { return tracked_; }
  [[nodiscard]] bool has(std::uint64_t address) const {
    return address >= this->address() && address - this->address() < pages_.size() * kPage;
  }

  void show_to(bool kernels) {
    const Locked lock(*this);
    kernels_ = kernels;
    protect(0, pages_.size());
  }

  // The page is made accessible to who touched it; it may have been by another thread's fault already.
  void touch(std::uint64_t address, bool by_kernel, bool writes) {
    const Locked lock(*this);
    const std::size_t index = (address - this->address()) / kPage;
    Page& page = pages_[index];
    const int wanted = PROT_READ | (writes ? PROT_WRITE : 0);
    if ((page.rights & wanted) == wanted) return;
    const Side here = by_kernel ? Side::device : Side::host;
    const bool there = page.side == Side::both || page.side == here;
    if (page.side == Side::both && writes) {
      // One copy is left, the writer's.
      page.side = here;
      count_fault(by_kernel);
    } else if (page.side == Side::nobody) {
      page.side = here;
      count_fault(by_kernel);
    } else if (!there) {
      count_fault(by_kernel);
      if (page.read_mostly && !writes) {
        page.side = Side::both;
        ++counts_.duplicated;
      } else if (stays(page, by_kernel)) {
        ++counts_.remote;
        set_rights(index, PROT_READ | PROT_WRITE);
        return;
      } else {
        page.side = here;
        ++(by_kernel ? counts_.to_device : counts_.to_host);
        ++page.moves;
      }
    }
    set_rights(index, page.side == Side::both ? PROT_READ : PROT_READ | PROT_WRITE);
  }

  void advise(std::size_t first, std::size_t last, MemoryAdvice advice, bool host) {
    const Locked lock(*this);
    for (std::size_t i = first; i < last; ++i) {
      Page& page = pages_[i];
      switch (advice) {
        case MemoryAdvice::set_read_mostly: page.read_mostly = true; break;
        case MemoryAdvice::unset_read_mostly:
          page.read_mostly = false;
          if (page.side == Side::both) page.side = Side::host;
          break;
        case MemoryAdvice::set_preferred_location: page.preferred = host ? Side::host : Side::device; break;
        case MemoryAdvice::unset_preferred_location: page.preferred = Side::nobody; break;
        case MemoryAdvice::set_accessed_by: (host ? page.by_host : page.by_device) = true; break;
        case MemoryAdvice::unset_accessed_by: (host ? page.by_host : page.by_device) = false; break;
      }
    }
    protect(first, last);
  }

  void prefetch(std::size_t first, std::size_t last, bool to_host) {
    const Locked lock(*this);
    const Side there = to_host ? Side::host : Side::device;
    for (std::size_t i = first; i < last; ++i) {
      Page& page = pages_[i];
      if (page.side == there || page.side == Side::both) continue;
      ++(to_host ? counts_.prefetched_to_host : counts_.prefetched_to_device);
      page.side = page.read_mostly && page.side != Side::nobody ? Side::both : there;
    }
    protect(first, last);
  }

  [[nodiscard]] observe::ManagedFacts facts() const {
    const Locked lock(*this);
    observe::ManagedFacts out = counts_;
    out.id = id_;
    if (origin_.file != nullptr) out.place = fmt::format("{}:{}", origin_.file, origin_.line);
    out.bytes = bytes_;
    out.page_bytes = kPage;
    out.pages = pages_.size();
    out.tracked = tracked_;
    for (const Page& page : pages_) {
      out.on_host += page.side == Side::host ? 1 : 0;
      out.on_device += page.side == Side::device ? 1 : 0;
      out.on_both += page.side == Side::both ? 1 : 0;
      out.ping_pong += page.moves >= kPingPong ? 1 : 0;
      out.most_moves = std::max<std::uint64_t>(out.most_moves, page.moves);
    }
    return out;
  }

 private:
  struct Page {
    Side side = Side::nobody, preferred = Side::nobody;
    bool read_mostly = false, by_host = false, by_device = false;
    int rights = PROT_READ | PROT_WRITE;
    std::uint32_t moves = 0;
  };
  class Locked {
   public:
    explicit Locked(const ManagedRange& range) : range_(range) {
      while (range_.lock_.test_and_set(std::memory_order_acquire)) relax_cpu();
    }
    ~Locked() { range_.lock_.clear(std::memory_order_release); }
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;

   private:
    const ManagedRange& range_;
  };

  // Does a page stay where it is when the other side touches it?
  [[nodiscard]] static bool stays(const Page& page, bool by_kernel) {
    return page.preferred == page.side || (by_kernel ? page.by_device : page.by_host);
  }
  void count_fault(bool by_kernel) { ++(by_kernel ? counts_.device_faults : counts_.host_faults); }

  // What the side that runs now may do without a fault.
  [[nodiscard]] int rights(const Page& page) const {
    if (page.side == Side::both) return PROT_READ;
    return page.side == (kernels_ ? Side::device : Side::host) ? PROT_READ | PROT_WRITE : PROT_NONE;
  }
  void set_rights(std::size_t index, int rights) {
    if (pages_[index].rights == rights) return;
    pages_[index].rights = rights;
    mprotect(begin_ + index * kPage, kPage, rights);
  }
  // Neighbours together.
  void protect(std::size_t first, std::size_t last) {
    if (!tracked_) return;
    for (std::size_t i = first; i < last;) {
      const int wanted = rights(pages_[i]);
      std::size_t end = i;
      bool changes = false;
      while (end < last && rights(pages_[end]) == wanted) {
        changes = changes || pages_[end].rights != wanted;
        pages_[end].rights = wanted;
        ++end;
      }
      if (changes) mprotect(begin_ + i * kPage, (end - i) * kPage, wanted);
      i = end;
    }
  }

  std::byte* begin_;
  std::size_t bytes_;
  bool tracked_;
  Origin origin_;
  std::uint64_t id_;
  mutable std::atomic_flag lock_;
  bool kernels_ = false;  // kernels run; else the host does
  std::vector<Page> pages_;
  observe::ManagedFacts counts_;
};

namespace {

// For the signal handler, which may take no lock that its thread could hold: readers are counted, and a range goes when
// none is inside.
std::array<std::atomic<ManagedRange*>, kMostTracked> registry;
std::atomic<std::size_t> registry_end{0};
std::atomic<int> readers{0};

bool enter_registry(ManagedRange* range) {
  for (std::size_t i = 0; i < kMostTracked; ++i) {
    ManagedRange* none = nullptr;
    if (!registry[i].compare_exchange_strong(none, range)) continue;
    std::size_t end = registry_end.load();
    while (end < i + 1 && !registry_end.compare_exchange_weak(end, i + 1)) {
    }
    return true;
  }
  return false;
}

void leave_registry(ManagedRange* range) {
  for (auto& slot : registry) {
    ManagedRange* mine = range;
    if (slot.compare_exchange_strong(mine, nullptr)) break;
  }
  while (readers.load() != 0) relax_cpu();
}

}  // namespace

bool ManagedMemory::on_fault(std::uint64_t address, bool by_kernel, bool writes) {
  if (registry_end.load() == 0) return false;
  bool found = false;
  readers.fetch_add(1);
  for (std::size_t i = 0; i < registry_end.load() && !found; ++i) {
    ManagedRange* range = registry[i].load();
    if (range == nullptr || !range->has(address)) continue;
    range->touch(address, by_kernel, writes);
    found = true;
  }
  readers.fetch_sub(1);
  return found;
}

ManagedMemory::ManagedMemory() = default;

ManagedMemory::~ManagedMemory() {
  for (const auto& [address, range] : ranges_)
    if (range->tracked()) leave_registry(range.get());
}

Result<void*> ManagedMemory::allocate(std::size_t bytes, bool tracked, Origin origin) {
  static std::atomic<std::uint64_t> next{1};
  const std::size_t whole =
      bytes > std::numeric_limits<std::size_t>::max() - 2 * kPage ? 0 : (bytes + kPage - 1) / kPage * kPage;
  void* at = whole == 0 ? MAP_FAILED
                        : mmap(nullptr, whole + kPage, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) {
    Diag d;
    d.id = ErrorId::out_of_memory;
    d.what = fmt::format("the host has no {} bytes of memory to map", bytes);
    d.remedy = "free host memory that is no longer needed";
    return d;
  }
  // Aligned to pages of the model; what is left over at the ends goes back.
  const auto raw = reinterpret_cast<std::uint64_t>(at), start = (raw + kPage - 1) / kPage * kPage;
  if (start != raw) munmap(at, start - raw);
  munmap(reinterpret_cast<void*>(start + whole), raw + kPage - start);
  auto range = std::make_unique<ManagedRange>(reinterpret_cast<std::byte*>(start), bytes, tracked, origin, next++);
  if (tracked && !enter_registry(range.get())) {
    Diag d;
    d.id = ErrorId::out_of_memory;
    d.what = fmt::format("more than {} managed allocations are tracked", kMostTracked);
    d.remedy = "run without the explain observer, or make fewer allocations";
    return d;
  }
  const std::lock_guard lock(mutex_);
  if (tracked) {
    tracked_.fetch_add(1, std::memory_order_release);
    range->show_to(launches_ != 0);
  }
  ranges_.emplace(start, std::move(range));
  return reinterpret_cast<void*>(start);
}

std::optional<observe::ManagedFacts> ManagedMemory::release(void* address) {
  std::unique_ptr<ManagedRange> gone;
  {
    const std::lock_guard lock(mutex_);
    const auto it = ranges_.find(reinterpret_cast<std::uint64_t>(address));
    if (it == ranges_.end()) return std::nullopt;
    gone = std::move(it->second);
    ranges_.erase(it);
    if (gone->tracked()) tracked_.fetch_sub(1, std::memory_order_release);
  }
  if (gone->tracked()) leave_registry(gone.get());
  return gone->facts();
}

ManagedRange* ManagedMemory::range_of(std::uint64_t address, std::size_t bytes) const {
  const auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return nullptr;
  ManagedRange& range = *std::prev(after)->second;
  const std::uint64_t offset = address - range.address();
  return offset <= range.bytes() && bytes <= range.bytes() - offset ? &range : nullptr;
}

Result<void> ManagedMemory::advise(void* address, std::size_t bytes, MemoryAdvice advice, bool host) {
  const auto at = reinterpret_cast<std::uint64_t>(address);
  const std::lock_guard lock(mutex_);
  ManagedRange* range = range_of(at, bytes);
  if (range == nullptr || bytes == 0)
    return refuse(fmt::format("{} bytes at {:#x} are not inside one managed allocation", bytes, at),
                  "give advice on memory of one managed allocation, and at least one byte");
  const std::uint64_t offset = at - range->address();
  range->advise(offset / kPage, (offset + bytes - 1) / kPage + 1, advice, host);
  return {};
}

Result<void> ManagedMemory::prefetch(void* address, std::size_t bytes, bool to_host) {
  const auto at = reinterpret_cast<std::uint64_t>(address);
  const std::lock_guard lock(mutex_);
  ManagedRange* range = range_of(at, bytes);
  if (range == nullptr || bytes == 0)
    return refuse(fmt::format("{} bytes at {:#x} are not inside one managed allocation", bytes, at),
                  "prefetch memory of one managed allocation, and at least one byte");
  const std::uint64_t offset = at - range->address();
  range->prefetch(offset / kPage, (offset + bytes - 1) / kPage + 1, to_host);
  return {};
}

std::optional<observe::ManagedFacts> ManagedMemory::facts(void* address) const {
  const std::lock_guard lock(mutex_);
  const auto it = ranges_.find(reinterpret_cast<std::uint64_t>(address));
  if (it == ranges_.end()) return std::nullopt;
  return it->second->facts();
}

std::vector<observe::ManagedFacts> ManagedMemory::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<observe::ManagedFacts> out;
  for (const auto& [address, range] : ranges_) out.push_back(range->facts());
  return out;
}

void ManagedMemory::launch_begins() {
  const std::lock_guard lock(mutex_);
  if (launches_++ != 0) return;
  for (const auto& [address, range] : ranges_)
    if (range->tracked()) range->show_to(true);
}

void ManagedMemory::launch_ends() {
  const std::lock_guard lock(mutex_);
  if (--launches_ != 0) return;
  for (const auto& [address, range] : ranges_)
    if (range->tracked()) range->show_to(false);
}

}  // namespace warploom::device

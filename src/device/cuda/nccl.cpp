// NCCL, found when the first group of GPUs is made; declared from NCCL's documentation ("NCCL API").
#include <fmt/format.h>

#include "base/library.hpp"
#include "device/collectives.hpp"
#include "device/cuda/cuda_device.hpp"

namespace warploom::device {
namespace cuda {
namespace {

struct CommHandle;    // ncclComm_t points at one
using Outcome = int;  // ncclResult_t

#define WARPLOOM_NCCL_ENTRIES(WL_ENTRY)                                                                          \
  WL_ENTRY(unique_id, "ncclGetUniqueId", (CommunicatorId*))                                                      \
  WL_ENTRY(init_rank, "ncclCommInitRank", (CommHandle**, int, CommunicatorId, int))                              \
  WL_ENTRY(init_all, "ncclCommInitAll", (CommHandle**, int, const int*))                                         \
  WL_ENTRY(destroy, "ncclCommDestroy", (CommHandle*))                                                            \
  WL_ENTRY(async_error, "ncclCommGetAsyncError", (CommHandle*, Outcome*))                                        \
  WL_ENTRY(group_start, "ncclGroupStart", ())                                                                    \
  WL_ENTRY(group_end, "ncclGroupEnd", ())                                                                        \
  WL_ENTRY(all_reduce, "ncclAllReduce", (const void*, void*, std::size_t, int, int, CommHandle*, StreamHandle*)) \
  WL_ENTRY(broadcast, "ncclBroadcast", (const void*, void*, std::size_t, int, int, CommHandle*, StreamHandle*))  \
  WL_ENTRY(reduce, "ncclReduce", (const void*, void*, std::size_t, int, int, int, CommHandle*, StreamHandle*))   \
  WL_ENTRY(all_gather, "ncclAllGather", (const void*, void*, std::size_t, int, CommHandle*, StreamHandle*))      \
  WL_ENTRY(reduce_scatter, "ncclReduceScatter",                                                                  \
           (const void*, void*, std::size_t, int, int, CommHandle*, StreamHandle*))                              \
  WL_ENTRY(send, "ncclSend", (const void*, std::size_t, int, int, CommHandle*, StreamHandle*))                   \
  WL_ENTRY(receive, "ncclRecv", (void*, std::size_t, int, int, CommHandle*, StreamHandle*))

struct Nccl {
#define WL_ENTRY(member, name, parameters) Outcome(*member) parameters = nullptr;
  WARPLOOM_NCCL_ENTRIES(WL_ENTRY)
#undef WL_ENTRY
  const char* (*error_string)(Outcome) = nullptr;
  const char* (*last_error)(CommHandle*) = nullptr;

  [[nodiscard]] Result<void> checked(Outcome outcome, std::string_view what) const {
    if (outcome == 0) return {};
    Diag d;
    d.id = outcome == 4 ? ErrorId::invalid_value : outcome == 5 ? ErrorId::illegal_state : ErrorId::driver_error;
    const char* text = error_string(outcome);
    d.what = fmt::format("{}: {} ({})", what, text == nullptr ? "an error of NCCL" : text, outcome);
    if (const char* more = last_error(nullptr); more != nullptr && *more != '\0') d.where = more;
    d.remedy = "NCCL says more with the environment variable NCCL_DEBUG=INFO";
    return d;
  }
};

Result<Nccl> load() {
  auto library = Library::open({"WARPLOOM_NCCL",
                                {"libnccl.so.2"},
                                "NCCL",
                                "install NCCL 2.13 or later, for instance with pip install nvidia-nccl-cu13, or name "
                                "the file in WARPLOOM_NCCL"});
  if (!library) return std::move(library.error());
  Nccl nccl;
#define WL_ENTRY(member, name, parameters) library->take(nccl.member, name);
  WARPLOOM_NCCL_ENTRIES(WL_ENTRY)
#undef WL_ENTRY
  library->take(nccl.error_string, "ncclGetErrorString");
  library->take(nccl.last_error, "ncclGetLastError");
  WL_TRY(library->complete());
  return nccl;
}

class NcclCommunicator final : public Communicator {
 public:
  NcclCommunicator(const Nccl& nccl, CudaDevice& device, CommHandle* handle, int ranks, int rank)
      : nccl_(nccl), device_(device), generation_(device.generation()), handle_(handle), ranks_(ranks), rank_(rank) {}
  ~NcclCommunicator() override {
    if (generation_ == device_.generation() && device_.enter()) (void)nccl_.destroy(handle_);
  }
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int ranks() const override { return ranks_; }

  Result<void> run(const Collective& c) override {
    if (generation_ != device_.generation()) return closed();
    WL_TRY(device_.enter());
    Outcome failed = 0;
    if (nccl_.async_error(handle_, &failed) == 0) WL_TRY(nccl_.checked(failed, "an earlier collective"));
    CudaQueue& queue = device_.here();
    StreamHandle* stream = queue.handle();
    const int type = static_cast<int>(c.type), how = static_cast<int>(c.reduction);
    const auto enqueue = [&]() -> Outcome {
      switch (c.kind) {
        using enum Collective::Kind;
        case all_reduce: return nccl_.all_reduce(c.from, c.to, c.count, type, how, handle_, stream);
        case broadcast: return nccl_.broadcast(c.from, c.to, c.count, type, c.peer, handle_, stream);
        case reduce: return nccl_.reduce(c.from, c.to, c.count, type, how, c.peer, handle_, stream);
        case all_gather: return nccl_.all_gather(c.from, c.to, c.count, type, handle_, stream);
        case reduce_scatter: return nccl_.reduce_scatter(c.from, c.to, c.count, type, how, handle_, stream);
        case send: return nccl_.send(c.from, c.count, type, c.peer, handle_, stream);
        case receive: return nccl_.receive(c.to, c.count, type, c.peer, handle_, stream);
      }
      return 4;  // ncclInvalidArgument
    };
    return nccl_.checked(enqueue(), "a collective cannot be queued");
  }

 private:
  static Diag closed() {
    Diag d;
    d.id = ErrorId::invalid_handle;
    d.what = "the communicator was made before the device was reset";
    d.remedy = "make a new one";
    return d;
  }

  const Nccl& nccl_;
  CudaDevice& device_;
  const unsigned generation_;
  CommHandle* const handle_;
  const int ranks_, rank_;
};

class NcclCollectives final : public Collectives {
 public:
  explicit NcclCollectives(const Nccl& nccl) : nccl_(nccl) {}

  Result<CommunicatorId> unique_id() override {
    CommunicatorId id{};
    WL_TRY(nccl_.checked(nccl_.unique_id(&id), "no identity for a group"));
    return id;
  }

  Result<std::unique_ptr<Communicator>> join(Device& device_, const CommunicatorId& id, int ranks, int rank) override {
    auto& device = static_cast<CudaDevice&>(device_);
    WL_TRY(device.enter());
    CommHandle* handle = nullptr;
    WL_TRY(nccl_.checked(nccl_.init_rank(&handle, ranks, id, rank), fmt::format("rank {} cannot join", rank)));
    return std::unique_ptr<Communicator>(std::make_unique<NcclCommunicator>(nccl_, device, handle, ranks, rank));
  }

  Result<std::vector<std::unique_ptr<Communicator>>> all(std::span<Device* const> devices) override {
    std::vector<int> numbers;
    numbers.reserve(devices.size());
    for (Device* device : devices) {
      numbers.push_back(static_cast<CudaDevice*>(device)->number());
      WL_TRY(static_cast<CudaDevice*>(device)->enter());
    }
    const auto count = static_cast<int>(devices.size());
    std::vector<CommHandle*> handles(devices.size());
    WL_TRY(nccl_.checked(nccl_.init_all(handles.data(), count, numbers.data()), "the GPUs make no group"));
    std::vector<std::unique_ptr<Communicator>> out;
    out.reserve(devices.size());
    for (int i = 0; i < count; ++i)
      out.push_back(std::make_unique<NcclCommunicator>(nccl_,
                                                       static_cast<CudaDevice&>(*devices[static_cast<std::size_t>(i)]),
                                                       handles[static_cast<std::size_t>(i)], count, i));
    return out;
  }

  Result<void> begin_group() override { return nccl_.checked(nccl_.group_start(), "a group of collectives"); }
  Result<void> end_group() override { return nccl_.checked(nccl_.group_end(), "a group of collectives"); }

 private:
  const Nccl& nccl_;
};

}  // namespace
}  // namespace cuda

Result<Collectives*> cuda_collectives() {
  // A library that was missing may be there later, when Python has told where.
  static std::mutex mutex;
  static cuda::NcclCollectives* instance = nullptr;  // never destroyed, as the library is never closed
  const std::lock_guard lock(mutex);
  if (instance == nullptr) {
    auto nccl = cuda::load();
    if (!nccl) return std::move(nccl.error());
    instance = new cuda::NcclCollectives(*new cuda::Nccl(*nccl));
  }
  return instance;
}

}  // namespace warploom::device

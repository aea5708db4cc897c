// Communicator and CollectiveGroup over the devices' collectives.
#include "warploom/collectives.hpp"

#include <algorithm>
#include <string>

#include "api/math.hpp"
#include "api/state.hpp"
#include "device/collectives.hpp"

namespace warploom {
namespace detail {

struct CommunicatorState : Owned {
  CommunicatorState(std::shared_ptr<DeviceState> owner, std::shared_ptr<device::Communicator> made)
      : Owned(std::move(owner)), communicator(std::move(made)) {}
  ~CommunicatorState() {
    communicator->leave();
    // NCCL's own must not go before its work has; on the CPU device the work keeps it.
    if (device->context->device().is_hardware() && generation == device->context->generation())
      device->context->drain();
  }
  CommunicatorState(const CommunicatorState&) = delete;
  CommunicatorState& operator=(const CommunicatorState&) = delete;

  std::shared_ptr<device::Communicator> communicator;
};

}  // namespace detail

namespace {

using Kind = device::Collective::Kind;

device::Collectives& collectives_of(runtime::Context& context) {
  return context.device().is_hardware() ? *api::checked(device::cuda_collectives()) : device::cpu_collectives();
}

const detail::CommunicatorState& use_state(const std::shared_ptr<detail::CommunicatorState>& state) {
  api::use(state, "the communicator");
  return *state;
}

void queue(const detail::CommunicatorState& state, const Stream& stream, const device::Collective& what) {
  runtime::Context& context = *state.device->context;
  if (static_cast<unsigned>(what.type) > static_cast<unsigned>(device::ElementType::bf16) ||
      static_cast<unsigned>(what.reduction) > static_cast<unsigned>(device::Reduction::average))
    api::fail(ErrorId::invalid_value, "there is no such element type or reduction", "use ElementType and Reduction");
  const auto ranks = static_cast<std::size_t>(state.communicator->ranks());
  if (what.peer < 0 || what.peer >= state.communicator->ranks())
    api::fail(ErrorId::invalid_value,
              "there is no rank " + std::to_string(what.peer) + " in a group of " + std::to_string(ranks),
              "count ranks from 0");
  std::size_t part = 0, all = 0;
  if (__builtin_mul_overflow(what.count, device::element_bytes(what.type), &part) ||
      __builtin_mul_overflow(part, ranks, &all))
    api::fail(ErrorId::invalid_value, std::to_string(what.count) + " elements are more than memory holds",
              "pass the number of elements of one rank's part");
  const auto& target = api::queue_of(stream, *state.device);
  const bool reads =
      what.kind != Kind::receive && (what.kind != Kind::broadcast || state.communicator->rank() == what.peer);
  const bool writes = what.kind != Kind::send && (what.kind != Kind::reduce || state.communicator->rank() == what.peer);
  const auto check = [&](const void* address, std::size_t bytes, const char* name) {
    api::check_place(context, address, bytes, name);
    if (bytes != 0) api::check_reached(*state.device, address, name);
  };
  if (reads) check(what.from, what.kind == Kind::reduce_scatter ? all : part, "what a collective reads");
  if (writes) check(what.to, what.kind == Kind::all_gather ? all : part, "where a collective writes");
  if (context.device().is_hardware()) {
    // NCCL's own checks are made in this call.
    Result<void> queued;
    api::checked(context.submit(target, [&] {
      queued = state.communicator->run(what);
      return Result<void>();
    }));
    api::checked(std::move(queued));
    return;
  }
  // The stream's own thread waits for the other ranks, whatever has happened to the device: nobody must wait for ever.
  api::checked(context.submit(target, [communicator = state.communicator, what] { return communicator->run(what); }, {},
                              {.always = true, .any_thread = false}));
}

static_assert(static_cast<int>(ElementType::bf16) == static_cast<int>(device::ElementType::bf16) &&
              static_cast<int>(Reduction::average) == static_cast<int>(device::Reduction::average));
device::Collective collective(Kind kind, const void* from, void* to, std::size_t count, ElementType type,
                              Reduction how = Reduction::sum, int peer = 0) {
  return {kind, from, to, count, static_cast<device::ElementType>(type), static_cast<device::Reduction>(how), peer};
}

}  // namespace

CommunicatorId Communicator::unique_id(const Device& device) {
  return api::checked(collectives_of(api::use(detail::Access::state(device))).unique_id());
}

Communicator::Communicator(std::shared_ptr<detail::CommunicatorState> state) noexcept : state_(std::move(state)) {}

Communicator::Communicator(const Device& device, const CommunicatorId& id, int ranks, int rank) {
  const auto& owner = detail::Access::state(device);
  runtime::Context& context = api::use(owner);
  if (ranks < 1 || rank < 0 || rank >= ranks)
    api::fail(ErrorId::invalid_value,
              "there is no rank " + std::to_string(rank) + " in a group of " + std::to_string(ranks),
              "count ranks from 0");
  state_ = std::make_shared<detail::CommunicatorState>(
      owner, api::checked(collectives_of(context).join(context.device(), id, ranks, rank)));
}

std::vector<Communicator> Communicator::all(std::span<const Device> devices) {
  if (devices.empty()) api::fail(ErrorId::invalid_value, "a group of no devices", "pass at least one");
  std::vector<device::Device*> members;
  members.reserve(devices.size());
  for (const Device& one : devices) {
    members.push_back(&api::use(detail::Access::state(one)).device());
    if (std::find(members.begin(), members.end() - 1, members.back()) != members.end() - 1)
      api::fail(ErrorId::invalid_value, "a device is in the group twice", "pass each device once");
    if (members.back()->is_hardware() != members.front()->is_hardware())
      api::fail(ErrorId::invalid_value, "GPUs and CPU devices form no group together", "pass devices of one kind");
  }
  auto made = api::checked(collectives_of(api::use(detail::Access::state(devices[0]))).all(members));
  std::vector<Communicator> out;
  out.reserve(devices.size());
  for (std::size_t i = 0; i < devices.size(); ++i)
    out.push_back(Communicator(
        std::make_shared<detail::CommunicatorState>(detail::Access::state(devices[i]), std::move(made[i]))));
  return out;
}

Communicator::Communicator(Communicator&&) noexcept = default;
Communicator& Communicator::operator=(Communicator&&) noexcept = default;
Communicator::~Communicator() = default;

int Communicator::rank() const { return use_state(state_).communicator->rank(); }
int Communicator::ranks() const { return use_state(state_).communicator->ranks(); }
Device Communicator::device() const { return detail::Access::make(use_state(state_).device); }

void Communicator::check(std::size_t wanted, std::size_t given) {
  if (wanted != given)
    api::fail(ErrorId::invalid_value,
              "an array of " + std::to_string(given) + " elements where " + std::to_string(wanted) + " are needed",
              "pass arrays of the same size; of all ranks' parts for all_gather and reduce_scatter");
}

void Communicator::all_reduce(const void* from, void* to, std::size_t count, ElementType type, Reduction how,
                              const Stream& stream) const {
  queue(use_state(state_), stream, collective(Kind::all_reduce, from, to, count, type, how));
}

void Communicator::broadcast(const void* from, void* to, std::size_t count, ElementType type, int root,
                             const Stream& stream) const {
  queue(use_state(state_), stream, collective(Kind::broadcast, from, to, count, type, Reduction::sum, root));
}

void Communicator::reduce(const void* from, void* to, std::size_t count, ElementType type, Reduction how, int root,
                          const Stream& stream) const {
  queue(use_state(state_), stream, collective(Kind::reduce, from, to, count, type, how, root));
}

void Communicator::all_gather(const void* from, void* to, std::size_t count, ElementType type,
                              const Stream& stream) const {
  queue(use_state(state_), stream, collective(Kind::all_gather, from, to, count, type));
}

void Communicator::reduce_scatter(const void* from, void* to, std::size_t count, ElementType type, Reduction how,
                                  const Stream& stream) const {
  queue(use_state(state_), stream, collective(Kind::reduce_scatter, from, to, count, type, how));
}

void Communicator::send(const void* from, std::size_t count, ElementType type, int peer, const Stream& stream) const {
  queue(use_state(state_), stream, collective(Kind::send, from, nullptr, count, type, Reduction::sum, peer));
}

void Communicator::receive(void* to, std::size_t count, ElementType type, int peer, const Stream& stream) const {
  queue(use_state(state_), stream, collective(Kind::receive, nullptr, to, count, type, Reduction::sum, peer));
}

CollectiveGroup::CollectiveGroup(const Device& device) : device_(device) {
  api::checked(collectives_of(api::use(detail::Access::state(device))).begin_group());
}

CollectiveGroup::~CollectiveGroup() {
  if (!open_) return;
  runtime::Context& context = *detail::Access::state(device_)->context;
  if (!context.device().is_hardware()) return;
  if (auto collectives = device::cuda_collectives()) (void)(*collectives)->end_group();
}

void CollectiveGroup::end() {
  if (!std::exchange(open_, false)) return;
  api::checked(collectives_of(api::use(detail::Access::state(device_))).end_group());
}

}  // namespace warploom

// Copies and fills of elements with any strides.
#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "api/launch.hpp"
#include "api/state.hpp"
#include "warploom/ndarray.hpp"

namespace warploom::detail {
namespace {

struct Axis {
  long long extent = 0, to = 0, from = 0;  // strides in bytes
};

// A copy or fill as nested loops, the outermost first, around runs of bytes.
struct Loops {
  std::vector<Axis> axes;
  std::size_t run = 0;  // bytes

  [[nodiscard]] std::size_t count() const {
    std::size_t total = 1;
    for (const Axis& axis : axes) total *= static_cast<std::size_t>(axis.extent);
    return total;
  }
  [[nodiscard]] std::size_t bytes() const { return run * count(); }
};

std::string shape_text(const long long* shape, unsigned rank) {
  std::string out = "(";
  for (unsigned i = 0; i < rank; ++i) out += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return out + ")";
}

Loops loops_of(const Strided& elements, const long long* to_strides, const long long* from_strides) {
  Loops loops;
  loops.run = elements.element_bytes;
  for (unsigned i = 0; i < elements.rank; ++i)
    if (elements.shape[i] != 1) loops.axes.push_back({elements.shape[i], to_strides[i], from_strides[i]});
  // Writes go through memory from one end to the other.
  std::stable_sort(loops.axes.begin(), loops.axes.end(),
                   [](const Axis& a, const Axis& b) { return std::abs(a.to) > std::abs(b.to); });
  while (!loops.axes.empty()) {
    const Axis& inner = loops.axes.back();
    const auto run = static_cast<long long>(loops.run);
    if (inner.to != run || inner.from != run) break;
    loops.run *= static_cast<std::size_t>(inner.extent);
    loops.axes.pop_back();
  }
  return loops;
}

void copy_elements(const Loops& loops, std::size_t axis, std::byte* to, const std::byte* from) {
  if (axis == loops.axes.size()) {
    std::memcpy(to, from, loops.run);
    return;
  }
  const Axis& a = loops.axes[axis];
  const auto innermost = [&]<class Element>(Element) {
    for (long long i = 0; i < a.extent; ++i) std::memcpy(to + i * a.to, from + i * a.from, sizeof(Element));
  };
  if (axis + 1 == loops.axes.size()) {
    // Sizes that one load and store move.
    switch (loops.run) {
      case 1: innermost(std::uint8_t{}); return;
      case 2: innermost(std::uint16_t{}); return;
      case 4: innermost(std::uint32_t{}); return;
      case 8: innermost(std::uint64_t{}); return;
      case 16: innermost(std::array<std::uint64_t, 2>{}); return;
      default: break;
    }
  }
  for (long long i = 0; i < a.extent; ++i) copy_elements(loops, axis + 1, to + i * a.to, from + i * a.from);
}

struct Place {
  std::byte* first = nullptr;  // lowest address
  std::size_t bytes = 0;       // to the end of the highest element
};

// The same, run by run, by the device.
Result<void> copy_runs(device::Device& device, const Loops& loops, std::size_t axis, std::byte* to,
                       const std::byte* from) {
  if (axis == loops.axes.size()) return device.copy(to, from, loops.run);
  const Axis& a = loops.axes[axis];
  for (long long i = 0; i < a.extent; ++i) WL_TRY(copy_runs(device, loops, axis + 1, to + i * a.to, from + i * a.from));
  return {};
}

// Work that copies elements; `source` is null for those of a fill, which the host holds. A GPU's memory is out of the
// host's reach: a few runs are copies of its own, many go through memory of the host and back.
Result<void> move_elements(device::Device& device, const Loops& loops, std::byte* to, const std::byte* from,
                           const Place& target, const Place* source) {
  constexpr std::size_t few = 4096;
  if (!device.is_hardware()) {
    copy_elements(loops, 0, to, from);
    return {};
  }
  if (loops.count() <= few) return copy_runs(device, loops, 0, to, from);
  const auto wait = []() -> Result<void> {
    device::Queue* queue = device::Queue::current();
    return queue == nullptr ? Result<void>() : queue->wait();
  };
  std::vector<std::byte> there(target.bytes), here(source == nullptr ? 0 : source->bytes);
  WL_TRY(device.copy(there.data(), target.first, target.bytes));
  if (source != nullptr) WL_TRY(device.copy(here.data(), source->first, source->bytes));
  WL_TRY(wait());
  copy_elements(loops, 0, there.data() + (to - target.first),
                source == nullptr ? from : here.data() + (from - source->first));
  WL_TRY(device.copy(target.first, there.data(), target.bytes));
  return wait();
}

// Throws invalid_value when the elements do not lie in one allocation, or not in memory at all.
Place place_of(runtime::Context& context, const Strided& elements, const void* data, const long long* strides,
               const char* what) {
  __int128 low = 0, high = static_cast<__int128>(elements.element_bytes);
  for (unsigned i = 0; i < elements.rank; ++i)
    (strides[i] < 0 ? low : high) += static_cast<__int128>(elements.shape[i] - 1) * strides[i];
  const __int128 bytes = high - low;
  if (bytes > std::numeric_limits<std::int64_t>::max())
    api::fail(ErrorId::invalid_value, std::string(what) + " reaches over more bytes than memory has",
              "check shape and strides");
  const auto* first = static_cast<const std::byte*>(data);
  if (data != nullptr) first += static_cast<std::ptrdiff_t>(low);
  api::check_place(context, first, static_cast<std::size_t>(bytes), what);
  return {const_cast<std::byte*>(first), static_cast<std::size_t>(bytes)};
}

// True when there is nothing to do.
bool empty(const Strided& elements) {
  bool none = false;
  for (unsigned i = 0; i < elements.rank; ++i) {
    if (elements.shape[i] < 0)
      api::fail(ErrorId::invalid_value, "a view of shape " + shape_text(elements.shape, elements.rank),
                "extents are 0 or more");
    none = none || elements.shape[i] == 0;
  }
  return none;
}

// Sorted by strides, an axis must step over all that the smaller ones reach; views whose elements only interleave are
// refused too.
void check_destination(const Strided& elements, const long long* strides) {
  std::vector<Axis> axes;
  for (unsigned i = 0; i < elements.rank; ++i)
    if (elements.shape[i] > 1) axes.push_back({elements.shape[i], std::abs(strides[i]), 0});
  std::sort(axes.begin(), axes.end(), [](const Axis& a, const Axis& b) { return a.to < b.to; });
  auto reach = static_cast<__int128>(elements.element_bytes);
  for (const Axis& axis : axes) {
    if (axis.to < reach)
      api::fail(ErrorId::invalid_value, "the elements of the destination overlap",
                "copy to a view that holds every element once");
    reach += static_cast<__int128>(axis.extent - 1) * axis.to;
  }
}

}  // namespace

void copy_strided(const Device& device, const Stream* stream, const Strided& elements, void* to,
                  const long long* to_strides, const void* from, const long long* from_strides) {
  const auto& owner = Access::state(device);
  runtime::Context& context = api::use(owner);
  if (empty(elements)) return;
  check_destination(elements, to_strides);
  const Place target = place_of(context, elements, to, to_strides, "the destination of a copy");
  const Place source = place_of(context, elements, from, from_strides, "the source of a copy");
  Loops loops = loops_of(elements, to_strides, from_strides);
  if (loops.axes.empty()) {
    api::run_on(context, *owner, stream, runtime::Operation::copy(target.first, source.first, loops.run));
    return;
  }
  api::CopyPlaces places{target.first, target.bytes, source.first, source.bytes, nullptr};
  if (stream != nullptr && loops.bytes() <= api::kStagedBytes) {
    // What it reads, one after the other, once the call returns.
    places.stage = [&] {
      std::vector<std::byte> bytes(loops.bytes());
      Loops gather = loops, scatter = loops;
      auto step = static_cast<long long>(loops.run);
      for (std::size_t i = loops.axes.size(); i-- > 0;) {
        gather.axes[i].to = scatter.axes[i].from = step;
        step *= loops.axes[i].extent;
      }
      copy_elements(gather, 0, bytes.data(), static_cast<const std::byte*>(from));
      return runtime::Operation::other(runtime::NodeKind::copy,
                                       [&device = context.device(), scatter = std::move(scatter),
                                        bytes = std::move(bytes), to, target]() -> Result<void> {
                                         return move_elements(device, scatter, static_cast<std::byte*>(to),
                                                              bytes.data(), target, nullptr);
                                       });
    };
  }
  api::run_copy(context, *owner, stream, places,
                runtime::Operation::other(
                    runtime::NodeKind::copy,
                    [&device = context.device(), loops = std::move(loops), to, from, target, source]() -> Result<void> {
                      return move_elements(device, loops, static_cast<std::byte*>(to),
                                           static_cast<const std::byte*>(from), target, &source);
                    }));
}

void fill_strided(const Device& device, const Stream* stream, const Strided& elements, void* to,
                  const long long* to_strides, const void* element) {
  const auto& owner = Access::state(device);
  runtime::Context& context = api::use(owner);
  if (empty(elements)) return;
  const Place target = place_of(context, elements, to, to_strides, "the destination of a fill");
  const std::vector<long long> repeated(elements.rank, 0);
  Loops loops = loops_of(elements, to_strides, repeated.data());
  const auto* first = static_cast<const std::byte*>(element);
  if (target.bytes == elements.element_bytes * static_cast<std::size_t>(loops.bytes() / loops.run)) {
    api::run_on(context, *owner, stream,
                runtime::Operation::fill(target.first, std::span(first, elements.element_bytes),
                                         target.bytes / elements.element_bytes));
    return;
  }
  api::run_on(context, *owner, stream,
              runtime::Operation::other(
                  runtime::NodeKind::fill,
                  [&device = context.device(), loops = std::move(loops), to, target,
                   pattern = std::vector<std::byte>(first, first + elements.element_bytes)]() -> Result<void> {
                    return move_elements(device, loops, static_cast<std::byte*>(to), pattern.data(), target, nullptr);
                  }));
}

void fail_shapes(const long long* one, const long long* other, unsigned rank) {
  if (one == nullptr)
    api::fail(ErrorId::invalid_value, "a view cannot be split into parts of " + std::to_string(*other) + " elements",
              "parts have one element or more");
  api::fail(ErrorId::invalid_value,
            "views of the shapes " + shape_text(one, rank) + " and " + shape_text(other, rank) + " differ",
            "copy between views of the same shape");
}

void fail_reshape(const long long* from, unsigned from_rank, const long long* to, unsigned to_rank) {
  api::fail(ErrorId::invalid_value,
            "a view of shape " + shape_text(from, from_rank) + " cannot be seen as " + shape_text(to, to_rank),
            "the sizes must agree, and axes that are joined must follow each other in memory; else copy the elements "
            "to a contiguous array first");
}

std::size_t checked_size(const long long* shape, unsigned rank) {
  std::size_t count = 1;
  bool none = false, huge = false;
  for (unsigned i = 0; i < rank; ++i) {
    if (shape[i] < 0)
      api::fail(ErrorId::invalid_value, "an array of shape " + shape_text(shape, rank), "extents are 0 or more");
    none = none || shape[i] == 0;
    huge = huge || __builtin_mul_overflow(count, static_cast<std::size_t>(shape[i]), &count);
  }
  if (none) return 0;
  if (huge)
    api::fail(ErrorId::out_of_memory, "an array of shape " + shape_text(shape, rank) + " is larger than any memory",
              "check the extents");
  return count;
}

}  // namespace warploom::detail

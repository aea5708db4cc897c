// What calls of linear algebra and of Fourier transforms share: their device, and where their arrays lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "api/state.hpp"
#include "device/math.hpp"
#include "warploom/blas.hpp"

namespace warploom::api {

std::size_t element_bytes(detail::Element type);

// Bytes from the lowest to beyond the highest of a view.
struct Extent {
  const std::byte* low = nullptr;
  std::size_t bytes = 0;

  [[nodiscard]] bool overlaps(const Extent& other) const {
    return bytes != 0 && other.bytes != 0 && low < other.low + other.bytes && other.low < low + bytes;
  }
};
Extent extent_of(const detail::AnyView& view, std::size_t element);

// "3 x 4".
std::string shape_text(const detail::AnyView& view);

// Throws for an address that the device of a library's call does not reach; `what` names it.
void check_reached(detail::DeviceState& device, const void* address, const char* what);

class MathCall {
 public:
  // Throws for a stream that cannot be used and a device without such functions.
  explicit MathCall(const Stream& stream);

  [[nodiscard]] device::Math& math() const { return *math_; }
  // The place of a view, which must lie in one allocation; `what` names it.
  Extent place(const detail::AnyView& view, std::size_t element, const char* what) const;
  // Throws not_supported for what the library's numbers do not hold.
  void fits(std::int64_t value, const char* what) const;
  template <class Call>
  void enqueue(const Call& call) const {
    submit([math = math_, call] { return math->run(call); });
  }

 private:
  void submit(runtime::Work work) const;

  const Stream& stream_;
  detail::DeviceState& device_;
  runtime::Context& context_;
  device::Math* math_;
};

}  // namespace warploom::api

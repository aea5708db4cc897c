// NdArray: device memory of any shape, and copies between views whatever their strides.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "warploom/array.hpp"
#include "warploom/device.hpp"
#include "warploom/export.hpp"
#include "warploom/module.hpp"
#include "warploom/stream.hpp"
#include "warploom/view.hpp"

namespace warploom {

namespace detail {

// Elements by their places; shapes and strides (bytes) have `rank` entries.
struct Strided {
  std::size_t element_bytes = 0;
  unsigned rank = 0;
  const long long* shape = nullptr;
};
// A null stream means the default stream and waits for the end.
WARPLOOM_API void copy_strided(const Device& device, const Stream* stream, const Strided& elements, void* to,
                               const long long* to_strides, const void* from, const long long* from_strides);
WARPLOOM_API void fill_strided(const Device& device, const Stream* stream, const Strided& elements, void* to,
                               const long long* to_strides, const void* element);
// Throw invalid_value.
[[noreturn]] WARPLOOM_API void fail_shapes(const long long* one, const long long* other, unsigned rank);
[[noreturn]] WARPLOOM_API void fail_reshape(const long long* from, unsigned from_rank, const long long* to,
                                            unsigned to_rank);
WARPLOOM_API std::size_t checked_size(const long long* shape, unsigned rank);

template <class T, unsigned Rank>
void copy_views(const Device& device, const Stream* stream, const ArrayView<T, Rank>& to,
                const ArrayView<const T, Rank>& from) {
  if (!std::equal(to.shape(), to.shape() + Rank, from.shape())) fail_shapes(to.shape(), from.shape(), Rank);
  copy_strided(device, stream, {sizeof(T), Rank, to.shape()}, to.data(), to.strides(), from.data(), from.strides());
}

}  // namespace detail

/// The same elements, taken in `order`, with another shape. Throws invalid_value when the sizes differ, and when it
/// would need a copy.
template <class T, unsigned Rank, unsigned NewRank>
[[nodiscard]] ArrayView<T, NewRank> reshape(const ArrayView<T, Rank>& view, const long long (&shape)[NewRank],
                                            Order order = Order::c) {
  ArrayView<T, NewRank> out;
  if (!view.try_reshape(shape, out, order)) detail::fail_reshape(view.shape(), Rank, shape, NewRank);
  return out;
}

/// All elements as one line. Throws invalid_value when that would need a copy.
template <class T, unsigned Rank>
[[nodiscard]] ArrayView<T, 1> ravel(const ArrayView<T, Rank>& view, Order order = Order::c) {
  return reshape(view, {view.size()}, order);
}

/// Parts of `section` elements each along the first axis; the last one may be shorter. Throws invalid_value for a
/// section below 1.
template <class T, unsigned Rank>
[[nodiscard]] std::vector<ArrayView<T, Rank>> split(const ArrayView<T, Rank>& view, long long section) {
  if (section < 1) detail::fail_shapes(nullptr, &section, 1);
  std::vector<ArrayView<T, Rank>> out;
  for (long long at = 0; at < view.extent(0); at += section)
    out.push_back(view.slice(0, at, std::min(at + section, view.extent(0))));
  return out;
}

/// Copies elements between views of the same shape and any strides; each may be of host or device memory (cuMemcpy3D
/// and beyond). Runs on the default stream and returns when done; with a stream it is queued, under the rules of
/// copy(). Throws invalid_value for different shapes, a destination that holds an element twice, and memory that is not
/// inside one allocation.
template <class T, unsigned Rank>
void copy(const Device& device, const ArrayView<T, Rank>& to,
          const std::type_identity_t<ArrayView<const T, Rank>>& from) {
  detail::copy_views<T, Rank>(device, nullptr, to, from);
}
template <class T, unsigned Rank>
void copy(const Device& device, const Stream& stream, const ArrayView<T, Rank>& to,
          const std::type_identity_t<ArrayView<const T, Rank>>& from) {
  detail::copy_views<T, Rank>(device, &stream, to, from);
}

/// Sets all elements of a view.
template <class T, unsigned Rank>
void fill(const Device& device, const ArrayView<T, Rank>& to, const std::type_identity_t<T>& value) {
  detail::fill_strided(device, nullptr, {sizeof(T), Rank, to.shape()}, to.data(), to.strides(), &value);
}
template <class T, unsigned Rank>
void fill(const Device& device, const Stream& stream, const ArrayView<T, Rank>& to,
          const std::type_identity_t<T>& value) {
  detail::fill_strided(device, &stream, {sizeof(T), Rank, to.shape()}, to.data(), to.strides(), &value);
}

/// An array of `Rank` dimensions in device memory, elements one after the other in C or Fortran order, contents
/// unspecified at first. Move only. It is one DeviceArray; destroying it while work that uses it is queued is safe. As
/// a kernel's argument it is its view: the kernel takes an ArrayView<T, Rank> by value.
template <class T, unsigned Rank>
class NdArray {
 public:
  /// Throws out_of_memory, and invalid_value for a negative extent.
  NdArray(const Device& device, const long long (&shape)[Rank], Order order = Order::c)
      : device_(device), array_(device, detail::checked_size(shape, Rank)), view_(array_.data(), shape, order) {}
  /// Allocates in the order of the host's elements, C unless they lie in Fortran order, and copies.
  NdArray(const Device& device, const std::type_identity_t<ArrayView<const T, Rank>>& host)
      : NdArray(device, host.shape(), order_of(host)) {
    copy_from(host);
  }
  NdArray(NdArray&&) noexcept = default;
  NdArray& operator=(NdArray&&) noexcept = default;

  /// All elements. Valid as long as the array, and null after a reset of the device.
  [[nodiscard]] ArrayView<T, Rank> view() const noexcept {
    return ArrayView<T, Rank>(array_.data(), view_.shape(), view_.strides());
  }
  operator ArrayView<T, Rank>() const noexcept { return view(); }  // NOLINT(google-explicit-constructor)
  [[nodiscard]] long long extent(unsigned axis) const noexcept { return view_.extent(axis); }
  [[nodiscard]] std::size_t size() const noexcept { return array_.size(); }
  /// The elements as they lie in memory.
  [[nodiscard]] const DeviceArray<T>& elements() const noexcept { return array_; }

  /// Copies from and to views of the same shape and any strides, of host or device; see copy().
  void copy_from(const std::type_identity_t<ArrayView<const T, Rank>>& source) {
    detail::copy_views<T, Rank>(device_, nullptr, view(), source);
  }
  void copy_from(const std::type_identity_t<ArrayView<const T, Rank>>& source, const Stream& stream) {
    detail::copy_views<T, Rank>(device_, &stream, view(), source);
  }
  void copy_to(const ArrayView<T, Rank>& target) const {
    detail::copy_views<T, Rank>(device_, nullptr, target, view());
  }
  void copy_to(const ArrayView<T, Rank>& target, const Stream& stream) const {
    detail::copy_views<T, Rank>(device_, &stream, target, view());
  }

 private:
  static Order order_of(const ArrayView<const T, Rank>& view) {
    return !view.is_contiguous(Order::c) && view.is_contiguous(Order::f) ? Order::f : Order::c;
  }
  Device device_;
  DeviceArray<T> array_;
  ArrayView<T, Rank> view_;
};

namespace detail {

template <class T, unsigned Rank>
struct Packed<NdArray<T, Rank>> {
  ArrayView<T, Rank> value;
  const Memory& memory;
  explicit Packed(const NdArray<T, Rank>& array) : value(array.view()), memory(array.elements().memory()) {}
  [[nodiscard]] Argument argument() const { return {static_cast<const void*>(&value), sizeof(value), &memory}; }
};

}  // namespace detail
}  // namespace warploom

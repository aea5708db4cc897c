// ArrayView: elements in memory by shape and strides, for host and device code alike; includes nothing.
#pragma once

#if defined(__CUDACC__) || defined(__CUDA__)
#define WARPLOOM_HOST_DEVICE __host__ __device__
#else
#define WARPLOOM_HOST_DEVICE
#endif

namespace warploom {

/// Which index varies fastest in memory: the last one, or the first one.
enum class Order : unsigned char { c, f };

/// `Rank` extents and strides over elements that someone else owns, as std::mdspan with a strided layout. Strides are
/// in bytes and may be negative or 0, as NumPy's, so that members of records are views too. A view is copied as bytes
/// and may be a kernel's argument: the kernel takes it by value. Indices are not checked.
template <class T, unsigned Rank>
class ArrayView {
  static_assert(Rank >= 1, "a view has at least one dimension");

 public:
  using element_type = T;
  using index_type = long long;

  WARPLOOM_HOST_DEVICE constexpr ArrayView() = default;
  /// Elements one after the other.
  WARPLOOM_HOST_DEVICE constexpr ArrayView(T* data, const index_type (&shape)[Rank], Order order = Order::c)
      : data_(data) {
    unsigned long long step = sizeof(T);  // wraps where it cannot be, which owners of memory refuse
    for (unsigned i = 0; i < Rank; ++i) {
      const unsigned axis = order == Order::f ? i : Rank - 1 - i;
      shape_[axis] = shape[axis];
      strides_[axis] = static_cast<index_type>(step);
      step *= shape[axis] > 1 ? static_cast<unsigned long long>(shape[axis]) : 1;
    }
  }
  WARPLOOM_HOST_DEVICE constexpr ArrayView(T* data, const index_type (&shape)[Rank], const index_type (&strides)[Rank])
      : data_(data) {
    for (unsigned i = 0; i < Rank; ++i) {
      shape_[i] = shape[i];
      strides_[i] = strides[i];
    }
  }
  /// A view that only reads, of one that may write.
  template <class U>
    requires(__is_same(const U, T) && !__is_same(U, T))
  WARPLOOM_HOST_DEVICE constexpr ArrayView(const ArrayView<U, Rank>& other)  // NOLINT(google-explicit-constructor)
      : ArrayView(other.data(), other.shape(), other.strides()) {}

  [[nodiscard]] WARPLOOM_HOST_DEVICE static constexpr unsigned rank() { return Rank; }
  /// The first element.
  [[nodiscard]] WARPLOOM_HOST_DEVICE constexpr T* data() const { return data_; }
  /// Elements along an axis.
  [[nodiscard]] WARPLOOM_HOST_DEVICE constexpr index_type extent(unsigned axis) const { return shape_[axis]; }
  /// Bytes from one element to the next along an axis.
  [[nodiscard]] WARPLOOM_HOST_DEVICE constexpr index_type stride(unsigned axis) const { return strides_[axis]; }
  [[nodiscard]] WARPLOOM_HOST_DEVICE constexpr const index_type (&shape() const)[Rank] { return shape_; }
  [[nodiscard]] WARPLOOM_HOST_DEVICE constexpr const index_type (&strides() const)[Rank] { return strides_; }
  /// All elements.
  [[nodiscard]] WARPLOOM_HOST_DEVICE constexpr index_type size() const {
    index_type count = 1;
    for (const index_type extent : shape_) count *= extent;
    return count;
  }
  /// Whether the elements lie one after the other; axes of one element do not count.
  [[nodiscard]] WARPLOOM_HOST_DEVICE constexpr bool is_contiguous(Order order = Order::c) const {
    index_type step = sizeof(T);
    for (unsigned i = 0; i < Rank; ++i) {
      const unsigned axis = order == Order::f ? i : Rank - 1 - i;
      if (shape_[axis] == 0) return true;
      if (shape_[axis] != 1 && strides_[axis] != step) return size() == 0;
      step *= shape_[axis];
    }
    return true;
  }

  /// The element at one index for each axis.
  template <class... Index>
  [[nodiscard]] WARPLOOM_HOST_DEVICE T& operator()(Index... index) const {
    static_assert(sizeof...(Index) == Rank, "one index for each axis");
    const index_type at[Rank] = {static_cast<index_type>(index)...};
    index_type offset = 0;
    for (unsigned i = 0; i < Rank; ++i) offset += at[i] * strides_[i];
    return *moved<T>(offset);
  }

  /// Elements `begin`, `begin + step` and so on before `end` of one axis; a negative step goes down. Bounds are not
  /// adjusted: they must lie inside.
  [[nodiscard]] WARPLOOM_HOST_DEVICE ArrayView slice(unsigned axis, index_type begin, index_type end,
                                                     index_type step = 1) const {
    ArrayView out = *this;
    const index_type count = step > 0 ? (end - begin + step - 1) / step : (begin - end - step - 1) / -step;
    out.shape_[axis] = count > 0 ? count : 0;
    out.strides_[axis] = strides_[axis] * step;
    if (count > 0) out.data_ = moved<T>(begin * strides_[axis]);
    return out;
  }
  /// One place of an axis, which the result has not.
  [[nodiscard]] WARPLOOM_HOST_DEVICE auto take(unsigned axis, index_type index) const {
    static_assert(Rank > 1, "an element of a line is view(index)");
    index_type shape[Rank - 1] = {}, strides[Rank - 1] = {};
    for (unsigned i = 0, at = 0; i < Rank; ++i) {
      if (i == axis) continue;
      shape[at] = shape_[i];
      strides[at++] = strides_[i];
    }
    return ArrayView<T, Rank - 1>(moved<T>(index * strides_[axis]), shape, strides);
  }
  /// The axes in another order: axis i of the result is axis `axes[i]`.
  [[nodiscard]] WARPLOOM_HOST_DEVICE constexpr ArrayView permute(const unsigned (&axes)[Rank]) const {
    ArrayView out = *this;
    for (unsigned i = 0; i < Rank; ++i) {
      out.shape_[i] = shape_[axes[i]];
      out.strides_[i] = strides_[axes[i]];
    }
    return out;
  }
  /// The axes in reverse order.
  [[nodiscard]] WARPLOOM_HOST_DEVICE constexpr ArrayView transpose() const {
    unsigned axes[Rank] = {};
    for (unsigned i = 0; i < Rank; ++i) axes[i] = Rank - 1 - i;
    return permute(axes);
  }
  /// One member of every record.
  template <class Member, class Record>
  [[nodiscard]] WARPLOOM_HOST_DEVICE ArrayView<Member, Rank> field(Member Record::* member) const {
    return {data_ == nullptr ? nullptr : &(data_->*member), shape_, strides_};
  }
  /// The same bytes as elements of another type of the same size.
  template <class U>
  [[nodiscard]] WARPLOOM_HOST_DEVICE ArrayView<U, Rank> as() const {
    static_assert(sizeof(U) == sizeof(T), "the types must have the same size");
    return {moved<U>(0), shape_, strides_};
  }
  /// Sets `out` to the same elements, taken in `order`, with another shape of the same size. False, and nothing
  /// changes, when that needs a copy or the sizes differ; see reshape() of ndarray.hpp.
  template <unsigned NewRank>
  [[nodiscard]] WARPLOOM_HOST_DEVICE constexpr bool try_reshape(const index_type (&shape)[NewRank],
                                                                ArrayView<T, NewRank>& out,
                                                                Order order = Order::c) const {
    index_type count = 1;
    for (const index_type extent : shape) count *= extent < 0 ? 0 : extent;
    if (count != size()) return false;
    ArrayView<T, NewRank> made(data_, shape, order);
    if (count == 0) {
      out = made;
      return true;
    }
    // Axes that follow each other in memory are one run, the fastest one first.
    index_type extents[Rank] = {}, steps[Rank] = {};
    unsigned runs = 0;
    for (unsigned i = 0; i < Rank; ++i) {
      const unsigned axis = order == Order::f ? i : Rank - 1 - i;
      if (shape_[axis] == 1) continue;
      if (runs != 0 && strides_[axis] == extents[runs - 1] * steps[runs - 1]) {
        extents[runs - 1] *= shape_[axis];
      } else {
        extents[runs] = shape_[axis];
        steps[runs++] = strides_[axis];
      }
    }
    index_type strides[NewRank] = {};
    unsigned run = 0;
    index_type left = runs != 0 ? extents[0] : 1, step = runs != 0 ? steps[0] : static_cast<index_type>(sizeof(T));
    for (unsigned i = 0; i < NewRank; ++i) {
      const unsigned axis = order == Order::f ? i : NewRank - 1 - i;
      if (shape[axis] != 1 && left == 1) {
        left = extents[++run];
        step = steps[run];
      }
      if (left % shape[axis] != 0) return false;
      strides[axis] = step;
      left /= shape[axis];
      step *= shape[axis];
    }
    out = ArrayView<T, NewRank>(data_, shape, strides);
    return true;
  }

 private:
  template <class From, class To>
  struct Bytes {
    using type = char;
  };
  template <class From, class To>
  struct Bytes<const From, To> {
    using type = const char;
  };
  // The address so many bytes on, as a pointer to U.
  template <class U>
  [[nodiscard]] WARPLOOM_HOST_DEVICE U* moved(index_type offset) const {
    using Byte = typename Bytes<T, U>::type;
    return reinterpret_cast<U*>(reinterpret_cast<Byte*>(data_) + offset);
  }

  T* data_ = nullptr;
  index_type shape_[Rank] = {};
  index_type strides_[Rank] = {};
};

}  // namespace warploom

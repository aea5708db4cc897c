// Reads little-endian numbers and ranges of a file whose sizes and offsets cannot be trusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

namespace warploom::image {

using Bytes = std::span<const std::byte>;

// Nothing is read out of bounds: false, or an empty range, says that it is not there.
class Reader {
 public:
  explicit Reader(Bytes bytes) : bytes_(bytes) {}

  [[nodiscard]] std::uint64_t size() const { return bytes_.size(); }
  [[nodiscard]] bool holds(std::uint64_t offset, std::uint64_t count) const {
    return offset <= bytes_.size() && count <= bytes_.size() - offset;
  }
  template <class T>
  [[nodiscard]] bool read(std::uint64_t offset, T& out) const {
    static_assert(std::is_unsigned_v<T>);
    if (!holds(offset, sizeof(T))) return false;
    std::memcpy(&out, bytes_.data() + offset, sizeof(T));
    return true;
  }
  // Zero when it is not there: for what was checked before.
  template <class T>
  [[nodiscard]] T get(std::uint64_t offset) const {
    T value = 0;
    (void)read(offset, value);
    return value;
  }
  [[nodiscard]] bool range(std::uint64_t offset, std::uint64_t count, Bytes& out) const {
    if (!holds(offset, count)) return false;
    out = bytes_.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(count));
    return true;
  }
  // Text up to a zero byte or the end.
  [[nodiscard]] std::string_view text(std::uint64_t offset) const {
    if (offset >= bytes_.size()) return {};
    const auto* begin = reinterpret_cast<const char*>(bytes_.data()) + offset;
    return {begin, strnlen(begin, bytes_.size() - static_cast<std::size_t>(offset))};
  }

 private:
  Bytes bytes_;
};

}  // namespace warploom::image

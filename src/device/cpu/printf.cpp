// Formats one conversion after the other: each argument lies at its natural alignment in the buffer.
#include "device/cpu/printf.hpp"

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>

namespace warploom::device {
namespace {

template <class T>
T take(const std::byte* buffer, std::size_t& at) {
  at = (at + sizeof(T) - 1) / sizeof(T) * sizeof(T);
  T value;
  std::memcpy(&value, buffer + at, sizeof(T));
  at += sizeof(T);
  return value;
}

template <class T>
void append(std::string& out, const std::string& spec, T value) {
  char small[128];
  const int n = std::snprintf(small, sizeof small, spec.c_str(), value);
  if (n < 0) return;
  if (static_cast<std::size_t>(n) < sizeof small) {
    out.append(small, static_cast<std::size_t>(n));
    return;
  }
  std::string large(static_cast<std::size_t>(n) + 1, '\0');
  std::snprintf(large.data(), large.size(), spec.c_str(), value);
  large.pop_back();
  out += large;
}

}  // namespace

int device_printf(const char* format, const std::byte* arguments) {
  if (format == nullptr) return -1;
  std::string out;
  std::size_t at = 0;
  int count = 0;
  for (const char* p = format; *p != '\0';) {
    if (*p != '%') {
      out += *p++;
      continue;
    }
    if (p[1] == '%') {
      out += '%';
      p += 2;
      continue;
    }
    std::string spec = "%";
    const char* q = p + 1;
    while (*q != '\0' && std::strchr("-+ #0", *q) != nullptr) spec += *q++;
    const auto number = [&] {
      if (*q == '*') {
        spec += std::to_string(take<std::int32_t>(arguments, at));
        ++count;
        ++q;
      }
      while (*q >= '0' && *q <= '9') spec += *q++;
    };
    number();
    if (*q == '.') {
      spec += *q++;
      number();
    }
    bool is_long = false;
    while (*q != '\0' && std::strchr("hljztL", *q) != nullptr) {
      is_long = is_long || *q == 'l' || *q == 'j' || *q == 'z' || *q == 't';
      ++q;
    }
    if (*q == '\0') {
      out += p;
      break;
    }
    ++count;
    switch (*q) {
      case 'd':
      case 'i':
        if (is_long)
          append(out, spec + "lld", static_cast<long long>(take<std::int64_t>(arguments, at)));
        else
          append(out, spec + "d", take<std::int32_t>(arguments, at));
        break;
      case 'u':
      case 'x':
      case 'X':
      case 'o':
        if (is_long)
          append(out, spec + "ll" + *q, static_cast<unsigned long long>(take<std::uint64_t>(arguments, at)));
        else
          append(out, spec + *q, take<std::uint32_t>(arguments, at));
        break;
      case 'c': append(out, spec + "c", take<std::int32_t>(arguments, at)); break;
      case 's': {
        const auto* s = reinterpret_cast<const char*>(take<std::uint64_t>(arguments, at));
        append(out, spec + "s", s == nullptr ? "(null)" : s);
        break;
      }
      case 'p': append(out, spec + "p", reinterpret_cast<void*>(take<std::uint64_t>(arguments, at))); break;
      case 'a':
      case 'A':
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G': append(out, spec + *q, take<double>(arguments, at)); break;
      default: out.append(p, q + 1); --count;
    }
    p = q + 1;
  }
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::fwrite(out.data(), 1, out.size(), stdout);
  return count;
}

}  // namespace warploom::device

// Result<T>: a value or a Diag, for everything inside the library; exceptions exist only at the public edge.
#pragma once

#include <optional>
#include <utility>
#include <variant>

#include "base/diag.hpp"

namespace warploom {

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Diag diag) : state_(std::in_place_index<1>, std::move(diag)) {}

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& operator*() { return std::get<0>(state_); }
  const T& operator*() const { return std::get<0>(state_); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }

  Diag& error() { return std::get<1>(state_); }
  const Diag& error() const { return std::get<1>(state_); }

 private:
  std::variant<T, Diag> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() {}  // NOLINT(modernize-use-equals-default): that one would clear the room for a Diag each time
  Result(Diag diag) : diag_(std::move(diag)) {}

  [[nodiscard]] bool ok() const { return !diag_; }
  explicit operator bool() const { return ok(); }

  Diag& error() { return *diag_; }
  const Diag& error() const { return *diag_; }

 private:
  std::optional<Diag> diag_;
};

// Leaves the enclosing function with the error of `expr`, a Result.
#define WL_TRY(expr)                                                        \
  do {                                                                      \
    if (auto wl_try_ = (expr); !wl_try_) return std::move(wl_try_.error()); \
  } while (false)

}  // namespace warploom

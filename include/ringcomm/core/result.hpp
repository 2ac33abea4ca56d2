// SPDX-License-Identifier: Apache-2.0
// A value or the Status that explains its absence (std::expected needs C++23).
#pragma once

#include <optional>
#include <utility>

#include "ringcomm/core/status.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

/// Holds a T, or a Status that is never ok.
template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;
  Result(T value)
      : value_(std::move(value)) {}  // NOLINT(google-explicit-constructor): reads as `return value;`
  Result(Status status) : status_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    if (status_.is_ok())
      status_ = Status::internal("a Result was made from an ok Status, which holds no value");
  }

  bool is_ok() const { return value_.has_value(); }
  /// ok when there is a value.
  const Status& status() const { return status_; }
  /// Only when is_ok().
  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return std::move(*value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

/// For examples and tools: prints "ringcomm: <code>: <message>" to standard error and exits with 1 on
/// failure.
void check(const Status& status);
template <class T>
T check(Result<T> result) {
  check(result.status());
  return std::move(result).value();
}

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop

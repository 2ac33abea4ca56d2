// SPDX-License-Identifier: Apache-2.0
// A handle on a stream-ordered operation.
#pragma once

#include <memory>

#include "ringcomm/core/deadline.hpp"
#include "ringcomm/core/status.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

/// Copyable; all copies see one operation. Outputs are valid only once status() is ok after test() or wait().
class Work {
 public:
  struct State;
  Work() = default;
  explicit Work(std::shared_ptr<State> state) : state_(std::move(state)) {}
  /// True once the operation has finished, well or badly.
  bool test() const;
  /// Blocks the caller; timeout leaves the operation running.
  Status wait(Deadline deadline = {}) const;
  /// ok, the failure, or not_available while it runs.
  Status status() const;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop

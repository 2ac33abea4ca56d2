// SPDX-License-Identifier: Apache-2.0
// A rank's first failure: kept, told to the peers through its state block, and taken over from theirs.
#pragma once

#include <atomic>
#include <mutex>

#include "ringcomm/core/status.hpp"
#include "ringcomm/transport/transport.hpp"
#include "transport/common/control_layout.hpp"

namespace ringcomm::inline v0::transport {

/// What one rank tells about a failure. `reporter` saw it first; those who take it over pass it on unchanged,
/// so that all ranks name the same culprit.
struct FailureReport {
  Status status;
  int culprit = -1;
  int reporter = -1;
};

/// Any thread; nothing here waits for another rank.
class Failure {
 public:
  explicit Failure(int rank, FailureListener* listener = nullptr) : rank_(rank), listener_(listener) {}
  /// Until then failures are kept but not told.
  void publish_in(StateBlock& block);
  /// Makes the report this rank's failure unless it has one, and returns the one in force.
  Status fail(const FailureReport& report);
  bool is_set() const { return is_set_.load(std::memory_order_relaxed); }
  Status status() const;
  /// The owner leaves; a failure that was told stays.
  void close();

 private:
  void tell();
  const int rank_;
  FailureListener* const listener_;
  std::atomic<bool> is_set_{false};
  mutable std::mutex mutex_;
  StateBlock* block_ = nullptr;
  FailureReport report_;
};

/// Only when the peer's `life` was read as failed (acquire).
FailureReport read_failure(const StateBlock& block);

}  // namespace ringcomm::inline v0::transport

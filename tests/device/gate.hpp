// SPDX-License-Identifier: Apache-2.0
// A door for tasks: what waits at it shows that somebody else does, or does not, get past.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "ringcomm/core/deadline.hpp"
#include "ringcomm/core/status.hpp"

namespace ringcomm {

/// Long enough for a busy machine under a sanitizer; a test that passes never waits that long.
inline Deadline patience() { return Deadline::after(std::chrono::seconds(30)); }

/// How long a claim "it does not happen" is watched.
constexpr std::chrono::milliseconds kWatched{30};

class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }
  /// Counts the arrival first. timeout after the test's patience, so that a broken stream cannot hang the
  /// test.
  Status pass() {
    std::unique_lock lock(mutex_);
    has_arrival_ = true;
    changed_.notify_all();
    const bool is_open = changed_.wait_for(lock, std::chrono::seconds(30), [this] { return is_open_; });
    return is_open ? Status() : Status::timeout("gate stayed closed");
  }
  /// Whether anybody stands or stood at the gate.
  bool wait_for_arrival() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(30), [this] { return has_arrival_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = false, has_arrival_ = false;
};

}  // namespace ringcomm

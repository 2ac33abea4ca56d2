// SPDX-License-Identifier: Apache-2.0
// What all copies of a Work share.
#pragma once

#include <condition_variable>
#include <mutex>

#include "ringcomm/collectives/work.hpp"

namespace ringcomm::inline v0 {

struct Work::State {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_done = false;
  Status status;

  void finish(Status outcome) {
    {
      const std::lock_guard lock(mutex);
      if (is_done) return;
      is_done = true;
      status = std::move(outcome);
    }
    changed.notify_all();
  }
};

}  // namespace ringcomm::inline v0

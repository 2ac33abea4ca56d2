// SPDX-License-Identifier: Apache-2.0
#include "ringcomm/collectives/work.hpp"

#include <algorithm>

#include "collectives/work_state.hpp"

namespace ringcomm::inline v0 {

bool Work::test() const {
  if (!state_) return true;
  const std::lock_guard lock(state_->mutex);
  return state_->is_done;
}

Status Work::wait(Deadline deadline) const {
  if (!state_) return {};
  // A slice at a time: the longest deadline does not fit the clock of the condition variable.
  constexpr std::int64_t kSliceNs = 3'600'000'000'000;
  std::unique_lock lock(state_->mutex);
  while (!state_->is_done) {
    if (deadline.is_expired()) {
      return Status::timeout(
          "waiting for a stream-ordered operation took longer than its deadline (it is still running)");
    }
    state_->changed.wait_for(lock, std::chrono::nanoseconds(std::min(deadline.remaining_ns(), kSliceNs)));
  }
  return state_->status;
}

Status Work::status() const {
  if (!state_) return {};
  const std::lock_guard lock(state_->mutex);
  return state_->is_done ? state_->status : Status::not_available("the operation is still running");
}

}  // namespace ringcomm::inline v0

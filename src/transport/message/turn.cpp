// SPDX-License-Identifier: Apache-2.0
#include "transport/message/turn.hpp"

#include <algorithm>
#include <chrono>

namespace ringcomm::inline v0::transport::message {
namespace {

/// A busy network must not keep a wait from looking at its deadline.
constexpr int kStepsPerLook = 64;
constexpr int kYieldsToOffer = 100;

}  // namespace

Turn::Turn(Core& core) : core_(core), lock_(core.mutex_, std::defer_lock) { acquire(); }

void Turn::acquire() {
  if (lock_.try_lock()) return;
  // Dekker's pattern with sleep(): each side stores its own word and then loads the other's.
  core_.waiting_.fetch_add(1);
  if (core_.is_asleep_.load()) core_.port_->wake();
  lock_.lock();
  core_.waiting_.fetch_sub(1);
}

Turn::~Turn() {
  if (!core_.is_forked_copy()) core_.settle();
  if (!leads_) return;
  core_.has_leader_ = false;
  core_.rouse_followers();  // one of them takes over
}

bool Turn::step(Deadline deadline) {
  ++steps_;
  if (!leads_ && core_.has_leader_) {
    follow(deadline);
    return true;
  }
  leads_ = core_.has_leader_ = true;
  const bool has_moved = core_.progress();
  idle_ = has_moved ? 0 : idle_ + 1;
  if (core_.waiting_.load(std::memory_order_relaxed) > 0) offer();
  if (has_moved) return steps_ % kStepsPerLook == 0;
  const WaitPolicy& policy = core_.policy_;
  if (idle_ <= policy.pauses) {
    pause_cpu();
    return idle_ % kStepsPerLook == 0;
  }
  if (idle_ <= policy.pauses + policy.yields) {
    lock_.unlock();
    yield_cpu();
    lock_.lock();
    return idle_ % kYieldsPerCheck == 0;
  }
  sleep(deadline);
  return true;
}

void Turn::follow(Deadline deadline) {
  core_.counters_.sleeps.add(1);
  ++core_.followers_;
  {
    std::unique_lock note(core_.note_mutex_);
    lock_.unlock();
    const std::uint64_t seen = core_.moves_;
    core_.moved_.wait_for(note, std::chrono::nanoseconds(std::min(kSliceNsMax, deadline.remaining_ns())),
                          [&] { return core_.moves_ != seen; });
  }
  acquire();
  --core_.followers_;
}

void Turn::sleep(Deadline deadline) {
  const std::int64_t span_ns = std::min(kSliceNsMax, deadline.remaining_ns());
  core_.is_asleep_.store(true);
  // An abort() that finds the lock taken wakes the port after it has set the failure: the next sleep ends.
  if (core_.waiting_.load() == 0 && !core_.has_failed()) {
    core_.counters_.sleeps.add(1);
    core_.port_->sleep(std::chrono::microseconds(span_ns / 1'000 + 1));
  }
  core_.is_asleep_.store(false);
}

void Turn::offer() {
  lock_.unlock();
  for (int i = 0; i < kYieldsToOffer && core_.waiting_.load(std::memory_order_relaxed) > 0; ++i) yield_cpu();
  lock_.lock();
}

}  // namespace ringcomm::inline v0::transport::message

// SPDX-License-Identifier: Apache-2.0
// How a rank waits for a flag: spin, yield, sleep, with a look around now and then (performance.md 1).
#pragma once

#include <cstdint>

#include "device/host/spin.hpp"
#include "ringcomm/core/status.hpp"
#include "ringcomm/transport/transport.hpp"

namespace ringcomm::inline v0::transport {

/// Sleeps are cut into slices so that a wait finds out about failures even if nobody wakes it.
inline constexpr std::int64_t kSliceNsMax = 10'000'000;
/// For sleeps that a change may fail to end: several lanes are waited for and only one can wake the sleeper,
/// or the lane is full (Lane::consume()).
inline constexpr std::int64_t kShortSliceNs = 1'000'000;
inline constexpr int kYieldsPerCheck = 64;

struct WaitPolicy {
  int pauses = 1000;
  int yields = 0;
};

/// own_core 1,000 pauses; oversubscribed 8 pauses (0.2 us: a peer that runs on another CPU has answered by
/// then, one that waits for this CPU needs it), then 512 yields. automatic: by `ranks_on_host` against
/// Limits::usable_cpus().
WaitPolicy wait_policy(WaitStyle style, int ranks_on_host);

void yield_cpu();

/// Returns ok when `ready()` is true, or the failure of `check()`. `sleep()` blocks for one slice at most.
template <class Ready, class Check, class Sleep>
Status wait_until(const WaitPolicy& policy, Ready&& ready, Check&& check, Sleep&& sleep) {
  for (int i = 0; i < policy.pauses; ++i) {
    if (ready()) return {};
    pause_cpu();
  }
  for (int i = 1; i <= policy.yields; ++i) {
    if (ready()) return {};
    if (i % kYieldsPerCheck == 0) {
      if (Status status = check(); !status.is_ok()) return status;
    }
    yield_cpu();
  }
  while (!ready()) {
    if (Status status = check(); !status.is_ok()) return status;
    sleep();
  }
  return {};
}

}  // namespace ringcomm::inline v0::transport

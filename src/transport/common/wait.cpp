// SPDX-License-Identifier: Apache-2.0
#include "transport/common/wait.hpp"

#include <sched.h>

#include "ringcomm/core/limits.hpp"

namespace ringcomm::inline v0::transport {

WaitPolicy wait_policy(WaitStyle style, int ranks_on_host) {
  if (style == WaitStyle::automatic)
    style = ranks_on_host > read_limits().usable_cpus() ? WaitStyle::oversubscribed : WaitStyle::own_core;
  if (style == WaitStyle::oversubscribed) return {.pauses = 8, .yields = 512};
  return {.pauses = 1000, .yields = 0};
}

void yield_cpu() { sched_yield(); }

}  // namespace ringcomm::inline v0::transport

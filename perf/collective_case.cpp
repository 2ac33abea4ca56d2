// SPDX-License-Identifier: Apache-2.0
#include "collective_case.hpp"

#include <ctime>

#include "ringcomm/collectives/basic.hpp"
#include "ringcomm/core/deadline.hpp"
#include "try.hpp"

namespace ringcomm::perf {
namespace {

/// Of the clock that the column shows: CPU time of this thread, or wall time.
std::int64_t read_ns(bool cpu_time) {
  if (!cpu_time) return now_ns();
  timespec spent{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
  return std::int64_t{spent.tv_sec} * 1000000000 + spent.tv_nsec;
}

}  // namespace

Result<double> CollectiveCase::run(Buffers buffers) {
  const bool was_refreshed = refresh(buffers);
  if (was_refreshed || options_.blocking == Blocking::barrier_outside || options_.is_cold)
    PERF_TRY(barrier(comm_.channel()).status());
  PERF_TRY(launch_companion());
  const std::int64_t begun_ns = read_ns(options_.cpu_time);
  for (int i = 0; i < options_.aggregated; ++i) {
    PERF_TRY(call(buffers));
    advance();
    if (options_.blocking == Blocking::barrier_inside) PERF_TRY(barrier(comm_.channel()).status());
  }
  const std::int64_t ended_ns = read_ns(options_.cpu_time);
  return static_cast<double>(ended_ns - begun_ns) * 1e-9 / options_.aggregated;
}

}  // namespace ringcomm::perf

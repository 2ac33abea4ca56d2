// SPDX-License-Identifier: Apache-2.0
// The CPUs that this process may use, a thread on one of them, and their share of it.
#pragma once

#include <sched.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace ringcomm::perf::peers {

inline std::vector<int> allowed_cpus() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
  }
  return cpus;
}

inline void bind_to(int cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof(one), &one);
}

/// As the ranks of ringcomm-perf are bound: one CPU each, in turn.
inline void bind_rank(int rank) {
  const std::vector<int> cpus = allowed_cpus();
  if (!cpus.empty()) bind_to(cpus[static_cast<std::size_t>(rank) % cpus.size()]);
}

/// The scheduler's weight of perf/compare's session, where a launcher (MPICH's) gave the ranks a session of
/// their own. Without the right to do so nothing changes.
inline void take_priority() {
  const char* const nice = std::getenv("RINGCOMM_COMPARE_AUTOGROUP");
  if (nice == nullptr) return;
  if (std::FILE* const group = std::fopen("/proc/self/autogroup", "w"); group != nullptr) {
    std::fputs(nice, group);
    std::fclose(group);
  }
}

}  // namespace ringcomm::perf::peers

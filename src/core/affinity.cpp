// SPDX-License-Identifier: Apache-2.0
#include "core/affinity.hpp"

#include <sched.h>

#include <cerrno>
#include <cstddef>

namespace ringcomm::inline v0 {

std::vector<int> allowed_cpus() {
  // The kernel refuses a set that is smaller than its own, which can exceed the 1024 of cpu_set_t.
  constexpr int kCpusMax = 1 << 20;
  for (int capacity = CPU_SETSIZE; capacity <= kCpusMax; capacity *= 2) {
    const std::size_t bytes = CPU_ALLOC_SIZE(capacity);
    std::vector<unsigned long> words(bytes / sizeof(unsigned long));
    auto* const set = reinterpret_cast<cpu_set_t*>(words.data());
    if (::sched_getaffinity(0, bytes, set) != 0) {
      if (errno == EINVAL) continue;
      break;
    }
    std::vector<int> cpus;
    for (int cpu = 0; cpu < capacity; ++cpu) {
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes, set)) cpus.push_back(cpu);
    }
    if (!cpus.empty()) return cpus;
    break;
  }
  return {0};
}

}  // namespace ringcomm::inline v0

// SPDX-License-Identifier: Apache-2.0
// What the system lets this process use. Read before allocating: exceeding these is a signal, not an error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "ringcomm/core/status.hpp"

namespace ringcomm::inline v0 {

/// An absent value means "no limit" (never zero).
struct Limits {
  std::optional<std::uint64_t> memory_limit_bytes;  ///< smallest limit on the cgroup path (v1 or v2)
  std::uint64_t memory_used_bytes = 0;              ///< of the cgroup that has that limit
  std::uint64_t memory_available_bytes = 0;         ///< MemAvailable of /proc/meminfo; 0 when unknown
  std::optional<double> cpu_quota;                  ///< in CPUs: cpu.max, or cfs_quota / cfs_period
  int cpus_allowed = 1;                             ///< sched_getaffinity
  std::optional<std::uint64_t> file_size_bytes;     ///< RLIMIT_FSIZE, which also bounds a memfd (SIGXFSZ)
  std::optional<std::uint64_t> locked_bytes;        ///< RLIMIT_MEMLOCK
  std::string cgroup;                               ///< "v2:/path", "v1:/path" or "none"

  /// CPUs that can really run at once: the smaller of affinity and quota, at least 1.
  int usable_cpus() const;
};

/// Reads <root>/proc/self/cgroup, <root>/proc/self/mountinfo, <root>/proc/meminfo and
/// <root>/sys/fs/cgroup/...; rlimits and affinity come from this process. What cannot be read counts as no
/// limit.
Limits read_limits(const std::filesystem::path& root = "/");

/// ok, or out_of_memory with the number of bytes wanted, the limit that forbids it, its value and what is in
/// use. `as_memfd` applies the file-size limit too. `what` opens the message.
enum class MemoryUse : std::uint8_t { plain, memfd };
Status check_fits(const Limits& limits, std::uint64_t bytes, MemoryUse use, std::string_view what);

}  // namespace ringcomm::inline v0

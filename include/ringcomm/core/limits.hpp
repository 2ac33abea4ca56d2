// SPDX-License-Identifier: Apache-2.0
// What the system lets this process use. Read before allocating: exceeding these is a signal, not an error.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "ringcomm/core/status.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

/// An absent value means "no limit" (never zero).
struct Limits {
  /// Of the cgroup (v1 or v2) on this process's path upwards that leaves the least room; groups nest, so this
  /// is the smallest limit unless a sibling fills a group further up.
  std::optional<std::uint64_t> memory_limit_bytes{};
  /// Of that same cgroup, without file cache: the kernel drops the cache before it kills.
  std::uint64_t memory_used_bytes = 0;
  std::uint64_t memory_available_bytes = 0;        ///< MemAvailable of /proc/meminfo; 0 when unknown
  std::optional<double> cpu_quota{};               ///< in CPUs: cpu.max, or cfs_quota / cfs_period
  int cpus_allowed = 1;                            ///< sched_getaffinity
  std::optional<std::uint64_t> file_size_bytes{};  ///< RLIMIT_FSIZE, which also bounds a memfd (SIGXFSZ)
  std::optional<std::uint64_t> locked_bytes{};     ///< RLIMIT_MEMLOCK
  std::string cgroup{};                            ///< "v2:/path", "v1:/path" or "none"

  /// CPUs that can run without being throttled: the smaller of affinity and quota (rounded down), at least 1.
  int usable_cpus() const;
};

/// Reads <root>/proc/self/cgroup, <root>/proc/self/mountinfo, <root>/proc/meminfo and
/// <root>/sys/fs/cgroup/...; rlimits and affinity come from this process. What cannot be read counts as no
/// limit.
Limits read_limits(const std::filesystem::path& root = "/");

/// A memfd is also bounded by the file-size limit.
enum class MemoryUse : std::uint8_t { plain, memfd };
/// ok, or out_of_memory with the number of bytes wanted, the limit that forbids it, its value and what is in
/// use. `what` opens the message.
Status check_fits(const Limits& limits, std::uint64_t bytes, MemoryUse use, std::string_view what);

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop

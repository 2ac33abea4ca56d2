// SPDX-License-Identifier: Apache-2.0
// Finds this process's control group directories (v1, v2, hybrid, container namespaces) and their values.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ringcomm::inline v0 {

enum class CgroupVersion : std::uint8_t { none, v1, v2 };

/// Where one controller of this process is: its directories from the own group up to the mount.
struct CgroupPath {
  CgroupVersion version = CgroupVersion::none;
  std::string path;                                ///< as /proc/self/cgroup says it
  std::vector<std::filesystem::path> directories;  ///< own group first; empty when there is none
};

struct CgroupMemory {
  std::uint64_t limit_bytes = 0;
  std::uint64_t used_bytes = 0;  ///< without file cache
};

/// `controller`: "memory" or "cpu". A v1 hierarchy that has the controller wins (hybrid systems leave it out
/// of v2). A path that does not exist below the mount, as in a container that sees the host's path, counts as
/// the mount itself.
CgroupPath find_cgroup(const std::filesystem::path& root, std::string_view controller);

/// Of the group that leaves the least room; nothing when no group on the path has a limit.
std::optional<CgroupMemory> read_cgroup_memory(const CgroupPath& group);
/// Smallest quota on the path in CPUs; nothing without one.
std::optional<double> read_cgroup_cpus(const CgroupPath& group);

}  // namespace ringcomm::inline v0

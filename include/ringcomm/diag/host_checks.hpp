// SPDX-License-Identifier: Apache-2.0
// Checks of one host and of the ranks on it (spec topology 3.4, communication 9).
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ringcomm/core/limits.hpp"
#include "ringcomm/diag/finding.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

/// What was read or tried. An absent value is unknown; `unread` says why, by name of the value.
struct HostFacts {
  std::string boot_id{};
  std::string host_name{};
  std::map<std::string, std::string> namespaces{};  ///< "ipc", "pid", "net", "user", "mnt" -> inode
  Limits limits{};
  std::optional<std::uint64_t> shm_free_bytes{};
  std::optional<std::uint64_t> shm_total_bytes{};
  std::optional<std::uint64_t> open_files_max{};
  std::optional<std::uint64_t> processes_max{};
  std::optional<std::uint64_t> stack_bytes{};
  std::optional<std::uint64_t> throttled_periods{};
  std::optional<int> numa_balancing{};
  std::vector<int> cpus_allowed{};
  std::vector<int> memory_nodes_allowed{};
  std::string governor{};
  std::string cpufreq_driver{};
  std::optional<int> idle_latency_us_max{};  ///< of the deepest enabled C-state
  std::string transparent_hugepage{};        ///< "always", "madvise", "never"
  std::optional<std::uint64_t> map_count_max{};
  std::optional<std::uint64_t> map_count{};
  std::optional<int> ptrace_scope{};
  std::optional<int> overcommit_memory{};
  std::string host_address{};                      ///< what the host's own name resolves to
  std::map<std::string, std::string> versions{};   ///< "kernel", "ringcomm", "hwloc", "ucx", "nvidia driver"
  std::map<std::string, std::string> variables{};  ///< NCCL_*, UCX_*, RINGCOMM_*, OMPI_MCA_* of this process
  std::map<std::string, std::string> files{};      ///< "/etc/nccl.conf" -> its content
  std::map<std::string, std::string>
      probes{};  ///< "fd_passing", "futex_wake", "loopback_tcp", "cma", "memfd_seal"... -> "ok" or why not
  std::map<std::string, std::string> unread{};
};
/// `root` for the files; rlimits, affinity and namespaces are this process's. Probes are separate
/// (run_probes).
HostFacts read_host_facts(const std::filesystem::path& root = "/");

/// One host.
std::vector<Finding> check_host(const HostFacts& facts, int local_ranks);
/// All ranks, in rank order: versions and variables by value -> ranks, namespaces, overlapping cores, host
/// names.
std::vector<Finding> check_ranks(const std::vector<HostFacts>& facts);

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop

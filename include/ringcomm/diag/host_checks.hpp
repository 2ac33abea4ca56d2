// SPDX-License-Identifier: Apache-2.0
// Checks of one host and of the ranks on it (spec topology 3.4, communication 9).
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ringcomm/core/limits.hpp"
#include "ringcomm/diag/finding.hpp"

#pragma GCC visibility push(default)
namespace ringcomm::inline v0 {

/// What was read or tried. An absent value is unknown; `unread` says why, by name of the value.
struct HostFacts {
  std::string boot_id{};
  std::string host_name{};
  std::string host_address{};  ///< what the host's own name resolves to; empty: nothing
  std::map<std::string, std::string>
      namespaces{};  ///< "ipc", "pid", "net", "user", "mnt" -> "ipc:[4026531839]"
  std::map<std::string, std::string> versions{};   ///< "kernel", "ringcomm", "nvidia driver", "ucx", "nccl"
  std::map<std::string, std::string> variables{};  ///< NCCL_*, UCX_*, RINGCOMM_*, OMPI_MCA_*, RDMAV_*
  std::vector<std::string> config_files{};         ///< that change a job without a variable: /etc/nccl.conf
  Limits limits{};
  std::optional<std::uint64_t> shm_free_bytes{};
  std::optional<std::uint64_t> shm_total_bytes{};
  std::optional<std::uint64_t> open_files_max{};  ///< absent: no limit
  std::optional<std::uint64_t> processes_max{};   ///< absent: no limit
  std::optional<std::uint64_t> throttled_periods{};
  std::vector<int> cpus_allowed{};
  std::vector<int> memory_nodes_allowed{};
  std::map<int, std::vector<int>> node_cpus{};  ///< memory node -> its CPUs; empty list: memory only
  std::optional<int> numa_balancing{};
  std::string governor{};
  std::string cpufreq_driver{};
  std::optional<int> idle_latency_us_max{};  ///< of the deepest C-state that is enabled
  std::string idle_state{};                  ///< its name
  std::string transparent_hugepage{};        ///< "always", "madvise", "never"
  std::optional<std::uint64_t> huge_pages{};
  std::optional<std::uint64_t> map_count_max{};
  std::optional<std::uint64_t> map_count{};
  std::optional<int> ptrace_scope{};
  std::optional<int> overcommit_memory{};
  std::optional<int> rdma_devices{};  ///< in /sys/class/infiniband
  bool has_sysfs = true;
  std::map<std::string, std::string> probes{};  ///< of run_probes(): "ok", or why not
  std::optional<std::int64_t> wall_clock_ns{};  ///< taken by all ranks at the same moment
  std::map<std::string, std::string> unread{};
};
/// `root` for the files; rlimits, affinity and namespaces are this process's.
HostFacts read_host_facts(const std::filesystem::path& root = "/");

/// Tries what ranks of one host need from each other, between this process and a child: "fd_passing" (a memfd
/// over a Unix socket, mapped and read), "memfd_seal", "futex_wake" (across two mappings), "loopback_tcp",
/// "cma" (process_vm_readv). Each ends within `deadline`; a child that hangs is killed. Call it before
/// starting threads.
std::map<std::string, std::string> run_probes(std::chrono::milliseconds deadline = std::chrono::seconds(5));

/// One host with `local_ranks` ranks on it. All checks, those that are ok too.
std::vector<Finding> check_host(const HostFacts& facts, int local_ranks);
/// All ranks, in rank order: versions and variables by value -> ranks, namespaces, cores shared by ranks,
/// bindings, host names, clocks. All checks; none for fewer than two ranks.
std::vector<Finding> check_ranks(const std::vector<HostFacts>& facts);
/// Of both.
std::vector<CheckId> host_check_ids();

}  // namespace ringcomm::inline v0
#pragma GCC visibility pop

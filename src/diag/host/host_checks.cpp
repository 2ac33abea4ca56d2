// SPDX-License-Identifier: Apache-2.0
// Checks of one host; numbers in comments are those of the topology specification, section 3.
#include <algorithm>
#include <array>

#include "diag/host/facts_text.hpp"
#include "ringcomm/core/env.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {
namespace diag {
namespace {

constexpr std::uint64_t kMiB = 1024 * 1024;
using Findings = std::vector<Finding>;

int nodes_with_cpus(const HostFacts& facts) {
  return static_cast<int>(
      std::ranges::count_if(facts.node_cpus, [](const auto& node) { return !node.second.empty(); }));
}

std::string amount(const std::optional<std::uint64_t>& value) { return value ? concat(*value) : "unlimited"; }

/// 52. NCCL's shared-memory transport takes some 16 MiB a rank there; 64 MiB is docker's default.
Finding check_shm(const HostFacts& facts, int ranks) {
  constexpr std::string_view kId = "shm_small";
  if (!facts.shm_free_bytes || !facts.shm_total_bytes) return unknown(kId, Severity::failure, facts, "shm");
  const std::uint64_t wanted = 16 * kMiB * static_cast<std::uint64_t>(std::max(ranks, 1));
  const bool is_full = *facts.shm_free_bytes < wanted;
  const bool is_small = is_full || *facts.shm_total_bytes <= 64 * kMiB;
  return judged(kId, is_full ? Severity::failure : Severity::warning, is_small,
                concat("/dev/shm has ", format_bytes(*facts.shm_free_bytes), " free of ",
                       format_bytes(*facts.shm_total_bytes), " (NCCL wants about ", format_bytes(wanted),
                       " for ", ranks, " ranks; ringcomm itself uses none)"),
                "start the container with --shm-size=8g or --ipc=host");
}

/// 53.
Finding check_memlock(const HostFacts& facts) {
  const std::uint64_t wanted = 128 * kMiB;
  const bool is_low = facts.limits.locked_bytes && *facts.limits.locked_bytes < wanted;
  const bool has_rdma = facts.rdma_devices.value_or(0) > 0;
  return judged(
      "memlock_low", has_rdma ? Severity::failure : Severity::warning, is_low,
      concat("RLIMIT_MEMLOCK is ",
             facts.limits.locked_bytes ? format_bytes(*facts.limits.locked_bytes) : "unlimited",
             is_low ? concat(" (", format_bytes(wanted), " or more is wanted",
                             has_rdma ? ": RDMA registration fails below)" : " to pin buffers)")
                    : ""),
      "ulimit -l unlimited, in the unit of the daemon that starts the ranks (LimitMEMLOCK=infinity)");
}

/// 54.
Finding check_open_files(const HostFacts& facts, int ranks) {
  const auto wanted = static_cast<std::uint64_t>(64 + 8 * 4 * std::max(ranks, 1));
  const bool is_low = facts.open_files_max && *facts.open_files_max < std::max<std::uint64_t>(wanted, 1025);
  return judged("open_files_low", Severity::warning, is_low,
                concat("RLIMIT_NOFILE is ", amount(facts.open_files_max),
                       is_low ? " (jobs of many ranks need more)" : ""),
                "ulimit -n 65536");
}

Finding check_processes(const HostFacts& facts, int ranks) {
  const auto wanted = static_cast<std::uint64_t>(64 * std::max(ranks, 1) + 512);
  const bool is_low = facts.processes_max && *facts.processes_max < wanted;
  return judged("processes_low", Severity::warning, is_low,
                concat("RLIMIT_NPROC is ", amount(facts.processes_max),
                       is_low ? concat(" (", ranks, " ranks with their threads may need ", wanted, ")") : ""),
                "ulimit -u 65536");
}

/// 57.
Finding check_cpu_quota(const HostFacts& facts) {
  const auto cores = static_cast<double>(facts.cpus_allowed.size());
  const bool is_short = facts.limits.cpu_quota && *facts.limits.cpu_quota < cores;
  std::string title = !facts.limits.cpu_quota
                          ? concat("no CPU quota (", facts.limits.cgroup, ")")
                          : concat("the cgroup (", facts.limits.cgroup, ") allows ", *facts.limits.cpu_quota,
                                   " CPUs of time, the affinity mask ", facts.cpus_allowed.size(), " CPUs");
  if (is_short) title += ": spinning ranks are throttled";
  if (facts.throttled_periods.value_or(0) > 0)
    title += concat("; throttled in ", *facts.throttled_periods, " periods");
  return judged("cpu_quota", Severity::warning, is_short, std::move(title),
                "raise cpu.max (v1: cpu.cfs_quota_us), or bind fewer CPUs");
}

Finding check_cpus(const HostFacts& facts, int ranks) {
  const int usable = facts.limits.usable_cpus();
  return judged("cpus_few", Severity::warning, ranks > usable,
                concat(ranks, " ranks on ", usable, " usable CPUs",
                       ranks > usable ? ": ranks take turns, so waits yield instead of spinning" : ""),
                "start at most one rank per CPU, or accept the slower waits (RINGCOMM_WAIT=oversubscribed)");
}

Finding check_memory_limit(const HostFacts& facts) {
  const Limits& limits = facts.limits;
  if (!limits.memory_limit_bytes)
    return judged("memory_limit", Severity::info, false, concat("no memory limit (", limits.cgroup, ")"));
  const std::uint64_t room =
      *limits.memory_limit_bytes - std::min(*limits.memory_limit_bytes, limits.memory_used_bytes);
  return judged("memory_limit", Severity::warning, room < 256 * kMiB,
                concat("the cgroup (", limits.cgroup, ") leaves ", format_bytes(room), " of ",
                       format_bytes(*limits.memory_limit_bytes)),
                "raise memory.max (v1: memory.limit_in_bytes): exceeding it kills the rank without an error");
}

Finding check_file_size(const HostFacts& facts) {
  const bool is_low = facts.limits.file_size_bytes && *facts.limits.file_size_bytes < 1024 * kMiB;
  return judged(
      "file_size_low", Severity::failure, is_low,
      concat("RLIMIT_FSIZE is ",
             facts.limits.file_size_bytes ? format_bytes(*facts.limits.file_size_bytes) : "unlimited",
             is_low ? " (windows are memfds: larger ones raise SIGXFSZ)" : ""),
      "ulimit -f unlimited");
}

/// 58. One memory node has nothing to balance.
Finding check_numa_balancing(const HostFacts& facts) {
  if (!facts.numa_balancing) return unknown("numa_balancing", Severity::warning, facts, "numa_balancing");
  const bool is_on = *facts.numa_balancing != 0 && nodes_with_cpus(facts) > 1;
  Finding finding =
      judged("numa_balancing", Severity::warning, is_on,
             concat("kernel.numa_balancing is ", *facts.numa_balancing, " with ", nodes_with_cpus(facts),
                    " memory nodes", is_on ? ": pages under pinned buffers fault again and again" : ""),
             "sysctl kernel.numa_balancing=0");
  finding.needs_root = is_on;
  return finding;
}

/// 59. "powersave" of intel_pstate and amd-pstate with hardware control is no brake.
Finding check_governor(const HostFacts& facts) {
  if (facts.governor.empty()) return unknown("cpu_governor", Severity::warning, facts, "governor");
  const bool is_hardware =
      facts.cpufreq_driver.starts_with("intel_pstate") || facts.cpufreq_driver.starts_with("amd-pstate");
  const bool is_slow = (facts.governor == "powersave" && !is_hardware) || facts.governor == "conservative";
  Finding finding = judged("cpu_governor", Severity::warning, is_slow,
                           concat("CPU governor ", facts.governor, " (driver ", facts.cpufreq_driver, ")"),
                           "cpupower frequency-set -g performance");
  finding.needs_root = is_slow;
  return finding;
}

Finding check_idle_states(const HostFacts& facts) {
  if (!facts.idle_latency_us_max) return unknown("idle_states", Severity::warning, facts, "idle_states");
  const bool is_deep = *facts.idle_latency_us_max > 50;
  Finding finding =
      judged("idle_states", Severity::warning, is_deep,
             concat("the deepest enabled C-state, ", facts.idle_state, ", takes ", *facts.idle_latency_us_max,
                    " us to leave", is_deep ? " (a wake-up of a sleeping rank costs as much)" : ""),
             "tuned-adm profile latency-performance, or hold /dev/cpu_dma_latency open at 1");
  finding.needs_root = is_deep;
  return finding;
}

/// 60.
Finding check_fork_safe(const HostFacts& facts) {
  const bool is_set =
      facts.variables.contains("RDMAV_FORK_SAFE") || facts.variables.contains("IBV_FORK_SAFE");
  const bool has_huge = facts.huge_pages.value_or(0) > 0 || facts.transparent_hugepage == "always";
  const bool is_slow = is_set && has_huge && !facts.variables.contains("RDMAV_HUGEPAGES_SAFE");
  return judged(
      "fork_safe_huge_pages", Severity::warning, is_slow,
      is_slow ? "RDMAV_FORK_SAFE is set with huge pages: registration is slow or fails"
              : concat("no fork-safe mode over huge pages (transparent: ",
                       facts.transparent_hugepage.empty() ? "unknown" : facts.transparent_hugepage, ")"),
      "unset RDMAV_FORK_SAFE (kernels from 5.12 need it not), or set RDMAV_HUGEPAGES_SAFE=1");
}

/// 61.
Finding check_maps(const HostFacts& facts) {
  if (!facts.map_count || !facts.map_count_max)
    return unknown("map_count", Severity::info, facts, "map_count");
  return judged(
      "map_count", Severity::info, *facts.map_count * 5 > *facts.map_count_max * 4,
      concat(*facts.map_count, " of ", *facts.map_count_max, " memory maps in use (vm.max_map_count)"),
      "sysctl vm.max_map_count=1048576");
}

Finding check_overcommit(const HostFacts& facts) {
  if (!facts.overcommit_memory) return unknown("overcommit", Severity::warning, facts, "overcommit");
  return judged("overcommit", Severity::warning, *facts.overcommit_memory == 2,
                concat("vm.overcommit_memory is ", *facts.overcommit_memory,
                       *facts.overcommit_memory == 2 ? " (strict: large reservations are refused)" : ""),
                "sysctl vm.overcommit_memory=0");
}

/// 65.
Finding check_sysfs(const HostFacts& facts) {
  return judged(
      "sysfs_hidden", Severity::failure, !facts.has_sysfs,
      facts.has_sysfs ? "/sys is there" : "/sys shows no devices (a sandbox?): no topology can be read",
      "mount /sys read-only, or name a topology file (RINGCOMM_TOPO_FILE, NCCL_TOPO_FILE)");
}

/// 67, for one process.
Finding check_variables(const HostFacts& facts) {
  std::vector<std::string> environment;
  for (const auto& [name, value] : facts.variables) environment.push_back(concat(name, "=", value));
  const auto warnings = unknown_env_warnings(environment);
  Finding finding = judged(
      "variable_unknown", Severity::warning, !warnings.empty(),
      warnings.empty() ? concat(facts.variables.size(), " variables of NCCL, UCX, MPI and ringcomm are set")
                       : concat(warnings.size(), " RINGCOMM_* names are not known and have no effect"),
      "correct the names (docs/environment.md)");
  for (const std::string& warning : warnings)
    finding.evidence.push_back({.read = warning, .wanted = {}, .where = {}});
  return finding;
}

Finding check_config_files(const HostFacts& facts) {
  std::string list;
  for (const std::string& file : facts.config_files) list += concat(list.empty() ? "" : ", ", file);
  return judged("nccl_conf", Severity::warning, !facts.config_files.empty(),
                list.empty() ? "no nccl.conf"
                             : concat(list, " sets NCCL variables for every job, unseen in the environment"),
                concat("read it, and delete it if the image left it there: cat ",
                       facts.config_files.empty() ? "" : facts.config_files.front()));
}

/// 62 and the rest: what was tried.
Findings check_probes(const HostFacts& facts) {
  struct Probe {
    std::string_view name;
    Severity severity;
    std::string_view good;
    std::string_view fix;
  };
  constexpr std::array kProbes{
      Probe{"fd_passing", Severity::failure, "descriptors pass between processes",
            "allow Unix sockets and memfd_create in the sandbox's seccomp profile"},
      Probe{"memfd_seal", Severity::failure, "sealed memory works",
            "allow memfd_create and F_ADD_SEALS in the seccomp profile"},
      Probe{"futex_wake", Severity::failure, "a process wakes another", "allow futex in the seccomp profile"},
      Probe{"loopback_tcp", Severity::failure, "TCP over 127.0.0.1 works", "bring lo up: ip link set lo up"},
      Probe{"cma", Severity::warning, "process_vm_readv between processes works",
            "--cap-add SYS_PTRACE, or kernel.yama.ptrace_scope=0, if MPI or UCX should use CMA; ringcomm "
            "does not need it"}};
  Findings findings;
  for (const Probe& probe : kProbes) {
    const std::string id = concat("probe_", probe.name);
    const auto tried = facts.probes.find(std::string(probe.name));
    if (tried == facts.probes.end()) {
      findings.push_back(result(id, probe.severity, CheckState::unknown, "not tried"));
      continue;
    }
    findings.push_back(judged(id, probe.severity, tried->second != "ok",
                              tried->second == "ok" ? std::string(probe.good) : tried->second,
                              std::string(probe.fix)));
  }
  return findings;
}

}  // namespace
}  // namespace diag

std::vector<Finding> check_host(const HostFacts& facts, int local_ranks) {
  std::vector<Finding> findings{diag::check_shm(facts, local_ranks),
                                diag::check_memlock(facts),
                                diag::check_open_files(facts, local_ranks),
                                diag::check_processes(facts, local_ranks),
                                diag::check_file_size(facts),
                                diag::check_memory_limit(facts),
                                diag::check_cpu_quota(facts),
                                diag::check_cpus(facts, local_ranks),
                                diag::check_numa_balancing(facts),
                                diag::check_governor(facts),
                                diag::check_idle_states(facts),
                                diag::check_fork_safe(facts),
                                diag::check_maps(facts),
                                diag::check_overcommit(facts),
                                diag::check_sysfs(facts),
                                diag::check_variables(facts),
                                diag::check_config_files(facts)};
  for (Finding& finding : diag::check_probes(facts)) findings.push_back(std::move(finding));
  return findings;
}

}  // namespace ringcomm::inline v0

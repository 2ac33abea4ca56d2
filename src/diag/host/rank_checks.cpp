// SPDX-License-Identifier: Apache-2.0
// Checks over all ranks: what has to be alike, and what may not be shared.
#include <algorithm>
#include <array>
#include <set>

#include "diag/host/facts_text.hpp"
#include "ringcomm/core/text.hpp"

namespace ringcomm::inline v0 {
namespace diag {
namespace {

using Facts = std::vector<HostFacts>;
/// value -> ranks that have it
using Groups = std::map<std::string, std::vector<int>>;

template <class ValueOf>
Groups grouped(const Facts& facts, ValueOf&& value_of) {
  Groups groups;
  for (std::size_t rank = 0; rank < facts.size(); ++rank)
    groups[value_of(facts[rank])].push_back(static_cast<int>(rank));
  return groups;
}

void add_groups(Finding& finding, std::string_view name, const Groups& groups) {
  for (const auto& [value, ranks] : groups) {
    finding.evidence.push_back({.read = concat(name, " ", value.empty() ? "(not there)" : value, ": rank",
                                               ranks.size() == 1 ? " " : "s ", list_text(ranks)),
                                .wanted = "the same on all ranks",
                                .where = {}});
  }
}

/// What a launcher, or the doctor's own advice, gives each rank for itself.
bool is_own_by_rank(std::string_view name) {
  constexpr std::array<std::string_view, 4> kNames{"CUDA_VISIBLE_DEVICES", "RINGCOMM_RANK",
                                                   "RINGCOMM_LOCAL_RANK", "UCX_NET_DEVICES"};
  return std::ranges::find(kNames, name) != kNames.end() || name.starts_with("OMPI_MCA_ess_") ||
         name.starts_with("OMPI_MCA_orte_");
}

/// All names that any rank has in `map_of`, with the groups of those that differ.
template <class MapOf>
Finding check_alike(const Facts& facts, std::string_view id, Severity severity, std::string_view what,
                    std::string_view fix, MapOf&& map_of, bool (*is_own)(std::string_view name)) {
  std::set<std::string> names;
  for (const HostFacts& rank : facts) {
    for (const auto& [name, value] : map_of(rank)) names.insert(name);
  }
  Finding finding;
  std::string differing;
  for (const std::string& name : names) {
    if (is_own(name)) continue;
    const Groups groups = grouped(facts, [&](const HostFacts& rank) {
      const auto& values = map_of(rank);
      const auto found = values.find(name);
      return found == values.end() ? std::string() : found->second;
    });
    if (groups.size() < 2) continue;
    differing += concat(differing.empty() ? "" : ", ", name);
    add_groups(finding, name, groups);
  }
  Finding made = judged(id, severity, !differing.empty(),
                        differing.empty() ? concat(what, " are alike on ", facts.size(), " ranks")
                                          : concat(what, " differ between ranks: ", differing),
                        std::string(fix));
  made.evidence = std::move(finding.evidence);
  return made;
}

/// 64. Ranks of one kernel that cannot see each other's memory or processes.
Finding check_namespaces(const Facts& facts) {
  Finding finding =
      judged("namespaces_differ", Severity::warning, false, "ranks of one host share their namespaces");
  for (const auto& [boot, ranks] : grouped(facts, [](const HostFacts& f) { return f.boot_id; })) {
    Facts local;
    for (const int rank : ranks) local.push_back(facts[static_cast<std::size_t>(rank)]);
    for (const char* const kind : {"ipc", "pid", "net", "user"}) {
      const Groups groups = grouped(local, [&](const HostFacts& f) {
        const auto found = f.namespaces.find(kind);
        return found == f.namespaces.end() ? std::string() : found->second;
      });
      if (groups.size() < 2) continue;
      finding.state = CheckState::problem;
      finding.title = concat("ranks of one host are in ", groups.size(), " different ", kind, " namespaces");
      finding.fix = concat("one container for all ranks of a host, or --", kind, "=host");
      for (const auto& [value, members] : groups) {
        std::string list;
        for (const int member : members)
          list += concat(list.empty() ? "" : ",", ranks[static_cast<std::size_t>(member)]);
        finding.evidence.push_back({.read = concat(value, ": ranks ", list), .wanted = {}, .where = {}});
      }
    }
  }
  return finding;
}

bool overlap(const std::vector<int>& a, const std::vector<int>& b) {
  return std::ranges::any_of(a, [&](int cpu) { return std::ranges::find(b, cpu) != b.end(); });
}

/// 56. Ranks that a launcher bound to the same cores; equal masks mean that nobody bound them.
Finding check_shared_cores(const Facts& facts) {
  Finding finding = judged("cores_shared", Severity::failure, false, "no two bound ranks share a core");
  for (std::size_t a = 0; a < facts.size(); ++a) {
    for (std::size_t b = a + 1; b < facts.size(); ++b) {
      const auto& first = facts[a];
      const auto& second = facts[b];
      if (first.boot_id != second.boot_id || first.cpus_allowed == second.cpus_allowed) continue;
      if (!overlap(first.cpus_allowed, second.cpus_allowed)) continue;
      finding.state = CheckState::problem;
      finding.title = "ranks are bound to overlapping sets of CPUs (spinning ranks then starve each other)";
      finding.fix = "mpirun --map-by core:PE=<n> --bind-to core, or srun --cpu-bind=cores";
      finding.evidence.push_back({.read = concat("rank ", a, " CPUs ", list_text(first.cpus_allowed),
                                                 ", rank ", b, " CPUs ", list_text(second.cpus_allowed)),
                                  .wanted = "disjoint",
                                  .where = {}});
      if (finding.evidence.size() >= 8) return finding;
    }
  }
  return finding;
}

int ranks_beside(const Facts& facts, const HostFacts& of) {
  return static_cast<int>(
      std::ranges::count_if(facts, [&](const HostFacts& f) { return f.boot_id == of.boot_id; }));
}

int cpus_of_host(const HostFacts& facts) {
  std::size_t cpus = 0;
  for (const auto& [node, list] : facts.node_cpus) cpus += list.size();
  return static_cast<int>(cpus);
}

/// All ranks pinned to one single CPU each is fine; all to the same single CPU is what a launcher does by
/// mistake.
Finding check_one_cpu(const Facts& facts) {
  Finding finding =
      judged("ranks_on_one_cpu", Severity::failure, false, "ranks are not squeezed onto one CPU");
  for (const HostFacts& rank : facts) {
    if (rank.cpus_allowed.size() > 1 || cpus_of_host(rank) < 2) continue;
    const auto same = std::ranges::count_if(facts, [&](const HostFacts& f) {
      return f.boot_id == rank.boot_id && f.cpus_allowed == rank.cpus_allowed;
    });
    if (same < 2) continue;
    finding.state = CheckState::problem;
    finding.title = concat(same, " ranks of host ", rank.host_name, " are all bound to CPU ",
                           list_text(rank.cpus_allowed));
    finding.fix = "mpirun --bind-to core --map-by core (or --bind-to none), srun --cpu-bind=cores";
    return finding;
  }
  return finding;
}

/// 55. Unbound ranks on a host with several memory nodes wander between them.
Finding check_unbound(const Facts& facts) {
  for (const HostFacts& rank : facts) {
    const auto nodes =
        std::ranges::count_if(rank.node_cpus, [](const auto& node) { return !node.second.empty(); });
    if (nodes < 2 || ranks_beside(facts, rank) < 2) continue;
    if (static_cast<int>(rank.cpus_allowed.size()) < cpus_of_host(rank)) continue;
    return judged("ranks_unbound", Severity::warning, true,
                  concat("ranks of host ", rank.host_name, " may run on all ", nodes, " memory nodes"),
                  "mpirun --map-by numa --bind-to numa, srun --cpu-bind=map_ldom --mem-bind=local; ringcomm "
                  "binds its own "
                  "workers");
  }
  return judged("ranks_unbound", Severity::warning, false, "ranks are bound, or there is one memory node");
}

/// 50.
Finding check_names(const Facts& facts) {
  const Groups hosts = grouped(facts, [](const HostFacts& f) { return f.boot_id; });
  const Groups names = grouped(facts, [](const HostFacts& f) { return f.host_name; });
  for (const auto& [name, ranks] : names) {
    std::set<std::string> boots;
    for (const int rank : ranks) boots.insert(facts[static_cast<std::size_t>(rank)].boot_id);
    if (boots.size() > 1)
      return judged("host_name_shared", Severity::warning, true,
                    concat(boots.size(), " hosts are called ", name),
                    "give each its own name: libraries tell hosts apart by it");
  }
  for (const HostFacts& rank : facts) {
    if (hosts.size() > 1 && rank.host_address.starts_with("127."))
      return judged("host_name_loopback", Severity::warning, true,
                    concat("host name ", rank.host_name, " resolves to ", rank.host_address,
                           " (peers cannot reach that)"),
                    "put the real address in /etc/hosts, or name the interface (RINGCOMM_SOCKET_IFNAME, "
                    "NCCL_SOCKET_IFNAME)");
  }
  return judged("host_name_shared", Severity::warning, false,
                concat(hosts.size(), hosts.size() == 1 ? " host" : " hosts with names of their own"));
}

/// 68. The ranks read their clocks just after a barrier, whose own spread is some milliseconds.
Finding check_clocks(const Facts& facts) {
  std::int64_t least = 0;
  std::int64_t most = 0;
  bool is_first = true;
  for (const HostFacts& rank : facts) {
    if (!rank.wall_clock_ns) return unknown("clock_skew", Severity::warning, rank, "wall_clock");
    least = is_first ? *rank.wall_clock_ns : std::min(least, *rank.wall_clock_ns);
    most = is_first ? *rank.wall_clock_ns : std::max(most, *rank.wall_clock_ns);
    is_first = false;
  }
  const double milliseconds = static_cast<double>(most - least) * 1e-6;
  const bool is_second = milliseconds > 1000;
  return judged(
      "clock_skew", is_second ? Severity::warning : Severity::info, milliseconds > 10,
      concat("clocks of the ranks are within ", milliseconds, " ms",
             milliseconds > 10 ? " (merged traces will be wrong by as much, or the barrier was slow)" : ""),
      "chronyc makestep");
}

}  // namespace
}  // namespace diag

std::vector<Finding> check_ranks(const std::vector<HostFacts>& facts) {
  if (facts.size() < 2) return {};
  return {diag::check_alike(
              facts, "versions_differ", Severity::failure, "versions", "install one version on all hosts",
              [](const HostFacts& f) -> const auto& { return f.versions; },
              [](std::string_view) { return false; }),
          diag::check_alike(
              facts, "variables_differ", Severity::warning, "variables",
              "give all ranks the same (mpirun -x NAME, srun --export)",
              [](const HostFacts& f) -> const auto& { return f.variables; }, diag::is_own_by_rank),
          diag::check_namespaces(facts),
          diag::check_shared_cores(facts),
          diag::check_one_cpu(facts),
          diag::check_unbound(facts),
          diag::check_names(facts),
          diag::check_clocks(facts)};
}

std::vector<CheckId> host_check_ids() {
  using enum Severity;
  return {{"shm_small", failure, "/dev/shm is too small for NCCL's shared memory (docker gives 64 MB)"},
          {"memlock_low", failure, "too little memory may be locked for pinned buffers or RDMA"},
          {"open_files_low", warning, "too few file descriptors for a job of many ranks"},
          {"processes_low", warning, "too few processes and threads allowed"},
          {"file_size_low", failure, "RLIMIT_FSIZE bounds memfds: windows raise SIGXFSZ"},
          {"memory_limit", warning, "the control group leaves little memory"},
          {"cpu_quota", warning, "the control group's CPU time is less than the affinity mask"},
          {"cpus_few", warning, "more ranks than usable CPUs"},
          {"numa_balancing", warning, "the kernel moves pages under pinned buffers"},
          {"cpu_governor", warning, "the CPU governor holds clocks down"},
          {"idle_states", warning, "deep C-states make wake-ups slow"},
          {"fork_safe_huge_pages", warning, "fork-safe verbs over huge pages"},
          {"map_count", info, "memory maps are nearly used up"},
          {"overcommit", warning, "strict overcommit refuses reservations"},
          {"sysfs_hidden", failure, "/sys is not there: no topology"},
          {"variable_unknown", warning, "a RINGCOMM_ variable is misspelt"},
          {"nccl_conf", warning, "an nccl.conf was left in the image"},
          {"probe_fd_passing", failure, "descriptors do not pass between processes"},
          {"probe_memfd_seal", failure, "memory cannot be sealed"},
          {"probe_futex_wake", failure, "a process cannot wake another"},
          {"probe_loopback_tcp", failure, "TCP over 127.0.0.1 does not work"},
          {"probe_cma", warning, "process_vm_readv is blocked between ranks"},
          {"versions_differ", failure, "ranks have different versions"},
          {"variables_differ", warning, "ranks have different variables"},
          {"namespaces_differ", warning, "ranks of one host are in different namespaces"},
          {"cores_shared", failure, "ranks are bound to overlapping CPUs"},
          {"ranks_on_one_cpu", failure, "several ranks are bound to one single CPU"},
          {"ranks_unbound", warning, "ranks may wander between memory nodes"},
          {"host_name_shared", warning, "two hosts have one name"},
          {"host_name_loopback", warning, "the host's name resolves to 127.*"},
          {"clock_skew", warning, "clocks differ between ranks"}};
}

}  // namespace ringcomm::inline v0

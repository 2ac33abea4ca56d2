// SPDX-License-Identifier: Apache-2.0
// Runs all checks, puts followers behind their cause, and asks for the files that would answer most.
#include <algorithm>
#include <map>
#include <utility>

#include "diag/topology/check.hpp"
#include "diag/topology/lookup.hpp"
#include "ringcomm/core/text.hpp"
#include "topology/nic_choice.hpp"

namespace ringcomm::inline v0 {
namespace diag {
namespace {

/// (follower, cause): where both are problems, they are one (spec 3.5).
constexpr std::array<std::pair<std::string_view, std::string_view>, 18> kCauses{{
    {"pcie_bridge_slow", "vm_without_topology_file"},
    {"plan_slower_than_best", "vm_without_topology_file"},
    {"plan_slower_than_best", "pcie_bridge_slow"},
    {"plan_slower_than_best", "nvlink_missing_on_gpu"},
    {"plan_slower_than_best", "nvlink_inactive"},
    {"plan_slower_than_best", "topology_file_self_link"},
    {"nvlink_inactive", "nvlink_missing_on_gpu"},
    {"nvlink_fewer_than_peers", "nvlink_inactive"},
    {"nvlink_fewer_than_peers", "nvlink_missing_on_gpu"},
    {"nvlink_uneven_pair", "nvlink_inactive"},
    {"fabric_clique_differs", "fabric_not_ready"},
    {"p2p_refused", "acs_redirect"},
    {"gpu_direct_one_side", "gpu_direct_disabled"},
    {"socket_network", "verbs_missing"},
    {"socket_network", "no_rdma_nic"},
    {"nics_idle", "nic_far_from_gpu"},
    {"nics_idle", "port_down"},
    {"rails_not_connected", "gid_index"},
}};

constexpr std::size_t kAsksMax = 3;

/// The command that makes the missing file; root where the others see nothing.
std::pair<std::string_view, bool> command_of(Ask ask) {
  switch (ask) {
    case Ask::nothing:
      return {"", false};
    case Ask::lspci:
      return {"sudo lspci -vvv > lspci.txt", true};
    case Ask::topo_matrix:
      return {"nvidia-smi topo -m > topo.txt", false};
    case Ask::nvlink:
      return {"nvidia-smi nvlink -s > nvlink.txt", false};
    case Ask::p2p:
      return {"nvidia-smi topo -p2p r > p2p.txt", false};
    case Ask::lstopo:
      return {"lstopo --whole-io --of xml > machine.xml", false};
    case Ask::nccl_dump:
      return {"NCCL_TOPO_DUMP_FILE=topo.xml all_reduce_perf -g 8", false};
    case Ask::ib:
      return {"ibstat > ibstat.txt", false};
    case Ask::log:
      return {"NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,ENV,GRAPH,NET <the job> > nccl.log 2>&1", false};
    case Ask::live:
      return {"ringcomm-doctor topo (without files, on the machine itself)", false};
  }
  return {"", false};
}

struct Unknown {
  Finding finding;
  Ask ask;
};

/// The most useful files first: each command stands at the first unknown that it answers.
void ask_for_files(std::vector<Unknown>& unknowns) {
  std::array<std::size_t, kAskCount> votes{};
  for (const Unknown& unknown : unknowns) ++votes[static_cast<std::size_t>(unknown.ask)];
  votes[0] = 0;
  for (std::size_t i = 0; i < kAsksMax; ++i) {
    const auto best = std::ranges::max_element(votes);
    if (*best == 0) return;
    const auto ask = static_cast<Ask>(best - votes.begin());
    *best = 0;
    const auto first = std::ranges::find(unknowns, ask, &Unknown::ask);
    const auto [command, needs_root] = command_of(ask);
    first->finding.fix = command;
    first->finding.needs_root = needs_root;
  }
}

bool is_serious(const Finding& finding) {
  return finding.state == CheckState::problem && finding.severity != Severity::info;
}

void set_causes(std::vector<Finding>& problems) {
  for (Finding& finding : problems) {
    if (!is_serious(finding)) continue;
    for (const auto& rule : kCauses) {
      if (finding.id != rule.first || !finding.cause.empty()) continue;
      const bool is_there = std::ranges::any_of(
          problems, [&](const Finding& other) { return other.id == rule.second && is_serious(other); });
      if (is_there) finding.cause = rule.second;
    }
  }
}

/// Appends a root and whatever follows it, to any depth. The causes have no cycle: a test walks the table.
void append_group(const std::vector<Finding>& problems, const Finding& root, std::vector<Finding>& out) {
  out.push_back(root);
  if (!is_serious(root)) return;
  for (const Finding& follower : problems) {
    if (follower.cause == root.id) append_group(problems, follower, out);
  }
}

/// Roots by their worst member, worst first; the order of the table within.
std::vector<Finding> grouped(std::vector<Finding> problems) {
  set_causes(problems);
  std::vector<std::vector<Finding>> groups;
  for (const Finding& finding : problems) {
    if (!finding.cause.empty()) continue;
    append_group(problems, finding, groups.emplace_back());
  }
  std::ranges::stable_sort(groups, std::greater<>(), [](const std::vector<Finding>& group) {
    return std::ranges::max(group, {}, &Finding::severity).severity;
  });
  std::vector<Finding> all;
  for (auto& group : groups) std::ranges::move(group, std::back_inserter(all));
  return all;
}

}  // namespace
}  // namespace diag

TopologyCase make_topology_case(MergedEvidence evidence, const CostModel& costs,
                                std::vector<UnreadFile> unread) {
  TopologyCase made{.evidence = std::move(evidence),
                    .costs = costs,
                    .paths = {},
                    .rings = {},
                    .rings_status = {},
                    .unread = std::move(unread)};
  made.paths = derive_paths(made.evidence.machine, made.costs);
  auto rings = plan_machine_rings(made.evidence.machine, made.paths);
  made.rings_status = rings.status();
  if (rings.is_ok()) {
    made.rings = std::move(rings).value();
  } else {  // what is no rail is known of NICs alone
    made.rings.excluded = topology::exclude_nics(made.evidence.machine, made.paths);
  }
  return made;
}

std::vector<Finding> check_topology(const TopologyCase& input, KeepOk keep_ok) {
  std::vector<Finding> problems;
  std::vector<diag::Unknown> unknowns;
  std::vector<Finding> fine;
  for (const diag::Check& check : diag::checks()) {
    diag::Report report(check.info);
    check.run(input, report);
    auto done = std::move(report).finish(keep_ok);
    for (Finding& finding : done.findings) {
      switch (finding.state) {
        case CheckState::problem:
          problems.push_back(std::move(finding));
          break;
        case CheckState::unknown:
          unknowns.push_back({.finding = std::move(finding), .ask = done.ask});
          break;
        case CheckState::ok:
          fine.push_back(std::move(finding));
          break;
      }
    }
  }
  diag::ask_for_files(unknowns);
  auto all = diag::grouped(std::move(problems));
  for (auto& unknown : unknowns) all.push_back(std::move(unknown.finding));
  std::ranges::move(fine, std::back_inserter(all));
  return all;
}

}  // namespace ringcomm::inline v0

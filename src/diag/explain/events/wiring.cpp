// SPDX-License-Identifier: Apache-2.0
// Evidence of the machine's wiring: the checks of a machine, put into kinds of fault.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "diag/explain/events/side.hpp"
#include "ringcomm/core/text.hpp"
#include "ringcomm/diag/topology_checks.hpp"

namespace ringcomm::inline v0::diag {
namespace {

struct KindOfFinding {
  std::string_view id;
  FaultKind kind;
};
constexpr std::array<KindOfFinding, 23> kKinds{{
    {"nvlink_inactive", FaultKind::nvlink_fault},
    {"nvlink_missing_on_gpu", FaultKind::nvlink_fault},
    {"nvlink_fewer_than_peers", FaultKind::nvlink_fault},
    {"fabric_not_ready", FaultKind::nvlink_fault},
    {"gpu_memory_errors", FaultKind::gpu_fault},
    {"acs_redirect", FaultKind::p2p_path_broken},
    {"p2p_refused", FaultKind::p2p_path_broken},
    {"port_down", FaultKind::network_fault},
    {"port_disabled", FaultKind::network_fault},
    {"port_polling", FaultKind::network_fault},
    {"port_errors", FaultKind::network_fault},
    {"port_mtu", FaultKind::net_config},
    {"gid_index", FaultKind::net_config},
    {"gpu_direct_one_side", FaultKind::net_config},
    {"qp_failure", FaultKind::net_config},
    {"verbs_missing", FaultKind::net_config},
    {"bootstrap_interface", FaultKind::net_config},
    {"firewall", FaultKind::net_config},
    {"shm_too_small", FaultKind::resource_limit},
    {"memlock_low", FaultKind::resource_limit},
    {"versions_differ", FaultKind::version_mismatch},
    {"gpu_used_twice", FaultKind::rank_gpu_binding},
    {"hca_sets_differ", FaultKind::topology_mismatch},
}};

FaultKind kind_of(const Finding& finding) {
  const auto found = std::find_if(kKinds.begin(), kKinds.end(),
                                  [&finding](const KindOfFinding& entry) { return entry.id == finding.id; });
  return found == kKinds.end() ? FaultKind::topology_suboptimal : found->kind;
}

bool is_of_hardware(FaultKind kind) {
  return kind == FaultKind::nvlink_fault || kind == FaultKind::gpu_fault;
}

/// "3" for a GPU of the only host, else "GPU 3 of host".
std::vector<std::string> gpu_labels(const Machine& machine, const Finding& finding) {
  std::vector<std::string> labels;
  for (const DeviceRef& device : finding.devices) {
    if (device.kind != PartKind::gpu || device.position < 0 ||
        static_cast<std::size_t>(device.position) >= machine.gpus.size()) {
      continue;
    }
    const Gpu& gpu = machine.gpus[static_cast<std::size_t>(device.position)];
    labels.push_back(machine.hosts.size() <= 1 ? std::to_string(gpu.rank.value_or(gpu.index))
                                               : name_of(machine, device));
  }
  return sorted_labels(std::move(labels));
}

std::vector<std::string> names_of(const Machine& machine, const Finding& finding) {
  std::vector<std::string> names;
  for (const DeviceRef& device : finding.devices) {
    if (device.position >= 0) names.push_back(name_of(machine, device));
  }
  return sorted_labels(std::move(names));
}

void add_finding(const TopologyCase& machine, const Finding& finding, bool is_hang,
                 std::vector<Candidate>& out) {
  Candidate candidate;
  Verdict& verdict = candidate.verdict;
  verdict.kind = kind_of(finding);
  const bool is_hardware = is_of_hardware(verdict.kind);
  candidate.weight = is_hang && is_hardware ? Weight::ordinary : Weight::background;
  candidate.rule = "wiring";
  // What a tool states of a part is certain; that a job suffers from it is not.
  const bool is_stated = is_hardware && finding.severity == Severity::failure;
  verdict.grade = is_stated && !is_hang                                   ? Grade::certain
                  : is_hang || verdict.kind == FaultKind::p2p_path_broken ? Grade::possible
                                                                          : Grade::likely;
  const Machine& parts = machine.evidence.machine;
  const std::vector<std::string> gpus = gpu_labels(parts, finding);
  const bool is_few = gpus.size() * 2 < parts.gpus.size() || gpus.size() == 1;
  if (is_hardware && is_few && finding.severity == Severity::failure) {
    verdict.culprits = gpus;
  } else {
    verdict.suspects = names_of(parts, finding);
  }
  if (!parts.gpus.empty() && parts.hosts.size() <= 1)
    verdict.world_size = static_cast<int>(parts.gpus.size());
  verdict.title = finding.title;
  verdict.why = {finding.title};
  constexpr std::size_t kMost = 8;
  for (const FindingEvidence& read : finding.evidence) {
    if (verdict.evidence.size() >= kMost) break;
    verdict.evidence.push_back({read.where, read.read.substr(0, 200), read.wanted});
  }
  if (!is_hardware && !finding.fix.empty()) verdict.fix = concat(finding.fix, " (", finding.id, ')');
  out.push_back(std::move(candidate));
}

/// A problem that no other one explains.
bool is_root_problem(const Finding& finding) {
  return finding.state == CheckState::problem && finding.severity != Severity::info && finding.cause.empty();
}

/// Hardware that one file shows: what is known of some GPUs only is compared with nothing once files are
/// merged.
bool explain_parts(const std::vector<Reading>& readings, bool is_hang, std::vector<Candidate>& out) {
  constexpr std::size_t kMost = 64;
  if (readings.size() < 2 || readings.size() > kMost) return false;
  for (const Reading& reading : readings) {
    const TopologyCase machine = make_topology_case(merge_evidence({reading}), CostModel::table());
    for (const Finding& finding : check_topology(machine)) {
      if (!is_root_problem(finding) || !is_of_hardware(kind_of(finding))) continue;
      add_finding(machine, finding, is_hang, out);
      return true;
    }
  }
  return false;
}

/// Names of the NICs that a GPU reaches without crossing the CPU's interconnect; empty where GPUs have one of
/// their own each.
std::vector<std::string> shared_nics(const Machine& machine) {
  std::map<int, std::set<int>> near;  // GPU -> NICs
  for (const StatedPath& path : machine.stated_paths) {
    if (path.from.kind != PartKind::gpu || path.to.kind != PartKind::nic) continue;
    if (path.path_class > PathClass::c2c && path.path_class <= PathClass::phb)
      near[path.from.position].insert(path.to.position);
  }
  std::map<int, int> only_users;  // of a NIC that is the only near one
  std::vector<std::string> names;
  bool is_shared = false;
  for (const auto& [gpu, nics] : near) {
    if (nics.size() == 1 && ++only_users[*nics.begin()] > 1) is_shared = true;
    for (const int nic : nics) names.push_back(name_of(machine, {PartKind::nic, nic}));
  }
  return is_shared ? sorted_labels(std::move(names)) : std::vector<std::string>();
}

/// Some GPUs share a NIC while other NICs are near nobody.
bool explain_spare_nics(const TopologyCase& machine, const std::vector<Finding>& findings,
                        std::vector<Candidate>& out) {
  const auto spare = std::find_if(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.id == "nic_not_a_rail" && finding.state == CheckState::problem;
  });
  if (spare == findings.end()) return false;
  const Machine& parts = machine.evidence.machine;
  const std::vector<std::string> used = shared_nics(parts);
  if (used.empty()) return false;
  add_finding(machine, *spare, false, out);
  Verdict& verdict = out.back().verdict;
  std::string list;
  for (const std::string& name : used) list += concat(list.empty() ? "" : ",", name);
  for (std::string& name : verdict.suspects) name += " (no near GPU)";
  verdict.title =
      concat("GPUs share ", used.size(), " NICs, and ", verdict.suspects.size(), " NICs are near no GPU");
  verdict.why = {"NICs that are far from every GPU are for other traffic, or sit in the wrong slot.",
                 "Two GPUs at one NIC have half of its bandwidth each."};
  verdict.fix = concat("Use only the NICs near GPUs: NCCL_IB_HCA==", list,
                       "; in a ring over hosts let GPUs that share a NIC follow one another.");
  return true;
}

}  // namespace

void explain_wiring(const SideEvidence& side, std::vector<Candidate>& out) {
  const auto& readings = side.evidence().topology;
  if (readings.empty()) return;
  const bool is_hang = side.is_about_a_hang();
  const TopologyCase machine = make_topology_case(merge_evidence(readings), CostModel::table());
  const std::vector<Finding> findings = check_topology(machine);
  const auto problem = std::find_if(findings.begin(), findings.end(), [is_hang](const Finding& finding) {
    // Beside a hang, wiring that costs bandwidth is no explanation.
    return is_root_problem(finding) && (!is_hang || kind_of(finding) != FaultKind::topology_suboptimal);
  });
  const bool is_hardware = problem != findings.end() && is_of_hardware(kind_of(*problem));
  if (!is_hardware && explain_parts(readings, is_hang, out)) return;
  if (problem != findings.end()) {
    add_finding(machine, *problem, is_hang, out);
    return;
  }
  const Machine& parts = machine.evidence.machine;
  const auto inactive = std::find_if(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.id == "nvlink_inactive" && has_text(finding.title, "are inactive");
  });
  if (inactive != findings.end() && !is_hang) {
    // How many links the product has is not known: nothing to compare with.
    add_finding(machine, *inactive, is_hang, out);
    out.back().verdict.grade = Grade::possible;
    return;
  }
  if (is_hang || parts.gpus.size() < 2 || explain_spare_nics(machine, findings, out)) return;
  Candidate candidate;
  candidate.weight = Weight::background;
  candidate.rule = "healthy_wiring";
  candidate.verdict.kind = FaultKind::none;
  candidate.verdict.grade = Grade::likely;
  candidate.verdict.title = concat("The wiring of ", parts.gpus.size(), " GPUs shows nothing wrong");
  candidate.verdict.why = {"No check of the machine found a problem in these files."};
  if (parts.hosts.size() <= 1) candidate.verdict.world_size = static_cast<int>(parts.gpus.size());
  out.push_back(std::move(candidate));
}

}  // namespace ringcomm::inline v0::diag
